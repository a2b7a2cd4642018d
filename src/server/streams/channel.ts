/**
 * What all who follow one stream share: it is read from the log once, encoded once, and given to everybody who is level
 * with it in the same moment. The latest frames are kept, within a limit, for those who come back or lag a little.
 *
 * It knows no sink and no limit of a reader: a follower that cannot take something leaves and comes back on its own.
 *
 * Invariants:
 * - What it holds is one unbroken piece of the stream, from `base` to `head`.
 * - A follower that is level is given every part, in order. It costs a call, and nothing that waits.
 */
import { type Log, openSteps, type SessionInfo, type StreamOptions, type StreamStep } from "../../log/index.ts";
import { Chunk, type ChunkOrigin } from "./chunk.ts";
import {
  comparePositions,
  findFrameAfter,
  findReached,
  isWhole,
  type Position,
  readPosition,
  writePosition,
} from "./position.ts";

/** A piece of the stream: what comes after `after`, up to `upTo`. */
export interface Part {
  readonly after: Position;
  readonly upTo: Position;
  /** None where these records give no frames. */
  readonly chunk: Chunk | undefined;
  readonly mayEndRun: boolean;
}

interface KeptPart extends Part {
  upTo: Position;
  /** Bytes of all that came before it. */
  readonly bytesBefore: number;
  /** What was cut from it last: readers that were dropped together come back to the same place. */
  cut?: { readonly index: number; readonly chunk: Chunk | undefined };
}

export interface Follower {
  /** To be taken now: whoever cannot leaves first. */
  accept(part: Part): void;
  /** Whoever came from the log may be ahead of the channel: there is something new. */
  look(): void;
  /** There is no more to come, and why. */
  fail(error: unknown): void;
}

export interface ChannelOptions {
  readonly log: Log;
  readonly session: SessionInfo;
  /** A whole record. */
  readonly after: Position;
  readonly origin: ChunkOrigin;
  readonly stream: Pick<StreamOptions, "dialect" | "modes" | "encoderOptions" | "maxFrameBytes">;
  readonly maxSharedBytes: number;
  /** It can give nothing more. */
  readonly onEnd: () => void;
}

