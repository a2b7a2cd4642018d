/** What the ledgers of third-party clients share: rows for text. */
import type { EventOf } from "../protocol/index.ts";

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
