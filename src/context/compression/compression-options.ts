/** Options of prompt compression. */
import type { ModelChoice } from "../../models/model.ts";

/** Options of `createCompressor` and of the agent option `compression`. */
export interface CompressionOptions {
  /** Share of the context window above which a prompt is compressed. Default: 0.8. */
  readonly threshold?: number;
  /** Share of the context window that a compressed prompt may fill. At most `threshold`. Default: 0.5. */
  readonly target?: number;
  /** Tokens the model can read. Default: known from the model name, otherwise 32,768. */
  readonly contextWindow?: number;
  /** Number of latest turns to keep unchanged if they fit, including the current one. Default: 2. */
  readonly keepTurns?: number;
  /** Facts included in every prompt, at the end of the system message. Default: none. */
  readonly pinned?: readonly string[];
  /** Model that writes the summary. Default: the model that reads the prompt. */
  readonly model?: ModelChoice;
  /**
   * Maximum tokens of the summary. Default: a tenth of the context window, between 64 and 2048. Never more than a
   * quarter of the prompt limit.
   */
  readonly maxSummaryTokens?: number;
  /**
   * Time limit for writing the summary, all parts together, in milliseconds. Default: 60,000. After that the turns are
   * dropped and the error `compression_failed` is reported.
   */
  readonly timeoutMs?: number;
}
