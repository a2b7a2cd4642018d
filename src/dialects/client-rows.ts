/**
 * What the encoders for third-party clients share: rows for streamed pieces, sums of tokens, and which events have no frame.
 */
import { type AnyEvent, type EventOf, isKnownEvent } from "../protocol/index.ts";
import type { StampedEnvelope } from "../protocol/record.ts";
import { trackArguments, type TrackedCall, type TrackedCalls } from "./call-tracker.ts";
import { NO_FRAMES } from "./dialect.ts";
import { carried, type LedgerRow, type LedgerTable, listLost } from "./ledger.ts";
import { addAnswerText, findUnsentText, type StreamedAnswer } from "./reply-text.ts";

export type SentTextKind = "text" | "reasoning";

/** What a client has received of a run, in dialects with a part for each text and each call. Methods return frames. */
export interface SentParts {
  readonly answered: StreamedAnswer;
  readonly calls: TrackedCalls;
  /** Appends to the open text of a node run, and opens it if needed. */
  appendText(kind: SentTextKind, envelope: StampedEnvelope, text: string): readonly string[];
  endText(kind: SentTextKind, node: string): readonly string[];
  /** Ends the texts of a node run: what follows is shown after them. */
  endTexts(node: string | undefined): readonly string[];
  /** Sends a piece of the arguments of a call, and starts the call if needed. */
  streamArguments(call: TrackedCall, envelope: StampedEnvelope, piece: string): readonly string[];
}

/** A row for text of the answer. `note` comes before what all dialects state. */
export function textRow(frame: string, note = ""): LedgerRow<SentParts, "message_chunk"> {
  return carried(
    frame,
    (parts, { content, channel }, { envelope }) => {
      if (content === "" || channel === "judgement" || channel === "break") return NO_FRAMES;
      if (channel === "thought") return parts.appendText("reasoning", envelope, content);
      addAnswerText(parts.answered, envelope.node_id, content);
      return parts.appendText("text", envelope, content);
    },
    {
      lostFields: listLost("message_chunk", "content"),
      note: `${note}text of thoughts is sent as reasoning; judgements and breaks are omitted`,
      isLost: ({ channel }) => channel === "judgement" || channel === "break",
    },
  );
}

export function reasoningRow(frame: string, note?: string): LedgerRow<SentParts, "reasoning_chunk"> {
  return carried(
    frame,
    (parts, { content, channel }, { envelope }) =>
      content === "" || channel === "judgement" ? NO_FRAMES : parts.appendText("reasoning", envelope, content),
    { lostFields: listLost("reasoning_chunk", "content"), note, isLost: isJudgement },
  );
}

export function reasoningEndRow(frame: string): LedgerRow<SentParts, "reasoning_end"> {
  return carried(frame, (parts, _event, { envelope: { node_id = "" } }) => parts.endText("reasoning", node_id), {
    lostFields: listLost("reasoning_end"),
    note: "also sent when something else follows the reasoning",
  });
}

/** A row for pieces of arguments. `note` comes before what all dialects state. */
export function argumentsRow(frame: string, note = ""): LedgerRow<SentParts, "tool_call_chunk"> {
  return carried(
    frame,
    (parts, event, { envelope }) => {
      const call = trackArguments(parts.calls, event, envelope);
      return call === undefined ? NO_FRAMES : parts.streamArguments(call, envelope, event.arguments_delta);
    },
    {
      lostFields: ["index"],
      note: `${note}pieces without a call ID are omitted, as the call follows with all arguments`,
    },
  );
}

/** Sends what was not streamed of a reply. */
export function sendRest(parts: SentParts, reply: string, envelope: StampedEnvelope): readonly string[] {
  const rest = findUnsentText(parts.answered, envelope.node_id, reply);
  return rest === "" ? NO_FRAMES : parts.appendText("text", envelope, rest);
}

/** True for text of a judgement, which is never sent. */
export function isJudgement({ channel }: { readonly channel?: string }): boolean {
  return channel === "judgement";
}

/** How dialects with one text of thinking send it (`thought-queue.ts`). */
export const ONE_THOUGHT = "parallel thoughts are sent one after the other";

/** A row for reasoning, in dialects with one text of thinking: the queue of thoughts sends it. */
export function thoughtRow<Fold>(
  frame: string,
  lostFields: readonly string[],
  note = "",
): LedgerRow<Fold, "reasoning_chunk"> {
  return carried(frame, () => NO_FRAMES, { lostFields, note: note + ONE_THOUGHT, isLost: isJudgement });
}

/** Tokens of several model calls. */
export type TokenSum = Pick<EventOf<"usage">, "prompt_tokens" | "completion_tokens" | "total_tokens">;

/** Adds the tokens of a model call to those of the calls before it. */
export function addTokens(sum: TokenSum | undefined, call: TokenSum): TokenSum {
  return {
    prompt_tokens: (sum?.prompt_tokens ?? 0) + call.prompt_tokens,
    completion_tokens: (sum?.completion_tokens ?? 0) + call.completion_tokens,
    total_tokens: (sum?.total_tokens ?? 0) + call.total_tokens,
  };
}

/** True for an event without a frame. It does not start the message of a run that waits. */
export function isSilent<Fold>(table: LedgerTable<Fold>, event: AnyEvent): boolean {
  if (!isKnownEvent(event)) return true;
  return event.type === "run_end" ? event.status === "completed" : table[event.type].support === "omitted";
}
