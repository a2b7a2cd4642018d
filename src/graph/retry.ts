/** Decides when a failed node is retried. */
import { type ErrorCode, isLoomError } from "../protocol/index.ts";
import type { RetryPolicy } from "./graph.ts";

const DEFAULTS = { delayMs: 100, factor: 2, maxDelayMs: 30_000 };

/** Errors that a retry cannot fix. */
const FINAL: readonly ErrorCode[] = [
  "cancelled",
  "run_ended",
  "session_closed",
  "fenced",
  "store_failed",
  "event_too_large",
  "batch_too_large",
  "graph_invalid",
  "graph_changed",
];

/** Returns the milliseconds until the next attempt; undefined if there is none. */
export function findRetryDelay(policy: RetryPolicy | undefined, attempt: number, error: unknown): number | undefined {
  if (policy === undefined || attempt >= policy.attempts) return undefined;
  if (isLoomError(error, ...FINAL)) return undefined;
  const { when = () => true } = policy;
  if (!when(error)) return undefined;
  const { delayMs = DEFAULTS.delayMs, factor = DEFAULTS.factor, maxDelayMs = DEFAULTS.maxDelayMs } = policy;
  return Math.min(maxDelayMs, delayMs * factor ** (attempt - 1));
}
