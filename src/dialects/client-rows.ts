/** What the ledgers of third-party clients share: fields that none of their formats has, and how text is read back. */
import type { EventOf, LoomEvent } from "../protocol/index.ts";
import { DEFAULT_NODE_NAME } from "./tool-values.ts";

/** Fields of `run_start` that these clients do not receive. */
export const LOST_RUN_FIELDS = [
  "message",
  "agent",
  "contiguous",
  "source",
  "request_id",
  "context",
  "attachments",
  "reasoning",
  "actor",
  "tool_rules",
  "on_interruption",
  "capabilities",
  "client_tools",
  "instructions",
  "output_schema",
] as const satisfies readonly (keyof EventOf<"run_start">)[];

/** Options of the row for `message_chunk`. */
export const TEXT_ROW = {
  lostFields: ["id", "channel", "format", "is_complete"],
  roundTrip: ({ content, channel }: EventOf<"message_chunk">): LoomEvent =>
    channel === "thought"
      ? { type: "reasoning_chunk", content }
      : { type: "message_chunk", content, id: DEFAULT_NODE_NAME },
} as const;
