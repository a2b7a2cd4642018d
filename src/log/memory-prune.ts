/** Retention of the in-memory log: lists, measures and cuts its sessions for `prune-runs.ts`. */
import { Buffer } from "node:buffer";
import { measureEntries } from "./entry.ts";
import { cutSession, type MemorySession, type MemoryStore } from "./memory-session.ts";
import {
  type CutOutcome,
  type EndedRun,
  ENDED_RUNS,
  LARGE_SESSIONS,
  PRUNING_MS,
  type PrunableRun,
  type PrunableSession,
  type PrunableStore,
  type SessionCut,
} from "./prune-runs.ts";

export class MemoryPruner implements PrunableStore {
  readonly #store: MemoryStore;
  #right = { holder: "", expiresAt: 0 };

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  async hold(holder: string): Promise<boolean> {
    const left = this.#right.expiresAt - this.#store.now();
    // The clock may have been set back.
    if (this.#right.holder !== holder && left > 0 && left <= PRUNING_MS) return false;
    this.#right = { holder, expiresAt: this.#store.now() + PRUNING_MS };
    return true;
  }

  async release(holder: string): Promise<void> {
    if (this.#right.holder === holder) this.#right = { holder: "", expiresAt: 0 };
  }

  async measure(): Promise<number> {
    return this.#list().reduce((sum, { info }) => sum + info.bytes, 0);
  }

  async listEnded(before: number, after: EndedRun | undefined): Promise<readonly EndedRun[]> {
    const first: EndedRun[] = [];
    for (const { key, info, runs } of this.#list())
      for (const { runId, endedAt = Infinity } of runs.values()) {
        if (endedAt >= before || (first.length === ENDED_RUNS && endedAt > (first.at(-1)?.endedAt ?? 0))) continue;
        const run = { key, sessionId: info.sessionId, runId, endedAt };
        if (after !== undefined && compareEnds(run, after) <= 0) continue;
        first.splice(first.findLastIndex((other) => compareEnds(other, run) < 0) + 1, 0, run);
        if (first.length > ENDED_RUNS) first.pop();
      }
    return first;
  }

  async listLarge(bytes: number, afterKey: number): Promise<readonly PrunableSession[]> {
    return this.#list()
      .filter(({ key, info }) => key > afterKey && info.bytes > bytes)
      .slice(0, LARGE_SESSIONS)
      .map(({ key, info }) => ({ key, sessionId: info.sessionId }));
  }

  async listRuns(key: number, limit: number): Promise<readonly PrunableRun[]> {
    return [...(this.#store.byKey.get(key)?.runs.values() ?? [])]
      .map(({ firstId, lastId = null, endedAt = null }) => ({ firstId, lastId, endedAt }))
      .toSorted((a, b) => a.firstId - b.firstId)
      .slice(0, limit);
  }

  async measureAfter(key: number, id: number): Promise<number> {
    const session = this.#store.byKey.get(key);
    if (session === undefined) return 0;
    const { texts, info, carried } = session;
    // The first records, because the oldest runs are measured.
    const before = texts.slice(0, id + 1 - info.firstId).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    return info.bytes - measureEntries(carried) - before;
  }

  async cut(cut: SessionCut): Promise<CutOutcome> {
    if (this.#right.holder !== cut.holder) return "lost";
    this.#right = { ...this.#right, expiresAt: this.#store.now() + PRUNING_MS };
    const session = this.#store.byKey.get(cut.key);
    let newestRun = 0;
    for (const { firstId } of session?.runs.values() ?? []) newestRun = Math.max(newestRun, firstId);
    if (session?.info.firstId !== cut.firstId || newestRun !== cut.newestRun) return "changed";
    return cutSession(session, cut);
  }

  /** All sessions, without drafts. */
  #list(): readonly MemorySession[] {
    return [...this.#store.byKey.values()].filter(({ info }) => info.sessionId !== "");
  }
}

function compareEnds(a: EndedRun, b: EndedRun): number {
  return a.endedAt - b.endedAt || a.key - b.key || (a.runId < b.runId ? -1 : Number(a.runId > b.runId));
}
