/**
 * Sends operations to a thread that writes a database (`serveGroups`). Operations are queued while a group is committed,
 * so that one sync serves many callers. Each is answered when it is durable, or with an error. A thread that ends is
 * started again; after `MAX_RESTARTS` in a row the writer fails for good.
 */
import { Worker } from "node:worker_threads";
import { fromPlainError, LoomError, type PlainError } from "../protocol/loom-error.ts";

/** Null for success without a value, a value, or an error. */
export type OperationResult = null | { readonly value: unknown } | { readonly error: PlainError };

/** The answer of the thread to a group. */
export interface GroupResult {
  /** Null if all operations succeeded without a value. */
  readonly results: readonly OperationResult[] | null;
  /** The error of the store, if the transaction of the group, or of one of its operations, failed. */
  readonly failure?: PlainError | undefined;
}

/** What a writer has not stored yet. */
export interface WriterLoad {
  /** Operations in the queue, and their approximate size in bytes. */
  readonly queuedOperations: number;
  readonly queuedBytes: number;
  /** Groups sent to the thread and not answered. */
  readonly sentGroups: number;
  /** Restarts of the thread since the log was opened. */
  readonly restarts: number;
}

interface GroupWriterOptions<Operation> {
  /** The module of the thread, which calls `serveGroups`. */
  readonly thread: URL;
  /** The `workerData` of the thread. */
  readonly data: unknown;
  /** Maximum size of the queue in bytes. More throw `backlog_full`. */
  readonly maxQueueBytes: number;
  /** Returns the approximate size of an operation in bytes. */
  readonly lengthOf: (operation: Operation) => number;
  /** Converts a group to a message that the thread unpacks. Groups are answered in order. */
  readonly pack: (operations: readonly Operation[]) => unknown;
  /**
   * Whether an operation that may already be stored can be sent again with the same result. It is sent again once if the
   * thread ends before its answer. Others fail with `store_failed`.
   */
  readonly isRepeatable: (operation: Operation) => boolean;
  /** Called when a group was not stored, or the thread ended. `writer_failed` is the last call. */
  readonly onFailure?: ((error: LoomError) => void) | undefined;
}

interface QueuedOperation<Operation> {
  readonly operation: Operation;
  /** Sent to a thread that ended before its answer. */
  isRepeated?: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Groups sent at the same time: the next one is ready while the first is committed. */
const MAX_GROUPS = 2;
/** Smallest group that is split in two when the thread is idle. */
const MIN_SPLIT = 32;
/** Maximum size of a group in operations and approximate bytes, so that a transaction does not delay others for long. */
const MAX_GROUP = 2000;
const MAX_GROUP_LENGTH = 8 * 1024 * 1024;
/** Restarts of the thread without an answer in between, and the delay before the second; it doubles with each. */
const MAX_RESTARTS = 5;
const RESTART_MS = 50;

export class GroupWriter<Operation> {
  readonly #options: GroupWriterOptions<Operation>;
  /** Started with the first write; a process that only reads needs no thread. */
  #worker: Worker | undefined;
  #queue: QueuedOperation<Operation>[] = [];
  #queuedLength = 0;
  /** Groups sent and not answered, oldest first. */
  readonly #sent: (readonly QueuedOperation<Operation>[])[] = [];
  #failure: LoomError | undefined;
  /** Restarts since the last answer, and in total. */
  #attempts = 0;
  #restarts = 0;
  #restartTimer: NodeJS.Timeout | undefined;
  #closing: { readonly done: Promise<void>; resolve(): void } | undefined;

  constructor(options: GroupWriterOptions<Operation>) {
    this.#options = options;
  }

