/**
 * Replaces turns by a summary that continues the previous one, or by a note that they are missing.
 *
 * Invariant: every model call is emitted, even if its summary cannot be used, and no message is dropped without a note.
 */
import { createCancelled } from "../../models/attempt-monitor.ts";
import type { ModelMessage } from "../../models/model.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { ErrorEvent } from "../../protocol/events.generated.ts";
import type { CompressionContext } from "./compression-context.ts";
import { SUMMARY_OVERHEAD, type Summary } from "./summaries.ts";
import { type WrittenSummary, writeSummary } from "./write-summary.ts";
import { shorten } from "../../protocol/cut-text.ts";

/** Maximum characters of a message in a summary without a model. */
const EXCERPT = 120;

type Replacement = Pick<Summary, "text" | "missing" | "isDrop">;

/** Returns the replacement for `messages`. `before` is the summary to continue. */
export async function replaceTurns(
  messages: readonly ModelMessage[],
  before: Summary | undefined,
  context: CompressionContext,
): Promise<Replacement> {
  const { tokens, signal, emit } = context;
  const { text: known = "", missing = 0 } = before ?? {};
  try {
    const { text, unread } = await summarize(messages, known, context);
    const size = tokens.countMessages(messages) + tokens.countText(known);
    if (tokens.countText(text) + (before === undefined ? SUMMARY_OVERHEAD : 0) >= size)
      throw new LoomError("compression_failed", "The summary is longer than the messages it replaces");
    if (unread > 0)
      void emit(
        describeFailure(`The conversation is too long for one summary; its oldest ${unread} messages were left out`),
      );
    return { text, missing: missing + unread, isDrop: false };
  } catch (error) {
    if (signal.aborted) throw isLoomError(error) ? error : createCancelled(signal.reason);
    const reason = isLoomError(error) ? error.message : "The summary could not be written";
    const count = messages.length;
    void emit(describeFailure(`The summary failed, so ${count} messages were left out of the prompt: ${reason}`));
    return { text: known, missing: missing + count, isDrop: true };
  }
}

async function summarize(
  messages: readonly ModelMessage[],
  before: string,
  context: CompressionContext,
): Promise<WrittenSummary> {
  const { tokens, budget, findWriter } = context;
  const writer = await findWriter(context.model);
  if (writer.traits?.canSummarize !== false)
    return writeSummary(messages, before === "" ? undefined : before, writer, context);
  const { maxSummaryTokens } = budget;
  const text = condenseByRule(before, messages, (lines) => tokens.countText(lines) <= maxSummaryTokens);
  return { text: tokens.shortenText(text, maxSummaryTokens), unread: 0 };
}

export function describeFailure(message: string): ErrorEvent {
  return { type: "error", message, code: "compression_failed", stage: "compression", recoverable: true };
}

/**
 * Writes a summary without a model, for models that cannot: the first characters of each message, as many of the latest
 * as fit.
 */
function condenseByRule(before: string, messages: readonly ModelMessage[], fits: (text: string) => boolean): string {
  const old = before.split("\n").filter((line) => line.startsWith("- "));
  const lines = [...old, ...messages.flatMap(excerpt)];
  // Halving the list keeps the number of token counts logarithmic.
  let kept = lines;
  while (kept.length > 1 && !fits(writeExcerpts(kept))) kept = kept.slice(Math.ceil(kept.length / 2));
  return writeExcerpts(kept);
}

function writeExcerpts(lines: readonly string[]): string {
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
