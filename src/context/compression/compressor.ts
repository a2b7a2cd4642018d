/**
 * The contract of a compressor: what makes a prompt fit the model that is to read it. It changes what is sent, and
 * nothing else: the log keeps everything.
 *
 * Invariants: what it gives is a valid prompt if it was given one; the system's message, the latest turns, open calls and
 * pinned facts stay; no call is parted from its result; what fits is given back as it is.
 */
import type { LanguageModel, ModelMessage, ModelRequest } from "../../models/model.ts";
import type {
  CompressionAppliedEvent,
  ErrorEvent,
  LlmEndEvent,
  LlmStartEvent,
  UsageEvent,
} from "../../protocol/index.ts";

export interface Compressor {
  fit(prompt: Prompt, options: FitOptions): Promise<FittedPrompt>;
}

/** Tools and the form of the answer are sent too, and count; `settings.maxOutputTokens` is kept free. */
export type Prompt = Pick<ModelRequest, "messages" | "tools" | "responseFormat" | "settings">;

/**
 * What was done to a prompt: the calls of a model that wrote a summary, with what they cost, an `error` where none could be
 * had, `compression_applied`.
 */
export type FitEvent = CompressionAppliedEvent | ErrorEvent | LlmEndEvent | LlmStartEvent | UsageEvent;

export interface FitOptions {
  /** Whose prompts these are: what was summarised for it is used again. */
  readonly sessionId: string;
  /** What the session is part of, such as its log: elsewhere, another may have the same name. What is remembered goes with it. */
  readonly scope?: object;
  /** Who is to read the prompt; its family says how tokens are counted and how many it can read. */
  readonly model: LanguageModel;
  readonly signal: AbortSignal;
  /** Messages before the present turn, the system's not counted. Absent, it begins with the user's last message. */
  readonly present?: number;
  /** The oldest messages of the session are not in the prompt: the latest summary stands for them. */
  readonly hasLostBeginning?: boolean;
  /** What was summarised before, newest first, as the log has it. Asked for when nothing that is known makes it fit. */
  readonly readEarlier?: () => Promise<readonly CompressionAppliedEvent[]>;
  /**
   * Told each event as it happens: what was paid for is told even where the prompt is refused. What it gives for an
   * `llm_start` is waited for before the model is asked, and where that fails it is not asked.
   */
  readonly onEvent?: (event: FitEvent) => void | Promise<void>;
  /** Ids for the calls that write summaries; numbers of the compressor's own when absent. */
  readonly createCallId?: () => string;
  /** Told what the operator should know, and no user: that a package is missing. */
  readonly onError?: (error: Error) => void;
}

export interface FittedPrompt {
  readonly messages: readonly ModelMessage[];
  /** All that `onEvent` was told. None where the prompt fitted, or fits with what was summarised before. */
  readonly events: readonly FitEvent[];
}
