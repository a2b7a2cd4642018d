/**
 * Composer state: drafts with their attachments, and sent messages whose run has not started. Stored per session; a
 * session without an ID uses the empty key.
 */
import type { Blob as BlobInfo, SessionDetails } from "../../../src/server/api/shapes.generated.ts";
import { type Draft, type DraftFile, type QueuedMessage, undoPaste } from "../../../src/react/page-parts.ts";
import type { PageSettings } from "./settings.ts";
import type { Strategy } from "./strategy.ts";

export interface Attachment extends DraftFile {
  readonly blob?: BlobInfo;
}

export type ComposerDraft = Draft<Attachment>;

export interface MessageFile {
  readonly blob_id: string;
  readonly name?: string;
  /** For the page only; the server knows them. */
  readonly mediaType?: string;
  readonly bytes?: number;
}

/** A sent message whose run has not started. */
export interface WaitingMessage extends QueuedMessage {
  readonly commandId: string;
  readonly agent?: string;
  readonly reasoning?: PageSettings["reasoning"];
  readonly strategy?: Strategy;
  /** System prompt of the session when the message was sent. */
  readonly instructions?: string;
  readonly files: readonly MessageFile[];
  /** The message failed, but may have been delivered. */
  readonly isLost?: true;
}

export interface ComposingState {
  /** Maps, because a session ID may be any string, such as `constructor` or a number. */
  readonly drafts: ReadonlyMap<string, ComposerDraft>;
  readonly waiting: ReadonlyMap<string, readonly WaitingMessage[]>;
  /** Runs that were asked to stop and have not ended. */
  readonly stopping: readonly string[];
}

export type ComposingAction =
  | { readonly type: "draft/typed"; readonly session: string; readonly text: string }
  | { readonly type: "draft/moved"; readonly from: string; readonly to: string }
  | { readonly type: "attachments/added"; readonly session: string; readonly files: readonly Attachment[] }
  | {
      readonly type: "attachment/updated";
      readonly session: string;
      readonly id: string;
      readonly changes: Partial<Attachment>;
    }
  | { readonly type: "attachment/retried"; readonly session: string; readonly id: string }
  | { readonly type: "attachment/removed"; readonly session: string; readonly id: string }
  /** The pasted file becomes text in the box. */
  | { readonly type: "paste/undone"; readonly session: string; readonly id: string }
  /** `clearsDraft`: the message is the draft of the session. */
  | {
      readonly type: "message/sent";
      readonly session: string;
      readonly message: WaitingMessage;
      readonly clearsDraft: boolean;
    }
  | {
      readonly type: "message/updated";
      readonly session: string;
      readonly runId: string;
      readonly status: WaitingMessage["status"];
      readonly error?: string;
      readonly isLost?: true;
    }
  /** The message goes back into the box, before what is there. */
  | { readonly type: "message/returned"; readonly session: string; readonly message: WaitingMessage }
  /** The run started, or the message was removed. */
  | { readonly type: "message/removed"; readonly session: string; readonly runIds: readonly string[] }
  | { readonly type: "queue/loaded"; readonly session: string; readonly queued: SessionDetails["queued"] }
  | { readonly type: "run/stopping"; readonly runId: string }
  | { readonly type: "run/stopped"; readonly runId: string }
  | { readonly type: "session/deleted"; readonly session: string }
  /** Another user takes over the page. */
  | { readonly type: "composing/cleared" };

export const MAX_ATTACHMENTS = 20;
/** Sessions whose drafts or pending messages are kept. */
const MAX_SESSIONS = 50;
const MAX_STOPPING = 20;

export const NO_DRAFT: ComposerDraft = { text: "", attachments: [] };
export const NO_WAITING_MESSAGES: readonly WaitingMessage[] = [];
export const EMPTY_COMPOSING: ComposingState = { drafts: new Map(), waiting: new Map(), stopping: [] };

/** `session` undefined: the new session. */
export function findDraft({ drafts }: ComposingState, session: string | undefined): ComposerDraft {
  return drafts.get(session ?? "") ?? NO_DRAFT;
}

export function findWaiting({ waiting }: ComposingState, session: string | undefined): readonly WaitingMessage[] {
  return waiting.get(session ?? "") ?? NO_WAITING_MESSAGES;
}

