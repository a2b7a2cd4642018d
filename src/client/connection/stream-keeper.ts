/**
 * Keeps one stream going until it is over: opens it where it was left, judges how each opening ended, and waits, begins
 * anew, finishes or fails. It knows no frame; what frames mean is the track's to say.
 *
 *   open ── lost, silent, ended too early, unreadable, overfull ──▶ pause ──▶ open, from where it was left
 *    │ ├── the place is of no use ──▶ open, from the beginning; once, if nobody answers to that
 *    │ ├── what is missing cannot be had ──▶ open, from the beginning; where that fails, too, go on without it
 *    │ ├── ended, and nothing is going or missing ──▶ finished (not when following)
 *    │ └── refused, or tried too often ──▶ failed
 *    └── close(), from anywhere ──▶ finished
 *
 * Invariant: when it is over no timer, listener or request of its own is left.
 */
import type { DialectName } from "../../dialects/index.ts";
import type { ErrorCode, StreamModes } from "../../protocol/index.ts";
import type { Track } from "../track.ts";
import type { FrameSink, Refusal, SinkFault, Transport } from "../transport.ts";
import type { StreamReason, StreamState } from "../view.ts";
import { computePause, type ReconnectOptions } from "./back-off.ts";
import { type Clock, Pause } from "./clock.ts";
import { GapRepair } from "./gap-repair.ts";
import { isPassingRefusal } from "./passing-refusal.ts";
import { StreamTry, type TryOutcome } from "./stream-try.ts";

/** What is needed of a track. */
export type KeptTrack = Pick<
  Track,
  | "sessionId"
  | "place"
  | "missing"
  | "hasLiveRun"
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
>;

export interface KeeperOptions {
  readonly transport: Transport;
  readonly dialect: DialectName;
  readonly modes?: StreamModes | undefined;
  readonly follow: boolean;
  readonly reconnect: ReconnectOptions;
  readonly heartbeatMs: number;
  readonly clock: Clock;
}

export interface KeeperEvents {
  /** The server answered, for the first time since the stream was opened last. */
  onHeard(): void;
  /** Asked when the session is not there: whether it must have been made meanwhile. */
  expectsSession(): boolean;
}

/** An answered try that stood so long is progress, whether or not there was anything to tell. */
const STANDING_MS = 3000;

/** Reloads for gaps in a row, where no two are further apart than this. */
const MAX_RELOADS = 3;
const RELOAD_MEMORY_MS = 60_000;

/** The place asked for is of no use; the beginning may be. */
const PLACE_CODES: readonly ErrorCode[] = ["cursor_stale", "cursor_ahead", "cursor_invalid", "evicted"];

export class StreamKeeper {
  /** Resolves to the state when it is over; never rejects. */
  readonly done: Promise<StreamState>;
  readonly #track: KeptTrack;
  readonly #options: KeeperOptions;
  readonly #events: KeeperEvents;
  readonly #settle: (state: StreamState) => void;
  readonly #pause: Pause;
  readonly #repair: GapRepair;
  readonly #sink: FrameSink;
  #try: StreamTry | undefined;
  #isOver = false;
  #failure: StreamReason | undefined;
  /** Why nothing comes now; undefined while the stream is heard. */
  #silence: StreamReason | undefined;
  /** Tries in a row that brought nothing. */
  #attempts = 0;
  /** The try shows again what was seen before: that is no progress. */
  #isReplay = false;
  /** The try brought more than could be held: what it brought is no progress. */
  #isOverfull = false;
  /** The try was answered; some try was; one was since the stream last began anew. */
  #isHeard = false;
  #hasWorked = false;
  #mayRestart = true;
  /** Frames taken when a line could last not be read. */
  #faultedAt: number | undefined;
  /** Frames taken when the stream last began anew, and when it was last loaded again for a gap. */
  #restartedAt: number | undefined;
  #reloadedAt: number | undefined;
  /** What was missing when it was last loaded again, when that was, and how often in a row. */
  #reloadedFor: string | undefined;
  #reloadedTime = -Infinity;
  #reloads = 0;
  /** What is missing, where a reload is wanted for it. */
  #wantsReload: string | undefined;
  #hasGivenUp = false;

