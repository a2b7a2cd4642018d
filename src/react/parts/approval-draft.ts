/**
 * The arguments of a call while its reader edits them: one text per field, or all as JSON. Knows nothing of components.
 *
 * Invariant: what was not touched is sent as it was asked, to the last digit.
 */
import type { Json, JsonObject } from "../../protocol/index.ts";
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

export type FieldFault = "number" | "json";

export type DraftReading =
  | { readonly kind: "ready"; readonly arguments: JsonObject; readonly isChanged: boolean }
  | { readonly kind: "faulty-fields"; readonly faults: ReadonlyMap<string, FieldFault> }
  | { readonly kind: "faulty-text"; readonly fault: Exclude<JsonReading, { readonly kind: "object" }> };

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
    const isChanged = JSON.stringify(reading.value) !== JSON.stringify(asked);
    return { kind: "ready", arguments: isChanged ? reading.value : asked, isChanged };
  }
  const faults = new Map<string, FieldFault>();
  const entries: [string, Json][] = [];
  let isChanged = false;
  for (const field of draft.fields) {
    const before = asked[field.name] ?? null;
    if (field.text === writeField(before)) {
      entries.push([field.name, before]);
      continue;
    }
    const value = readField(field);
    if (value === undefined) faults.set(field.name, field.kind === "number" ? "number" : "json");
    else entries.push([field.name, value]);
    isChanged = true;
  }
  if (faults.size > 0) return { kind: "faulty-fields", faults };
  // Not by assignment: a field may be called __proto__.
  return { kind: "ready", arguments: isChanged ? Object.fromEntries(entries) : asked, isChanged };
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

/** Undefined where it is not what the field is for. */
function readField({ kind, text }: DraftField): Json | undefined {
  if (kind === "text") return text;
  try {
    const value = JSON.parse(text) as Json;
    return kind === "number" && typeof value !== "number" ? undefined : value;
  } catch {
    return undefined;
  }
}
