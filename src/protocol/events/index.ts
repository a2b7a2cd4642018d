/** All events: the types of 001 §4.2 in their order, then the reply and the extension types. */
import { data, image, todo_list, todo_update } from "./content.ts";
import type { EventDeclaration } from "./define.ts";
import { llm_content, llm_end, llm_start, message_chunk, reasoning_chunk, reasoning_end } from "./message.ts";
import { checkpoint, custom, node_enter, node_exit, updates, usage, values } from "./node.ts";
import { compression_applied, error, feedback, foreign, reply, retrieval_complete, run_end, run_start } from "./run.ts";
import {
  got_expand,
  got_node_complete,
  got_node_failed,
  got_node_start,
  got_plan,
  tot_backtrack,
  tot_evaluate,
  tot_expand,
} from "./thought.ts";
import {
  tool_approval,
  tool_approval_result,
  tool_call,
  tool_call_chunk,
  tool_end,
  tool_output,
  tool_permission,
  tool_progress,
  tool_start,
} from "./tool.ts";

/** All event declarations by type. */
export const EVENTS = {
  run_start,
  node_enter,
  node_exit,
  message_chunk,
  usage,
  values,
  updates,
  custom,
  checkpoint,
  tot_expand,
  tot_evaluate,
  tot_backtrack,
  got_plan,
  got_node_start,
  got_node_complete,
  got_node_failed,
  got_expand,
  tool_call_chunk,
  tool_call,
  tool_start,
  tool_output,
  tool_end,
  tool_approval,
  reply,
  run_end,
  reasoning_chunk,
  reasoning_end,
  tool_progress,
  tool_approval_result,
  data,
  image,
  todo_list,
  todo_update,
  error,
  retrieval_complete,
  compression_applied,
  llm_start,
  llm_end,
  foreign,
  tool_permission,
  feedback,
  llm_content,
} as const satisfies { readonly [type: string]: EventDeclaration };

/** A known event type. */
export type EventType = keyof typeof EVENTS;

/** All known event types. */
export const EVENT_TYPES = /* @__PURE__ */ Object.keys(EVENTS) as readonly EventType[];

/** The 23 types of 001 §4.2, which have a key in the `export` dialect. */
export type SpecifiedType = {
  [T in EventType]: (typeof EVENTS)[T] extends { exportKey: string } ? T : never;
}[EventType];
