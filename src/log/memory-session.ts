/**
 * One session of a log in memory: its texts, its indexes, and where retention may cut it. Who may write it, and who reads
 * it, is the affair of the log.
 */
import { Buffer } from "node:buffer";
import { findIndexChanges } from "./index-changes.ts";
import type { CommandState, Landmark, LogEntry, PruneReport, RunInfo, SearchMatch } from "./log.ts";
import { matchSaid } from "./said.ts";
import { findSnippet, type Phrase } from "./search-text.ts";

export interface MemorySession {
  readonly sessionId: string;
  readonly incarnation: string;
  readonly createdAt: number;
  readonly owner: string;
  title: string | undefined;
  updatedAt: number;
  firstId: number;
  /** Text of record `firstId + index`. */
  readonly texts: string[];
  bytes: number;
  epoch: number;
  lease: { readonly holder: string; readonly expiresAt: number } | undefined;
  /** Until when it is no orphan though nobody has held it yet. */
  graceUntil: number;
  readonly runs: Map<string, RunInfo>;
  readonly landmarks: Map<string, Landmark>;
  /** The records that are messages or replies, oldest first. */
  said: number[];
  readonly commands: Map<string, CommandState>;
  /** When each command was answered. */
  readonly settledAt: Map<string, number>;
}

/** Where retention may cut a session, and when the runs before that were over. */
export interface Cut {
  readonly lastId: number;
  readonly endedAt: number;
}

export function lastIdOf({ firstId, texts }: MemorySession): number {
  return firstId - 1 + texts.length;
}

/** Puts what the entries change into the indexes. */
export function indexEntries(session: MemorySession, entries: readonly LogEntry[]): void {
  const { begins, ends, landmarks, said } = findIndexChanges(entries);
  for (const { eventId } of said) session.said.push(eventId);
  let updatedAt = Number.NEGATIVE_INFINITY;
  for (const { runId, firstId, startedAt, requestId, agent } of begins) {
    if (session.runs.has(runId)) continue;
    const open = { status: "live", lastId: undefined, endedAt: undefined, code: undefined } as const;
    session.runs.set(runId, { runId, firstId, startedAt, requestId, agent, ...open });
    updatedAt = Math.max(updatedAt, startedAt);
  }
  for (const { runId, ...end } of ends) {
    const run = session.runs.get(runId);
    if (run?.status !== "live") continue;
    session.runs.set(runId, { ...run, ...end });
    updatedAt = Math.max(updatedAt, end.endedAt);
  }
  if (updatedAt > Number.NEGATIVE_INFINITY) session.updatedAt = updatedAt;
  for (const landmark of landmarks) {
    const key = `${landmark.kind}:${landmark.key}`;
    session.landmarks.delete(key);
    session.landmarks.set(key, landmark);
  }
}

export function cutSession(session: MemorySession, { lastId }: Cut): PruneReport {
  const gone = session.texts.splice(0, lastId + 1 - session.firstId);
  const bytes = gone.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  session.firstId = lastId + 1;
  session.bytes -= bytes;
  const runs = [...session.runs.values()].filter((run) => run.lastId !== undefined && run.lastId <= lastId);
  for (const { runId } of runs) session.runs.delete(runId);
  session.said = session.said.filter((eventId) => eventId > lastId);
  for (const [key, { eventId }] of session.landmarks) if (eventId <= lastId) session.landmarks.delete(key);
  return { runs: runs.length, records: gone.length, bytes };
}

/** In the title, or else in the latest text that has all of it. */
export function findMatch(session: MemorySession, phrases: readonly Phrase[]): SearchMatch | undefined {
  const { title = "", said, texts, firstId } = session;
  const snippet = findSnippet(title, phrases);
  if (snippet !== undefined) return { where: "title", snippet };
  for (let index = said.length - 1; index >= 0; index--) {
    const match = matchSaid(texts[(said[index] ?? 0) - firstId] ?? "", phrases);
    if (match !== undefined) return match;
  }
  return undefined;
}

/** The first place where the session can be cut: at the end of a run, and inside of none. */
export function findCut({ runs }: MemorySession): Cut | undefined {
  let lastId = Number.POSITIVE_INFINITY;
  for (const run of runs.values()) lastId = Math.min(lastId, run.lastId ?? lastId);
  for (;;) {
    let reached = lastId;
    let endedAt = 0;
    for (const run of runs.values()) {
      if (run.firstId > lastId) continue;
      reached = Math.max(reached, run.lastId ?? Number.POSITIVE_INFINITY);
      endedAt = Math.max(endedAt, run.endedAt ?? 0);
    }
    // A live run ends nowhere, and where no run has ended there is no place.
    if (reached === Number.POSITIVE_INFINITY) return undefined;
    if (reached === lastId) return { lastId, endedAt };
    lastId = reached;
  }
}
