/**
 * One reader: a place in a stream, and the ways from there to what comes next. Far behind it reads from the log on its
 * own, a batch at a time; near the end it is given what its channel has; at the end it is called by it.
 *
 * Invariants:
 * - Each frame is given once, in order, whichever way it came.
 * - It holds no frame: what its sink does not take stays where it is.
 */
import type { SessionInfo, StreamOptions } from "../../log/index.ts";
import type { StreamEnd } from "../../observe/index.ts";
import type { CatchUp, CatchUps } from "./catch-ups.ts";
import type { Channel, Follower, Part } from "./channel.ts";
import type { Chunk } from "./chunk.ts";
import { cutChunk, toPart } from "./cut-chunk.ts";
import { type Channels, type ChannelStream, keyOf } from "./channels.ts";
import type { MeteredStream } from "./meter-stream.ts";
import { afterRecord, comparePositions, type Position, readPosition, writePosition } from "./position.ts";
import type { Reader, ReaderEnd, Sink, StreamLimits } from "./reader.ts";
import type { RunSpan } from "./run-span.ts";
import type { OpenedStream } from "./stream-place.ts";

export interface ReaderOptions {
  readonly session: SessionInfo;
  readonly stream: ChannelStream;
  /** Where it begins. */
  readonly cursor: string;
  /** The same, with the frames to skip behind it, where that is known. */
  readonly position?: Position | undefined;
  /** Frames after the cursor that are not given. */
  readonly skip: number;
  readonly limit: number;
  readonly follow: boolean;
  readonly span: RunSpan | undefined;
  readonly channels: Channels;
  readonly catchUps: CatchUps;
  /** What its turn is known by. */
  readonly ticket: CatchUp;
  readonly metered: MeteredStream | undefined;
  /** What is left in the log from a place on. */
  open(place: Pick<StreamOptions, "cursor" | "skip" | "signal">): Promise<OpenedStream | undefined>;
  /** Called once, before the sink is told. */
  onEnd(end: ReaderEnd): void;
}

export class SessionReader implements Reader, Follower {
  readonly session: SessionInfo;
  readonly cursor: string;
  readonly #options: ReaderOptions;
  /** At hand for what every reader does with every chunk. */
  readonly #span: RunSpan | undefined;
  readonly #metered: MeteredStream | undefined;
  readonly #key: string;
  readonly #stop = new AbortController();
  #sink: Sink | undefined;
  #position: Position;
  #skip: number;
  #left: number;
  #last: string;
  #opened: OpenedStream | undefined;
  /** The channel it has joined, level or not. */
  #channel: Channel | undefined;
  /** It is level: its place is the channel's, and these were given before it came. */
  #isLevel = false;
  #givenBefore = 0;
  /** The channel calls: nothing is to be done here. */
  #isCalled = false;
  #isFull = false;
  #hasResumed = false;
  /** Somebody asynchronous is at work and goes on by itself. */
  #isBusy = false;
  #end: ReaderEnd | undefined;
  #wake: (() => void) | undefined;
  /** The run was looked at when it had come so far. */
  #lookedAt = 0;
  #fullSince = 0;
  #isLate = false;
  #bytesWhenLevel = 0;

  constructor(options: ReaderOptions, opened?: OpenedStream) {
    this.#options = options;
    this.#span = options.span;
    this.#metered = options.metered;
    this.session = options.session;
    this.cursor = this.#last = options.cursor;
    this.#key = keyOf(options.session.sessionId, options.stream);
    this.#position = options.position ?? readPosition(options.cursor);
    this.#skip = options.skip;
    this.#left = options.limit;
    this.#opened = opened;
    // Nobody knows when it will be started.
    if (opened !== undefined) options.catchUps.stall(options.ticket);
  }

