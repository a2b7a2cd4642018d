/**
 * One live stream shared by all its followers. It is read from the log once, encoded once, and delivered to every
 * follower that has caught up. The latest frames and their encodings are retained, up to a limit of memory, for
 * followers that reconnect or lag a little.
 *
 * A channel knows neither sinks nor the limits of a reader: a follower that cannot take a part leaves and rejoins
 * later.
 *
 * Invariants:
 * - The retained parts are one contiguous range of the stream, from `base` to `head`.
 * - A follower that has caught up receives every part in order. Delivery is one synchronous call.
 */
import type { CursorDialect } from "../../log/cursor.ts";
import type { Log, SessionInfo, StreamOptions } from "../../log/index.ts";
import { openStreamSteps, type StreamStep } from "../../log/stream.ts";
import { FrameBatch, type BatchOrigin } from "./frame-batch.ts";
import {
  comparePositions,
  findFrameAfter,
  positionAfterStep,
  isAfterRecord,
  type Position,
  readPosition,
  writePosition,
} from "./position.ts";

/** A range of the stream: everything after `after`, up to and including `upTo`. */
export interface ChannelPart {
  readonly after: Position;
  readonly upTo: Position;
  /** Undefined when the records in this range have no frames in this format. */
  readonly batch: FrameBatch | undefined;
  readonly mayEndRun: boolean;
}

export function createPart(step: StreamStep, after: Position, origin: BatchOrigin): ChannelPart {
  const { frames, mayEndRun } = step;
  const batch = frames.length === 0 ? undefined : new FrameBatch(origin, frames, mayEndRun);
  return { after, upTo: positionAfterStep(step, after), batch, mayEndRun };
}

interface RetainedPart extends ChannelPart {
  upTo: Position;
  /** Bytes of all frames before this part. */
  readonly bytesBefore: number;
  /** Approximate memory of the part, with all encodings. */
  heldBytes: number;
  isRetained: boolean;
  /** The last slice cut from this part. Readers that disconnect together resume from the same position. */
  lastSlice: { readonly index: number; readonly batch: FrameBatch | undefined } | undefined;
}

export interface Follower {
  /** Receives the next part. Synchronous: a follower that cannot take it leaves the channel. */
  accept(part: ChannelPart): void;
  /** Called when the channel has new parts or has ended, so that the follower can continue from its own position. */
  wake(): void;
  /** Called when the channel fails. */
  fail(error: unknown): void;
}

export interface StreamChannelOptions {
  readonly log: Log;
  readonly session: SessionInfo;
  /** The end of a record. */
  readonly after: Position;
  readonly origin: BatchOrigin;
  readonly stream: CursorDialect & Pick<StreamOptions, "modes" | "encoderOptions" | "maxFrameBytes">;
  readonly maxSharedBytes: number;
  /** Called when the memory of the retained parts has changed. */
  readonly onHold: (bytes: number) => void;
  /** Called when the channel has ended. */
  readonly onEnd: () => void;
}

export class StreamChannel {
  readonly origin: BatchOrigin;
  readonly #options: StreamChannelOptions;
  readonly #caughtUp = new Set<Follower>();
  /** Followers that read further from the log than the channel has; woken at the next part. */
  readonly #ahead = new Set<Follower>();
  readonly #stop = new AbortController();
  readonly #parts: RetainedPart[] = [];
  #head: Position;
  #base: Position;
  #bytes = 0;
  #retainedBytes = 0;
  #isTrimPlanned = false;
  #lastCursor: string | undefined;
  #previousCursor: string | undefined;
  #batchCount = 0;
  #done: Promise<void> | undefined;
  /** Followers that join during a delivery and already have the part being delivered. */
  #joining: Follower[] | undefined;

  constructor(options: StreamChannelOptions) {
    this.#options = options;
    this.origin = options.origin;
    this.#head = this.#base = options.after;
  }

