/**
 * A PostgreSQL database shared by all parts of a process: one pool of connections, transactions that are repeated after
 * a lost connection, and the knowledge whether the database is available.
 *
 * Work of runs waits longer for a database that is away than requests of clients do; see `waitLonger`.
 *
 * Nothing is kept in a connection between transactions (no prepared statements, settings or session locks), so a proxy
 * may share connections between transactions. In SQL, `@.` stands for the schema, as in `SELECT * FROM @.sessions`, and
 * `@now` for the current time in milliseconds since 1970.
 *
 * Invariant: `work` may run again after its commit, if the answer to the commit was lost. It must find what it stored.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import type { Client, ClientConfig, Pool, PoolClient } from "pg";
import { LoomError } from "../protocol/loom-error.ts";
import { loadPackage } from "../protocol/load-package.ts";
import { asPostgresError, isServerError, isTimeout, isTransient, isUnavailable } from "./as-postgres-error.ts";
import { type PostgresOptions, type PostgresSettings, readPostgresOptions } from "./postgres-options.ts";

/** Time to connect. */
const CONNECT_MS = 5000;
/**
 * Time between two statements of a transaction. A process that stops inside of one would keep its locks for as long as
 * its connection looks alive, so that no other process could take its sessions over. Shorter than a lease.
 */
const IDLE_TRANSACTION_MS = 5000;
const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;
/** How often a transaction is repeated at once after it lost against another one. */
const MAX_REPEATS = 20;

/** Default duration of leases. */
const LEASE_MS = 10_000;
/** Time in which processes notice the end of an outage, however short their leases are. */
const MIN_RECOVERY_MS = 3000;

/** The clock of the database. */
const CLOCK = "floor(extract(epoch FROM clock_timestamp()) * 1000)::double precision";

/** ID of the type `bigint`. */
const INT8 = 20;

/** Values of a statement. Lists are sent as arrays. */
export type SqlValue = string | number | boolean | null | Uint8Array | readonly (string | number | null)[];

/** Runs statements in one transaction. */
export interface Transaction {
  /** Returns the rows. */
  readonly query: <T>(sql: string, values?: readonly SqlValue[]) => Promise<readonly T[]>;
  /** How often this transaction was tried before, perhaps with success. */
  readonly attempt: number;
}

/** Runs statements: those of a transaction, or each one alone. */
export type SqlRunner = Pick<Transaction, "query">;

/** Options of a transaction. */
export interface TransactionOptions {
  /** A snapshot that does not change, without writes; statements are cancelled after `timeoutMs`. */
  readonly isReadOnly?: boolean;
  readonly timeoutMs?: number;
  /** How long to wait for a database that is away. Default: that of reads if it is read-only, else that of changes. */
  readonly waitMs?: number;
}

type Driver = typeof pg;

export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<PostgresDatabase> {
  const driver = await loadPackage("pg", "to store sessions in PostgreSQL", async () => import("pg"));
  return new PostgresDatabase(url, readPostgresOptions(url, options), driver.default);
}

export class PostgresDatabase {
  /** Host, port and database, without credentials. */
  readonly where: string;
  /** The same of the connection that listens. */
  readonly whereListens: string;
  readonly settings: PostgresSettings;
  /** Duration of the leases of this process, in milliseconds. Other processes should have the same. */
  leaseMs = LEASE_MS;
  /** Returns the time of a test; undefined for the clock of the database. */
  now: (() => number) | undefined;
  /** Names of processes that have ended although their leases have not. */
  endedProcesses: ReadonlySet<string> = new Set();
  readonly #url: string;
  readonly #driver: Driver;
  readonly #pool: Pool;
  readonly #schema: string;
  readonly #texts = new Map<string, string>();
  readonly #listeners = new Set<(fault: LoomError | undefined) => void>();
  readonly #closing = new AbortController();
  /** True inside of `waitLonger`. */
  readonly #waitsLonger = new AsyncLocalStorage<true>();
  /** Whether the database accepts a new connection, while that is tested. */
  #probe: Promise<boolean> | undefined;
  #fault: LoomError | undefined;
  #failedAt = 0;
  #recoveredAt = Number.NEGATIVE_INFINITY;
  #outageMs = 0;

