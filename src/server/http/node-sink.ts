/**
 * Writes a stream straight to the connection of a Node server, past everything between: the bytes are those all readers
 * share, and what comes in one turn of the event loop is written in one go.
 *
 * Invariants:
 * - Only on a plain answer of HTTP/1.1 in chunks whose methods are Node's own: where a middleware has put itself between,
 *   it must see what is written.
 * - At most `maxOutboundBytes` and one chunk are on their way, or what Node buffers anyway.
 */
import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Chunk, ChunkForm } from "../streams/chunk.ts";
import type { Reader, ReaderEnd, Sink } from "../streams/reader.ts";
import { TurnWriter } from "../streams/turn-writer.ts";
import { type StreamFraming, writeEnd } from "./stream-framing.ts";

export interface NodeSinkOptions {
  readonly framing: StreamFraming;
  readonly heartbeatMs: number;
  readonly maxOutboundBytes: number;
}

/** Sends the head; undefined, and nothing is sent, where the stream cannot be written this way. */
export function openSocket(outgoing: ServerResponse, headers: { readonly [name: string]: string }): Socket | undefined {
  const { socket } = outgoing;
  const isPlain =
    outgoing.write === ServerResponse.prototype.write &&
    outgoing.end === ServerResponse.prototype.end &&
    outgoing.writeHead === ServerResponse.prototype.writeHead;
  if (!isPlain || socket === null || socket.destroyed || outgoing.headersSent || !mayBeChunked(outgoing))
    return undefined;
  outgoing.writeHead(200, headers);
  outgoing.flushHeaders();
  return socket;
}

function mayBeChunked(outgoing: ServerResponse): boolean {
  if (outgoing.req.method === "HEAD" || outgoing.req.httpVersion !== "1.1") return false;
  return (
    outgoing.useChunkedEncodingByDefault && !outgoing.hasHeader("content-length") && outgoing.req.httpVersionMajor === 1
  );
}

export class NodeSink implements Sink {
  readonly #reader: Reader;
  readonly #outgoing: ServerResponse;
  readonly #socket: Socket;
  readonly #writer: TurnWriter;
  readonly #form: ChunkForm;
  readonly #maxBytes: number;
  readonly #options: NodeSinkOptions;
  readonly #timer: NodeJS.Timeout | undefined;
  #isAlive = true;
  readonly #onDrain = (): void => this.#reader.resume();
  readonly #onClose = (): void => this.#reader.close();

  constructor(reader: Reader, outgoing: ServerResponse, socket: Socket, options: NodeSinkOptions) {
    this.#reader = reader;
    this.#outgoing = outgoing;
    this.#socket = socket;
    this.#writer = new TurnWriter(socket);
    this.#form = options.framing.httpForm;
    // A socket says that it is empty only after it has said that it is full; and what is held is not in it yet.
    this.#maxBytes = Math.max(options.maxOutboundBytes, 2 * socket.writableHighWaterMark);
    this.#options = options;
    socket.on("drain", this.#onDrain);
    outgoing.on("close", this.#onClose);
    const { heartbeatMs } = options;
    if (heartbeatMs > 0) this.#timer = setInterval(() => this.#beat(), heartbeatMs / 2).unref();
  }

  write(chunk: Chunk): boolean {
    this.#isAlive = true;
    this.#writer.write(chunk.bytes(this.#form));
    return this.#writer.size < this.#maxBytes;
  }

  end(end: ReaderEnd): void {
    const outgoing = this.#outgoing;
    clearInterval(this.#timer);
    this.#socket.off("drain", this.#onDrain);
    outgoing.off("close", this.#onClose);
    if (outgoing.destroyed || end.reason === "left") {
      outgoing.destroy();
      return;
    }
    this.#writer.flush();
    const last = writeEnd(this.#options.framing, end);
    if (last === undefined) outgoing.destroy();
    // A client that is about to be told to come back had better not use this connection for it.
    else if (last === "") outgoing.end();
    else outgoing.end(last);
  }

  /** Twice in a heartbeat: what was written since the last time is sign enough. */
  #beat(): void {
    const isNeeded = !this.#isAlive && this.#writer.size === 0;
    this.#isAlive = false;
    if (!isNeeded) return;
    this.#isAlive = true;
    const { heartbeat } = this.#options.framing;
    this.#socket.write(`${heartbeat.length.toString(16)}\r\n${heartbeat}\r\n`);
  }
}
