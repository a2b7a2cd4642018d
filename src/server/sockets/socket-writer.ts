/**
 * Writes to one WebSocket: messages that are ready as bytes go straight to the socket below, without being framed again
 * for each reader. It knows nothing of what they say.
 *
 * Invariants:
 * - Whole messages only, in the order of the calls, and none after a close. With compression off the sender of `ws` holds
 *   nothing back, so both write to the same socket; its pings and pongs may pass what waits for the end of the turn.
 * - What is written in one turn of the event loop leaves in one go.
 * - Once more bytes wait than the limit there is no room until all of them are gone.
 */
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { TurnWriter } from "../streams/turn-writer.ts";
import { encodeTextMessage } from "./encode-text-message.ts";

/** Of the reason of a close, in bytes; RFC 6455 §5.5. */
const MAX_REASON_BYTES = 123;

export class SocketWriter {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  readonly #writer: TurnWriter;
  readonly #maxBytes: number;
  #isFull = false;
  #isClosed = false;
  #waiting: (() => void)[] = [];

  constructor(ws: WebSocket, socket: Duplex, maxBytes: number) {
    this.#ws = ws;
    this.#socket = socket;
    this.#writer = new TurnWriter(socket, ws);
    // A socket says that it is empty only after it has said that it is full; and what is held is not in it yet.
    this.#maxBytes = Math.max(maxBytes, 2 * socket.writableHighWaterMark);
  }

  get hasRoom(): boolean {
    return !this.#isFull;
  }

  /** Bytes that are on their way. */
  get size(): number {
    return this.#writer.size;
  }

  /** Whole messages, as `encodeTextMessage` makes them. False: there is no room for more. */
  write(messages: Buffer): boolean {
    if (this.#isClosed) return true;
    this.#writer.write(messages);
    if (!this.#isFull && this.#writer.size > this.#maxBytes) {
      this.#isFull = true;
      this.#socket.once("drain", this.#drained);
    }
    return !this.#isFull;
  }

  writeText(text: string): boolean {
    return this.write(encodeTextMessage(text));
  }

  /** Calls back once there is room, or the socket is gone; at once where there is. */
  whenRoom(act: () => void): void {
    if (this.#isFull && !this.#isClosed) this.#waiting.push(act);
    else act();
  }

  /** Closes it with a code and as much of the reason as fits. One who does not read is not waited for for ever. */
  close(code: number, reason: string): void {
    if (this.#isClosed) return;
    this.#writer.flush();
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
