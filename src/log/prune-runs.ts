/**
 * Retention, the same for every store: decides which runs are pruned. A store only lists, measures and cuts.
 *
 * Invariants:
 * - One call prunes at a time, over all processes that share the store. It holds the right to prune, which each cut checks
 *   and renews; if its process ends, another one can prune after `PRUNING_MS`.
 * - The store is measured before each batch, so that no more is deleted than the policy allows.
 * - A cut is one short transaction on one session. Sessions from which nothing is pruned are not locked.
 */
import { randomUUID } from "node:crypto";
import { isLoomError } from "../protocol/loom-error.ts";
import { collectCarried } from "./carried-content.ts";
import { measureEntries } from "./entry.ts";
import { createLoopYield } from "./follow-records.ts";
import type { Log, LogEntry } from "./log.ts";
import type { PruneReport, RetentionPolicy } from "./retention-policy.ts";
import type { RunRow } from "./stored-rows.ts";

/** How long the right to prune lasts without a renewal. */
export const PRUNING_MS = 30_000;
/** Ended runs that a store lists at once. */
export const ENDED_RUNS = 200;
/** Sessions that a store lists at once. */
export const LARGE_SESSIONS = 200;
/** Runs of a session that are read at first. */
const FIRST_RUNS = 1000;
/** How often a cut is prepared if runs start in the meantime. */
const MAX_ATTEMPTS = 3;

/** A session in the order of creation. */
export interface PrunableSession {
  readonly key: number;
  readonly sessionId: string;
}

/** A run that has ended, with its session. */
export interface EndedRun extends PrunableSession {
  readonly runId: string;
  readonly endedAt: number;
}

export type PrunableRun = Pick<RunRow, "firstId" | "lastId" | "endedAt">;

/** A cut that has been prepared. */
export interface SessionCut extends PrunableSession {
  /** The right to prune. */
  readonly holder: string;
  /** First record when the cut was prepared. */
  readonly firstId: number;
  /** First record of the newest run then; 0 if there was none. A later run may refer to what is pruned. */
  readonly newestRun: number;
  /** Last record that is pruned. */
  readonly lastId: number;
  /** What later records need; replaces what was carried before. */
  readonly carried: readonly LogEntry[];
}

/**
 * What a cut removed; `changed` if the session was deleted, pruned or got a run since the cut was prepared, and `lost` if
 * another call has the right to prune.
 */
export type CutOutcome = Pick<PruneReport, "runs" | "records" | "bytes"> | "changed" | "lost";

/** What retention needs from a store. */
export interface PrunableStore {
  /** Takes or renews the right to prune for `PRUNING_MS`; false if another call has it. */
  readonly hold: (holder: string) => Promise<boolean>;
  readonly release: (holder: string) => Promise<void>;
  /** Size of all sessions in bytes. */
  readonly measure: () => Promise<number>;
  /** Lists up to `ENDED_RUNS` runs that ended before `before`, by time, session and ID, after the given one. */
  readonly listEnded: (before: number, after: EndedRun | undefined) => Promise<readonly EndedRun[]>;
  /** Lists up to `LARGE_SESSIONS` sessions larger than this, by key. */
  readonly listLarge: (bytes: number, afterKey: number) => Promise<readonly PrunableSession[]>;
  /** Lists the runs of a session in the order they started. */
  readonly listRuns: (key: number, limit: number) => Promise<readonly PrunableRun[]>;
  /** Size of the records after record `id`, without carried ones. Throws `store_corrupt`. */
  readonly measureAfter: (key: number, id: number) => Promise<number>;
  /** Throws `store_corrupt`. */
  readonly cut: (cut: SessionCut) => Promise<CutOutcome>;
}

/** A position at the end of a run that no other run spans. */
interface RetentionCut {
  readonly lastId: number;
  /** When the last of its runs ended. */
  readonly endedAt: number;
}

/** What is planned for a session. */
interface SessionPlan extends PrunableSession {
  readonly cuts: readonly RetentionCut[];
  /** How many of the cuts are due. */
  count: number;
  /** Size of the records now and after each of these cuts. What will be carried is not known yet. */
  readonly sizes: number[];
}

/** Thrown when another call has the right to prune. */
class PruningHeld extends Error {}

/** Removes runs as the policy says. `now` is the current time. */
export async function pruneRuns(
  log: Log,
  store: PrunableStore,
  { maxAgeMs, maxSessionBytes, maxBytes }: RetentionPolicy,
  now: number,
): Promise<PruneReport> {
  const pruning = new Pruning(log, store);
  if (maxAgeMs === undefined && maxSessionBytes === undefined && maxBytes === undefined) return pruning.report;
  try {
    await pruning.hold();
    if (maxAgeMs !== undefined) await pruning.pruneOld(now - maxAgeMs);
    if (maxSessionBytes !== undefined) await pruning.pruneLarge(maxSessionBytes);
    if (maxBytes !== undefined) await pruning.pruneOldest(maxBytes);
  } catch (error) {
    if (!(error instanceof PruningHeld)) throw error;
    return { ...pruning.report, isBusy: true };
  } finally {
    await pruning.release();
  }
  return pruning.report;
}

