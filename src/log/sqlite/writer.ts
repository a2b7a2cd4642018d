/**
 * The writing thread as seen from the others: operations go in one by one and gather while a group is being committed,
 * so that one sync serves many writers. Each is answered when it is durable, or with the reason why it is not.
 */
import { Worker } from "node:worker_threads";
import { LoomError } from "../../protocol/index.ts";
import type { ConnectionOptions } from "./connection.ts";
import { fromPlainError } from "./failure.ts";
import { type Answer, type Operation, packGroup, type Result } from "./operations.ts";

/** What the thread is told when it starts. */
export interface WriterData {
  readonly path: string;
  /** Which file it is, see `assertFile`. */
  readonly file: string;
  readonly options: ConnectionOptions;
}

interface Waiting {
  readonly operation: Operation;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Groups on their way at once: while one is being committed, the next is there already. */
const MAX_GROUPS = 2;
/** Operations from which a group is worth splitting when nothing is on its way. */
const MIN_SPLIT = 32;
/** Operations of one transaction, and roughly their bytes: a group must not keep the others waiting for long. */
const MAX_GROUP = 2000;
const MAX_GROUP_LENGTH = 8 * 1024 * 1024;

// In a checkout the source itself runs, in the package what was built from it.
const THREAD = new URL(`./writer-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export class Writer {
  readonly #start: () => Worker;
  /** Started by the first who writes: one who only reads needs none. */
  #worker: Worker | undefined;
  #queue: Waiting[] = [];
  #queuedLength = 0;
  readonly #maxQueueBytes: number;
  /** Groups on their way, oldest first. */
  readonly #sent: (readonly Waiting[])[] = [];
  #news: "own" | "others" | undefined;
  #failure: LoomError | undefined;
  #closing: { readonly done: Promise<void>; resolve(): void } | undefined;

  constructor(data: WriterData) {
    this.#maxQueueBytes = data.options.maxQueueBytes;
    this.#start = () => {
      const worker = new Worker(THREAD, { workerData: data });
      worker.on("message", (answer: Answer) => this.#settle(answer));
      worker.on("error", (error) => this.#fail(error instanceof Error ? error.message : String(error)));
      worker.on("exit", () => {
        this.#fail("it ended");
        this.#closing?.resolve();
      });
      return worker;
    };
  }

  write<T>(operation: Operation): Promise<T> {
    return new Promise<unknown>((resolve, reject) => {
      const length = lengthOf(operation);
      if (this.#failure !== undefined || this.#closing !== undefined) {
        reject(this.#failure ?? new LoomError("store_closed", "the log was closed"));
        return;
      }
      if (this.#queuedLength + length > this.#maxQueueBytes) {
        reject(new LoomError("backlog_full", "more waits for the disk than may", { limit: this.#maxQueueBytes }));
        return;
      }
      this.#queuedLength += length;
      this.#queue.push({ operation, resolve, reject });
      // Those who write in the same tick share a transaction.
      if (this.#queue.length === 1) queueMicrotask(() => this.#send());
    }) as Promise<T>;
  }

  /** Who has written since this was last asked, as far as groups have shown; undefined when there was no group. */
  takeNews(): "own" | "others" | undefined {
    const news = this.#news;
    this.#news = undefined;
    return news;
  }

  /** It has written: not all changes are those of others. */
  get isStarted(): boolean {
    return this.#worker !== undefined;
  }

  /** A group is on its way. */
  get isBusy(): boolean {
    return this.#sent.length > 0;
  }

  /** Resolves when all that was asked for is done and the thread has ended. */
  async close(): Promise<void> {
    if (this.#closing === undefined) {
      const { promise: done, resolve } = Promise.withResolvers<void>();
      this.#closing = { done, resolve };
      if (this.#failure !== undefined || (this.#worker === undefined && this.#queue.length === 0)) resolve();
      this.#worker?.ref();
      this.#send();
    }
    await this.#closing.done;
  }

  #send(): void {
    if (this.#sent.length >= MAX_GROUPS) return;
    if (this.#queue.length === 0) {
      if (this.#closing !== undefined && this.#sent.length === 0) this.#worker?.postMessage("close");
      return;
    }
    const most = this.#findGroupEnd();
    // Two halves keep both threads busy; one whole would keep each waiting for the other.
    const isSplit = this.#sent.length === 0 && most >= MIN_SPLIT;
    const end = isSplit ? Math.ceil(most / 2) : most;
    const group = this.#queue.slice(0, end);
    this.#queue = this.#queue.slice(end);
    for (const { operation } of group) this.#queuedLength -= lengthOf(operation);
    this.#sent.push(group);
    // What waits for the disk keeps the process alive.
    this.#worker ??= this.#start();
    this.#worker.ref();
    try {
      this.#worker.postMessage(packGroup(group.map(({ operation }) => operation)));
    } catch (error) {
      // Something in it cannot go to another thread: nobody has seen the group. The others in it go again.
      this.#sent.pop();
      const [unsendable, others] = partition(group, ({ operation }) => isSendable(operation));
      const [bad, good] = unsendable.length === 0 ? [others, []] : [unsendable, others];
      for (const { operation } of good) this.#queuedLength += lengthOf(operation);
      this.#queue = [...good, ...this.#queue];
      const failure = new LoomError("store_failed", "an argument cannot be sent to the store", {}, { cause: error });
      for (const waiting of bad) waiting.reject(failure);
      this.#send();
      return;
    }
    if (isSplit) this.#send();
  }

  #findGroupEnd(): number {
    let length = 0;
    let end = 0;
    for (const { operation } of this.#queue) {
      length += lengthOf(operation);
      if (end > 0 && (end >= MAX_GROUP || length > MAX_GROUP_LENGTH)) break;
      end++;
    }
    return end;
  }

  #settle({ results, isNews }: Answer): void {
    this.#news = isNews || this.#news === "others" ? "others" : "own";
    const group = this.#sent.shift() ?? [];
    for (const [index, waiting] of group.entries()) settleOne(waiting, results === null ? null : results[index]);
    this.#send();
    if (this.#sent.length === 0 && this.#closing === undefined) this.#worker?.unref();
  }

  #fail(reason: string): void {
    this.#failure ??=
      this.#closing === undefined
        ? new LoomError("store_failed", `the thread that writes the store failed: ${reason}`)
        : new LoomError("store_closed", "the log was closed");
    const failed = [...this.#sent.flat(), ...this.#queue];
    this.#sent.length = 0;
    this.#queue = [];
    this.#queuedLength = 0;
    for (const { reject } of failed) reject(this.#failure);
  }
}

function isSendable(operation: Operation): boolean {
  try {
    structuredClone(operation);
    return true;
  } catch {
    return false;
  }
}

/** Those it is not true of, and those it is. */
function partition<T>(items: readonly T[], isTrue: (item: T) => boolean): readonly [readonly T[], readonly T[]] {
  const { no = [], yes = [] } = Object.groupBy(items, (item) => (isTrue(item) ? "yes" : "no"));
  return [no, yes];
}

/** Roughly its bytes. */
function lengthOf(operation: Operation): number {
  if (operation.do === "append") return operation.text.length;
  return operation.do === "create" ? (operation.records?.text.length ?? 0) : 0;
}

function settleOne(waiting: Waiting, result: Result | undefined): void {
  if (result === undefined) waiting.reject(new LoomError("store_failed", "the store gave no answer"));
  else if (result === null) waiting.resolve(undefined);
  else if ("error" in result) waiting.reject(fromPlainError(result.error));
  else waiting.resolve(result.value);
}
