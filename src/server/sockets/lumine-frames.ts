/**
 * Lumine (004) frames that the socket writes itself: greetings, refusals and the end of a request. They are not in the
 * log and have no cursor. An error with `status: "refused"` comes from the socket, not from a run.
 */
import { randomUUID } from "node:crypto";
import { DIALECTS } from "../../dialects/index.ts";
import { describeErrorFor } from "../../dialects/lumine/error-texts.ts";
import type { Language } from "../../protocol/detect-language.ts";
import type { JsonObject } from "../../protocol/index.ts";

const DONE = "[DONE]";
/** The encoder splits text that equals the end mark, so few other frames contain this field. */
const DONE_FIELD = `"content":"${DONE}"`;

/** Why an input was refused. */
export interface LumineRefusal {
  readonly code: string;
  readonly message: string;
}

/** The `session_id` frame that the dialect writes for a run that starts at this record. */
function encodeOpening(sessionId: string, eventId: number): string {
  const [text = ""] = DIALECTS.lumine.createEncoder().encode({
    envelope: { session_id: sessionId, run_id: "", event_id: eventId, ts: 0 },
    event: { type: "run_start", run_id: "" },
  });
  return text;
}

/** The greeting of a new session, which is the first frame of its stream. */
export function encodeNewSessionGreeting(sessionId: string): string {
  return encodeOpening(sessionId, 1);
}

/** The greeting of a session. It has a conversation ID unless the session is new. */
export function encodeGreeting(sessionId: string, isNew: boolean): string {
  return encodeOpening(sessionId, isNew ? 1 : 2);
}

/** An error frame for a refused input, in the language of the user. */
export function encodeRefusal(
  sessionId: string,
  isNew: boolean,
  { code, message }: LumineRefusal,
  language: Language,
): string {
  return JSON.stringify({
    ...createBaseFrame(sessionId, isNew),
    type: "error",
    status: "refused",
    ...describeErrorFor(language, { code, message }),
    code: code.toUpperCase(),
  });
}

/** The end of a request without a run, or whose stream failed. */
export function encodeDone(sessionId: string, isNew: boolean): string {
  return JSON.stringify({ ...createBaseFrame(sessionId, isNew), type: "chunk", content: DONE });
}

export function isDone(text: string): boolean {
  if (!text.includes(DONE_FIELD)) return false;
  const { type, content } = JSON.parse(text) as JsonObject;
  return type === "chunk" && content === DONE;
}

/** Whether the frame can occur between requests; it neither starts nor ends one. */
export function isOutsideRequest(text: string): boolean {
  return text.startsWith('{"type":"todo_');
}

function createBaseFrame(sessionId: string, isNew: boolean): JsonObject {
  const opening = JSON.parse(encodeOpening(sessionId, isNew ? 1 : 2)) as JsonObject;
  return { ...opening, id: randomUUID() };
}
