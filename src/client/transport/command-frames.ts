/**
 * Encodes commands and reads their results from control frames, for all transports. Nothing here throws: a command that
 * cannot be encoded is refused before it is sent.
 */
import { type AckControl, encodeControl, type RefusalControl } from "../../protocol/control/index.ts";
import type { ClientCommand, CommandResult, Refusal } from "../transport.ts";
import { readRefusal, refuse } from "./refusal.ts";

/** Default maximum length of a command in characters; also the default limit of the server. */
export const MAX_COMMAND_LENGTH = 64 * 1024;

/** Default time to wait for one response. Servers answer slow commands with a pending response after 10 seconds. */
export const COMMAND_TIMEOUT_MS = 15_000;

/** Returns the text of the control frame, or a refusal if the command is too long or not serializable. */
export function encodeCommand(command: ClientCommand, maxLength: number): string | Refusal {
  try {
    const text = encodeControl(command);
    if (text.length <= maxLength) return text;
    return refuse("invalid_command", `The command has ${text.length} characters; the limit is ${maxLength}`);
  } catch (error) {
    return refuse(
      "invalid_command",
      `The command cannot be encoded: ${error instanceof Error ? error.message : "not serializable as JSON"}`,
    );
  }
}

export function readCommandResult(answer: AckControl | RefusalControl): CommandResult {
  if (answer.type === "refusal") return readRefusal(answer, answer.message);
  if (answer.pending === true) return { kind: "accepted" };
  return { kind: "done", ...(answer.result !== undefined && { result: answer.result }) };
}

export function createLostCommand(message: string, retryAfterMs?: number): CommandResult {
  return { kind: "lost", code: "connection_lost", message, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

export function createTimedOutCommand(timeoutMs: number): CommandResult {
  return {
    kind: "lost",
    code: "command_timeout",
    message: `The server did not answer the command within ${timeoutMs} ms`,
  };
}