  /** @internal */
  constructor(url: string, settings: PostgresSettings, driver: Driver) {
    this.where = describeAddress(url);
    this.whereListens = describeAddress(settings.listenUrl);
    this.settings = settings;
    this.#url = url;
    this.#driver = driver;
    this.#schema = driver.escapeIdentifier(settings.schema);
    const { maxConnections: max } = settings;
    this.#pool = new driver.Pool({
      ...this.#configure(url),
      // For the pool this is also the time to wait for a free connection. A busy process must not take the database for
      // away, and a request that waits again would lose its turn.
      connectionTimeoutMillis: settings.statementMs,
      Client: new Proxy(driver.Client, {
        construct: (client, [config]: [ClientConfig]) => new client({ ...config, connectionTimeoutMillis: CONNECT_MS }),
      }),
      max,
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
    });
    // A connection failed between two statements; the next one reports it. Without listeners, the process would end:
    // the pool listens only to idle connections.
    this.#pool.on("error", () => undefined);
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
  }

  /** Why the database is not available; undefined if it is, as far as known. */
  get fault(): LoomError | undefined {
    return this.#fault;
  }

  /**
   * How much longer than usual a lease of another process counts as held: it could not be renewed in an outage, so its
   * holder has the duration of a lease after it. Read it in a transaction, because a request may have to wait for the end
   * of the outage.
   */
  get recoveryMs(): number {
    const now = performance.now();
    const ms = Math.max(this.leaseMs, MIN_RECOVERY_MS);
    if (this.#fault !== undefined) return now - this.#failedAt + ms;
    return now - this.#recoveredAt < ms ? this.#outageMs + ms : 0;
  }

  /** Calls `listener` when the database goes away and when it returns. */
  onChange(listener: (fault: LoomError | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** How long reads wait for a database that is away. */
  get readWaitMs(): number {
    const { waitMs, readWaitMs } = this.settings;
    return this.#waitsLonger.getStore() === true ? Math.max(waitMs, readWaitMs) : readWaitMs;
  }

  /**
   * Runs `work`, all of whose reads wait as long as changes for a database that is away: also those of other parts of the
   * process that it calls. What several callers share must not depend on it: pass the time to wait, or share between
   * callers with the same `readWaitMs`.
   */
  async waitLonger<T>(work: () => Promise<T>): Promise<T> {
    return this.#waitsLonger.run(true, work);
  }

  /** Runs single statements that read, outside a transaction. */
  readonly reader: SqlRunner = { query: async (sql, values) => this.read(sql, values) };

  /** Runs one statement that reads. Waits up to `waitMs` for a database that is away. */
  async read<T>(
    sql: string,
    values: readonly SqlValue[] = [],
    waitMs: number = this.readWaitMs,
  ): Promise<readonly T[]> {
    return this.#repeat(waitMs, async () => this.#query<T>(this.#pool, sql, values));
  }

  /** Runs one statement that writes, in its own transaction. Waits up to `waitMs` for a database that is away. */
  async write<T>(
    sql: string,
    values: readonly SqlValue[],
    waitMs: number = this.settings.waitMs,
  ): Promise<readonly T[]> {
    return this.#repeat(waitMs, async () => this.#query<T>(this.#pool, sql, values));
  }

  /** Runs `work` in one transaction. If it throws, nothing is stored. */
  async transact<T>(work: (transaction: Transaction) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    const { isReadOnly = false, timeoutMs } = options;
    const { waitMs = isReadOnly ? this.readWaitMs : this.settings.waitMs } = options;
    const isolation = isReadOnly ? " ISOLATION LEVEL REPEATABLE READ READ ONLY" : "";
    const begin = `BEGIN${isolation}; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_MS}`;
    const limit = timeoutMs === undefined ? "" : `; SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(timeoutMs))}`;
    return this.#repeat(waitMs, async (attempt) => {
      const client = await this.#pool.connect();
      let broken: Error | undefined;
      try {
        await client.query(`${begin}${limit}`);
        const value = await work({ attempt, query: async (sql, values) => this.#query(client, sql, values) });
        await client.query("COMMIT");
        return value;
      } catch (error) {
        if (error instanceof LoomError || isServerError(error))
          await client.query("ROLLBACK").catch((failure: unknown) => (broken = failure as Error));
        else broken = error as Error;
        throw error;
      } finally {
        client.release(broken);
      }
    });
  }

  /**
   * Connects outside the pool, to listen. The caller ends the client.
   *
   * @internal
   */
  async connectListener(): Promise<Client> {
    return this.#connect(this.settings.listenUrl);
  }

  /** Replaces `@.` by the schema, and `@now` by the time. */
  format(sql: string): string {
    let text = this.#texts.get(sql);
    if (text === undefined) {
      text = sql.replaceAll("@.", `${this.#schema}.`).replaceAll("@now", CLOCK);
      this.#texts.set(sql, text);
    }
    return this.now === undefined ? text : text.replaceAll(CLOCK, `${this.now()}::double precision`);
  }

  escape(name: string): string {
    return this.#driver.escapeIdentifier(name);
  }

  /** Ends the waiting of all requests for a database that is away. */
  stopWaiting(): void {
    this.#closing.abort();
  }

  async close(): Promise<void> {
    this.stopWaiting();
    if (!this.#pool.ended && !this.#pool.ending) await this.#pool.end();
  }

  async #query<T>(client: Pool | PoolClient, sql: string, values: readonly SqlValue[] = []): Promise<readonly T[]> {
    const text = this.format(sql);
    // Without values several statements can be sent at once.
    const { rows } = await (values.length === 0 ? client.query(text) : client.query(text, [...values]));
    return rows as T[];
  }

  /** Repeats a request until the database answers or `waitMs` have passed. */
  async #repeat<T>(waitMs: number, run: (attempt: number) => Promise<T>): Promise<T> {
    const began = performance.now();
    let repeats = 0;
    for (let attempt = 0; ; attempt++) {
      try {
        const value = await run(attempt);
        this.#setFault(undefined);
        return value;
      } catch (error) {
        if (isTransient(error) && ++repeats <= MAX_REPEATS) continue;
        const failure = await this.#explain(error);
        const isAway = isUnavailable(failure);
        this.#setFault(isAway ? failure : undefined);
        if (!isAway && failure.code !== "store_timeout") throw failure;
        const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10), MAX_PAUSE_MS);
        if (this.#closing.signal.aborted || performance.now() - began + pauseMs > waitMs) throw failure;
        await pause(pauseMs, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      }
    }
  }

  /** A slow statement is not an outage: after a timeout, a new connection decides whether the database is away. */
  async #explain(cause: unknown): Promise<LoomError> {
    const failure = asPostgresError(cause, this.where);
    if (!isTimeout(cause) || this.#closing.signal.aborted) return failure;
    this.#probe ??= this.#connects().finally(() => (this.#probe = undefined));
    if (!(await this.#probe)) return failure;
    const text = `A statement in the database ${this.where} took longer than ${this.settings.statementMs} ms`;
    return new LoomError("store_timeout", text, { limit: this.settings.statementMs }, { cause });
  }

  async #connects(): Promise<boolean> {
    try {
      const client = await this.#connect(this.#url);
      void client.end().catch(() => undefined);
      return true;
    } catch {
      return false;
    }
  }

  async #connect(url: string): Promise<Client> {
    const client = new this.#driver.Client(this.#configure(url));
    // Without a listener, a lost connection would end the process.
    client.on("error", () => undefined);
    try {
      await client.connect();
      return client;
    } catch (error) {
      void client.end().catch(() => undefined);
      throw error;
    }
  }

  #setFault(fault: LoomError | undefined): void {
    if ((fault === undefined) === (this.#fault === undefined)) return;
    this.#fault = fault;
    const now = performance.now();
    if (fault === undefined) {
      this.#outageMs = now - this.#failedAt;
      this.#recoveredAt = now;
    } else this.#failedAt = now;
    for (const listener of this.#listeners) listener(fault);
  }

  #configure(connectionString: string): ClientConfig {
    const { types } = this.#driver;
    return {
      connectionString,
      application_name: "loom",
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: this.settings.statementMs,
      types: {
        getTypeParser(oid: number, format?: "text" | "binary"): (text: string) => unknown {
          // All integers of this package are safe in JavaScript.
          if (oid === INT8) return Number;
          return types.getTypeParser(oid, format) as (text: string) => unknown;
        },
      },
    };
  }
}

function describeAddress(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
