/**
 * Limits the concurrent searches of a principal. Searches of all principals share one thread per store, which answers
 * them in order of arrival, so a principal with many searches must not fill its queue.
 *
 * Invariant: only principals with a running or waiting search are remembered.
 */
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import { ConcurrencyLimit, type Release } from "../../../tools/concurrency-limit.ts";
import { accountOf, type Principal, DEFAULT_PRINCIPAL_LIMITS } from "../principal.ts";

export interface SearchesOptions {
  /** Maximum concurrent searches of a principal that sets no limit. Default: 2. */
  readonly maxSearches?: number | undefined;
  /** Maximum searches of a principal that wait. Code `too_many_searches`. Default: 16. */
  readonly maxWaiting?: number | undefined;
}

export interface Searches {
  /**
   * Runs a search when the principal has fewer than its maximum. Rejects with the reason of the signal if it aborts
   * first, and with `too_many_searches`.
   */
  run<T>(principal: Principal, signal: AbortSignal, search: () => Promise<T>): Promise<T>;
}

const MAX_WAITING = 16;

interface SearchShare {
  readonly limit: ConcurrencyLimit;
  /** Running and waiting searches. */
  searches: number;
}

export function createSearches(options: SearchesOptions = {}): Searches {
  const { maxSearches = DEFAULT_PRINCIPAL_LIMITS.maxSearches, maxWaiting = MAX_WAITING } = options;
  const shares = new Map<string, SearchShare>();

  async function enter({ limit }: SearchShare, signal: AbortSignal): Promise<Release> {
    try {
      return await limit.enter(signal);
    } catch (error) {
      if (!isLoomError(error, "queue_full")) throw error;
      throw new LoomError("too_many_searches", `Search limit reached: ${maxWaiting} searches are waiting; try again`, {
        limit: maxWaiting,
      });
    }
  }

  return {
    async run(principal, signal, search) {
      const account = accountOf(principal);
      const limit = principal.limits.maxSearches ?? maxSearches;
      const share = shares.get(account) ?? { limit: new ConcurrencyLimit(limit, maxWaiting), searches: 0 };
      shares.set(account, share);
      share.searches++;
      try {
        const release = await enter(share, signal);
        return await search().finally(release);
      } finally {
        if (--share.searches === 0) shares.delete(account);
      }
    },
  };
}
