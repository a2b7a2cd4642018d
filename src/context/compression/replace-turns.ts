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
import { writeSummary } from "./write-summary.ts";

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
    const writer = await context.findWriter(context.model);
    const { text, unread } = await writeSummary(messages, known === "" ? undefined : known, writer, context);
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

export function describeFailure(message: string): ErrorEvent {
  return { type: "error", message, code: "compression_failed", stage: "compression", recoverable: true };
}
