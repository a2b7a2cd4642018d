/**
 * Stores many appends with one statement. Each append moves the end of its session, if the session still has the epoch
 * and the end that the append expects; a session that another transaction is changing is checked again after it. The
 * others of the batch do not depend on it. An append that was not stored is left to `append-one.ts`, which finds out
 * why.
 */
import type { PostgresDatabase, SqlValue, Transaction } from "../../postgres/postgres-database.ts";
import type { IndexChanges } from "../index-changes.ts";
import { writeIndexes } from "./index-rows.ts";
import type { NewRecordRow } from "./record-rows.ts";
import { fromColumn, toColumn } from "./text-column.ts";

/** One or more appends of a session that follow each other. */
export interface BatchedAppend {
  readonly sessionId: string;
  readonly epoch: number;
  readonly expectedLastId: number;
  readonly rows: readonly NewRecordRow[];
  readonly changes: readonly IndexChanges[];
}

/** A stored append. */
export interface StoredAppend {
  readonly owner: string;
  /** Number of changes of the session, this one included. */
  readonly changes: number;
  readonly key: number;
}

interface MovedRow extends StoredAppend {
  readonly n: number;
}

const APPEND = `WITH input AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) WITH ORDINALITY
      AS i(session_id, epoch, expected, records, bytes, n)),
  moved AS (
    UPDATE @.sessions s SET last_id = i.expected + i.records, pos = s.pos + i.bytes, changes = s.changes + 1
    FROM input i WHERE s.session_id = i.session_id AND s.epoch = i.epoch AND s.last_id = i.expected
      AND s.holder IS NOT NULL
    RETURNING i.n, s.key, s.owner, s.changes, i.expected, s.pos - i.bytes AS pos),
  stored AS (
    INSERT INTO @.records (session, first_id, last_id, pos, text)
    SELECT m.key, m.expected + r.first, m.expected + r.last, m.pos + r.pos, r.text
    FROM unnest($6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::text[]) AS r(n, first, last, pos, text)
    JOIN moved m ON m.n = r.n)
  SELECT n::integer, key, owner, changes FROM moved`;

/** Returns what was stored for each append; undefined if it was not. */
export async function appendBatch(
  db: PostgresDatabase,
  appends: readonly BatchedAppend[],
): Promise<readonly (StoredAppend | undefined)[]> {
  const values = toArrays(appends);
  const hasChanges = appends.some(({ changes }) => changes.length > 0);
  const moved = hasChanges
    ? await db.transact((transaction) => appendWithIndexes(transaction, appends, values))
    : await db.write<MovedRow>(APPEND, values);
  const found = new Map(moved.map((row) => [row.n, row]));
  return appends.map((_, index) => {
    const row = found.get(index + 1);
    return row === undefined ? undefined : { ...row, owner: fromColumn(row.owner) };
  });
}

async function appendWithIndexes(
  transaction: Transaction,
  appends: readonly BatchedAppend[],
  values: readonly SqlValue[],
): Promise<readonly MovedRow[]> {
  const moved = await transaction.query<MovedRow>(APPEND, values);
  const list = moved.flatMap(({ n, key, owner }) => {
    const { changes = [] } = appends[n - 1] ?? {};
    return changes.map((change) => ({ session: { key, owner: fromColumn(owner) }, changes: change }));
  });
  await writeIndexes(transaction, list);
  return moved;
}

/** One array per parameter of the statement. */
function toArrays(appends: readonly BatchedAppend[]): readonly SqlValue[] {
  const rows: (readonly [n: number, first: number, last: number, pos: number, text: string])[] = [];
  const totals = appends.map((append, index) => {
    let records = 0;
    let bytes = 0;
    for (const row of append.rows) {
      bytes += row.bytes;
      rows.push([index + 1, records + 1, records + row.records, bytes, row.text]);
      records += row.records;
    }
    return { records, bytes };
  });
  return [
    appends.map(({ sessionId }) => toColumn(sessionId)),
    appends.map(({ epoch }) => epoch),
    appends.map(({ expectedLastId }) => expectedLastId),
    totals.map(({ records }) => records),
    totals.map(({ bytes }) => bytes),
    rows.map(([n]) => n),
    rows.map(([, first]) => first),
    rows.map(([, , last]) => last),
    rows.map(([, , , pos]) => pos),
    rows.map(([, , , , text]) => text),
  ];
}
