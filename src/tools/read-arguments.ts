/**
 * The arguments of a call as an object, or what is wrong with the model's text, so exactly that it can be repaired.
 */
import { describeValue, type JsonObject } from "../protocol/index.ts";
import { findJsonFault } from "./find-json-fault.ts";
import type { ToolCall } from "./tool.ts";

export type ReadArguments =
  | { readonly ok: true; readonly input: JsonObject }
  | { readonly ok: false; readonly message: string };

/** Characters on each side of the place that is wrong. */
const AROUND = 40;

export function readArguments({ input, rawInput }: Pick<ToolCall, "input" | "rawInput">): ReadArguments {
  if (input !== undefined) return { ok: true, input };
  // Some providers send nothing at all for a tool that needs nothing.
  if (rawInput.trim() === "") return { ok: true, input: {} };
  const fault = findJsonFault(rawInput);
  if (fault === undefined)
    return { ok: false, message: `The arguments must be a JSON object, not ${describeJson(rawInput)}.` };
  const { position, expected } = fault;
  const place = position >= rawInput.length ? "ends too early" : `is wrong at position ${position}`;
  const before = rawInput.slice(Math.max(0, position - AROUND), position).toWellFormed();
  const after = rawInput.slice(position, position + AROUND).toWellFormed();
  return {
    ok: false,
    message:
      `The arguments are not valid JSON. The text of ${rawInput.length} characters ${place}, ` +
      `expected ${expected}. Around it: ${before}⟨here⟩${after}\nCall the tool again with one JSON object.`,
  };
}

function describeJson(text: string): string {
  return describeValue(JSON.parse(text));
}
