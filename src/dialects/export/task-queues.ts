/**
 * Orders the text of node runs (tasks) that run in parallel and have the same name: frames of this dialect have only the
 * name, so one of them is sent at a time (`thought-queue.ts`). Each record still has one frame.
 */
import type { EventOf, StampedRecord } from "../../protocol/index.ts";
import { addEvent, addPiece, type ThoughtPiece, ThoughtQueue } from "../thought-queue.ts";

/** Texts of further runs, and of further names, are sent as they arrive. */
const MAX_RUNS = 1000;
const MAX_NAMES = 1000;

/** The queues of the tasks by name, for each run. Plain data: it is part of the saved state of the encoder. */
export type TaskQueues = Map<string, Map<string, ThoughtQueue>>;

/** Adds the next record with its frame. Returns the frames to send now, those that have waited first. */
export function addToTasks(runs: TaskQueues, record: StampedRecord, frame: string): readonly string[] {
  const { envelope, event } = record;
  const { session_id, run_id = "", node_id } = envelope;
  const run = `${session_id.length}:${session_id}${run_id}`;
  if (node_id !== undefined && (event.type === "message_chunk" || event.type === "reasoning_chunk")) {
    const { content, id: name = "" } = event as EventOf<"message_chunk"> | EventOf<"reasoning_chunk">;
    const queue = findQueue(runs, run, name);
    if (queue === undefined) return [frame];
    return readFrames(addPiece(queue, node_id, { content, node: name, stage: undefined, frame }));
  }
  const queues = runs.get(run);
  if (queues === undefined) return [frame];
  const frames: string[] = [];
  for (const [name, queue] of queues) {
    frames.push(...readFrames(addEvent(queue, record)));
    if (queue.live === undefined && queue.waiting.size === 0) queues.delete(name);
  }
  if (queues.size === 0) runs.delete(run);
  return frames.length === 0 ? [frame] : [...frames, frame];
}

function findQueue(runs: TaskQueues, run: string, name: string): ThoughtQueue | undefined {
  let queues = runs.get(run);
  if (queues === undefined) {
    if (runs.size >= MAX_RUNS) return undefined;
    runs.set(run, (queues = new Map<string, ThoughtQueue>()));
  }
  let queue = queues.get(name);
  if (queue === undefined && queues.size < MAX_NAMES) queues.set(name, (queue = new ThoughtQueue()));
  return queue;
}

function readFrames(pieces: readonly ThoughtPiece[]): readonly string[] {
  return pieces.map(({ content, frame = content }) => frame);
}
