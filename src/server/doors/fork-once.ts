/**
 * A fork that is asked for over HTTP, by a checkpoint or by a record. Asked for again with its key it is the one that was
 * made, however far that has come since.
 */
import { isDeepStrictEqual } from "node:util";
import { type ForkedSession, forkSession, type Log } from "../../log/index.ts";
import type { Landmark } from "../../log/log.ts";
import {
  type CheckpointEvent,
  isLoomError,
  type JsonObject,
  LoomError,
  type StampedRecord,
} from "../../protocol/index.ts";
import type { ForkSession } from "../api/shapes.generated.ts";
import { findSession } from "./find-session.ts";

/** Checkpoints of subgraphs that are passed over to find one of the graph itself. */
const MAX_PASSED_OVER = 100;

/** Asked for again with a key, it is the fork that is there, if it is this one. */
export async function forkOnce(
  log: Log,
  from: string,
  to: string,
  asked: ForkSession,
  isKeyed: boolean,
): Promise<{ readonly made: ForkedSession; readonly isNew: boolean }> {
  try {
    return { made: await forkAt(log, from, to, asked), isNew: true };
  } catch (error) {
    if (!isKeyed || !isLoomError(error, "session_exists")) throw error;
    const made = await findFork(log, from, to, asked);
    if (made !== undefined) return { made, isNew: false };
    if (asked.session_id !== undefined) throw error;
    throw new LoomError("command_conflict", "another fork was made with this key", { session_id: to });
  }
}

/**
 * The session, if it parts from the old one where this is asked for, with the values that are asked for. What a fork was
 * made of is stored nowhere else: both have the checkpoint, and what comes after it is not the same.
 */
async function findFork(log: Log, from: string, to: string, asked: ForkSession): Promise<ForkedSession | undefined> {
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

async function readNext(log: Log, session: string, after: number): Promise<StampedRecord | undefined> {
  return (await log.read(session, { after, limit: 1 })).records[0];
}

/** A checkpoint of the graph itself, not of a subgraph. */
function isOfGraph(record: StampedRecord | undefined): boolean {
  return ((record?.event as CheckpointEvent | undefined)?.checkpoint_ns ?? "") === "";
}

/** But for the name of the session, which checkpoints tell. */
function isSameRecord(one: StampedRecord, other: StampedRecord | undefined): boolean {
  if (one.envelope.ts !== other?.envelope.ts) return false;
  return isDeepStrictEqual({ ...one.event, thread_id: "" }, { ...other?.event, thread_id: "" });
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

async function forkAt(log: Log, from: string, to: string, asked: ForkSession): Promise<ForkedSession> {
  const { checkpoint_id: checkpointId, after_event: eventId, title, state } = asked;
  const options = { from, to, ...(title === undefined ? {} : { title }), ...(state === undefined ? {} : { state }) };
  if ((checkpointId === undefined) === (eventId === undefined))
    throw new LoomError("invalid_request", "a fork names either `checkpoint_id` or `after_event`");
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
