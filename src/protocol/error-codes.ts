/** The error codes and the error type of 003 each belongs to. All dialects use this table. */
export type ErrorType = "validation" | "execution" | "timeout" | "system";

/** All error codes and their types. */
export const ERROR_CODES = {
  invalid_event: "validation",
  invalid_arguments: "validation",
  frame_too_long: "validation",
  tool_failed: "execution",
  tool_rejected: "execution",
  tool_denied: "execution",
  tool_timeout: "timeout",
  model_failed: "execution",
  model_timeout: "timeout",
  model_stream_cut: "execution",
  model_empty: "execution",
  iteration_limit: "execution",
  nesting_limit: "execution",
  approval_expired: "timeout",
  approval_failed: "execution",
  approval_unavailable: "execution",
  client_unavailable: "execution",
  // Context of the model call
  retrieval_failed: "execution",
  retrieval_timeout: "timeout",
  compression_failed: "execution",
  prompt_too_large: "execution",
  // Knowledge base
  unreadable_document: "validation",
  document_too_large: "validation",
  too_many_documents: "validation",
  unknown_document: "validation",
  // Callbacks: reported to the program, never to a run
  callback_failed: "execution",
  callback_timeout: "timeout",
  callback_backlog_full: "system",
  interrupted: "system",
  too_many_attempts: "system",
  run_failed: "execution",
  source_timeout: "timeout",
  guardrail_triggered: "execution",
  cancelled: "execution",
  // Sessions, runs and leases
  unknown_session: "validation",
  session_exists: "validation",
  session_closed: "system",
  invalid_name: "validation",
  lease_held: "execution",
  fenced: "system",
  conflict: "system",
  unknown_run: "validation",
  run_exists: "validation",
  run_live: "execution",
  run_ended: "execution",
  // Reading
  cursor_invalid: "validation",
  cursor_stale: "validation",
  cursor_ahead: "validation",
  evicted: "validation",
  // Commands
  invalid_command: "validation",
  command_conflict: "validation",
  command_settled: "validation",
  unknown_call: "validation",
  already_answered: "validation",
  approval_mismatch: "validation",
  unknown_todo: "validation",
  // Limits
  event_too_large: "validation",
  batch_too_large: "validation",
  backlog_full: "system",
  inbox_full: "system",
  queue_full: "system",
  too_many_open: "system",
  too_many_searches: "system",
  search_timeout: "timeout",
  quota_exceeded: "system",
  // Store
  store_failed: "system",
  store_full: "system",
  store_busy: "system",
  store_unavailable: "system",
  store_read_only: "system",
  store_corrupt: "system",
  store_newer: "system",
  store_older: "system",
  store_closed: "system",
  writer_failed: "system",
  import_invalid: "validation",
  // Receiving: reasons in a stream's status
  stream_cut: "system",
  frames_missing: "system",
  frame_refused: "validation",
  proof_failed: "system",
  id_conflict: "validation",
  dialect_mismatch: "validation",
  cannot_merge: "validation",
  held_limit: "system",
  view_limit: "system",
  too_many_sessions: "system",
  // Connections
  connection_lost: "system",
  connection_refused: "validation",
  heartbeat_missed: "timeout",
  reconnect_limit: "system",
  command_timeout: "timeout",
  invalid_control: "validation",
  already_subscribed: "validation",
  not_subscribed: "validation",
  too_many_subscriptions: "system",
  unsupported: "validation",
  internal_error: "system",
  // Server
  invalid_request: "validation",
  not_found: "validation",
  body_too_large: "validation",
  unauthorized: "validation",
  forbidden: "validation",
  rate_limited: "system",
  too_many_runs: "system",
  too_many_streams: "system",
  too_many_uploads: "system",
  too_many_forks: "system",
  spend_exceeded: "system",
  spend_unrecorded: "system",
  audit_failed: "system",
  keys_unavailable: "system",
  unknown_agent: "validation",
  unknown_blob: "validation",
  blob_too_large: "validation",
  blobs_full: "system",
  blob_damaged: "system",
  image_refused: "validation",
  ingest_invalid: "validation",
  shutting_down: "system",
  request_timeout: "timeout",
  listen_failed: "system",
  // Graphs
  graph_invalid: "validation",
  graph_changed: "validation",
  unknown_checkpoint: "validation",
  step_limit: "execution",
  node_failed: "execution",
  node_timeout: "timeout",
  // Models and tools
  unknown_model: "validation",
  missing_key: "validation",
  missing_package: "validation",
  model_output_cut: "execution",
  model_output_too_large: "execution",
  model_output_invalid: "execution",
  budget_spent: "execution",
  unknown_tool: "validation",
  tool_invalid: "validation",
  path_refused: "validation",
  url_refused: "validation",
  mcp_failed: "execution",
} as const satisfies { readonly [code: string]: ErrorType };

/** A stable error code, as in `LoomError.code`. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** Returns the error type: the one the error names, else the one of its code. */
export function errorTypeOf(error: {
  readonly error_type?: ErrorType;
  readonly code?: string;
  readonly stage?: string;
}): ErrorType {
  if (error.error_type !== undefined) return error.error_type;
  const { code, stage } = error;
  if (code !== undefined && Object.hasOwn(ERROR_CODES, code)) return ERROR_CODES[code as keyof typeof ERROR_CODES];
  return stage === undefined ? "system" : "execution";
}
