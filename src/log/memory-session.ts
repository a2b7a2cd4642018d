/**
 * A session of the in-memory log: its texts, its indexes, and where it can be pruned.
 */
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { setImmediate as yieldToLoop } from "node:timers/promises";
import { measureEntries } from "./entry.ts";
import { holderOf } from "./holder.ts";
import type { IndexChanges } from "./index-changes.ts";
import {
  clampListLimit,
  LOCAL_OWNER,
  MAX_SESSIONS_OF_COMMAND,
  MAX_SNAPSHOTS,
  type SessionLoad,
  unknownListCursor,
} from "./rules.ts";
import {
  type ActiveSession,
  type BlobUsage,
  type CreateOptions,
  type EncoderSnapshot,
  type ForkOrigin,
  type Landmark,
  type ListSessionsOptions,
  type LogEntry,
  MAX_QUEUED_MESSAGES,
  type RunInfo,
  type SessionInfo,
} from "./log.ts";
import type { LogLimits } from "./log-limits.ts";
import type { SessionCut } from "./prune-runs.ts";
import type { PruneReport } from "./retention-policy.ts";
import { addUsage, NO_USAGE, type OwnerUsage } from "./owner-quota.ts";
import { matchRecord } from "./conversation-text.ts";
import { findSnippet, type SearchMatch, type SearchPhrase } from "./search-text.ts";
import { type CommandRow, describeCommand } from "./stored-rows.ts";

/** How long a search may block the event loop, in milliseconds. */
const SEARCH_TURN_MS = 10;

/** All sessions of a log. */
export interface MemoryStore {
  /** In the order in which they appeared. */
  readonly sessions: Map<string, MemorySession>;
  /** In the order of their keys, with drafts. */
  readonly byKey: Map<number, MemorySession>;
  readonly limits: LogLimits;
  readonly now: () => number;
}

interface MemoryCommand extends CommandRow {
  readonly settledAt?: number;
}

export interface MemorySession {
  readonly key: number;
  /** Empty in a draft. */
  sessionId: string;
  readonly incarnation: string;
  readonly createdAt: number;
  readonly owner: string;
  readonly forkedFrom: ForkOrigin | undefined;
  rootId: string;
  title: string | null;
  isPinned: boolean;
  isArchived: boolean;
  updatedAt: number;
  firstId: number;
  /** Text of record `firstId + index`. */
  readonly texts: string[];
  carried: readonly LogEntry[];
  bytes: number;
  epoch: number;
  holder: string | null;
  /** End of the lease, or without a holder of the grace period in which the session is not an orphan. */
  expiresAt: number;
  /** The last writer handed the session over. */
  isHandedOver: boolean;
  readonly runs: Map<string, RunInfo>;
  /** Principals of live runs and pending messages, by `runKey` and `messageKey`. */
  readonly actors: Map<string, string>;
  readonly landmarks: Map<string, Landmark>;
  /** IDs of messages and replies, oldest first. */
  textIds: number[];
  /** In the order in which they were saved. */
  snapshots: EncoderSnapshot[];
  readonly commands: Map<string, MemoryCommand>;
  blobs: BlobUsage;
}

/** What a new session has. */
interface NewMemorySession extends Omit<CreateOptions, "entries"> {
  readonly key: number;
  readonly sessionId: string;
  readonly now: number;
  readonly epoch: number;
}

export function createMemorySession(fresh: NewMemorySession): MemorySession {
  const { key, sessionId, now, epoch, title = null, owner = LOCAL_OWNER, firstId = 1, graceMs = 0 } = fresh;
  const { carried = [], forkedFrom, rootId = sessionId, isPinned = false, isArchived = false } = fresh;
  return {
    key,
    sessionId,
    incarnation: randomUUID(),
    createdAt: now,
    owner,
    forkedFrom: forkedFrom === undefined ? undefined : { ...forkedFrom },
    rootId,
    title,
    isPinned,
    isArchived,
    updatedAt: now,
    firstId,
    texts: [],
    carried: [...carried],
    bytes: measureEntries(carried),
    epoch,
    holder: null,
    expiresAt: graceMs === 0 ? 0 : now + graceMs,
    isHandedOver: false,
    runs: new Map(),
    actors: new Map(),
    landmarks: new Map(),
    textIds: [],
    snapshots: [],
    commands: new Map(),
    blobs: { blobs: 0, bytes: 0 },
  };
}

/** Selects what a list shows. `newestFirst` has all sessions of the conversations. */
export function selectSessions(
  newestFirst: readonly MemorySession[],
  { isNewestVersion = false, isPinned, isArchived }: ListSessionsOptions,
): ReadonlySet<MemorySession> {
  const seen = new Set<string>();
  const found = new Set<MemorySession>();
  for (const session of newestFirst) {
    const conversation = JSON.stringify([session.rootId, session.owner]);
    if (isNewestVersion && seen.has(conversation)) continue;
    seen.add(conversation);
    if (isPinned !== undefined && isPinned !== session.isPinned) continue;
    if (isArchived === undefined || isArchived === session.isArchived) found.add(session);
  }
  return found;
}

