/**
 * Whether the message of an error may quote what was said, asked or found: such a message is told only where contents
 * are. It goes by the code, and by a list of those that cannot: a code nobody has thought of is taken to quote.
 */
import { ERROR_CODES, type ErrorCode } from "../../protocol/index.ts";

/** Said by ourselves with names and numbers, or by the provider of a model about the call. */
const PLAIN: ReadonlySet<string> = new Set<ErrorCode>([
  "model_failed",
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
  // What a tool says is its result, whatever code it is given.
  if (code === undefined || stage === "tool_execute") return true;
  if (PLAIN.has(code)) return false;
  return !(Object.hasOwn(ERROR_CODES, code) && ERROR_CODES[code as ErrorCode] === "system");
}
