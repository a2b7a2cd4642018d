/** Truncates a tool result to the limit of the tool and to the size of one log event. */
import { Buffer } from "node:buffer";
import type { Json } from "../protocol/index.ts";
import { toJson } from "./to-json.ts";
import { DEFAULT_LIMITS, type ToolCallResult } from "./tool.ts";

/** Limits in bytes of JSON. Both together, with their field names, fit into an event of 1 MiB. */
const MAX_TEXT_BYTES = 600_000;
const MAX_DATA_BYTES = 400_000;

export interface TruncatedResult {
  readonly text: string;
  /** Absent if the tool returned no data or too much: partial data would mislead programs. */
  readonly output?: Json;
  /** Approximate size of text and data. */
  readonly bytes: number;
}

export function truncateResult(
  { text, output }: ToolCallResult,
  maxCharacters: number = DEFAULT_LIMITS.maxResultCharacters,
): TruncatedResult {
  // A tool that was not created by `defineTool` can return anything.
  const whole = typeof text === "string" ? text : "";
  const limit = whole.length <= MAX_TEXT_BYTES / 6 ? maxCharacters : Math.min(maxCharacters, findFit(whole));
  const fitted = whole.length <= limit ? whole : `${whole.slice(0, limit)}\n${describeCut(whole.length, limit)}`;
  const data = output === undefined ? undefined : fitData(output);
  const bytes = Buffer.byteLength(fitted) + (data?.bytes ?? 0);
  return { text: fitted.toWellFormed(), bytes, ...(data === undefined ? {} : { output: data.value }) };
}

function describeCut(length: number, limit: number): string {
  return `[truncated: showing the first ${limit} of ${length} characters]`;
}

function fitData(output: Json): { readonly value: Json; readonly bytes: number } | undefined {
  const { value, isCut } = toJson(output);
  if (isCut) return undefined;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return bytes > MAX_DATA_BYTES ? undefined : { value, bytes };
}

/** Returns a length whose JSON surely fits. Halving is good enough, since few texts are that long. */
function findFit(text: string): number {
  let length = Math.min(text.length, MAX_TEXT_BYTES);
  while (Buffer.byteLength(JSON.stringify(text.slice(0, length))) > MAX_TEXT_BYTES) length = Math.floor(length / 2);
  return length;
}
