/** Reads fields of the bodies of commands. Each function throws `invalid_command` for a value of the wrong type. */
import { type JsonObject, LoomError, type ToolRules } from "../protocol/index.ts";
import { isToolRules } from "../protocol/tool-rules.ts";

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
