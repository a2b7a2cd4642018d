/** Reads and writes the rows of sessions. */
import { randomUUID } from "node:crypto";
import type { PostgresDatabase, SqlRunner, Transaction } from "../../postgres/postgres-database.ts";
import type { CreateOptions, SessionInfo } from "../log.ts";
import { measureEntries } from "../entry.ts";
import { processOf } from "../holder.ts";
import { assertOwnerOf } from "../change-rules.ts";
import type { OwnerQuota } from "./owner-usage.ts";
import { insertCarried } from "./record-rows.ts";
import { LOCAL_OWNER } from "../rules.ts";
import { describeSession, type SessionRow } from "../stored-rows.ts";
import {
  fromColumn,
  fromNullableColumn,
  fromOptionalColumn,
  toColumn,
  toOptionalColumn,
} from "../../postgres/text-column.ts";

/** A transaction of the log. */
export interface LogTransaction extends Transaction {
  readonly quota: OwnerQuota;
}

/** A row of `sessions`, with the time at which it was read. */
export interface StoredHead extends SessionRow {
  readonly isPinned: boolean;
  readonly isArchived: boolean;
  readonly lastId: number;
  readonly pos: number;
  readonly lease: string | null;
  readonly blobs: number;
  readonly blobBytes: number;
  readonly changes: number;
  readonly now: number;
}

/** Columns of `StoredHead`. */
export const HEAD = `s.key, s.session_id AS "sessionId", s.incarnation, s.title, s.created_at AS "createdAt",
  s.updated_at AS "updatedAt", s.first_id AS "firstId", s.base_pos AS "basePos", s.last_id AS "lastId", s.pos, s.epoch,
  s.holder, s.lease, s.expires_at AS "expiresAt", s.owner, s.root_id AS "rootId", s.origin_id AS "originId",
  s.origin_run_id AS "originRunId", s.origin_event_id AS "originEventId", s.blobs, s.blob_bytes AS "blobBytes",
  s.changes, s.is_pinned AS "isPinned", s.is_archived AS "isArchived", @now AS now`;

const FIND = `SELECT ${HEAD} FROM @.sessions s WHERE s.session_id = $1`;
const FIND_DRAFT = `SELECT ${HEAD} FROM @.sessions s WHERE s.key = $1 AND s.session_id IS NULL FOR UPDATE`;

const INSERT = `INSERT INTO @.sessions AS s (session_id, incarnation, title, owner, created_at, updated_at, first_id,
    last_id, epoch, holder, expires_at, root_id, origin_id, origin_run_id, origin_event_id, is_pinned,
    is_archived, base_pos)
  SELECT $1, $2, $3, $4, @now, @now, $5::bigint, $5::bigint - 1, nextval('@.epochs'), $6,
    CASE WHEN $7::double precision = 0 THEN 0 ELSE @now + $7 END, $8, $9, $10, $11, $12, $13, $14
  ON CONFLICT (session_id) DO NOTHING RETURNING ${HEAD}`;

/** Reads a session and locks it until the end of the transaction. */
export async function lockSession({ query }: SqlRunner, sessionId: string): Promise<StoredHead | undefined> {
  return (await query<StoredHead>(`${FIND} FOR UPDATE`, [toColumn(sessionId)]))[0];
}

export async function lockDraft({ query }: SqlRunner, key: number): Promise<StoredHead | undefined> {
  return (await query<StoredHead>(FIND_DRAFT, [key]))[0];
}

/** Reads a session without locking it. */
export async function findSession({ query }: SqlRunner, sessionId: string): Promise<StoredHead | undefined> {
  return (await query<StoredHead>(FIND, [toColumn(sessionId)]))[0];
}

/** A new session, or a draft if it has no ID. */
export interface NewSession extends Omit<CreateOptions, "entries"> {
  readonly sessionId: string | undefined;
  readonly holder?: string;
}

/** Returns undefined if the session exists. */
export async function insertSession(
  transaction: LogTransaction,
  { sessionId, title, owner = LOCAL_OWNER, firstId = 1, graceMs = 0, holder, ...fresh }: NewSession,
): Promise<StoredHead | undefined> {
  const { forkedFrom, rootId = sessionId, carried = [] } = fresh;
  const [row] = await transaction.query<StoredHead>(INSERT, [
    toOptionalColumn(sessionId),
    randomUUID(),
    toOptionalColumn(title),
    toColumn(owner),
    firstId,
    holder ?? null,
    graceMs,
    toOptionalColumn(rootId),
    toOptionalColumn(forkedFrom?.sessionId),
    toOptionalColumn(forkedFrom?.runId),
    forkedFrom?.eventId ?? null,
    fresh.isPinned ?? false,
    fresh.isArchived ?? false,
    -measureEntries(carried),
  ]);
  if (row !== undefined) await insertCarried(transaction, row.key, carried);
  return row;
}

/** Locks the session, or creates it. Throws `session_exists` if the owner is another one, and `quota_exceeded`. */
export async function openSession(
  transaction: LogTransaction,
  fresh: NewSession & { readonly sessionId: string },
): Promise<{ readonly head: StoredHead; readonly isNew: boolean }> {
  for (;;) {
    const known = await lockSession(transaction, fresh.sessionId);
    if (known !== undefined) {
      assertOwnerOf(fresh.sessionId, fromColumn(known.owner), fresh.owner);
      return { head: known, isNew: false };
    }
    const { owner = LOCAL_OWNER, carried = [] } = fresh;
    await transaction.quota.assertRoom(transaction, owner, { sessions: 1, bytes: measureEntries(carried) });
    const head = await insertSession(transaction, fresh);
    if (head !== undefined) return { head, isNew: true };
    // Another process created it in between.
  }
}

const TABLES = ["records", "runs", "landmarks", "commands", "snapshots", "texts", "carried"] as const;

/** Deletes a locked session with everything it has. */
export async function deleteRows({ query }: SqlRunner, key: number): Promise<void> {
  for (const table of TABLES) await query(`DELETE FROM @.${table} WHERE session = $1`, [key]);
  await query("DELETE FROM @.sessions WHERE key = $1", [key]);
}

/** What a process knows about others that hold leases. */
export type KnownHolders = Pick<PostgresDatabase, "recoveryMs" | "endedProcesses">;

export function isHeld({ holder, expiresAt, now }: StoredHead, { recoveryMs, endedProcesses }: KnownHolders): boolean {
  return holder !== null && expiresAt + recoveryMs > now && !endedProcesses.has(processOf(fromColumn(holder)));
}

export function describeHead(head: StoredHead, known: KnownHolders): SessionInfo {
  const { isPinned, isArchived, lastId, pos } = head;
  const row = {
    ...head,
    sessionId: fromNullableColumn(head.sessionId),
    title: fromNullableColumn(head.title),
    owner: fromColumn(head.owner),
    rootId: fromNullableColumn(head.rootId),
    originId: fromNullableColumn(head.originId),
    originRunId: fromNullableColumn(head.originRunId),
  };
  const holder = isHeld(head, known) ? fromOptionalColumn(head.holder) : undefined;
  return describeSession(row, { isPinned, isArchived, lastId, pos, holder });
}
