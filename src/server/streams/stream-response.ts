/**
 * Sends a stream reader's output as SSE or NDJSON: directly to the connection on Node, otherwise as a web body.
 *
 * The header `loom-cursor` has the cursor at which the stream starts, for clients whose frames contain no cursor.
 */
import type { ServerResponse } from "node:http";
import type { StreamReader } from "./stream-reader.ts";
import { createBody } from "./body-sink.ts";
import { NodeSink, openSocket } from "./node-sink.ts";
import { STREAM_FRAMINGS } from "./stream-framing.ts";

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
