/**
 * Rate counters in PostgreSQL, which all processes share. Each check is one statement, and time is the clock of the
 * database, so servers whose clocks differ agree. Rows that no longer limit anything are deleted.
 */
import { migratePostgres, type PostgresFormat } from "../../../postgres/migrate.ts";
import type { PostgresDatabase } from "../../../postgres/postgres-database.ts";
import { toColumn } from "../../../postgres/text-column.ts";
import type { RateCounters } from "./rates.ts";

/** Counters that a crash of the database loses start again, so they need no write-ahead log. */
const SCHEMA = `
CREATE UNLOGGED TABLE @.rate_buckets (
  key text COLLATE "C" PRIMARY KEY,
  remaining double precision NOT NULL,
  is_taken boolean NOT NULL,
  at double precision NOT NULL
);
CREATE UNLOGGED TABLE @.rate_minutes (
  key text COLLATE "C" PRIMARY KEY,
  count bigint NOT NULL,
  since double precision NOT NULL
);
`;
export const RATE_COUNTERS_FORMAT: PostgresFormat = {
  name: "rate counters",
  schema: SCHEMA,
  oldest: 1,
  migrations: [],
};

const MINUTE_MS = 60_000;
/** Milliseconds since 1970. Read after the lock on the row, so that concurrent checks see time in order. */
const NOW = "coalesce($3::double precision, extract(epoch FROM clock_timestamp()) * 1000)";

const TAKE = `INSERT INTO @.rate_buckets AS b (key, remaining, is_taken, at)
  VALUES ($1, greatest($2::double precision - 1, 0), $2::double precision >= 1, ${NOW})
  ON CONFLICT (key) DO UPDATE SET (remaining, is_taken, at) = (
    SELECT CASE WHEN l.n >= 1 THEN l.n - 1 ELSE l.n END, l.n >= 1, l.ms FROM (
      SELECT t.ms, least($2::double precision,
        b.remaining + greatest(0, t.ms - b.at) * $2::double precision / ${MINUTE_MS}) AS n
      FROM (SELECT ${NOW} AS ms OFFSET 0) t OFFSET 0
    ) l)
  RETURNING remaining, is_taken AS "isTaken"`;

/** A count above the limit means that the event was refused. */
const COUNT = `INSERT INTO @.rate_minutes AS m (key, count, since) VALUES ($1, 1, ${NOW})
  ON CONFLICT (key) DO UPDATE SET (count, since) = (
    SELECT CASE WHEN t.ms >= m.since AND t.ms < m.since + ${MINUTE_MS} THEN least(m.count, $2::bigint) + 1 ELSE 1 END,
      CASE WHEN t.ms >= m.since AND t.ms < m.since + ${MINUTE_MS} THEN m.since ELSE t.ms END
    FROM (SELECT ${NOW} AS ms OFFSET 0) t)
  RETURNING count, since + ${MINUTE_MS} - ${NOW} AS "leftMs"`;

/** A bucket is full again, and a minute is over. */
const SWEEPS = [
  `DELETE FROM @.rate_buckets WHERE at < extract(epoch FROM clock_timestamp()) * 1000 - ${2 * MINUTE_MS}`,
  `DELETE FROM @.rate_minutes WHERE since < extract(epoch FROM clock_timestamp()) * 1000 - ${2 * MINUTE_MS}`,
];

export interface PostgresRateCountersOptions {
  /** Clock in milliseconds since 1970, for tests. Default: the clock of the database. */
  readonly now?: (() => number) | undefined;
}

/** Creates the tables if they do not exist. The caller closes the database. */
export async function createPostgresRateCounters(
  db: PostgresDatabase,
  { now }: PostgresRateCountersOptions = {},
): Promise<RateCounters> {
  await migratePostgres(db, RATE_COUNTERS_FORMAT);
  // Requests wait for the counters, so these wait no longer than a read.
  const { readWaitMs } = db.settings;
  let sweptAt = performance.now();

  /** Once a minute. If it fails, the rows are deleted a minute later. */
  function sweep(): void {
    if (now !== undefined || performance.now() - sweptAt < MINUTE_MS) return;
    sweptAt = performance.now();
    for (const sql of SWEEPS) db.write(sql, [], readWaitMs).catch(() => undefined);
  }

  return {
    async take(key, limit) {
      sweep();
      const values = [toColumn(key), limit, now?.() ?? null];
      const [row] = await db.write<{ readonly remaining: number; readonly isTaken: boolean }>(TAKE, values, readWaitMs);
      if (row?.isTaken === true) return 0;
      return limit > 0 ? Math.ceil(((1 - (row?.remaining ?? 0)) * MINUTE_MS) / limit) : MINUTE_MS;
    },
    async count(key, limit) {
      sweep();
      const values = [toColumn(key), limit, now?.() ?? null];
      const [row] = await db.write<{ readonly count: number; readonly leftMs: number }>(COUNT, values, readWaitMs);
      if (row === undefined || row.count <= limit) return 0;
      return Math.max(1, Math.ceil(row.leftMs));
    },
  };
}
