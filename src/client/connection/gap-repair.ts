/**
 * Fetches missing frames with separate requests while the main stream continues. It decides when further requests are
 * pointless; the owner decides what happens then.
 *
 *   idle ── start ──▶ requesting ── filled ──▶ idle
 *                       ├── still missing ──▶ pause ──▶ requesting, up to MAX_ATTEMPTS times without progress
 *                       └── refused, or too many attempts ──▶ `onUnfilled`, idle
 *
 * If the first frame received is not the first of the log, or the first run has no start, it requests the first frame
 * that the server has. If a frame was lost, `onUnfilled` is called; otherwise the log starts there.
 *
 * Invariants:
 * - One request at a time, with a pause between two requests.
 * - Progress means that the gap changed. Frames of other streams do not count.
 */
import type { DialectName } from "../../dialects/index.ts";
import type { StreamModes } from "../../protocol/stream-modes.ts";
import type { SessionFeed } from "../session-feed.ts";
import type { FrameSink, Transport } from "../transport.ts";
import { computeBackoff, type ReconnectOptions } from "./backoff.ts";
import { type Clock, Pause } from "./clock.ts";
import { isTemporaryRefusal } from "./temporary-refusal.ts";
import { StreamAttempt, type AttemptOutcome } from "./stream-attempt.ts";

export interface GapRepairOptions {
  readonly transport: Transport;
  readonly feed: Pick<SessionFeed, "sessionId" | "position" | "missing" | "take" | "confirmStart">;
  readonly dialect: DialectName;
  readonly modes?: StreamModes | undefined;
  readonly reconnect: ReconnectOptions;
  readonly heartbeatMs: number;
  readonly clock: Clock;
  /** Called when a repair starts (true) or ends (false). */
  readonly onChange: (isActive: boolean) => void;
  /** Called when the gap could not be filled. `gap` stays the same as long as the same frames are missing. */
  readonly onUnfilled: (gap: string) => void;
}

/** Consecutive requests without progress. */
const MAX_ATTEMPTS = 3;
/** Describes the gap before the first frame received. */
const START = "start";
const FIRST_FRAME = { from: {}, limit: 1 } as const;

/** Fetches the missing frames of one stream. */
export class GapRepair {
  readonly #options: GapRepairOptions;
  readonly #pause: Pause;
  readonly #sink: FrameSink;
  #work: Promise<void> | undefined;
  #attempt: StreamAttempt | undefined;
  /** Incremented by `start` and `stop`, so that a stopped repair notices. */
  #generation = 0;
  /** The last repair failed, so the next one waits before its first request. */
  #lastFailed = false;
  /** The server has a frame that was lost at the start. */
  #isStartLost = false;

  constructor(options: GapRepairOptions) {
    this.#options = options;
    this.#pause = new Pause(options.clock);
    this.#sink = {
      frame: (text, cursor) => {
        if (this.#describeGap() === START) this.#isStartLost ||= !options.feed.confirmStart(text);
        else options.feed.take(text, cursor);
      },
      alive: () => undefined,
      // Unreadable frames stay missing; the main stream reports them.
      fault: (reason, detail) => {
        if (reason === "invalid_control") this.#attempt?.markLost(detail);
      },
    };
  }

  /** Resolves when no repair is running. */
  get settled(): Promise<void> {
    return this.#work ?? Promise.resolve();
  }

  get isActive(): boolean {
    return this.#work !== undefined;
  }

  /** With `delayed`, waits before the first request, because the missing frames may already be on their way. */
  start({ delayed }: { readonly delayed: boolean }): void {
    if (this.#work !== undefined) return;
    const generation = ++this.#generation;
    this.#work = this.#repair(generation, delayed);
    this.#options.onChange(true);
  }

  stop(): void {
    if (this.#work === undefined) return;
    this.#generation++;
    this.#finish();
    this.#attempt?.stop();
    this.#pause.wake();
  }

  #finish(): void {
    this.#work = undefined;
    this.#options.onChange(false);
  }

  async #repair(generation: number, delayed: boolean): Promise<void> {
    const { feed, reconnect, clock } = this.#options;
    const isStopped = (): boolean => generation !== this.#generation;
    // Frames of the same chunk may fill the gap, so let them be processed first.
    await Promise.resolve();
    let mustWait = delayed || this.#lastFailed;
    let failures = 0;
    while (failures < MAX_ATTEMPTS && !isStopped()) {
      if (mustWait) await this.#pause.wait(computeBackoff(Math.max(failures, 1), reconnect, clock.random()));
      if (isStopped()) return;
      if (feed.missing === undefined) break;
      const before = this.#describeGap();
      this.#isStartLost = false;
      const outcome = await this.#requestFrames(feed.missing.count, failures);
      if (isStopped()) return;
      if (this.#isStartLost) failures = MAX_ATTEMPTS;
      else if (this.#describeGap() !== before) failures = 0;
      else failures = isPermanent(outcome) ? MAX_ATTEMPTS : failures + 1;
      if (feed.missing === undefined) break;
      mustWait = true;
    }
    if (isStopped()) return;
    this.#lastFailed = failures === MAX_ATTEMPTS;
    if (this.#lastFailed) this.#options.onUnfilled(this.#describeGap());
    if (!isStopped()) this.#finish();
  }

  #requestFrames(count: number | undefined, failures: number): Promise<AttemptOutcome> {
    const { transport, feed, dialect, modes, heartbeatMs, clock } = this.#options;
    // A count that did not help may be wrong, so request everything from the gap on.
    const limit = count === undefined || failures > 0 ? {} : { limit: count };
    const part = count === undefined ? FIRST_FRAME : { from: feed.position, ...limit };
    const request = { session: feed.sessionId, dialect, modes, follow: false, ...part };
    this.#attempt = new StreamAttempt({ transport, request, sink: this.#sink, clock, heartbeatMs });
    return this.#attempt.outcome;
  }

  /** Identifies the current gap; the same text as long as the same frames are missing. */
  #describeGap(): string {
    const { missing, position } = this.#options.feed;
    if (missing === undefined) return "";
    return missing.count === undefined ? START : JSON.stringify([missing.count, position.after, position.skip]);
  }
}

/** The main stream is connected, so the server has accepted this client before. */
function isPermanent(outcome: AttemptOutcome): boolean {
  return outcome.kind === "refused" && !isTemporaryRefusal(outcome, true);
}
