/**
 * Drafts: sessions that are written in several transactions and have no ID until they are complete. No reader finds
 * them. A draft that is not written for a while is deleted by the next prune.
 */
import type { PostgresDatabase, SqlRunner } from "../../postgres/postgres-database.ts";
import { fromColumn, fromOptionalColumn, toColumn, toOptionalColumn } from "../../postgres/text-column.ts";
import { LoomError } from "../../protocol/loom-error.ts";
import { measureEntries } from "../entry.ts";
import type { IndexChanges } from "../index-changes.ts";
import type { LogEntry } from "../log.ts";
import type { NewSessionOptions } from "../log-tables.ts";
import { inheritValues, sessionExists } from "../rules.ts";
import { checkRunLimit } from "./command-rows.ts";
import { writeIndexes, writeTexts } from "./index-rows.ts";
import { insertRecords, splitRows } from "./record-rows.ts";
import {
  deleteRows,
  insertSession,
  lockDraft,
  lockSession,
  type LogTransaction,
  type StoredHead,
} from "./session-rows.ts";

/** Time without a write after which a draft is deleted. */
const ABANDONED_MS = 5 * 60_000;

const EXTEND = `UPDATE @.sessions SET last_id = $2, pos = $3, expires_at = @now + ${ABANDONED_MS} WHERE key = $1`;

const PUBLISH = `UPDATE @.sessions SET session_id = $2, title = $3, root_id = $4, is_pinned = $6, is_archived = $7, epoch = nextval('@.epochs'),
    holder = NULL, expires_at = CASE WHEN $5::double precision = 0 THEN 0 ELSE @now + $5 END WHERE key = $1`;

const ABANDONED = `SELECT key FROM @.sessions WHERE session_id IS NULL AND expires_at <= @now LIMIT 100`;

export async function createDraft(transaction: LogTransaction, options: NewSessionOptions): Promise<number> {
  const { title: _title, isPinned: _isPinned, isArchived: _isArchived, rootId: _rootId, ...rest } = options;
  const draft = { ...rest, sessionId: undefined, holder: "draft", graceMs: ABANDONED_MS };
  return assertDraft(await insertSession(transaction, draft)).key;
}

/** Appends records to a draft that ends at record `after`. */
export async function extendDraft(
  transaction: LogTransaction,
  key: number,
  after: number,
  entries: readonly LogEntry[],
  changes: IndexChanges,
): Promise<void> {
  const head = assertDraft(await lockDraft(transaction, key));
  // The answer to an earlier attempt was lost.
  if (head.lastId === after + entries.length) return;
  const owner = fromColumn(head.owner);
  // Refused before the rest is copied; `publishDraft` decides.
  await transaction.quota.assertRoom(transaction, owner, { bytes: head.pos - head.basePos + measureEntries(entries) });
  const end = await insertRecords(transaction, head, splitRows(entries.map(({ text }) => text)));
  await transaction.query(EXTEND, [key, end.lastId, end.pos]);
  await writeIndexes(transaction, [{ session: { key, owner }, changes }]);
}

/** Throws `session_exists`, `quota_exceeded` and `too_many_runs`. */
export async function publishDraft(
  transaction: LogTransaction,
  key: number,
  sessionId: string,
  options: NewSessionOptions,
): Promise<void> {
  const { rootId = sessionId, graceMs = 0 } = options;
  const known = await lockSession(transaction, sessionId);
  if (known?.key === key) return;
  if (known !== undefined) throw sessionExists(sessionId);
  // Locked before the quota, as for an append.
  const origin = await lockOrigin(transaction, options);
  const { title, isPinned, isArchived } = inheritValues(options, origin);
  const { owner, pos, basePos } = assertDraft(await lockDraft(transaction, key));
  await transaction.quota.assertRoom(transaction, fromColumn(owner), { sessions: 1, bytes: pos - basePos });
  const names = [toColumn(sessionId), toOptionalColumn(title), toColumn(rootId)];
  await transaction.query(PUBLISH, [key, ...names, graceMs, isPinned, isArchived]);
  await checkRunLimit(transaction, options.runLimit, key);
  if (title === undefined) return;
  await writeTexts(transaction, [{ session: { key, owner: fromColumn(owner) }, eventId: 0, text: title }]);
}

/** The lock lets a change of the origin wait until the fork is found. */
async function lockOrigin(
  transaction: LogTransaction,
  { inherits, forkedFrom }: NewSessionOptions,
): Promise<Parameters<typeof inheritValues>[1]> {
  if (inherits === undefined || forkedFrom === undefined) return undefined;
  const origin = await lockSession(transaction, forkedFrom.sessionId);
  return origin && { ...origin, title: fromOptionalColumn(origin.title) };
}

export async function discardDraft(transaction: SqlRunner, key: number): Promise<void> {
  if ((await lockDraft(transaction, key)) !== undefined) await deleteRows(transaction, key);
}

/** Deletes drafts whose writers have ended or stopped. */
export async function discardAbandoned(db: PostgresDatabase): Promise<void> {
  for (const { key } of await db.read<{ key: number }>(ABANDONED))
    await db.transact((transaction) => discardDraft(transaction, key));
}

function assertDraft(head: StoredHead | undefined): StoredHead {
  if (head !== undefined) return head;
  throw new LoomError("conflict", "The copy paused for too long and was discarded; try again");
}
