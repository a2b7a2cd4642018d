/** The status of HTTP for each code: one table for every door. */
import { ERROR_CODES, type ErrorCode } from "../../protocol/index.ts";

const STATUSES: { readonly [code in ErrorCode]?: number } = {
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  unknown_session: 404,
  unknown_run: 404,
  unknown_call: 404,
  unknown_todo: 404,
  unknown_agent: 404,
  unknown_blob: 404,
  unknown_checkpoint: 404,
  unknown_document: 404,
  request_timeout: 408,
  cancelled: 409,
  session_exists: 409,
  run_exists: 409,
  run_live: 409,
  run_ended: 409,
  already_answered: 409,
  approval_mismatch: 409,
  command_conflict: 409,
  command_settled: 409,
  lease_held: 409,
  evicted: 410,
  cursor_stale: 410,
  body_too_large: 413,
  blob_too_large: 413,
  document_too_large: 413,
  event_too_large: 413,
  cursor_ahead: 416,
  ingest_invalid: 422,
  unreadable_document: 422,
  inbox_full: 429,
  queue_full: 429,
  backlog_full: 429,
  too_many_subscriptions: 429,
  missing_package: 501,
  too_many_open: 503,
  too_many_sessions: 503,
  shutting_down: 503,
  store_busy: 503,
  store_closed: 503,
  store_full: 507,
  blobs_full: 507,
  too_many_documents: 507,
};

/** 400 for what the asker did wrong, 500 for what we did. */
export function statusOf(code: string): number {
  if (!Object.hasOwn(ERROR_CODES, code)) return 500;
  return STATUSES[code as ErrorCode] ?? (ERROR_CODES[code as ErrorCode] === "validation" ? 400 : 500);
}
