/** Reads the sessions of the in-memory log. */
import { Buffer } from "node:buffer";
import type {
  ActiveSession,
  CommandState,
  EncoderSnapshot,
  FoundSession,
  Landmark,
  LandmarkKind,
  ListActiveSessionsOptions,
  ListBranchesOptions,
  ListSessionsOptions,
  LogEntry,
  PagingOptions,
  ReadOptions,
  RunInfo,
  SearchSessionsOptions,
  SessionInfo,
} from "./log.ts";
import { isUnheld } from "./holder.ts";
import type { TableReader } from "./log-tables.ts";
import {
  describeSession,
  findActivity,
  findLatestSnapshot,
  findMatches,
  findSessionsOfCommand,
  type MemorySession,
  type MemoryStore,
  needsHolder,
  pageAfter,
  selectSessions,
} from "./memory-session.ts";
import { Page } from "./page.ts";
import { assertPosition, clampListLimit, clampPageLimit, assertSession } from "./rules.ts";
import { readQuery } from "./search-text.ts";
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
    const newestFirst = this.#newestFirst(options.owner);
    const selected = selectSessions(newestFirst, options);
    return pageAfter(newestFirst, ALL, options.after, idOf)
      .filter((session) => selected.has(session))
      .slice(0, clampListLimit(options.limit))
      .map((session) => this.#describe(session));
  }

  listActiveSessions({
    limit,
    after,
    owner,
    isWaiting = false,
  }: ListActiveSessionsOptions = {}): readonly ActiveSession[] {
    return pageAfter(this.#newestFirst(owner), ALL, after, idOf)
      .flatMap((session) => {
        const activity = findActivity(session, isWaiting);
        return activity === undefined ? [] : [{ ...this.#describe(session), ...activity }];
      })
      .slice(0, clampListLimit(limit));
  }

  async searchSessions({
    query,
    limit,
    after,
    owner,
    signal,
  }: SearchSessionsOptions): Promise<readonly FoundSession[]> {
    const found: FoundSession[] = [];
    const sessions = pageAfter(this.#newestFirst(owner), ALL, after, idOf);
    for await (const { session, match } of findMatches(sessions, readQuery(query), signal)) {
      // It may have been deleted in the meantime.
      if (this.#store.sessions.get(session.sessionId) !== session) continue;
      found.push({ ...this.#describe(session), match });
      if (found.length >= clampListLimit(limit)) break;
    }
    return found;
  }

  listBranches(
    sessionId: string,
    { limit, after, newestFirst = false }: ListBranchesOptions = {},
  ): readonly SessionInfo[] {
    const { rootId, owner } = this.#get(sessionId);
    const newest = this.#newestFirst(owner).filter((session) => session.rootId === rootId);
    const branches = newestFirst ? newest : newest.toReversed();
    return pageAfter(branches, clampListLimit(limit), after, idOf).map((session) => this.#describe(session));
  }

  listOrphans({ limit, after }: PagingOptions = {}): readonly string[] {
    const now = this.#store.now();
    return pageAfter([...this.#store.sessions.values()], ALL, after, idOf)
      .filter((session) => isUnheld(session, now) && needsHolder(session))
      .slice(0, clampListLimit(limit))
      .map(idOf);
  }

  read(sessionId: string, { after, limit, maxBytes }: ReadOptions): Page {
    const { texts, firstId, ...session } = this.#get(sessionId);
    assertPosition(sessionId, after, firstId, firstId - 1 + texts.length);
    const { maxPageRecords, maxPageBytes } = this.#store.limits;
    const from = after + 1 - firstId;
    const most = clampPageLimit(limit, maxPageRecords);
    let room = clampPageLimit(maxBytes, maxPageBytes);
    let end = from;
    while (end < texts.length && end - from < most) {
      room -= Buffer.byteLength(texts[end] ?? "");
      if (room < 0 && end > from) break;
      end++;
    }
    return new Page(sessionId, after, after + (end - from), texts.slice(from, end), session.incarnation);
  }

  readCarried(sessionId: string): readonly LogEntry[] {
    return this.#get(sessionId).carried;
  }

  getRun(sessionId: string, runId: string): RunInfo | undefined {
    return this.#get(sessionId).runs.get(runId);
  }

  listRuns(sessionId: string, { limit, after }: PagingOptions = {}): readonly RunInfo[] {
    const newestFirst = [...this.#get(sessionId).runs.values()].toReversed();
    return pageAfter(newestFirst, clampListLimit(limit), after, ({ runId }) => runId);
  }

  findFoldStart(sessionId: string, id: number): number {
    const session = this.#get(sessionId);
    let from = id + 1;
    for (const { firstId, lastId = Number.POSITIVE_INFINITY } of session.runs.values())
      if (firstId <= id && lastId > id) from = Math.min(from, firstId);
    let start = session.firstId;
    for (const { lastId = Number.POSITIVE_INFINITY } of session.runs.values())
      if (lastId < from) start = Math.max(start, lastId + 1);
    return start;
  }

  findSnapshot(sessionId: string, key: string, id: number): EncoderSnapshot | undefined {
    return findLatestSnapshot(this.#get(sessionId).snapshots, key, id);
  }

  getLandmark(sessionId: string, kind: LandmarkKind, key: string): Landmark | undefined {
    return this.#get(sessionId).landmarks.get(`${kind}:${key.toWellFormed()}`);
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
    return findSessionsOfCommand(this.#store.sessions.values(), commandId, owner);
  }

  listPending(sessionId: string, limit?: number): readonly CommandState[] {
    return [...this.#get(sessionId).commands.values()]
      .filter(({ outcome }) => outcome === null)
      .slice(0, clampListLimit(limit))
      .map((row) => describeCommand(sessionId, row));
  }

  /** Sessions of one owner, or of all owners. */
  #newestFirst(owner: string | undefined): readonly MemorySession[] {
    const all = [...this.#store.sessions.values()].toReversed();
    return owner === undefined ? all : all.filter((session) => session.owner === owner);
  }

  #get(sessionId: string): MemorySession {
    return assertSession(this.#store.sessions.get(sessionId), sessionId);
  }

  #describe(session: MemorySession): SessionInfo {
    return describeSession(session, this.#store.now());
  }
}

function idOf({ sessionId }: MemorySession): string {
  return sessionId;
}
