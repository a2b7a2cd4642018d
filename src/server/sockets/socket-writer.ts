/**
 * Writes to one WebSocket. Encoded messages go directly to the underlying socket, so that they are not framed again for
 * each reader.
 *
 * Invariants:
 * - Messages are written whole, in call order, and not after a close. `ws` writes pings and pongs to the same socket;
 *   without compression it buffers nothing, but its control frames may overtake messages held until the end of the
 *   tick.
 * - Everything written in one event loop tick is sent with one write.
 * - When more bytes are pending than the limit, there is no room until all of them are sent.
 */
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { isLoomError } from "../../protocol/index.ts";
import { TickWriter } from "../streams/tick-writer.ts";
import { encodeTextMessage } from "../streams/frame-batch.ts";

/** The longest close reason in bytes; RFC 6455 §5.5. */
const MAX_REASON_BYTES = 123;
/** Close codes of RFC 6455 and its registry. */
export const POLICY_VIOLATION = 1008;
const INTERNAL_ERROR = 1011;
const SERVICE_RESTART = 1012;
const TRY_AGAIN_LATER = 1013;

export interface CloseReason {
  readonly code: number;
  /** An error code, followed by ` after=<cursor>` when the client can resume. */
  readonly reason: string;
}

/** The close reason of an error that clients may not see. */
export const FAILED: CloseReason = { code: INTERNAL_ERROR, reason: "internal_error" };

/** Maps the error that closes a socket to a close code and reason. */
export function describeClose(why: unknown): CloseReason {
  if (!isLoomError(why)) return FAILED;
  const { code, details } = why;
  const { cursor } = details;
  const reason = typeof cursor === "string" && cursor !== "" ? `${code} after=${cursor}` : code;
  if (code === "backlog_full" || code === "store_unavailable" || code === "login_unavailable")
    return { code: TRY_AGAIN_LATER, reason };
  if (code === "shutting_down") return { code: SERVICE_RESTART, reason };
  if (code === "forbidden" || code === "unauthorized") return { code: POLICY_VIOLATION, reason };
  return { code: INTERNAL_ERROR, reason };
}

export class SocketWriter {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  readonly #writer: TickWriter;
  readonly #maxBytes: number;
  #isFull = false;
  #isClosed = false;
  #waiting: (() => void)[] = [];

  constructor(ws: WebSocket, socket: Duplex, maxBytes: number) {
    this.#ws = ws;
    this.#socket = socket;
    this.#writer = new TickWriter(socket, ws);
    // A socket emits `drain` only after a write above its high-water mark, and held bytes are not in its buffer yet.
    this.#maxBytes = Math.max(maxBytes, 2 * socket.writableHighWaterMark);
  }

  get hasRoom(): boolean {
    return !this.#isFull;
  }

  /** Bytes that are not sent yet. */
  get pendingBytes(): number {
    return this.#writer.pendingBytes;
  }

  /** Writes whole messages, as encoded by `encodeTextMessage`. Returns false when there is no more room. */
  write(messages: Buffer): boolean {
    if (this.#isClosed) return true;
    this.#writer.write(messages);
    if (!this.#isFull && this.#writer.pendingBytes > this.#maxBytes) {
      this.#isFull = true;
      this.#socket.once("drain", this.#drained);
    }
    return !this.#isFull;
  }

  writeText(text: string): boolean {
    return this.write(encodeTextMessage(text));
  }

  /** Calls back when there is room or the socket is closed; immediately if that is already so. */
  whenRoom(act: () => void): void {
    if (this.#isFull && !this.#isClosed) this.#waiting.push(act);
    else act();
  }

  /** Closes the socket. A reason that is too long is cut to its first word. */
  close({ code, reason }: CloseReason): void {
    if (this.#isClosed) return;
    this.#writer.flush();
    this.release();
    this.#ws.close(code, Buffer.byteLength(reason) <= MAX_REASON_BYTES ? reason : reason.split(" ", 1)[0]);
  }

  /** Stops writing because the socket is closed or closing. */
  release(): void {
    this.#isClosed = true;
    this.#socket.removeListener("drain", this.#drained);
    this.#notifyWaiting();
  }

  readonly #drained = (): void => {
    this.#isFull = false;
    this.#notifyWaiting();
  };

  #notifyWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const act of waiting) act();
  }
}
