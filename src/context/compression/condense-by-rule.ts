/**
 * Writes a summary without a model, for models that cannot: the first characters of each message, as many of the latest as
 * fit.
 */
import type { ModelMessage } from "../../models/model.ts";
import { shorten } from "../../protocol/cut-text.ts";

/** Maximum characters quoted from one message. */
const EXCERPT = 120;

export function condenseByRule(
  before: string,
  messages: readonly ModelMessage[],
  fits: (text: string) => boolean,
): string {
  const old = before.split("\n").filter((line) => line.startsWith("- "));
  const lines = [...old, ...messages.flatMap(excerpt)];
  // Halving the list keeps the number of token counts logarithmic.
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
  return [`- ${message.role}: ${shorten(line, EXCERPT)}`];
}
