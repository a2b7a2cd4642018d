/** Limits the searches of a process: few run at the same time, the others wait in order of arrival. */
import { ConcurrencyLimit } from "./concurrency-limit.ts";
import { LoomError } from "./loom-error.ts";
import { untilAborted } from "./until-aborted.ts";

const MAX_RUNNING = 2;

interface SearchQueueOptions {
  /** Maximum number of searches that run at the same time. Default: 2. */
  readonly maxRunning?: number;
  /** Maximum number of searches that wait. More throw `too_many_searches`. */
  readonly maxWaiting: number;
  /** How long a search may wait, in milliseconds. Longer throws `search_timeout`. */
  readonly timeoutMs: number;
}

export class SearchQueue {
  readonly #limit: ConcurrencyLimit;

  constructor({ maxRunning = MAX_RUNNING, maxWaiting, timeoutMs }: SearchQueueOptions) {
    const time = { maxMs: timeoutMs, tooLong: waitedTooLong };
    this.#limit = new ConcurrencyLimit(maxRunning, { maxWaiting, tooMany: tooManySearches, time });
  }

  /**
   * Throws `too_many_searches`, `search_timeout` if it waited too long, and the reason of the signal as soon as it
   * aborts. The next search runs when this one has ended, also after it was aborted.
   */
  run<T>(search: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const result = this.#limit.run(search, signal);
    return signal === undefined ? result : untilAborted(result, signal);
  }
}

function tooManySearches(limit: number): LoomError {
  return new LoomError("too_many_searches", "Too many searches are waiting; try again later", { limit });
}

function waitedTooLong(limit: number): LoomError {
  return new LoomError("search_timeout", "The search waited too long for others; try again later", { limit });
}

/** The error of a search that ran too long. */
export function searchTimedOut(timeoutMs: number): LoomError {
  const text = "The search took too long; use rarer or longer words, or try again later";
  return new LoomError("search_timeout", text, { limit: timeoutMs });
}
