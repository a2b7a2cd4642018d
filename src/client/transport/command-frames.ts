/**
 * A command on its way up, and what became of it, from the control frame that answers it, however that frame came.
 * Nothing here throws: what cannot be said is refused before it is sent.
 */
import { type AckControl, encodeControl, type RefusalControl } from "../../protocol/control/index.ts";
import type { ClientCommand, CommandOutcome, Refusal } from "../transport.ts";
import { readRefusal, refuse } from "./refusal.ts";

/** Characters of a command. What servers take unless told otherwise; a longer one could not even be answered. */
export const MAX_COMMAND_LENGTH = 64 * 1024;

/** How long one asking may go unanswered. Servers wait ten seconds for what may take its time before they say so. */
export const COMMAND_TIMEOUT_MS = 15_000;

/** The text of the frame, or why there is none. */
export function encodeCommand(command: ClientCommand, maxLength: number): string | Refusal {
  try {
    const text = encodeControl(command);
    if (text.length <= maxLength) return text;
    return refuse("invalid_command", `a command has at most ${maxLength} characters, not ${text.length}`);
  } catch (error) {
    return refuse("invalid_command", `it cannot be written: ${error instanceof Error ? error.message : "no JSON"}`);
  }
}

export function readAnswer(answer: AckControl | RefusalControl): CommandOutcome {
  if (answer.type === "refusal") return readRefusal(answer, answer.message);
  if (answer.pending === true) return { kind: "accepted" };
  return { kind: "done", ...(answer.result !== undefined && { result: answer.result }) };
}

export function loseCommand(message: string, retryAfterMs?: number): CommandOutcome {
  return { kind: "lost", code: "connection_lost", message, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

export function expireCommand(timeoutMs: number): CommandOutcome {
  return { kind: "lost", code: "command_timeout", message: `not answered within ${timeoutMs} ms` };
}
