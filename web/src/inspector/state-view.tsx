/** Graph state at the current position, and the run's checkpoints. */
import { type ReactNode, useState } from "react";
import type { Receiver, TurnView } from "loom-agent/client";
import { Badge, Button, CopyButton, formatNumber, useRun, useUi, useWords } from "loom-agent/react";
import { formatOffset } from "./format-offset.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { JsonText } from "./json-text.tsx";
import type { RunRecording } from "./run-recording.ts";

export interface StateViewProps {
  readonly recording: RunRecording;
  readonly turn: TurnView | undefined;
  /** Receiver of the run at the current position. */
  readonly receiver: Receiver;
  readonly frame: number;
  readonly onSelect: (frame: number) => void;
}

const PAGE = 100;

export function StateView({ recording, turn, receiver, frame, onSelect }: StateViewProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const [limit, setLimit] = useState(PAGE);
  const values = useRun(receiver, recording.session, recording.runId)?.values;
  const text = values === undefined ? undefined : JSON.stringify(values);
  const checkpoints = turn?.checkpoints ?? [];
  return (
    <div className="page-inspector-scroll">
      <section>
        <h3 className="page-inspector-heading">
          {words.values}
          {text === undefined ? null : <CopyButton getText={() => text} />}
        </h3>
        {text === undefined ? (
          <p className="page-inspector-note">{words.noValues}</p>
        ) : (
          <JsonText text={text} label={words.values} />
        )}
      </section>
      <section>
        <h3 className="page-inspector-heading">{words.checkpoints}</h3>
        {checkpoints.length === 0 ? <p className="page-inspector-note">{words.noCheckpoints}</p> : null}
        <ol className="page-inspector-list">
          {checkpoints.slice(0, limit).map(({ id, step, ns, timestamp }, i) => {
            const checkpointFrame = recording.index.checkpoints[i] ?? 0;
            const time = recording.timeAt(checkpointFrame);
            return (
              <li key={`${id} ${i}`} data-ahead={checkpointFrame > frame}>
                <button type="button" className="page-inspector-link" onClick={() => onSelect(checkpointFrame)}>
                  {words.step(typeof step === "number" ? formatNumber(step, language) : step)}
                </button>
                {ns === "" ? null : <Badge>{ns}</Badge>}
                <code className="page-inspector-soft page-inspector-cut">{id}</code>
                <span className="page-inspector-soft">
                  {time === undefined ? timestamp : formatOffset(time, language)}
                </span>
              </li>
            );
          })}
        </ol>
        {checkpoints.length > limit ? <Button onClick={() => setLimit(limit + PAGE)}>{words.more}</Button> : null}
      </section>
    </div>
  );
}
