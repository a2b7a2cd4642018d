/**
 * A fork that is asked for over HTTP, by a checkpoint, by a record, by the run it is before, or of all that is over.
 * Asked for again with its key it is the one that was made, however far both have come since.
 */
import { isDeepStrictEqual } from "node:util";
import { forkBeforeRun, forkSession, type Log, type SessionInfo } from "../../log/index.ts";
import { findLastOver, findRunStart } from "../../log/fork-before-run.ts";
import type { Landmark } from "../../log/log.ts";
import {
  type CheckpointEvent,
  isLoomError,
  type JsonObject,
  LoomError,
  type StampedRecord,
  type ToolRules,
} from "../../protocol/index.ts";
import type { ForkSession } from "../api/shapes.generated.ts";
import { findSession } from "./find-session.ts";

/** Checkpoints of subgraphs that are passed over to find one of the graph itself. */
const MAX_PASSED_OVER = 100;
/** Runs of a copy that are looked through for one it has from the old session. */
const MAX_RUNS = 100;

export interface ForkRequest {
  readonly from: string;
  readonly to: string;
  readonly asked: ForkSession;
  /** The caller has a key, and may ask again. */
  readonly isKeyed: boolean;
  /** Whose the new session is. */
  readonly owner: string;
  /** Who asks, and what their runs may do with tools. */
  readonly actor?: string | undefined;
  readonly tools?: ToolRules | undefined;
  /** Where an image of the old session is in the new one. */
  readonly moveImage: (url: string) => string;
}

interface Fork extends SessionInfo {
  /** From which it goes on, where something does. */
  readonly checkpointId?: string;
}

/** Asked for again with a key, it is the fork that is there, if it is this one. */
export async function forkOnce(
  log: Log,
  request: ForkRequest,
): Promise<{ readonly made: Fork; readonly isNew: boolean }> {
  const { to, asked, isKeyed } = request;
  assertPlace(asked);
  try {
    return { made: await forkAt(log, request), isNew: true };
  } catch (error) {
    if (!isKeyed || !isLoomError(error, "session_exists")) throw error;
    const made = await findMade(log, request);
    if (made !== undefined) return { made, isNew: false };
    if (asked.session_id !== undefined) throw error;
    throw new LoomError("command_conflict", "another fork was made with this key", { session_id: to });
  }
}

function findMade(log: Log, request: ForkRequest): Promise<Fork | undefined> {
  const { from, to, asked } = request;
  const { before_run: run } = asked;
  if (run !== undefined) return findForkBefore(log, { ...request, run });
  return hasPlace(asked) ? findFork(log, from, to, asked) : findCopy(log, request);
}

/**
 * The session, if it parts from the old one where this is asked for, with the values that are asked for. What a fork was
 * made of is stored nowhere else: both have the checkpoint, and what comes after it is not the same.
 */
async function findFork(log: Log, from: string, to: string, asked: ForkSession): Promise<Fork | undefined> {
  const info = to === from ? undefined : await log.getSession(to);
  if (info === undefined) return undefined;
  for (const { key, eventId } of await listPlaces(log, from, asked)) {
    // As when it was made.
    if (!isOfGraph(await readNext(log, from, eventId - 1))) continue;
    if ((await log.getLandmark(to, "checkpoint", key))?.eventId !== eventId) return undefined;
    const next = await readNext(log, to, eventId);
    if (next !== undefined && isSameRecord(next, await readNext(log, from, eventId))) return undefined;
    // Between two checkpoints of a graph there is always what it did.
    if (next?.event.type !== "checkpoint")
      return asked.state === undefined ? { ...info, checkpointId: key } : undefined;
    const { checkpoint_id: checkpointId, state } = next.event as CheckpointEvent;
    return isDeepStrictEqual(state, toStored(asked.state)) ? { ...info, checkpointId } : undefined;
  }
  return undefined;
}

/**
 * The session, if it parts from the old one before this run. One that shares nothing is known by its name alone, which
 * follows from the key; where the caller chose the name, it is another's as soon as something was said there.
 */
async function findForkBefore(
  log: Log,
  { from, to, asked, run }: ForkRequest & { readonly run: string },
): Promise<Fork | undefined> {
  const [old, info] = await Promise.all([findSession(log, from), log.getSession(to)]);
  if (to === from || info === undefined) return undefined;
  const start = await findRunStart(log, from, run);
  const next = await readAt(log, info, start);
  if (next !== undefined && isSameRecord(next, await readAt(log, old, start))) return undefined;
  if (start === old.firstId) return asked.session_id === undefined || next === undefined ? info : undefined;
  const last = await readAt(log, info, start - 1);
  return last !== undefined && isSameRecord(last, await readAt(log, old, start - 1)) ? info : undefined;
}

