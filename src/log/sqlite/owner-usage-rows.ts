/**
 * Counts what each owner has stored, so that a quota costs a write the same however much there is. Changes are collected
 * and written once per owner before a commit. A missing or damaged row is counted again from the owner's sessions.
 */
import type { DatabaseSync } from "node:sqlite";
import { isLoomError } from "../../protocol/loom-error.ts";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { sealOf } from "../../sqlite/seal.ts";
import type { BlobUsage } from "../log.ts";
import { addUsage, assertQuota, hasQuotas, NO_USAGE, type OwnerQuotas, type OwnerUsage } from "../owner-quota.ts";
import type { StoredSession } from "./session-rows.ts";
import type { StoreRows } from "./store-rows.ts";

const SESSIONS_PER_PAGE = 1000;

const STATEMENTS = {
  find: "SELECT sessions, bytes, blobs, blob_bytes AS blobBytes, seal FROM owner_usage WHERE owner = ?",
  save: "INSERT OR REPLACE INTO owner_usage (owner, sessions, bytes, blobs, blob_bytes, seal) VALUES (?, ?, ?, ?, ?, ?)",
  drop: "DELETE FROM owner_usage WHERE owner = ?",
  findBlobs: "SELECT blobs, bytes FROM blob_usage WHERE session = ?",
  saveBlobs: "INSERT OR REPLACE INTO blob_usage (session, blobs, bytes) VALUES (?, ?, ?)",
  dropBlobs: "DELETE FROM blob_usage WHERE session = ?",
} as const;

export class OwnerUsageRows {
  readonly #sql: Statements<typeof STATEMENTS>;
  readonly #rows: StoreRows;
  readonly #quotas: OwnerQuotas;
  readonly #isOn: boolean;
  /** Rows known in this transaction or since the last write of another connection; undefined if there is no row. */
  readonly #known = new Map<string, OwnerUsage | undefined>();
  readonly #changed = new Set<string>();

  constructor(db: DatabaseSync, rows: StoreRows, quotas: OwnerQuotas) {
    this.#sql = prepareAll(db, STATEMENTS);
    this.#rows = rows;
    this.#quotas = quotas;
    this.#isOn = hasQuotas(quotas);
  }

  /** Forgets what is known, after a rollback or when another connection has written. */
  clear(): void {
    this.#known.clear();
    this.#changed.clear();
  }

  /** Call before a commit. */
  flush(): void {
    for (const owner of this.#changed) {
      const used = this.#known.get(owner);
      if (used === undefined || used.sessions <= 0) this.#sql.drop.run(owner);
      else this.#sql.save.run(owner, ...valuesOf(used), sealOf([owner, ...valuesOf(used)]));
      if (used !== undefined && used.sessions <= 0) this.#known.delete(owner);
    }
    this.#changed.clear();
    // Bounds the memory; the rows are read again.
    if (this.#known.size > SESSIONS_PER_PAGE) this.#known.clear();
  }

  /** Throws `quota_exceeded` if the owner may not store more. */
  assertRoom(owner: string, more: Partial<OwnerUsage>): void {
    if (this.#isOn) assertQuota(this.#count(owner), more, this.#quotas);
  }

  add(owner: string, more: Partial<OwnerUsage>): void {
    const used = this.#find(owner);
    if (used === undefined) return;
    this.#known.set(owner, addUsage(used, more));
    this.#changed.add(owner);
  }

  /** Whether the owner has reached the quota for records. */
  isFull(owner: string): boolean {
    return this.#quotas.maxOwnerBytes !== Infinity && this.#count(owner).bytes >= this.#quotas.maxOwnerBytes;
  }

  setBlobs({ key, owner }: StoredSession, { blobs, bytes }: BlobUsage): void {
    const before = this.#findBlobs(key);
    const more = { blobs: blobs - before.blobs, blobBytes: bytes - before.bytes };
    this.assertRoom(owner, more);
    this.#sql.saveBlobs.run(key, blobs, bytes);
    this.add(owner, more);
  }

  /** Subtracts a session that is deleted. */
  remove({ key, owner }: StoredSession, bytes: number): void {
    const blobs = this.#findBlobs(key);
    this.add(owner, { sessions: -1, bytes: -bytes, blobs: -blobs.blobs, blobBytes: -blobs.bytes });
    this.#sql.dropBlobs.run(key);
  }

  /** Returns the usage of an owner, and keeps it up to date from now on. */
  #count(owner: string): OwnerUsage {
    const known = this.#find(owner);
    if (known !== undefined) return known;
    const counted = this.#countSessions(owner);
    this.#known.set(owner, counted);
    this.#changed.add(owner);
    return counted;
  }

  #find(owner: string): OwnerUsage | undefined {
    if (this.#known.has(owner)) return this.#known.get(owner);
    const row = this.#sql.find.get(owner) as (OwnerUsage & { readonly seal: number }) | undefined;
    const isIntact = row !== undefined && row.seal === sealOf([owner, ...valuesOf(row)]);
    const used = isIntact ? addUsage(NO_USAGE, row) : undefined;
    this.#known.set(owner, used);
    return used;
  }

  #countSessions(owner: string): OwnerUsage {
    let used = NO_USAGE;
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const rows = this.#rows.sessions.list(before, SESSIONS_PER_PAGE, owner);
      for (const row of rows) {
        const { blobs, bytes: blobBytes } = this.#findBlobs(row.key);
        used = addUsage(used, { sessions: 1, bytes: this.#measure(row), blobs, blobBytes });
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < SESSIONS_PER_PAGE) return used;
      before = last.key;
    }
  }

  /** A session whose last record is damaged counts as empty: it cannot be written. */
  #measure(row: StoredSession): number {
    try {
      return this.#rows.records.findLast(row).pos - row.basePos;
    } catch (error) {
      if (isLoomError(error, "store_corrupt")) return 0;
      throw error;
    }
  }

  #findBlobs(key: number): BlobUsage {
    return (this.#sql.findBlobs.get(key) as BlobUsage | undefined) ?? { blobs: 0, bytes: 0 };
  }
}

function valuesOf({ sessions, bytes, blobs, blobBytes }: OwnerUsage): [number, number, number, number] {
  return [sessions, bytes, blobs, blobBytes];
}
