/**
 * One attempt to open a stream. It ends when the server is silent for too long or the device goes offline: a socket may
 * stay open without a network. It knows nothing about earlier or later attempts.
 *
 * Invariant: after it ended, nothing is delivered, even if the transport ignores the abort signal.
 */
import type { FrameSink, StreamOutcome, StreamRequest, Transport } from "../transport.ts";
import { type Clock, onNetwork } from "./clock.ts";

/** How an attempt ended. */
export type AttemptOutcome =
  | StreamOutcome
  /** The server was silent for too long. */
  | { readonly kind: "silent"; readonly message: string };

export interface StreamAttemptOptions {
  readonly transport: Transport;
  readonly request: StreamRequest;
  /** Receives frames; `alive` is also called before each frame. */
  readonly sink: FrameSink;
  readonly clock: Clock;
  /** Maximum silence in milliseconds; 0 disables the watchdog. */
  readonly heartbeatMs: number;
}

/** One opening of a stream. */
export class StreamAttempt {
  /** How the attempt ended. Never rejects. */
  readonly outcome: Promise<AttemptOutcome>;
  readonly #clock: Clock;
  readonly #heartbeatMs: number;
  readonly #startedAt: number;
  readonly #abort = new AbortController();
  readonly #resolveOutcome: (outcome: AttemptOutcome) => void;
  #lastActivity: number;
  #isAnswered = false;
  #endedAt: number;
  #isOver = false;
  #timer: unknown;
  readonly #unlisten = onNetwork("offline", () => this.markLost("The device went offline"));

  constructor({ transport, request, sink, clock, heartbeatMs }: StreamAttemptOptions) {
    const { promise, resolve } = Promise.withResolvers<AttemptOutcome>();
    this.outcome = promise;
    this.#resolveOutcome = resolve;
    this.#clock = clock;
    this.#heartbeatMs = heartbeatMs;
    this.#startedAt = clock.now();
    this.#lastActivity = this.#startedAt;
    this.#endedAt = this.#startedAt;
    if (heartbeatMs > 0) this.#watch(heartbeatMs);
    // Transports should not throw, but a faulty one must not break the page.
    const open = async (): Promise<StreamOutcome> => transport.open(request, this.#guard(sink), this.#abort.signal);
    open().then(
      (outcome) => this.#end(outcome),
      (error: unknown) => this.#end({ kind: "lost", message: String(error) }),
    );
  }

  /** How long the attempt lasted, in milliseconds, once it is over; 0 if the server never answered. */
  get connectedMs(): number {
    return this.#isAnswered ? this.#endedAt - this.#startedAt : 0;
  }

  stop(): void {
    this.#end({ kind: "aborted" });
  }

  /** Ends the attempt as lost, so that a new one is made. */
  markLost(message: string): void {
    this.#end({ kind: "lost", message });
  }

  #end(outcome: AttemptOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#endedAt = outcome.kind === "silent" ? this.#lastActivity : this.#clock.now();
    this.#clock.clearTimeout(this.#timer);
    this.#unlisten();
    this.#abort.abort();
    this.#resolveOutcome(outcome);
  }

  #guard(sink: FrameSink): FrameSink {
    const noteActivity = (): void => {
      this.#isAnswered = true;
      this.#lastActivity = this.#clock.now();
      sink.alive();
    };
    return {
      alive: () => {
        if (!this.#isOver) noteActivity();
      },
      frame: (text, cursor) => {
        if (this.#isOver) return;
        noteActivity();
        if (!this.#isOver) sink.frame(text, cursor);
      },
      history: (lastId) => {
        if (!this.#isOver) sink.history?.(lastId);
      },
      begin: (cursor) => {
        if (!this.#isOver) sink.begin?.(cursor);
      },
      fault: (reason, detail) => {
        if (!this.#isOver) sink.fault(reason, detail);
      },
    };
  }

  /** One timer that checks when it is due, instead of a new timer per frame. */
  #watch(ms: number): void {
    this.#timer = this.#clock.setTimeout(() => {
      const left = this.#lastActivity + this.#heartbeatMs - this.#clock.now();
      if (left > 0) this.#watch(left);
      else this.#end({ kind: "silent", message: `The server was silent for ${this.#heartbeatMs} ms` });
    }, ms);
  }
}
