/**
 * What people are about to say: drafts with the files that come with them, and messages that were sent and whose run has
 * not begun. Kept by session; that of a session yet to be made has the empty name.
 */
import type { Blob as BlobInfo, SessionDetails } from "loom-agent/server";

export interface Attachment {
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
  readonly mediaType: string;
  /** 0 to 100 while it goes up. */
  readonly progress: number;
  readonly blob?: BlobInfo;
  readonly error?: string;
}

export interface Draft {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

export interface MessageFile {
  readonly blob_id: string;
  readonly name?: string;
}

/** A message on its way. */
export interface WaitingMessage {
  readonly commandId: string;
  readonly runId: string;
  readonly text: string;
  readonly agent?: string;
  readonly files: readonly MessageFile[];
  /** sending: nobody has answered; queued: its turn will come; failed: it did not arrive, or was refused. */
  readonly status: "sending" | "queued" | "withdrawing" | "failed";
  readonly error?: string;
  /** Of one that failed: whether it arrived is not known. */
  readonly isLost?: true;
}

export interface ComposingState {
  /** Maps, as a session may have any name: that of something every object has, or a number. */
  readonly drafts: ReadonlyMap<string, Draft>;
  readonly waiting: ReadonlyMap<string, readonly WaitingMessage[]>;
  /** Runs that were told to stop and have not. */
  readonly stopping: readonly string[];
}

/** What it says; of one without a word what comes with it. */
export function describeMessage({ text, files }: WaitingMessage): string {
  return text === "" ? files.map(({ name }) => name).join(", ") : text;
}

export type ComposingAction =
  | { readonly type: "draft/typed"; readonly session: string; readonly text: string }
  | { readonly type: "draft/moved"; readonly from: string; readonly to: string }
  | { readonly type: "attachments/added"; readonly session: string; readonly files: readonly Attachment[] }
  | {
      readonly type: "attachment/told";
      readonly session: string;
      readonly id: string;
      readonly told: Partial<Attachment>;
    }
  | { readonly type: "attachment/retried"; readonly session: string; readonly id: string }
  | { readonly type: "attachment/removed"; readonly session: string; readonly id: string }
  /** `clearsDraft`: it is what the draft was. */
  | {
      readonly type: "message/sent";
      readonly session: string;
      readonly message: WaitingMessage;
      readonly clearsDraft: boolean;
    }
  | {
      readonly type: "message/told";
      readonly session: string;
      readonly runId: string;
      readonly status: WaitingMessage["status"];
      readonly error?: string;
      readonly isLost?: true;
    }
  /** Its run has begun, or it was taken back. */
  | { readonly type: "message/gone"; readonly session: string; readonly runIds: readonly string[] }
  | { readonly type: "queue/told"; readonly session: string; readonly queued: SessionDetails["queued"] }
  | { readonly type: "run/stopping"; readonly runId: string }
  | { readonly type: "run/stopped"; readonly runId: string }
  | { readonly type: "session/deleted"; readonly session: string }
  /** Somebody else will write here. */
  | { readonly type: "composing/forgotten" };

export const MAX_ATTACHMENTS = 20;
/** Sessions whose drafts, or whose waiting messages, are kept. */
const MAX_SESSIONS = 50;
const MAX_STOPPING = 20;

export const NO_DRAFT: Draft = { text: "", attachments: [] };
export const NOTHING_WAITS: readonly WaitingMessage[] = [];
export const NOTHING_COMPOSED: ComposingState = { drafts: new Map(), waiting: new Map(), stopping: [] };

/** `session` undefined: the one that is yet to be made. */
export function findDraft({ drafts }: ComposingState, session: string | undefined): Draft {
  return drafts.get(session ?? "") ?? NO_DRAFT;
}

export function findWaiting({ waiting }: ComposingState, session: string | undefined): readonly WaitingMessage[] {
  return waiting.get(session ?? "") ?? NOTHING_WAITS;
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
    case "attachment/told":
      return changeDraft(state, action.session, (draft) => ({
        ...draft,
        attachments: draft.attachments.map((file) => (file.id === action.id ? { ...file, ...action.told } : file)),
      }));
    case "attachment/retried":
      return changeDraft(state, action.session, (draft) => ({
        ...draft,
        attachments: draft.attachments.map((file) => (file.id === action.id ? beginAgain(file) : file)),
      }));
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
    case "message/told":
      return changeWaiting(state, action.session, (waiting) =>
        waiting.map((message) => (message.runId === action.runId ? tell(message, action) : message)),
      );
    case "message/gone":
      return changeWaiting(state, action.session, (waiting) =>
        waiting.filter(({ runId }) => !action.runIds.includes(runId)),
      );
    case "queue/told":
      return changeWaiting(state, action.session, (waiting) => takeQueue(waiting, action.queued));
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
    case "composing/forgotten":
      return NOTHING_COMPOSED;
    // What concerns others.
    default:
      return state;
  }
}

function tell(
  { error: _error, isLost: _isLost, ...message }: WaitingMessage,
  { status, error, isLost }: Pick<WaitingMessage, "status" | "error" | "isLost">,
): WaitingMessage {
  return { ...message, status, ...(error === undefined ? {} : { error }), ...(isLost === true ? { isLost } : {}) };
}

function beginAgain({ error: _error, ...file }: Attachment): Attachment {
  return { ...file, progress: 0 };
}

/** The server knows what waits; of what it has not heard of, the page does. */
function takeQueue(waiting: readonly WaitingMessage[], queued: SessionDetails["queued"]): readonly WaitingMessage[] {
  const known = new Map(waiting.map((message) => [message.runId, message]));
  const told = queued.map(({ command_id, run_id, message, agent }): WaitingMessage => {
    const before = known.get(run_id);
    if (before?.status === "queued" || before?.status === "withdrawing") return before;
    const named = agent === undefined ? {} : { agent };
    return before === undefined
      ? { commandId: command_id, runId: run_id, text: message, ...named, files: [], status: "queued" }
      : tell(before, { status: "queued" });
  });
  const ids = new Set(told.map(({ runId }) => runId));
  const unheard = waiting.filter(
    ({ runId, status }) => !ids.has(runId) && (status === "sending" || status === "failed"),
  );
  const next = [...told, ...unheard];
  return next.length === waiting.length && next.every((message, index) => message === waiting[index]) ? waiting : next;
}

function changeDraft(state: ComposingState, session: string, change: (draft: Draft) => Draft): ComposingState {
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

/** What was changed last is kept, the rest as far as there is room. */
function setBounded<T>(all: ReadonlyMap<string, T>, session: string, value: T | undefined): ReadonlyMap<string, T> {
  const others = [...all].filter(([name]) => name !== session);
  return new Map(value === undefined ? others : [...others.slice(-MAX_SESSIONS + 1), [session, value]]);
}
