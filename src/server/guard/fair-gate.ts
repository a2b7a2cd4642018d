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

interface AccountGate {
  readonly limit: ConcurrencyLimit;
  /** Work that runs or waits; the gate is forgotten when there is none. */
  users: number;
}

const MAX_WAITING = 64;

export class FairGate {
  readonly #options: Required<FairGateOptions>;
  readonly #shared: ConcurrencyLimit;
  readonly #accounts = new Map<string, AccountGate>();

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
    const own = this.#accounts.get(key) ?? { limit: this.#createLimit(account, slotsPerAccount), users: 0 };
    this.#accounts.set(key, own);
    own.users++;
    let releaseOwn: Release | undefined;
    const leave = (): void => {
      releaseOwn?.();
      if (--own.users === 0) this.#accounts.delete(key);
    };
    try {
      releaseOwn = await own.limit.enter(signal);
      const release = await this.#shared.enter(signal);
      let isInside = true;
      return () => {
        if (!isInside) return;
        isInside = false;
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
