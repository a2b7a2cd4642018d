/** A model that streams a given number of words, one per chunk, after a given time. */
import { setTimeout as pause } from "node:timers/promises";
import type { LanguageModel } from "../src/models/index.ts";

export class WordyModel implements LanguageModel {
  readonly specificationVersion = "v4";
  readonly provider = "bench";
  readonly modelId = "wordy";
  readonly supportedUrls = {};
  readonly #words: number;
  readonly #waitMs: number;

  constructor(words: number, waitMs = 0) {
    this.#words = words;
    this.#waitMs = waitMs;
  }

  doGenerate(): Promise<never> {
    return Promise.reject(new Error("WordyModel only streams; use doStream()"));
  }

  async doStream(): Promise<{ stream: ReadableStream<unknown> }> {
    const words = this.#words;
    if (this.#waitMs > 0) await pause(this.#waitMs);
    let sent = 0;
    const stream = new ReadableStream<unknown>({
      start(controller) {
        controller.enqueue({ type: "stream-start", warnings: [] });
        controller.enqueue({ type: "text-start", id: "1" });
      },
      pull(controller) {
        if (sent < words) {
          controller.enqueue({ type: "text-delta", id: "1", delta: `word${sent++ % 1000} ` });
          return;
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
