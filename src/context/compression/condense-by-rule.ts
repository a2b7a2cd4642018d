/**
 * The summary that the offline model gives: what was said first in each message, the latest that fit. It understands
 * nothing, and says what it is.
 */
import type { ModelMessage } from "../../models/model.ts";

/** Characters of one message. */
const EXCERPT = 120;

export function condenseByRule(
  before: string,
  messages: readonly ModelMessage[],
  fits: (text: string) => boolean,
): string {
  const old = before.split("\n").filter((line) => line.startsWith("- "));
  const lines = [...old, ...messages.flatMap(excerpt)];
  // Halves, so that the cost stays small however many there are.
  let kept = lines;
  while (kept.length > 1 && !fits(write(kept))) kept = kept.slice(Math.ceil(kept.length / 2));
  return write(kept);
}

function write(lines: readonly string[]): string {
  return ["Excerpts, made by rule:", ...lines].join("\n");
}

function excerpt(message: ModelMessage): readonly string[] {
  if (message.role !== "user" && message.role !== "assistant") return [];
  const text = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");
  const line = text
    .slice(0, 4 * EXCERPT)
    .replaceAll(/\s+/g, " ")
    .trim();
  if (line === "") return [];
  return [`- ${message.role}: ${line.length <= EXCERPT ? line : `${line.slice(0, EXCERPT).toWellFormed()}…`}`];
}
