/**
 * Writes to one WebSocket: messages that are ready as bytes go straight to the socket below, without being framed again
 * for each reader. It knows nothing of what they say.
 *
 * Invariants:
 * - Whole messages only, in the order of the calls, together with the pings, pongs and closes of `ws`: with compression
 *   off its sender holds nothing back, so both write to the same socket at once.
 * - What is written in one turn of the event loop leaves in one go.
 * - Once more bytes wait than the limit there is no room until all of them are gone.
 */
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { encodeTextMessage } from "./encode-text-message.ts";

/** Those that were written to in this turn, corked until its end. */
let corked: SocketWriter[] = [];

function uncorkAll(): void {
  const writers = corked;
  corked = [];
  for (const writer of writers) writer.uncork();
}

/** Of the reason of a close, in bytes; RFC 6455 §5.5. */
const MAX_REASON_BYTES = 123;

export class SocketWriter {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  readonly #maxBytes: number;
  #isCorked = false;
  #isFull = false;
  #isClosed = false;
  #waiting: (() => void)[] = [];

  constructor(ws: WebSocket, socket: Duplex, maxBytes: number) {
    this.#ws = ws;
    this.#socket = socket;
    // A socket says that it is empty only after it has said that it is full.
    this.#maxBytes = Math.max(maxBytes, socket.writableHighWaterMark);
  }

  get hasRoom(): boolean {
    return !this.#isFull;
  }

  /** Bytes that are on their way. */
  get size(): number {
    return this.#socket.writableLength;
  }

  /** Whole messages, as `encodeTextMessage` makes them. False: there is no room for more. */
  write(messages: Buffer): boolean {
    if (this.#isClosed || this.#ws.readyState !== this.#ws.OPEN) return true;
    const socket = this.#socket;
    if (!this.#isCorked) {
      this.#isCorked = true;
      socket.cork();
      if (corked.length === 0) setImmediate(uncorkAll);
      corked.push(this);
    }
    socket.write(messages);
    if (!this.#isFull && socket.writableLength > this.#maxBytes) {
      this.#isFull = true;
      socket.once("drain", this.#drained);
    }
    return !this.#isFull;
  }

  writeText(text: string): boolean {
    return this.write(encodeTextMessage(text));
  }

  uncork(): void {
    this.#isCorked = false;
    this.#socket.uncork();
  }

  /** Calls back once there is room, or the socket is gone; at once where there is. */
  whenRoom(act: () => void): void {
    if (this.#isFull && !this.#isClosed) this.#waiting.push(act);
    else act();
  }

  /** Closes it with a code and as much of the reason as fits. One who does not read is not waited for for ever. */
  close(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.release();
    this.#ws.close(code, Buffer.byteLength(reason) <= MAX_REASON_BYTES ? reason : reason.split(" ", 1)[0]);
  }

  /** The socket is gone, or is about to be: nothing is written any more. */
  release(): void {
    this.#isClosed = true;
    this.#socket.removeListener("drain", this.#drained);
    this.#goOn();
  }

  readonly #drained = (): void => {
    this.#isFull = false;
    this.#goOn();
  };

  #goOn(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const act of waiting) act();
  }
}
