/** Event types that a dialect usually represents alike. Ledgers and lists of carried events are built from them. */
import type { EventType } from "../protocol/index.ts";

/** Steps of a Tree or Graph of Thoughts. */
export const TREE_EVENTS = ["tot_expand", "tot_evaluate", "tot_backtrack"] as const satisfies readonly EventType[];
export const GRAPH_EVENTS = [
  "got_plan",
  "got_node_start",
  "got_node_complete",
  "got_node_failed",
  "got_expand",
] as const satisfies readonly EventType[];
export const SEARCH_EVENTS = [...TREE_EVENTS, ...GRAPH_EVENTS] as const;

/** What a run shows besides its texts and calls. */
export const CONTENT_EVENTS = [
  "todo_list",
  "todo_update",
  "image",
  "data",
  "custom",
  "retrieval_complete",
  "compression_applied",
] as const satisfies readonly EventType[];

/** The state of a graph. */
export const STATE_EVENTS = ["values", "updates", "checkpoint"] as const satisfies readonly EventType[];

/** Events of a session, which belong to no run. */
export const SESSION_EVENTS = ["tool_permission", "feedback"] as const satisfies readonly EventType[];
