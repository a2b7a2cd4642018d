/**
 * Orders the thinking of node runs that think in parallel, for dialects that have one text of thinking: one thought is
 * live and sent as it arrives; the others wait until it ends, and follow in the order of their start. A thought is the
 * thinking of one model call.
 *
 * Invariants:
 * - All thinking is sent, in the order of its thought, and at the latest with the end of the run.
 * - At most `MAX_WAITING` characters wait. Beyond it, the oldest thoughts that have ended are sent at the next line end of
 *   the live one, or without one when twice as many wait. If none has ended, the live one is paused: the oldest takes
 *   its place, and what the paused one writes from then on waits like a new thought.
 * - The state is plain data and part of the saved state of an encoder, with the texts that wait.
 */
import { isKnownEvent, type StampedRecord } from "../protocol/index.ts";
import { isAnswerChannel } from "../protocol/record.ts";

/** Maximum number of characters that wait, for each run. */
export const MAX_WAITING = 64 * 1024;
/** Without a line end, ended thoughts are sent when this many characters wait. */
const MAX_UNTIL_LINE_END = 2 * MAX_WAITING;
/** What a piece counts in addition to its text. */
const PIECE_SIZE = 32;
/** Short pieces that wait are joined up to this number of characters. */
const MAX_JOINED = 4096;

/** Separates thoughts. */
export const BLANK_LINE = "\n\n";

/** A piece of a thought. */
export interface TextPiece {
  readonly content: string;
  /** Name of the node, if it is text of a search and not reasoning. */
  readonly node: string | undefined;
  /** The stage that the sender stated. */
  readonly stage: string | undefined;
  /** The frame of the piece, if it must not be joined with others or divided. */
  readonly frame?: string;
}

/** A piece of thinking to send. */
export interface ThoughtPiece extends TextPiece {
  /** True if it begins another thought than the piece sent before. */
  readonly isFirst: boolean;
  /** True for a piece of the record that was added, false for one that waited. */
  readonly isLive: boolean;
}

interface WaitingPiece extends TextPiece {
  content: string;
  /** True if it begins a thought, or another text of one. */
  readonly isFirst: boolean;
}

interface WaitingThought {
  readonly key: string;
  readonly pieces: WaitingPiece[];
  /** True if its next piece begins another text, after its reasoning has ended. */
  isNext: boolean;
  isEnded: boolean;
}

/**
 * The thoughts of one run. Plain data, so the class has no methods.
 *
 * A node run has at most one thought that has not ended: it is `live`, or it waits and is in `open`. Other thoughts that
 * wait have ended. While thoughts wait, one is live, except within a function here.
 */
export class ThoughtQueue {
  /** The node run whose thought is live, `OUTSIDE` for thinking outside of node runs; undefined if none is live. */
  live: string | undefined;
  /** Thoughts that wait, by number: the oldest first. */
  readonly waiting = new Map<number, WaitingThought>();
  /** Numbers of the waiting thoughts that have not ended, by node run. */
  readonly open = new Map<string, number>();
  /** Number of the next thought that waits. */
  next = 0;
  /** Number of waiting thoughts that have ended. */
  ended = 0;
  /** Size of all that waits. */
  size = 0;
  /** True if the next piece that is sent begins another thought. */
  isNext = false;
  /** False if no blank line comes before the next thought. */
  hasSent = false;
}

/**
 * Adds the next record of the run. Returns the thinking to send now, before other frames of the record. Judgements are
 * not thinking.
 */
export function addToThoughts(queue: ThoughtQueue, record: StampedRecord): readonly ThoughtPiece[] {
  const { event } = record;
  if (!isKnownEvent(event)) return NOTHING;
  if (event.type === "reasoning_chunk") {
    const { content, stage, channel } = event;
    return channel === "judgement" ? NOTHING : addPiece(queue, keyOf(record), { content, node: undefined, stage });
  }
  if (event.type !== "message_chunk") return addEvent(queue, record);
  const { content, id: node, channel } = event;
  if (channel === "thought") return addPiece(queue, keyOf(record), { content, node, stage: undefined });
  return isAnswerChannel(channel) ? endThought(queue, keyOf(record)) : NOTHING;
}

/** Adds a record that is not a piece of text. Returns what has waited for it. */
export function addEvent(queue: ThoughtQueue, record: StampedRecord): readonly ThoughtPiece[] {
  switch (record.event.type) {
    case "reasoning_end":
      endReasoning(queue, keyOf(record));
      return NOTHING;
    case "tool_call":
    case "llm_end":
    case "node_exit":
      return endThought(queue, keyOf(record));
    case "run_end":
    case "reply":
      return flushThoughts(queue);
    default:
      return NOTHING;
  }
}

/** True if the thinking of this node run is not waiting. */
export function isLiveThought({ live }: ThoughtQueue, nodeId = OUTSIDE): boolean {
  return live === undefined || live === nodeId;
}

/** Ends all thoughts and returns what has waited. */
export function flushThoughts(queue: ThoughtQueue): readonly ThoughtPiece[] {
  if (queue.live === undefined && queue.waiting.size === 0) return NOTHING;
  const pieces: ThoughtPiece[] = [];
  endLive(queue);
  for (const number of queue.waiting.keys()) {
    sendWaiting(queue, number, pieces);
    endLive(queue);
  }
  return pieces;
}

const NOTHING: readonly ThoughtPiece[] = [];

