/**
 * Batches the writes to a connection until the end of the current event loop tick. When many readers receive the same
 * batch, all of them are served first and their sockets are written afterwards, with one write per socket.
 *
 * Invariants:
 * - Bytes are written in order and never modified; other connections may share them.
 * - Nothing is held beyond the current tick.
 */
import type { Duplex } from "node:stream";

/** Writers with bytes to flush at the end of this tick. */
let waiting: TickWriter[] = [];

function flushAll(): void {
  const writers = waiting;
  waiting = [];
  for (const writer of writers) writer.flush();
}

/** The part of a WebSocket that tells whether it is open. */
export interface WriteGate {
  readonly readyState: number;
  readonly OPEN: number;
}

export class TickWriter {
  readonly #socket: Duplex;
  readonly #gate: WriteGate | undefined;
  #held: Buffer | undefined;
  /** The socket is corked because more than one buffer is held. */
  #isCorked = false;

  /** If `gate` is no longer open at the end of the tick, held bytes are dropped. */
  constructor(socket: Duplex, gate?: WriteGate) {
    this.#socket = socket;
    this.#gate = gate;
  }

  /** Bytes that are not sent yet. */
  get pendingBytes(): number {
    return this.#socket.writableLength + (this.#held?.length ?? 0);
  }

  write(bytes: Buffer): void {
    const held = this.#held;
    if (this.#isCorked) this.#socket.write(bytes);
    else if (held === undefined) {
      this.#held = bytes;
      if (waiting.length === 0) setImmediate(flushAll);
      waiting.push(this);
    } else {
      this.#held = undefined;
      this.#isCorked = true;
      this.#socket.cork();
      this.#socket.write(held);
      this.#socket.write(bytes);
    }
  }

  /** Writes held bytes now. */
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
   * A large write goes through the buffer of the socket. Otherwise the system could accept it at once, and `drain`
   * would never be emitted for a writer that waits for room.
   */
  #writeHeld(held: Buffer): void {
    const socket = this.#socket;
    const isMuch = held.length >= socket.writableHighWaterMark;
    if (isMuch) socket.cork();
    socket.write(held);
    if (isMuch) socket.uncork();
  }
}
