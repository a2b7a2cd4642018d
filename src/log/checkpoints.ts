/**
 * Lists the checkpoints of a session and reads a checkpoint with its full state. The log stores states as deltas;
 * `readCheckpoint` folds them.
 *
 * Uses the memory of one page and one state. Listing reads the listed checkpoints and the short gaps between them;
 * reading a state reads its run up to the checkpoint.
 */
import { createRecordReader } from "../dialects/loom/decode.ts";
import {
  type AnyEvent,
  type Json,
  type JsonObject,
  LoomError,
  type StampedRecord,
  StateFold,
} from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import type { CheckpointEvent, UpdatesEvent } from "../protocol/events.generated.ts";
import { assertIncarnation, createLoopYield } from "./follow-records.ts";
import type { Landmark, PagingOptions, Log, SessionInfo } from "./log.ts";
import { readPages } from "./read-pages.ts";
import { unknownListCursor, assertSession } from "./rules.ts";

/** Checkpoints at most this many records apart are read together. */
const MAX_GAP = 64;

/** A checkpoint without its state. */
export interface CheckpointInfo {
  readonly checkpointId: string;
  /** Super-step; 0 for the input. A run of another agent may use a text. */
  readonly step: CheckpointEvent["step"];
  /** Path of the subgraph; empty for the root graph. */
  readonly ns: string;
  readonly runId: string | undefined;
  /** ID of the checkpoint's record. */
  readonly eventId: number;
  /** ISO 8601. A run of another agent may use another format. */
  readonly timestamp: CheckpointEvent["timestamp"];
  /** Node runs of the next super-step; undefined if the checkpoint does not list them. */
  readonly next: CheckpointEvent["next"];
}

/** A checkpoint with its full state. */
export interface Checkpoint extends CheckpointInfo {
  readonly state: Json;
}

/**
 * Lists the checkpoints of all runs and subgraphs of a session, newest first. `limit` is at most 1000 (default: 100);
 * `after` is the ID of the last checkpoint already listed.
 *
 * Throws `unknown_session`, or `cursor_invalid` if `after` is not a checkpoint of the session.
 */
export async function listCheckpoints(
  log: Log,
  sessionId: string,
  { limit = 100, after }: PagingOptions = {},
): Promise<readonly CheckpointInfo[]> {
  const info = assertSession(await log.getSession(sessionId), sessionId);
  const position = after === undefined ? undefined : await log.getLandmark(sessionId, "checkpoint", after);
  if (after !== undefined && position === undefined) throw unknownListCursor(after);
  const landmarks = await log.listLandmarks(sessionId, "checkpoint", limit, position?.eventId);
  const found: CheckpointInfo[] = [];
  const yieldToLoop = createLoopYield();
  for (const group of groupNeighbours(landmarks.toReversed()))
    for await (const record of readRecords(log, info, group, yieldToLoop)) found.push(describe(record));
  return found.toReversed();
}

/** Groups checkpoints that are close enough to be read together, oldest first. */
function groupNeighbours(landmarks: readonly Landmark[]): readonly (readonly Landmark[])[] {
  const groups: Landmark[][] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const landmark of landmarks) {
    if (landmark.eventId - last <= MAX_GAP) groups.at(-1)?.push(landmark);
    else groups.push([landmark]);
    last = landmark.eventId;
  }
  return groups;
}

/**
 * Reads a checkpoint with its full state.
 *
 * Throws `unknown_session`, `unknown_checkpoint` if the session has no such checkpoint or it was pruned, and `evicted`
 * if the first records of its run are no longer stored.
 */
export async function readCheckpoint(log: Log, sessionId: string, checkpointId: string): Promise<Checkpoint> {
  const info = assertSession(await log.getSession(sessionId), sessionId);
  const record = await findCheckpoint(log, info, checkpointId);
  const { event } = record;
  if (event.delta !== true) return { ...describe(record), state: event.state };
  const found = (await foldStates(log, info, record)).find(event.checkpoint_ns);
  if (found?.isComplete !== true)
    throw new LoomError(
      "evicted",
      `The state of checkpoint "${checkpointId}" needs records before ${info.firstId}, which were pruned`,
      {
        session_id: sessionId,
        first_event_id: info.firstId,
      },
    );
  return { ...describe(record), state: found.state };
}