/** Stands for the node run of thinking outside of node runs. The sender divides its texts. */
const OUTSIDE = "";

function keyOf({ envelope }: StampedRecord): string {
  return envelope.node_id ?? OUTSIDE;
}

/** Adds a piece of text of a node run. Returns the pieces to send now. */
export function addPiece(queue: ThoughtQueue, key: string, piece: TextPiece): readonly ThoughtPiece[] {
  if (piece.content === "" && piece.frame === undefined && !isLiveThought(queue, key)) return NOTHING;
  queue.live ??= key;
  const pieces: ThoughtPiece[] = [];
  if (queue.live !== key) {
    wait(queue, key, piece);
    if (queue.size <= (queue.ended > 0 ? MAX_UNTIL_LINE_END : MAX_WAITING)) return NOTHING;
    sendEnded(queue, pieces);
    pauseLive(queue, pieces);
    return pieces;
  }
  const lineEnd = queue.ended > 0 && queue.size > MAX_WAITING ? piece.content.indexOf("\n") + 1 : 0;
  if (lineEnd === 0) return [send(queue, piece, true)];
  const isWhole = piece.frame !== undefined || lineEnd === piece.content.length;
  pieces.push(send(queue, isWhole ? piece : { ...piece, content: piece.content.slice(0, lineEnd) }, true));
  sendEnded(queue, pieces);
  if (!isWhole) pieces.push(send(queue, { ...piece, content: piece.content.slice(lineEnd) }, true));
  return pieces;
}

/** Sends the oldest thoughts that have ended until what waits is within the limit. */
function sendEnded(queue: ThoughtQueue, pieces: ThoughtPiece[]): void {
  for (const [number, { isEnded }] of queue.waiting) {
    if (queue.size <= MAX_WAITING) return;
    if (isEnded) sendWaiting(queue, number, pieces);
  }
}

/** Lets the oldest thoughts take the place of the live one until what waits is within the limit. */
function pauseLive(queue: ThoughtQueue, pieces: ThoughtPiece[]): void {
  for (const number of queue.waiting.keys()) {
    if (queue.size <= MAX_WAITING) return;
    endLive(queue);
    sendWaiting(queue, number, pieces);
  }
}

function wait(queue: ThoughtQueue, key: string, piece: TextPiece): void {
  const thought = findWaiting(queue, key);
  const last = thought.pieces.at(-1);
  const isJoined =
    last !== undefined &&
    last.frame === undefined &&
    piece.frame === undefined &&
    !thought.isNext &&
    last.content.length + piece.content.length <= MAX_JOINED &&
    last.stage === piece.stage &&
    last.node === piece.node;
  if (isJoined) last.content += piece.content;
  else thought.pieces.push({ ...piece, isFirst: thought.isNext });
  thought.isNext = false;
  queue.size += isJoined ? piece.content.length : measure(piece);
}

function measure({ content, frame = content }: TextPiece): number {
  return frame.length + PIECE_SIZE;
}

function findWaiting(queue: ThoughtQueue, key: string): WaitingThought {
  const known = queue.waiting.get(queue.open.get(key) ?? -1);
  if (known !== undefined) return known;
  const thought: WaitingThought = { key, pieces: [], isNext: true, isEnded: false };
  queue.open.set(key, queue.next);
  queue.waiting.set(queue.next++, thought);
  return thought;
}

function endReasoning(queue: ThoughtQueue, key: string): void {
  if (key === OUTSIDE) return;
  if (queue.live === key) queue.isNext = true;
  const waiting = queue.waiting.get(queue.open.get(key) ?? -1);
  if (waiting !== undefined) waiting.isNext = true;
}

function endThought(queue: ThoughtQueue, key: string): readonly ThoughtPiece[] {
  const number = queue.open.get(key);
  const thought = queue.waiting.get(number ?? -1);
  if (thought !== undefined) {
    thought.isEnded = true;
    queue.ended++;
    queue.open.delete(key);
  }
  if (queue.live !== key) return NOTHING;
  endLive(queue);
  const pieces: ThoughtPiece[] = [];
  for (const next of queue.waiting.keys()) {
    if (queue.live !== undefined) break;
    sendWaiting(queue, next, pieces);
  }
  return pieces;
}

function endLive(queue: ThoughtQueue): void {
  queue.isNext ||= queue.live !== undefined && queue.live !== OUTSIDE;
  queue.live = undefined;
}

/** Sends a waiting thought. If it has not ended, it becomes the live one; then no other may be live. */
function sendWaiting(queue: ThoughtQueue, number: number, pieces: ThoughtPiece[]): void {
  const thought = queue.waiting.get(number);
  if (thought === undefined) return;
  queue.waiting.delete(number);
  const { key, isEnded, isNext } = thought;
  for (const piece of thought.pieces) {
    queue.isNext ||= piece.isFirst;
    queue.size -= measure(piece);
    pieces.push(send(queue, piece, false));
  }
  queue.isNext = isEnded || isNext;
  if (isEnded) queue.ended--;
  else {
    queue.open.delete(key);
    queue.live = key;
  }
}

function send(queue: ThoughtQueue, piece: TextPiece, isLive: boolean): ThoughtPiece {
  if (piece.content === "") return { ...piece, isFirst: false, isLive };
  const isFirst = queue.isNext && queue.hasSent;
  queue.isNext = false;
  queue.hasSent = true;
  return { ...piece, isFirst, isLive };
}
