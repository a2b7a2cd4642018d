/**
 * Reads the arguments of a tool call. If the text of the model is not a JSON object, the message says where it is wrong
 * so that the model can repair it.
 */
import type { JsonObject } from "../protocol/index.ts";
import { parseJson } from "../protocol/json.ts";
import { describeValue } from "../protocol/fault.ts";
import { findJsonFault } from "./find-json-fault.ts";
import type { ToolCallRequest } from "./tool.ts";

export type ReadArgumentsResult =
  | { readonly ok: true; readonly input: JsonObject }
  | { readonly ok: false; readonly message: string };

/** Characters quoted on each side of the fault. */
const AROUND = 40;
/** In longer texts the position of the fault is not searched. */
const MAX_LOCATED = 200_000;

export function readArguments({ input, rawInput }: Pick<ToolCallRequest, "input" | "rawInput">): ReadArgumentsResult {
  if (input !== undefined) return { ok: true, input };
  // Some providers send an empty text for a tool without arguments.
  if (rawInput.trim() === "") return { ok: true, input: {} };
  if (rawInput.length > MAX_LOCATED && parseJson(rawInput) === undefined)
    return {
      ok: false,
      message: `The arguments are not valid JSON. The text has ${rawInput.length} characters.\nCall the tool again with one JSON object.`,
    };
  const fault = rawInput.length > MAX_LOCATED ? undefined : findJsonFault(rawInput);
  if (fault === undefined)
    return { ok: false, message: `The arguments must be a JSON object, not ${describeJson(rawInput)}` };
  const { position, expected } = fault;
  const where = position >= rawInput.length ? "ends too early" : `is invalid at position ${position}`;
  const before = rawInput.slice(Math.max(0, position - AROUND), position).toWellFormed();
  const after = rawInput.slice(position, position + AROUND).toWellFormed();
  return {
    ok: false,
    message:
      `The arguments are not valid JSON. The text of ${rawInput.length} characters ${where}: ` +
      `expected ${expected}. Context: ${before}⟨here⟩${after}\nCall the tool again with one JSON object.`,
  };
}

function describeJson(text: string): string {
  return describeValue(JSON.parse(text));
}
