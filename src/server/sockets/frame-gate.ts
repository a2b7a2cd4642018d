/**
 * Counts the frames of a socket against the rate limit of its caller, and passes them on in the order of their arrival,
 * even when the counters are slow.
 *
 * Invariant: the number and the length of the frames that wait are limited.
 */
import { LoomError } from "../../protocol/index.ts";

/** How many of the longest frames can wait. */
const WAITING_FACTOR = 4;
const MAX_WAITING = 1000;

export class FrameGate {
  readonly #count: (() => Promise<void>) | undefined;
  /** Maximum characters of the frames that wait. */
  readonly #maxLength: number;
  #waiting = 0;
  /** Characters of the frames that wait. */
  #length = 0;
  #last: Promise<void> = Promise.resolve();

  /** Without `count`, frames pass at once. `maxLength`: maximum characters of one frame. */
  constructor(count: (() => Promise<void>) | undefined, maxLength: number) {
    this.#count = count;
    this.#maxLength = WAITING_FACTOR * maxLength;
  }

  /** Counts a frame of `length` characters, then calls `act`; with the reason if the frame is refused. `act` must not throw. */
  pass(length: number, act: (refusal: unknown) => void): void {
    if (this.#count === undefined) act(undefined);
    else if (this.#waiting < MAX_WAITING && this.#length + length <= this.#maxLength)
      this.#enqueue(length, this.#count(), act);
    else act(new LoomError("backlog_full", `${this.#waiting} frames of this socket are waiting; send fewer at once`));
  }

  /** Calls `act` after the frames before it, without counting. */
  follow(act: () => void): void {
    if (this.#waiting === 0) act();
    else this.#enqueue(0, Promise.resolve(), act);
  }

  #enqueue(length: number, counted: Promise<void>, act: (refusal: unknown) => void): void {
    this.#waiting++;
    this.#length += length;
    const refusal = counted.then(
      () => undefined,
      (error: unknown) => error,
    );
    this.#last = this.#last.then(async () => {
      const why = await refusal;
      this.#waiting--;
      this.#length -= length;
      act(why);
    });
  }
}
