/** Events without an equivalent in AG-UI, and how frames name them: `loom.` and the event type. */
import type { EventType } from "../../protocol/index.ts";
import { SEARCH_EVENTS } from "../event-groups.ts";

/** Dialect of frames that are kept unchanged. */
export const AG_UI = "ag-ui";
const PREFIX = "loom.";

/** Events that are sent as `CUSTOM` with all their fields. */
const CUSTOM_EVENTS: readonly EventType[] = [
  "llm_start",
  "llm_end",
  "tool_start",
  "tool_output",
  "tool_progress",
  "tool_approval_result",
  "todo_update",
  "values",
  "usage",
  "error",
  "custom",
  "retrieval_complete",
  "compression_applied",
  ...SEARCH_EVENTS,
];

/** Events that are sent as `ACTIVITY_SNAPSHOT`, because clients show them between the messages. */
const ACTIVITY_EVENTS: readonly EventType[] = ["todo_list", "image", "data"];

const BY_NAME: ReadonlyMap<unknown, EventType> = new Map(CUSTOM_EVENTS.map((type) => [nameEvent(type), type]));
const BY_ACTIVITY: ReadonlyMap<unknown, EventType> = new Map(ACTIVITY_EVENTS.map((type) => [nameEvent(type), type]));

/** Name of the event that says which messages no longer count. */
export const SUPERSEDED = `${PREFIX}superseded`;
/** Name of the event that tells a client about its message, before the answer. It belongs to no record. */
export const NOTICE = `${PREFIX}notice`;
/** Start of the IDs of thoughts. */
export const THOUGHT_PREFIX = "reasoning-";

export function nameEvent(type: string): string {
  return PREFIX + type;
}

/** True for a name that only Loom uses. */
export function isOwnName(name: unknown): boolean {
  return typeof name === "string" && name.startsWith(PREFIX);
}

/** Returns the type of the event that a `CUSTOM` frame carries; undefined for frames of other programs. */
export function findCustomEvent(name: unknown): EventType | undefined {
  return BY_NAME.get(name);
}

/** Returns the type of the event that an activity carries; undefined for activities of other programs. */
export function findActivityEvent(activityType: unknown): EventType | undefined {
  return BY_ACTIVITY.get(activityType);
}
