/** Names of the data parts that carry events without a chunk: `data-loom-` and the event type with hyphens. */
import type { EventType } from "../../protocol/index.ts";
import { SEARCH_EVENTS } from "../event-groups.ts";

const PREFIX = "data-loom-";

/** Events that are sent as data parts with all their fields. */
const DATA_EVENTS = [
  "todo_list",
  "todo_update",
  "data",
  "custom",
  "usage",
  "error",
  "tool_progress",
  "retrieval_complete",
  "compression_applied",
  ...SEARCH_EVENTS,
  "foreign",
] as const satisfies readonly EventType[];

/** Type of an event that is sent as a data part. */
export type DataEventType = (typeof DATA_EVENTS)[number];

const BY_PART: ReadonlyMap<string, EventType> = new Map(DATA_EVENTS.map((type) => [namePart(type), type]));

export function namePart(type: string): string {
  return PREFIX + type.replaceAll("_", "-");
}

/** Returns the type of the event that a data part carries; undefined for other parts. */
export function findPartEvent(part: string): EventType | undefined {
  return BY_PART.get(part);
}
