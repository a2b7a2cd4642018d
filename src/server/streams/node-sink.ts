/**
 * Writes a stream directly to the connection of a Node server. All readers share the encoded bytes, and all chunks of
 * one event loop turn are written at once.
 *
 * Invariants:
 * - Used only for plain chunked HTTP/1.1 responses with Node's own methods: middleware that replaces them must see the
 *   output.
 * - Buffers at most `maxOutboundBytes` plus one chunk, or what Node buffers anyway.
 */
import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Chunk, ChunkForm } from "./chunk.ts";
import type { StreamReader, ReaderEnd, Sink } from "./stream-reader.ts";
import { TickWriter } from "./tick-writer.ts";
import { type StreamFraming, writeEnd } from "./stream-framing.ts";

export interface NodeSinkOptions {
  readonly framing: StreamFraming;
  readonly heartbeatMs: number;
  readonly maxOutboundBytes: number;
}

/**
 * Sends the response headers and returns the socket; undefined, with nothing sent, if the stream cannot be written
 * directly.
 */
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
  readonly #reader: StreamReader;
  readonly #outgoing: ServerResponse;
  readonly #socket: Socket;
  readonly #writer: TickWriter;
  readonly #form: ChunkForm;
  readonly #maxBytes: number;
  readonly #options: NodeSinkOptions;
  readonly #timer: NodeJS.Timeout | undefined;
  #isAlive = true;
  readonly #onDrain = (): void => this.#reader.resume();
  readonly #onClose = (): void => this.#reader.close();

  constructor(reader: StreamReader, outgoing: ServerResponse, socket: Socket, options: NodeSinkOptions) {
    this.#reader = reader;
    this.#outgoing = outgoing;
    this.#socket = socket;
    this.#writer = new TickWriter(socket);
    this.#form = options.framing.httpForm;
    // A socket emits `drain` only after it was full, and the writer's pending bytes are not in its buffer yet.
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
    return this.#writer.pendingBytes < this.#maxBytes;
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
    else if (last === "") outgoing.end();
    else outgoing.end(last);
  }

  /** Runs twice per heartbeat interval and skips the heartbeat if something was written since the last check. */
  #beat(): void {
    const isNeeded = !this.#isAlive && this.#writer.pendingBytes === 0;
    this.#isAlive = false;
    if (!isNeeded) return;
    this.#isAlive = true;
    const { heartbeat } = this.#options.framing;
    this.#socket.write(`${heartbeat.length.toString(16)}\r\n${heartbeat}\r\n`);
  }
}
