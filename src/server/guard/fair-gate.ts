/**
 * Limits work of one kind, such as uploads, for the whole process and for each credential. Work above a limit waits.
 *
 * Invariant: a credential that has all of its slots in use waits for its own slots only, so it never takes the last slot
 * or the last waiting position of the others.
 */
import { ConcurrencyLimit, type Release } from "../../protocol/concurrency-limit.ts";
import { type ErrorCode, LoomError } from "../../protocol/index.ts";

export interface FairGateOptions {
  /** Name of the work in messages, for example `uploads`. */
  readonly noun: string;
  /** Code if one credential has too much work waiting. */
  readonly code: ErrorCode;
  /** Work that runs at once in this process. Default: unlimited. */
  readonly slots?: number;
  /** Work of one credential that runs at once. */
  readonly slotsPerAccount: number;
  /** Work of one credential that may wait. Default: 64. */
  readonly maxWaiting?: number;
}

const MAX_WAITING = 64;

export class FairGate {
  readonly #options: Required<FairGateOptions>;
  readonly #shared: ConcurrencyLimit;
  /** The limits of the accounts whose work runs or waits. */
  readonly #accounts = new Map<string, ConcurrencyLimit>();

  constructor(options: FairGateOptions) {
    this.#options = { maxWaiting: MAX_WAITING, slots: Infinity, ...options };
    this.#shared = new ConcurrencyLimit(this.#options.slots);
  }

  /**
   * Waits for a slot of the account, then for one of the process. An undefined account, when authentication is off, may
   * use all slots; `slotsPerAccount` replaces the option for an account that has its own limit. Throws the code of the gate
   * if too much work of the account waits, and the reason of the signal.
   */
  async enter(account: string | undefined, signal: AbortSignal, slotsPerAccount?: number): Promise<Release> {
    const key = account ?? "";
    const own = this.#accounts.get(key) ?? this.#createLimit(account, slotsPerAccount);
    this.#accounts.set(key, own);
    let releaseOwn: Release | undefined;
    const leave = (): void => {
      releaseOwn?.();
      if (own.isIdle && this.#accounts.get(key) === own) this.#accounts.delete(key);
    };
    try {
      releaseOwn = await own.enter(signal);
      const release = await this.#shared.enter(signal);
      return () => {
        release();
        leave();
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  #createLimit(account: string | undefined, slotsPerAccount = this.#options.slotsPerAccount): ConcurrencyLimit {
    const { slots, noun, code, maxWaiting } = this.#options;
    const tooMany = (limit: number): LoomError =>
      new LoomError(code, `Too many ${noun}: ${limit} are already waiting; try again later`, { limit });
    const own = account === undefined ? slots : Math.min(slots, slotsPerAccount);
    return new ConcurrencyLimit(own, { maxWaiting, tooMany });
  }
}
