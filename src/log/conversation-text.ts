/** Finds the texts of a conversation in its records: the messages of users and the replies of agents. */
import type { AnyEvent, EventOf } from "../protocol/index.ts";
import { findSnippet, type SearchMatch, type SearchPhrase } from "./search-text.ts";

/** A message or reply. */
export interface ConversationText {
  readonly where: "message" | "answer";
  readonly text: string;
}

/** The text of a message or reply, and its record. */
export interface IndexedText {
  readonly eventId: number;
  readonly text: string;
}

/** Returns the text of an event; undefined if it is not a message or reply. */
export function findConversationText(event: AnyEvent): ConversationText | undefined {
  if (event.type === "run_start") {
    const { message } = event as EventOf<"run_start">;
    return message === undefined ? undefined : { where: "message", text: message };
  }
  return event.type === "reply" ? { where: "answer", text: (event as EventOf<"reply">).reply } : undefined;
}

/** Returns the text of a stored record; undefined if it is not a message or reply, or cannot be parsed. */
function readConversationText(
  text: string,
): (ConversationText & { readonly eventId: number; readonly runId?: string }) | undefined {
  // Most records are neither, and need not be parsed.
  if (!text.includes('"run_start"') && !text.includes('"reply"')) return undefined;
  const { type, message, reply, event_id: eventId, run_id: runId } = readFields(text);
  const said = type === "run_start" ? message : type === undefined ? reply : undefined;
  if (typeof said !== "string" || typeof eventId !== "number") return undefined;
  const where = type === "run_start" ? "message" : "answer";
  return { where, text: said, eventId, ...(typeof runId === "string" ? { runId } : {}) };
}

/** Matches one stored record against a query. */
export function matchRecord(record: string, phrases: readonly SearchPhrase[]): SearchMatch | undefined {
  const said = readConversationText(record);
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
