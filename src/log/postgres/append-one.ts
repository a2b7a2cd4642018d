/** Stores one append in its own transaction, or says why it cannot be stored. Also finds an append that is stored. */
import { LoomError } from "../../protocol/loom-error.ts";
import type { Transaction } from "../../postgres/postgres-database.ts";
import type { IndexChanges } from "../index-changes.ts";
import type { Append, CommandOutcome } from "../log.ts";
import { fenced, isSameOutcome } from "../rules.ts";
import type { CommandRow } from "../stored-rows.ts";
import type { StoredAppend } from "./append-batch.ts";
import { findCommands, settleCommands } from "./command-rows.ts";
import { writeIndexes } from "./index-rows.ts";
import { insertRecords, readTexts, splitRows } from "./record-rows.ts";
import { assertSession, lockSession, type StoredHead } from "./session-rows.ts";
import { fromColumn } from "../../postgres/text-column.ts";

/** Throws `unknown_session`, `fenced`, `conflict` or `command_settled`. */
export async function appendOne(
  transaction: Transaction,
  now: number | null,
  batch: Append,
  changes: IndexChanges,
): Promise<StoredAppend> {
  const { sessionId, expectedLastId, entries, settle = [] } = batch;
  const head = assertSession(await lockSession(transaction, now, sessionId), sessionId);
  assertEpoch(head, sessionId, batch.epoch);
  const owner = fromColumn(head.owner);
  const { key } = head;
  const ids = settle.map(({ commandId }) => commandId);
  const known = await findCommands(transaction, key, ids);
  if (await isRetry(transaction, head, batch, known)) return { key, owner, changes: head.changes };
  if (head.lastId !== expectedLastId)
    throw new LoomError("conflict", `Session "${sessionId}" ends at record ${head.lastId}, not ${expectedLastId}`, {
      last_event_id: head.lastId,
    });
  for (const [index, commandId] of ids.entries()) {
    const row = known.get(commandId);
    if (row === undefined || row.outcome !== null || ids.indexOf(commandId) !== index)
      throw new LoomError("command_settled", `Command "${commandId}" of session "${sessionId}" is not pending`);
  }
  const rows = splitRows(entries.map(({ text }) => text));
  const end = await insertRecords(transaction, head, rows);
  const [row] = await transaction.query<{ changes: number }>(
    "UPDATE @.sessions SET last_id = $2, pos = $3, changes = changes + 1 WHERE key = $1 RETURNING changes",
    [key, end.lastId, end.pos],
  );
  await writeIndexes(transaction, [{ session: { key, owner }, changes }]);
  await settleCommands(transaction, now, key, settle);
  return { key, owner, changes: row?.changes ?? 0 };
}

/** Throws `fenced`. An epoch without a holder was never granted, or was released. */
export function assertEpoch(head: StoredHead, sessionId: string, epoch: number): void {
  if (head.epoch !== epoch || head.holder === null) throw fenced(sessionId, head.epoch);
}

/** Whether the batch is already stored byte for byte, and its commands have the same outcomes. */
async function isRetry(
  transaction: Transaction,
  head: StoredHead,
  { expectedLastId, entries, settle = [] }: Append,
  commands: ReadonlyMap<string, CommandRow>,
): Promise<boolean> {
  const count = entries.length;
  if (count + settle.length === 0 || (count > 0 && expectedLastId === head.lastId)) return false;
  if (expectedLastId < head.firstId - 1 || expectedLastId + count > head.lastId) return false;
  const isAnswered = settle.every(({ commandId, outcome }) => {
    const stored = commands.get(commandId)?.outcome ?? null;
    return stored !== null && isSameOutcome(JSON.parse(stored) as CommandOutcome, outcome);
  });
  if (!isAnswered) return false;
  if (count === 0) return true;
  const texts = await readTexts(transaction, head.key, expectedLastId, count);
  return texts.every((text, index) => text === entries[index]?.text);
}
