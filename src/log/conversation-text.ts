/** Finds the texts of a conversation in its records: the messages of users and the replies of agents. */
import { createRecordReader } from "../dialects/loom/decode.ts";
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

const readRecord = createRecordReader();

/** Matches one stored record against a query. Undefined also if it is not a message or reply, or cannot be parsed. */
export function matchRecord(text: string, phrases: readonly SearchPhrase[]): SearchMatch | undefined {
  // Most records are neither, and need not be parsed.
  if (!text.includes('"run_start"') && !text.includes('"reply"')) return undefined;
  const record = readRecord(text);
  const said = record && findConversationText(record.event);
  const snippet = said && findSnippet(said.text, phrases);
  if (said === undefined || snippet === undefined) return undefined;
  const runId = record?.envelope.run_id;
  return { where: said.where, snippet, ...(runId === undefined ? {} : { runId }) };
}
