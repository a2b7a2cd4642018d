/**
 * The checkpoints of a session: listed by what they say of themselves, and read with their state whole, which the log
 * holds as what changed.
 *
 * Memory is that of one page and one state. Listing costs what it lists and the few records between; a state costs the
 * run up to its checkpoint.
 */
import { createRecordReader } from "../dialects/index.ts";
import { type CheckpointEvent, type Json, LoomError, type StampedRecord, StateFold } from "../protocol/index.ts";
import { assertIncarnation, createTurns } from "./follow-records.ts";
import type { Landmark, ListOptions, Log, SessionInfo } from "./log.ts";
import { readPages } from "./read-pages.ts";
import { unknownPlace, unknownSession } from "./rules.ts";

/** Records between two checkpoints that cost less to read than to look for the second anew. */
const MAX_GAP = 64;

export interface CheckpointInfo {
  readonly checkpointId: string;
  /** Super-step: 0 for the input. */
  readonly step: number;
  /** Path of the subgraph, empty at the root. */
  readonly ns: string;
  readonly runId: string | undefined;
  readonly eventId: number;
  /** ISO 8601. */
  readonly timestamp: string;
  /** Node runs of the next super-step; undefined where it does not say. */
  readonly next: CheckpointEvent["next"];
}

export interface Checkpoint extends CheckpointInfo {
  readonly state: Json;
}

/** Newest first, at most a thousand; `after` is the id of the last one already listed. Of all runs and subgraphs. */
export async function listCheckpoints(
  log: Log,
  sessionId: string,
  { limit = 100, after }: ListOptions = {},
): Promise<readonly CheckpointInfo[]> {
  const info = await getSession(log, sessionId);
  const place = after === undefined ? undefined : await log.getLandmark(sessionId, "checkpoint", after);
  if (after !== undefined && place === undefined) throw unknownPlace(after);
  const landmarks = await log.listLandmarks(sessionId, "checkpoint", limit, place?.eventId);
  const found: CheckpointInfo[] = [];
  const turn = createTurns();
  for (const stretch of joinNeighbours(landmarks.toReversed()))
    for await (const record of readRecords(log, info, stretch, turn)) found.push(describe(record));
  return found.toReversed();
}

/** Those that are worth reading at once, oldest first like all of them. */
function joinNeighbours(landmarks: readonly Landmark[]): readonly (readonly Landmark[])[] {
  const stretches: Landmark[][] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const landmark of landmarks) {
    if (landmark.eventId - last <= MAX_GAP) stretches.at(-1)?.push(landmark);
    else stretches.push([landmark]);
    last = landmark.eventId;
  }
  return stretches;
}

/**
 * Refused as `unknown_checkpoint` where the session has none of this name, which is so of those that were pruned, and as
 * `evicted` where the beginning of its run is no longer held.
 */
export async function readCheckpoint(log: Log, sessionId: string, checkpointId: string): Promise<Checkpoint> {
  const info = await getSession(log, sessionId);
  const record = await findCheckpoint(log, info, checkpointId);
  const { event } = record;
  if (event.delta !== true) return { ...describe(record), state: event.state };
  const found = (await foldStates(log, info, record)).find(event.checkpoint_ns);
  if (found?.isWhole !== true)
    throw new LoomError("evicted", `the state of checkpoint "${checkpointId}" began before record ${info.firstId}`, {
      session_id: sessionId,
      first_event_id: info.firstId,
    });
  return { ...describe(record), state: found.state };
}

export type CheckpointRecord = StampedRecord & { readonly event: CheckpointEvent };

export async function findCheckpoint(log: Log, info: SessionInfo, checkpointId: string): Promise<CheckpointRecord> {
  const { sessionId } = info;
  const landmark = await log.getLandmark(sessionId, "checkpoint", checkpointId);
  if (landmark !== undefined) for await (const record of readRecords(log, info, [landmark])) return record;
  throw new LoomError("unknown_checkpoint", `session "${sessionId}" has no checkpoint "${checkpointId}"`, {
    session_id: sessionId,
    checkpoint_id: checkpointId,
  });
}

/** The states of the checkpoint's run as they were when it was written. */
async function foldStates(log: Log, info: SessionInfo, { envelope }: CheckpointRecord): Promise<StateFold> {
  const { event_id: eventId, run_id: runId } = envelope;
  const from = await log.findFoldStart(info.sessionId, eventId - 1);
  const fold = new StateFold();
  const read = createRecordReader();
  for await (const page of readPages(log, info, from - 1, eventId))
    for (const text of page.texts) {
      // Every state has this key, and hardly anything else: the rest need not be read.
      if (!text.includes('"state"')) continue;
      const record = read(text);
      if (record !== undefined && record.envelope.run_id === runId) fold.add(record.event);
    }
  return fold;
}

/** The checkpoints of a stretch, in its order. */
async function* readRecords(
  log: Log,
  info: SessionInfo,
  stretch: readonly Landmark[],
  turn = createTurns(),
): AsyncGenerator<CheckpointRecord, void, undefined> {
  const read = createRecordReader();
  let next = 0;
  for await (const page of readPages(log, info, (stretch[0]?.eventId ?? 1) - 1, stretch.at(-1)?.eventId ?? 0, turn))
    for (; next < stretch.length; next++) {
      const { key, eventId } = stretch[next] as Landmark;
      if (eventId > page.lastId) break;
      const record = read(page.texts[eventId - page.after - 1] ?? "");
      if (record?.event.type !== "checkpoint" || record.envelope.event_id !== eventId) throw misplaced(eventId, key);
      yield record as CheckpointRecord;
    }
  const missed = stretch[next];
  if (missed === undefined) return;
  await assertIncarnation(log, info.sessionId, info.incarnation);
  throw misplaced(missed.eventId, missed.key);
}

function misplaced(eventId: number, key: string): LoomError {
  return new LoomError("store_corrupt", `record ${eventId} is not the checkpoint "${key}"`, { event_id: eventId });
}

function describe({ envelope, event }: CheckpointRecord): CheckpointInfo {
  const { checkpoint_id: checkpointId, step, checkpoint_ns: ns = "", timestamp, next } = event;
  return { checkpointId, step, ns, runId: envelope.run_id, eventId: envelope.event_id, timestamp, next };
}

async function getSession(log: Log, sessionId: string): Promise<SessionInfo> {
  const info = await log.getSession(sessionId);
  if (info === undefined) throw unknownSession(sessionId);
  return info;
}
