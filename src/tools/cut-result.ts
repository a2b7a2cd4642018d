/**
 * Makes a result fit: into what the model may be told, and into one event of the log, whatever is in it.
 */
import { Buffer } from "node:buffer";
import type { Json } from "../protocol/index.ts";
import { toJson } from "./to-json.ts";
import { DEFAULT_LIMITS } from "./tool-limits.ts";
import type { ToolResult } from "./tool.ts";

/** Bytes of the text and of the data as JSON. Together with their names they fit into an event of 1 MiB. */
const MAX_TEXT_BYTES = 600_000;
const MAX_DATA_BYTES = 400_000;

export interface FittedResult {
  readonly text: string;
  /** Absent where there is none, or too much of it: the model has been told, and half of it would mislead programs. */
  readonly output?: Json;
  /** Of both, nearly. */
  readonly bytes: number;
}

export function cutResult(
  { text, output }: ToolResult,
  maxCharacters: number = DEFAULT_LIMITS.maxResultCharacters,
): FittedResult {
  // A tool made by hand may give anything.
  const whole = typeof text === "string" ? text : "";
  const limit = whole.length <= MAX_TEXT_BYTES / 6 ? maxCharacters : Math.min(maxCharacters, findFit(whole));
  const fitted = whole.length <= limit ? whole : `${whole.slice(0, limit)}\n${describeCut(whole.length, limit)}`;
  const data = output === undefined ? undefined : fitData(output);
  const bytes = Buffer.byteLength(fitted) + (data?.bytes ?? 0);
  return { text: fitted.toWellFormed(), bytes, ...(data === undefined ? {} : { output: data.value }) };
}

function describeCut(length: number, limit: number): string {
  return `[cut: the result has ${length} characters; these are the first ${limit}]`;
}

function fitData(output: Json): { readonly value: Json; readonly bytes: number } | undefined {
  const { value, isCut } = toJson(output);
  if (isCut) return undefined;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return bytes > MAX_DATA_BYTES ? undefined : { value, bytes };
}

/** Characters from the beginning that surely fit, by halving: few texts are that long. */
function findFit(text: string): number {
  let length = Math.min(text.length, MAX_TEXT_BYTES);
  while (Buffer.byteLength(JSON.stringify(text.slice(0, length))) > MAX_TEXT_BYTES) length = Math.floor(length / 2);
  return length;
}