  write<T>(operation: Operation): Promise<T> {
    return new Promise<unknown>((resolve, reject) => {
      const length = this.#options.lengthOf(operation);
      if (this.#failure !== undefined || this.#closing !== undefined) {
        reject(this.#failure ?? new LoomError("store_closed", "The store is closed"));
        return;
      }
      const { maxQueueBytes } = this.#options;
      if (this.#queuedLength + length > maxQueueBytes) {
        reject(new LoomError("backlog_full", "The write queue is full; try again later", { limit: maxQueueBytes }));
        return;
      }
      this.#queuedLength += length;
      this.#queue.push({ operation, resolve, reject });
      // Operations of the same tick share a transaction.
      if (this.#queue.length === 1) queueMicrotask(() => this.#send());
    }) as Promise<T>;
  }

  /** What waits for the disk, and how often the thread was started again. */
  get load(): WriterLoad {
    return {
      queuedOperations: this.#queue.length,
      queuedBytes: this.#queuedLength,
      sentGroups: this.#sent.length,
      restarts: this.#restarts,
    };
  }

  /** Resolves when all queued operations are done and the thread has exited. */
  async close(): Promise<void> {
    if (this.#closing === undefined) {
      const { promise: done, resolve } = Promise.withResolvers<void>();
      this.#closing = { done, resolve };
      if (this.#restartTimer !== undefined && this.#queue.length === 0) {
        clearTimeout(this.#restartTimer);
        this.#restartTimer = undefined;
      }
      if (this.#failure !== undefined || (this.#worker === undefined && this.#queue.length === 0)) resolve();
      this.#worker?.ref();
      this.#send();
    }
    await this.#closing.done;
  }

  #start(): Worker {
    const worker = new Worker(this.#options.thread, { workerData: this.#options.data });
    let reason = "it exited";
    worker.on("message", (answer: GroupResult) => this.#settle(answer));
    worker.on("error", (error) => (reason = error instanceof Error ? error.message : String(error)));
    worker.on("exit", () => this.#onExit(reason));
    return worker;
  }

  #onExit(reason: string): void {
    if (this.#closing !== undefined) {
      this.#fail(new LoomError("store_closed", "The store is closed"));
      this.#closing.resolve();
      return;
    }
    if (this.#attempts >= MAX_RESTARTS) {
      const text = `The writer thread of the store ended ${this.#attempts + 1} times in a row: ${reason}`;
      this.#fail(new LoomError("writer_failed", text));
      return;
    }
    const lost = new LoomError(
      "store_failed",
      `The writer thread of the store ended before it answered, and is started again: ${reason}`,
    );
    const delay = this.#attempts === 0 ? 0 : RESTART_MS * 2 ** this.#attempts;
    this.#attempts++;
    this.#restarts++;
    this.#worker = undefined;
    const [failed, repeated] = partition(
      this.#sent.splice(0).flat(),
      ({ operation, isRepeated = false }) => !isRepeated && this.#options.isRepeatable(operation),
    );
    for (const waiting of repeated) {
      waiting.isRepeated = true;
      this.#queuedLength += this.#options.lengthOf(waiting.operation);
    }
    this.#queue = [...repeated, ...this.#queue];
    // Pending writes keep the process alive.
    this.#restartTimer = setTimeout(() => {
      this.#restartTimer = undefined;
      this.#worker = this.#start();
      this.#worker.unref();
      this.#send();
    }, delay);
    for (const { reject } of failed) reject(lost);
    this.#options.onFailure?.(lost);
  }

  #send(): void {
    if (this.#sent.length >= MAX_GROUPS || this.#restartTimer !== undefined) return;
    if (this.#queue.length === 0) {
      if (this.#closing !== undefined && this.#sent.length === 0) this.#worker?.postMessage("close");
      return;
    }
    const most = this.#findGroupEnd();
    // Two halves keep both threads busy; with one group, each would wait for the other.
    const isSplit = this.#sent.length === 0 && most >= MIN_SPLIT;
    const end = isSplit ? Math.ceil(most / 2) : most;
    const group = this.#queue.slice(0, end);
    this.#queue = this.#queue.slice(end);
    for (const { operation } of group) this.#queuedLength -= this.#options.lengthOf(operation);
    this.#sent.push(group);
    // Pending writes keep the process alive.
    this.#worker ??= this.#start();
    this.#worker.ref();
    try {
      this.#worker.postMessage(this.#options.pack(group.map(({ operation }) => operation)));
    } catch (error) {
      // An operation cannot be cloned, so the group was not sent. The other operations are sent again.
      this.#sent.pop();
      const [unsendable, others] = partition(group, ({ operation }) => isSendable(operation));
      const [bad, good] = unsendable.length === 0 ? [others, []] : [unsendable, others];
      for (const { operation } of good) this.#queuedLength += this.#options.lengthOf(operation);
      this.#queue = [...good, ...this.#queue];
      const failure = new LoomError(
        "store_failed",
        "An argument cannot be sent to the writer thread",
        {},
        { cause: error },
      );
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
      length += this.#options.lengthOf(operation);
      if (end > 0 && (end >= MAX_GROUP || length > MAX_GROUP_LENGTH)) break;
      end++;
    }
    return end;
  }

  #settle({ results, failure }: GroupResult): void {
    this.#attempts = 0;
    if (failure !== undefined) this.#options.onFailure?.(fromPlainError(failure));
    const group = this.#sent.shift() ?? [];
    for (const [index, waiting] of group.entries()) settleOne(waiting, results === null ? null : results[index]);
    this.#send();
    if (this.#sent.length === 0 && this.#closing === undefined) this.#worker?.unref();
  }

  #fail(failure: LoomError): void {
    this.#failure = failure;
    const failed = [...this.#sent.flat(), ...this.#queue];
    this.#sent.length = 0;
    this.#queue = [];
    this.#queuedLength = 0;
    for (const { reject } of failed) reject(failure);
    if (failure.code !== "store_closed") this.#options.onFailure?.(failure);
  }
}

function isSendable(operation: unknown): boolean {
  try {
    structuredClone(operation);
    return true;
  } catch {
    return false;
  }
}

/** Splits items by a predicate: first those for which it is false, then the others. */
function partition<T>(items: readonly T[], isTrue: (item: T) => boolean): readonly [readonly T[], readonly T[]] {
  const { no = [], yes = [] } = Object.groupBy(items, (item) => (isTrue(item) ? "yes" : "no"));
  return [no, yes];
}

function settleOne(waiting: QueuedOperation<unknown>, result: OperationResult | undefined): void {
  if (result === undefined) waiting.reject(new LoomError("store_failed", "The writer thread returned no result"));
  else if (result === null) waiting.resolve(undefined);
  else if ("error" in result) waiting.reject(fromPlainError(result.error));
  else waiting.resolve(result.value);
}
