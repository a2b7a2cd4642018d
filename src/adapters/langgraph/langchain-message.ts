/**
 * Reads messages of LangChain: instances of its classes, and the plain objects that stand for them. Nothing of the
 * framework is imported; fields are checked before they are used.
 */
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";

/** The fields that are read. Any of them may be missing or have another type. */
export interface MessageFields {
  readonly id?: unknown;
  readonly type?: unknown;
  readonly role?: unknown;
  readonly name?: unknown;
  readonly content?: unknown;
  readonly tool_calls?: unknown;
  readonly tool_call_chunks?: unknown;
  readonly tool_call_id?: unknown;
  readonly status?: unknown;
  readonly artifact?: unknown;
  readonly usage_metadata?: unknown;
  readonly response_metadata?: unknown;
  readonly additional_kwargs?: unknown;
  readonly getType?: unknown;
  readonly concat?: unknown;
}

/** A tool call in a message. */
export interface MessageCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly input: JsonObject;
}

const AI: ReadonlySet<unknown> = new Set(["ai", "AIMessage", "AIMessageChunk", "assistant"]);
const TOOL: ReadonlySet<unknown> = new Set(["tool", "ToolMessage", "ToolMessageChunk"]);
/** Fields of a message in graph states and foreign frames. */
const KEPT = [
  "id",
  "name",
  "content",
  "tool_calls",
  "invalid_tool_calls",
  "tool_call_id",
  "status",
  "artifact",
  "usage_metadata",
  "response_metadata",
  "additional_kwargs",
] as const;

/** True for an instance of a message class. */
function isInstance(value: object): boolean {
  return typeof (value as MessageFields).getType === "function";
}

export function isMessage(value: unknown): value is MessageFields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  if (isInstance(value)) return true;
  const { type, role } = value as MessageFields;
  return "content" in value && (typeof type === "string" || typeof role === "string");
}

/** `ai`, `tool`, or another name that LangChain gives the message. */
export function kindOf(message: MessageFields): string {
  const { getType, type, role } = message;
  const kind: unknown = typeof getType === "function" ? getType.call(message) : (type ?? role);
  if (AI.has(kind)) return "ai";
  return TOOL.has(kind) ? "tool" : String(kind);
}

/** True if more of the message may follow. */
export function isChunk({ concat, type }: MessageFields): boolean {
  return typeof concat === "function" || type === "AIMessageChunk";
}

/** True if the `messages` mode reports such a message when a node returns it. */
export function isReported(message: MessageFields): boolean {
  return isInstance(message) || typeof message.id === "string";
}

/** The text of a message, without its other content. */
export function textOf({ content }: MessageFields): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((block: unknown) => (typeof block === "string" ? block : readText(block))).join("");
}

function readText(block: unknown): string {
  const { type, text } = toFields(block);
  return type === "text" && typeof text === "string" ? text : "";
}

/** The tool calls of a complete message. */
export function callsOf({ tool_calls }: MessageFields): readonly MessageCall[] {
  if (!Array.isArray(tool_calls)) return [];
  return tool_calls.flatMap((call: unknown) => {
    const { id, name, args } = toFields(call);
    if (typeof name !== "string" || name === "") return [];
    return [{ id: typeof id === "string" ? id : undefined, name, input: isJsonObject(args) ? args : {} }];
  });
}

/** Returns the fields of an object; none for any other value. */
export function toFields(value: unknown): { readonly [name: string]: unknown } {
  return isJsonObject(value) ? value : {};
}

/** Finds the messages in what a node returned or in a state. */
export function findMessages(value: unknown): readonly MessageFields[] {
  if (isMessage(value)) return [value];
  if (Array.isArray(value)) return value.filter(isMessage);
  return Object.values(toFields(value)).flatMap((field) =>
    Array.isArray(field) ? field.filter(isMessage) : isMessage(field) ? [field] : [],
  );
}

/** Converts a value of the framework to JSON, messages with their usual fields. Undefined if that is not possible. */
export function toPlainJson(value: unknown): Json | undefined {
  try {
    const text = JSON.stringify(value, function (this: { readonly [key: string]: unknown }, key, converted: unknown) {
      const raw = this[key];
      if (typeof raw === "bigint") return String(raw);
      return typeof raw === "object" && raw !== null && isInstance(raw) ? describeMessage(raw) : converted;
    }) as string | undefined;
    return text === undefined ? null : (JSON.parse(text) as Json);
  } catch {
    return undefined;
  }
}

function describeMessage(message: MessageFields): { readonly [name: string]: unknown } {
  const fields: { [name: string]: unknown } = { type: kindOf(message) };
  for (const name of KEPT) {
    const value = (message as { readonly [name: string]: unknown })[name];
    if (value !== undefined && !isEmpty(value)) fields[name] = value;
  }
  return fields;
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
