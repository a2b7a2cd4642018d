/**
 * Keeps one stream open: opens it at the current position, handles how each attempt ended, and then waits, restarts,
 * finishes or fails. It does not read frames; the feed does.
 *
 *   open ── lost, silent, ended early, unreadable, overflow ──▶ pause ──▶ open at the current position
 *    │ ├── position rejected ──▶ open from the start; a second rejection without an answer in between fails
 *    │ ├── gap cannot be filled ──▶ open from the start; if the gap remains, continue without the missing frames
 *    │ ├── ended, no live run, nothing missing ──▶ finished (only without `follow`)
 *    │ ├── ended again without a frame, a run has no end, and loss may go unnoticed ──▶ open from the start, once per
 *    │ │   number of runs
 *    │ └── refused, or too many attempts ──▶ failed
 *    └── close() ──▶ finished
 *
 * Invariant: when it is over, none of its timers, listeners or requests remain.
 */
import type { DialectName } from "../../dialects/index.ts";
import type { ErrorCode } from "../../protocol/index.ts";
import type { StreamModes } from "../../protocol/stream-modes.ts";
import type { SessionFeed } from "../session-feed.ts";
import type { FrameSink, Refusal, SinkFault, Transport } from "../transport.ts";
import type { StreamReason, StreamState } from "../view.ts";
import { computeBackoff, type ReconnectOptions } from "./backoff.ts";
import { type Clock, Pause } from "./clock.ts";
import { GapRepair } from "./gap-repair.ts";
import { isTemporaryRefusal } from "./temporary-refusal.ts";
import { StreamAttempt, type AttemptOutcome } from "./stream-attempt.ts";

/** The part of a feed that a stream needs. */
export type StreamFeed = Pick<
  SessionFeed,
  | "sessionId"
  | "position"
  | "missing"
  | "confirmStart"
  | "hasLiveRun"
  | "detectsLoss"
  | "runCount"
  | "frameCount"
  | "state"
  | "take"
  | "fault"
  | "refuse"
  | "begin"
  | "setRepairing"
  | "giveUp"
  | "skipTo"
  | "restart"
  | "finish"
  | "fail"
  | "onMissing"
  | "onOverflow"
> &
  Partial<Pick<SessionFeed, "expectHistory">>;

export interface ReconnectingStreamOptions {
  readonly transport: Transport;
  readonly dialect: DialectName;
  readonly modes?: StreamModes | undefined;
  readonly follow: boolean;
  readonly reconnect: ReconnectOptions;
  readonly heartbeatMs: number;
  readonly clock: Clock;
}

export interface ReconnectingStreamEvents {
  /** Called on the first sign of life of each attempt. */
  onReachable(): void;
  /** Called when the server reports the session as unknown. Return true if the session must exist by now. */
  expectsSession(): boolean;
}

/** An answered attempt that stays open this long counts as progress, even without frames. */
const STABLE_MS = 3000;

/** Maximum number of reloads because of gaps, if each follows the previous one within the window. */
const MAX_RELOADS = 3;
const RELOAD_WINDOW_MS = 60_000;

/** The server rejected the position; the start of the stream may still work. */
const POSITION_CODES: readonly ErrorCode[] = ["cursor_stale", "cursor_ahead", "cursor_invalid", "evicted"];

/** Keeps the stream of one session open until it finishes, fails or is closed. */
export class ReconnectingStream {
  /** Resolves with the final state; never rejects. */
  readonly done: Promise<StreamState>;
  readonly #feed: StreamFeed;
  readonly #options: ReconnectingStreamOptions;
  readonly #events: ReconnectingStreamEvents;
  readonly #resolveDone: (state: StreamState) => void;
  readonly #pause: Pause;
  readonly #repair: GapRepair;
  readonly #sink: FrameSink;
  #attempt: StreamAttempt | undefined;
  #isOver = false;
  #failure: StreamReason | undefined;
  /** Why the stream is interrupted; undefined while it is connected. */
  #interruption: StreamReason | undefined;
  /** Consecutive attempts without progress. */
  #attempts = 0;
  /** The attempt repeats frames that were received before, which is not progress. */
  #isReplay = false;
  /** The attempt delivered more frames than can be held, which is not progress. */
  #hasOverflowed = false;
  /** The current attempt was answered. */
  #isAnswered = false;
  /** Any attempt was answered. */
  #wasAnswered = false;
  /** An attempt was answered since the last restart. */
  #mayRestart = true;
  /** Frame count when a frame was last unreadable. */
  #frameCountAtFault: number | undefined;
  /** Frame count at the last restart. */
  #frameCountAtRestart: number | undefined;
  /** Frame count at the last reload. */
  #frameCountAtReload: number | undefined;
  /** The gap of the last reload. */
  #reloadedGap: string | undefined;
  #reloadedTime = -Infinity;
  #reloads = 0;
  /** The gap to reload for, if a reload is due. */
  #gapToReload: string | undefined;
  #hasGivenUp = false;
  /** Number of runs at the last reload because a run had no end. */
  #runCountAtReload: number | undefined;