  get incarnation(): string {
    return this.#options.session.incarnation;
  }

  /** The session, with `lastId` at least as high as the last record the channel has read. */
  get session(): SessionInfo {
    const { session } = this.#options;
    return { ...session, lastId: Math.max(session.lastId, this.#head.eventId) };
  }

  get head(): Position {
    return this.#head;
  }

  /** Bytes of all frames so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of batches so far. */
  get batchCount(): number {
    return this.#batchCount;
  }

  /** The cursor of the last frame. */
  get lastCursor(): string | undefined {
    return this.#lastCursor;
  }

  /** The cursor of the last frame before the latest batch, for a follower that did not take that batch. */
  get previousCursor(): string | undefined {
    return this.#previousCursor;
  }

  get isEnded(): boolean {
    return this.#stop.signal.aborted;
  }

  start(): void {
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  join(follower: Follower, isAhead: boolean): void {
    if (isAhead) this.#ahead.add(follower);
    else if (this.#joining === undefined) this.#caughtUp.add(follower);
    else this.#joining.push(follower);
  }

  leave(follower: Follower): void {
    this.#caughtUp.delete(follower);
    this.#ahead.delete(follower);
    if (this.#joining !== undefined) this.#joining = this.#joining.filter((each) => each !== follower);
  }

  /** Returns the index of the retained part that contains `position`, or undefined when it is not retained. */
  findPart(position: Position): number | undefined {
    if (comparePositions(position, this.#base) < 0 || comparePositions(position, this.#head) >= 0) return undefined;
    let [low, high] = [0, this.#parts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (comparePositions((this.#parts[middle] as RetainedPart).after, position) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Returns the rest of the part after `position`, or undefined when the position cannot be found in it. */
  sliceAfter(index: number, position: Position): ChannelPart | undefined {
    const part = this.#parts[index];
    if (part === undefined || comparePositions(part.after, position) === 0) return part;
    const { batch, upTo, mayEndRun } = part;
    const from = findFrameAfter(batch?.frames ?? [], position);
    if (from === undefined) return undefined;
    if (part.lastSlice?.index !== from) this.#cutSlice(part, from);
    return { after: position, upTo, batch: part.lastSlice?.batch, mayEndRun };
  }

  #cutSlice(part: RetainedPart, from: number): void {
    const last = part.lastSlice?.batch;
    if (last !== undefined) {
      last.onGrow = undefined;
      part.heldBytes -= last.encodedBytes;
      this.#hold(-last.encodedBytes);
    }
    const rest = part.batch?.frames.slice(from) ?? [];
    const batch = rest.length === 0 ? undefined : new FrameBatch(this.origin, rest, part.mayEndRun);
    part.lastSlice = { index: from, batch };
    if (batch !== undefined) this.#countEncodings(batch, part);
  }

  /** Returns the position `count` frames after `position`, or undefined when it is not retained. */
  skip(position: Position, count: number): Position | undefined {
    if (count === 0 && comparePositions(position, this.#head) === 0) return position;
    let at = position;
    for (let left = count; ;) {
      const index = this.findPart(at);
      const part = index === undefined ? undefined : this.sliceAfter(index, at);
      if (part === undefined || left === 0) return part === undefined ? undefined : at;
      const frames = part.batch?.frames ?? [];
      const last = frames[left - 1];
      if (last !== undefined) return readPosition(last.cursor);
      left -= frames.length;
      at = part.upTo;
    }
  }

  /** Bytes of all frames before the part at `index`. */
  bytesBefore(index: number): number {
    return this.#parts[index]?.bytesBefore ?? this.#bytes;
  }

  /** Whether a follower at `position` is at the head of the channel, or past it. */
  isCaughtUpAt(position: Position): boolean {
    const order = comparePositions(position, this.#head);
    return order === 0 || (order > 0 && isAfterRecord(position));
  }

  async #run(): Promise<void> {
    const { log, session, after, stream } = this.#options;
    const { sessionId } = session;
    try {
      const steps = openStreamSteps(log, sessionId, {
        ...stream,
        cursor: writePosition(session.incarnation, after, stream),
        follow: true,
        detectRunEnds: true,
        signal: this.#stop.signal,
      });
      for await (const step of steps) {
        if (this.isEnded) break;
        this.#push(step);
      }
    } catch (error) {
      this.#end((follower) => follower.fail(error));
      return;
    }
    this.#end((follower) => follower.wake());
  }

  #end(notify: (follower: Follower) => void): void {
    this.#stop.abort();
    this.shed();
    this.#options.onEnd();
    const [caughtUp, ahead] = [[...this.#caughtUp], [...this.#ahead]];
    this.#caughtUp.clear();
    this.#ahead.clear();
    for (const follower of caughtUp) notify(follower);
    // Followers ahead of the channel may not be affected; they find out when they continue.
    for (const follower of ahead) follower.wake();
  }

  #push(step: StreamStep): void {
    const part = createPart(step, this.#head, this.origin);
    this.#head = part.upTo;
    if (part.batch === undefined && !part.mayEndRun) {
      const last = this.#parts.at(-1);
      if (last === undefined) this.#base = part.upTo;
      else last.upTo = part.upTo;
    } else this.#deliver(part);
    if (this.#ahead.size === 0) return;
    const ahead = [...this.#ahead];
    this.#ahead.clear();
    for (const follower of ahead) follower.wake();
  }

  #deliver(given: ChannelPart): void {
    const { batch } = given;
    const heldBytes = PART_BYTES + (batch?.heldBytes ?? 0);
    const part: RetainedPart = {
      ...given,
      bytesBefore: this.#bytes,
      heldBytes,
      isRetained: true,
      lastSlice: undefined,
    };
    if (batch !== undefined) {
      this.#batchCount++;
      this.#previousCursor = this.#lastCursor;
      this.#lastCursor = batch.cursor;
      this.#bytes += batch.textBytes;
    }
    this.#parts.push(part);
    this.#hold(heldBytes);
    if (batch !== undefined) this.#countEncodings(batch, part);
    this.#trim();
    this.#joining = [];
    for (const follower of this.#caughtUp) follower.accept(part);
    for (const follower of this.#joining) this.#caughtUp.add(follower);
    this.#joining = undefined;
  }

  /** Drops all retained parts. Followers that have caught up do not need them; others read the log. */
  shed(): void {
    this.#drop(this.#parts.length);
  }

  #trim(): void {
    let excess = this.#retainedBytes - this.#options.maxSharedBytes;
    let count = 0;
    for (; excess > 0 && count < this.#parts.length; count++) excess -= this.#parts[count]?.heldBytes ?? 0;
    this.#drop(count);
  }

  /** Drops the oldest parts. */
  #drop(count: number): void {
    let bytes = 0;
    for (const part of this.#parts.splice(0, count)) {
      part.isRetained = false;
      this.#base = part.upTo;
      bytes += part.heldBytes;
    }
    this.#hold(-bytes);
  }

  #hold(bytes: number): void {
    if (bytes === 0) return;
    this.#retainedBytes += bytes;
    this.#options.onHold(bytes);
  }

  /** Counts the encodings of a batch as long as its part is retained. */
  #countEncodings(batch: FrameBatch, part: RetainedPart): void {
    batch.onGrow = (bytes) => {
      if (!part.isRetained) return;
      part.heldBytes += bytes;
      this.#hold(bytes);
      // Not now: a reader that is being served knows its part by its index.
      if (this.#isTrimPlanned || this.#retainedBytes <= this.#options.maxSharedBytes) return;
      this.#isTrimPlanned = true;
      queueMicrotask(() => {
        this.#isTrimPlanned = false;
        this.#trim();
      });
    };
  }
}

/** Approximate memory of a part without its batch. */
const PART_BYTES = 256;
