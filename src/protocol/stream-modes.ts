/**
 * Which events a reader may ask for, by the names of stream modes. One table, so that a stream over any door means the
 * same by a name. What tells how runs begin, go wrong and end belongs to none, and always comes.
 */
import type { EventType } from "./events/index.ts";
import { LoomError } from "./loom-error.ts";

export type StreamMode = "messages" | "tools" | "nodes" | "updates" | "values" | "custom" | "checkpoints";

/** Some of them, or everything. Either way states come whole. */
export type StreamModes = "all" | readonly StreamMode[];

const MODES: { readonly [T in EventType]: StreamMode | "always" } = {
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
  tool_call_chunk: "tools",
  tool_call: "tools",
  tool_approval: "tools",
  tool_approval_result: "tools",
  tool_start: "tools",
  tool_output: "tools",
  tool_progress: "tools",
  tool_end: "tools",
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
};

export const STREAM_MODES: readonly StreamMode[] = [
  "messages",
  "tools",
  "nodes",
  "updates",
  "values",
  "custom",
  "checkpoints",
];

/** The mode an event belongs to. One that is not known here is somebody's own. */
export function findStreamMode(type: string): StreamMode | "always" {
  return Object.hasOwn(MODES, type) ? MODES[type as EventType] : "custom";
}

/** Throws `invalid_name` where one of them is no mode. `all` stands for itself, alone or among others. */
export function readStreamModes(names: readonly string[]): StreamModes {
  for (const name of names)
    if (name !== "all" && !STREAM_MODES.includes(name as StreamMode))
      throw new LoomError("invalid_name", `there is no stream mode "${name.slice(0, 40)}"`, {
        modes: [...STREAM_MODES, "all"],
      });
  return names.includes("all") ? "all" : (names as readonly StreamMode[]);
}
