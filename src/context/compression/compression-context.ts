/** What compressing one prompt needs: options, token budget, the event sink, and what is known about the session. */
import type { LanguageModel } from "../../models/model.ts";
import type { FitEvent, FitOptions } from "./compressor.ts";
import type { PromptTokens } from "./prompt-tokens.ts";
import type { Budget, CompressionOptions } from "./compression-options.ts";
import { createCancelled } from "../../models/attempt-monitor.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { ShortenedResults } from "./shorten-results.ts";
import { Summaries } from "./summaries.ts";
import { untilAborted } from "../../protocol/until-aborted.ts";

export interface CompressionContext extends Omit<FitOptions, "onEvent" | "onError" | "createCallId"> {
  readonly tokens: PromptTokens;
  readonly budget: Budget;
  readonly memory: SessionMemory;
  readonly options: CompressionOptions;
  /** Returns the model that writes summaries. */
  readonly findWriter: (model: LanguageModel) => Promise<LanguageModel>;
  /** For `llm_start` the returned promise must be awaited. */
  readonly emit: (event: FitEvent) => void | Promise<void>;
  readonly createCallId: () => string;
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
