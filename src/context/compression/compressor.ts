/**
 * The contract of a compressor: what makes a prompt fit the model that is to read it. It changes what is sent, and
 * nothing else: the log keeps everything.
 *
 * Invariants: what it gives is a valid prompt if it was given one; the system's message, the latest turns, open calls and
 * pinned facts stay; no call is parted from its result; what fits is given back as it is.
 */
import type { LanguageModel, ModelMessage, ModelTool } from "../../models/model.ts";
import type { CompressionAppliedEvent, ErrorEvent } from "../../protocol/index.ts";

export interface Compressor {
  fit(prompt: Prompt, options: FitOptions): Promise<FittedPrompt>;
}

export interface Prompt {
  readonly messages: readonly ModelMessage[];
  /** They are sent too, and count. */
  readonly tools?: readonly ModelTool[];
}

export interface FitOptions {
  /** Whose prompts these are: what was summarised for it is used again. */
  readonly sessionId: string;
  /** Who is to read the prompt; its family says how tokens are counted and how many it can read. */
  readonly model: LanguageModel;
  readonly signal: AbortSignal;
  /** What was summarised before, newest first, as the log has it: for a process that has not seen it. */
  readonly earlier?: readonly CompressionAppliedEvent[];
}

export interface FittedPrompt {
  readonly messages: readonly ModelMessage[];
  /** To be written in this order: `compression_applied`, and an `error` where no summary could be had. None where the prompt fitted. */
  readonly events: readonly (CompressionAppliedEvent | ErrorEvent)[];
}
