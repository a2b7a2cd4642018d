/**
 * Those who wait for the user's answer to a tool call, and the moment the question runs out. What was asked and
 * answered is in the records; this only wakes the program that waits.
 */
import type { LoomError } from "../protocol/index.ts";
import type { ApprovalAnswer, OpenCall } from "./open-work.ts";

/** The longest a timer can run. */
const MAX_TIMEOUT = 2 ** 31 - 1;

export class Approvals {
  readonly #now: () => number;
  readonly #expire: () => void;
  readonly #waiters = new Map<string, PromiseWithResolvers<ApprovalAnswer>>();
  #timer: NodeJS.Timeout | undefined;

  /** `expire` is called when the earliest question has run out, or nearly. */
  constructor(now: () => number, expire: () => void) {
    this.#now = now;
    this.#expire = expire;
  }

  wait(callId: string): Promise<ApprovalAnswer> {
    let waiter = this.#waiters.get(callId);
    if (waiter === undefined) {
      waiter = Promise.withResolvers<ApprovalAnswer>();
      waiter.promise.catch(() => undefined);
      this.#waiters.set(callId, waiter);
    }
    return waiter.promise;
  }

  /** The answer is durable. */
  answer(callId: string, answer: ApprovalAnswer): void {
    this.#waiters.get(callId)?.resolve(answer);
    this.#waiters.delete(callId);
  }

  /** Sets the clock for the question that runs out first. */
  arm(waiting: readonly OpenCall[]): void {
    clearTimeout(this.#timer);
    const ends = waiting.flatMap(({ expiresAt }) => (expiresAt === undefined ? [] : [expiresAt]));
    if (ends.length === 0) return;
    const delay = Math.max(1, Math.min(...ends) - this.#now());
    this.#timer = setTimeout(this.#expire, Math.min(delay, MAX_TIMEOUT));
    // The question is in the log: a process that has nothing else to do may end.
    this.#timer.unref();
  }

  /** Nobody will be answered any more. */
  close(error: LoomError): void {
    clearTimeout(this.#timer);
    for (const waiter of this.#waiters.values()) waiter.reject(error);
    this.#waiters.clear();
  }
}
