/**
 * Sends a stream reader's output as SSE or NDJSON: directly to the connection on Node, otherwise as a web body. All readers
 * share the encoded bytes.
 *
 * The header `loom-cursor` has the cursor at which the stream starts, for clients whose frames contain no cursor.
 */
import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { encodeSseComment } from "../../framing/sse.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { FrameBatch, BatchForm } from "./frame-batch.ts";
import type { ReaderEnd, Sink, StreamReader } from "./stream-reader.ts";
import { TickWriter } from "./tick-writer.ts";

/** How SSE and NDJSON bodies are framed. */
interface StreamFraming {
  readonly mediaType: string;
  readonly form: BatchForm;
  /** The same form with HTTP chunk headers. */
  readonly httpForm: BatchForm;
  readonly heartbeat: string;
  /**
   * Beginning of a frame: a body that ends with it is incomplete, so the client reconnects for the rest. Undefined for
   * clients that do not notice it; an incomplete body is then cut off.
   */
  readonly cut: string | undefined;
  /** Reconnection delay for the client, if the framing supports it. */
  readonly retry: string;
}

const STREAM_FRAMINGS: { readonly [name in "sse" | "ndjson"]: StreamFraming } = {
  sse: {
    mediaType: "text/event-stream",
    form: "sse",
    httpForm: "sse-http",
    heartbeat: encodeSseComment("alive"),
    cut: "data: {",
    retry: "retry: 1000\n\n",
  },
  ndjson: {
    mediaType: "application/x-ndjson",
    form: "ndjson",
    httpForm: "ndjson-http",
    // Leading whitespace of the next line. A line break would add an empty line, which is not a frame (001 §3).
    heartbeat: " ",
    cut: "{",
    retry: "",
  },
};

export interface StreamResponseOptions {
  readonly framing: "sse" | "ndjson";
  /** True for clients that take every orderly end of the body for the end of the stream. Default: false. */
  readonly isCutHard?: boolean | undefined;
  /** In addition to the headers of every stream. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** Node's response object, if the server runs on Node. */
  readonly outgoing?: ServerResponse | undefined;
  /** Time without data after which a heartbeat is sent, in milliseconds; 0 for none. */
  readonly heartbeatMs: number;
  /** Buffered bytes at which the reader pauses. */
  readonly maxOutboundBytes: number;
}

interface SinkOptions extends Pick<StreamResponseOptions, "heartbeatMs" | "maxOutboundBytes"> {
  readonly framing: StreamFraming;
}

/** Tells Hono's Node adapter that the response was already sent. */
const ALREADY_SENT = { "x-hono-already-sent": "true" };

/** Starts the reader and returns the response. */
export function streamResponse(reader: StreamReader, options: StreamResponseOptions): Response {
  const { outgoing, heartbeatMs, maxOutboundBytes } = options;
  const usual = STREAM_FRAMINGS[options.framing];
  const framing = options.isCutHard === true ? { ...usual, cut: undefined } : usual;
  const headers = {
    ...options.headers,
    "content-type": framing.mediaType,
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    "loom-cursor": reader.cursor,
  };
  const sinkOptions = { framing, heartbeatMs, maxOutboundBytes };
  const socket = outgoing === undefined ? undefined : openSocket(outgoing, headers);
  if (outgoing === undefined || socket === undefined) return new Response(createBody(reader, sinkOptions), { headers });
  reader.start(new NodeSink(reader, outgoing, socket, sinkOptions));
  const sent = new Response(null, { headers: ALREADY_SENT });
  // Hono may replace the platform's `Response` with one that its adapter writes from the constructor arguments;
  // accessing `body` turns it into a regular response.
  void sent.body;
  return sent;
}

/**
 * Returns the text that ends a body. It is empty after a complete stream, and the beginning of a frame if the client
 * should notice the cut and reconnect. Returns undefined if the connection must be destroyed.
 */
function writeEnd({ cut, retry }: StreamFraming, { reason, error }: ReaderEnd): string | undefined {
  if (reason === "end") return "";
  if (reason === "closing" && cut !== undefined) return `${retry}${cut}`;
  // The client must reconnect at this frame to receive the error.
  return reason === "error" && isLoomError(error, "frame_too_long") ? cut : undefined;
}

/**
 * Returns the stream as the body of a web `Response`, for servers other than Node's and for responses that middleware
 * rewrites. Buffers at most `maxOutboundBytes` plus one batch.
 */
function createBody(reader: StreamReader, options: SinkOptions): ReadableStream<Uint8Array> {
  const { framing, heartbeatMs, maxOutboundBytes } = options;
  const encoder = new TextEncoder();
  let timer: NodeJS.Timeout | undefined;
  let isAlive = true;
  const start = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const hasRoom = (): boolean => (controller.desiredSize ?? 0) > 0;
    const sink: Sink = {
      write(batch: FrameBatch) {
        isAlive = true;
        controller.enqueue(batch.bytes(framing.form));
        return hasRoom();
      },
      end(end: ReaderEnd) {
        clearInterval(timer);
        const last = writeEnd(framing, end);
        if (end.reason === "left") closeQuietly(controller);
        else if (last === undefined) controller.error(end.error ?? new Error("The stream was interrupted"));
        else {
          if (last !== "") controller.enqueue(encoder.encode(last));
          controller.close();
        }
      },
    };
    if (heartbeatMs > 0)
      timer = setInterval(() => {
        // Only if the client has read everything: a slow client does not need a heartbeat.
        const isNeeded = !isAlive && controller.desiredSize === maxOutboundBytes;
        isAlive = isNeeded;
        if (isNeeded) controller.enqueue(encoder.encode(framing.heartbeat));
      }, heartbeatMs / 2).unref();
    reader.start(sink);
  };
  return new ReadableStream<Uint8Array>(
    { start, pull: () => reader.resume(), cancel: () => reader.close() },
    { highWaterMark: maxOutboundBytes, size: ({ length }) => length },
  );
}

/** The stream may already be closed after the client disconnected. */
function closeQuietly(controller: ReadableStreamDefaultController<Uint8Array>): void {
  try {
    controller.close();
  } catch {
    // Already closed.
  }
}

/**
 * Sends the response headers and returns the socket; undefined, with nothing sent, if the stream cannot be written
 * directly.
 */
function openSocket(outgoing: ServerResponse, headers: { readonly [name: string]: string }): Socket | undefined {
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

/**
 * Writes a stream directly to the connection of a Node server: a plain chunked HTTP/1.1 response with Node's own methods,
 * because middleware that replaces them must see the output. All batches of one event loop turn are written at once.
 * Buffers at most `maxOutboundBytes` plus one batch, or what Node buffers anyway.
 */
class NodeSink implements Sink {
  readonly #reader: StreamReader;
  readonly #outgoing: ServerResponse;
  readonly #socket: Socket;
  readonly #writer: TickWriter;
  readonly #form: BatchForm;
  readonly #maxBytes: number;
  readonly #options: SinkOptions;
  readonly #timer: NodeJS.Timeout | undefined;
  #isAlive = true;
  readonly #onDrain = (): void => this.#reader.resume();
  readonly #onClose = (): void => this.#reader.close();

  constructor(reader: StreamReader, outgoing: ServerResponse, socket: Socket, options: SinkOptions) {
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

  write(batch: FrameBatch): boolean {
    this.#isAlive = true;
    this.#writer.write(batch.bytes(this.#form));
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
