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
import { SearchQueue, searchTimedOut } from "../protocol/search-queue.ts";

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

/** How long a query may run after its caller has gone, in milliseconds: less than a new thread costs. */
const ABANDONED_MS = 200;

export class QueryThread {
  readonly #options: QueryThreadOptions;
  readonly #queue: SearchQueue;
  readonly #closing = new AbortController();
  #worker: Worker | undefined;
  /** Waits for the next message of the thread. */
  #receiver: PromiseWithResolvers<QueryAnswer> | undefined;
  /** Resolves when all terminated threads have stopped, and when all but the last have. */
  #stopping: Promise<unknown> | undefined;
  #stoppingBefore: Promise<unknown> | undefined;

  constructor(options: QueryThreadOptions) {
    this.#options = options;
    this.#queue = new SearchQueue({ ...options, maxRunning: 1 });
  }

  /** Returns the answer of the thread. Rejects with the reason of the signal if it aborts first. */
  async ask<T>(query: unknown, signal?: AbortSignal): Promise<T> {
    const closing = this.#closing.signal;
    const stopped = signal === undefined ? closing : AbortSignal.any([closing, signal]);
    return this.#queue.run(async () => (await this.#run(query, stopped)) as T, stopped);
  }

  /** Rejects all queries and resolves when the thread has stopped. */
  async close(): Promise<void> {
    const closed = new LoomError("store_closed", "The store is closed");
    this.#closing.abort(closed);
    if (this.#receiver !== undefined) this.#stop(closed);
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

  async #run(query: unknown, signal: AbortSignal): Promise<unknown> {
    await this.#stoppingBefore;
    signal.throwIfAborted();
    let timer: NodeJS.Timeout | undefined;
    const stopAfter = (ms: number, reason: unknown): void => {
      clearTimeout(timer);
      timer = setTimeout(() => this.#stop(reason), ms);
    };
    const abandon = (): void => stopAfter(ABANDONED_MS, signal.reason);
    try {
      if (this.#worker === undefined) await this.#start();
      // A running query keeps the process alive; an idle thread does not.
      this.#worker?.ref();
      this.#worker?.postMessage(query);
      const { timeoutMs } = this.#options;
      // The time that the thread needs to start is not part of the time of the query.
      stopAfter(limitTimer(timeoutMs), searchTimedOut(timeoutMs));
      signal.addEventListener("abort", abandon, { once: true });
      const answer = await this.#receive();
      if (typeof answer === "object" && "error" in answer) throw fromPlainError(answer.error);
      return typeof answer === "object" ? answer.value : undefined;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abandon);
      this.#worker?.unref();
    }
  }

  /** Resolves when the thread is ready. */
  async #start(): Promise<void> {
    const worker = new Worker(this.#options.thread, { workerData: this.#options.data });
    this.#worker = worker;
    worker.on("message", (answer: QueryAnswer) => {
      if (worker === this.#worker) this.#receiver?.resolve(answer);
    });
    const fail = (reason: string): void => {
      if (worker !== this.#worker) return;
      this.#worker = undefined;
      this.#receiver?.reject(new LoomError("store_failed", `The search thread failed: ${reason}`));
    };
    worker.on("error", (error) => fail(error instanceof Error ? error.message : String(error)));
    worker.on("exit", () => fail("it exited"));
    await this.#receive();
  }

  async #receive(): Promise<QueryAnswer> {
    this.#receiver = Promise.withResolvers();
    try {
      return await this.#receiver.promise;
    } finally {
      this.#receiver = undefined;
    }
  }

  /** Rejects the running query and terminates its thread. */
  #stop(reason: unknown): void {
    const worker = this.#worker;
    this.#worker = undefined;
    this.#stoppingBefore = this.#stopping;
    this.#stopping = Promise.all([this.#stopping, worker?.terminate()]);
    this.#receiver?.reject(reason);
  }
}
