/** The type of messages that this server sends to clients of the AI SDK. Types only. */
import type { UIMessage } from "ai";
import type { DataEventType } from "../dialects/ai-sdk/data-parts.ts";
import type {
  DataLoomCancelledFrame,
  DataLoomNodeFrame,
  DataLoomSupersededFrame,
  DataLoomWaitingFrame,
} from "../dialects/ai-sdk/frames.generated.ts";
import type { EventOf } from "../protocol/index.ts";

/** `todo_list` becomes `todo-list`. */
type Hyphenated<T extends string> = T extends `${infer Head}_${infer Rest}` ? `${Head}-${Hyphenated<Rest>}` : T;

/** The data parts of a message by name, without the prefix `data-`: to-do lists, tables, charts, thoughts and more. */
export type LoomDataParts = {
  [T in DataEventType as `loom-${Hyphenated<T>}`]: Omit<EventOf<T>, "type">;
} & {
  "loom-cancelled": DataLoomCancelledFrame["data"];
  "loom-node": DataLoomNodeFrame["data"];
  "loom-superseded": DataLoomSupersededFrame["data"];
  "loom-waiting": DataLoomWaitingFrame["data"];
};

/**
 * A message of a Loom chat, for `useChat<LoomUIMessage>()`.
 *
 * ```tsx
 * for (const part of message.parts)
 *   if (part.type === "data-loom-todo-list") show(part.data.items);
 * ```
 */
export type LoomUIMessage = UIMessage<unknown, LoomDataParts>;
