/** Timeline of the run: a bar for each node run, tool call and model call, and a line at the current position. */
import { type ReactNode, useMemo } from "react";
import { Button, Icon, type IconName, type UiLanguage, useUi, useWords } from "../../../src/react/page-parts.ts";
import { CALLS_WORDS } from "./calls-words.ts";
import { formatSpan } from "./format.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { RowList } from "./row-list.tsx";
import type { RecordingState, RunRecording } from "./run-recording.ts";
import { findExtent, listTicks, buildTimeline, type TimelineRow } from "./timeline.ts";

export interface TimelineViewProps {
  readonly recording: RunRecording;
  readonly view: RecordingState;
  readonly turnKey: string;
  /** Current frame; -1 before the first. */
  readonly frame: number;
  readonly onSelect: (frame: number) => void;
  /** Shows the prompt of the model call at the current frame. */
  readonly onShowCall: () => void;
}

const ICONS: { readonly [K in TimelineRow["kind"]]: IconName } = {
  run: "inspect",
  node: "fork",
  tool: "tool",
  call: "think",
};
const MAX_TICKS = 4;

export function TimelineView({ recording, view, turnKey, frame, onSelect, onShowCall }: TimelineViewProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const callWords = useWords(CALLS_WORDS);
  const { language } = useUi();
  const rows = useRows(recording, view, turnKey);
  const lastTime = recording.timeAt(view.count - 1) ?? 0;
  const extent = useMemo(() => findExtent(rows, lastTime), [rows, lastTime]);
  const now = recording.timeAt(frame);
  const share = (ms: number): string => `${Math.max(0, Math.min(100, (ms / extent) * 100))}%`;
  // The last row that started before the current position.
  const selected = useMemo(() => findSelected(rows, frame), [rows, frame]);
  if (view.turn === undefined) return null;
  return (
    <div className="page-inspector-timeline">
      <div className="page-inspector-timeline-head" aria-hidden="true">
        <span />
        <span className="page-inspector-timeline-axis">
          {listTicks(extent, MAX_TICKS).map((tick) => (
            <span key={tick} className="page-inspector-timeline-tick" style={{ insetInlineStart: share(tick) }}>
              {formatSpan(tick, language)}
            </span>
          ))}
        </span>
      </div>
      <RowList
        label={words.timeline}
        count={rows.length}
        selected={selected}
        onSelect={(index) => onSelect(rows[index]?.frame ?? 0)}
        renderRow={(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          return (
            <div className="page-inspector-timeline-row" data-status={row.status} data-ahead={row.frame > frame}>
              <span
                className="page-inspector-timeline-name"
                style={{ paddingInlineStart: `${Math.min(row.depth, 8) * 0.7}rem` }}
              >
                <Icon name={ICONS[row.kind]} />
                <span className="loom-said">{words[row.kind]} </span>
                <span className="page-inspector-timeline-label">{row.label === "" ? words[row.kind] : row.label}</span>
                <span className="loom-said">
                  {describe(row, words, (ms) => formatSpan(ms, language)).map((text) => `, ${text}`)}
                </span>
              </span>
              <span className="page-inspector-timeline-track" aria-hidden="true">
                {now === undefined ? null : (
                  <span className="page-inspector-timeline-now" style={{ insetInlineStart: share(now) }} />
                )}
                <Bar
                  row={row}
                  extent={extent}
                  lastTime={lastTime}
                  firstTime={recording.timeAt(row.frame)}
                  language={language}
                  openWord={words[row.status]}
                />
              </span>
            </div>
          );
        }}
      />
      {rows[selected]?.kind === "call" ? (
        <p className="page-inspector-timeline-call">
          <Button icon="think" onClick={onShowCall}>
            {callWords.showPrompt}
          </Button>
        </p>
      ) : null}
    </div>
  );
}

interface BarProps {
  readonly row: TimelineRow;
  readonly extent: number;
  readonly lastTime: number;
  /** Time of the first mention, for rows without a start. */
  readonly firstTime: number | undefined;
  readonly language: UiLanguage;
  /** Label of rows without an end. */
  readonly openWord: string;
}

/** Bars wider than this share of the axis have their duration inside, others beside them. */
const WIDE = 0.7;

function Bar({ row, extent, lastTime, firstTime, language, openWord }: BarProps): ReactNode {
  const { start = firstTime, status } = row;
  const end = row.end ?? (status === "running" || status === "waiting" ? lastTime : start);
  if (start === undefined || end === undefined) return null;
  const share = (ms: number): string => `${Math.max(0, Math.min(100, (ms / extent) * 100))}%`;
  const took = row.end === undefined ? openWord : formatSpan(end - start, language);
  const isWide = (end - start) / extent > WIDE;
  const isLate = (start + end) / 2 > extent / 2;
  const side = isLate ? { insetInlineEnd: `calc(100% - ${share(start)})` } : { insetInlineStart: share(end) };
  return (
    <>
      <span
        className="page-inspector-timeline-bar"
        style={{ insetInlineStart: share(start), width: share(Math.max(end - start, 0)) }}
      />
      <span
        className="page-inspector-timeline-took"
        data-wide={isWide}
        style={isWide ? { insetInlineStart: share(start) } : side}
      >
        {took}
      </span>
    </>
  );
}

/** Rebuilt when one of its lists changes, not with every token. */
function useRows(recording: RunRecording, { turn }: RecordingState, turnKey: string): TimelineRow[] {
  const toolCalls = turn?.messages.at(-1)?.toolCalls;
  return useMemo(
    () => (turn === undefined ? [] : buildTimeline(turn, recording.index, turnKey)),
    [recording, turnKey, turn?.nodes, turn?.modelCalls, toolCalls, turn?.status, turn?.startedAt],
  );
}

function findSelected(rows: readonly TimelineRow[], frame: number): number {
  let found = -1;
  let latest = -1;
  for (const [i, row] of rows.entries())
    if (row.frame <= frame && row.frame > latest) {
      latest = row.frame;
      found = i;
    }
  return found;
}

function describe(
  { start, end, status }: TimelineRow,
  words: { startedAt(time: string): string; took(time: string): string } & { [S in TimelineRow["status"]]: string },
  format: (ms: number) => string,
): string[] {
  return [
    words[status],
    ...(start === undefined ? [] : [words.startedAt(format(start))]),
    ...(start === undefined || end === undefined ? [] : [words.took(format(end - start))]),
  ];
}