export function reduceComposing(state: ComposingState, action: ComposingAction): ComposingState {
  switch (action.type) {
    case "draft/typed":
      return changeDraft(state, action.session, (draft) => ({ ...draft, text: action.text }));
    case "draft/moved": {
      const draft = findDraft(state, action.from);
      const emptied = changeDraft(state, action.from, () => NO_DRAFT);
      return changeDraft(emptied, action.to, () => draft);
    }
    case "attachments/added":
      return changeDraft(state, action.session, (draft) => ({
        ...draft,
        attachments: [...draft.attachments, ...action.files].slice(0, MAX_ATTACHMENTS),
      }));
    case "attachment/updated":
      return changeDraft(state, action.session, (draft) => ({
        ...draft,
        attachments: draft.attachments.map((file) => (file.id === action.id ? { ...file, ...action.changes } : file)),
      }));
    case "attachment/retried":
      return changeDraft(state, action.session, (draft) => ({
        ...draft,
        attachments: draft.attachments.map((file) => (file.id === action.id ? resetUpload(file) : file)),
      }));
    case "paste/undone":
      return changeDraft(state, action.session, (draft) => undoPaste(draft, ({ id }) => id === action.id));
    case "attachment/removed":
      return changeDraft(state, action.session, (draft) => ({
        ...draft,
        attachments: draft.attachments.filter(({ id }) => id !== action.id),
      }));
    case "message/sent": {
      const cleared = action.clearsDraft ? changeDraft(state, action.session, () => NO_DRAFT) : state;
      return changeWaiting(cleared, action.session, (waiting) => [
        ...waiting.filter(({ runId }) => runId !== action.message.runId),
        action.message,
      ]);
    }
    case "message/updated":
      return changeWaiting(state, action.session, (waiting) =>
        waiting.map((message) => (message.runId === action.runId ? setStatus(message, action) : message)),
      );
    case "message/returned": {
      const { session, message } = action;
      const taken = changeWaiting(state, session, (waiting) => waiting.filter(({ runId }) => runId !== message.runId));
      return changeDraft(taken, session, ({ text, attachments }) => ({
        text: [message.text, text].filter((each) => each !== "").join("\n\n"),
        attachments: [...message.files.map(toAttachment), ...attachments].slice(0, MAX_ATTACHMENTS),
      }));
    }
    case "message/removed":
      return changeWaiting(state, action.session, (waiting) =>
        waiting.filter(({ runId }) => !action.runIds.includes(runId)),
      );
    case "queue/loaded":
      return changeWaiting(state, action.session, (waiting) => mergeQueue(waiting, action.queued));
    case "run/stopping":
      if (state.stopping.includes(action.runId)) return state;
      return { ...state, stopping: [...state.stopping, action.runId].slice(-MAX_STOPPING) };
    case "run/stopped":
      if (!state.stopping.includes(action.runId)) return state;
      return { ...state, stopping: state.stopping.filter((runId) => runId !== action.runId) };
    case "session/deleted":
      return {
        ...state,
        drafts: setBounded(state.drafts, action.session, undefined),
        waiting: setBounded(state.waiting, action.session, undefined),
      };
    case "composing/cleared":
      return EMPTY_COMPOSING;
    // Actions of other slices.
    default:
      return state;
  }
}

function setStatus(
  { error: _error, isLost: _isLost, ...message }: WaitingMessage,
  { status, error, isLost }: Pick<WaitingMessage, "status" | "error" | "isLost">,
): WaitingMessage {
  return { ...message, status, ...(error === undefined ? {} : { error }), ...(isLost === true ? { isLost } : {}) };
}

function toAttachment({ blob_id, name = "", mediaType = "", bytes = 0 }: MessageFile): Attachment {
  const blob = { blob_id, url: "", media_type: mediaType, bytes, created_at: 0 };
  return { id: blob_id, name, bytes, mediaType, progress: 100, blob };
}

function resetUpload({ error: _error, ...file }: Attachment): Attachment {
  return { ...file, progress: 0 };
}

/** Takes over the server's queue. Messages it does not list stay if they are unconfirmed or failed. */
function mergeQueue(waiting: readonly WaitingMessage[], queued: SessionDetails["queued"]): readonly WaitingMessage[] {
  const known = new Map(waiting.map((message) => [message.runId, message]));
  const loaded = queued.map(({ command_id, run_id, message, agent }): WaitingMessage => {
    const before = known.get(run_id);
    if (before?.status === "queued" || before?.status === "withdrawing") return before;
    const named = agent === undefined ? {} : { agent };
    return before === undefined
      ? { commandId: command_id, runId: run_id, text: message, ...named, files: [], status: "queued" }
      : setStatus(before, { status: "queued" });
  });
  const ids = new Set(loaded.map(({ runId }) => runId));
  const unconfirmed = waiting.filter(
    ({ runId, status }) => !ids.has(runId) && (status === "sending" || status === "failed"),
  );
  const next = [...loaded, ...unconfirmed];
  return next.length === waiting.length && next.every((message, index) => message === waiting[index]) ? waiting : next;
}

function changeDraft(
  state: ComposingState,
  session: string,
  change: (draft: ComposerDraft) => ComposerDraft,
): ComposingState {
  const before = findDraft(state, session);
  const draft = change(before);
  const isEmpty = draft.text === "" && draft.attachments.length === 0;
  return { ...state, drafts: setBounded(state.drafts, session, isEmpty ? undefined : draft) };
}

function changeWaiting(
  state: ComposingState,
  session: string,
  change: (waiting: readonly WaitingMessage[]) => readonly WaitingMessage[],
): ComposingState {
  const before = findWaiting(state, session);
  const waiting = change(before);
  if (waiting === before || (waiting.length === 0 && before.length === 0)) return state;
  return { ...state, waiting: setBounded(state.waiting, session, waiting.length === 0 ? undefined : waiting) };
}

/** Keeps the most recently changed sessions. */
function setBounded<T>(all: ReadonlyMap<string, T>, session: string, value: T | undefined): ReadonlyMap<string, T> {
  const others = [...all].filter(([name]) => name !== session);
  return new Map(value === undefined ? others : [...others.slice(-MAX_SESSIONS + 1), [session, value]]);
}
