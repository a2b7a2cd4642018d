/** Stores one append in its own transaction, or says why it cannot be stored. Also finds an append that is stored. */
import type { Transaction } from "../../postgres/postgres-database.ts";
import { assertContinues, assertEpoch, mayBeStored } from "../change-rules.ts";
import type { IndexChanges } from "../index-changes.ts";
import type { Append } from "../log.ts";
import type { StoredAppend } from "./append-batch.ts";
import { findCommands, settleCommands } from "./command-rows.ts";
import { writeIndexes } from "./index-rows.ts";
import { insertRecords, readTexts, splitRows } from "./record-rows.ts";
import { assertSession, lockSession } from "./session-rows.ts";
import { fromColumn } from "../../postgres/text-column.ts";

/** Throws `unknown_session`, `fenced`, `conflict` or `command_settled`. */
export async function appendOne(
  transaction: Transaction,
  now: number | null,
  batch: Append,
  changes: IndexChanges | undefined,
): Promise<StoredAppend> {
  const { sessionId, expectedLastId, entries, settle = [] } = batch;
  const head = assertSession(await lockSession(transaction, now, sessionId), sessionId);
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
  await settleCommands(transaction, now, key, settle);
  return { key, owner, changes: row?.changes ?? 0 };
}

/** Whether the records with the IDs of the batch have its texts. */
async function isStored(transaction: Transaction, key: number, { expectedLastId, entries }: Append): Promise<boolean> {
  if (entries.length === 0) return true;
  const texts = await readTexts(transaction, key, expectedLastId, entries.length);
  return texts.every((text, index) => text === entries[index]?.text);
}
