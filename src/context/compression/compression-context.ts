/** What compressing one prompt needs: what the caller knows about it, and what the compressor knows about its session. */
import type { LanguageModel, ModelRequest } from "../../models/model.ts";
import type {
  CompressionAppliedEvent,
  ErrorEvent,
  LlmEndEvent,
  LlmStartEvent,
  UsageEvent,
} from "../../protocol/events.generated.ts";
import type { PromptTokens } from "./prompt-tokens.ts";
import type { Budget, CompressionOptions } from "./compression-options.ts";
import { createCancelled } from "../../models/attempt-monitor.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { ShortenedResults } from "./shorten-results.ts";
import { Summaries } from "./summaries.ts";
import { untilAborted } from "../../protocol/until-aborted.ts";

/**
 * An event emitted during compression: `llm_start`, `usage` and `llm_end` of the calls that write a summary, `error` if
 * no summary could be written, `compression_applied`.
 */
export type FitEvent = CompressionAppliedEvent | ErrorEvent | LlmEndEvent | LlmStartEvent | UsageEvent;

/** What a compressor needs to know about one prompt. */
export interface FitOptions {
  /**
   * Stands for the session of the prompt. Summaries of a session are reused, and are freed together with this object.
   */
  readonly session: object;
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
   * Receives each event immediately, including the cost of summaries for a prompt that is then rejected. The model is
   * called after the promise of its `llm_start` has resolved. Promises of other events are not awaited and must not reject.
   */
  readonly emit: (event: FitEvent) => Promise<void>;
  /** Creates IDs for the calls that write summaries. */
  readonly createCallId: () => string;
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

export interface CompressionContext extends FitOptions {
  readonly tokens: PromptTokens;
  readonly budget: Budget;
  readonly memory: SessionMemory;
  readonly options: CompressionOptions;
  /** Returns the model that writes summaries. */
  readonly findWriter: (model: LanguageModel) => Promise<LanguageModel>;
}

const MAX_REPORTED = 256;

/**
 * Known summaries of one session, its shortened tool results, and summaries being written. The same summary is never
 * written twice at once; different ones are written in parallel.
 */
export class SessionMemory {
  readonly summaries = new Summaries();
  readonly shortened = new ShortenedResults();
  /** Summaries that had to be shortened for a prompt and were already reported. */
  readonly reportedSqueezes = new BoundedMap<true>(MAX_REPORTED);
  readonly #inProgress = new Map<string, Promise<void>>();

  /** Waits for the work with this key, if any is running. The caller must then check again what is still needed. */
  waitFor(key: string, signal: AbortSignal): Promise<void> | undefined {
    const running = this.#inProgress.get(key);
    if (running === undefined) return undefined;
    return untilAborted(running, signal).catch((reason: unknown) => {
      throw createCancelled(reason);
    });
  }

  /** Runs `write` under the key. Call it in the same tick in which `waitFor` returned undefined. */
  async runExclusive<T>(key: string, write: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#inProgress.set(key, promise);
    try {
      return await write();
    } finally {
      this.#inProgress.delete(key);
      resolve();
    }
  }
}
