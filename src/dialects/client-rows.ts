/** What the ledgers of third-party clients share: rows for text, and how it is read back. */
import type { EventOf, LoomEvent } from "../protocol/index.ts";
import { DEFAULT_NODE_NAME } from "./tool-values.ts";

/** Options of the row for `message_chunk`, in dialects with a part for each text. */
export const TEXT_ROW = {
  lostFields: ["id", "channel", "format", "is_complete"],
  note: "text of thoughts is sent as reasoning; judgements and breaks are omitted",
  roundTrip: (event: EventOf<"message_chunk">): LoomEvent | undefined =>
    event.channel === "break" ? undefined : readTextBack(event),
} as const;

/** Returns text as dialects read it back that send thoughts as reasoning. */
export function readTextBack({ content, channel }: EventOf<"message_chunk">): LoomEvent | undefined {
  if (channel === "judgement") return undefined;
  if (channel === "thought") return { type: "reasoning_chunk", content };
  return { type: "message_chunk", content, id: DEFAULT_NODE_NAME };
}

/** How dialects with one text of thinking send it (`thought-queue.ts`). */
export const ONE_THOUGHT = "parallel thoughts are sent one after the other";

/** Options of the row for `reasoning_chunk`. */
export const REASONING_ROW = {
  lostFields: ["id", "stage", "channel"],
  roundTrip: ({ content, channel }: EventOf<"reasoning_chunk">): LoomEvent | undefined =>
    channel === "judgement" ? undefined : { type: "reasoning_chunk", content },
} as const;
