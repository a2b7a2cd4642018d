/**
 * Grants, renews and ends leases. The clock of the database decides whether a lease has ended; clocks and process IDs of
 * the writers do not matter. An epoch is granted once.
 */
import type { PostgresDatabase, SqlRunner } from "../../postgres/postgres-database.ts";
import { assertFree } from "../change-rules.ts";
import type { AcquireOptions, Lease } from "../log.ts";
import { fenced, unknownSession } from "../rules.ts";
import { findSession, HEAD, isHeld, type KnownHolders, type StoredHead } from "./session-rows.ts";
import { fromColumn, toColumn } from "../../postgres/text-column.ts";

const ACQUIRE = `UPDATE @.sessions s SET epoch = nextval('@.epochs'), holder = $2, lease = $3,
    expires_at = @now + $4, changes = changes + 1 WHERE s.key = $1 RETURNING ${HEAD}`;

const RENEW = `UPDATE @.sessions s SET expires_at = @now + $3
  WHERE s.session_id = $1 AND s.epoch = $2 AND s.holder IS NOT NULL RETURNING ${HEAD}`;

const RELEASE = `UPDATE @.sessions s SET epoch = nextval('@.epochs'), holder = NULL, lease = $3, expires_at = 0,
    changes = changes + 1 WHERE s.session_id = $1 AND s.epoch = $2
  RETURNING EXISTS (SELECT FROM @.runs r WHERE r.session = s.key AND r.last_id IS NULL)
    OR EXISTS (SELECT FROM @.commands c WHERE c.session = s.key AND c.outcome IS NULL) AS "isOrphan"`;

/** In the column `lease` of a session that its last writer handed over. A lease has a random ID there. */
const HANDED_OVER = "handed over";

export interface LeaseRequest extends Required<Omit<AcquireOptions, "create">> {
  /** Identifies this request, also when it is repeated. */
  readonly token: string;
  readonly known: KnownHolders;
}

/** Whether the last writer of a session handed it over. Undefined if the session already has the lease `token`. */
export function isHandedOver({ lease }: StoredHead, token: string): boolean | undefined {
  return lease === token ? undefined : lease === HANDED_OVER;
}

/** Grants a lease of a locked session. Throws `lease_held`. */
export async function grantLease(
  transaction: SqlRunner,
  sessionId: string,
  head: StoredHead,
  { holder, ttlMs, takeover, token, known }: LeaseRequest,
): Promise<Lease> {
  const isGranted = head.lease === token;
  const isFree = isGranted || !isHeld(head, known);
  assertFree(sessionId, isFree ? undefined : fromColumn(head.holder ?? ""), takeover);
  const [row = head] = isGranted
    ? [head]
    : await transaction.query<StoredHead>(ACQUIRE, [head.key, toColumn(holder), token, ttlMs]);
  return toLease(sessionId, row);
}

/** Throws `fenced` or `unknown_session`. */
export async function renewLease(db: PostgresDatabase, { sessionId, epoch }: Lease, ttlMs: number): Promise<Lease> {
  const [row] = Number.isSafeInteger(epoch)
    ? await db.write<StoredHead>(RENEW, [toColumn(sessionId), epoch, ttlMs])
    : [];
  if (row !== undefined) return toLease(sessionId, row);
  const head = await findSession(db.reader, sessionId);
  throw head === undefined ? unknownSession(sessionId) : fenced(sessionId, head.epoch);
}

/** Returns whether the session may have work for another writer. */
export async function endLease(
  db: PostgresDatabase,
  { sessionId, epoch }: Lease,
  handsOver: boolean,
): Promise<boolean> {
  if (!Number.isSafeInteger(epoch)) return false;
  const values = [toColumn(sessionId), epoch, handsOver ? HANDED_OVER : null];
  const [row] = await db.write<{ isOrphan: boolean }>(RELEASE, values);
  // Without a row, the answer to an earlier attempt may have been lost.
  return row?.isOrphan ?? true;
}

function toLease(sessionId: string, { epoch, incarnation, lastId, expiresAt }: StoredHead): Lease {
  return { sessionId, epoch, incarnation, lastId, expiresAt };
}
