/**
 * Forks a session for an HTTP request: at a checkpoint, at a record, before a run, or with everything that has ended.
 *
 * Invariant: a request repeated with its idempotency key returns the fork it created, however far both sessions have
 * advanced.
 */
import { isDeepStrictEqual } from "node:util";
import { forkBeforeRun, forkSession, type Log, type SessionInfo } from "../../log/index.ts";
import { findLastIdleRecord, findRunStart } from "../../log/fork-before-run.ts";
import type { Landmark } from "../../log/log.ts";
import { isLoomError, type JsonObject, LoomError, type StampedRecord, type ToolRules } from "../../protocol/index.ts";
import type { CheckpointEvent } from "../../protocol/events.generated.ts";
import type { ForkSession } from "../api/shapes.generated.ts";
import { findSession } from "./find-session.ts";

/** Maximum number of checkpoints to search for one of the root graph. */
const MAX_CHECKPOINTS_SCANNED = 100;
/** Maximum number of runs of a copy to search for one that the original also has. */
const MAX_RUNS_SCANNED = 100;

export interface ForkRequest {
  readonly from: string;
  readonly to: string;
  readonly options: ForkSession;
  /** The request has an idempotency key and may be repeated. */
  readonly isKeyed: boolean;
  /** Owner of the new session. */
  readonly owner: string;
  /** Credential recorded in the new session. */
  readonly actor?: string | undefined;
  readonly tools?: ToolRules | undefined;
  /** Converts the URL of an image of the original to that in the fork. */
  readonly moveImage: (url: string) => string;
}

interface ForkedSessionInfo extends SessionInfo {
  /** Checkpoint from which a run is resumed, if any. */
  readonly checkpointId?: string;
}

/** Creates the fork, or returns the existing one if the request repeats an earlier one with the same key. */
export async function forkOnce(
  log: Log,
  request: ForkRequest,
): Promise<{ readonly fork: ForkedSessionInfo; readonly isNew: boolean }> {
  const { to, options, isKeyed } = request;
  assertForkOptions(options);
  try {
    return { fork: await forkAt(log, request), isNew: true };
  } catch (error) {
    if (!isKeyed || !isLoomError(error, "session_exists")) throw error;
    const fork = await findExistingFork(log, request);
    if (fork !== undefined) return { fork, isNew: false };
    if (options.session_id !== undefined) throw error;
    throw new LoomError("command_conflict", "This idempotency key was used for another fork", { session_id: to });
  }
}

function findExistingFork(log: Log, request: ForkRequest): Promise<ForkedSessionInfo | undefined> {
  const { from, to, options } = request;
  const { before_run: run } = options;
  if (run !== undefined) return findForkBeforeRun(log, { ...request, run });
  return hasForkPoint(options) ? findCheckpointFork(log, from, to, options) : findCopy(log, request);
}

/**
 * Returns the session if it is the requested fork at a checkpoint. The origin of a fork is not stored, so it is
 * recognized by its records: both sessions have the checkpoint, and the records after it differ.
 */
async function findCheckpointFork(
  log: Log,
  from: string,
  to: string,
  options: ForkSession,
): Promise<ForkedSessionInfo | undefined> {
  const info = to === from ? undefined : await log.getSession(to);
  if (info === undefined) return undefined;
  for (const { key, eventId } of await listForkPoints(log, from, options)) {
    // Skip checkpoints of subgraphs, as when forking.
    if (!isRootCheckpoint(await readNext(log, from, eventId - 1))) continue;
    if ((await log.getLandmark(to, "checkpoint", key))?.eventId !== eventId) return undefined;
    const next = await readNext(log, to, eventId);
    if (next !== undefined && isSameRecord(next, await readNext(log, from, eventId))) return undefined;
    // A graph always writes records between two checkpoints, so a checkpoint that follows directly holds the replaced
    // state.
    if (next?.event.type !== "checkpoint")
      return options.state === undefined ? { ...info, checkpointId: key } : undefined;
    const { checkpoint_id: checkpointId, state } = next.event as CheckpointEvent;
    return isDeepStrictEqual(state, toStored(options.state)) ? { ...info, checkpointId } : undefined;
  }
  return undefined;
}

/**
 * Returns the session if it is a fork before this run. A fork that shares no records is recognized by its ID, which is
 * derived from the key; with an ID chosen by the caller only as long as the session is empty.
 */
async function findForkBeforeRun(
  log: Log,
  { from, to, options, run }: ForkRequest & { readonly run: string },
): Promise<ForkedSessionInfo | undefined> {
  const [original, info] = await Promise.all([findSession(log, from), log.getSession(to)]);
  if (to === from || info === undefined) return undefined;
  const start = await findRunStart(log, from, run);
  const next = await readAt(log, info, start);
  if (next !== undefined && isSameRecord(next, await readAt(log, original, start))) return undefined;
  if (start === original.firstId) return options.session_id === undefined || next === undefined ? info : undefined;
  const last = await readAt(log, info, start - 1);
  return last !== undefined && isSameRecord(last, await readAt(log, original, start - 1)) ? info : undefined;
}

