/**
 * Reads output items of the Responses API: texts, calls and results. It knows no stream: the decoder of the dialect
 * and the adapter for OpenAI streams both use it.
 */
import { type Json, type JsonObject, toJsonObjects } from "../../protocol/json.ts";
import { fromOpenaiErrorCode } from "../openai-error.ts";

/** Reason of a failed response that has none. */
export const FAILED = "The run failed";
/** Error code of a failure without one. */
export const SERVER_ERROR = "server_error";

/** Returns the code of a run whose response failed with this code. */
export function readErrorCode(code: Json | undefined): string | undefined {
  return typeof code !== "string" || code === SERVER_ERROR ? undefined : fromOpenaiErrorCode(code);
}

/** Events whose content arrives in other events too. */
const REPEATED = new RegExp(
  [
    "queued|in_progress|keepalive",
    "content_part\\.(added|done)|(output_text|refusal|reasoning_text|reasoning_summary_text)\\.done",
    "reasoning_summary_part\\.done|function_call_arguments\\.done|custom_tool_call_input\\..*|mcp_call_arguments\\..*",
    "\\w+_call\\.(in_progress|searching|interpreting|generating|completed|failed)|mcp_list_tools\\..*",
    "code_interpreter_call_code\\..*|shell_call_(command|output_content)\\..*|compaction\\.compacting",
  ]
    .map((types) => `^response\\.(${types})$`)
    .join("|"),
);

/** Fields of hosted tool calls that say what was asked, and those with the result. */
const ASKED = ["action", "operation", "queries", "code", "revised_prompt"] as const;
const GIVEN = ["output", "outputs", "results", "error"] as const;

/** True for an event whose content arrives in other events too. */
export function isRepeatedEvent(type: string): boolean {
  return REPEATED.test(type);
}

/** A call of a tool that the provider runs. */
export interface HostedCall {
  readonly name: string;
  /** Arguments as JSON. */
  readonly input: string;
  /** Undefined if another item brings the result. */
  readonly end: { readonly result: string; readonly isError: boolean } | undefined;
}

/** Reads a call of a hosted tool. It has its result already, unless it has a `call_id` for a result to come. */
export function readHostedCall(item: JsonObject): HostedCall {
  const { arguments: text, call_id: expects, error, status } = item;
  const input = typeof text === "string" ? text : JSON.stringify(pick(item, ASKED));
  const given = Object.values(pick(item, GIVEN));
  const result = given.length === 0 ? toText(status ?? "completed") : given.map(describeOutput).join("\n");
  const end = typeof expects === "string" ? undefined : { result, isError: status === "failed" || error != null };
  return { name: readCallName(item), input, end };
}

/** The name of the tool; for hosted tools without one, the kind of the item. */
export function readCallName({ name, type }: JsonObject): string {
  if (typeof name === "string" && name !== "") return name;
  return toText(type).replace(/_call$/, "");
}

/** A tool result as text. */
export function describeOutput(output: Json | undefined): string {
  if (typeof output === "string") return output;
  const texts = listTexts(output);
  if (Array.isArray(output) && output.length > 0 && texts.length === output.length) return texts.join("");
  return output === undefined || output === null ? "" : JSON.stringify(output);
}

/** Texts of a list of content parts. */
export function listTexts(parts: Json | undefined): readonly string[] {
  return toJsonObjects(parts).flatMap(({ text, refusal }) =>
    typeof text === "string" ? [text] : typeof refusal === "string" ? [refusal] : [],
  );
}

/** A text or number as text; empty for anything else. */
export function toText(value: Json | undefined): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
}

function pick(item: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (item[name] == null ? [] : [[name, item[name]]])));
}
