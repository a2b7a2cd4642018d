/**
 * One callback and what waits for it: a bounded backlog, told in order, one at a time, never inside the commit. Whatever
 * the callback does stays here: it may throw, reject, hang, or take its time, and is only spoken of.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { createTurns } from "../../log/follow-records.ts";
import { LoomError } from "../../protocol/index.ts";
import { isThenable, settle, shield } from "../shield.ts";
import { Backlog } from "./backlog.ts";
import type { Callback, CallbackPayload } from "./callback.ts";
import { copyJson } from "./copy-json.ts";

/** Calls a function in an asynchronous context that was kept. */
export type InContext = <R>(call: () => R) => R;

export interface LaneOptions {
  readonly maxBacklog: number;
  readonly maxBacklogBytes: number;
  /** `Infinity`: it is waited for as long as it takes. */
  readonly timeoutMs: number;
  readonly textDelta: boolean;
  /** Somebody waits for the callback: the process must not end before its time is up. */
  readonly isAwaited: boolean;
  report(error: LoomError): void;
}

interface Waiting {
  readonly payload: CallbackPayload;
  readonly inContext: InContext;
}

/** The callback is being told this event. */
interface Telling {
  readonly lane: CallbackLane;
  readonly type: string;
  isOver: boolean;
  end: () => void;
}

/** What a callback does, it does while it is told something: whoever waits for it there would wait for itself. */
const TELLING = new AsyncLocalStorage<Telling>();

export class CallbackLane {
  readonly wantsText: boolean;
  readonly #callback: Callback;
  readonly #options: LaneOptions;
  readonly #backlog: Backlog<Waiting>;
  readonly #name: string;
  #isGoing = false;
  #isClosed = false;
  #dropped = 0;
  /** Dropped since it last had caught up. */
  #droppedNow = 0;
  #idle: PromiseWithResolvers<void> | undefined;
  #telling: Telling | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(callback: Callback, options: LaneOptions) {
    this.#callback = callback;
    this.#options = options;
    this.wantsText = callback.textDelta ?? options.textDelta;
    this.#backlog = new Backlog(options.maxBacklog, options.maxBacklogBytes);
    this.#name = describe(callback);
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Whether it is the callback that asks, while it is told something. */
  get isTelling(): boolean {
    const telling = TELLING.getStore();
    return telling?.lane === this && !telling.isOver;
  }

  push(payload: CallbackPayload, inContext: InContext): void {
    const isText = payload.type === "text_delta";
    if (this.#isClosed || (isText && !this.wantsText)) return;
    // Text makes room for what tells how the run goes.
    const dropped = this.#backlog.push({ payload, inContext }, { bytes: estimateBytes(payload), canGo: isText });
    if (dropped > 0) this.#drop(dropped);
    if (this.#isGoing) return;
    this.#isGoing = true;
    // After what the commit has set off: whoever reads the stream comes first.
    setImmediate(() => void this.#go());
  }

  /** Resolves when nothing waits any more; at once for the callback itself, who would wait for its own end. */
  idle(): Promise<void> {
    if (!this.#isGoing || this.isTelling) return Promise.resolve();
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }

  /** What waits is dropped; what is being told is not waited for. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const waiting = this.#backlog.clear();
    this.#dropped += waiting;
    this.#droppedNow += waiting;
    this.#endDropping();
    if (this.#options.isAwaited) this.#stopTimer();
  }

  /** Tells the callback, and resolves when it is done, or has been waited for long enough. Never rejects. */
  deliver({ payload, inContext }: Waiting, signal?: AbortSignal): Promise<void> {
    const { type } = payload;
    const telling: Telling = { lane: this, type, isOver: false, end: () => undefined };
    try {
      const copy = copyJson(payload);
      const answer = inContext(() => TELLING.run(telling, () => this.#callback.onEvent(type, copy)));
      if (isThenable(answer)) return this.#wait(telling, answer, signal);
    } catch (error) {
      this.#fail(type, error);
    }
    telling.isOver = true;
    return Promise.resolve();
  }

  #wait(telling: Telling, answer: PromiseLike<unknown>, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      telling.end = () => {
        if (telling.isOver) return;
        telling.isOver = true;
        this.#telling = undefined;
        signal?.removeEventListener("abort", telling.end);
        resolve();
      };
      this.#telling = telling;
      this.#watch();
      signal?.addEventListener("abort", telling.end, { once: true });
      if (signal?.aborted === true) telling.end();
      settle(answer).then(telling.end, (error: unknown) => {
        this.#fail(telling.type, error);
        telling.end();
      });
    });
  }

  /** One timer for all events: to begin anew with an old one costs less than to make one. */
  #watch(): void {
    const { timeoutMs, isAwaited } = this.#options;
    if (this.#timer !== undefined) this.#timer.refresh();
    if (this.#timer !== undefined || timeoutMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => {
      if (this.#telling === undefined) return;
      const { type, end } = this.#telling;
      const message = `${this.#name} was told ${type} and took longer than ${timeoutMs} ms`;
      this.#report(new LoomError("callback_timeout", message, { event: type, limit: timeoutMs }));
      end();
    }, timeoutMs);
    // A program that has nothing else to do does not stay for a callback that hangs.
    if (!isAwaited) this.#timer.unref();
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #go(): Promise<void> {
    const takeTurns = createTurns();
    for (let next = this.#backlog.shift(); next !== undefined; next = this.#backlog.shift()) {
      await this.deliver(next);
      await takeTurns();
    }
    this.#stopTimer();
    this.#isGoing = false;
    this.#endDropping();
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  #drop(count: number): void {
    const isFirst = this.#droppedNow === 0;
    this.#dropped += count;
    this.#droppedNow += count;
    if (!isFirst) return;
    const { maxBacklog, maxBacklogBytes } = this.#options;
    const message = `${this.#name} is behind by ${maxBacklog} events or ${maxBacklogBytes} bytes: some are dropped`;
    this.#report(new LoomError("callback_backlog_full", message, { limit: maxBacklog, limit_bytes: maxBacklogBytes }));
  }

  #endDropping(): void {
    const dropped = this.#droppedNow;
    if (dropped === 0) return;
    this.#droppedNow = 0;
    const message = `${this.#name} was not told ${dropped} events`;
    this.#report(new LoomError("callback_backlog_full", message, { dropped }));
  }

  #fail(type: string, cause: unknown): void {
    const message = `${this.#name} failed when it was told ${type}`;
    this.#report(new LoomError("callback_failed", message, { event: type }, { cause }));
  }

  #report(error: LoomError): void {
    shield(
      () => this.#options.report(error),
      () => undefined,
    );
  }
}

function describe(callback: Callback): string {
  const name = shield(
    () => callback.constructor?.name,
    () => undefined,
  );
  return typeof name !== "string" || name === "" || name === "Object" ? "a callback" : `the callback ${name}`;
}

/** What an event costs beside its texts. */
const EVENT_BYTES = 200;

/** Roughly, and quick; the context is the same for all events of a run. */
function estimateBytes(payload: CallbackPayload): number {
  let bytes = EVENT_BYTES;
  for (const value of Object.values(payload) as readonly unknown[])
    if (typeof value === "string") bytes += value.length * 2;
  if (payload.type === "tool_calls_start")
    for (const { id, name } of payload.tool_calls) bytes += EVENT_BYTES + (id.length + name.length) * 2;
  return bytes;
}
