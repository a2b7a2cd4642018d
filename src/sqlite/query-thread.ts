/**
 * Sends queries to a thread that reads a database (`serveQueries`), one at a time in order of arrival, so that a slow
 * query does not block the event loop. The thread starts with the first query.
 *
 * Invariants: a query is answered or rejected; the number of waiting queries and the time of each are limited. A query
 * that takes too long ends with its thread, and the next one gets a new thread. SQLite cannot be interrupted, so a
 * terminated thread may need a moment to stop; at most one is stopping at any time.
 */
import { Worker } from "node:worker_threads";
import { limitTimer } from "../protocol/limit-timer.ts";
import { fromPlainError, LoomError, type PlainError } from "../protocol/loom-error.ts";

/** The messages of the thread: it is ready, then one answer per query. */
export type QueryAnswer = "ready" | { readonly value: unknown } | { readonly error: PlainError };

interface QueryThreadOptions {
  /** The module of the thread, which calls `serveQueries`. */
  readonly thread: URL;
  /** The `workerData` of the thread. */
  readonly data: unknown;
  /** How long a query may run, and how long it may wait, in milliseconds. More throw `search_timeout`. */
  readonly timeoutMs: number;
  /** Maximum number of waiting queries. More throw `too_many_searches`. */
  readonly maxWaiting: number;
}

/** How long a query may run after its caller has gone, in milliseconds. */
const ABANDONED_MS = 200;

interface WaitingQuery {
  readonly query: unknown;
  readonly askedAt: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

export class QueryThread {
  readonly #options: QueryThreadOptions;
  #worker: Worker | undefined;
  #isReady = false;
  #current: WaitingQuery | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #waiting = new Set<WaitingQuery>();
  /** Resolves when all terminated threads have stopped. */
  #stopping: Promise<unknown> | undefined;
  #isClosed = false;

  constructor(options: QueryThreadOptions) {
    this.#options = options;
  }

  /** Returns the answer of the thread. Rejects with the reason of the signal if it aborts first. */
  async ask<T>(query: unknown, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const { maxWaiting } = this.#options;
    if (this.#isClosed) throw closed();
    if (this.#waiting.size >= maxWaiting)
      throw new LoomError("too_many_searches", "Too many searches are waiting; try again later", { limit: maxWaiting });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const asked: WaitingQuery = { query, askedAt: performance.now(), resolve, reject };
    const abandon = (): void => this.#abandon(asked, signal?.reason);
    signal?.addEventListener("abort", abandon, { once: true });
    this.#waiting.add(asked);
    this.#next();
    try {
      return (await promise) as T;
    } finally {
      signal?.removeEventListener("abort", abandon);
    }
  }

  /** Rejects all queries and resolves when the thread has stopped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waiting) reject(closed());
    this.#waiting.clear();
    if (this.#current !== undefined) this.#stop(closed());
    const worker = this.#worker;
    this.#worker = undefined;
    if (worker !== undefined) {
      const exited = new Promise((resolve) => worker.once("exit", resolve));
      // The thread closes its connection.
      worker.ref();
      worker.postMessage("close");
      await exited;
    }
    await this.#stopping;
  }

  #next(): void {
    if (this.#current !== undefined || this.#isClosed) return;
    const { timeoutMs } = this.#options;
    for (const asked of this.#waiting) {
      this.#waiting.delete(asked);
      if (performance.now() - asked.askedAt > timeoutMs) {
        asked.reject(timedOut(timeoutMs));
        continue;
      }
      this.#current = asked;
      this.#worker ??= this.#start();
      // A pending query keeps the process alive; an idle thread does not.
      this.#worker.ref();
      if (this.#isReady) this.#send();
      return;
    }
    this.#worker?.unref();
  }

  /** The time that the thread needs to start is not part of the time of the query. */
  #send(): void {
    const { timeoutMs } = this.#options;
    try {
      this.#worker?.postMessage(this.#current?.query);
      this.#timer = setTimeout(() => this.#stop(timedOut(timeoutMs)), limitTimer(timeoutMs));
    } catch (error) {
      this.#settle((asked) => asked.reject(error));
    }
  }

  #settle(settle: (asked: WaitingQuery) => void): void {
    const asked = this.#current;
    this.#clearTimer();
    this.#current = undefined;
    if (asked !== undefined) settle(asked);
    this.#next();
  }

  #clearTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Rejects the current query, terminates its thread and continues with another one. */
  #stop(reason: unknown): void {
    const worker = this.#worker;
    this.#worker = undefined;
    const asked = this.#current;
    this.#clearTimer();
    asked?.reject(reason);
    const earlier = this.#stopping;
    this.#stopping = Promise.all([earlier, worker?.terminate()]);
    void Promise.resolve(earlier).then(() => {
      if (this.#current === asked) this.#settle(() => undefined);
    });
  }

  /** Rejects a query at once. If it is running, it gets a moment to finish, which costs less than a new thread. */
  #abandon(asked: WaitingQuery, reason: unknown): void {
    this.#waiting.delete(asked);
    asked.reject(reason);
    if (this.#current !== asked || this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#stop(reason), ABANDONED_MS);
  }

  #start(): Worker {
    const worker = new Worker(this.#options.thread, { workerData: this.#options.data });
    this.#isReady = false;
    worker.on("message", (answer: QueryAnswer) => {
      if (worker !== this.#worker) return;
      if (answer === "ready") {
        this.#isReady = true;
        if (this.#current !== undefined) this.#send();
      } else if ("error" in answer) this.#settle((asked) => asked.reject(fromPlainError(answer.error)));
      else this.#settle((asked) => asked.resolve(answer.value));
    });
    const fail = (reason: string): void => {
      if (worker !== this.#worker) return;
      this.#worker = undefined;
      this.#settle((asked) => asked.reject(new LoomError("store_failed", `The search thread failed: ${reason}`)));
    };
    worker.on("error", (error) => fail(error instanceof Error ? error.message : String(error)));
    worker.on("exit", () => fail("it exited"));
    return worker;
  }
}

function closed(): LoomError {
  return new LoomError("store_closed", "The store is closed");
}

function timedOut(timeoutMs: number): LoomError {
  return new LoomError("search_timeout", "The search took too long; use rarer or longer words, or try again later", {
    limit: timeoutMs,
  });
}
