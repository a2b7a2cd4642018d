/** What the ledgers of third-party clients share: rows for text, and which events have no frame. */
import { type AnyEvent, type EventOf, isKnownEvent } from "../protocol/index.ts";
import type { StampedEnvelope } from "../protocol/record.ts";
import { NO_FRAMES } from "./dialect.ts";
import type { EventEncoder, LedgerTable } from "./ledger.ts";
import { addAnswerText, findUnsentText, type StreamedAnswer } from "./reply-text.ts";

/** Options of the row for `message_chunk`, in dialects with a part for each text. */
export const TEXT_ROW = {
  lostFields: ["id", "channel", "format", "is_complete"],
  note: "text of thoughts is sent as reasoning; judgements and breaks are omitted",
  isLost: ({ channel }: EventOf<"message_chunk">): boolean => channel === "judgement" || channel === "break",
} as const;

/** True for text of a judgement, which is never sent. */
export function isJudgement({ channel }: { readonly channel?: string }): boolean {
  return channel === "judgement";
}

/** How dialects with one text of thinking send it (`thought-queue.ts`). */
export const ONE_THOUGHT = "parallel thoughts are sent one after the other";

/** Options of the row for `reasoning_chunk`. */
export const REASONING_ROW = {
  lostFields: ["id", "stage", "channel"],
  isLost: isJudgement,
} as const;

/** Options of the row for `reasoning_end`, in dialects with a part for each text. */
export const REASONING_END_ROW = {
  lostFields: ["id", "duration_ms"],
  note: "also sent when something else follows the reasoning",
} as const;

/**
 * Creates the encoders of text, for dialects with a part for each text. `append` adds to the open part of a node run and
 * opens it if needed, `end` ends it. `answer` is the dialect's word for text of the answer.
 */
export function createTextEncoders<Fold extends { readonly answered: StreamedAnswer }, Kind extends string>(
  answer: Kind,
  append: (fold: Fold, kind: Kind | "reasoning", envelope: StampedEnvelope, text: string) => readonly string[],
  end: (fold: Fold, kind: "reasoning", node: string) => readonly string[],
) {
  const text: EventEncoder<Fold, "message_chunk"> = (fold, { content, channel }, { envelope }) => {
    if (content === "" || channel === "judgement" || channel === "break") return NO_FRAMES;
    if (channel === "thought") return append(fold, "reasoning", envelope, content);
    addAnswerText(fold.answered, envelope.node_id, content);
    return append(fold, answer, envelope, content);
  };
  const reasoning: EventEncoder<Fold, "reasoning_chunk"> = (fold, { content, channel }, { envelope }) =>
    content === "" || channel === "judgement" ? NO_FRAMES : append(fold, "reasoning", envelope, content);
  const reasoningEnd: EventEncoder<Fold, "reasoning_end"> = (fold, _event, { envelope: { node_id = "" } }) =>
    end(fold, "reasoning", node_id);
  /** Sends what was not streamed of the reply. */
  const rest: EventEncoder<Fold, "reply"> = (fold, { reply }, { envelope }) => {
    const unsent = findUnsentText(fold.answered, envelope.node_id, reply);
    return unsent === "" ? NO_FRAMES : append(fold, answer, envelope, unsent);
  };
  return { text, reasoning, reasoningEnd, rest };
}

/** True for an event without a frame. It does not start the message of a run that waits. */
export function isSilent<Fold>(table: LedgerTable<Fold>, event: AnyEvent): boolean {
  if (!isKnownEvent(event)) return true;
  return event.type === "run_end" ? event.status === "completed" : table[event.type].support === "omitted";
}