  constructor(feed: StreamFeed, options: ReconnectingStreamOptions, events: ReconnectingStreamEvents) {
    const { promise, resolve } = Promise.withResolvers<StreamState>();
    this.done = promise;
    this.#resolveDone = resolve;
    this.#feed = feed;
    this.#options = options;
    this.#events = events;
    this.#pause = new Pause(options.clock);
    this.#sink = {
      alive: () => this.#noteAnswer(),
      frame: (text, cursor) => feed.take(text, cursor),
      begin: (cursor) => feed.begin(cursor),
      history: (lastId) => feed.expectHistory?.(lastId),
      fault: (reason, detail) => this.#noteFault(reason, `${reason}: ${detail}`),
    };
    this.#repair = new GapRepair({
      ...options,
      feed: feed,
      onChange: () => this.#reportRepairing(),
      onUnfilled: (what) => this.#handleUnfilledGap(what),
    });
    feed.onMissing = () => {
      // While interrupted, the next attempt starts before the gap anyway.
      if (this.#interruption === undefined) this.#repair.start({ delayed: false });
    };
    feed.onOverflow = () => {
      this.#hasOverflowed = true;
      this.#repair.stop();
      this.#attempt?.markLost("Too many frames are held while earlier ones are missing");
    };
    void this.#run();
  }

  get failure(): StreamReason | undefined {
    return this.#failure;
  }

  /** Ends the current pause and resets the attempt counter. */
  retryNow(): void {
    this.#attempts = 0;
    this.#pause.wake();
  }

  close(): void {
    this.#end(() => this.#feed.finish());
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      const before = this.#feed.frameCount;
      const stream = this.#open();
      const outcome = await stream.outcome;
      const hasProgress = !this.#isReplay && this.#feed.frameCount !== before;
      if (!this.#hasOverflowed && (hasProgress || stream.connectedMs >= this.#stableMs)) this.#attempts = 0;
      this.#isReplay = false;
      if (!this.#isOver) await this.#handleOutcome(outcome);
    }
  }

  get #stableMs(): number {
    const { heartbeatMs, reconnect } = this.#options;
    return Math.min(STABLE_MS, reconnect.maxMs, heartbeatMs > 0 ? heartbeatMs / 2 : Infinity);
  }

  #open(): StreamAttempt {
    const { sessionId: session, position: from } = this.#feed;
    const { transport, dialect, modes, follow, clock, heartbeatMs } = this.#options;
    const request = { session, dialect, modes, from, follow };
    this.#isAnswered = false;
    this.#hasOverflowed = false;
    this.#attempt = new StreamAttempt({ transport, request, sink: this.#sink, clock, heartbeatMs });
    return this.#attempt;
  }

  async #handleOutcome(outcome: AttemptOutcome): Promise<void> {
    const feed = this.#feed;
    switch (outcome.kind) {
      case "aborted":
        if (this.#gapToReload !== undefined) this.#reload(this.#gapToReload);
        else this.#fail({ code: "connection_lost", message: "The transport was closed" });
        return;
      case "refused":
        await this.#handleRefusal(outcome);
        return;
      case "ended":
        if (!this.#options.follow) {
          await this.#repair.settled;
          if (this.#isOver) return;
          if (this.#gapToReload !== undefined) {
            this.#reload(this.#gapToReload);
            return;
          }
          if (!feed.hasLiveRun && feed.missing === undefined) {
            this.#end(() => feed.finish());
            return;
          }
          // Frames after the lost end of a run move the position past it, so only the whole stream has it. The run may
          // also be live, and then only waiting helps.
          const mayLackEnd = feed.missing === undefined && !feed.detectsLoss;
          if (mayLackEnd && this.#attempts > 0 && feed.runCount !== this.#runCountAtReload) {
            this.#runCountAtReload = feed.runCount;
            this.#reload(RUN_END);
            return;
          }
        }
        await this.#waitAfter(
          { code: "connection_lost", message: "The server ended the stream" },
          { isCleanEnd: true },
        );
        return;
      case "lost":
        await this.#waitAfter({ code: "connection_lost", message: outcome.message }, outcome);
        return;
      case "silent":
        await this.#waitAfter({ code: "heartbeat_missed", message: outcome.message }, {});
        return;
    }
  }

  async #handleRefusal(refusal: Refusal): Promise<void> {
    const { code, message, details } = refusal;
    const reason = { code, message, ...(details === undefined ? {} : { details }) };
    if (isTemporaryRefusal(refusal, this.#wasAnswered)) {
      const retryAfterMs = details?.["retry_after_ms"];
      const wait = typeof retryAfterMs === "number" ? { retryAfterMs } : {};
      // A person has to free space, so it is named.
      await this.#waitAfter(code === "store_full" ? reason : { code: "connection_lost", message }, wait);
      return;
    }
    if (code === "unknown_session" && this.#events.expectsSession()) {
      this.#setInterruption(reason);
      return;
    }
    if (!POSITION_CODES.includes(code) || !this.#mayRestart) {
      this.#fail(reason);
      return;
    }
    // Wait if nothing was received since the last restart, so that a session that is recreated again and again does not
    // cause a request loop.
    if (this.#feed.frameCount === this.#frameCountAtRestart) await this.#waitAfter(reason, {});
    if (this.#isOver) return;
    const first = details?.["first_event_id"];
    if (code === "evicted" && typeof first === "number") {
      // The shown turns stay; the state reports the missing records.
      this.#feed.skipTo(first);
      this.#frameCountAtRestart = this.#feed.frameCount;
      this.#mayRestart = false;
    } else this.#restart(reason);
  }

  async #waitAfter(
    reason: StreamReason,
    { retryAfterMs, isCleanEnd = false }: { readonly retryAfterMs?: number; readonly isCleanEnd?: boolean },
  ): Promise<void> {
    const { reconnect, clock, follow } = this.#options;
    this.#setInterruption(reason);
    this.#repair.stop();
    // The next attempt starts before the gap and may fill it.
    this.#gapToReload = undefined;
    this.#attempts++;
    if (this.#attempts > reconnect.maxAttempts) {
      // A server that ended every attempt normally has sent everything it has.
      if (isCleanEnd && !follow) this.#end(() => this.#feed.finish());
      else
        this.#fail({
          code: "reconnect_limit",
          message: `Gave up reconnecting (attempts: ${reconnect.maxAttempts}): ${reason.message}`,
        });
      return;
    }
    await this.#pause.wait(computeBackoff(this.#attempts, reconnect, clock.random(), retryAfterMs));
  }

  #restart(reason: StreamReason): void {
    this.#setInterruption(reason);
    this.#repair.stop();
    this.#gapToReload = undefined;
    this.#feed.restart();
    this.#frameCountAtRestart = this.#feed.frameCount;
    this.#mayRestart = false;
    this.#isReplay = true;
  }

  #reload(what: string): void {
    this.#reloadedGap = what;
    this.#reloadedTime = this.#options.clock.now();
    this.#reloads++;
    this.#frameCountAtReload = this.#feed.frameCount;
    this.#restart({ code: "frames_missing", message: "Frames are missing; the session is being reloaded" });
  }

  /**
   * Reloads the session once for a gap that could not be filled. If a reload already failed to fill it, or reloads are
   * too frequent, continues without the missing frames.
   */
  #handleUnfilledGap(what: string): void {
    const { frameCount } = this.#feed;
    if (this.#options.clock.now() - this.#reloadedTime > RELOAD_WINDOW_MS) this.#reloads = 0;
    const hasNoProgress = this.#frameCountAtReload !== undefined && frameCount <= this.#frameCountAtReload;
    if (this.#hasGivenUp || hasNoProgress || what === this.#reloadedGap || this.#reloads >= MAX_RELOADS) {
      this.#hasGivenUp = true;
      this.#feed.giveUp();
      return;
    }
    this.#gapToReload = what;
    this.#attempt?.stop();
  }

  /** An unreadable frame is requested once more. If it is unreadable again, the stream continues without it. */
  #noteFault(reason: SinkFault, message: string): void {
    const feed = this.#feed;
    const isFrame = reason !== "invalid_control";
    if (isFrame && this.#frameCountAtFault === feed.frameCount) {
      feed.refuse(message);
      return;
    }
    if (isFrame) this.#frameCountAtFault = feed.frameCount;
    feed.fault(message);
    this.#attempt?.markLost(message);
  }

  #noteAnswer(): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#wasAnswered = true;
    this.#mayRestart = true;
    this.#events.onReachable();
    if (this.#interruption === undefined || this.#isOver) return;
    this.#setInterruption(undefined);
    // The new attempt usually delivers the missing frames.
    if (this.#feed.missing !== undefined) this.#repair.start({ delayed: true });
  }

  #setInterruption(reason: StreamReason | undefined): void {
    this.#interruption = reason;
    this.#reportRepairing();
  }

  #reportRepairing(): void {
    if (this.#isOver) return;
    // A session whose first records were deleted is not shown as repaired while its start is checked.
    const isRepairing = this.#repair.isActive && this.#feed.missing?.count !== undefined;
    this.#feed.setRepairing(this.#interruption ?? (isRepairing ? REQUESTING_FRAMES : undefined));
  }

  #fail(reason: StreamReason): void {
    this.#failure = reason;
    this.#end(() => this.#feed.fail(reason));
  }

  #end(notify: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#feed.onMissing = undefined;
    this.#feed.onOverflow = undefined;
    this.#attempt?.stop();
    this.#repair.stop();
    this.#pause.wake();
    notify();
    this.#resolveDone(this.#feed.state);
  }
}

/** Describes the gap of a run without an end. */
const RUN_END = "run end";
const REQUESTING_FRAMES: StreamReason = { code: "frames_missing", message: "Requesting missing frames" };