  start(sink: Sink): void {
    if (this.#sink !== undefined) throw new Error("a reader is started once");
    this.#sink = sink;
    if (this.#end !== undefined) sink.end(this.#end);
    else if (this.#left <= 0) this.finish("end");
    else this.#go();
  }

  resume(): void {
    this.#hasResumed = true;
    if (!this.#isFull) return;
    this.#isFull = this.#isLate = false;
    if (this.#isBusy) this.#wake?.();
    else this.#go();
  }

  close(reason: "left" | "slow" = "left"): void {
    this.finish(reason);
  }

  finish(reason: ReaderEnd["reason"], error?: unknown): void {
    if (this.#end !== undefined) return;
    this.#end = { reason, cursor: this.#givenCursor(), ...(error === undefined ? {} : { error }) };
    this.#leave();
    this.#stop.abort();
    this.#closeOpened();
    this.#options.catchUps.release(this.#options.ticket);
    this.#wake?.();
    this.#options.metered?.close(METERED[reason]);
    this.#options.onEnd(this.#end);
    this.#sink?.end(this.#end);
  }

  /** Looks whether it takes what there is for it. Twice over the limit of bytes: it may just not have had its turn. */
  isSlow(now: number, { maxLagBytes, maxStallMs }: Pick<StreamLimits, "maxLagBytes" | "maxStallMs">): boolean {
    if (!this.#isFull || this.#end !== undefined) return false;
    const channel = this.#channel;
    if (channel?.isEnded === false && channel.hasReached(this.#position)) {
      this.#fullSince = now;
      return false;
    }
    if (now - this.#fullSince >= maxStallMs) return true;
    const wasLate = this.#isLate;
    this.#isLate = channel !== undefined && channel.bytes - this.#bytesWhenLevel > maxLagBytes;
    return wasLate && this.#isLate;
  }

  // What a channel calls.

  accept(part: Part): void {
    if (this.#mustLook(part)) {
      this.#stepAside(part.after);
      void this.#lookAtRun(part);
      return;
    }
    if (!this.#mayGive(part)) this.#stepAside(part.after, false);
    else if (!this.#give(part) && this.#end === undefined) this.#stepAside(part.upTo);
  }

  look(): void {
    this.#stepAside(this.#isLevel && this.#channel !== undefined ? this.#channel.head : this.#position);
    this.#go();
  }

  fail(error: unknown): void {
    this.finish("error", error);
  }

  // What catch-ups call.

  revoke(): void {
    this.#closeOpened();
  }

  /** Goes on from here in whichever way there is, unless it is on its way. */
  #go(): void {
    if (this.#isBusy || this.#isCalled || this.#isFull || this.#end !== undefined || this.#sink === undefined) return;
    const { span } = this.#options;
    if (span !== undefined && span.first === undefined) void this.#awaitRun(span);
    else if (!this.#takeFromChannel()) void this.#catchUp();
  }

  get #isFollowing(): boolean {
    return this.#options.follow && this.#options.span?.last === undefined;
  }

  /** False where the log must be asked. */
  #takeFromChannel(): boolean {
    if (!this.#isFollowing || this.#skip > 0) return false;
    const channel = this.#findChannel();
    if (channel === undefined || channel.isEnded) return false;
    for (;;) {
      if (channel.hasReached(this.#position)) {
        this.#endTurn();
        this.#join(channel);
        return true;
      }
      const index = channel.find(this.#position);
      const part = index === undefined ? undefined : channel.cut(index, this.#position);
      if (index === undefined || part === undefined) return false;
      if (this.#mustLook(part)) {
        void this.#lookAtRun(part);
        return true;
      }
      // What was opened stands where it came from.
      this.#endTurn();
      const isGiven = this.#mayGive(part);
      const hasRoom = isGiven && this.#give(part);
      if (this.#end !== undefined) return true;
      if (isGiven) this.#position = part.upTo;
      if (hasRoom) continue;
      this.#adopt(channel);
      this.#bytesWhenLevel = channel.bytesBefore(isGiven ? index + 1 : index);
      return true;
    }
  }

  #findChannel(): Channel | undefined {
    return this.#options.channels.find(this.#key, this.session.incarnation);
  }

  /** From now on the channel calls. */
  #join(channel: Channel): void {
    this.#adopt(channel);
    this.#isCalled = true;
    this.#isLevel = comparePositions(this.#position, channel.head) === 0;
    this.#givenBefore = channel.given;
    channel.enter(this, !this.#isLevel);
  }

  #adopt(channel: Channel): void {
    if (this.#channel === channel) return;
    this.#leave();
    this.#channel = channel;
    this.#options.channels.use(this.#key, channel);
  }

  #leave(): void {
    const channel = this.#channel;
    if (channel === undefined) return;
    this.#last = this.#givenCursor();
    this.#channel = undefined;
    this.#isCalled = this.#isLevel = false;
    channel.leave(this);
    this.#options.channels.release(this.#key, channel);
  }

  /** Stays with the channel, and is called no more: it stands here. */
  #stepAside(position: Position, hasTaken = true): void {
    const channel = this.#channel;
    this.#last = this.#givenCursor(hasTaken);
    this.#isCalled = this.#isLevel = false;
    this.#position = position;
    if (channel === undefined) return;
    channel.leave(this);
    this.#bytesWhenLevel = channel.bytes;
  }

  /** `hasTaken` is false where the channel's latest chunk is being given, and was not taken. */
  #givenCursor(hasTaken = true): string {
    const channel = this.#channel;
    if (!this.#isLevel || channel === undefined || this.#mayCut) return this.#last;
    if (channel.given - (hasTaken ? 0 : 1) === this.#givenBefore) return this.#last;
    return (hasTaken ? channel.lastCursor : channel.cursorBefore) ?? this.#last;
  }

  /** What it is given may be a part of what the channel gives. */
  get #mayCut(): boolean {
    return this.#span !== undefined || this.#left !== Number.POSITIVE_INFINITY;
  }

  /** False where the sink is full already, and the part has to stay where it is. */
  #mayGive({ chunk }: Part): boolean {
    if (chunk === undefined || this.#sink?.mayWrite?.() !== false) return true;
    this.#noteFull();
    return false;
  }

  /** Hands it to the sink; false where it is full, or this was the end. */
  #give(part: Part): boolean {
    const span = this.#span;
    let { chunk } = part;
    let isOver = false;
    if (this.#mayCut) {
      const lastId = span?.last;
      chunk = cutChunk(chunk, this.#left, lastId);
      this.#left -= chunk?.frames.length ?? 0;
      isOver = this.#left <= 0 || (lastId !== undefined && comparePositions(part.upTo, afterRecord(lastId)) >= 0);
      if (chunk !== undefined) this.#last = chunk.cursor;
    } else if (chunk !== undefined && !this.#isLevel) this.#last = chunk.cursor;
    if (chunk !== undefined) {
      this.#metered?.send(chunk.frames, chunk.textBytes);
      // Whoever makes room while it is written to says so before it says that there is none.
      this.#hasResumed = false;
      const hasRoom = this.#write(chunk);
      if (this.#end !== undefined) return false;
      if (!hasRoom && !this.#hasResumed) this.#noteFull();
    }
    if (isOver) this.finish("end");
    return !isOver && !this.#isFull;
  }

  /** What a sink throws ends its reader, and nobody else's. */
  #write(chunk: Chunk): boolean {
    try {
      return this.#sink?.write(chunk) ?? true;
    } catch (error) {
      this.finish("error", error);
      return false;
    }
  }

  #noteFull(): void {
    this.#isFull = true;
    this.#fullSince = performance.now();
  }

  // The run it is bound to, if it is bound to one.

  #mustLook({ mayEndRun, upTo }: Part): boolean {
    const span = this.#span;
    return mayEndRun && span !== undefined && span.last === undefined && upTo.eventId > this.#lookedAt;
  }

  async #lookAtRun({ upTo }: Part): Promise<void> {
    await this.#whileBusy(async () => {
      await this.#options.span?.look();
      this.#lookedAt = upTo.eventId;
    });
    this.#go();
  }

  async #awaitRun(span: RunSpan): Promise<void> {
    const { incarnation } = this.session;
    await this.#whileBusy(async () => {
      await span.untilBegun(incarnation, this.#stop.signal);
      if (span.first !== undefined) this.#position = afterRecord(span.first - 1);
    });
    this.#go();
  }

  // From the log.

  async #catchUp(): Promise<void> {
    const { catchUps, ticket } = this.#options;
    this.#leave();
    await this.#whileBusy(async () => {
      await catchUps.take(ticket);
      if (this.#end !== undefined) return;
      catchUps.goOn(ticket);
      await this.#readOn();
      this.#closeOpened();
    });
    catchUps.release(ticket);
    this.#go();
  }

  /** Until there is no more, it can go on in memory, or the turn is over. */
  async #readOn(): Promise<void> {
    const { stream, session } = this.#options;
    const place = { cursor: writePosition(session.incarnation, this.#position), signal: this.#stop.signal };
    this.#opened ??= await this.#options.open({ ...place, skip: this.#skip });
    const opened = this.#opened;
    // Aborted.
    if (opened === undefined) return;
    for (;;) {
      const { done, value: step } = await opened.steps.next();
      if (this.#end !== undefined) return;
      if (done === true) {
        this.#reachEnd();
        return;
      }
      const part = toPart(step, this.#position, { session: session.sessionId, dialect: stream.dialect });
      if (this.#mustLook(part)) await this.#options.span?.look();
      this.#lookedAt = part.upTo.eventId;
      while (!this.#mayGive(part)) if (!(await this.#untilRoom())) return;
      this.#skip = 0;
      const hasRoom = this.#give(part);
      if (this.#isOver()) return;
      this.#position = part.upTo;
      // Full, and nothing more for now: there is nothing to keep open.
      const isAtEnd = comparePositions(this.#position, afterRecord(opened.session.lastId)) >= 0;
      if (!hasRoom && isAtEnd) {
        this.#reachEnd();
        return;
      }
      if (!hasRoom && !(await this.#untilRoom())) return;
      const channel = this.#isFollowing ? this.#findChannel() : undefined;
      if (channel?.find(this.#position) !== undefined) return;
    }
  }

  #isOver(): boolean {
    return this.#end !== undefined;
  }

  /** False where it must begin again: somebody else has the turn, or nobody is left. */
  async #untilRoom(): Promise<boolean> {
    const { catchUps, ticket } = this.#options;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    catchUps.stall(ticket);
    await promise;
    this.#wake = undefined;
    return this.#end === undefined && catchUps.goOn(ticket);
  }

  /** The log has no more for now. */
  #reachEnd(): void {
    this.#skip = 0;
    const { channels, session, stream, follow, span } = this.#options;
    if (!this.#isFollowing) {
      // A run that has ended since this stretch of the log was opened: its rest is there, and is read next.
      const isCut = span?.last !== undefined && comparePositions(this.#position, afterRecord(span.last)) < 0;
      if (!follow || !isCut) this.finish("end");
      return;
    }
    const channel = this.#findChannel() ?? channels.create(this.#key, session, stream, this.#position);
    if (!this.#isFull) return;
    this.#adopt(channel);
    this.#bytesWhenLevel = channel.bytes;
  }

  #endTurn(): void {
    if (this.#opened === undefined) return;
    this.#closeOpened();
    this.#options.catchUps.release(this.#options.ticket);
  }

  #closeOpened(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    void opened?.close();
  }

  async #whileBusy(act: () => Promise<void>): Promise<void> {
    this.#isBusy = true;
    try {
      await act();
    } catch (error) {
      this.finish("error", error);
    }
    this.#isBusy = false;
  }
}

const METERED: { readonly [R in ReaderEnd["reason"]]: StreamEnd } = {
  end: "end",
  slow: "slow",
  left: "left",
  // It was asked for more, and will be asked again: nothing broke.
  closing: "left",
  error: "error",
};
