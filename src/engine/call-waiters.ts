/**
 * The callers that wait for answers to tool calls, approvals or results of the client, and the timer for the next
 * expiry.
 *
 * Requests and answers are in the records of the run; this class only wakes the waiting code.
 */
import type { LoomError } from "../protocol/index.ts";
import type { OpenToolCall } from "./open-work.ts";
import { limitTimer } from "../protocol/limit-timer.ts";

export class CallWaiters<Answer> {
  readonly #now: () => number;
  readonly #expire: () => void;
  readonly #waiters = new Map<string, PromiseWithResolvers<Answer>>();
  #timer: NodeJS.Timeout | undefined;

  /** `expire` is called when the earliest call expires. It may be called early, and must check the time itself. */
  constructor(now: () => number, expire: () => void) {
    this.#now = now;
    this.#expire = expire;
  }

  wait(callId: string): Promise<Answer> {
    let waiter = this.#waiters.get(callId);
    if (waiter === undefined) {
      waiter = Promise.withResolvers<Answer>();
      waiter.promise.catch(() => undefined);
      this.#waiters.set(callId, waiter);
    }
    return waiter.promise;
  }

  /** Resolves the waiting callers. Call it after the answer is durable. */
  answer(callId: string, answer: Answer): void {
    this.#waiters.get(callId)?.resolve(answer);
    this.#waiters.delete(callId);
  }

  /** Sets the timer for the call that expires first. */
  arm(waiting: readonly OpenToolCall[]): void {
    clearTimeout(this.#timer);
    const ends = waiting.flatMap(({ expiresAt }) => (expiresAt === undefined ? [] : [expiresAt]));
    if (ends.length === 0) return;
    const delay = Math.max(1, Math.min(...ends) - this.#now());
    this.#timer = setTimeout(this.#expire, limitTimer(delay));
    // The call is in the log, so it need not keep the process alive.
    this.#timer.unref();
  }

  /** Rejects all waiting callers and stops the timer. */
  close(error: LoomError): void {
    clearTimeout(this.#timer);
    for (const waiter of this.#waiters.values()) waiter.reject(error);
    this.#waiters.clear();
  }
}
