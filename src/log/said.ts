/** What people and agents said to each other in a session, found in its records: the messages and the replies. */
import type { AnyEvent, EventOf } from "../protocol/index.ts";
import type { SearchMatch } from "./log.ts";
import { findSnippet, type Phrase } from "./search-text.ts";

export interface Said {
  readonly where: "message" | "answer";
  readonly text: string;
}

/** A message or a reply, with the record it is in. */
export interface SaidAt {
  readonly eventId: number;
  readonly text: string;
}

export function findSaid(event: AnyEvent): Said | undefined {
  if (event.type === "run_start") {
    const { message } = event as EventOf<"run_start">;
    return message === undefined ? undefined : { where: "message", text: message };
  }
  return event.type === "reply" ? { where: "answer", text: (event as EventOf<"reply">).reply } : undefined;
}

/** The same of a record as it is stored; undefined for what is no such record, or none at all. */
export function readSaid(text: string): (Said & { readonly eventId: number; readonly runId?: string }) | undefined {
  // Most records are neither, and need not be read for that.
  if (!text.includes('"run_start"') && !text.includes('"reply"')) return undefined;
  const { type, message, reply, event_id: eventId, run_id: runId } = readFields(text);
  const said = type === "run_start" ? message : type === undefined ? reply : undefined;
  if (typeof said !== "string" || typeof eventId !== "number") return undefined;
  const where = type === "run_start" ? "message" : "answer";
  return { where, text: said, eventId, ...(typeof runId === "string" ? { runId } : {}) };
}

/** Of one record, as it is stored. */
export function matchSaid(record: string, phrases: readonly Phrase[]): SearchMatch | undefined {
  const said = readSaid(record);
  const snippet = said === undefined ? undefined : findSnippet(said.text, phrases);
  if (said === undefined || snippet === undefined) return undefined;
  return { where: said.where, snippet, ...(said.runId === undefined ? {} : { runId: said.runId }) };
}

function readFields(text: string): { readonly [name: string]: unknown } {
  try {
    return Object(JSON.parse(text)) as { readonly [name: string]: unknown };
  } catch {
    return {};
  }
}
