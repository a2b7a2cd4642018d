/**
 * Renews the leases of a process. Sessions renew at the same times, so those of one turn of the event loop are renewed
 * with one statement, however many there are.
 *
 * Invariant: the statement never waits for a lock, so it cannot deadlock with an append to several sessions. A row that
 * another transaction is changing is renewed alone.
 */
import type { PostgresDatabase } from "../../postgres/postgres-database.ts";
import { fromColumn, toColumn } from "../../postgres/text-column.ts";
import type { Lease } from "../log.ts";
import { renewLease } from "./lease-rows.ts";

const RENEW_ALL = `WITH free AS (
    SELECT s.key, i.ttl FROM unnest($1::text[], $2::bigint[], $3::double precision[]) AS i(session_id, epoch, ttl)
    JOIN @.sessions s ON s.session_id = i.session_id AND s.epoch = i.epoch
    WHERE s.holder IS NOT NULL FOR NO KEY UPDATE OF s SKIP LOCKED)
  UPDATE @.sessions s SET expires_at = @now + free.ttl FROM free WHERE s.key = free.key
  RETURNING s.session_id AS "sessionId", s.epoch, s.incarnation, s.last_id AS "lastId", s.expires_at AS "expiresAt"`;

/** Leases per statement. */
const MAX_LEASES = 1000;

interface Renewal {
  readonly lease: Lease;
  readonly ttlMs: number;
  readonly resolve: (lease: Lease | Promise<Lease>) => void;
  readonly reject: (error: unknown) => void;
}

export class LeaseRenewer {
  readonly #db: PostgresDatabase;
  #waiting: Renewal[] = [];

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  /** Throws `fenced` or `unknown_session`. */
  renew(lease: Lease, ttlMs: number): Promise<Lease> {
    const { promise, resolve, reject } = Promise.withResolvers<Lease>();
    this.#waiting.push({ lease, ttlMs, resolve, reject });
    if (this.#waiting.length === 1) setImmediate(() => this.#send());
    return promise;
  }

  #send(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += MAX_LEASES)
      void this.#renew(waiting.slice(from, from + MAX_LEASES));
  }

  async #renew(renewals: readonly Renewal[]): Promise<void> {
    try {
      const renewed = renewals.length === 1 ? new Map<string, Lease>() : await this.#renewTogether(renewals);
      for (const { lease, ttlMs, resolve } of renewals)
        resolve(renewed.get(keyOf(lease)) ?? renewLease(this.#db, lease, ttlMs));
    } catch (error) {
      for (const { reject } of renewals) reject(error);
    }
  }

  async #renewTogether(renewals: readonly Renewal[]): Promise<ReadonlyMap<string, Lease>> {
    const valid = renewals.filter(({ lease }) => Number.isSafeInteger(lease.epoch));
    const rows = await this.#db.write<Lease>(RENEW_ALL, [
      valid.map(({ lease }) => toColumn(lease.sessionId)),
      valid.map(({ lease }) => lease.epoch),
      valid.map(({ ttlMs }) => ttlMs),
    ]);
    const leases = rows.map((row) => ({ ...row, sessionId: fromColumn(row.sessionId) }));
    return new Map(leases.map((lease) => [keyOf(lease), lease]));
  }
}

function keyOf({ sessionId, epoch }: Lease): string {
  return `${epoch} ${sessionId}`;
}
