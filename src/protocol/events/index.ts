/** All events: the types of 001 §4.2 in their order, then the reply and the extension types. */
import * as content from "./content.ts";
import type { EventDeclaration } from "./define.ts";
import * as message from "./message.ts";
import * as node from "./node.ts";
import * as run from "./run.ts";
import * as thought from "./thought.ts";
import * as tool from "./tool.ts";

/** All event declarations by type. */
export const EVENTS = {
  run_start: run.run_start,
  node_enter: node.node_enter,
  node_exit: node.node_exit,
  message_chunk: message.message_chunk,
  usage: node.usage,
  values: node.values,
  updates: node.updates,
  custom: node.custom,
  checkpoint: node.checkpoint,
  tot_expand: thought.tot_expand,
  tot_evaluate: thought.tot_evaluate,
  tot_backtrack: thought.tot_backtrack,
  got_plan: thought.got_plan,
  got_node_start: thought.got_node_start,
  got_node_complete: thought.got_node_complete,
  got_node_failed: thought.got_node_failed,
  got_expand: thought.got_expand,
  tool_call_chunk: tool.tool_call_chunk,
  tool_call: tool.tool_call,
  tool_start: tool.tool_start,
  tool_output: tool.tool_output,
  tool_end: tool.tool_end,
  tool_approval: tool.tool_approval,
  reply: run.reply,
  run_end: run.run_end,
  reasoning_chunk: message.reasoning_chunk,
  reasoning_end: message.reasoning_end,
  tool_progress: tool.tool_progress,
  tool_approval_result: tool.tool_approval_result,
  data: content.data,
  image: content.image,
  todo_list: content.todo_list,
  todo_update: content.todo_update,
  error: run.error,
  retrieval_complete: run.retrieval_complete,
  compression_applied: run.compression_applied,
  llm_start: message.llm_start,
  llm_end: message.llm_end,
  foreign: run.foreign,
  tool_permission: tool.tool_permission,
  feedback: run.feedback,
  llm_content: message.llm_content,
} as const satisfies { readonly [type: string]: EventDeclaration };

/** A known event type. */
export type EventType = keyof typeof EVENTS;

/** All known event types. */
export const EVENT_TYPES = /* @__PURE__ */ Object.keys(EVENTS) as readonly EventType[];

/** The 23 types of 001 §4.2, which have a key in the `export` dialect. */
export type SpecifiedType = {
  [T in EventType]: (typeof EVENTS)[T] extends { exportKey: string } ? T : never;
}[EventType];
