/**
 * What a tool gives back, brought into the one shape runs write: a text for the model, and the same as data where it is
 * more than a text. It knows no call and no limit of one.
 */
import { type Json, LoomError } from "../protocol/index.ts";
import { toJson } from "./to-json.ts";
import type { ToolResult } from "./tool.ts";

/** Marks what `toolResult` made, so that JSON with a field `text` is not taken for it. */
const MADE = Symbol.for("loom-agent.tool-result");

/** What the model is told where a tool says nothing. */
const NOTHING = "Done. The tool returned nothing.";
const FAILED = "The tool failed and did not say why.";

export interface ToolResultParts {
  /** What the model is told; `output` as JSON when absent. */
  readonly text?: string;
  /** Data for programs; anything JSON has a form for. */
  readonly output?: unknown;
  /** The tool worked, and what it has to say is bad news. */
  readonly isError?: boolean;
}

/** A result that says more than one thing: to be returned from `execute`. Throws for data that JSON has no form for. */
export function toolResult({ text, output, isError = false }: ToolResultParts): ToolResult {
  const made = output === undefined ? undefined : toJson(output);
  if (made !== undefined) assertForm(output, made.value);
  const nothing = isError ? FAILED : NOTHING;
  const result: ToolResult = {
    text: text ?? (made === undefined ? nothing : writeJson(made.value, made.isCut)),
    ...(made === undefined || made.isCut ? {} : { output: made.value }),
    ...(isError ? { isError } : {}),
  };
  return Object.defineProperty(result, MADE, { value: true });
}

/** The result that any value returned from `execute` stands for. An error that is returned is thrown. */
export function asToolResult(value: unknown): ToolResult {
  if (value instanceof Error) throw value;
  if (typeof value === "string") return { text: value };
  if (value === undefined || value === null) return { text: NOTHING };
  if (typeof value === "object" && MADE in value) return value as unknown as ToolResult;
  return toolResult({ output: value });
}

/** A response, a blob and the like keep what they hold to themselves; `{}` would pass for a success. */
function assertForm(value: unknown, made: Json): void {
  if (typeof value !== "object" || value === null || JSON.stringify(made) !== "{}") return;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype || value instanceof Map || "toJSON" in value) return;
  const name = value.constructor.name || "an object";
  throw new LoomError("tool_failed", `The tool returned ${name}, which has no form in JSON.`);
}

/** A value as the text a model or a person reads. */
export function showValue(value: unknown): string {
  if (typeof value === "string") return value;
  const made = toJson(value);
  return writeJson(made.value, made.isCut);
}

function writeJson(value: Json, isCut: boolean): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return isCut ? `${text}\n[cut: there is more than can be shown]` : text;
}
