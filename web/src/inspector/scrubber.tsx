/** Playback controls: a slider over the frames, step buttons and speed. */
import type { ReactNode } from "react";
import { formatNumber, IconButton, useUi, useWords } from "../../../src/react/page-parts.ts";
import { formatSpan } from "./format.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { type Playback, type Speed, SPEEDS } from "./playback.ts";
import type { RunRecording } from "./run-recording.ts";

export interface ScrubberProps {
  readonly recording: RunRecording;
  readonly count: number;
  /** Number of frames replayed. */
  readonly position: number;
  readonly onMove: (position: number) => void;
  readonly playback: Playback;
}

export function Scrubber({ recording, count, position, onMove, playback }: ScrubberProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const { isPlaying, speed, setSpeed, toggle, stop } = playback;
  const move = (target: number): void => {
    stop();
    onMove(target);
  };
  const time = recording.timeAt(position - 1);
  const at =
    position === 0 ? words.before : words.positionOf(formatNumber(position, language), formatNumber(count, language));
  const when = time === undefined ? "" : formatSpan(time, language);
  const type = recording.frameAt(position - 1)?.type ?? "";
  return (
    <div className="page-inspector-scrubber" role="group" aria-label={words.position}>
      <input
        className="page-inspector-scrubber-range"
        type="range"
        min={0}
        max={count}
        step={1}
        value={position}
        aria-label={words.position}
        aria-valuetext={[at, when, type].filter((part) => part !== "").join(", ")}
        disabled={count === 0}
        onChange={(event) => move(event.target.valueAsNumber)}
      />
      <div className="page-inspector-scrubber-row">
        <IconButton icon="back" label={words.stepBack} disabled={position === 0} onClick={() => move(position - 1)} />
        <IconButton
          icon={isPlaying ? "pause" : "play"}
          label={isPlaying ? words.pause : words.play}
          variant="primary"
          disabled={count === 0}
          onClick={toggle}
        />
        <IconButton icon="open" label={words.stepOn} disabled={position >= count} onClick={() => move(position + 1)} />
        <select
          className="page-inspector-select"
          aria-label={words.speed}
          value={speed}
          onChange={(event) => setSpeed(Number(event.target.value) as Speed)}
        >
          {SPEEDS.map((each) => (
            <option key={each} value={each}>
              {words.times(String(each))}
            </option>
          ))}
        </select>
        <span className="page-inspector-scrubber-place" aria-hidden="true">
          {formatNumber(position, language)}
          <span className="page-inspector-soft">
            {` / ${formatNumber(count, language)}`}
            {when === "" ? null : ` · ${when}`}
          </span>
        </span>
        <IconButton icon="last" label={words.toLatest} disabled={position >= count} onClick={() => move(count)} />
      </div>
    </div>
  );
}
