/**
 * Fetches what is missing beside the stream that is running. It decides when asking is of no more use, and leaves to
 * its owner what follows then.
 *
 *   at rest ── start ──▶ asking ── filled ──▶ at rest
 *                          ├── still missing ──▶ pause ──▶ asking, at most so often in a row without progress
 *                          └── refused, or asked often enough ──▶ `onVain`, at rest
 *
 * Invariants:
 * - It asks one thing at a time, and never twice without a pause between.
 * - Progress is what is missing becoming less. Frames of other streams, however many, are none.
 */
import type { DialectName } from "../../dialects/index.ts";
import type { StreamModes } from "../../protocol/index.ts";
import type { Track } from "../track.ts";
import type { FrameSink, Transport } from "../transport.ts";
import { computePause, type ReconnectOptions } from "./back-off.ts";
import { type Clock, Pause } from "./clock.ts";
import { isPassingRefusal } from "./passing-refusal.ts";
import { StreamTry, type TryOutcome } from "./stream-try.ts";

export interface GapRepairOptions {
  readonly transport: Transport;
  readonly track: Pick<Track, "sessionId" | "place" | "missing" | "take">;
  readonly dialect: DialectName;
  readonly modes?: StreamModes | undefined;
  readonly reconnect: ReconnectOptions;
  readonly heartbeatMs: number;
  readonly clock: Clock;
  /** It began, or is over. */
  readonly onChange: (isAtWork: boolean) => void;
  /** Asking did not help; `what` is the same as long as the same is missing. Called before it is over. */
  readonly onVain: (what: string) => void;
}

/** Questions in a row that brought nothing. */
const MAX_TRIES = 3;

export class GapRepair {
  readonly #options: GapRepairOptions;
  readonly #pause: Pause;
  readonly #sink: FrameSink;
  #work: Promise<void> | undefined;
  #try: StreamTry | undefined;
  /** Counts what was stopped, so that what was begun before knows it. */
  #life = 0;
  /** Asking did not help the last time: then there is no hurry. */
  #wasVain = false;

  constructor(options: GapRepairOptions) {
    this.#options = options;
    this.#pause = new Pause(options.clock);
    this.#sink = {
      frame: (text, cursor) => options.track.take(text, cursor),
      alive: () => undefined,
      // What cannot be read here stays missing; the stream itself tells of it.
      fault: (reason, detail) => {
        if (reason === "invalid_control") this.#try?.lose(detail);
      },
    };
  }

  /** Resolves when it is at rest. */
  get settled(): Promise<void> {
    return this.#work ?? Promise.resolve();
  }

  get isAtWork(): boolean {
    return this.#work !== undefined;
  }

  /** `waits`: what is missing may be on its way already. */
  start({ waits }: { readonly waits: boolean }): void {
    if (this.#work !== undefined) return;
    const life = ++this.#life;
    this.#work = this.#ask(life, waits);
    this.#options.onChange(true);
  }

  stop(): void {
    if (this.#work === undefined) return;
    this.#life++;
    this.#rest();
    this.#try?.stop();
    this.#pause.wake();
  }

  #rest(): void {
    this.#work = undefined;
    this.#options.onChange(false);
  }

  async #ask(life: number, waits: boolean): Promise<void> {
    const { track, reconnect, clock } = this.#options;
    const isStopped = (): boolean => life !== this.#life;
    // What came in one piece with the frame after the gap is taken before anything is asked.
    await Promise.resolve();
    let mustWait = waits || this.#wasVain;
    let vain = 0;
    while (vain < MAX_TRIES && !isStopped()) {
      if (mustWait) await this.#pause.wait(computePause(Math.max(vain, 1), reconnect, clock.random()));
      if (isStopped()) return;
      if (track.missing === undefined) break;
      const before = this.#describeMissing();
      const outcome = await this.#askOnce(track.missing.count, vain);
      if (isStopped()) return;
      if (this.#describeMissing() !== before) vain = 0;
      else vain = isFinal(outcome) ? MAX_TRIES : vain + 1;
      // Filled: no need to wait to find that out.
      if (track.missing === undefined) break;
      mustWait = true;
    }
    if (isStopped()) return;
    this.#wasVain = vain === MAX_TRIES;
    if (this.#wasVain) this.#options.onVain(this.#describeMissing());
    if (!isStopped()) this.#rest();
  }

  #askOnce(count: number | undefined, vain: number): Promise<TryOutcome> {
    const { transport, track, dialect, modes, heartbeatMs, clock } = this.#options;
    // A count that did not help may be wrong: then everything that follows is asked for.
    const limit = count === undefined || vain > 0 ? {} : { limit: count };
    const request = { session: track.sessionId, dialect, modes, from: track.place, follow: false, ...limit };
    this.#try = new StreamTry({ transport, request, sink: this.#sink, clock, heartbeatMs });
    return this.#try.outcome;
  }

  /** The same as long as the same is missing. */
  #describeMissing(): string {
    const { missing, place } = this.#options.track;
    return missing === undefined ? "" : JSON.stringify([missing.count, place.after, place.skip]);
  }
}

/** The stream goes on beside it, so the server is there and knows us. */
function isFinal(outcome: TryOutcome): boolean {
  return outcome.kind === "refused" && !isPassingRefusal(outcome, true);
}
