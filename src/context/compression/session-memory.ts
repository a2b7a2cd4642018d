/**
 * What a compressor knows of one session: its summaries, which results were shortened, and which summaries are being
 * written. Nobody asks for one that is on its way; others are written side by side.
 */
import { createCancelled } from "../../models/call-watch.ts";
import { BoundedMap } from "../../protocol/index.ts";
import { ShortenedResults } from "./shorten-results.ts";
import { Summaries } from "./summaries.ts";

const MAX_SQUEEZED = 256;

export class SessionMemory {
  readonly summaries = new Summaries();
  readonly shortened = new ShortenedResults();
  /** Summaries that were too long beside a question, as far as it was told. */
  readonly squeezed = new BoundedMap<true>(MAX_SQUEEZED);
  readonly #going = new Map<string, Promise<void>>();

  /** Undefined where nobody has to be waited for. Afterwards all has to be looked at anew. */
  waitFor(key: string, signal: AbortSignal): Promise<void> | undefined {
    const going = this.#going.get(key);
    if (going === undefined) return undefined;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(createCancelled(signal.reason));
      signal.addEventListener("abort", onAbort, { once: true });
      if (signal.aborted) onAbort();
      void going.then(() => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      });
    });
  }

  /** To be called where nobody has to be waited for, in the same tick. */
  async work<T>(key: string, write: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#going.set(key, promise);
    try {
      return await write();
    } finally {
      this.#going.delete(key);
      resolve();
    }
  }
}