/**
 * The session, if it is a copy of the old one. A name that follows from the key is nobody else's. Under one that the caller
 * chose it is known by the newest run that both have, which ended before they parted; an empty one as long as there is
 * nothing to copy.
 */
async function findCopy(log: Log, { from, to, asked }: ForkRequest): Promise<Fork | undefined> {
  const [old, info] = await Promise.all([findSession(log, from), log.getSession(to)]);
  if (to === from || info === undefined) return undefined;
  if (asked.session_id === undefined) return info;
  for (const run of await log.listRuns(to, { limit: MAX_RUNS })) {
    const same = await log.getRun(from, run.runId);
    if (same !== undefined) return run.status !== "live" && isDeepStrictEqual(run, same) ? info : undefined;
  }
  const isEmpty = info.lastId < info.firstId && (await findLastOver(log, old)) < old.firstId;
  return isEmpty ? info : undefined;
}

/** Undefined where the session does not hold it. */
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

/** A checkpoint of the graph itself, not of a subgraph. */
function isOfGraph(record: StampedRecord | undefined): boolean {
  return ((record?.event as CheckpointEvent | undefined)?.checkpoint_ns ?? "") === "";
}

/** But for the name of the session, which checkpoints tell, and the addresses of images. */
function isSameRecord(one: StampedRecord, other: StampedRecord | undefined): boolean {
  if (one.envelope.ts !== other?.envelope.ts) return false;
  const isNamed = one.event.type === "checkpoint" || one.event.type === "image";
  const unnamed = isNamed ? { thread_id: "", url: "" } : {};
  return isDeepStrictEqual({ ...one.event, ...unnamed }, { ...other?.event, ...unnamed });
}

/** Values of channels as the checkpoint of a fork has them. */
function toStored(state: ForkSession["state"]): JsonObject | undefined {
  if (state === undefined) return undefined;
  return Object.fromEntries(Object.entries(state).map(([channel, set]) => [channel, { set }]));
}

/** Where a fork may part from the session, the likeliest first. */
async function listPlaces(log: Log, from: string, asked: ForkSession): Promise<readonly Landmark[]> {
  const { checkpoint_id: checkpointId, after_event: eventId = 0 } = asked;
  if (checkpointId === undefined) return log.listLandmarks(from, "checkpoint", MAX_PASSED_OVER, eventId + 1);
  const place = await log.getLandmark(from, "checkpoint", checkpointId);
  return place === undefined ? [] : [place];
}

/** False: all that is over is shared. */
export function hasPlace(asked: ForkSession): boolean {
  return listNamed(asked).length > 0;
}

/** True where a run goes on in the fork from a checkpoint. */
export function goesOn({ checkpoint_id, after_event }: ForkSession): boolean {
  return checkpoint_id !== undefined || after_event !== undefined;
}

function listNamed({ checkpoint_id, after_event, before_run }: ForkSession): readonly unknown[] {
  return [checkpoint_id, after_event, before_run].filter((place) => place !== undefined);
}

function assertPlace(asked: ForkSession): void {
  if (listNamed(asked).length > 1)
    throw new LoomError(
      "invalid_request",
      "a fork names one of `checkpoint_id`, `after_event` and `before_run`, or none",
    );
  if (asked.state !== undefined && !goesOn(asked))
    throw new LoomError("invalid_request", "between two runs there is no checkpoint whose `state` could be another");
}

async function forkAt(log: Log, { from, to, asked, moveImage, owner, actor, tools }: ForkRequest): Promise<Fork> {
  const { checkpoint_id: checkpointId, after_event: eventId, before_run: runId, title, state } = asked;
  const place = { from, to, moveImage, owner, ...(title === undefined ? {} : { title }) };
  if (runId !== undefined) return forkBeforeRun(log, { ...place, runId });
  if (!hasPlace(asked)) return forkBeforeRun(log, place);
  const options = { ...place, actor, toolRules: tools, ...(state === undefined ? {} : { state }) };
  if (checkpointId !== undefined) return forkSession(log, { ...options, checkpointId });
  await findSession(log, from);
  for (const { key } of await listPlaces(log, from, asked)) {
    try {
      return await forkSession(log, { ...options, checkpointId: key });
    } catch (error) {
      // It is of a subgraph, from which nobody can go on; nothing was copied yet.
      if (!isLoomError(error, "unsupported")) throw error;
    }
  }
  throw new LoomError("unknown_checkpoint", `session "${from}" has no checkpoint up to record ${eventId}`, {
    session_id: from,
  });
}
