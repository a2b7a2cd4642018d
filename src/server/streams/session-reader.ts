/**
 * A reader: a position in a stream and the ways to advance it. Far behind, it reads batches from the log. Near the end,
 * it takes retained parts from its channel. When it has caught up, the channel delivers to it.
 *
 * Invariants:
 * - Each frame is delivered once and in order, from either source.
 * - A reader buffers no frames.
 */
import type { SessionInfo, StreamOptions } from "../../log/index.ts";
import type { StreamEnd } from "../../observe/metrics/server-meter.ts";
import type { SlotHolder, CatchUpSlots } from "./catch-up-slots.ts";
import { type ChannelPart, createPart, type Follower, type StreamChannel } from "./stream-channel.ts";
import { type FrameBatch, cutBatch, cutAtEnd, type EndAt } from "./frame-batch.ts";
import { type StreamChannels, type StreamFormat, channelKey } from "./stream-channels.ts";
import type { MeteredStream } from "./meter-stream.ts";
import { afterRecord, comparePositions, type Position, readPosition, writePosition } from "./position.ts";
import type { StreamReader, ReaderEnd, Sink } from "./stream-reader.ts";
import type { StreamLimits } from "../guard/server-limits.ts";
import type { RunRange } from "./run-range.ts";
import type { OpenedStream } from "./stream-selection.ts";

export interface SessionReaderOptions {
  readonly session: SessionInfo;
  readonly format: StreamFormat;
  /** The start of the reader. */
  readonly cursor: string;
  /** The start after skipped frames, when it is known. */
  readonly position?: Position | undefined;
  /** Frames after the cursor to skip. */
  readonly skip: number;
  readonly limit: number;
  readonly follow: boolean;
  readonly runRange: RunRange | undefined;
  readonly endAt?: EndAt | undefined;
  readonly channels: StreamChannels;
  readonly catchUpSlots: CatchUpSlots;
  /** Identifies this reader to the catch-up slots. */
  readonly slotHolder: SlotHolder;
  readonly metered: MeteredStream | undefined;
  /** Opens the log at a cursor. */
  open(start: Pick<StreamOptions, "cursor" | "skip" | "signal">): Promise<OpenedStream | undefined>;
  /** Called once, before `end` of the sink. */
  onEnd(end: ReaderEnd): void;
}

/**
 * What a reader is doing:
 * - `idle`: not started, or about to continue in the same call.
 * - `reading`: an asynchronous operation reads the log or checks the run, and then continues.
 * - `stalled`: like `reading`, but the sink is full.
 * - `full`: the sink is full; `resume` continues.
 * - `joined`: ahead of its channel, which wakes it.
 * - `caught up`: at the head of its channel, which delivers to it.
 */
type ReaderState = "idle" | "reading" | "stalled" | "full" | "joined" | "caught up" | "ended";

const NEXT_STATES: { readonly [S in ReaderState]: readonly ReaderState[] } = {
  idle: ["reading", "full", "joined", "caught up", "ended"],
  reading: ["idle", "stalled", "ended"],
  stalled: ["reading", "full", "ended"],
  full: ["idle", "ended"],
  joined: ["idle", "ended"],
  "caught up": ["idle", "ended"],
  ended: [],
};

export class SessionReader implements StreamReader, Follower {
  readonly session: SessionInfo;
  readonly cursor: string;
  readonly #options: SessionReaderOptions;
  /** Copies of options that are used for every batch. */
  readonly #runRange: RunRange | undefined;
  readonly #metered: MeteredStream | undefined;
  readonly #key: string;
  readonly #stop = new AbortController();
  #sink: Sink | undefined;
  #position: Position;
  #skip: number;
  #framesLeft: number;
  #lastCursor: string;
  #opened: OpenedStream | undefined;
  /** The channel this reader is attached to, caught up or not. */
  #channel: StreamChannel | undefined;
  #state: ReaderState = "idle";
  #wasCaughtUp = false;
  /** The batch count of the channel when the reader caught up with it. */
  #batchesBefore = 0;
  /** The sink called `resume` during the current `write`. */
  #hasResumed = false;
  #end: ReaderEnd | undefined;
  #wake: (() => void) | undefined;
  /** The run was last checked after this record. */
  #checkedUpTo = 0;
  #fullSince = 0;
  #isLagging = false;
  #bytesWhenCaughtUp = 0;

  constructor(options: SessionReaderOptions, opened?: OpenedStream) {
    this.#options = options;
    this.#runRange = options.runRange;
    this.#metered = options.metered;
    this.session = options.session;
    this.cursor = this.#lastCursor = options.cursor;
    this.#key = channelKey(options.session.sessionId, options.format);
    this.#position = options.position ?? readPosition(options.cursor);
    this.#skip = options.skip;
    this.#framesLeft = options.limit;
    this.#opened = opened;
    // It is not known when the reader will be started, so its slot may be revoked.
    if (opened !== undefined) options.catchUpSlots.stall(options.slotHolder);
  }