/** The channels of a graph, as far as the records of its run show them. */
interface StoredChannels {
  /** Undefined if the start of the run is no longer stored, or the state of another agent has no channels. */
  readonly values: JsonObject | undefined;
  /** Channels that nodes overwrite. The other lists and objects grow. */
  readonly replaced: ReadonlySet<string>;
}

/** Reads the channels of the root graph at a checkpoint. */
export async function readChannels(log: Log, info: SessionInfo, record: CheckpointRecord): Promise<StoredChannels> {
  const replaced = new Set<string>();
  const states = await foldStates(log, info, record, (event) => {
    const { type, state, delta, checkpoint_ns = "" } = event as UpdatesEvent;
    if (type !== "updates" || delta !== true || checkpoint_ns !== "" || !isJsonObject(state)) return;
    for (const [channel, change] of Object.entries(state))
      if (isJsonObject(change) && Object.hasOwn(change, "set")) replaced.add(channel);
  });
  const found = states.find();
  const values = found?.isComplete === true && isJsonObject(found.state) ? found.state : undefined;
  return { values, replaced };
}

export type CheckpointRecord = StampedRecord & { readonly event: CheckpointEvent };

/** Returns the record of a checkpoint. Throws `unknown_checkpoint`. */
export async function findCheckpoint(log: Log, info: SessionInfo, checkpointId: string): Promise<CheckpointRecord> {
  const { sessionId } = info;
  const landmark = await log.getLandmark(sessionId, "checkpoint", checkpointId);
  if (landmark !== undefined) for await (const record of readRecords(log, info, [landmark])) return record;
  throw new LoomError("unknown_checkpoint", `Session "${sessionId}" has no checkpoint "${checkpointId}"`, {
    session_id: sessionId,
    checkpoint_id: checkpointId,
  });
}

/** Folds the states of the checkpoint's run up to the checkpoint. */
async function foldStates(
  log: Log,
  info: SessionInfo,
  { envelope }: CheckpointRecord,
  onEvent?: (event: AnyEvent) => void,
): Promise<StateFold> {
  const { event_id: eventId, run_id: runId } = envelope;
  const from = await log.findFoldStart(info.sessionId, eventId - 1);
  const fold = new StateFold();
  const read = createRecordReader();
  for await (const page of readPages(log, info, from - 1, eventId))
    for (const text of page.texts) {
      // Every state event has this key and few other events do, so most records need not be parsed.
      if (!text.includes('"state"')) continue;
      const record = read(text);
      if (record === undefined || record.envelope.run_id !== runId) continue;
      fold.add(record.event);
      onEvent?.(record.event);
    }
  return fold;
}

/** Yields the checkpoint records of these landmarks, in their order. */
async function* readRecords(
  log: Log,
  info: SessionInfo,
  landmarks: readonly Landmark[],
  yieldToLoop = createLoopYield(),
): AsyncGenerator<CheckpointRecord, void, undefined> {
  const read = createRecordReader();
  let next = 0;
  for await (const page of readPages(
    log,
    info,
    (landmarks[0]?.eventId ?? 1) - 1,
    landmarks.at(-1)?.eventId ?? 0,
    yieldToLoop,
  ))
    for (; next < landmarks.length; next++) {
      const { key, eventId } = landmarks[next] as Landmark;
      if (eventId > page.lastId) break;
      const record = read(page.texts[eventId - page.after - 1] ?? "");
      if (record?.event.type !== "checkpoint" || record.envelope.event_id !== eventId) throw misplaced(eventId, key);
      yield record as CheckpointRecord;
    }
  const missed = landmarks[next];
  if (missed === undefined) return;
  await assertIncarnation(log, info.sessionId, info.incarnation);
  throw misplaced(missed.eventId, missed.key);
}

function misplaced(eventId: number, key: string): LoomError {
  return new LoomError("store_corrupt", `Record ${eventId} is not checkpoint "${key}"; the store is damaged`, {
    event_id: eventId,
  });
}

function describe({ envelope, event }: CheckpointRecord): CheckpointInfo {
  const { checkpoint_id: checkpointId, step, checkpoint_ns: ns = "", timestamp, next } = event;
  return { checkpointId, step, ns, runId: envelope.run_id, eventId: envelope.event_id, timestamp, next };
}
