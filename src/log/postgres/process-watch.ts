/**
 * Finds processes that have ended, so that a killed one is replaced within seconds and not when its leases end. Each
 * process notes the connection with which it listens. The database server closes that connection when the process ends,
 * however it ends. A process that is blocked, or whose database is slow, keeps the connection and thereby its leases.
 *
 * Where the connections say nothing, the leases decide: for a process that does not listen, for a machine without power
 * or network, and after a restart of the database server.
 */
import type { Client } from "pg";
import type { PostgresDatabase } from "../../postgres/postgres-database.ts";
import { describeProcess } from "../holder.ts";

/** Interval of the checks. */
const CHECK_MS = 500;
/** A process that has lost its connection notes another one, or forgets it, within this time. */
const GRACE_MS = 1500;
/** The same after an outage, in which many processes may have lost their connections. */
const OUTAGE_GRACE_MS = 5000;

/** The connection of a row exists. A role that may not see the start of a backend trusts its ID. */
const IS_OPEN = `EXISTS (SELECT FROM pg_stat_get_activity(p.pid) a WHERE coalesce(a.backend_start = p.started_at, true))`;

/** A process may have several connections. */
const CLOSED = `SELECT p.name FROM @.processes p GROUP BY p.name
  HAVING bool_and(p.server_started_at = pg_postmaster_start_time() AND NOT ${IS_OPEN})`;

/** Other rows are kept until all processes have seen them. */
const DELETE = `DELETE FROM @.processes p
  WHERE NOT ${IS_OPEN} AND (p.name = $1 OR p.started_at < clock_timestamp() - interval '10 minutes')`;
const NOTE = `INSERT INTO @.processes (name, pid, started_at, server_started_at)
  SELECT $1, a.pid, a.backend_start, pg_postmaster_start_time() FROM pg_stat_get_activity(pg_backend_pid()) a WHERE a.pid = $2
  ON CONFLICT (name, pid) DO UPDATE
  SET started_at = excluded.started_at, server_started_at = excluded.server_started_at RETURNING pid`;
const FORGET = "DELETE FROM @.processes WHERE name = $1 AND pid = $2";

export class ProcessWatch {
  readonly #db: PostgresDatabase;
  readonly #onEnded: () => void;
  /** Processes without a connection, and since when. */
  #closed = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;
  /** Of the noted connection. */
  #pid = 0;

  /** `onEnded` is called when processes have ended. */
  constructor(db: PostgresDatabase, onEnded: () => void) {
    this.#db = db;
    this.#onEnded = onEnded;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#check(), CHECK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Notes a connection of this process. If that fails, its leases decide. */
  async note(client: Client): Promise<void> {
    try {
      await client.query(this.#db.format(DELETE), [describeProcess()]);
      // A pooler names another process than the one that answers, and may close that one's connection at any time.
      const { processID } = client as Client & { readonly processID: number };
      const { rows } = await client.query<{ pid: number }>(this.#db.format(NOTE), [describeProcess(), processID]);
      this.#pid = rows[0]?.pid ?? 0;
    } catch {
      this.#pid = 0;
    }
  }

  /** The connection is lost, and there may be no other one: from now on, the leases of this process decide. */
  async forget(): Promise<void> {
    await this.#db.write(FORGET, [describeProcess(), this.#pid]).catch(() => undefined);
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      this.#compare((await this.#db.read<{ name: string }>(CLOSED, [], 0)).map(({ name }) => name));
    } catch {
      // Connections may be closed because the database is away.
      this.#compare([]);
    }
    this.#isChecking = false;
  }

  #compare(names: readonly string[]): void {
    const now = performance.now();
    const graceMs = this.#db.recoveryMs > 0 ? OUTAGE_GRACE_MS : GRACE_MS;
    this.#closed = new Map(names.map((name) => [name, this.#closed.get(name) ?? now]));
    const before = this.#db.endedProcesses;
    const ended = new Set(names.filter((name) => now - (this.#closed.get(name) ?? now) >= graceMs));
    this.#db.endedProcesses = ended;
    if ([...ended].some((name) => !before.has(name))) this.#onEnded();
  }
}
