/**
 * Storage quotas of owners. What an owner has stored is counted from its sessions, and only if there are quotas. Changes
 * that a quota may refuse are made one after the other for each owner, over all processes.
 */
import type { PostgresDatabase, SqlRunner } from "../../postgres/postgres-database.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { assertQuota, hasQuotas, NO_USAGE, type OwnerQuotas, type OwnerUsage } from "../owner-quota.ts";
import { toColumn } from "../../postgres/text-column.ts";

/** How long the bytes that other processes have written may be unknown to this one. */
const MAX_AGE_MS = 1000;
const MAX_OWNERS = 10_000;

const COUNT = `SELECT count(*) AS sessions, coalesce(sum(pos - base_pos), 0)::bigint AS bytes,
    coalesce(sum(blobs), 0)::bigint AS blobs, coalesce(sum(blob_bytes), 0)::bigint AS "blobBytes"
  FROM @.sessions WHERE owner = $1 AND session_id IS NOT NULL`;

interface CountedBytes {
  bytes: number;
  readonly countedAt: number;
}

export class OwnerQuota {
  readonly #db: PostgresDatabase;
  readonly #quotas: OwnerQuotas;
  readonly #isOn: boolean;
  readonly #counted = new BoundedMap<CountedBytes>(MAX_OWNERS);

  constructor(db: PostgresDatabase, quotas: OwnerQuotas) {
    this.#db = db;
    this.#quotas = quotas;
    this.#isOn = hasQuotas(quotas);
  }

  /** Throws `quota_exceeded` if the owner may not store more. Others wait until the end of the transaction. */
  async assertRoom({ query }: SqlRunner, owner: string, more: Partial<OwnerUsage>): Promise<void> {
    if (!this.#isOn) return;
    await query("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", [toColumn(owner)]);
    const [used = NO_USAGE] = await query<OwnerUsage>(COUNT, [toColumn(owner)]);
    assertQuota(used, more, this.#quotas);
  }

  /** Whether the owner has reached the quota for records, after an append of `bytes`. */
  async isFull(owner: string, bytes: number): Promise<boolean> {
    const { maxOwnerBytes } = this.#quotas;
    if (maxOwnerBytes === Infinity) return false;
    const known = this.#counted.get(owner);
    if (known !== undefined && performance.now() - known.countedAt < MAX_AGE_MS) {
      known.bytes += bytes;
      if (known.bytes < maxOwnerBytes) return false;
    }
    const [used = NO_USAGE] = await this.#db.read<OwnerUsage>(COUNT, [toColumn(owner)]);
    this.#counted.set(owner, { bytes: used.bytes, countedAt: performance.now() });
    return used.bytes >= maxOwnerBytes;
  }
}
