/**
 * Drafts: sessions that are written in several transactions and have no ID until they are complete. No reader finds
 * them. A draft whose writer has ended, or has not written for a while, is discarded by the next sweep.
 */
import { LoomError } from "../../protocol/loom-error.ts";
import { randomUUID } from "node:crypto";
import { isHolderGone } from "../holder.ts";
import type { IndexChanges } from "../index-changes.ts";
import { inheritValues, LOCAL_OWNER, sessionExists } from "../rules.ts";
import { type Head, type Heads, idAfter } from "./heads.ts";
import type { OperationOf } from "./operations.ts";
import type { OwnerUsageRows } from "./owner-usage-rows.ts";
import { measureRows } from "./prune.ts";
import { toLineageColumns } from "./session-rows.ts";
import type { StoreRows } from "./store-rows.ts";

/** Time without a write after which a draft is discarded. */
const ABANDONED_MS = 5 * 60_000;
/** Drafts checked in one sweep. */
const MAX_CHECKED = 100;

/** Writes records and their index changes. */
type WriteRecords = (head: Head, text: string, count: number, changes: IndexChanges) => void;

export class Drafts {
  readonly #rows: StoreRows;
  readonly #heads: Heads;
  readonly #usage: OwnerUsageRows;
  readonly #write: WriteRecords;

  constructor(rows: StoreRows, heads: Heads, usage: OwnerUsageRows, write: WriteRecords) {
    this.#rows = rows;
    this.#heads = heads;
    this.#usage = usage;
    this.#write = write;
  }

  create({ owner = LOCAL_OWNER, firstId = 1, holder, carried, now }: OperationOf<"create-draft">): number {
    const times = { createdAt: now, updatedAt: now, expiresAt: now + ABANDONED_MS };
    const unnamed = { sessionId: null, title: null, isPinned: 0, isArchived: 0, epoch: 0 };
    const lineage = { rootId: null, originId: null, originRunId: null, originEventId: null };
    const fresh = { incarnation: randomUUID(), owner, firstId, basePos: -measureRows(carried), holder };
    const { key } = this.#rows.sessions.create({ ...times, ...unnamed, ...lineage, ...fresh });
    if (carried.length > 0) this.#rows.carried.replace(key, carried);
    return key;
  }

  extend({ key, text, count, changes, now }: OperationOf<"extend-draft">): void {
    const head = this.#get(key);
    // Refused before the rest is copied; `publish` decides.
    this.#usage.assertRoom(head.row.owner, { bytes: head.pos - head.row.basePos + text.length });
    this.#heads.save(head, { expiresAt: now + ABANDONED_MS });
    this.#write(head, text, count, changes);
  }

  /** Throws `session_exists`, `quota_exceeded` and `too_many_runs`. */
  publish(draft: OperationOf<"publish-draft">): void {
    const { key, sessionId, graceMs = 0, runLimit, now } = draft;
    const { sessions, searchIndex, commands } = this.#rows;
    const head = this.#get(key);
    if (this.#heads.find(sessionId) !== undefined) throw sessionExists(sessionId);
    const { title, isPinned, isArchived } = inheritValues(draft, this.#findOrigin(draft));
    const stored = { sessions: 1, bytes: head.pos - head.row.basePos };
    this.#usage.assertRoom(head.row.owner, stored);
    commands.assertRunLimit(runLimit);
    this.#usage.add(head.row.owner, stored);
    this.#heads.save(head, {
      sessionId,
      title: title ?? null,
      isPinned: Number(isPinned),
      isArchived: Number(isArchived),
      // An old lease must not be valid in a new session with the same ID.
      epoch: sessions.lastEpoch,
      holder: null,
      expiresAt: graceMs === 0 ? 0 : now + graceMs,
      ...toLineageColumns(sessionId, draft),
    });
    if (title !== undefined) searchIndex.add(head.row, 0, title);
  }

  #findOrigin({ forkedFrom }: OperationOf<"publish-draft">): Parameters<typeof inheritValues>[1] {
    const origin = forkedFrom && this.#heads.find(forkedFrom.sessionId)?.row;
    if (origin === undefined) return undefined;
    const { incarnation, title, isPinned, isArchived } = origin;
    return { incarnation, title: title ?? undefined, isPinned: isPinned === 1, isArchived: isArchived === 1 };
  }

  /** Marks the rows of the draft to be swept. */
  discard(key: number): void {
    const head = this.#find(key);
    if (head === undefined) return;
    this.#heads.save(head, { firstId: idAfter(head), holder: null });
    this.#rows.sessions.markUnswept(head.row);
  }

  /** Discards the drafts of writers that have ended or stopped. */
  discardAbandoned(now: number): void {
    for (const { key, holder, expiresAt } of this.#rows.sessions.listDrafts(MAX_CHECKED))
      if (expiresAt <= now || holder === null || isHolderGone(holder)) this.discard(key);
  }

  #get(key: number): Head {
    const head = this.#find(key);
    if (head !== undefined) return head;
    throw new LoomError("conflict", "The copy paused for too long and was discarded; try again");
  }

  /** Undefined if it was discarded: it then has no holder. */
  #find(key: number): Head | undefined {
    const row = this.#rows.sessions.findByKey(key);
    if (row === undefined || row.sessionId !== null || row.holder === null) return undefined;
    return this.#heads.open(row);
  }
}
