/**
 * Delivers events to one callback from a bounded backlog: in order, one at a time, and never during a commit. A
 * callback that throws, rejects, hangs or is slow affects nothing else; it is only reported.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { createLoopYield } from "../../log/follow-records.ts";
import { LoomError } from "../../protocol/index.ts";
import { isThenable, toPromise, shield } from "../shield.ts";
import { Backlog } from "./backlog.ts";
import { type AnyCallback, callCallback, type CallbackPayload } from "./callback.ts";

/** Runs a function in a captured asynchronous context. */
export type InContext = <R>(call: () => R) => R;

export interface CallbackQueueOptions {
  readonly maxBacklog: number;
  readonly maxBacklogBytes: number;
  /** Milliseconds; `Infinity` disables the timeout. */
  readonly timeoutMs: number;
  /** Default for callbacks that do not set `textDelta`. */
  readonly textDelta: boolean;
  /** The caller waits for deliveries, so a pending timeout keeps the process alive. */
  readonly isAwaited: boolean;
  report(error: LoomError): void;
}

interface QueuedPayload {
  readonly payload: CallbackPayload;
  /** Position in the order of all events of this queue. */
  readonly position?: number;
  readonly inContext: InContext;
}

/** A running call of the callback. */
interface Delivery {
  readonly queue: CallbackQueue;
  readonly type: string;
  isOver: boolean;
  end: () => void;
}

/** Identifies calls made from inside the callback, which must not wait for the callback to finish. */
const CURRENT_DELIVERY = new AsyncLocalStorage<Delivery>();

export class CallbackQueue {
  readonly wantsText: boolean;
  readonly #callback: AnyCallback;
  readonly #options: CallbackQueueOptions;
  readonly #backlog: Backlog<QueuedPayload>;
  readonly #name: string;
  #isDraining = false;
  #isClosed = false;
  #dropped = 0;
  /** Events dropped and not yet reported. */
  #unreportedDrops = 0;
  /** Position of the last event that was queued, and callers that wait for the delivery of a position. */
  #lastPosition = 0;
  readonly #waiting = new Set<{ readonly position: number; readonly resolve: () => void }>();
  #delivery: Delivery | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(callback: AnyCallback, options: CallbackQueueOptions) {
    this.#callback = callback;
    this.#options = options;
    this.wantsText = callback.textDelta ?? options.textDelta;
    this.#backlog = new Backlog(options.maxBacklog, options.maxBacklogBytes);
    this.#name = describe(callback);
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Whether the current code runs inside this callback. */
  get isInsideCallback(): boolean {
    const delivery = CURRENT_DELIVERY.getStore();
    return delivery?.queue === this && !delivery.isOver;
  }

