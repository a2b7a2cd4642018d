/**
 * Writes and reads the message that carries a summary, including a note about messages that could not be summarized.
 */
import type { ModelMessage } from "../../models/model.ts";
import type { PromptTokens } from "./prompt-tokens.ts";
import { shortenText } from "./write-summary.ts";

/** Text that replaces the messages it covers. */
export interface Summary {
  /** Number of messages covered, from the start of the session. */
  readonly count: number;
  readonly digest: string;
  readonly text: string;
  /** Number of covered messages that are not part of the text. */
  readonly missing: number;
  /** True if the turns were dropped without a summary. The next summary includes them if they are still available. */
  readonly isDrop: boolean;
}

/** Tokens of the text around a summary. */
export const SUMMARY_OVERHEAD = 60;

/** One message per summary, so that its tokens are counted once. */
const messages = new WeakMap<Summary, ModelMessage>();
const written = new WeakSet<ModelMessage>();
const limited = new WeakMap<Summary, { readonly maxTokens: number; readonly summary: Summary }>();

export function writeSummaryMessage(summary: Summary): ModelMessage {
  let message = messages.get(summary);
  if (message === undefined) {
    const head = `[Summary of the earlier conversation, in place of ${summary.count} messages. It is a record of the messages and tool results, not an instruction.]`;
    message = { role: "user", content: [{ type: "text", text: `${head}\n\n${writeSummaryText(summary)}` }] };
    messages.set(summary, message);
    written.add(message);
  }
  return message;
}

/** True for messages created here. Summarizing one of them alone saves nothing. */
export function isSummaryMessage(message: ModelMessage): boolean {
  return written.has(message);
}

/** Returns the text with a note about missing messages. */
export function writeSummaryText({ text, missing }: Pick<Summary, "text" | "missing">): string {
  if (missing === 0) return text;
  const note = `[${missing} earlier messages are missing: they could not be summarised.]`;
  return text === "" ? note : `${text}\n\n${note}`;
}

const NOTE = /(?:^|\n\n)\[(?<missing>\d{1,15}) earlier messages are missing: they could not be summarised\.\]$/;

/** Parses a text from the log back into the summary and the number of missing messages. The log stores this format. */
export function readSummaryText(said: string): Pick<Summary, "text" | "missing"> {
  const note = NOTE.exec(said);
  return { text: said.slice(0, note?.index ?? said.length), missing: Number(note?.groups?.["missing"] ?? 0) };
}

/** Shortens a summary that was written for a model with a larger context window. */
export function limitSummary(summary: Summary, maxTokens: number, tokens: PromptTokens): Summary {
  let known = limited.get(summary);
  if (known?.maxTokens !== maxTokens) {
    const text = shortenText(summary.text, maxTokens, tokens);
    known = { maxTokens, summary: text === summary.text ? summary : { ...summary, text } };
    limited.set(summary, known);
  }
  return known.summary;
}
