/**
 * Watches whether a store can be written. The fault begins with a failed group or check, and ends when a probe was
 * stored. Between requests it costs two `stat` calls per second, and only if it is watched.
 *
 * Invariant: once the write-ahead log was deleted or replaced, nothing more is written, because it would not be durable.
 */
import { statSync } from "node:fs";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { GroupWriter } from "../../sqlite/group-writer.ts";
import { isWalLost } from "../../sqlite/write-ahead-log.ts";
import type { LogMonitor, LogSizes } from "../log-monitor.ts";
import type { StoreOperation, WriteOperation } from "./operations.ts";
import type { StoreReader } from "./store-reader.ts";

export interface StoreMonitorOptions {
  readonly path: string;
  readonly reader: StoreReader;
  readonly writer: GroupWriter<StoreOperation>;
  readonly countFeedBytes: () => number;
}

/** Interval of the checks, and the time a check is valid. */
const CHECK_MS = 1000;
/** A probe that is not stored in this time is a fault. */
const PROBE_TIMEOUT_MS = 2000;

export class StoreMonitor implements LogMonitor {
  readonly #options: StoreMonitorOptions;
  readonly #writer: GroupWriter<StoreOperation>;
  readonly #listeners = new Set<(fault: LoomError | undefined) => void>();
  #fault: LoomError | undefined;
  /** The write-ahead log is not the one that was opened. */
  #lost: LoomError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #probe: Promise<unknown> | undefined;
  #check: Promise<LoomError | undefined> | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(options: StoreMonitorOptions) {
    this.#options = options;
    this.#writer = options.writer;
  }

  /** The writer reports a group that was not stored. Damage concerns one session, so it is not a fault of the store. */
  setFailure(error: LoomError): void {
    if (isLoomError(error, "store_full", "store_failed", "store_read_only", "store_busy", "writer_failed"))
      this.#setFault(error);
  }

  get fault(): LoomError | undefined {
    return this.#fault;
  }

  /** Writes an operation; see `GroupWriter.write`. */
  readonly write: WriteOperation = (operation) =>
    this.#lost === undefined ? this.#writer.write(operation as StoreOperation) : Promise.reject(this.#lost);

  async check(): Promise<LoomError | undefined> {
    if (this.#fault?.code === "writer_failed" || performance.now() - this.#checkedAt < CHECK_MS) return this.#fault;
    this.#check ??= this.#runCheck().finally(() => (this.#check = undefined));
    return this.#check;
  }

  watch(listener: (fault: LoomError | undefined) => void): () => void {
    const own = (fault: LoomError | undefined): void => listener(fault);
    this.#listeners.add(own);
    this.#timer ??= setInterval(() => this.#onTimer(), CHECK_MS).unref();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) this.close();
    };
  }

  measure(): LogSizes {
    const { path, countFeedBytes, reader } = this.#options;
    const walBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    return { ...this.#writer.load, pendingCommands: countPending(reader), walBytes, feedBytes: countFeedBytes() };
  }

  close(): void {
    this.#listeners.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #onTimer(): void {
    if (this.#fault !== undefined) void this.check();
    else this.#checkFiles();
  }

  #checkFiles(): boolean {
    try {
      this.#options.reader.assertFiles();
      return true;
    } catch (error) {
      this.#setFault(error as LoomError);
      return false;
    }
  }

  async #runCheck(): Promise<LoomError | undefined> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const text = `The store did not store a change within ${PROBE_TIMEOUT_MS} ms`;
    const timer = setTimeout(() => reject(new LoomError("store_busy", text)), PROBE_TIMEOUT_MS).unref();
    try {
      if (!this.#checkFiles()) return this.#fault;
      // A probe that is late is not sent again.
      this.#probe ??= this.write({ do: "probe" }).finally(() => (this.#probe = undefined));
      await Promise.race([this.#probe, late]);
      this.#setFault(undefined);
    } catch (error) {
      this.#setFault(error as LoomError);
    } finally {
      clearTimeout(timer);
      this.#checkedAt = performance.now();
    }
    return this.#fault;
  }

  #setFault(fault: LoomError | undefined): void {
    if (isWalLost(fault)) this.#lost ??= fault;
    const next = this.#lost ?? fault;
    // The message of other codes may alternate between two operations that fail for the same reason.
    const isSame =
      next?.code === this.#fault?.code && (next?.code !== "store_failed" || next.message === this.#fault?.message);
    if (isSame || isLoomError(this.#fault, "writer_failed") || isLoomError(next, "store_closed")) return;
    this.#fault = next;
    for (const listener of this.#listeners) listener(next);
  }
}

function countPending(reader: StoreReader): number | undefined {
  try {
    return reader.countPending();
  } catch {
    return undefined;
  }
}