class Pruning {
  readonly #log: Log;
  readonly #store: PrunableStore;
  readonly #holder = randomUUID();
  readonly #done = { runs: 0, records: 0, bytes: 0 };
  readonly #damaged = new Set<string>();
  /** Reads of a store may block the event loop. */
  readonly #yieldToLoop = createLoopYield();

  constructor(log: Log, store: PrunableStore) {
    this.#log = log;
    this.#store = store;
  }

  get report(): PruneReport {
    return this.#damaged.size === 0 ? { ...this.#done } : { ...this.#done, damaged: [...this.#damaged] };
  }

  async hold(): Promise<void> {
    if (!(await this.#store.hold(this.#holder))) throw new PruningHeld();
  }

  /** If this fails, the right expires. */
  async release(): Promise<void> {
    await this.#store.release(this.#holder).catch(() => undefined);
  }

  /** Prunes the runs that ended before this time. */
  async pruneOld(before: number): Promise<void> {
    const seen = new Set<number>();
    for (let after: EndedRun | undefined; ;) {
      const page = await this.#store.listEnded(before, after);
      for (const session of page) {
        if (seen.has(session.key)) continue;
        seen.add(session.key);
        await this.#skipIfDamaged(session, async () => {
          for (let freed: number | "too much" | undefined = 0; freed !== undefined;)
            freed = await this.#cut(session, findLastCut(await this.#listCuts(session.key), before), Infinity);
        });
      }
      after = page.at(-1);
      if (page.length < ENDED_RUNS) return;
      await this.hold();
    }
  }

