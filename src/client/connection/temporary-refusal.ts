/** Distinguishes temporary refusals, which are retried, from permanent ones. */
import type { ErrorCode } from "../../protocol/index.ts";
import type { Refusal } from "../transport.ts";

/** Codes that describe the state of the server or the request rate, not the request itself. */
const TEMPORARY_CODES: readonly ErrorCode[] = [
  "store_busy",
  "store_full",
  "store_unavailable",
  "store_timeout",
  "store_failed",
  "keys_unavailable",
  "login_unavailable",
  "internal_error",
  "backlog_full",
  "shutting_down",
  "rate_limited",
  "too_many_streams",
];

/**
 * Returns true if a retry may succeed. A response from something other than a Loom server counts as temporary only if
 * the server was reachable before (`wasReachable`).
 */
export function isTemporaryRefusal({ code, isForeign }: Refusal, wasReachable: boolean): boolean {
  return TEMPORARY_CODES.includes(code) || (isForeign === true && wasReachable);
}
