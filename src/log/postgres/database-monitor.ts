/**
 * Reports whether a log in PostgreSQL can be written. A fault begins with the first request that does not reach the
 * database, and ends with the first one that does.
 */
import type { PostgresDatabase } from "../../postgres/postgres-database.ts";
import { asPostgresError } from "../../postgres/as-postgres-error.ts";
import { LoomError } from "../../protocol/loom-error.ts";
import type { LogMonitor, LogSizes } from "../log-monitor.ts";

/** Interval of the checks while there is a fault, and the time a check is valid. */
const CHECK_MS = 1000;
const PROBE_TIMEOUT_MS = 2000;
const COUNT_MS = 5000;

export interface DatabaseMonitorOptions {
  readonly db: PostgresDatabase;
  readonly measure: () => Pick<LogSizes, "queuedOperations" | "queuedBytes" | "sentGroups" | "feedBytes">;
}

export class DatabaseMonitor implements LogMonitor {
  readonly #options: DatabaseMonitorOptions;
  readonly #listeners = new Set<Parameters<LogMonitor["watch"]>[0]>();
  readonly #stop: () => void;
  /** The database answers, but cannot store changes. */
  #fault: LoomError | undefined;
  #warning: LoomError | undefined;
  #timer: NodeJS.Timeout | undefined;
  #check: Promise<LoomError | undefined> | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #pending: number | undefined;
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(options: DatabaseMonitorOptions) {
    this.#options = options;
    this.#stop = options.db.onChange((fault) => this.#notify(fault ?? this.#fault));
  }

  get fault(): LoomError | undefined {
    return this.#options.db.fault ?? this.#fault;
  }

  get warning(): LoomError | undefined {
    return this.#warning;
  }

  /** `reason` says why the database refuses to send notifications; undefined if it does not. */
  readonly onDeaf = (reason: unknown): void => {
    if ((reason === undefined) === (this.#warning === undefined)) return;
    const { db } = this.#options;
    this.#warning =
      reason === undefined
        ? undefined
        : new LoomError(
            "store_degraded",
            `The database sends no notifications, so changes of other processes are found later, by polls: ${asPostgresError(reason, db.whereListens).message}`,
            {},
            { cause: reason },
          );
    this.#notify(this.fault);
  };

  async check(): Promise<LoomError | undefined> {
    if (performance.now() - this.#checkedAt < CHECK_MS) return this.fault;
    this.#check ??= this.#runCheck().finally(() => (this.#check = undefined));
    return this.#check;
  }

  watch(listener: Parameters<LogMonitor["watch"]>[0]): () => void {
    const own: typeof listener = (fault, warning) => listener(fault, warning);
    this.#listeners.add(own);
    this.#timer ??= setInterval(() => this.#onTimer(), CHECK_MS).unref();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** The number of pending commands is that of the last count, at most some seconds old. */
  measure(): LogSizes {
    if (performance.now() - this.#countedAt > COUNT_MS) void this.#countPending();
    return { ...this.#options.measure(), pendingCommands: this.#pending, restarts: 0, walBytes: 0 };
  }

  close(): void {
    this.#stop();
    this.#listeners.clear();
    clearInterval(this.#timer);
  }

  #onTimer(): void {
    if (this.fault !== undefined) void this.check();
  }

  async #countPending(): Promise<void> {
    this.#countedAt = performance.now();
    const sql = "SELECT count(*) AS count FROM @.commands WHERE outcome IS NULL";
    const rows = await this.#options.db.read<{ count: number }>(sql).catch(() => []);
    this.#pending = rows[0]?.count;
  }

  async #runCheck(): Promise<LoomError | undefined> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const text = `The database did not store a change within ${PROBE_TIMEOUT_MS} ms`;
    const timer = setTimeout(() => reject(new LoomError("store_unavailable", text)), PROBE_TIMEOUT_MS).unref();
    try {
      // A message in the write-ahead log is synced, and changes no table.
      const probe = this.#options.db.read("SELECT pg_logical_emit_message(true, 'loom', '')");
      probe.catch(() => undefined);
      await Promise.race([probe, late]);
      this.#setFault(undefined);
    } catch (error) {
      // A database that is away is a fault until it answers, not until the next check.
      this.#setFault(this.#options.db.fault === undefined ? (error as LoomError) : undefined);
    } finally {
      clearTimeout(timer);
      this.#checkedAt = performance.now();
    }
    return this.fault;
  }

  #setFault(fault: LoomError | undefined): void {
    const before = this.fault;
    this.#fault = fault;
    if (before?.code !== this.fault?.code) this.#notify(this.fault);
  }

  #notify(fault: LoomError | undefined): void {
    for (const listener of this.#listeners) listener(fault, this.#warning);
  }
}
