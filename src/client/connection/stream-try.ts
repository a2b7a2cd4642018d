/**
 * One opening of a stream, watched: when nothing is heard for too long it is given up. Knows nothing of what comes
 * before and after it.
 *
 * Invariant: once it is over nothing more is given, even by a transport that does not stop when told to.
 */
import type { FrameSink, StreamOutcome, StreamRequest, Transport } from "../transport.ts";
import type { Clock } from "./clock.ts";

export type TryOutcome =
  | StreamOutcome
  /** Nothing was heard for longer than allowed. */
  | { readonly kind: "silent"; readonly message: string };

export interface TryOptions {
  readonly transport: Transport;
  readonly request: StreamRequest;
  /** `alive` is called before each frame, too. */
  readonly sink: FrameSink;
  readonly clock: Clock;
  /** 0: never given up. */
  readonly heartbeatMs: number;
}

export class StreamTry {
  /** Never rejects. */
  readonly outcome: Promise<TryOutcome>;
  readonly #clock: Clock;
  readonly #heartbeatMs: number;
  readonly #startedAt: number;
  readonly #abort = new AbortController();
  readonly #settle: (outcome: TryOutcome) => void;
  #lastHeard: number;
  #hasHeard = false;
  #endedAt: number;
  #isOver = false;
  #timer: unknown;

  constructor({ transport, request, sink, clock, heartbeatMs }: TryOptions) {
    const { promise, resolve } = Promise.withResolvers<TryOutcome>();
    this.outcome = promise;
    this.#settle = resolve;
    this.#clock = clock;
    this.#heartbeatMs = heartbeatMs;
    this.#startedAt = clock.now();
    this.#lastHeard = this.#startedAt;
    this.#endedAt = this.#startedAt;
    if (heartbeatMs > 0) this.#watch(heartbeatMs);
    // No transport should throw, but one that does must not take the page with it.
    const open = async (): Promise<StreamOutcome> => transport.open(request, this.#guard(sink), this.#abort.signal);
    open().then(
      (outcome) => this.#end(outcome),
      (error: unknown) => this.#end({ kind: "lost", message: String(error) }),
    );
  }

  /** How long it stood, once it is over; nothing where it was never answered. */
  get stoodMs(): number {
    return this.#hasHeard ? this.#endedAt - this.#startedAt : 0;
  }

  stop(): void {
    this.#end({ kind: "aborted" });
  }

  /** It is of no more use: what comes next is for a new one. */
  lose(message: string): void {
    this.#end({ kind: "lost", message });
  }

  #end(outcome: TryOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#endedAt = outcome.kind === "silent" ? this.#lastHeard : this.#clock.now();
    this.#clock.clearTimeout(this.#timer);
    this.#abort.abort();
    this.#settle(outcome);
  }

  #guard(sink: FrameSink): FrameSink {
    const hear = (): void => {
      this.#hasHeard = true;
      this.#lastHeard = this.#clock.now();
      sink.alive();
    };
    return {
      alive: () => {
        if (!this.#isOver) hear();
      },
      frame: (text, cursor) => {
        if (this.#isOver) return;
        hear();
        if (!this.#isOver) sink.frame(text, cursor);
      },
      begin: (cursor) => {
        if (!this.#isOver) sink.begin?.(cursor);
      },
      fault: (reason, detail) => {
        if (!this.#isOver) sink.fault(reason, detail);
      },
    };
  }

  /** One timer that looks when it is due, rather than a new one for each frame. */
  #watch(ms: number): void {
    this.#timer = this.#clock.setTimeout(() => {
      const left = this.#lastHeard + this.#heartbeatMs - this.#clock.now();
      if (left > 0) this.#watch(left);
      else this.#end({ kind: "silent", message: `nothing was heard for ${this.#heartbeatMs} ms` });
    }, ms);
  }
}
