/**
 * The contract of a compressor, which makes a prompt fit into the context window of a model. It changes only what is
 * sent to the model; the log keeps every message.
 *
 * Invariants: a valid prompt stays valid; the system message, the latest turns, open tool calls and pinned facts are
 * kept; a tool call stays together with its result; a prompt that fits is returned unchanged except for pinned facts.
 */
import type { LanguageModel, ModelMessage, ModelRequest } from "../../models/model.ts";
import type {
  CompressionAppliedEvent,
  ErrorEvent,
  LlmEndEvent,
  LlmStartEvent,
  UsageEvent,
} from "../../protocol/events.generated.ts";

/** Makes prompts fit into the context window of a model. */
export interface Compressor {
  /**
   * Returns the prompt unchanged if it fits, otherwise a shorter one. Throws `prompt_too_large` if it certainly cannot
   * be made to fit, or `cancelled` if the signal is aborted.
   */
  fit(prompt: Prompt, options: FitOptions): Promise<FittedPrompt>;
}

/** The parts of a model request that count towards its size. `settings.maxOutputTokens` is kept free for the answer. */
export type Prompt = Pick<ModelRequest, "messages" | "tools" | "responseFormat" | "settings">;

/**
 * An event emitted during compression: `llm_start`, `usage` and `llm_end` of the calls that write a summary, `error` if
 * no summary could be written, `compression_applied`.
 */
export type FitEvent = CompressionAppliedEvent | ErrorEvent | LlmEndEvent | LlmStartEvent | UsageEvent;

/** What a compressor needs to know about one prompt. */
export interface FitOptions {
  /** Session of the prompt. Summaries of a session are reused. */
  readonly sessionId: string;
  /**
   * The object the session belongs to, such as its log. Sessions of different scopes may have the same ID. Cached
   * summaries are freed together with it. Default: the compressor.
   */
  readonly scope?: object;
  /**
   * Model that will read the prompt. Its family determines how tokens are counted and the size of the context window.
   */
  readonly model: LanguageModel;
  /** Cancels the compression, including a summary being written. */
  readonly signal: AbortSignal;
  /**
   * Index of the first message of the current turn, not counting the system message. Default: the last user message.
   */
  readonly turnStart?: number;
  /** True if the oldest messages of the session are missing from the prompt. The latest summary then replaces them. */
  readonly isHistoryTruncated?: boolean;
  /**
   * Reads earlier `compression_applied` events from the log, newest first. Called if no cached summary makes the prompt
   * fit.
   */
  readonly readEarlier?: () => Promise<readonly CompressionAppliedEvent[]>;
  /**
   * Receives each event immediately, including the cost of summaries for a prompt that is then rejected. For
   * `llm_start` the returned promise is awaited before the model is called; if it rejects, the model is not called.
   */
  readonly onEvent?: (event: FitEvent) => void | Promise<void>;
  /** Creates IDs for the calls that write summaries. Default: `summary.1`, `summary.2` and so on. */
  readonly createCallId?: () => string;
  /** Called when a summary is requested, and again with its text. Default: no function. */
  readonly onCall?: (call: SummaryCall) => void;
  /** Receives problems that concern the operator, such as a missing tokenizer package. They are not in the log. */
  readonly onError?: (error: Error) => void;
}

/** A model call that writes a summary. */
export interface SummaryCall {
  readonly callId: string;
  readonly model: LanguageModel;
  readonly request: ModelRequest;
  /** Undefined until the model has answered. */
  readonly text?: string;
}

/** The result of `Compressor.fit`. */
export interface FittedPrompt {
  /** The messages to send. */
  readonly messages: readonly ModelMessage[];
  /** All events passed to `onEvent`. Empty if the prompt fits as it is or with a known summary. */
  readonly events: readonly FitEvent[];
}