const runKey = (runId: string): string => `run ${runId}`;
export const messageKey = (commandId: string): string => `message ${commandId}`;

/** The number of live runs and pending messages of a principal. */
export function countRuns(sessions: Iterable<MemorySession>, actor: string): number {
  let count = 0;
  for (const { actors } of sessions) for (const one of actors.values()) if (one === actor) count++;
  return count;
}

export function lastIdOf({ firstId, texts }: MemorySession): number {
  return firstId - 1 + texts.length;
}

export function describeSession(session: MemorySession, now: number): SessionInfo {
  const { sessionId, incarnation, title, createdAt, updatedAt, firstId, bytes, epoch } = session;
  const { owner, forkedFrom, rootId, isPinned, isArchived } = session;
  const lastId = lastIdOf(session);
  const info = { sessionId, incarnation, title: title ?? undefined, createdAt, updatedAt, firstId, lastId, bytes };
  return { ...info, isPinned, isArchived, epoch, holder: holderOf(session, now), owner, forkedFrom, rootId };
}

/** Adds entries to a session, and what they change in its indexes. */
export function addEntries(
  session: MemorySession,
  entries: readonly LogEntry[],
  changes: IndexChanges | undefined,
): void {
  for (const { text } of entries) {
    session.texts.push(text);
    session.bytes += Buffer.byteLength(text);
  }
  if (changes === undefined) return;
  const { starts, ends, landmarks, answered, texts } = changes;
  for (const { eventId } of texts) session.textIds.push(eventId);
  let updatedAt = Number.NEGATIVE_INFINITY;
  for (const { runId, firstId, startedAt, requestId, agent, actor } of starts) {
    if (session.runs.has(runId)) continue;
    const open = { status: "live", lastId: undefined, endedAt: undefined, code: undefined } as const;
    session.runs.set(runId, { runId, firstId, startedAt, requestId, agent, ...open });
    if (actor !== undefined) session.actors.set(runKey(runId), actor);
    updatedAt = Math.max(updatedAt, startedAt);
  }
  for (const { runId, ...end } of ends) {
    const run = session.runs.get(runId);
    if (run?.status !== "live") continue;
    session.runs.set(runId, { ...run, ...end });
    session.actors.delete(runKey(runId));
    updatedAt = Math.max(updatedAt, end.endedAt);
  }
  if (updatedAt > Number.NEGATIVE_INFINITY) session.updatedAt = updatedAt;
  for (const landmark of landmarks) {
    const key = `${landmark.kind}:${landmark.key}`;
    session.landmarks.delete(key);
    session.landmarks.set(key, landmark);
  }
  for (const key of answered) session.landmarks.delete(`tool_approval:${key}`);
}

/** Returns what is going on in a session, or undefined if nothing is, or with `isWaiting` if it waits for no approval. */
export function findActivity(
  { sessionId, runs, landmarks, commands }: MemorySession,
  isWaiting: boolean,
): Pick<ActiveSession, "liveRuns" | "approvals" | "queued"> | undefined {
  const liveRuns = [...runs.values()].filter(({ status }) => status === "live");
  const live = new Set<string | undefined>(liveRuns.map(({ runId }) => runId));
  const approvals = [...landmarks.values()].filter(({ kind, runId }) => kind === "tool_approval" && live.has(runId));
  const queued = [...commands.values()].filter(({ kind, outcome }) => kind === "enqueue" && outcome === null);
  if (isWaiting ? approvals.length === 0 : liveRuns.length + queued.length === 0) return undefined;
  return {
    liveRuns,
    approvals: approvals.slice(0, clampListLimit()),
    queued: queued.slice(0, MAX_QUEUED_MESSAGES).map((row) => describeCommand(sessionId, row)),
  };
}

/** Whether the session has a live run or a pending command. */
export function needsHolder({ runs, commands }: MemorySession): boolean {
  return (
    [...runs.values()].some(({ status }) => status === "live") ||
    [...commands.values()].some(({ outcome }) => outcome === null)
  );
}

/** IDs of the sessions of this owner, or of all, that have the command; the latest command first. */
export function findSessionsOfCommand(
  sessions: Iterable<MemorySession>,
  commandId: string,
  owner: string | undefined,
): readonly string[] {
  const found = [...sessions].flatMap((session) => {
    const command = owner === undefined || owner === session.owner ? session.commands.get(commandId) : undefined;
    return command === undefined ? [] : [{ id: session.sessionId, createdAt: command.createdAt }];
  });
  // The sort is stable: of commands in the same millisecond, that of the newer session is first.
  const latestFirst = found.toReversed().toSorted((a, b) => b.createdAt - a.createdAt);
  return latestFirst.slice(0, MAX_SESSIONS_OF_COMMAND).map(({ id }) => id);
}

