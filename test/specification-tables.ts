/**
 * The field tables of the specifications, typed by hand from their text. They do not use our declarations, so a
 * declaration that differs from a specification does not go unnoticed.
 *
 * A field is `name: kind`, or `name?: kind` if the specification marks it as optional. A kind is `any`, a JSON type, a
 * list of one (`string[]`), a list of values (`"Ok"|"done"`), or kinds joined by `|`.
 */

/** 001 §4.2. `any` where the specification states no type. */
export const EVENTS_OF_001: Tables = {
  run_start: "run_id?: string, message?: string, agent?: string",
  node_enter: "id: string",
  node_exit: 'id: string, result: "Ok"|Err',
  message_chunk: "content: string, id: string",
  usage: "prompt_tokens: number, completion_tokens: number, total_tokens: number",
  values: "state: any",
  updates: "id: string, state: any",
  custom: "value: any",
  checkpoint: "checkpoint_id: any, timestamp: any, step: any, state: any, thread_id: any, checkpoint_ns: any",
  tot_expand: "candidates: string[]",
  tot_evaluate: "chosen: number, scores: number[]",
  tot_backtrack: "reason: string, to_depth: number",
  got_plan: "node_count: any, edge_count: any, node_ids: any",
  got_node_start: "id: string",
  got_node_complete: "id: string, result_summary: string",
  got_node_failed: "id: string, error: string",
  got_expand: "node_id: string, nodes_added: any, edges_added: any",
  tool_call_chunk: "call_id?: string, name?: string, arguments_delta: string",
  tool_call: "call_id?: string, name: string, arguments: object",
  tool_start: "call_id?: string, name: string",
  tool_output: "call_id?: string, name: string, content: string",
  tool_end: "call_id?: string, name: string, result: string, is_error: boolean",
  tool_approval: "call_id?: string, name: string, arguments: object",
};

/** 001 §6. */
export const KEYS_OF_001: { readonly [type: string]: string } = {
  run_start: "RunStart",
  node_enter: "TaskStart",
  node_exit: "TaskEnd",
  message_chunk: "Messages",
  usage: "Usage",
  values: "Values",
  updates: "Updates",
  custom: "Custom",
  checkpoint: "Checkpoint",
  tot_expand: "TotExpand",
  tot_evaluate: "TotEvaluate",
  tot_backtrack: "TotBacktrack",
  got_plan: "GotPlan",
  got_node_start: "GotNodeStart",
  got_node_complete: "GotNodeComplete",
  got_node_failed: "GotNodeFailed",
  got_expand: "GotExpand",
  tool_call_chunk: "ToolCallChunk",
  tool_call: "ToolCall",
  tool_start: "ToolStart",
  tool_output: "ToolOutput",
  tool_end: "ToolEnd",
  tool_approval: "ToolApproval",
};

/** 002: the common fields, and those of each event. */
export const COMMON_OF_002 = 'type: string, ts: number, source: "execute"|"stream", iteration?: number';
export const EVENTS_OF_002: Tables = {
  request_start: "input: string",
  retrieval_complete: "doc_count: number",
  compression_applied: "before_tokens: number, after_tokens: number",
  tool_calls_start: "tool_calls: object[]",
  tool_result: "tool_call_id: string, content: string",
  text_delta: "",
  agent_finish: "content: string",
  error: "stage: string, message: string",
};

/** 003 §1.2: the fields of `metadata`. The other table is of `data`, from 003 §1.1 and §1.3. */
export const METADATA_OF_003 = "request_id: string, timestamp: number, sequence: number, duration_ms?: number";
export const EVENTS_OF_003: Tables = {
  session_start: "session_id: string, request_id: string",
  thinking: 'content: string, stage?: "reasoning"|"planning"|"analyzing"',
  tool_call_start: "tool_id: string, tool_name: string, description?: string, arguments: object",
  tool_call_progress: "tool_id: string, progress: number, message: string",
  tool_call_end: 'tool_id: string, status: "success"|"failed", result?: object, error?: object',
  content: 'content: string, format?: "markdown"|"text"|"html", is_complete?: boolean',
  data: 'data_type: "dataframe"|"chart"|"image"|"custom", data: object, metadata?: object',
  error:
    'error_type: "validation"|"execution"|"timeout"|"system", message: string, details?: object, recoverable?: boolean',
  session_end: 'status: "completed"|"error"|"cancelled", summary?: object',
};

/** 004: the base fields, and what each sample shows in addition. */
export const BASE_OF_004 =
  'type: string, id: string, role: "assistant", session_id: string, conversation_id: string|null, ' +
  "tool_use_id: string|null, content: string|null, toolName: string|null, args: object|null, result: any, " +
  "status: string|null, error: string|null";
export const FRAMES_OF_004: Tables = {
  session_id: "content: null, status: null",
  chunk: "content: string, tool_use_id: null, toolName: null, args: null, result: null, error: null",
  reasoning: 'content: string, status: "thinking"|"done", tool_use_id: null, result: null, error: null',
  tool_use: "tool_use_id: string, toolName: string, args: object, content: null, result: null, error: null",
  tool_result: 'tool_use_id: string, toolName: string, status: "completed"|"error", args: null, content: null',
  todo_list: "list_id: string, title: string, items: object[], content: null, result: null, error: null",
  todo_update: "list_id: string, item_id: string, completed: boolean|null, text: string|null, content: null",
  image: "url: string, mediaType: string|null, alt: string|null, content: null, result: null, error: null",
  error: "error: string, code: string|null, content: null, result: null",
};

/** Fields by type. */
export interface Tables {
  readonly [type: string]: string;
}

export interface TableField {
  readonly name: string;
  readonly isOptional: boolean;
  readonly kind: string;
}

export function readTable(table: string): readonly TableField[] {
  return [...table.matchAll(/(\w+)(\??): ([^,]+)/g)].map(([, name = "", mark = "", kind = ""]) => ({
    name,
    isOptional: mark === "?",
    kind,
  }));
}

/** The first field that differs from the table, or `undefined`. `null` in an optional field counts as absent. */
export function findDifference(table: string, value: { readonly [field: string]: unknown }): string | undefined {
  for (const { name, isOptional, kind } of readTable(table)) {
    const field = value[name];
    if (isOptional && (field === undefined || field === null)) continue;
    if (!(name in value)) return `${name} is missing`;
    if (!kind.split("|").some((each) => isOfKind(each, field)))
      return `${name} is not ${kind}: ${JSON.stringify(field)}`;
  }
  return undefined;
}

function isOfKind(kind: string, value: unknown): boolean {
  if (kind.startsWith('"')) return value === JSON.parse(kind);
  if (kind.endsWith("[]")) return Array.isArray(value) && value.every((item) => isOfKind(kind.slice(0, -2), item));
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (kind === "Err") return isObject && typeof (value as { Err?: unknown }).Err === "string";
  if (kind === "object") return isObject;
  if (kind === "null") return value === null;
  return kind === "any" || typeof value === kind;
}