  /** Prunes sessions until none is larger than this. */
  async pruneLarge(most: number): Promise<void> {
    for (let afterKey = 0; ;) {
      const page = await this.#store.listLarge(most, afterKey);
      for (const session of page)
        await this.#skipIfDamaged(session, async () => {
          for (let freed: number | undefined = 0; freed !== undefined;) {
            const { bytes = 0 } = (await this.#log.getSession(session.sessionId)) ?? {};
            const [plan] = await this.#planOldest([session], bytes - most, Infinity);
            freed = plan === undefined ? undefined : await this.#cutPlan(plan, bytes - most);
          }
        });
      const last = page.at(-1);
      if (last === undefined || page.length < LARGE_SESSIONS) return;
      afterKey = last.key;
      await this.hold();
    }
  }

  /** Prunes the runs that ended first, in all sessions, until the store is not larger than this. */
  async pruneOldest(most: number): Promise<void> {
    for (let after: EndedRun | undefined; ;) {
      await this.hold();
      let excess = (await this.#store.measure()) - most;
      if (excess <= 0) return;
      const page = await this.#store.listEnded(Infinity, after);
      const isLast = page.length < ENDED_RUNS;
      const { runs } = this.#done;
      for (const plan of await this.#planOldest(page, excess, isLast ? Infinity : (page.at(-1)?.endedAt ?? 0)))
        if (excess > 0)
          await this.#skipIfDamaged(plan, async () => {
            excess -= (await this.#cutPlan(plan, excess)) ?? 0;
          });
      // What could be pruned of this page is gone, unless it overlaps with later or live runs.
      if (this.#done.runs > runs) continue;
      if (isLast) return;
      after = page.at(-1);
    }
  }

  /**
   * Selects the cuts of these sessions that ended first, up to `until` and until `excess` bytes of records are freed. The
   * sessions are in the order of their first runs, so that only those that are needed are read.
   */
  async #planOldest(
    page: readonly (PrunableSession & Partial<EndedRun>)[],
    excess: number,
    until: number,
  ): Promise<readonly SessionPlan[]> {
    const plans = new Map<number, SessionPlan>();
    let next = 0;
    for (let left = excess; left > 0; await this.#yieldToLoop()) {
      const oldest = findOldest(plans.values(), until);
      const cut = oldest?.cuts[oldest.count];
      const other = page[next];
      // A cut ends no earlier than the first run of its session.
      if (other !== undefined && (cut === undefined || (other.endedAt ?? 0) <= cut.endedAt)) {
        next++;
        if (!plans.has(other.key)) await this.#skipIfDamaged(other, async () => this.#addPlan(plans, other));
        continue;
      }
      if (oldest === undefined || cut === undefined) break;
      const before = oldest.sizes.at(-1) ?? 0;
      const isMeasured = await this.#skipIfDamaged(oldest, async () => {
        oldest.sizes.push(await this.#store.measureAfter(oldest.key, cut.lastId));
        oldest.count++;
      });
      left -= before - (oldest.sizes.at(-1) ?? 0);
      plans.delete(oldest.key);
      // The session of the last cut becomes the last one: only its cut may turn out to be more than is needed.
      if (isMeasured) plans.set(oldest.key, oldest);
    }
    return [...plans.values()].filter(({ count }) => count > 0);
  }

  async #addPlan(plans: Map<number, SessionPlan>, { key, sessionId }: PrunableSession): Promise<void> {
    const info = await this.#log.getSession(sessionId);
    if (info === undefined) return;
    const sizes = [info.bytes - measureEntries(await this.#log.readCarried(sessionId))];
    plans.set(key, { key, sessionId, cuts: await this.#listCuts(key), count: 0, sizes });
  }

  /**
   * Cuts a session as planned, or prunes fewer runs if the last one need not be pruned to free `excess` bytes, because less
   * has to be carried. Returns the bytes that were freed; undefined if the session was not cut.
   */
  async #cutPlan({ cuts, sizes, count, ...session }: SessionPlan, excess: number): Promise<number | undefined> {
    for (let runs = count; ; runs = Math.ceil(runs / 2)) {
      const lastRun = (sizes[runs - 1] ?? 0) - (sizes[runs] ?? 0);
      const freed = await this.#cut(session, cuts[runs - 1], runs === 1 ? Infinity : excess + lastRun);
      if (freed !== "too much") return freed;
    }
  }

  /**
   * Cuts a session, unless that would free `tooMuch` bytes. Returns the bytes that were freed; undefined if the session was
   * not cut.
   */
  async #cut(
    { key, sessionId }: PrunableSession,
    cut: RetentionCut | undefined,
    tooMuch: number,
  ): Promise<number | "too much" | undefined> {
    if (cut === undefined) return undefined;
    const { lastId } = cut;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const [newest] = await this.#log.listRuns(sessionId, { limit: 1 });
      const info = await this.#log.getSession(sessionId);
      if (info === undefined || info.firstId > lastId) return undefined;
      const carried = await collectCarried(this.#log, info, lastId + 1, newest?.status === "live");
      const isLimited = tooMuch < Infinity;
      const left = isLimited ? (await this.#store.measureAfter(key, lastId)) + measureEntries(carried) : 0;
      if (isLimited && info.bytes - left >= tooMuch) return "too much";
      const about = { key, sessionId, holder: this.#holder, firstId: info.firstId, newestRun: newest?.firstId ?? 0 };
      const outcome = await this.#store.cut({ ...about, lastId, carried });
      if (outcome === "lost") throw new PruningHeld();
      if (outcome === "changed") continue;
      this.#done.runs += outcome.runs;
      this.#done.records += outcome.records;
      this.#done.bytes += outcome.bytes;
      return outcome.bytes;
    }
    return undefined;
  }

  /** Reads the first runs of a session, or all if the first are not enough for a cut. */
  async #listCuts(key: number): Promise<readonly RetentionCut[]> {
    const runs = await this.#store.listRuns(key, FIRST_RUNS);
    const cuts = listCuts(runs);
    if (runs.length < FIRST_RUNS) return cuts;
    // The next run may overlap with the last of these.
    if (cuts.length > 1) return cuts.slice(0, -1);
    return listCuts(await this.#store.listRuns(key, Number.MAX_SAFE_INTEGER));
  }

  /** Reports a damaged session and leaves it as it is. A session that was deleted meanwhile is ignored. */
  async #skipIfDamaged({ sessionId }: PrunableSession, prune: () => Promise<unknown>): Promise<boolean> {
    if (this.#damaged.has(sessionId)) return false;
    try {
      await prune();
      return true;
    } catch (error) {
      if (isLoomError(error, "store_corrupt")) this.#damaged.add(sessionId);
      else if (!isLoomError(error, "unknown_session", "evicted", "cursor_stale")) throw error;
      return false;
    }
  }
}

/** Lists the positions to which a session can be pruned. `runs` are in the order they started. */
function listCuts(runs: readonly PrunableRun[]): readonly RetentionCut[] {
  const cuts: RetentionCut[] = [];
  for (const { firstId, lastId, endedAt } of runs) {
    const before = cuts.at(-1);
    // A run that overlaps the one before belongs to the same cut.
    const overlapped = before !== undefined && firstId <= before.lastId ? cuts.pop() : undefined;
    if (lastId === null) return cuts;
    cuts.push({
      lastId: Math.max(lastId, overlapped?.lastId ?? 0),
      endedAt: Math.max(endedAt ?? 0, overlapped?.endedAt ?? 0),
    });
  }
  // After the highest record ID, no ID is left with which the session could start.
  return cuts.filter(({ lastId }) => lastId < Number.MAX_SAFE_INTEGER);
}

/** Returns the last cut before the first one that ended later. */
function findLastCut(cuts: readonly RetentionCut[], before: number): RetentionCut | undefined {
  const firstKept = cuts.findIndex(({ endedAt }) => endedAt >= before);
  return firstKept === -1 ? cuts.at(-1) : cuts[firstKept - 1];
}

/** Returns the session whose next cut ended first; of several, the one that was created first. */
function findOldest(plans: Iterable<SessionPlan>, until: number): SessionPlan | undefined {
  let oldest: SessionPlan | undefined;
  let first = until;
  for (const plan of plans) {
    const { endedAt = Infinity } = plan.cuts[plan.count] ?? {};
    if (endedAt > first || endedAt === Infinity) continue;
    if (oldest !== undefined && endedAt === first && oldest.key < plan.key) continue;
    oldest = plan;
    first = endedAt;
  }
  return oldest;
}