export function measureLoad({ commands, runs }: MemorySession): SessionLoad {
  const pending = [...commands.values()].filter(({ outcome }) => outcome === null);
  const messages = pending.filter(({ kind }) => kind === "enqueue").length;
  const live = [...runs.values()].find(({ status }) => status === "live");
  return { pending: pending.length, messages, liveRun: live?.runId };
}

export function cutSession(session: MemorySession, { lastId, carried }: SessionCut): PruneReport {
  const before = session.bytes;
  const gone = session.texts.splice(0, lastId + 1 - session.firstId);
  session.firstId = lastId + 1;
  session.bytes -= gone.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  session.bytes += measureEntries(carried) - measureEntries(session.carried);
  session.carried = carried;
  const runs = [...session.runs.values()].filter((run) => run.lastId !== undefined && run.lastId <= lastId);
  for (const { runId } of runs) session.runs.delete(runId);
  session.textIds = session.textIds.filter((eventId) => eventId > lastId);
  session.snapshots = session.snapshots.filter(({ eventId }) => eventId > lastId);
  for (const [key, { eventId }] of session.landmarks) if (eventId <= lastId) session.landmarks.delete(key);
  return { runs: runs.length, records: gone.length, bytes: before - session.bytes };
}

/** Finds matching sessions in this order, and yields to the event loop from time to time. */
export async function* findMatches(
  sessions: readonly MemorySession[],
  phrases: readonly SearchPhrase[],
  signal: AbortSignal | undefined,
): AsyncGenerator<{ readonly session: MemorySession; readonly match: SearchMatch }> {
  let pauseAt = performance.now() + SEARCH_TURN_MS;
  for (const session of sessions) {
    if (performance.now() > pauseAt) {
      await yieldToLoop();
      signal?.throwIfAborted();
      pauseAt = performance.now() + SEARCH_TURN_MS;
    }
    const match = findMatch(session, phrases);
    if (match !== undefined) yield { session, match };
  }
}

/** Finds a match in the title, otherwise in the latest text that contains all phrases. */
function findMatch(session: MemorySession, phrases: readonly SearchPhrase[]): SearchMatch | undefined {
  const { title, textIds, texts, firstId } = session;
  const snippet = findSnippet(title ?? "", phrases);
  if (snippet !== undefined) return { where: "title", snippet };
  for (let index = textIds.length - 1; index >= 0; index--) {
    const match = matchRecord(texts[(textIds[index] ?? 0) - firstId] ?? "", phrases);
    if (match !== undefined) return match;
  }
  return undefined;
}

/** Returns the latest snapshot with this key at or before record `id`. */
export function findLatestSnapshot(
  snapshots: readonly EncoderSnapshot[],
  key: string,
  id: number,
): EncoderSnapshot | undefined {
  let latest: EncoderSnapshot | undefined;
  for (const snapshot of snapshots)
    if (snapshot.key === key && snapshot.eventId <= id && snapshot.eventId > (latest?.eventId ?? 0)) latest = snapshot;
  return latest;
}

/** Adds a snapshot, and removes the oldest beyond the limits. They are in the order in which they were saved. */
export function addSnapshot(
  snapshots: EncoderSnapshot[],
  added: EncoderSnapshot,
  { maxSessionSnapshotBytes }: LogLimits,
): void {
  const known = snapshots.findIndex(({ key, eventId }) => key === added.key && eventId === added.eventId);
  if (known !== -1) snapshots.splice(known, 1);
  snapshots.push(added);
  let bytes = 0;
  const isKept = ({ state }: EncoderSnapshot, index: number): boolean => {
    bytes += state.length;
    return bytes <= maxSessionSnapshotBytes && snapshots.length - index <= MAX_SNAPSHOTS;
  };
  const last = snapshots.findLastIndex((snapshot, index) => !isKept(snapshot, index));
  snapshots.splice(0, last + 1);
}

/** What an owner has stored in these sessions. */
export function measureOwner(sessions: Iterable<MemorySession>, owner: string): OwnerUsage {
  let used = NO_USAGE;
  for (const session of sessions) {
    if (session.owner !== owner) continue;
    const { blobs, bytes: blobBytes } = session.blobs;
    used = addUsage(used, { sessions: 1, bytes: session.bytes, blobs, blobBytes });
  }
  return used;
}

/** Returns the items after the one with this key. Throws `cursor_invalid` if there is none. */
export function pageAfter<T>(
  items: readonly T[],
  limit: number,
  after: string | undefined,
  keyOf: (item: T) => string,
): readonly T[] {
  const from = after === undefined ? 0 : items.findIndex((item) => keyOf(item) === after) + 1;
  // The item was deleted or pruned, so it is unknown where the list continues.
  if (after !== undefined && from === 0) throw unknownListCursor(after);
  return items.slice(from, from + limit);
}
