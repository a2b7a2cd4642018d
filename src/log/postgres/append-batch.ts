/**
 * Stores many appends with one statement. Each append moves the end of its session, if the session still has the epoch
 * and the end that the append expects; a session that another transaction is changing is checked again after it. The
 * others of the batch do not depend on it. An append that was not stored is left to `appendOne`, which finds out why.
 */
import type { PostgresDatabase, SqlRunner, SqlValue, Transaction } from "../../postgres/postgres-database.ts";
import { assertContinues, assertEpoch, mayBeStored } from "../change-rules.ts";
import type { IndexChanges } from "../index-changes.ts";
import type { Append } from "../log.ts";
import { assertSession } from "../rules.ts";
import { findCommands, settleCommands } from "./command-rows.ts";
import { writeIndexes } from "./index-rows.ts";
import { insertRecords, type NewRecordRow, readTexts, splitRows } from "./record-rows.ts";
import { lockSession } from "./session-rows.ts";
import { fromColumn, toColumn } from "../../postgres/text-column.ts";

/** One or more appends of a session that follow each other. */
export interface BatchedAppend {
  readonly sessionId: string;
  readonly epoch: number;
  readonly expectedLastId: number;
  readonly row: NewRecordRow;
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

/** Separates the texts of a batch. JSON has no control characters. */
export const SEPARATOR = "\u001e";

const APPEND = `SELECT n, session AS key, session_owner AS owner, session_changes AS changes
  FROM @.append_batch($1, $2, $3, $4, $5, $6)`;

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

/** One array per parameter of the function. */
function toArrays(appends: readonly BatchedAppend[]): readonly SqlValue[] {
  return [
    appends.map(({ sessionId }) => toColumn(sessionId)),
    appends.map(({ epoch }) => epoch),
    appends.map(({ expectedLastId }) => expectedLastId),
    appends.map(({ row }) => row.records),
    appends.map(({ row }) => row.bytes),
    appends.map(({ row }) => row.text).join(SEPARATOR),
  ];
}

/**
 * Stores one append in its own transaction, or says why it cannot be stored. Also finds an append that is stored. Throws
 * `unknown_session`, `fenced`, `conflict` or `command_settled`.
 */
export async function appendOne(
  transaction: SqlRunner,
  batch: Append,
  changes: IndexChanges | undefined,
): Promise<StoredAppend> {
  const { sessionId, expectedLastId, entries, settle = [] } = batch;
  const head = assertSession(await lockSession(transaction, sessionId), sessionId);
  assertEpoch(sessionId, head, batch.epoch);
  const owner = fromColumn(head.owner);
  const { key } = head;
  const shape = { sessionId, expectedLastId, count: entries.length, settle };
  const ids = settle.map(({ commandId }) => commandId);
  const known = await findCommands(transaction, key, ids);
  const commands = ids.map((id) => known.get(id));
  if (mayBeStored(head, shape, commands) && (await isStored(transaction, key, batch)))
    return { key, owner, changes: head.changes };
  assertContinues(head, shape, commands);
  const end = await insertRecords(transaction, head, splitRows(entries.map(({ text }) => text)));
  const [row] = await transaction.query<{ changes: number }>(
    "UPDATE @.sessions SET last_id = $2, pos = $3, changes = changes + 1 WHERE key = $1 RETURNING changes",
    [key, end.lastId, end.pos],
  );
  if (changes !== undefined) await writeIndexes(transaction, [{ session: { key, owner }, changes }]);
  await settleCommands(transaction, key, settle);
  return { key, owner, changes: row?.changes ?? 0 };
}

/** Whether the records with the IDs of the batch have its texts. */
async function isStored(transaction: SqlRunner, key: number, { expectedLastId, entries }: Append): Promise<boolean> {
  if (entries.length === 0) return true;
  const texts = await readTexts(transaction, key, expectedLastId, entries.length);
  return texts.every((text, index) => text === entries[index]?.text);
}