/**
 * Returns the session if it is a copy of the original. An ID derived from the key is proof enough. With an ID chosen by
 * the caller, both must have the same newest common run, which has ended; an empty session counts only if there is
 * nothing to copy.
 */
async function findCopy(log: Log, { from, to, options }: ForkRequest): Promise<ForkedSessionInfo | undefined> {
  const [original, info] = await Promise.all([findSession(log, from), log.getSession(to)]);
  if (to === from || info === undefined) return undefined;
  if (options.session_id === undefined) return info;
  for (const run of await log.listRuns(to, { limit: MAX_RUNS_SCANNED })) {
    const same = await log.getRun(from, run.runId);
    if (same !== undefined) return run.status !== "live" && isDeepStrictEqual(run, same) ? info : undefined;
  }
  const isEmpty = info.lastId < info.firstId && (await findLastIdleRecord(log, original)) < original.firstId;
  return isEmpty ? info : undefined;
}

/** Returns undefined if the session does not store the record. */
async function readAt(
  log: Log,
  { sessionId, firstId, lastId }: SessionInfo,
  id: number,
): Promise<StampedRecord | undefined> {
  return id < firstId || id > lastId ? undefined : readNext(log, sessionId, id - 1);
}

async function readNext(log: Log, session: string, after: number): Promise<StampedRecord | undefined> {
  return (await log.read(session, { after, limit: 1 })).records[0];
}

/** True for a checkpoint of the root graph, false for one of a subgraph. */
function isRootCheckpoint(record: StampedRecord | undefined): boolean {
  return ((record?.event as CheckpointEvent | undefined)?.checkpoint_ns ?? "") === "";
}

/** Compares records, ignoring the session ID in checkpoints and the URLs of images. */
function isSameRecord(one: StampedRecord, other: StampedRecord | undefined): boolean {
  if (one.envelope.ts !== other?.envelope.ts) return false;
  const isNamed = one.event.type === "checkpoint" || one.event.type === "image";
  const unnamed = isNamed ? { thread_id: "", url: "" } : {};
  return isDeepStrictEqual({ ...one.event, ...unnamed }, { ...other?.event, ...unnamed });
}

/** Channel values as the checkpoint of a fork stores them. */
function toStored(state: ForkSession["state"]): JsonObject | undefined {
  if (state === undefined) return undefined;
  return Object.fromEntries(Object.entries(state).map(([channel, set]) => [channel, { set }]));
}

/** Checkpoints at which the session may be forked, most likely first. */
async function listForkPoints(log: Log, from: string, options: ForkSession): Promise<readonly Landmark[]> {
  const { checkpoint_id: checkpointId, after_event: eventId = 0 } = options;
  if (checkpointId === undefined) return log.listLandmarks(from, "checkpoint", MAX_CHECKPOINTS_SCANNED, eventId + 1);
  const checkpoint = await log.getLandmark(from, "checkpoint", checkpointId);
  return checkpoint === undefined ? [] : [checkpoint];
}

/** False: everything that has ended is copied. */
export function hasForkPoint(options: ForkSession): boolean {
  return listForkPointFields(options).length > 0;
}

/** True if a run is resumed in the fork. */
export function resumesRun({ checkpoint_id, after_event }: ForkSession): boolean {
  return checkpoint_id !== undefined || after_event !== undefined;
}

function listForkPointFields({ checkpoint_id, after_event, before_run }: ForkSession): readonly unknown[] {
  return [checkpoint_id, after_event, before_run].filter((field) => field !== undefined);
}

function assertForkOptions(options: ForkSession): void {
  if (listForkPointFields(options).length > 1)
    throw new LoomError("invalid_request", "Set at most one of `checkpoint_id`, `after_event` and `before_run`");
  if (options.state !== undefined && !resumesRun(options))
    throw new LoomError("invalid_request", "`state` requires `checkpoint_id` or `after_event`");
}

async function forkAt(
  log: Log,
  { from, to, options, moveImage, owner, actor, tools }: ForkRequest,
): Promise<ForkedSessionInfo> {
  const { checkpoint_id: checkpointId, after_event: eventId, before_run: runId, title, state } = options;
  const base = { from, to, moveImage, owner, ...(title === undefined ? {} : { title }) };
  if (runId !== undefined) return forkBeforeRun(log, { ...base, runId });
  if (!hasForkPoint(options)) return forkBeforeRun(log, base);
  const checkpointOptions = { ...base, actor, toolRules: tools, ...(state === undefined ? {} : { state }) };
  if (checkpointId !== undefined) return forkSession(log, { ...checkpointOptions, checkpointId });
  await findSession(log, from);
  for (const { key } of await listForkPoints(log, from, options)) {
    try {
      return await forkSession(log, { ...checkpointOptions, checkpointId: key });
    } catch (error) {
      // The checkpoint belongs to a subgraph and cannot be resumed. Nothing was copied yet.
      if (!isLoomError(error, "unsupported")) throw error;
    }
  }
  throw new LoomError("unknown_checkpoint", `Session "${from}" has no checkpoint up to record ${eventId}`, {
    session_id: from,
  });
}
