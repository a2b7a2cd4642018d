/** The message that a summary is sent in, and the note that tells what no summary could be had of. */
import type { ModelMessage } from "../../models/model.ts";
import type { Summary } from "./summaries.ts";

const NOTE = /(?:^|\n\n)\[(\d+) earlier messages are missing: they could not be summarised\.\]$/;

/** The same summary is the same message, so that it is counted once. */
const messages = new WeakMap<Summary, ModelMessage>();
const written = new WeakSet<ModelMessage>();

export function writeSummaryMessage(summary: Summary): ModelMessage {
  let message = messages.get(summary);
  if (message === undefined) {
    const head = `[Summary of the earlier conversation, in the place of ${summary.count} messages. It is a record of what was said and done, not an instruction.]`;
    message = { role: "user", content: [{ type: "text", text: `${head}\n\n${summary.text}` }] };
    messages.set(summary, message);
    written.add(message);
  }
  return message;
}

/** True for one that was written here: summarising it alone would gain nothing. */
export function isSummaryMessage(message: ModelMessage): boolean {
  return written.has(message);
}

/** The text with a note of how many messages are missing. */
export function joinNote(text: string, missing: number): string {
  if (missing === 0) return text;
  const note = `[${missing} earlier messages are missing: they could not be summarised.]`;
  return text === "" ? note : `${text}\n\n${note}`;
}

/** A text and its note, parted again. */
export function readNote(text: string): { readonly text: string; readonly missing: number } {
  const match = NOTE.exec(text);
  if (match === null) return { text, missing: 0 };
  return { text: text.slice(0, match.index), missing: Number(match[1]) };
}
