/** Edits the state of a checkpoint and forks the session there. The run continues in the fork. */
import { type ReactNode, type SubmitEvent, useEffect, useId, useRef, useState } from "react";
import { Button, defineWords, Spinner, useWords } from "../../../src/react/page-parts.ts";
import type { Json, JsonObject } from "loom-agent/protocol";
import { createQuery } from "../api/query.ts";
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
    const query = createQuery();
    query
      .latest((signal) => api.readCheckpoint(session, checkpointId, signal))
      .then(
        (checkpoint) => {
          if (checkpoint === undefined) return;
          setBefore(checkpoint.state);
          setText(JSON.stringify(checkpoint.state, undefined, 2));
          requestAnimationFrame(() => field.current?.focus());
        },
        (error: unknown) => setFault(words.failed(error instanceof Error ? error.message : String(error))),
      );
    return query.cancel;
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

/** UI strings of forks at a checkpoint. */
export const FORK_WORDS = defineWords({
  en: {
    open: (step: string): string => `Edit and fork from step ${step}`,
    title: "Fork from checkpoint",
    state: "State at the checkpoint (JSON)",
    submit: "Fork and run",
    cancel: "Cancel",
    json: (why: string): string => `Not valid JSON: ${why}`,
    object: (): string => "The state must be a JSON object.",
    removed: (name: string): string => `"${name}" can't be removed. Set its value instead.`,
    failed: (why: string): string => `Couldn't fork: ${why}`,
  },
  zh: {
    open: (step: string): string => `编辑并从第 ${step} 步分叉`,
    title: "从检查点分叉",
    state: "检查点的状态（JSON）",
    submit: "分叉并运行",
    cancel: "取消",
    json: (why: string): string => `JSON 无效：${why}`,
    object: (): string => "状态必须是 JSON 对象。",
    removed: (name: string): string => `不能删除“${name}”，请改为设置它的值。`,
    failed: (why: string): string => `分叉失败：${why}`,
  },
});

type EditedState =
  | { readonly isValid: true; /** Undefined if nothing changed. */ readonly changed: JsonObject | undefined }
  | { readonly isValid: false; readonly reason: "json" | "object" | "removed"; readonly detail: string };

/** Reads the state that a user edited before a fork. It finds the channels that changed; only these are sent. */
export function readEditedState(before: Json, text: string): EditedState {
  let after: unknown;
  try {
    after = JSON.parse(text);
  } catch (error) {
    return { isValid: false, reason: "json", detail: error instanceof Error ? error.message : "" };
  }
  if (!isObject(after)) return { isValid: false, reason: "object", detail: "" };
  const known = isObject(before) ? before : {};
  const removed = Object.keys(known).find((channel) => !Object.hasOwn(after as object, channel));
  if (removed !== undefined) return { isValid: false, reason: "removed", detail: removed };
  const changed = Object.entries(after).filter(
    ([channel, value]) => !Object.hasOwn(known, channel) || JSON.stringify(known[channel]) !== JSON.stringify(value),
  );
  return { isValid: true, changed: changed.length === 0 ? undefined : Object.fromEntries(changed) };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
