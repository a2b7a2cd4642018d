/**
 * Converts the return value of a tool to a `ToolCallResult`: a text for the model, and the same as JSON unless it is
 * only a text.
 */
import { type Json, LoomError } from "../protocol/index.ts";
import type { LocalizedText } from "../protocol/schema.ts";
import { toJson } from "./to-json.ts";
import type { ToolCallResult } from "./tool.ts";

/** Marks objects created by `toolResult`, so that JSON with a field `text` is not mistaken for one. */
const TOOL_RESULT = Symbol.for("loom-agent.tool-result");

const NOTHING = "Done. The tool returned nothing.";
const FAILED = "The tool failed and did not say why.";

/** Parts of a result for `toolResult`. */
export interface ToolResultParts {
  /** Text for the model. Default: `output` as JSON. */
  readonly text?: string;
  /** Data for programs. Any value that can be converted to JSON. */
  readonly output?: unknown;
  /**
   * What the call has done, in a few words for users, such as "Made a to-do list (5 items)". With `en` and `zh`, users
   * see it in the language of their message. Default: users see what the call does.
   */
  readonly summary?: string | LocalizedText | undefined;
  /** Set if the tool worked but the outcome is an error, such as "not found". Default: false. */
  readonly isError?: boolean;
}

/**
 * Creates a result with a text, data or an error flag, to return from `execute`.
 *
 * Throws `tool_failed` if `output` cannot be converted to JSON.
 *
 * ```ts
 * execute: ({ city }) => toolResult({ text: `No weather for ${city}`, isError: true });
 * ```
 */
export function toolResult({ text, output, summary, isError = false }: ToolResultParts): ToolCallResult {
  const made = output === undefined ? undefined : toJson(output);
  if (made !== undefined) assertSerializable(output, made.value);
  const nothing = isError ? FAILED : NOTHING;
  const result: ToolCallResult = {
    text: text ?? (made === undefined ? nothing : writeJson(made.value, made.isCut)),
    ...(made === undefined || made.isCut ? {} : { output: made.value }),
    ...(summary === undefined ? {} : { summary }),
    ...(isError ? { isError } : {}),
  };
  return Object.defineProperty(result, TOOL_RESULT, { value: true });
}

/** Converts any value returned from `execute` to a result. A returned error is thrown. */
export function asToolResult(value: unknown): ToolCallResult {
  if (value instanceof Error) throw value;
  if (typeof value === "string") return { text: value };
  if (value === undefined || value === null) return { text: NOTHING };
  if (typeof value === "object" && TOOL_RESULT in value) return value as unknown as ToolCallResult;
  return toolResult({ output: value });
}

/** Rejects objects such as Response and Blob, which convert to `{}` and would look like a success. */
function assertSerializable(value: unknown, made: Json): void {
  if (typeof value !== "object" || value === null || JSON.stringify(made) !== "{}") return;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype || value instanceof Map || "toJSON" in value) return;
  const name = value.constructor.name || "an object";
  throw new LoomError("tool_failed", `The tool returned ${name}, which cannot be converted to JSON`);
}

/** Converts a value to text for a model or a person. */
export function showValue(value: unknown): string {
  if (typeof value === "string") return value;
  const made = toJson(value);
  return writeJson(made.value, made.isCut);
}

function writeJson(value: Json, isCut: boolean): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return isCut ? `${text}\n[truncated: the value is too large]` : text;
}

/**
 * An error whose message is meant for the model and the user. It is always shown, also where the messages of unexpected
 * exceptions are hidden (`exposeToolErrors: false`). Its code is `tool_failed`.
 *
 * ```ts
 * throw new ToolError("No customer has this number", { cause: error });
 * ```
 */
export class ToolError extends LoomError {
  constructor(message: string, options?: ErrorOptions) {
    super("tool_failed", message, {}, options);
  }
}
