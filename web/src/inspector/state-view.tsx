/** The state of the graph at the frame one looks at, and the checkpoints that were kept of it. */
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
  /** The run at the frame one looks at. */
  readonly receiver: Receiver;
  readonly frame: number;
  readonly onSelect: (frame: number) => void;
}

const PAGE = 100;

export function StateView({ recording, turn, receiver, frame, onSelect }: StateViewProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const [most, setMost] = useState(PAGE);
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
          {checkpoints.slice(0, most).map(({ id, step, ns, timestamp }, i) => {
            const made = recording.index.checkpoints[i] ?? 0;
            const time = recording.timeAt(made);
            return (
              <li key={`${id} ${i}`} data-ahead={made > frame}>
                <button type="button" className="page-inspector-link" onClick={() => onSelect(made)}>
                  {words.step(formatNumber(step, language))}
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
        {checkpoints.length > most ? <Button onClick={() => setMost(most + PAGE)}>{words.more}</Button> : null}
      </section>
    </div>
  );
}
