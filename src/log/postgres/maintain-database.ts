/** Reads the status of a database, migrates it, and renews its sessions, without opening a log. */
import {
  assertKnown,
  migratePostgres,
  newestVersion,
  type PostgresFormat,
  readVersions,
} from "../../postgres/migrate.ts";
import { openPostgres, type PostgresDatabase } from "../../postgres/postgres-database.ts";
import type { PostgresOptions } from "../../postgres/postgres-options.ts";
import { fromColumn } from "../../postgres/text-column.ts";
import { LoomError } from "../../protocol/loom-error.ts";
import type { StoreCounts, StoredPartVersion, StoreStatus } from "../store-status.ts";
import { LOG_FORMAT } from "./schema.ts";

/** The last part of the name of a holder is a counter of its process. */
const COUNT = `SELECT count(*) AS sessions, coalesce(sum(s.last_id - s.first_id + 1), 0)::bigint AS records,
    coalesce(sum(s.pos - s.base_pos), 0)::bigint AS bytes,
    count(DISTINCT regexp_replace(s.holder, '/[0-9]+$', '')) FILTER (WHERE s.expires_at > @now) AS workers,
    (SELECT count(*) FROM @.runs r JOIN @.sessions l ON l.key = r.session
      WHERE r.last_id IS NULL AND l.session_id IS NOT NULL) AS "liveRuns",
    (SELECT count(*) FROM @.commands WHERE outcome IS NULL) AS "pendingCommands"
  FROM @.sessions s WHERE s.session_id IS NOT NULL`;

/** One attempt is enough to see whether the database is available. Changes nothing. `formats` are those of other parts. Throws `store_newer`, `store_older`, `store_unavailable` or `store_failed`. */
export async function readDatabaseStatus(
  url: string,
  formats: readonly PostgresFormat[],
  options: PostgresOptions = {},
): Promise<StoreStatus> {
  return withDatabase(url, { ...options, readWaitMs: 0 }, async (db) => {
    const stored = await readVersions(db);
    const all = [LOG_FORMAT, ...formats];
    const versions = all.map((format) => describePart(format, assertKnown(stored.get(format.name), format)));
    const counts = stored.has(LOG_FORMAT.name) ? await db.read<StoreCounts>(COUNT) : [];
    return { versions, counts: counts[0] };
  });
}

/**
 * Creates and updates the tables of all parts; returns their versions before. Several processes may do this at once.
 * Throws like `readDatabaseStatus`.
 */
export async function migrateDatabase(
  url: string,
  formats: readonly PostgresFormat[],
  options: PostgresOptions = {},
): Promise<readonly StoredPartVersion[]> {
  return withDatabase(url, options, async (db) => {
    const parts: StoredPartVersion[] = [];
    // A part that is newer or too old is found before any other is changed.
    const stored = await readVersions(db);
    for (const format of [LOG_FORMAT, ...formats]) assertKnown(stored.get(format.name), format);
    for (const format of [LOG_FORMAT, ...formats]) parts.push(describePart(format, await migratePostgres(db, format)));
    return parts;
  });
}

function describePart(format: PostgresFormat, stored: number): StoredPartVersion {
  return { name: format.name, stored, supported: newestVersion(format) };
}

async function withDatabase<T>(
  url: string,
  options: PostgresOptions,
  use: (db: PostgresDatabase) => Promise<T>,
): Promise<T> {
  const db = await openPostgres(url, { ...options, maxConnections: 2 });
  try {
    return await use(db);
  } finally {
    await db.close();
  }
}

/** Sessions per transaction. */
const BATCH = 500;

/** More epochs than can have been granted since any backup. Epochs stay safe integers for two million renewals. */
const EPOCHS = 2 ** 32;

const HELD = `SELECT s.session_id AS "sessionId", s.holder, s.expires_at - @now AS ms FROM @.sessions s
  WHERE s.session_id IS NOT NULL AND s.holder IS NOT NULL AND s.expires_at > @now`;

const HELD_OF_BATCH = `${HELD} AND s.key = ANY($1::bigint[])`;

const LAST_TO_END = "ORDER BY s.expires_at DESC LIMIT 1";

const LOCK_BATCH = `SELECT s.key FROM @.sessions s WHERE s.key > $1 AND s.session_id IS NOT NULL
  ORDER BY s.key LIMIT ${BATCH} FOR UPDATE`;

const RENEW = `UPDATE @.sessions SET incarnation = gen_random_uuid()::text, epoch = nextval('@.epochs'), holder = NULL,
  lease = NULL, expires_at = 0, changes = changes + 1 WHERE key = ANY($1::bigint[])`;

/** Snapshots of encoders belong to an incarnation. */
const FORGET_SNAPSHOTS = "DELETE FROM @.snapshots WHERE session = ANY($1::bigint[])";

interface HeldLease {
  readonly sessionId: string;
  readonly holder: string;
  readonly ms: number;
}

/**
 * Makes all cursors and leases of a restored database stale. A client may have received records that the database does
 * not have; its cursor would skip the new records with the same IDs. A writer may have a lease whose epoch the database
 * does not know, and would grant again.
 *
 * Gives every session a new incarnation and a new epoch, some hundred per transaction. Returns the number of sessions.
 * May be repeated after an interruption. Throws `lease_held` while a process holds a lease.
 */
export async function renewDatabase(
  url: string,
  onProgress: (sessions: number) => void,
  options: PostgresOptions = {},
): Promise<number> {
  return withDatabase(url, options, async (db) => {
    const stored = assertKnown((await readVersions(db)).get(LOG_FORMAT.name), LOG_FORMAT);
    if (stored === 0)
      throw new LoomError(
        "store_failed",
        `The database ${db.where} has no tables; create them with \`loom store migrate\``,
      );
    await migratePostgres(db, LOG_FORMAT);
    assertFree(await db.read<HeldLease>(`${HELD} ${LAST_TO_END}`));
    await skipEpochs(db);
    let count = 0;
    for (let after = 0; ;) {
      const keys = await renewBatch(db, after);
      const last = keys.at(-1);
      if (last === undefined) return count;
      after = last;
      onProgress((count += keys.length));
    }
  });
}

/** In one transaction, so that two renewals at once cannot move the sequence back. */
async function skipEpochs(db: PostgresDatabase): Promise<void> {
  await db.transact(async ({ query }) => {
    await query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`loom renewals of ${db.settings.schema}`]);
    await query(`SELECT setval('@.epochs', nextval('@.epochs') + ${EPOCHS})`);
  });
}

/** Returns the keys of the sessions. A server may have started since the first check. */
async function renewBatch(db: PostgresDatabase, after: number): Promise<readonly number[]> {
  return db.transact(async ({ query }) => {
    const keys = (await query<{ key: number }>(LOCK_BATCH, [after])).map(({ key }) => key);
    if (keys.length === 0) return keys;
    assertFree(await query<HeldLease>(`${HELD_OF_BATCH} ${LAST_TO_END}`, [keys]));
    await query(RENEW, [keys]);
    await query(FORGET_SNAPSHOTS, [keys]);
    return keys;
  });
}

function assertFree([held]: readonly HeldLease[]): void {
  if (held === undefined) return;
  const holder = fromColumn(held.holder);
  throw new LoomError(
    "lease_held",
    `Session "${fromColumn(held.sessionId)}" is held by ${holder} for ${Math.ceil(held.ms / 1000)} s. Stop all servers, wait until their leases end, and run the command again`,
    { holder },
  );
}