  constructor(track: KeptTrack, options: KeeperOptions, events: KeeperEvents) {
    const { promise, resolve } = Promise.withResolvers<StreamState>();
    this.done = promise;
    this.#settle = resolve;
    this.#track = track;
    this.#options = options;
    this.#events = events;
    this.#pause = new Pause(options.clock);
    this.#sink = {
      alive: () => this.#hear(),
      frame: (text, cursor) => track.take(text, cursor),
      begin: (cursor) => track.begin(cursor),
      fault: (reason, detail) => this.#noteFault(reason, `${reason}: ${detail}`),
    };
    this.#repair = new GapRepair({
      ...options,
      track,
      onChange: () => this.#tellRepairing(),
      onVain: (what) => this.#goWithout(what),
    });
    track.onMissing = () => {
      // Whoever opens again asks from before the gap anyhow.
      if (this.#silence === undefined) this.#repair.start({ waits: false });
    };
    track.onOverflow = () => {
      this.#isOverfull = true;
      this.#repair.stop();
      this.#try?.lose("too many frames had to be held");
    };
    void this.#keep();
  }

  get failure(): StreamReason | undefined {
    return this.#failure;
  }

  /** Waits no longer, and counts tries anew. */
  hurry(): void {
    this.#attempts = 0;
    this.#pause.wake();
  }

  close(): void {
    this.#end(() => this.#track.finish());
  }

  async #keep(): Promise<void> {
    while (!this.#isOver) {
      const before = this.#track.frameCount;
      const stream = this.#open();
      const outcome = await stream.outcome;
      const hasBrought = !this.#isReplay && this.#track.frameCount !== before;
      if (!this.#isOverfull && (hasBrought || stream.stoodMs >= this.#standingMs)) this.#attempts = 0;
      this.#isReplay = false;
      if (!this.#isOver) await this.#judge(outcome);
    }
  }

  get #standingMs(): number {
    const { heartbeatMs, reconnect } = this.#options;
    return Math.min(STANDING_MS, reconnect.maxMs, heartbeatMs > 0 ? heartbeatMs / 2 : Infinity);
  }

  #open(): StreamTry {
    const { sessionId: session, place: from } = this.#track;
    const { transport, dialect, modes, follow, clock, heartbeatMs } = this.#options;
    const request = { session, dialect, modes, from, follow };
    this.#isHeard = false;
    this.#isOverfull = false;
    this.#try = new StreamTry({ transport, request, sink: this.#sink, clock, heartbeatMs });
    return this.#try;
  }

  async #judge(outcome: TryOutcome): Promise<void> {
    const track = this.#track;
    switch (outcome.kind) {
      case "aborted":
        if (this.#wantsReload !== undefined) this.#reload(this.#wantsReload);
        else this.#fail({ code: "connection_lost", message: "the transport was closed" });
        return;
      case "refused":
        await this.#judgeRefusal(outcome);
        return;
      case "ended":
        if (!this.#options.follow) {
          await this.#repair.settled;
          if (this.#isOver) return;
          if (this.#wantsReload !== undefined) {
            this.#reload(this.#wantsReload);
            return;
          }
          if (!track.hasLiveRun && track.missing === undefined) {
            this.#end(() => track.finish());
            return;
          }
        }
        await this.#waitAfter({ code: "connection_lost", message: "the stream ended" }, { isPolite: true });
        return;
      case "lost":
        await this.#waitAfter({ code: "connection_lost", message: outcome.message }, outcome);
        return;
      case "silent":
        await this.#waitAfter({ code: "heartbeat_missed", message: outcome.message }, {});
        return;
    }
  }

  async #judgeRefusal(refusal: Refusal): Promise<void> {
    const { code, message, details } = refusal;
    const reason = { code, message };
    if (isPassingRefusal(refusal, this.#hasWorked)) {
      const retryAfterMs = details?.["retry_after_ms"];
      const wait = typeof retryAfterMs === "number" ? { retryAfterMs } : {};
      await this.#waitAfter({ code: "connection_lost", message }, wait);
      return;
    }
    if (code === "unknown_session" && this.#events.expectsSession()) {
      this.#setSilence(reason);
      return;
    }
    if (!PLACE_CODES.includes(code) || !this.#mayRestart) {
      this.#fail(reason);
      return;
    }
    // Again, with nothing in between: a session may be made anew as often as it likes, but nobody is to be hammered.
    if (this.#track.frameCount === this.#restartedAt) await this.#waitAfter(reason, {});
    if (this.#isOver) return;
    const first = details?.["first_event_id"];
    if (code === "evicted" && typeof first === "number") {
      // What was shown stays; what came between is gone, and the state says so.
      this.#track.skipTo(first);
      this.#restartedAt = this.#track.frameCount;
      this.#mayRestart = false;
    } else this.#restart(reason);
  }

  async #waitAfter(
    reason: StreamReason,
    { retryAfterMs, isPolite = false }: { readonly retryAfterMs?: number; readonly isPolite?: boolean },
  ): Promise<void> {
    const { reconnect, clock, follow } = this.#options;
    this.#setSilence(reason);
    this.#repair.stop();
    // The next try asks from before the gap: it may bring what is missing.
    this.#wantsReload = undefined;
    this.#attempts++;
    if (this.#attempts > reconnect.maxAttempts) {
      // A server that ended the stream each time has said all it knows.
      if (isPolite && !follow) this.#end(() => this.#track.finish());
      else this.#fail({ code: "reconnect_limit", message: `tried ${reconnect.maxAttempts} times: ${reason.message}` });
      return;
    }
    await this.#pause.wait(computePause(this.#attempts, reconnect, clock.random(), retryAfterMs));
  }

  #restart(reason: StreamReason): void {
    this.#setSilence(reason);
    this.#repair.stop();
    this.#wantsReload = undefined;
    this.#track.restart();
    this.#restartedAt = this.#track.frameCount;
    this.#mayRestart = false;
    this.#isReplay = true;
  }

  #reload(what: string): void {
    this.#reloadedFor = what;
    this.#reloadedTime = this.#options.clock.now();
    this.#reloads++;
    this.#reloadedAt = this.#track.frameCount;
    this.#restart({ code: "frames_missing", message: "frames are missing; the session is loaded again" });
  }

  /** Asking for what is missing was in vain. A stream that lost the same again would lose it a third time, too. */
  #goWithout(what: string): void {
    const { frameCount } = this.#track;
    if (this.#options.clock.now() - this.#reloadedTime > RELOAD_MEMORY_MS) this.#reloads = 0;
    const isNoFurther = this.#reloadedAt !== undefined && frameCount <= this.#reloadedAt;
    if (this.#hasGivenUp || isNoFurther || what === this.#reloadedFor || this.#reloads >= MAX_RELOADS) {
      this.#hasGivenUp = true;
      this.#track.giveUp();
      return;
    }
    this.#wantsReload = what;
    this.#try?.stop();
  }

  /** What could not be read may be read the next time; where it cannot, the stream goes on without it. */
  #noteFault(reason: SinkFault, message: string): void {
    const track = this.#track;
    const isFrame = reason !== "invalid_control";
    if (isFrame && this.#faultedAt === track.frameCount) {
      track.refuse(message);
      return;
    }
    if (isFrame) this.#faultedAt = track.frameCount;
    track.fault(message);
    this.#try?.lose(message);
  }

  #hear(): void {
    if (this.#isHeard) return;
    this.#isHeard = true;
    this.#hasWorked = true;
    this.#mayRestart = true;
    this.#events.onHeard();
    if (this.#silence === undefined || this.#isOver) return;
    this.#setSilence(undefined);
    // It comes with this stream, if it comes so at all.
    if (this.#track.missing !== undefined) this.#repair.start({ waits: true });
  }

  #setSilence(reason: StreamReason | undefined): void {
    this.#silence = reason;
    this.#tellRepairing();
  }

  #tellRepairing(): void {
    if (this.#isOver) return;
    this.#track.setRepairing(this.#silence ?? (this.#repair.isAtWork ? ASKING : undefined));
  }

  #fail(reason: StreamReason): void {
    this.#failure = reason;
    this.#end(() => this.#track.fail(reason));
  }

  #end(tell: () => void): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#track.onMissing = undefined;
    this.#track.onOverflow = undefined;
    this.#try?.stop();
    this.#repair.stop();
    this.#pause.wake();
    tell();
    this.#settle(this.#track.state);
  }
}

const ASKING: StreamReason = { code: "frames_missing", message: "frames are missing, and asked for" };
