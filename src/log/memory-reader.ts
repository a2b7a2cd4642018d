/** Reads the sessions of the in-memory log. */
import { Buffer } from "node:buffer";
import { matchRecord } from "./conversation-text.ts";
import { createLoopYield } from "./follow-records.ts";
import { isUnheld } from "./holder.ts";
import {
  type ActiveSession,
  type CommandState,
  type EncoderSnapshot,
  type FoundSession,
  type Landmark,
  type LandmarkKind,
  type ListActiveSessionsOptions,
  type ListBranchesOptions,
  type ListSessionsOptions,
  type LogEntry,
  MAX_QUEUED_MESSAGES,
  type PagingOptions,
  type ReadOptions,
  type RunInfo,
  type SearchSessionsOptions,
  type SessionInfo,
} from "./log.ts";
import type { TableReader } from "./log-tables.ts";
import {
  describeSession,
  landmarkKey,
  listLiveRuns,
  listPending,
  type MemorySession,
  type MemoryStore,
  needsHolder,
} from "./memory-session.ts";
import { Page } from "./page.ts";
import {
  assertPosition,
  assertSession,
  clampListLimit,
  clampPageLimit,
  MAX_SESSIONS_OF_COMMAND,
  unknownListCursor,
} from "./rules.ts";
import { matchTitle, readQuery, type SearchMatch, type SearchPhrase } from "./search-text.ts";
import { describeCommand } from "./stored-rows.ts";

const ALL = Number.POSITIVE_INFINITY;

