/**
 * Decides whether an error message may quote contents such as messages, arguments or results. Such messages are logged
 * only if contents are enabled. Codes that are not listed as safe are assumed to quote.
 */
import { ERROR_CODES, type ErrorCode } from "../../protocol/index.ts";

/** Messages with names and numbers only, or from the model provider about the call. */
const NEVER_QUOTING: ReadonlySet<string> = new Set<ErrorCode>([
  "model_failed",
  "model_unauthorized",
  "model_not_found",
  "model_rate_limited",
  "model_unavailable",
  "model_feature_refused",
  "model_timeout",
  "model_stream_cut",
  "model_output_too_large",
  "unknown_model",
  "missing_key",
  "missing_package",
  "prompt_too_large",
  "retrieval_timeout",
  "iteration_limit",
  "budget_spent",
  "step_limit",
  "node_timeout",
  "graph_changed",
  "lease_held",
  "event_too_large",
  "batch_too_large",
]);

export function mayQuoteContent(code: string | undefined, stage?: string): boolean {
  // The error of a tool is its result, whatever its code.
  if (code === undefined || stage === "tool_execute") return true;
  if (NEVER_QUOTING.has(code)) return false;
  return !(Object.hasOwn(ERROR_CODES, code) && ERROR_CODES[code as ErrorCode] === "system");
}
