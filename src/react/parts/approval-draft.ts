/**
 * The arguments of a call while its reader edits them: one text per field, or all as JSON. Knows nothing of components.
 *
 * Invariants: what was not touched is sent as it was asked, to the last digit; what is shown is what is sent, in either
 * mode: a draft reads the same after it was changed to the other.
 */
import { isDeeperThan, type Json, type JsonObject } from "../../protocol/index.ts";
import { type JsonReading, readJsonObject } from "./find-json-fault.ts";

export type FieldKind = "text" | "number" | "boolean" | "json";

export interface DraftField {
  readonly name: string;
  readonly kind: FieldKind;
  /** Of a boolean `true` or `false`. */
  readonly text: string;
}

export type ApprovalDraft =
  | { readonly mode: "form"; readonly fields: readonly DraftField[] }
  | { readonly mode: "raw"; readonly text: string };

/** `unsendable`: it is JSON, and something else would arrive: a number beyond all numbers, or too deep a nest. */
export type FieldFault = "number" | "json" | "unsendable";
export type TextFault = Exclude<JsonReading, { readonly kind: "object" }> | { readonly kind: "unsendable" };

export type DraftReading =
  | { readonly kind: "ready"; readonly arguments: JsonObject; readonly isChanged: boolean }
  | { readonly kind: "faulty-fields"; readonly faults: ReadonlyMap<string, FieldFault> }
  | { readonly kind: "faulty-text"; readonly fault: TextFault };

/** More fields than this are edited as JSON. */
export const MAX_FIELDS = 40;

export function beginDraft(asked: JsonObject): ApprovalDraft {
  const entries = Object.entries(asked);
  if (entries.length > MAX_FIELDS) return { mode: "raw", text: writeJson(asked) };
  return {
    mode: "form",
    fields: entries.map(([name, value]) => ({ name, kind: kindOf(value), text: writeField(value) })),
  };
}

export function changeField(draft: ApprovalDraft, name: string, text: string): ApprovalDraft {
  if (draft.mode === "raw") return draft;
  return { mode: "form", fields: draft.fields.map((field) => (field.name === name ? { ...field, text } : field)) };
}

export function readDraft(draft: ApprovalDraft, asked: JsonObject): DraftReading {
  if (draft.mode === "raw") {
    const reading = readJsonObject(draft.text);
    if (reading.kind !== "object") return { kind: "faulty-text", fault: reading };
    if (!isSendable(reading.value)) return { kind: "faulty-text", fault: { kind: "unsendable" } };
    return compare(reading.value, asked);
  }
  const faults = new Map<string, FieldFault>();
  const entries: [string, Json][] = [];
  for (const field of draft.fields) {
    const reading = readField(field);
    if (typeof reading === "string") faults.set(field.name, reading);
    else entries.push([field.name, reading.value]);
  }
  if (faults.size > 0) return { kind: "faulty-fields", faults };
  // Not by assignment: a field may be called __proto__.
  return compare(Object.fromEntries(entries), asked);
}

/** By what is sent: a field that is gone, or came, or is of another type is a change as any other. */
function compare(given: JsonObject, asked: JsonObject): DraftReading {
  const isChanged = JSON.stringify(given) !== JSON.stringify(asked);
  return { kind: "ready", arguments: isChanged ? given : asked, isChanged };
}

/** The same draft in the other mode; undefined while it cannot be read. */
export function switchMode(draft: ApprovalDraft, asked: JsonObject): ApprovalDraft | undefined {
  const reading = readDraft(draft, asked);
  if (reading.kind !== "ready") return undefined;
  return draft.mode === "form" ? { mode: "raw", text: writeJson(reading.arguments) } : beginDraft(reading.arguments);
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

function readField({ kind, text }: DraftField): { readonly value: Json } | FieldFault {
  if (kind === "text") return { value: text };
  try {
    const value = JSON.parse(text) as Json;
    if (kind === "number" && typeof value !== "number") return "number";
    return isSendable(value) ? { value } : "unsendable";
  } catch {
    return kind === "number" ? "number" : "json";
  }
}

/** Asked of what was read as JSON. */
function isSendable(value: Json): boolean {
  return !isDeeperThan(value) && hasFiniteNumbers(value);
}

/** JSON has `1e999`, and no way to write what is made of it. */
function hasFiniteNumbers(value: Json): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value !== "object" || value === null || Object.values(value).every(hasFiniteNumbers);
}
