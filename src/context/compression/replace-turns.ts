/**
 * What is sent in the place of turns: a summary of them and of what was before them, or a note that they are missing.
 *
 * Invariant: every call of a model is told, whether a summary came of it or not; and nothing is left out without a word.
 */
import { createCancelled } from "../../models/call-watch.ts";
import type { ModelMessage } from "../../models/model.ts";
import { type ErrorEvent, isLoomError, LoomError } from "../../protocol/index.ts";
import type { CompressionPlace } from "./compression-place.ts";
import { COMPRESSION_DEFAULTS } from "./compression-settings.ts";
import { condenseByRule } from "./condense-by-rule.ts";
import { findModelFamily } from "./model-family.ts";
import type { Summary } from "./summaries.ts";
import { AROUND_SUMMARY } from "./summary-message.ts";
import { shortenText, type WrittenSummary, writeSummary } from "./write-summary.ts";

export type Replacement = Pick<Summary, "text" | "missing" | "isDrop">;

/** `before` is the summary that the new one goes on from. */
export async function replaceTurns(
  messages: readonly ModelMessage[],
  before: Summary | undefined,
  place: CompressionPlace,
): Promise<Replacement> {
  const { tokens, signal, tell } = place;
  const { text: known = "", missing = 0 } = before ?? {};
  try {
    const { text, unread } = await summarise(messages, known, place);
    const size = tokens.countMessages(messages) + tokens.countText(known);
    if (tokens.countText(text) + (before === undefined ? AROUND_SUMMARY : 0) >= size)
      throw new LoomError("compression_failed", "the summary is longer than what it stands for");
    if (unread > 0) void tell(describeFailure(`${unread} messages were too many for a summary, and are left out.`));
    return { text, missing: missing + unread, isDrop: false };
  } catch (error) {
    if (signal.aborted) throw isLoomError(error) ? error : createCancelled(signal.reason);
    const reason = isLoomError(error) ? error.message : "the summary could not be written";
    const count = messages.length;
    void tell(describeFailure(`No summary could be had, and ${count} messages are left out of the prompt: ${reason}`));
    return { text: known, missing: missing + count, isDrop: true };
  }
}

async function summarise(
  messages: readonly ModelMessage[],
  before: string,
  { model, tokens, budget, options, signal, findWriter, tell, createCallId }: CompressionPlace,
): Promise<WrittenSummary> {
  const { maxSummaryTokens } = budget;
  const writer = await findWriter(model);
  if (writer.provider === "offline") {
    // It has rules for messages of users, and none for this.
    const text = condenseByRule(before, messages, (lines) => tokens.countText(lines) <= maxSummaryTokens);
    return { text: shortenText(text, maxSummaryTokens, tokens), unread: 0 };
  }
  return writeSummary({
    model: writer,
    tokens,
    before: before === "" ? undefined : before,
    messages,
    maxSummaryTokens,
    window: writer === model ? budget.window : findModelFamily(writer).contextWindow,
    timeoutMs: options.timeoutMs ?? COMPRESSION_DEFAULTS.timeoutMs,
    signal,
    tell,
    createCallId,
  });
}

export function describeFailure(message: string): ErrorEvent {
  return { type: "error", message, code: "compression_failed", stage: "compression", recoverable: true };
}