export class MemoryReader implements TableReader {
  readonly #store: MemoryStore;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  getSession(sessionId: string): SessionInfo | undefined {
    const session = this.#store.sessions.get(sessionId);
    return session && this.#describe(session);
  }

  listSessions(options: ListSessionsOptions = {}): readonly SessionInfo[] {
    const { limit, after, owner, isNewestVersion = false, isPinned, isArchived } = options;
    const newestFirst = this.#newestFirst(owner);
    // The last one of a key stays in the map.
    const newest = new Map(newestFirst.toReversed().map((session) => [conversationOf(session), session]));
    return pageAfter(newestFirst, after, idOf)
      .filter((session) => !isNewestVersion || newest.get(conversationOf(session)) === session)
      .filter(({ info }) => isPinned === undefined || isPinned === info.isPinned)
      .filter(({ info }) => isArchived === undefined || isArchived === info.isArchived)
      .slice(0, clampListLimit(limit))
      .map((session) => this.#describe(session));
  }

  listActiveSessions(options: ListActiveSessionsOptions = {}): readonly ActiveSession[] {
    const { limit, after, owner, isWaiting = false } = options;
    return pageAfter(this.#newestFirst(owner), after, idOf)
      .flatMap((session) => {
        const activity = findActivity(session);
        const { liveRuns, queued, approvals } = activity;
        const isListed = isWaiting ? approvals.length > 0 : liveRuns.length + queued.length > 0;
        return isListed ? [{ ...this.#describe(session), ...activity }] : [];
      })
      .slice(0, clampListLimit(limit));
  }

  /** Reads the sessions in this order, and yields to the event loop from time to time. */
  async searchSessions(options: SearchSessionsOptions): Promise<readonly FoundSession[]> {
    const { query, limit, after, owner, signal } = options;
    const phrases = readQuery(query);
    const yieldToLoop = createLoopYield();
    const found: FoundSession[] = [];
    for (const session of pageAfter(this.#newestFirst(owner), after, idOf)) {
      await yieldToLoop();
      signal?.throwIfAborted();
      const match = findMatch(session, phrases);
      // It may have been deleted in the meantime.
      if (match === undefined || this.#store.sessions.get(session.info.sessionId) !== session) continue;
      found.push({ ...this.#describe(session), match });
      if (found.length >= clampListLimit(limit)) break;
    }
    return found;
  }

  listBranches(sessionId: string, options: ListBranchesOptions = {}): readonly SessionInfo[] {
    const { limit, after, newestFirst = false } = options;
    const { rootId, owner } = this.#get(sessionId).info;
    const newest = this.#newestFirst(owner).filter(({ info }) => info.rootId === rootId);
    return pageAfter(newestFirst ? newest : newest.toReversed(), after, idOf)
      .slice(0, clampListLimit(limit))
      .map((session) => this.#describe(session));
  }

  listOrphans({ limit, after }: PagingOptions = {}): readonly string[] {
    const now = this.#store.now();
    return pageAfter([...this.#store.sessions.values()], after, idOf)
      .filter((session) => isUnheld(session, now) && needsHolder(session))
      .slice(0, clampListLimit(limit))
      .map(idOf);
  }

  read(sessionId: string, { after, limit, maxBytes }: ReadOptions): Page {
    const { texts, info } = this.#get(sessionId);
    assertPosition(sessionId, after, info.firstId, info.lastId);
    const { maxPageRecords, maxPageBytes } = this.#store.limits;
    const from = after + 1 - info.firstId;
    const most = clampPageLimit(limit, maxPageRecords);
    let room = clampPageLimit(maxBytes, maxPageBytes);
    let end = from;
    while (end < texts.length && end - from < most) {
      room -= Buffer.byteLength(texts[end] ?? "");
      if (room < 0 && end > from) break;
      end++;
    }
    return new Page(sessionId, after, after + (end - from), texts.slice(from, end), info.incarnation);
  }

  readCarried(sessionId: string): readonly LogEntry[] {
    return this.#get(sessionId).carried;
  }

  getRun(sessionId: string, runId: string): RunInfo | undefined {
    return this.#get(sessionId).runs.get(runId);
  }

  listLiveRuns(sessionId: string): readonly RunInfo[] {
    return listLiveRuns(this.#get(sessionId));
  }

  listRuns(sessionId: string, { limit, after }: PagingOptions = {}): readonly RunInfo[] {
    const newestFirst = [...this.#get(sessionId).runs.values()].toReversed();
    return pageAfter(newestFirst, after, ({ runId }) => runId).slice(0, clampListLimit(limit));
  }

  findFoldStart(sessionId: string, id: number): number {
    const { info, runs } = this.#get(sessionId);
    let from = id + 1;
    for (const { firstId, lastId = ALL } of runs.values())
      if (firstId <= id && lastId > id) from = Math.min(from, firstId);
    let start = info.firstId;
    for (const { lastId = ALL } of runs.values()) if (lastId < from) start = Math.max(start, lastId + 1);
    return start;
  }

  findSnapshot(sessionId: string, key: string, id: number): EncoderSnapshot | undefined {
    let latest: EncoderSnapshot | undefined;
    for (const snapshot of this.#get(sessionId).snapshots)
      if (snapshot.key === key && snapshot.eventId <= id && snapshot.eventId > (latest?.eventId ?? 0))
        latest = snapshot;
    return latest;
  }

  getLandmark(sessionId: string, kind: LandmarkKind, key: string): Landmark | undefined {
    return this.#get(sessionId).landmarks.get(landmarkKey(kind, key.toWellFormed()));
  }

  listLandmarks(sessionId: string, kind: LandmarkKind, limit?: number, before = ALL): readonly Landmark[] {
    return [...this.#get(sessionId).landmarks.values()]
      .filter((landmark) => landmark.kind === kind && landmark.eventId < before)
      .toReversed()
      .slice(0, clampListLimit(limit));
  }

  getCommand(sessionId: string, commandId: string): CommandState | undefined {
    const row = this.#get(sessionId).commands.get(commandId);
    return row && describeCommand(sessionId, row);
  }

  listSessionsOfCommand(commandId: string, owner?: string): readonly string[] {
    // The sort is stable: of commands in the same millisecond, that of the newer session is first.
    return this.#newestFirst(owner)
      .flatMap(({ info, commands }) => {
        const command = commands.get(commandId);
        return command === undefined ? [] : [{ id: info.sessionId, createdAt: command.createdAt }];
      })
      .toSorted((a, b) => b.createdAt - a.createdAt)
      .slice(0, MAX_SESSIONS_OF_COMMAND)
      .map(({ id }) => id);
  }

  listPending(sessionId: string, limit?: number): readonly CommandState[] {
    const pending = listPending(this.#get(sessionId)).slice(0, clampListLimit(limit));
    return pending.map((row) => describeCommand(sessionId, row));
  }

  /** Sessions of one owner, or of all owners. */
  #newestFirst(owner: string | undefined): readonly MemorySession[] {
    const all = [...this.#store.sessions.values()].toReversed();
    return owner === undefined ? all : all.filter(({ info }) => info.owner === owner);
  }

  #get(sessionId: string): MemorySession {
    return assertSession(this.#store.sessions.get(sessionId), sessionId);
  }

  #describe(session: MemorySession): SessionInfo {
    return describeSession(session, this.#store.now());
  }
}

function idOf({ info }: MemorySession): string {
  return info.sessionId;
}

function conversationOf({ info }: MemorySession): string {
  return JSON.stringify([info.rootId, info.owner]);
}

/** Returns the items after the one with this key. Throws `cursor_invalid` if there is none. */
function pageAfter<T>(items: readonly T[], after: string | undefined, keyOf: (item: T) => string): readonly T[] {
  if (after === undefined) return items;
  const index = items.findIndex((item) => keyOf(item) === after);
  // The item was deleted or pruned, so it is unknown where the list continues.
  if (index === -1) throw unknownListCursor(after);
  return items.slice(index + 1);
}

function findActivity(session: MemorySession): Pick<ActiveSession, "liveRuns" | "approvals" | "queued"> {
  const liveRuns = listLiveRuns(session);
  const live = new Set<string | undefined>(liveRuns.map(({ runId }) => runId));
  const approvals = [...session.landmarks.values()]
    .filter(({ kind, runId }) => kind === "tool_approval" && live.has(runId))
    .slice(0, clampListLimit());
  const queued = listPending(session)
    .filter(({ kind }) => kind === "enqueue")
    .slice(0, MAX_QUEUED_MESSAGES)
    .map((row) => describeCommand(session.info.sessionId, row));
  return { liveRuns, approvals, queued };
}

/** Finds a match in the title, otherwise in the latest text that contains all phrases. */
function findMatch({ info, textIds, texts }: MemorySession, phrases: readonly SearchPhrase[]): SearchMatch | undefined {
  let match = matchTitle(info.title, phrases);
  for (let index = textIds.length - 1; index >= 0 && match === undefined; index--)
    match = matchRecord(texts[(textIds[index] ?? 0) - info.firstId] ?? "", phrases);
  return match;
}
