/** Reads fields of the bodies of commands, and settles commands. */
import type { CommandState } from "../log/log.ts";
import { type ControlCommand, readUp } from "../protocol/control/control-codec.ts";
import { findUpFrameForm } from "../protocol/control/up.generated.ts";
import { type JsonObject, LoomError, type ToolRules } from "../protocol/index.ts";
import { isToolRules } from "../protocol/tool-rules.ts";
import type { Settle } from "./run-contract.ts";

/** The run that a cancel names; all runs if it has no IDs. */
export interface CommandTarget {
  readonly runId?: string | undefined;
  readonly requestId?: string | undefined;
}

/** Fields that are used as keys. */
const KEYS = ["run_id", "call_id", "list_id", "item_id", "name"];

/** Reads a command by the declaration of its control frame, without fields that are null. Throws `invalid_command`. */
export function readCommand<T extends ControlCommand["type"]>(
  type: T,
  { commandId, sessionId, body }: CommandState,
): Extract<ControlCommand, { readonly type: T }> {
  const read = readUp({ ...body, type, id: commandId, session: sessionId });
  if (!read.ok) throw invalidCommand(read.message);
  const fields = findUpFrameForm(type)?.fields;
  for (const name of KEYS) if (fields?.has(name) === true) readName(body, name);
  return read.frame as Extract<ControlCommand, { readonly type: T }>;
}

/** Reads a string. Throws `invalid_command` for another type, like the functions below. */
export function readText(body: JsonObject, name: string): string | undefined {
  const value = body[name];
  if (value == null) return undefined;
  if (typeof value !== "string") throw invalidCommand(`\`${name}\` must be a string`);
  return value;
}

/** Reads a string that is used as a key. A lone surrogate would be stored as another character. */
export function readName(body: JsonObject, name: string): string | undefined {
  const text = readText(body, name);
  if (text?.isWellFormed() === false) throw invalidCommand(`\`${name}\` contains a lone surrogate`);
  return text;
}

/** Reads the tool rules of the caller, which the server sets. */
export function readCallerRules({ tools }: JsonObject): ToolRules | undefined {
  if (tools == null) return undefined;
  if (!isToolRules(tools)) throw invalidCommand("`tools` must map tool names to allow, ask or deny");
  return tools;
}

export function invalidCommand(message: string): LoomError {
  return new LoomError("invalid_command", message);
}

/** Reads the target of a command that may be malformed. */
export function readTargetOf({ run_id, request_id }: JsonObject): CommandTarget {
  return {
    runId: typeof run_id === "string" ? run_id : undefined,
    requestId: typeof request_id === "string" ? request_id : undefined,
  };
}

/** True if the run has the IDs of the target. */
export function isTarget({ runId, requestId }: CommandTarget, run: CommandTarget): boolean {
  if (runId !== undefined && run.runId !== runId) return false;
  return requestId === undefined || run.requestId === requestId;
}

/** Settles a command as done, with the ID of its record. */
export function settleDone(commandId: string, details?: JsonObject): Settle {
  return (eventId) => ({ commandId, outcome: { code: "done", eventId, ...(details && { details }) } });
}
