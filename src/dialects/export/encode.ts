/**
 * Encodes the `export` dialect (000/001 §6): the 23 types of 001 under their keys, extension types as `Custom` with
 * `$loom`, and the reply as `{"reply": …}`.
 */
import type { AnyEvent, EventOf, Json, JsonObject, StampedRecord } from "../../protocol/index.ts";
import { EVENTS, type SpecifiedType } from "../../protocol/events/index.ts";
import { runKey } from "../../protocol/match-run.ts";
import { isSpecified } from "../../protocol/record.ts";
import { fitsStrictForm, wrapEvent } from "../../protocol/strict.ts";
import { ClosingReplyWriter } from "../closing-reply-writer.ts";
import { toStrictEvent } from "../strict-event.ts";
import type { Encoder, EncoderOptions } from "../dialect.ts";
import { extraOf, mergeExtra } from "../extra.ts";
import { addEvent, addPiece, type ThoughtPiece, ThoughtQueue } from "../thought-queue.ts";

/** Writes bodies that differ from the payload; `decode.ts` reads them. */
const WRITERS: { readonly [T in SpecifiedType]?: (event: JsonObject) => Json } = {
  node_enter: renameToNodeId,
  node_exit: renameToNodeId,
  updates: renameToNodeId,
  got_node_start: renameToNodeId,
  got_node_complete: renameToNodeId,
  got_node_failed: renameToNodeId,
  message_chunk: ({ content, id, ...more }) => ({
    chunk: { content: content as Json },
    metadata: { loom_node: id as Json, ...more },
  }),
  values: (event) => event["state"] as Json,
  custom: (event) => event["value"] as Json,
  checkpoint: (event) => ({ ...event, ...nullUnless(event, "thread_id", "checkpoint_ns") }),
  tool_call_chunk: (event) => ({ ...nullUnless(event, "call_id", "name"), ...event }),
  tool_call: showCallId,
  tool_start: showCallId,
  tool_output: showCallId,
  tool_end: showCallId,
  tool_approval: showCallId,
};

function showCallId(event: JsonObject): JsonObject {
  return { ...nullUnless(event, "call_id"), ...event };
}

function nullUnless(event: JsonObject, ...names: string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, event[name] ?? null]));
}

function renameToNodeId({ id, ...rest }: JsonObject): JsonObject {
  return { node_id: id as Json, ...rest };
}

interface SavedExport {
  readonly tasks: TaskQueues;
  readonly closing: unknown;
}

export function createExportEncoder({ strict = false }: EncoderOptions = {}, saved?: unknown): Encoder {
  const before = saved as SavedExport | undefined;
  const tasks: TaskQueues = before?.tasks ?? new Map();
  const closing = strict ? new ClosingReplyWriter(before?.closing) : undefined;
  return {
    save: (): SavedExport => ({ tasks, closing: closing?.save() }),
    findMissingText: (record) => closing?.findMissingText(record),
    encode(record) {
      const { envelope, event } = record;
      const sent = strict ? toStrictEvent(event, envelope.session_id) : event;
      const extra = strict ? undefined : extraOf(envelope, "export");
      const frames = addToTasks(tasks, record, exportText(sent, extra, strict));
      const end = closing?.add(record);
      return end === undefined ? frames : [...frames, JSON.stringify({ reply: end.reply })];
    },
  };
}

function exportText(event: AnyEvent, extra: JsonObject | undefined, strict: boolean): string {
  const { type, ...payload } = event as JsonObject & { readonly type: string };
  if (type === "reply") return JSON.stringify(mergeExtra(payload, extra));
  if (!strict && type === "foreign" && payload["dialect"] === "export") return JSON.stringify(payload["frame"]);
  if (!fitsStrictForm(event) || !isSpecified(type)) return JSON.stringify({ Custom: wrapEvent(event) });
  const write = WRITERS[type];
  return JSON.stringify({ [EVENTS[type].exportKey]: write === undefined ? payload : write(payload) });
}

/** Texts of further runs, and of further names, are sent as they arrive. */
const MAX_RUNS = 1000;
const MAX_NAMES = 1000;

/** The queues of the tasks by name, for each run. Plain data: it is part of the saved state of the encoder. */
type TaskQueues = Map<string, Map<string, ThoughtQueue>>;

/**
 * Orders the text of node runs (tasks) that run in parallel and have the same name: frames of this dialect have only the
 * name, so one of them is sent at a time (`thought-queue.ts`). Each record still has one frame. Returns the frames to
 * send now, those that have waited first.
 */
function addToTasks(runs: TaskQueues, record: StampedRecord, frame: string): readonly string[] {
  const { envelope, event } = record;
  const { session_id, run_id, node_id } = envelope;
  const run = runKey(session_id, run_id);
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
