/** Graph state at the current position, and the run's checkpoints. */
import { type ReactNode, useState } from "react";
import type { Receiver, TurnView } from "loom-agent/client";
import {
  Badge,
  Button,
  CopyButton,
  formatNumber,
  IconButton,
  useRun,
  useUi,
  useWords,
} from "../../../src/react/page-parts.ts";
import { FORK_WORDS, type ForkAt, ForkEditor } from "./fork-editor.tsx";
import { formatOffset } from "./format.ts";
import type { InspectorApi } from "./inspector-api.ts";
import { INSPECTOR_WORDS } from "./inspector-words.ts";
import { JsonText } from "./json-text.tsx";
import type { RunRecording } from "./run-recording.ts";

export interface StateViewProps {
  readonly recording: RunRecording;
  readonly turn: TurnView | undefined;
  /** Receiver of the run at the current position. */
  readonly receiver: Receiver;
  readonly frame: number;
  readonly api: InspectorApi;
  readonly onSelect: (frame: number) => void;
  /** Undefined: the user may not fork. */
  readonly onFork: ForkAt | undefined;
}

const PAGE = 100;

export function StateView({ recording, turn, receiver, frame, api, onSelect, onFork }: StateViewProps): ReactNode {
  const words = useWords(INSPECTOR_WORDS);
  const { language } = useUi();
  const forkWords = useWords(FORK_WORDS);
  const [limit, setLimit] = useState(PAGE);
  /** Checkpoint that is edited, and the button that opened its editor. */
  const [edited, setEdited] = useState<{ readonly id: string; readonly opener: HTMLElement }>();
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
                {onFork === undefined || ns !== "" ? null : (
                  <IconButton
                    icon="fork"
                    label={forkWords.open(String(step))}
                    aria-expanded={edited?.id === id}
                    onClick={(event) => setEdited(edited?.id === id ? undefined : { id, opener: event.currentTarget })}
                  />
                )}
                {onFork === undefined || edited?.id !== id ? null : (
                  <ForkEditor
                    session={recording.session}
                    checkpointId={id}
                    api={api}
                    onFork={onFork}
                    onClose={() => {
                      edited.opener.focus();
                      setEdited(undefined);
                    }}
                  />
                )}
              </li>
            );
          })}
        </ol>
        {checkpoints.length > limit ? <Button onClick={() => setLimit(limit + PAGE)}>{words.more}</Button> : null}
      </section>
    </div>
  );
}
