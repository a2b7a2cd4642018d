/** What compression can be told. */
import type { ModelChoice } from "../../models/model.ts";

export interface CompressionOptions {
  /** Share of the context window at which a prompt is compressed; 0.8 when absent. */
  readonly threshold?: number;
  /** Share of the context window that it has afterwards at most; 0.5 when absent. */
  readonly target?: number;
  /** Tokens the model can read; by its family when absent. */
  readonly contextWindow?: number;
  /** The latest turns that stay as they are, the present one included, as long as they fit; 2 when absent. */
  readonly keepTurns?: number;
  /** Facts that every prompt has, whatever is left out: at the end of the system's message. */
  readonly pinned?: readonly string[];
  /** Who writes the summary; the model itself when absent. */
  readonly model?: ModelChoice;
  /** Tokens of the summary; a tenth of the context window when absent, from 64 to 2048. A quarter of a prompt at most. */
  readonly maxSummaryTokens?: number;
  /** How long the summary may take, all its parts; 60 s when absent. Code `compression_failed`. */
  readonly timeoutMs?: number;
}
