/**
 * One callback and what waits for it: a bounded backlog, told in order, one at a time, never inside the commit. Whatever
 * the callback does stays here: it may throw, reject, hang, or take its time, and is only spoken of.
 */
import { createTurns } from "../../log/follow-records.ts";
import { LoomError } from "../../protocol/index.ts";
import type { Callback, CallbackPayload } from "./callback.ts";
import { copyJson } from "./copy-json.ts";

export interface LaneOptions {
  readonly maxBacklog: number;
  readonly timeoutMs: number;
  readonly textDelta: boolean;
  report(error: LoomError): void;
}

/** The callback has not come back from this event. */
interface Wait {
  readonly type: string;
  readonly end: () => void;
}

/** How many may lie before the head of the backlog until the list is made anew. */
const MAX_SPENT = 1024;

export class CallbackLane {
  readonly wantsText: boolean;
  readonly #callback: Callback;
  readonly #options: LaneOptions;
  #backlog: CallbackPayload[] = [];
  #head = 0;
  #isGoing = false;
  #isClosed = false;
  #dropped = 0;
  /** Dropped since the backlog was last full; 0 while it is not. */
  #droppedNow = 0;
  #idle: PromiseWithResolvers<void> | undefined;
  #waiting: Wait | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(callback: Callback, options: LaneOptions) {
    this.#callback = callback;
    this.#options = options;
    this.wantsText = callback.textDelta ?? options.textDelta;
  }

  get dropped(): number {
    return this.#dropped;
  }

  push(payload: CallbackPayload): void {
    if (this.#isClosed || (payload.type === "text_delta" && !this.wantsText)) return;
    if (this.#backlog.length - this.#head >= this.#options.maxBacklog) {
      this.#drop();
      return;
    }
    if (this.#droppedNow > 0) this.#endDropping();
    this.#backlog.push(payload);
    if (this.#isGoing) return;
    this.#isGoing = true;
    // After what the commit has set off: whoever reads the stream comes first.
    setImmediate(() => void this.#go());
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    if (!this.#isGoing) return Promise.resolve();
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }

  /** What waits is dropped; what is being told is not waited for. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const waiting = this.#backlog.length - this.#head;
    this.#dropped += waiting;
    this.#droppedNow += waiting;
    this.#backlog = [];
    this.#head = 0;
    if (this.#droppedNow > 0) this.#endDropping();
  }

  /** Tells the callback, and resolves when it is done, or has been waited for long enough. Never rejects. */
  deliver(payload: CallbackPayload, signal?: AbortSignal): Promise<void> {
    const { type } = payload;
    let answer: unknown;
    try {
      answer = this.#callback.onEvent(type, copyJson(payload));
      if (!isThenable(answer)) return Promise.resolve();
    } catch (error) {
      this.#fail(type, error);
      return Promise.resolve();
    }
    return this.#wait(type, answer, signal);
  }

  #wait(type: string, answer: PromiseLike<unknown>, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wait: Wait = {
        type,
        end: () => {
          if (this.#waiting !== wait) return;
          this.#waiting = undefined;
          signal?.removeEventListener("abort", wait.end);
          resolve();
        },
      };
      this.#waiting = wait;
      this.#watch();
      signal?.addEventListener("abort", wait.end, { once: true });
      if (signal?.aborted === true) wait.end();
      Promise.resolve(answer).then(wait.end, (error: unknown) => {
        this.#fail(type, error);
        wait.end();
      });
    });
  }

  /** One timer for all events: to begin anew with an old one costs less than to make one. */
  #watch(): void {
    if (this.#timer !== undefined) {
      this.#timer.refresh();
      return;
    }
    const { timeoutMs } = this.#options;
    this.#timer = setTimeout(() => {
      if (this.#waiting === undefined) return;
      const { type, end } = this.#waiting;
      const message = `${this.#name} was told ${type} and took longer than ${timeoutMs} ms`;
      this.#report(new LoomError("callback_timeout", message, { event: type, limit: timeoutMs }));
      end();
    }, timeoutMs);
    // A program that has nothing else to do does not stay for a callback that hangs.
    this.#timer.unref();
  }

  async #go(): Promise<void> {
    const takeTurns = createTurns();
    for (let payload = this.#next(); payload !== undefined; payload = this.#next()) {
      await this.deliver(payload);
      await takeTurns();
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isGoing = false;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  #next(): CallbackPayload | undefined {
    const payload = this.#backlog[this.#head];
    if (payload === undefined) {
      this.#backlog = [];
      this.#head = 0;
      return undefined;
    }
    this.#head++;
    if (this.#head >= MAX_SPENT) {
      this.#backlog = this.#backlog.slice(this.#head);
      this.#head = 0;
    }
    return payload;
  }

  #drop(): void {
    this.#dropped++;
    this.#droppedNow++;
    if (this.#droppedNow > 1) return;
    const { maxBacklog } = this.#options;
    const message = `${this.#name} is behind by ${maxBacklog} events: it is told no more until it has caught up`;
    this.#report(new LoomError("callback_backlog_full", message, { limit: maxBacklog }));
  }

  #endDropping(): void {
    const dropped = this.#droppedNow;
    this.#droppedNow = 0;
    const message = `${this.#name} was not told ${dropped} events`;
    this.#report(new LoomError("callback_backlog_full", message, { dropped }));
  }

  #fail(type: string, cause: unknown): void {
    const message = `${this.#name} failed when it was told ${type}`;
    this.#report(new LoomError("callback_failed", message, { event: type }, { cause }));
  }

  #report(error: LoomError): void {
    try {
      this.#options.report(error);
    } catch {
      // Whoever is told of errors has none of its own to tell.
    }
  }

  get #name(): string {
    const { name } = this.#callback.constructor ?? {};
    return name === undefined || name === "" || name === "Object" ? "a callback" : `the callback ${name}`;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === "object" || typeof value === "function") &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === "function"
  );
}
