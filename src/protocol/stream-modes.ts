/**
 * Stream modes: named groups of events that a reader can subscribe to. All endpoints use this table. Events
 * about the run as a whole (start, end, errors, model calls and usage) belong to no mode and are always sent. Events that
 * only the owner may read are never sent; separate endpoints read them.
 */
import type { EventType } from "./events/index.ts";
import { LoomError } from "./loom-error.ts";

/** All stream modes. */
export const STREAM_MODES = ["messages", "tools", "nodes", "updates", "values", "custom", "checkpoints"] as const;

/** A group of events that a reader can subscribe to. */
export type StreamMode = (typeof STREAM_MODES)[number];

/** The selected modes, or everything. With modes, graph states are always sent in full. */
export type StreamModes = "all" | readonly StreamMode[];

const MODES: { readonly [T in EventType]: StreamMode | "always" | "never" } = {
  run_start: "always",
  run_end: "always",
  reply: "always",
  error: "always",
  usage: "always",
  llm_start: "always",
  llm_end: "always",
  message_chunk: "messages",
  reasoning_chunk: "messages",
  reasoning_end: "messages",
  data: "messages",
  image: "messages",
  todo_list: "messages",
  todo_update: "messages",
  feedback: "messages",
  tool_call_chunk: "tools",
  tool_call: "tools",
  tool_approval: "tools",
  tool_approval_result: "tools",
  tool_start: "tools",
  tool_output: "tools",
  tool_progress: "tools",
  tool_end: "tools",
  tool_permission: "tools",
  retrieval_complete: "tools",
  node_enter: "nodes",
  node_exit: "nodes",
  tot_expand: "nodes",
  tot_evaluate: "nodes",
  tot_backtrack: "nodes",
  got_plan: "nodes",
  got_node_start: "nodes",
  got_node_complete: "nodes",
  got_node_failed: "nodes",
  got_expand: "nodes",
  compression_applied: "nodes",
  updates: "updates",
  values: "values",
  checkpoint: "checkpoints",
  custom: "custom",
  foreign: "custom",
  llm_content: "never",
};

/** Returns the mode of an event type. Unknown types belong to `custom`. */
export function findStreamMode(type: string): StreamMode | "always" | "never" {
  return Object.hasOwn(MODES, type) ? MODES[type as EventType] : "custom";
}

/** False for events that no stream contains, whatever its modes. */
export function isSendable(type: string): boolean {
  return findStreamMode(type) !== "never";
}

/** Checks mode names. Throws `invalid_name` for an unknown one. `all` alone or among others selects everything. */
export function readStreamModes(names: readonly string[]): StreamModes {
  const modes: readonly string[] = [...STREAM_MODES, "all"];
  const unknown = names.find((name) => !modes.includes(name));
  if (unknown !== undefined) {
    const message = `Unknown stream mode "${unknown.slice(0, 40)}"; use one of ${modes.join(", ")}`;
    throw new LoomError("invalid_name", message, { modes });
  }
  return names.includes("all") ? "all" : (names as readonly StreamMode[]);
}
