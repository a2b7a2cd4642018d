/**
 * The contract of a compressor: what makes a prompt fit the model that is to read it. It changes what is sent, and
 * nothing else: the log keeps everything.
 *
 * Invariants: what it gives is a valid prompt if it was given one; the system's message, the latest turns, open calls and
 * pinned facts stay; no call is parted from its result; what fits is given back as it is.
 */
import type { LanguageModel, ModelMessage, ModelRequest } from "../../models/model.ts";
import type { CompressionAppliedEvent, ErrorEvent, UsageEvent } from "../../protocol/index.ts";

export interface Compressor {
  fit(prompt: Prompt, options: FitOptions): Promise<FittedPrompt>;
}

/** Tools and the form of the answer are sent too, and count; `settings.maxOutputTokens` is kept free. */
export type Prompt = Pick<ModelRequest, "messages" | "tools" | "responseFormat" | "settings">;

export interface FitOptions {
  /** Whose prompts these are: what was summarised for it is used again. */
  readonly sessionId: string;
  /** Who is to read the prompt; its family says how tokens are counted and how many it can read. */
  readonly model: LanguageModel;
  readonly signal: AbortSignal;
  /** What the user asks: the turn that begins with it is the present one. Absent, it begins with the user's last message. */
  readonly question?: string;
  /** What was summarised before, newest first, as the log has it. Asked for when there is none that this process knows. */
  readonly readEarlier?: () => Promise<readonly CompressionAppliedEvent[]>;
}

export interface FittedPrompt {
  readonly messages: readonly ModelMessage[];
  /**
   * To be written in this order: the `usage` of the summary, an `error` where none could be had, `compression_applied`.
   * None where the prompt fitted, or fits with what was summarised before.
   */
  readonly events: readonly (CompressionAppliedEvent | ErrorEvent | UsageEvent)[];
}
