/**
 * The frames of 004 that a socket itself has to say, beside those of the log: who is greeted, and what could not be
 * taken. They are in no log and have no place in the stream; `status: "refused"` tells such an error from the run's.
 */
import { randomUUID } from "node:crypto";
import { DIALECTS } from "../../dialects/index.ts";
import type { JsonObject } from "../../protocol/index.ts";

const DONE = "[DONE]";
/** Text that reads like the end mark travels in two chunks, so this is in few other frames. */
const DONE_FIELD = `"content":"${DONE}"`;

/** Why something could not be taken. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** The `session_id` frame, as the dialect itself writes it for a run that begins with this record. */
function encodeOpening(sessionId: string, eventId: number): string {
  const [text = ""] = DIALECTS.lumine.createEncoder().encode({
    envelope: { session_id: sessionId, run_id: "", event_id: eventId, ts: 0 },
    event: { type: "run_start", run_id: "" },
  });
  return text;
}

/** What greets a new session: the very first frame of its stream. */
export function greetNew(sessionId: string): string {
  return encodeOpening(sessionId, 1);
}

/** Has the conversation's id, once there is a conversation. */
export function greet(sessionId: string, isNew: boolean): string {
  return JSON.stringify(base(sessionId, isNew));
}

/** What could not be taken, and why. */
export function makeRefusal(sessionId: string, isNew: boolean, { code, message }: Refusal): string {
  return JSON.stringify({ ...base(sessionId, isNew), type: "error", status: "refused", error: message, code });
}

/** The end of a request that had no run, or whose stream broke off. */
export function makeDone(sessionId: string, isNew: boolean): string {
  return JSON.stringify({ ...base(sessionId, isNew), type: "chunk", content: DONE, status: "error" });
}

export function isDone(text: string): boolean {
  if (!text.includes(DONE_FIELD)) return false;
  const { type, content } = JSON.parse(text) as JsonObject;
  return type === "chunk" && content === DONE;
}

/** Of a kind that also comes between two requests: it begins none and ends none. */
export function isOfNoRequest(text: string): boolean {
  return text.startsWith('{"type":"todo_');
}

function base(sessionId: string, isNew: boolean): JsonObject {
  const opening = JSON.parse(encodeOpening(sessionId, isNew ? 1 : 2)) as JsonObject;
  return { ...opening, id: randomUUID() };
}
