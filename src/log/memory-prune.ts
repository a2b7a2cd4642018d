/** Retention of the in-memory log: lists, measures and cuts its sessions for `prune-runs.ts`. */
import { Buffer } from "node:buffer";
import { measureEntries } from "./entry.ts";
import type { Log } from "./log.ts";
import { cutSession, type MemorySession } from "./memory-session.ts";
import {
  type CutOutcome,
  type EndedRun,
  ENDED_RUNS,
  LARGE_SESSIONS,
  PRUNING_MS,
  type PrunableRun,
  type PrunableSession,
  type PrunableStore,
  pruneRuns,
  type SessionCut,
} from "./prune-runs.ts";
import type { PruneReport, RetentionPolicy } from "./retention-policy.ts";
import { SETTLED_COMMANDS_MS } from "./rules.ts";

export class MemoryPruner implements PrunableStore {
  /** In the order of creation. */
  readonly #sessions: ReadonlyMap<string, MemorySession>;
  readonly #now: () => number;
  readonly #keys = new WeakMap<MemorySession, number>();
  /** Session IDs by key. Those of deleted sessions remain until the sessions are listed again. */
  #ids: ReadonlyMap<number, string> = new Map();
  #lastKey = 0;
  #right = { holder: "", expiresAt: 0 };

  constructor(sessions: ReadonlyMap<string, MemorySession>, now: () => number) {
    this.#sessions = sessions;
    this.#now = now;
  }

  async prune(log: Log, policy: RetentionPolicy): Promise<PruneReport> {
    const { now = this.#now(), maxAgeMs = SETTLED_COMMANDS_MS } = policy;
    const report = await pruneRuns(log, this, policy, now);
    for (const { commands, settledAt } of this.#sessions.values())
      for (const [commandId, at] of settledAt) {
        if (at >= now - maxAgeMs) continue;
        commands.delete(commandId);
        settledAt.delete(commandId);
      }
    return report;
  }

  async hold(holder: string): Promise<boolean> {
    const left = this.#right.expiresAt - this.#now();
    // The clock may have been set back.
    if (this.#right.holder !== holder && left > 0 && left <= PRUNING_MS) return false;
    this.#right = { holder, expiresAt: this.#now() + PRUNING_MS };
    return true;
  }

  async release(holder: string): Promise<void> {
    if (this.#right.holder === holder) this.#right = { holder: "", expiresAt: 0 };
  }

  async measure(): Promise<number> {
    return this.#list().reduce((sum, { session }) => sum + session.bytes, 0);
  }

  async listEnded(before: number, after: EndedRun | undefined): Promise<readonly EndedRun[]> {
    const first: EndedRun[] = [];
    for (const { key, sessionId, session } of this.#list())
      for (const { runId, endedAt = Infinity } of session.runs.values()) {
        if (endedAt >= before || (first.length === ENDED_RUNS && endedAt > (first.at(-1)?.endedAt ?? 0))) continue;
        const run = { key, sessionId, runId, endedAt };
        if (after !== undefined && compareEnds(run, after) <= 0) continue;
        first.splice(first.findLastIndex((other) => compareEnds(other, run) < 0) + 1, 0, run);
        if (first.length > ENDED_RUNS) first.pop();
      }
    return first;
  }

  async listLarge(bytes: number, afterKey: number): Promise<readonly PrunableSession[]> {
    return this.#list()
      .filter(({ key, session }) => key > afterKey && session.bytes > bytes)
      .slice(0, LARGE_SESSIONS);
  }

  async listRuns(key: number, limit: number): Promise<readonly PrunableRun[]> {
    return [...(this.#find(key)?.runs.values() ?? [])]
      .map(({ firstId, lastId = null, endedAt = null }) => ({ firstId, lastId, endedAt }))
      .toSorted((a, b) => a.firstId - b.firstId)
      .slice(0, limit);
  }

  async measureAfter(key: number, id: number): Promise<number> {
    const session = this.#find(key);
    if (session === undefined) return 0;
    const { texts, firstId, bytes, carried } = session;
    // The first records, because the oldest runs are measured.
    const before = texts.slice(0, id + 1 - firstId).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    return bytes - measureEntries(carried) - before;
  }

  async measureCarried(key: number): Promise<number> {
    return measureEntries(this.#find(key)?.carried ?? []);
  }

  async cut(cut: SessionCut): Promise<CutOutcome> {
    if (this.#right.holder !== cut.holder) return "lost";
    this.#right = { ...this.#right, expiresAt: this.#now() + PRUNING_MS };
    const session = this.#find(cut.key);
    let newestRun = 0;
    for (const { firstId } of session?.runs.values() ?? []) newestRun = Math.max(newestRun, firstId);
    if (session?.firstId !== cut.firstId || newestRun !== cut.newestRun) return "changed";
    return cutSession(session, cut);
  }

  #list(): readonly (PrunableSession & { readonly session: MemorySession })[] {
    const list = [...this.#sessions.values()].map((session) => {
      const key = this.#keys.get(session) ?? ++this.#lastKey;
      this.#keys.set(session, key);
      return { key, sessionId: session.sessionId, session };
    });
    this.#ids = new Map(list.map(({ key, sessionId }) => [key, sessionId]));
    return list;
  }

  #find(key: number): MemorySession | undefined {
    const session = this.#sessions.get(this.#ids.get(key) ?? "");
    return session === undefined || this.#keys.get(session) !== key ? undefined : session;
  }
}

function compareEnds(a: EndedRun, b: EndedRun): number {
  return a.endedAt - b.endedAt || a.key - b.key || (a.runId < b.runId ? -1 : Number(a.runId > b.runId));
}
