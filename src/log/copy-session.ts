/**
 * Copies a session from one log to another, byte by byte, and compares the copy with the original. The ID, title, marks,
 * owner and lineage stay the same; the copy gets a new incarnation.
 *
 * Invariants:
 * - The source is only read. The copy appears when it is complete, so a copy that was interrupted can be started again.
 * - Records in the target are never changed: a session that exists is compared, and continued if it is the start of the
 *   original.
 */
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { isLoomError } from "../protocol/index.ts";
import type { Log, LogEntry, SessionInfo } from "./log.ts";
import { readPages, readRuns } from "./read-pages.ts";
import { exportSession, importSession } from "./transfer.ts";

/** What happened to a session. */
export interface CopiedSession {
  readonly sessionId: string;
  /**
   * `copied`, also if only the last records were missing; `present` if the target had all of it; `live` if a run is
   * live or a process writes the session; `different` if the target has another session with this ID; `failed` if it
   * cannot be read or written.
   */
  readonly status: "copied" | "present" | "live" | "different" | "failed";
  readonly records: number;
  readonly bytes: number;
  /** SHA-256 of the records in the target, each followed by a line feed. Only if they equal those of the source. */
  readonly sha256?: string;
  /** Why the session was not copied. */
  readonly reason?: string;
}

/** Yields all sessions, oldest first, so that a copy has the same order. Keeps one ID per page in memory. */
export async function* listOldestFirst(log: Log): AsyncGenerator<SessionInfo, void, undefined> {
  const limit = 1000;
  const starts: (string | undefined)[] = [];
  for (let after: string | undefined; ;) {
    const page = await log.listSessions({ after, limit });
    starts.push(after);
    after = page.at(-1)?.sessionId;
    if (page.length < limit) break;
  }
  for (const after of starts.toReversed()) yield* (await log.listSessions({ after, limit })).toReversed();
}

/** Copies one session and its pending commands. Throws if a store fails; then it can be called again. */
export async function copySession(from: Log, to: Log, info: SessionInfo): Promise<CopiedSession> {
  const { sessionId, bytes } = info;
  const about = { sessionId, records: info.lastId - info.firstId + 1, bytes };
  if (info.holder !== undefined) return { ...about, status: "live", reason: "a process writes it" };
  const runId = await findLiveRun(from, sessionId);
  if (runId !== undefined) return { ...about, status: "live", reason: `run "${runId}" has not ended` };
  try {
    const isNew = await copyRecords(from, to, info);
    const copy = await to.getSession(sessionId);
    const reason = copy === undefined ? "it was deleted in the target" : findDifference(info, copy);
    if (copy === undefined || reason !== undefined) return { ...about, status: "different", reason: reason ?? "" };
    const sha256 = await digestRecords(to, copy);
    if (sha256 !== (await digestRecords(from, info)))
      return { ...about, status: "different", reason: "its records are different" };
    const added = await copyCommands(from, to, sessionId);
    const now = await from.getSession(sessionId);
    if (now?.incarnation !== info.incarnation || now.epoch !== info.epoch)
      return { ...about, status: "live", reason: "a process wrote it during the copy" };
    return { ...about, status: isNew || added ? "copied" : "present", sha256 };
  } catch (error) {
    // A fault of one session does not hide the others; a store that fails does not work for them either.
    if (!isLoomError(error) || (error.code.startsWith("store_") && error.code !== "store_corrupt")) throw error;
    return { ...about, status: error.code === "session_exists" ? "different" : "failed", reason: error.message };
  }
}

async function findLiveRun(log: Log, sessionId: string): Promise<string | undefined> {
  for await (const { runId, status } of readRuns(log, sessionId)) if (status === "live") return runId;
  return undefined;
}

/** Creates the session, or continues it. Returns whether anything was written. */
async function copyRecords(from: Log, to: Log, info: SessionInfo): Promise<boolean> {
  const { sessionId, title, owner, firstId, lastId, forkedFrom, rootId, isPinned, isArchived } = info;
  const known = await to.getSession(sessionId);
  if (known === undefined) {
    const fresh = { title, forkedFrom, isPinned, isArchived, owner, firstId, rootId };
    const carried = await from.readCarried(sessionId);
    await to.createSession(sessionId, { ...fresh, carried, entries: readEntries(from, info) });
    return true;
  }
  if (known.owner !== owner) return false;
  // A session gets its title with its first message, which may be newer than the copy.
  const isUntitled = known.title === undefined && title !== undefined;
  if (isUntitled) await to.updateSession(sessionId, { title });
  if (known.lastId >= lastId) return isUntitled;
  await importSession(to, exportSession(from, sessionId), { sessionId, owner });
  return true;
}

async function* readEntries(log: Log, info: SessionInfo): AsyncGenerator<readonly LogEntry[], void, undefined> {
  for await (const { records, texts } of readPages(log, info, info.firstId - 1))
    yield records.map((record, index) => ({ record, text: texts[index] ?? "" }));
}

/** Describes how a copy differs, apart from its records. */
function findDifference(info: SessionInfo, copy: SessionInfo): string | undefined {
  if (copy.owner !== info.owner) return "it has another owner";
  if (copy.firstId !== info.firstId) return `it starts at record ${copy.firstId}, not ${info.firstId}`;
  if (copy.lastId > info.lastId) return `it has more records, after ${info.lastId}`;
  if (copy.title !== info.title) return "it has another title";
  if (copy.rootId !== info.rootId || !isDeepStrictEqual(copy.forkedFrom, info.forkedFrom))
    return "it was forked from another session";
  return undefined;
}

async function digestRecords(log: Log, info: SessionInfo): Promise<string> {
  const hash = createHash("sha256");
  for await (const { text } of readPages(log, info, info.firstId - 1)) hash.update(`${text}\n`);
  return hash.digest("hex");
}

/** Submits the pending commands that the target does not have. Returns whether there were any. */
async function copyCommands(from: Log, to: Log, sessionId: string): Promise<boolean> {
  let isAdded = false;
  for (const { commandId, kind, body } of await from.listPending(sessionId, from.limits.maxPendingCommands)) {
    if ((await to.getCommand(sessionId, commandId)) !== undefined) continue;
    await to.submit({ sessionId, commandId, kind, body }, { maxQueued: Infinity });
    isAdded = true;
  }
  return isAdded;
}
