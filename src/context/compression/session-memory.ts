/**
 * What a compressor knows of one session: its summaries, and which results were shortened. Prompts of one session are
 * compressed one after another, so that the second uses what the first has written.
 */
import { createCancelled } from "../../models/call-watch.ts";
import { ShortenedResults } from "./shorten-results.ts";
import { Summaries } from "./summaries.ts";

export class SessionMemory {
  readonly summaries = new Summaries();
  readonly shortened = new ShortenedResults();
  #tail: Promise<void> = Promise.resolve();

  async inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#tail;
    let release = (): void => undefined;
    this.#tail = new Promise((resolve) => (release = resolve));
    try {
      await waitFor(before, signal);
      return await work();
    } finally {
      // Whoever gave up waiting lets nobody past those before it.
      void before.then(release);
    }
  }
}

function waitFor(before: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(createCancelled(signal.reason));
    signal.addEventListener("abort", onAbort, { once: true });
    void before.then(() => {
      signal.removeEventListener("abort", onAbort);
      if (signal.aborted) onAbort();
      else resolve();
    });
  });
}
