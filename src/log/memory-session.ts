/** A session of the in-memory log: its texts, its indexes, and how records are added and removed. */
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { measureEntries } from "./entry.ts";
import { holderOf } from "./holder.ts";
import type { IndexChanges } from "./index-changes.ts";
import type { BlobUsage, EncoderSnapshot, Landmark, LandmarkKind, LogEntry, RunInfo, SessionInfo } from "./log.ts";
import type { LogLimits } from "./log-limits.ts";
import type { NewSessionOptions } from "./log-tables.ts";
import type { SessionCut } from "./prune-runs.ts";
import type { PruneReport } from "./retention-policy.ts";
import { LOCAL_OWNER } from "./rules.ts";
import type { CommandRow, NewCommand } from "./stored-rows.ts";

/** All sessions of a log. */
export interface MemoryStore {
  /** In the order in which they appeared. */
  readonly sessions: Map<string, MemorySession>;
  /** In the order of their keys, with drafts, whose ID is empty. */
  readonly byKey: Map<number, MemorySession>;
  readonly limits: LogLimits;
  readonly now: () => number;
}

interface MemoryCommand extends CommandRow, NewCommand {
  readonly settledAt?: number;
}

type SessionProperties = Omit<SessionInfo, "epoch" | "holder">;

export interface MemorySession {
  readonly key: number;
  /** What the log reports about it. */
  readonly info: { -readonly [K in keyof SessionProperties]: SessionProperties[K] };
  epoch: number;
  holder: string | null;
  /** End of the lease, or without a holder of the grace period in which the session is not an orphan. */
  expiresAt: number;
  /** The last writer handed the session over. */
  isHandedOver: boolean;
  /** Text of record `firstId + index`. */
  readonly texts: string[];
  carried: readonly LogEntry[];
  readonly runs: Map<string, RunInfo>;
  /** Principals of live runs. */
  readonly actors: Map<string, string>;
  readonly landmarks: Map<string, Landmark>;
  /** IDs of messages and replies, oldest first. */
  textIds: number[];
  /** In the order in which they were saved. */
  snapshots: EncoderSnapshot[];
  readonly commands: Map<string, MemoryCommand>;
  blobs: BlobUsage;
}

export function landmarkKey(kind: LandmarkKind, key: string): string {
  return `${kind}:${key}`;
}

export function createMemorySession(
  { key, sessionId, epoch }: Pick<MemorySession, "key" | "epoch"> & Pick<SessionInfo, "sessionId">,
  options: NewSessionOptions,
  now: number,
): MemorySession {
  const { title, isPinned = false, isArchived = false, owner = LOCAL_OWNER, rootId = sessionId } = options;
  const { firstId = 1, carried = [], graceMs = 0 } = options;
  const forkedFrom = options.forkedFrom && { ...options.forkedFrom };
  const named = { sessionId, incarnation: randomUUID(), title, isPinned, isArchived, owner, forkedFrom, rootId };
  const sizes = { firstId, lastId: firstId - 1, bytes: measureEntries(carried) };
  return {
    key,
    info: { ...named, ...sizes, createdAt: now, updatedAt: now },
    epoch,
    holder: null,
    expiresAt: graceMs === 0 ? 0 : now + graceMs,
    isHandedOver: false,
    texts: [],
    carried: [...carried],
    runs: new Map(),
    actors: new Map(),
    landmarks: new Map(),
    textIds: [],
    snapshots: [],
    commands: new Map(),
    blobs: { blobs: 0, bytes: 0 },
  };
}

export function describeSession(session: MemorySession, now: number): SessionInfo {
  return { ...session.info, epoch: session.epoch, holder: holderOf(session, now) };
}

/** Live runs, oldest first. */
export function listLiveRuns({ runs }: MemorySession): readonly RunInfo[] {
  return [...runs.values()].filter(({ status }) => status === "live");
}

/** Pending commands, oldest first. */
export function listPending({ commands }: MemorySession): readonly MemoryCommand[] {
  return [...commands.values()].filter(({ outcome }) => outcome === null);
}

/** Whether the session has a live run or a pending command. */
export function needsHolder(session: MemorySession): boolean {
  return listLiveRuns(session).length + listPending(session).length > 0;
}

/** Adds entries to a session, and what they change in its indexes. */
export function addEntries(
  session: MemorySession,
  entries: readonly LogEntry[],
  changes: IndexChanges | undefined,
): void {
  const { info, runs, actors, landmarks } = session;
  for (const { text } of entries) {
    session.texts.push(text);
    info.bytes += Buffer.byteLength(text);
  }
  info.lastId += entries.length;
  if (changes === undefined) return;
  let updatedAt = Number.NEGATIVE_INFINITY;
  for (const { actor, ...start } of changes.starts) {
    const { runId, startedAt } = start;
    if (runs.has(runId)) continue;
    runs.set(runId, { ...start, status: "live", lastId: undefined, endedAt: undefined, code: undefined });
    if (actor !== undefined) actors.set(runId, actor);
    updatedAt = Math.max(updatedAt, startedAt);
  }
  for (const { runId, ...end } of changes.ends) {
    const run = runs.get(runId);
    if (run?.status !== "live") continue;
    runs.set(runId, { ...run, ...end });
    actors.delete(runId);
    updatedAt = Math.max(updatedAt, end.endedAt);
  }
  if (updatedAt > Number.NEGATIVE_INFINITY) info.updatedAt = updatedAt;
  for (const landmark of changes.landmarks) {
    const key = landmarkKey(landmark.kind, landmark.key);
    // The latest is the last one.
    landmarks.delete(key);
    landmarks.set(key, landmark);
  }
  for (const key of changes.answered) landmarks.delete(landmarkKey("tool_approval", key));
  for (const { eventId } of changes.texts) session.textIds.push(eventId);
}

export function cutSession(session: MemorySession, { lastId, carried }: SessionCut): PruneReport {
  const { info, landmarks, runs } = session;
  const { bytes: before, firstId } = info;
  const gone = session.texts.splice(0, lastId + 1 - firstId);
  info.firstId = lastId + 1;
  info.bytes -= gone.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  info.bytes += measureEntries(carried) - measureEntries(session.carried);
  session.carried = carried;
  const ended = [...runs.values()].filter((run) => run.lastId !== undefined && run.lastId <= lastId);
  for (const { runId } of ended) runs.delete(runId);
  session.textIds = session.textIds.filter((eventId) => eventId > lastId);
  session.snapshots = session.snapshots.filter(({ eventId }) => eventId > lastId);
  for (const [key, { eventId }] of landmarks) if (eventId <= lastId) landmarks.delete(key);
  return { runs: ended.length, records: gone.length, bytes: before - info.bytes };
}
