/**
 * Tells other processes which sessions have changed. A notification takes a lock of the whole database when it commits,
 * so it is not part of an append: changes are collected, and sent at most once per interval.
 *
 * Notifications may be lost; `ChangeWatcher` also polls.
 */
import { Buffer } from "node:buffer";
import type { PostgresDatabase } from "../../postgres/postgres-database.ts";

/** A notification has fewer than 8000 bytes. */
const MAX_BYTES = 7500;
/** Notifications sent at once; beyond them all watchers poll. */
const MAX_NOTIFICATIONS = 8;

/** Minimum pause between notifications, in milliseconds. */
const INTERVAL_MS = 2;

/** Pause after a notification, compared with the time it took. Many processes that notify slow each other down. */
const PAUSE_FACTOR = 2;

/** A hint need not survive a crash, so its commit does not wait for the disk. */
const NOTIFY = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, p) FROM unnest($2::text[]) AS p`;

/** Sent instead of a list that is too long. */
export const ALL_SESSIONS = "*";

/** Sent in place of a session: a writer has released a session that has work for another one. */
export const ORPHANS = "*orphans";

export function channelOf(db: PostgresDatabase): string {
  return `loom_${db.settings.schema}`.slice(0, 63);
}

export class ChangeNotifier {
  readonly #db: PostgresDatabase;
  readonly #writer: string;
  readonly #changed = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #isClosed = false;

  /** `writer` identifies the notifications of this process, which it ignores. */
  constructor(db: PostgresDatabase, writer: string) {
    this.#db = db;
    this.#writer = writer;
  }

  /** Notes a committed change of a session, or `ORPHANS`. The first one after an idle period is sent at once. */
  note(sessionId: string): void {
    this.#changed.add(sessionId);
    if (this.#timer === undefined && this.#sending === undefined && !this.#isClosed) this.#sendNow();
  }

  /** Sends what was noted: a process that stops has just released its sessions. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#sending;
    if (this.#changed.size > 0) await this.#send();
  }

  #sendNow(): void {
    const began = performance.now();
    this.#sending = this.#send().finally(() => {
      this.#sending = undefined;
      if (this.#isClosed) return;
      const pauseMs = Math.max(INTERVAL_MS, PAUSE_FACTOR * (performance.now() - began));
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        if (this.#changed.size > 0) this.#sendNow();
      }, pauseMs).unref();
    });
  }

  async #send(): Promise<void> {
    const payloads = formatPayloads(this.#writer, [...this.#changed]);
    this.#changed.clear();
    try {
      await this.#db.write(NOTIFY, [channelOf(this.#db), payloads]);
    } catch {
      // The watchers poll.
    }
  }
}

function formatPayloads(writer: string, sessions: readonly string[]): readonly string[] {
  const payloads: string[] = [];
  let list: string[] = [];
  let bytes = 0;
  for (const sessionId of sessions) {
    const more = Buffer.byteLength(JSON.stringify(sessionId)) + 1;
    if (bytes + more > MAX_BYTES) {
      payloads.push(JSON.stringify([writer, ...list]));
      list = [];
      bytes = 0;
    }
    list.push(sessionId);
    bytes += more;
  }
  payloads.push(JSON.stringify([writer, ...list]));
  if (payloads.length <= MAX_NOTIFICATIONS) return payloads;
  return [JSON.stringify([writer, ALL_SESSIONS, ...(sessions.includes(ORPHANS) ? [ORPHANS] : [])])];
}
