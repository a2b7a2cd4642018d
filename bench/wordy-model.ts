/** A model that streams a given number of words, one per chunk. */
import { setTimeout as pause } from "node:timers/promises";
import type { LanguageModel } from "../src/models/index.ts";

export interface WordyModelOptions {
  /** Time to the first word (default: 0). */
  readonly waitMs?: number;
  /** Words per second (default: as fast as they are read). */
  readonly perSecond?: number;
}

export class WordyModel implements LanguageModel {
  readonly specificationVersion = "v4";
  readonly provider = "bench";
  readonly modelId = "wordy";
  readonly supportedUrls = {};
  readonly #words: number;
  readonly #options: WordyModelOptions;

  constructor(words: number, options: WordyModelOptions = {}) {
    this.#words = words;
    this.#options = options;
  }

  doGenerate(): Promise<never> {
    return Promise.reject(new Error("WordyModel only streams; use doStream()"));
  }

  async doStream(): Promise<{ stream: ReadableStream<unknown> }> {
    const words = this.#words;
    const { waitMs = 0, perSecond } = this.#options;
    if (waitMs > 0) await pause(waitMs);
    const start = performance.now();
    let sent = 0;
    const stream = new ReadableStream<unknown>({
      start(controller) {
        controller.enqueue({ type: "stream-start", warnings: [] });
        controller.enqueue({ type: "text-start", id: "1" });
      },
      pull(controller) {
        const emit = (): void => controller.enqueue({ type: "text-delta", id: "1", delta: `word${sent++ % 1000} ` });
        if (sent < words) {
          if (perSecond === undefined) return emit();
          return pause(Math.max(0, start + (sent * 1000) / perSecond - performance.now())).then(emit);
        }
        controller.enqueue({ type: "text-end", id: "1" });
        const usage = { inputTokens: { total: 3 }, outputTokens: { total: words } };
        controller.enqueue({ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage });
        controller.close();
      },
    });
    return { stream };
  }
}