export class Channel {
  readonly origin: ChunkOrigin;
  readonly #options: ChannelOptions;
  readonly #level = new Set<Follower>();
  /** Those that wait for the channel to come to where they are. */
  readonly #ahead = new Set<Follower>();
  readonly #stop = new AbortController();
  readonly #parts: KeptPart[] = [];
  #head: Position;
  #base: Position;
  #bytes = 0;
  #keptBytes = 0;
  #lastCursor: string | undefined;
  #cursorBefore: string | undefined;
  #given = 0;
  #done: Promise<void> | undefined;
  /** Those that come while a part is given out, which they have. */
  #late: Follower[] | undefined;

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.origin = options.origin;
    this.#head = this.#base = options.after;
  }

  get incarnation(): string {
    return this.#options.session.incarnation;
  }

  /** As far as the channel knows it. */
  get session(): SessionInfo {
    const { session } = this.#options;
    return { ...session, lastId: Math.max(session.lastId, this.#head.eventId) };
  }

  get head(): Position {
    return this.#head;
  }

  /** Bytes of all frames that came through it. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Chunks that came through it. */
  get given(): number {
    return this.#given;
  }

  /** Of the last frame that came through it. */
  get lastCursor(): string | undefined {
    return this.#lastCursor;
  }

  /** Of the last frame of the chunk before the latest: for whoever was called and did not take that. */
  get cursorBefore(): string | undefined {
    return this.#cursorBefore;
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

  enter(follower: Follower, isAhead: boolean): void {
    if (isAhead) this.#ahead.add(follower);
    else if (this.#late === undefined) this.#level.add(follower);
    else this.#late.push(follower);
  }

  leave(follower: Follower): void {
    this.#level.delete(follower);
    this.#ahead.delete(follower);
    if (this.#late !== undefined) this.#late = this.#late.filter((each) => each !== follower);
  }

  /** The index of the part in which `position` lies; undefined where it must be looked up in the log. */
  find(position: Position): number | undefined {
    if (comparePositions(position, this.#base) < 0 || comparePositions(position, this.#head) >= 0) return undefined;
    let [low, high] = [0, this.#parts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (comparePositions((this.#parts[middle] as KeptPart).after, position) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** What of this part comes after the position; undefined where that cannot be told. */
  cut(index: number, position: Position): Part | undefined {
    const part = this.#parts[index];
    if (part === undefined || comparePositions(part.after, position) === 0) return part;
    const { chunk, upTo, mayEndRun } = part;
    const from = findFrameAfter(chunk?.frames ?? [], position);
    if (from === undefined) return undefined;
    if (part.cut?.index !== from) {
      const rest = chunk?.frames.slice(from) ?? [];
      part.cut = { index: from, chunk: rest.length === 0 ? undefined : new Chunk(this.origin, rest, mayEndRun) };
    }
    return { after: position, upTo, chunk: part.cut.chunk, mayEndRun };
  }

  /** The place so many frames after this one; undefined where that is not held. */
  skip(position: Position, count: number): Position | undefined {
    if (count === 0 && comparePositions(position, this.#head) === 0) return position;
    let at = position;
    for (let left = count; ;) {
      const index = this.find(at);
      const part = index === undefined ? undefined : this.cut(index, at);
      if (part === undefined || left === 0) return part === undefined ? undefined : at;
      const frames = part.chunk?.frames ?? [];
      const last = frames[left - 1];
      if (last !== undefined) return readPosition(last.cursor);
      left -= frames.length;
      at = part.upTo;
    }
  }

  /** Bytes of the frames that came before this part. */
  bytesBefore(index: number): number {
    return this.#parts[index]?.bytesBefore ?? this.#bytes;
  }

  /** True where a follower at this place is level, or further than the channel. */
  hasReached(position: Position): boolean {
    const order = comparePositions(position, this.#head);
    return order === 0 || (order > 0 && isWhole(position));
  }

  async #run(): Promise<void> {
    const { log, session, after, stream } = this.#options;
    const { sessionId } = session;
    try {
      const steps = openSteps(log, sessionId, {
        ...stream,
        cursor: writePosition(session.incarnation, after),
        follow: true,
        marksEnds: true,
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
    this.#end((follower) => follower.look());
  }

  #end(tell: (follower: Follower) => void): void {
    this.#stop.abort();
    this.#options.onEnd();
    const [level, ahead] = [[...this.#level], [...this.#ahead]];
    this.#level.clear();
    this.#ahead.clear();
    for (const follower of level) tell(follower);
    // They are past whatever it was, or find out on their own.
    for (const follower of ahead) follower.look();
  }

  #push(step: StreamStep): void {
    const { frames, mayEndRun } = step;
    const after = this.#head;
    const upTo = findReached(step, after);
    this.#head = upTo;
    if (frames.length === 0 && !mayEndRun) {
      const last = this.#parts.at(-1);
      if (last === undefined) this.#base = upTo;
      else last.upTo = upTo;
    } else this.#give(step, after, upTo);
    if (this.#ahead.size === 0) return;
    const ahead = [...this.#ahead];
    this.#ahead.clear();
    for (const follower of ahead) follower.look();
  }

  #give({ frames, mayEndRun }: StreamStep, after: Position, upTo: Position): void {
    const chunk = frames.length === 0 ? undefined : new Chunk(this.origin, frames, mayEndRun);
    const part: KeptPart = { after, upTo, chunk, mayEndRun, bytesBefore: this.#bytes };
    if (chunk !== undefined) {
      this.#given++;
      this.#cursorBefore = this.#lastCursor;
      this.#lastCursor = chunk.cursor;
      this.#bytes += chunk.textBytes;
    }
    this.#parts.push(part);
    this.#keptBytes += sizeOf(part);
    while (this.#keptBytes > this.#options.maxSharedBytes) {
      const oldest = this.#parts.shift();
      if (oldest === undefined) break;
      this.#keptBytes -= sizeOf(oldest);
      this.#base = oldest.upTo;
    }
    this.#late = [];
    for (const follower of this.#level) follower.accept(part);
    for (const follower of this.#late) this.#level.add(follower);
    this.#late = undefined;
  }
}

/** What a part takes beside its frames, about. */
const PART_BYTES = 256;

function sizeOf({ chunk }: Part): number {
  return PART_BYTES + (chunk?.textBytes ?? 0);
}
