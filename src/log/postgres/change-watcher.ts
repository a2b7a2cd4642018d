/**
 * Finds what other processes have written, and hints the watchers of the changed sessions. One connection listens for
 * notifications; one query per interval covers all watched sessions, because notifications may be lost. Readers then
 * read from their positions, so a hint too many is harmless.
 */
import type { Client } from "pg";
import type { PostgresDatabase } from "../../postgres/postgres-database.ts";
import type { Feed } from "../feed.ts";
import { ALL_SESSIONS, channelOf, ORPHANS } from "./change-notifier.ts";
import { fromColumn, toColumn } from "../../postgres/text-column.ts";
import { ProcessWatch } from "./process-watch.ts";

const POLL = `SELECT session_id AS "sessionId", key, changes FROM @.sessions WHERE session_id = ANY($1::text[])`;

/** Intervals of polls for changes and for released sessions while nothing listens. */
const DEAF_POLL_MS = 100;
const DEAF_SWEEP_MS = 1000;
/** Time between two attempts to listen, which doubles with each one that fails, and the longest time. */
const RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;

export interface ChangeWatcherOptions {
  readonly db: PostgresDatabase;
  readonly feed: Feed;
  readonly writer: string;
  readonly pollMs: number;
  /** Default: 1,000. */
  readonly retryMs?: number;
  /** Called with the reason when two attempts to listen have failed although the database answers, and when it listens. */
  readonly onDeaf?: (reason: unknown) => void;
}

/** Incarnation and number of changes of a session when it was last read; undefined if it does not exist. */
interface SeenChanges {
  readonly key: number;
  readonly changes: number;
}

export class ChangeWatcher {
  readonly #options: ChangeWatcherOptions;
  readonly #seen = new Map<string, SeenChanges | undefined>();
  readonly #processes: ProcessWatch;
  #listener: Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #poll: Promise<void> | undefined;
  #isPollDue = false;
  #isRunning = false;
  #isConnecting = false;
  /** Attempts to listen that failed in a row. */
  #failures = 0;
  #retryAt = Number.NEGATIVE_INFINITY;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #unwatchDatabase: (() => void) | undefined;

  constructor(options: ChangeWatcherOptions) {
    this.#options = options;
    this.#processes = new ProcessWatch(options.db, () => options.feed.hintOrphans());
  }

  /** Starts, unless it is running. Every watched session is hinted once by the first poll that sees it. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#unwatchDatabase = this.#options.db.onChange((fault) => fault === undefined && this.#listenNow());
    this.#processes.start();
    this.#tick();
  }

  stop(): void {
    this.#isRunning = false;
    this.#unwatchDatabase?.();
    this.#processes.stop();
    clearTimeout(this.#timer);
    this.#seen.clear();
    void this.#listener?.end().catch(() => undefined);
    this.#listener = undefined;
  }

  /** Reports a change by this process, whose watchers were already hinted. */
  noteOwn(sessionId: string, { key, changes }: SeenChanges): void {
    const known = this.#seen.get(sessionId);
    // If another process has changed the session in between, the next poll reports it.
    if (known?.key === key && known.changes + 1 === changes) this.#seen.set(sessionId, { key, changes });
  }

  #tick(): void {
    if (!this.#isRunning) return;
    this.#listen();
    this.pollSoon();
    const { pollMs } = this.#options;
    const intervalMs = this.#listener === undefined ? Math.min(pollMs, DEAF_POLL_MS) : pollMs;
    this.#timer = setTimeout(() => this.#tick(), intervalMs).unref();
  }

