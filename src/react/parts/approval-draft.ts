/**
 * The editable arguments of a tool call: one text per field, or all arguments as JSON.
 *
 * Invariants: unchanged arguments are sent exactly as requested, to the last digit; a draft has the same value after
 * switching its mode.
 */
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isDeeperThan, isJsonObject } from "../../protocol/json.ts";
import { PartialJson } from "../../protocol/partial-json.ts";

export type FieldKind = "text" | "number" | "boolean" | "json";

export interface DraftField {
  readonly name: string;
  readonly kind: FieldKind;
  /** `true` or `false` for a boolean. */
  readonly text: string;
}

export type ApprovalDraft =
  | { readonly mode: "form"; readonly fields: readonly DraftField[] }
  | { readonly mode: "raw"; readonly text: string };

/** `unsendable`: valid JSON that would not survive sending, because a number overflows or the nesting is too deep. */
export type FieldError = "number" | "json" | "unsendable";
export type DraftTextError = Exclude<JsonParseResult, { readonly kind: "object" }> | { readonly kind: "unsendable" };

export type DraftParseResult =
  | { readonly kind: "ready"; readonly arguments: JsonObject; readonly isChanged: boolean }
  | { readonly kind: "invalid-fields"; readonly errors: ReadonlyMap<string, FieldError> }
  | { readonly kind: "invalid-text"; readonly error: DraftTextError };

/** Above this number of fields, arguments are edited as JSON. */
export const MAX_FIELDS = 40;

export function createDraft(requested: JsonObject): ApprovalDraft {
  const entries = Object.entries(requested);
  if (entries.length > MAX_FIELDS) return { mode: "raw", text: writeJson(requested) };
  return {
    mode: "form",
    fields: entries.map(([name, value]) => ({ name, kind: kindOf(value), text: writeField(value) })),
  };
}

export function changeField(draft: ApprovalDraft, name: string, text: string): ApprovalDraft {
  if (draft.mode === "raw") return draft;
  return { mode: "form", fields: draft.fields.map((field) => (field.name === name ? { ...field, text } : field)) };
}

export function readDraft(draft: ApprovalDraft, requested: JsonObject): DraftParseResult {
  if (draft.mode === "raw") {
    const reading = readJsonObject(draft.text);
    if (reading.kind !== "object") return { kind: "invalid-text", error: reading };
    if (!isSendable(reading.value)) return { kind: "invalid-text", error: { kind: "unsendable" } };
    return compare(reading.value, requested);
  }
  const errors = new Map<string, FieldError>();
  const entries: [string, Json][] = [];
  for (const field of draft.fields) {
    const reading = readField(field);
    if (typeof reading === "string") errors.set(field.name, reading);
    else entries.push([field.name, reading.value]);
  }
  if (errors.size > 0) return { kind: "invalid-fields", errors };
  // A field may be called `__proto__`, so no assignment.
  return compare(Object.fromEntries(entries), requested);
}

/** Compares the serialized values, so added, removed and retyped fields count as changes. */
function compare(given: JsonObject, requested: JsonObject): DraftParseResult {
  const isChanged = JSON.stringify(given) !== JSON.stringify(requested);
  return { kind: "ready", arguments: isChanged ? given : requested, isChanged };
}

/** Returns the draft in the other mode, or undefined while it is invalid. */
export function switchMode(draft: ApprovalDraft, requested: JsonObject): ApprovalDraft | undefined {
  const reading = readDraft(draft, requested);
  if (reading.kind !== "ready") return undefined;
  return draft.mode === "form" ? { mode: "raw", text: writeJson(reading.arguments) } : createDraft(reading.arguments);
}

function kindOf(value: Json): FieldKind {
  switch (typeof value) {
    case "string":
      return "text";
    case "number":
    case "boolean":
      return typeof value as "number" | "boolean";
    default:
      return "json";
  }
}

function writeField(value: Json): string {
  return typeof value === "string" ? value : writeJson(value);
}

function writeJson(value: Json): string {
  return JSON.stringify(value, undefined, 2);
}

function readField({ kind, text }: DraftField): { readonly value: Json } | FieldError {
  if (kind === "text") return { value: text };
  try {
    const value = JSON.parse(text) as Json;
    if (kind === "number" && typeof value !== "number") return "number";
    return isSendable(value) ? { value } : "unsendable";
  } catch {
    return kind === "number" ? "number" : "json";
  }
}

function isSendable(value: Json): boolean {
  return !isDeeperThan(value) && hasFiniteNumbers(value);
}

/** `JSON.parse` reads `1e999` as Infinity, which JSON cannot represent. */
function hasFiniteNumbers(value: Json): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(hasFiniteNumbers);
}

type JsonParseResult =
  | { readonly kind: "object"; readonly value: JsonObject }
  | { readonly kind: "empty" | "unfinished" | "not-object" }
  /** Line and column count from 1. */
  | { readonly kind: "invalid"; readonly line: number; readonly column: number };

/** Characters per block when searching for an error. */
const STEP = 256;

/** Parses a JSON object and locates the first error, independent of the JavaScript engine. */
export function readJsonObject(text: string): JsonParseResult {
  if (text.trim() === "") return { kind: "empty" };
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? { kind: "object", value } : { kind: "not-object" };
  } catch {
    const at = findErrorPosition(text);
    if (at === undefined) return { kind: "unfinished" };
    const before = text.slice(0, at);
    return { kind: "invalid", line: before.split("\n").length, column: at - before.lastIndexOf("\n") };
  }
}

/** Returns the offset of the first invalid character, or undefined if the text is only incomplete. */
function findErrorPosition(text: string): number | undefined {
  // Find the block first, then the character: blocks parse faster than single characters.
  const whole = new PartialJson();
  let from = 0;
  for (; from < text.length; from += STEP) {
    whole.push(text.slice(from, from + STEP));
    if (whole.state === "invalid") break;
  }
  if (from >= text.length) return undefined;
  const exact = new PartialJson();
  exact.push(text.slice(0, from));
  for (let at = from; at < text.length; at++) {
    exact.push(text.charAt(at));
    if (exact.state === "invalid") return at;
  }
  return undefined;
}
