/** Edits the state of a checkpoint and forks the session there. The run continues in the fork. */
import { type ReactNode, type SubmitEvent, useEffect, useId, useRef, useState } from "react";
import { Button, Spinner, useWords } from "../../../src/react/page-parts.ts";
import type { Json, JsonObject } from "loom-agent/protocol";
import { readEditedState } from "./edit-state.ts";
import { FORK_WORDS } from "./fork-words.ts";
import type { InspectorApi } from "./inspector-api.ts";

/** Forks at a checkpoint and opens the fork. Resolves to the reason if it failed. */
export type ForkAt = (checkpointId: string, state: JsonObject | undefined) => Promise<string | undefined>;

export interface ForkEditorProps {
  readonly session: string;
  readonly checkpointId: string;
  readonly api: InspectorApi;
  readonly onFork: ForkAt;
  readonly onClose: () => void;
}

export function ForkEditor({ session, checkpointId, api, onFork, onClose }: ForkEditorProps): ReactNode {
  const words = useWords(FORK_WORDS);
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [before, setBefore] = useState<Json>();
  const [text, setText] = useState("");
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    api.readCheckpoint(session, checkpointId, stop.signal).then(
      ({ state }) => {
        if (stop.signal.aborted) return;
        setBefore(state);
        setText(JSON.stringify(state, undefined, 2));
        requestAnimationFrame(() => field.current?.focus());
      },
      (error: unknown) => {
        if (!stop.signal.aborted) setFault(words.failed(error instanceof Error ? error.message : String(error)));
      },
    );
    return () => stop.abort();
    // Another language does not load the state again.
  }, [api, session, checkpointId]);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (before === undefined || isBusy) return;
    const edited = readEditedState(before, text);
    if (!edited.isValid) {
      setFault(words[edited.reason](edited.detail));
      field.current?.focus();
      return;
    }
    setFault(undefined);
    setBusy(true);
    const why = await onFork(checkpointId, edited.changed);
    // Otherwise the fork is open, and this editor is gone.
    if (why !== undefined) setFault(words.failed(why));
    setBusy(false);
  };
  return (
    <form
      className="page-inspector-fork"
      aria-label={words.title}
      onSubmit={(event) => void submit(event)}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
        event.stopPropagation();
        onClose();
      }}
    >
      {before === undefined && fault === undefined ? <Spinner /> : null}
      {before === undefined ? null : (
        <textarea
          ref={field}
          className="page-inspector-fork-state"
          aria-label={words.state}
          aria-invalid={fault !== undefined}
          aria-describedby={fault === undefined ? undefined : id}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      )}
      {fault === undefined ? null : (
        <p id={id} className="page-inspector-fork-fault" role="alert">
          {fault}
        </p>
      )}
      <p className="page-inspector-fork-actions">
        <Button icon="fork" variant="primary" isSubmit disabled={before === undefined || isBusy}>
          {words.submit}
        </Button>
        <Button onClick={onClose}>{words.cancel}</Button>
      </p>
    </form>
  );
}
