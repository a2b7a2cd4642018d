/**
 * The answer that a reader's stream is: server-sent events or NDJSON, written to the connection itself where there is one
 * of Node's, and else as a web body. It knows no session and no dialect.
 *
 * The answer bears the cursor of its beginning as `loom-cursor`: frames counted from there are counted in a known place,
 * also where the frames themselves tell none.
 */
import type { NodeBindings } from "../api/operation.ts";
import { SERVER_LIMITS } from "../server-limits.ts";
import type { Reader } from "../streams/reader.ts";
import { createBody } from "./body-sink.ts";
import { NodeSink, openSocket } from "./node-sink.ts";
import { STREAM_FRAMINGS } from "./stream-framing.ts";

export interface StreamResponseOptions {
  readonly framing: "sse" | "ndjson";
  /** Beside those every stream has. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  readonly node?: NodeBindings | undefined;
  /** A sign of life when nothing else is sent; 0: none. */
  readonly heartbeatMs?: number | undefined;
  /** Bytes on their way; then the reader waits. */
  readonly maxOutboundBytes?: number | undefined;
}

/** What a server of Hono on Node takes for: this has been answered. */
const ALREADY_SENT = { "x-hono-already-sent": "true" };

/** Starts the reader. */
export function streamResponse(reader: Reader, options: StreamResponseOptions): Response {
  const { node, heartbeatMs = SERVER_LIMITS.heartbeatMs, maxOutboundBytes = SERVER_LIMITS.maxOutboundBytes } = options;
  const framing = STREAM_FRAMINGS[options.framing];
  const headers = {
    ...options.headers,
    "content-type": framing.mediaType,
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    "loom-cursor": reader.cursor,
  };
  const how = { framing, heartbeatMs, maxOutboundBytes };
  const outgoing = node?.outgoing;
  const socket = outgoing === undefined ? undefined : openSocket(outgoing, headers);
  if (outgoing === undefined || socket === undefined) return new Response(createBody(reader, how), { headers });
  reader.start(new NodeSink(reader, outgoing, socket, how));
  const sent = new Response(null, { headers: ALREADY_SENT });
  // Hono may have put a Response of its own in place of the platform's, which would be written out by what it was made
  // of; once its body was looked at, it is read like any other.
  void sent.body;
  return sent;
}