  start(sink: Sink): void {
    if (this.#sink !== undefined) throw new Error("A stream reader can be started only once");
    this.#sink = sink;
    if (this.#end !== undefined) sink.end(this.#end);
    else if (this.#framesLeft <= 0) this.finish("end");
    else this.#proceed();
  }

  resume(): void {
    this.#hasResumed = true;
    if (!this.#isFull) return;
    this.#isLagging = false;
    if (this.#state === "stalled") {
      this.#become("reading");
      this.#wake?.();
    } else {
      this.#become("idle");
      this.#proceed();
    }
  }

  close(reason: "left" | "slow" | "end" = "left"): void {
    this.finish(reason);
  }

  finish(reason: ReaderEnd["reason"], error?: unknown): void {
    if (this.#end !== undefined) return;
    this.#end = { reason, cursor: this.#deliveredCursor(), ...(error === undefined ? {} : { error }) };
    this.#become("ended");
    this.#detach();
    this.#stop.abort();
    this.#closeOpened();
    this.#options.catchUpSlots.release(this.#options.slotHolder);
    this.#wake?.();
    this.#options.metered?.close(METERED_ENDS[reason]);
    this.#options.onEnd(this.#end);
    this.#sink?.end(this.#end);
  }

  /** Whether the reader has delivered everything and waits for more. */
  get isWaiting(): boolean {
    const { runRange } = this.#options;
    return this.#state === "caught up" || (runRange !== undefined && runRange.first === undefined);
  }

  /** Whether the sink is too slow. A lag must be seen twice in a row: the sink may not have had time to read yet. */
  isSlow(now: number, { maxLagBytes, maxStallMs }: Pick<StreamLimits, "maxLagBytes" | "maxStallMs">): boolean {
    if (!this.#isFull) return false;
    const channel = this.#channel;
    if (channel?.isEnded === false && channel.isCaughtUpAt(this.#position)) {
      this.#fullSince = now;
      return false;
    }
    if (now - this.#fullSince >= maxStallMs) return true;
    const wasLagging = this.#isLagging;
    this.#isLagging = channel !== undefined && channel.bytes - this.#bytesWhenCaughtUp > maxLagBytes;
    return wasLagging && this.#isLagging;
  }

  // Called by the channel.

  accept(part: ChannelPart): void {
    if (this.#mustCheckRun(part)) {
      this.#unsubscribe(part.after);
      void this.#checkRun(part);
      return;
    }
    const isDelivered = this.#hasRoomFor(part);
    if (isDelivered && (this.#deliver(part) || this.#isOver())) return;
    this.#unsubscribe(isDelivered ? part.upTo : part.after, isDelivered);
    this.#markFull();
  }

  wake(): void {
    if (this.#end !== undefined) return;
    const head = this.#state === "caught up" ? this.#channel?.head : undefined;
    this.#unsubscribe(head ?? this.#position);
    this.#proceed();
  }

  fail(error: unknown): void {
    this.finish("error", error);
  }

  // Called by the catch-up slots.

  revoke(): void {
    this.#closeOpened();
  }

  #become(state: ReaderState): void {
    if (!NEXT_STATES[this.#state].includes(state))
      throw new Error(`A reader that is ${this.#state} cannot be ${state}`);
    this.#state = state;
  }

  get #isFull(): boolean {
    return this.#state === "full" || this.#state === "stalled";
  }

  /** Continues from the current position if nothing else is going to. */
  #proceed(): void {
    if (this.#state !== "idle" || this.#sink === undefined) return;
    const { runRange } = this.#options;
    if (runRange !== undefined && runRange.first === undefined) void this.#waitForRun(runRange);
    else if (!this.#takeFromChannel()) void this.#catchUp();
  }

  get #isFollowing(): boolean {
    return this.#options.follow && this.#options.runRange?.last === undefined;
  }

  /** Returns false when the reader must read from the log. */
  #takeFromChannel(): boolean {
    if (!this.#isFollowing || this.#skip > 0) return false;
    const channel = this.#findChannel();
    if (channel === undefined || channel.isEnded) return false;
    for (;;) {
      if (channel.isCaughtUpAt(this.#position)) {
        this.#releaseSlot();
        this.#subscribe(channel);
        return true;
      }
      const index = channel.findPart(this.#position);
      const part = index === undefined ? undefined : channel.sliceAfter(index, this.#position);
      if (index === undefined || part === undefined) return false;
      if (this.#mustCheckRun(part)) {
        void this.#checkRun(part);
        return true;
      }
      // The opened log read is behind the position from here on.
      this.#releaseSlot();
      const isDelivered = this.#hasRoomFor(part);
      const hasRoom = isDelivered && this.#deliver(part);
      if (this.#end !== undefined) return true;
      if (isDelivered) this.#position = part.upTo;
      if (hasRoom) continue;
      this.#markFull();
      this.#attach(channel);
      this.#bytesWhenCaughtUp = channel.bytesBefore(isDelivered ? index + 1 : index);
      return true;
    }
  }

  #findChannel(): StreamChannel | undefined {
    return this.#options.channels.find(this.#key, this.session.incarnation);
  }

  /** The channel delivers to this reader from now on. */
  #subscribe(channel: StreamChannel): void {
    this.#attach(channel);
    const isAhead = comparePositions(this.#position, channel.head) !== 0;
    this.#become(isAhead ? "joined" : "caught up");
    this.#batchesBefore = channel.batchCount;
    channel.join(this, isAhead);
    if (this.#wasCaughtUp) return;
    this.#wasCaughtUp = true;
    this.#sink?.catchUp?.();
  }

  #attach(channel: StreamChannel): void {
    if (this.#channel === channel) return;
    this.#detach();
    this.#channel = channel;
    this.#options.channels.retain(this.#key, channel);
  }

  #detach(): void {
    const channel = this.#channel;
    if (channel === undefined) return;
    this.#lastCursor = this.#deliveredCursor();
    this.#channel = undefined;
    channel.leave(this);
    this.#options.channels.release(this.#key, channel);
  }

  /** Stays attached to the channel, but stops delivery at `position`. */
  #unsubscribe(position: Position, wasDelivered = true): void {
    const channel = this.#channel;
    this.#lastCursor = this.#deliveredCursor(wasDelivered);
    this.#become("idle");
    this.#position = position;
    if (channel === undefined) return;
    channel.leave(this);
    this.#bytesWhenCaughtUp = channel.bytes;
  }

  /** Pass `wasDelivered` = false while the latest batch of the channel is being delivered and was not taken. */
  #deliveredCursor(wasDelivered = true): string {
    const channel = this.#channel;
    if (this.#state !== "caught up" || channel === undefined || this.#mayTruncate) return this.#lastCursor;
    if (channel.batchCount - (wasDelivered ? 0 : 1) === this.#batchesBefore) return this.#lastCursor;
    return (wasDelivered ? channel.lastCursor : channel.previousCursor) ?? this.#lastCursor;
  }

  /** Whether this reader may receive only a part of a batch. */
  get #mayTruncate(): boolean {
    return this.#runRange !== undefined || this.#framesLeft !== Number.POSITIVE_INFINITY;
  }

  /** If false, the part is delivered later. */
  #hasRoomFor({ batch }: ChannelPart): boolean {
    return batch === undefined || this.#sink?.mayWrite?.() !== false;
  }

  /** Writes the part to the sink. Returns false when the sink is full or the reader has ended. */
  #deliver(part: ChannelPart): boolean {
    const runRange = this.#runRange;
    let { batch } = part;
    let isOver = false;
    let hasRoom = true;
    if (this.#mayTruncate) {
      const lastId = runRange?.last;
      batch = cutBatch(batch, this.#framesLeft, lastId);
      const ended = cutAtEnd(batch, this.#options.endAt);
      batch = ended ?? batch;
      this.#framesLeft -= batch?.frames.length ?? 0;
      isOver = ended !== undefined || this.#framesLeft <= 0;
      isOver ||= lastId !== undefined && comparePositions(part.upTo, afterRecord(lastId)) >= 0;
      if (batch !== undefined) this.#lastCursor = batch.cursor;
    } else if (batch !== undefined && this.#state !== "caught up") this.#lastCursor = batch.cursor;
    if (batch !== undefined) {
      this.#metered?.send(batch.frames, batch.textBytes);
      // A sink may call `resume` inside `write`, before `write` returns false.
      this.#hasResumed = false;
      hasRoom = this.#write(batch) || this.#hasResumed;
      if (this.#end !== undefined) return false;
    }
    if (isOver) this.finish("end");
    return !isOver && hasRoom;
  }

  /** An error in a sink ends only its own reader. */
  #write(batch: FrameBatch): boolean {
    try {
      return this.#sink?.write(batch) ?? true;
    } catch (error) {
      this.finish("error", error);
      return false;
    }
  }

  #markFull(): void {
    this.#become(this.#state === "reading" ? "stalled" : "full");
    this.#fullSince = performance.now();
  }

  // The run this reader is limited to.

  #mustCheckRun({ mayEndRun, upTo }: ChannelPart): boolean {
    const runRange = this.#runRange;
    return mayEndRun && runRange !== undefined && runRange.last === undefined && upTo.eventId > this.#checkedUpTo;
  }

  async #checkRun({ upTo }: ChannelPart): Promise<void> {
    await this.#whileReading(async () => {
      await this.#options.runRange?.refresh();
      this.#checkedUpTo = upTo.eventId;
    });
    this.#proceed();
  }

  async #waitForRun(runRange: RunRange): Promise<void> {
    await this.#whileReading(async () => {
      await runRange.waitForStart(this.session.incarnation, this.#stop.signal);
      if (runRange.first !== undefined) this.#position = afterRecord(runRange.first - 1);
    });
    this.#proceed();
  }

  // Reading from the log.

  async #catchUp(): Promise<void> {
    const { catchUpSlots, slotHolder } = this.#options;
    this.#detach();
    await this.#whileReading(async () => {
      await catchUpSlots.acquire(slotHolder);
      if (this.#end !== undefined) return;
      catchUpSlots.resume(slotHolder);
      await this.#readFromLog();
      this.#closeOpened();
    });
    catchUpSlots.release(slotHolder);
    this.#proceed();
  }

  /** Reads until the log has no more records, a channel can continue, or the slot is revoked. */
  async #readFromLog(): Promise<void> {
    const { format, session } = this.#options;
    const start = { cursor: writePosition(session.incarnation, this.#position, format), signal: this.#stop.signal };
    this.#opened ??= await this.#options.open({ ...start, skip: this.#skip });
    const opened = this.#opened;
    // The read was aborted.
    if (opened === undefined) return;
    for (;;) {
      const { done, value: step } = await opened.steps.next();
      if (this.#end !== undefined) return;
      if (done === true) {
        this.#reachLogEnd();
        return;
      }
      const part = createPart(step, this.#position, { session: session.sessionId, dialect: format.dialect });
      if (this.#mustCheckRun(part)) await this.#options.runRange?.refresh();
      this.#checkedUpTo = part.upTo.eventId;
      while (!this.#hasRoomFor(part)) {
        this.#markFull();
        if (!(await this.#waitForRoom())) return;
      }
      this.#skip = 0;
      const hasRoom = this.#deliver(part);
      if (this.#isOver()) return;
      if (!hasRoom) this.#markFull();
      this.#position = part.upTo;
      // The sink is full and the log has no more records, so close the read and wait on a channel.
      const isAtEnd = comparePositions(this.#position, afterRecord(opened.session.lastId)) >= 0;
      if (!hasRoom && isAtEnd) {
        this.#reachLogEnd();
        return;
      }
      if (!hasRoom && !(await this.#waitForRoom())) return;
      const channel = this.#isFollowing ? this.#findChannel() : undefined;
      if (channel?.findPart(this.#position) !== undefined) return;
    }
  }

  #isOver(): boolean {
    return this.#end !== undefined;
  }

  /** Returns false when the read must be opened again because the slot was revoked, or when the reader has ended. */
  async #waitForRoom(): Promise<boolean> {
    const { catchUpSlots, slotHolder } = this.#options;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    catchUpSlots.stall(slotHolder);
    await promise;
    this.#wake = undefined;
    return this.#end === undefined && catchUpSlots.resume(slotHolder);
  }

  /** Called when the log has no more records for now. */
  #reachLogEnd(): void {
    this.#skip = 0;
    const { channels, session, format, follow, runRange } = this.#options;
    if (!this.#isFollowing) {
      // The run ended after this read was opened; the rest is read next.
      const hasMore = runRange?.last !== undefined && comparePositions(this.#position, afterRecord(runRange.last)) < 0;
      if (!follow || !hasMore) this.finish("end");
      return;
    }
    const channel = this.#findChannel() ?? channels.create(this.#key, session, format, this.#position);
    if (!this.#isFull) return;
    this.#attach(channel);
    this.#bytesWhenCaughtUp = channel.bytes;
  }

  #releaseSlot(): void {
    if (this.#opened === undefined) return;
    this.#closeOpened();
    this.#options.catchUpSlots.release(this.#options.slotHolder);
  }

  #closeOpened(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    void opened?.close();
  }

  async #whileReading(act: () => Promise<void>): Promise<void> {
    this.#become("reading");
    try {
      await act();
    } catch (error) {
      this.finish("error", error);
    }
    if (this.#state !== "ended") this.#become(this.#state === "stalled" ? "full" : "idle");
  }
}

const METERED_ENDS: { readonly [R in ReaderEnd["reason"]]: StreamEnd } = {
  end: "end",
  slow: "slow",
  left: "left",
  // The client will resume with the next server, so this is not an error.
  closing: "left",
  error: "error",
};
