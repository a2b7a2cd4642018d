/**
 * Writes to a connection at the end of each turn of the event loop, in one go. What many readers are given at once is
 * handed to all of them first, and then written to one connection after the other: that costs less than doing both for
 * each, and what comes for the same one in between needs no call of its own. It knows neither HTTP nor WebSockets.
 *
 * Invariants:
 * - The bytes leave in the order they came, and are never changed: others may share them.
 * - Nothing is held longer than until the turn ends.
 */
import type { Duplex } from "node:stream";

/** Those that have something to write when this turn ends. */
let waiting: TurnWriter[] = [];

function endTurn(): void {
  const writers = waiting;
  waiting = [];
  for (const writer of writers) writer.flush();
}

/** As a WebSocket has it. */
export interface Gate {
  readonly readyState: number;
  readonly OPEN: number;
}

export class TurnWriter {
  readonly #socket: Duplex;
  readonly #gate: Gate | undefined;
  #held: Buffer | undefined;
  /** There was more than one to hold: the socket does. */
  #isCorked = false;

  /** `gate`: looked at when the turn ends; where it is not open any more, what was held is dropped. */
  constructor(socket: Duplex, gate?: Gate) {
    this.#socket = socket;
    this.#gate = gate;
  }

  /** Bytes that are on their way. */
  get size(): number {
    return this.#socket.writableLength + (this.#held?.length ?? 0);
  }

  write(bytes: Buffer): void {
    const held = this.#held;
    if (this.#isCorked) this.#socket.write(bytes);
    else if (held === undefined) {
      this.#held = bytes;
      if (waiting.length === 0) setImmediate(endTurn);
      waiting.push(this);
    } else {
      this.#held = undefined;
      this.#isCorked = true;
      this.#socket.cork();
      this.#socket.write(held);
      this.#socket.write(bytes);
    }
  }

  /** Writes now what would be written when the turn ends. */
  flush(): void {
    const held = this.#held;
    if (held !== undefined) {
      this.#held = undefined;
      const gate = this.#gate;
      if (gate === undefined || gate.readyState === gate.OPEN) this.#writeHeld(held);
    } else if (this.#isCorked) {
      this.#isCorked = false;
      this.#socket.uncork();
    }
  }

  /**
   * Much at once goes by way of the socket's own buffer: a write that the system takes whole leaves no trace, and whoever
   * was told that there is no room would never hear of the contrary.
   */
  #writeHeld(held: Buffer): void {
    const socket = this.#socket;
    const isMuch = held.length >= socket.writableHighWaterMark;
    if (isMuch) socket.cork();
    socket.write(held);
    if (isMuch) socket.uncork();
  }
}