  /** Polls now, or again after the poll that is running. */
  pollSoon(): void {
    if (this.#poll !== undefined) {
      this.#isPollDue = true;
      return;
    }
    this.#isPollDue = false;
    this.#poll = this.#runPoll().finally(() => {
      this.#poll = undefined;
      if (this.#isPollDue && this.#isRunning) this.pollSoon();
    });
  }

  async #runPoll(): Promise<void> {
    const { db, feed } = this.#options;
    const watched = feed.watched;
    for (const sessionId of this.#seen.keys()) if (!feed.isWatched(sessionId)) this.#seen.delete(sessionId);
    if (watched.length === 0) return;
    try {
      // The same for all watchers, whichever of them started this.
      const { readWaitMs } = db.settings;
      const rows = await db.read<SeenChanges & { readonly sessionId: string }>(
        POLL,
        [watched.map(toColumn)],
        readWaitMs,
      );
      const found = new Map(rows.map((row) => [fromColumn(row.sessionId), row]));
      for (const sessionId of watched) this.#compare(sessionId, found.get(sessionId));
    } catch {
      // The watchers read the log themselves, and get the error then.
      for (const sessionId of watched) feed.forget(sessionId);
    }
  }

  #compare(sessionId: string, now: SeenChanges | undefined): void {
    const isNew = !this.#seen.has(sessionId);
    const known = this.#seen.get(sessionId);
    // An own change may be newer than the answer.
    if (!isNew && known?.key === now?.key && (now?.changes ?? 0) <= (known?.changes ?? 0)) return;
    this.#seen.set(sessionId, now === undefined ? undefined : { key: now.key, changes: now.changes });
    if (isNew) this.#options.feed.hint(sessionId);
    else this.#options.feed.forget(sessionId);
  }

  /** The database is back. Until this process listens, others cannot see whether it lives. */
  #listenNow(): void {
    this.#retryAt = Number.NEGATIVE_INFINITY;
    this.#listen();
  }

  #listen(): void {
    if (this.#listener !== undefined) return;
    const now = performance.now();
    if (now - this.#sweptAt >= DEAF_SWEEP_MS) {
      this.#sweptAt = now;
      this.#options.feed.hintOrphans();
    }
    if (this.#isConnecting || now < this.#retryAt) return;
    this.#isConnecting = true;
    // Also after a success: a connection may be lost as soon as it listens.
    this.#delayRetry();
    this.#connect()
      .then(
        () => this.#options.onDeaf?.(undefined),
        (error: unknown) => this.#onDeaf(error),
      )
      .finally(() => (this.#isConnecting = false));
  }

  #onDeaf(error: unknown): void {
    const { db, onDeaf } = this.#options;
    this.#delayRetry();
    this.#failures++;
    // A database that is away is reported as such, and by then other requests have noticed it.
    if (this.#failures > 1 && this.#isRunning && db.fault === undefined) onDeaf?.(error);
  }

  #delayRetry(): void {
    const { retryMs = RETRY_MS } = this.#options;
    this.#retryAt = performance.now() + Math.min(retryMs * 2 ** this.#failures, MAX_RETRY_MS);
  }

  async #connect(): Promise<void> {
    const { db } = this.#options;
    const client = await db.connectListener();
    client.on("notification", ({ payload }) => this.#onNotification(payload));
    client.once("end", () => {
      if (this.#listener !== client) return;
      this.#listener = undefined;
      void this.#processes.forget();
      // Polls more often from now on.
      clearTimeout(this.#timer);
      this.#tick();
    });
    try {
      await client.query(`LISTEN ${db.escape(channelOf(db))}`);
      await this.#processes.note(client);
    } catch (error) {
      // Otherwise each attempt would leave a connection behind.
      void client.end().catch(() => undefined);
      throw error;
    }
    if (!this.#isRunning) {
      await client.end();
      return;
    }
    // Not in the types of the driver.
    (client as Client & { unref(): void }).unref();
    this.#listener = client;
    this.#failures = 0;
    // What was written or released before the connection listened.
    this.pollSoon();
    this.#options.feed.hintOrphans();
  }

  #onNotification(payload: string | undefined): void {
    const { feed, writer } = this.#options;
    const [sender, ...sessions] = JSON.parse(payload ?? "[]") as readonly string[];
    if (sender === writer) return;
    if (sessions[0] === ALL_SESSIONS) this.pollSoon();
    else for (const sessionId of sessions) feed.forget(sessionId);
    if (sessions.includes(ORPHANS)) feed.hintOrphans();
  }
}