  push(payload: CallbackPayload, inContext: InContext): void {
    const isText = payload.type === "text_delta";
    if (this.#isClosed || (isText && !this.wantsText)) return;
    // Text is dropped before other events.
    const queued = { payload, inContext, position: ++this.#lastPosition };
    const dropped = this.#backlog.push(queued, { bytes: estimateBytes(payload), canGo: isText });
    if (dropped > 0) this.#drop(dropped);
    if (this.#isDraining) return;
    this.#isDraining = true;
    // Runs after everything the commit has triggered, so that stream readers come first.
    setImmediate(() => void this.#drain());
  }

  /**
   * Resolves when the callback has handled all events that are queued now. Resolves immediately inside the callback,
   * which would wait for itself.
   */
  delivered(): Promise<void> {
    if (!this.#isDraining || this.isInsideCallback) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add({ position: this.#lastPosition, resolve }));
  }

  /** Wakes the callers that wait for this position or an earlier one. */
  #settle(delivered: number): void {
    for (const waiter of this.#waiting) {
      if (waiter.position > delivered) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  /** Drops all queued events. Does not wait for a running call. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const waiting = this.#backlog.clear();
    this.#dropped += waiting;
    this.#unreportedDrops += waiting;
    this.#reportDropped();
    if (this.#options.isAwaited) this.#stopTimer();
  }

  /** Calls the callback. Resolves when it is done, timed out or aborted. Never rejects. */
  deliver({ payload, inContext }: QueuedPayload, signal?: AbortSignal): Promise<void> {
    const { type } = payload;
    const delivery: Delivery = { queue: this, type, isOver: false, end: () => undefined };
    try {
      const copy = copyDeep(payload);
      const answer = inContext(() => CURRENT_DELIVERY.run(delivery, () => callCallback(this.#callback, type, copy)));
      if (isThenable(answer)) return this.#wait(delivery, answer, signal);
    } catch (error) {
      this.#fail(type, error);
    }
    delivery.isOver = true;
    return Promise.resolve();
  }

  #wait(delivery: Delivery, answer: PromiseLike<unknown>, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      delivery.end = () => {
        if (delivery.isOver) return;
        delivery.isOver = true;
        this.#delivery = undefined;
        signal?.removeEventListener("abort", delivery.end);
        resolve();
      };
      this.#delivery = delivery;
      this.#watch();
      signal?.addEventListener("abort", delivery.end, { once: true });
      if (signal?.aborted === true) delivery.end();
      toPromise(answer).then(delivery.end, (error: unknown) => {
        this.#fail(delivery.type, error);
        delivery.end();
      });
    });
  }

  /** One timer for all events: refreshing it is cheaper than creating one per event. */
  #watch(): void {
    const { timeoutMs, isAwaited } = this.#options;
    if (this.#timer !== undefined) this.#timer.refresh();
    if (this.#timer !== undefined || timeoutMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => {
      if (this.#delivery === undefined) return;
      const { type, end } = this.#delivery;
      const message = `${this.#name} took longer than ${timeoutMs} ms to handle ${type}`;
      this.#report(new LoomError("callback_timeout", message, { event: type, limit: timeoutMs }));
      end();
    }, timeoutMs);
    // A hanging callback must not keep an otherwise idle process alive.
    if (!isAwaited) this.#timer.unref();
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #drain(): Promise<void> {
    const yieldToLoop = createLoopYield();
    for (let next = this.#backlog.shift(); next !== undefined; next = this.#backlog.shift()) {
      await this.deliver(next);
      this.#settle(next.position ?? 0);
      await yieldToLoop();
    }
    this.#stopTimer();
    this.#isDraining = false;
    this.#reportDropped();
    this.#settle(Number.POSITIVE_INFINITY);
  }

  #drop(count: number): void {
    const isFirst = this.#unreportedDrops === 0;
    this.#dropped += count;
    this.#unreportedDrops += count;
    if (!isFirst) return;
    const { maxBacklog, maxBacklogBytes } = this.#options;
    const message = `${this.#name} is too slow: its backlog of ${maxBacklog} events or ${maxBacklogBytes} bytes is full, and events are being dropped`;
    this.#report(new LoomError("callback_backlog_full", message, { limit: maxBacklog, limit_bytes: maxBacklogBytes }));
  }

  #reportDropped(): void {
    const dropped = this.#unreportedDrops;
    if (dropped === 0) return;
    this.#unreportedDrops = 0;
    const message = `${this.#name} missed ${dropped} events because its backlog was full or closed`;
    this.#report(new LoomError("callback_backlog_full", message, { dropped }));
  }

  #fail(type: string, cause: unknown): void {
    const message = `${this.#name} failed to handle ${type}`;
    this.#report(new LoomError("callback_failed", message, { event: type }, { cause }));
  }

  #report(error: LoomError): void {
    shield(
      () => this.#options.report(error),
      () => undefined,
    );
  }
}

function describe(callback: AnyCallback): string {
  const name = shield(
    () => callback.constructor?.name,
    () => undefined,
  );
  return typeof name !== "string" || name === "" || name === "Object" ? "A callback" : `The callback ${name}`;
}

/** Estimated size of an event without its texts. */
const EVENT_BYTES = 200;

/** A fast estimate. The context is not counted, because all events of a run share it. */
function estimateBytes(payload: CallbackPayload): number {
  let bytes = EVENT_BYTES;
  for (const value of Object.values(payload) as readonly unknown[])
    if (typeof value === "string") bytes += value.length * 2;
  if (payload.type === "tool_calls_start")
    for (const { id, name } of payload.tool_calls) bytes += EVENT_BYTES + (id.length + name.length) * 2;
  return bytes;
}

/** Copies a JSON value several times faster than writing and parsing it: every callback gets a copy of every event. */
function copyDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => copyDeep(item)) as T;
  const copy: { [name: string]: unknown } = { ...(value as object) };
  for (const name of Object.keys(copy)) if (typeof copy[name] === "object") copy[name] = copyDeep(copy[name]);
  return copy as T;
}
