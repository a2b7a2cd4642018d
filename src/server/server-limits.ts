/** How much of everything a server takes, and how long it waits. Every limit has an option here and a code. */
import { describeValue, LoomError } from "../protocol/index.ts";
import type { StreamLimits } from "./streams/reader.ts";
import { MAX_FRAME_BYTES } from "./streams/stream-place.ts";

export interface ServerLimits extends StreamLimits {
  /** Bytes of the body of a request in JSON. Code `body_too_large`. */
  readonly maxBodyBytes: number;
  /**
   * Characters of one message of a WebSocket. Code `invalid_control`, on the socket of 004 `body_too_large`; longer ones
   * than four times this end the socket.
   */
  readonly maxInboundLength: number;
  /**
   * Of a WebSocket: fragments of one message, pieces that one frame may come in, and messages that may come at once. More
   * end the socket with 1008.
   */
  readonly maxInboundPieces: number;
  /** Bytes on their way to one reader; then it is full. */
  readonly maxOutboundBytes: number;
  /** Streams on one control socket. Code `too_many_subscriptions`. */
  readonly maxSubscriptions: number;
  /** WebSockets in all. Code `too_many_open`. */
  readonly maxSockets: number;
  /** Bytes of one blob, and of all blobs of a session. Codes `blob_too_large`, `blobs_full`. */
  readonly maxBlobBytes: number;
  readonly maxSessionBlobBytes: number;
  /** Bytes of an image of elsewhere, how many are fetched at once, and how long one may take. Code `image_refused`. */
  readonly maxImageBytes: number;
  readonly maxImages: number;
  readonly imageTimeoutMs: number;
  /** Bytes of a document for the knowledge base, which may allow less itself. Code `document_too_large`. */
  readonly maxDocumentBytes: number;
  /** Bytes of a whole ingest. Code `body_too_large`. */
  readonly maxIngestBytes: number;
  /** How long the sender of an ingest may be silent; 0: as long as it likes. Code `request_timeout`. */
  readonly ingestIdleMs: number;
  /** A sign of life in streams and on control sockets when nothing else is sent; 0: none. */
  readonly heartbeatMs: number;
  /** Between two pings of a WebSocket; one that does not answer until the next is gone. 0: none. */
  readonly pingMs: number;
  /** How long a command is waited for before the answer says that it waits. */
  readonly commandTimeoutMs: number;
  /** How long runs may go on when the server stops. */
  readonly graceMs: number;
  /** How long the body of a request in JSON may take to come, and the sender of a blob be silent. Code `request_timeout`. */
  readonly bodyTimeoutMs: number;
  /** Of a server of its own: how long the head of a request may take to come, and how many bytes it has. */
  readonly headersTimeoutMs: number;
  readonly maxHeaderBytes: number;
  /** Of a server of its own: how long a connection without a request is kept; longer than proxies keep theirs. */
  readonly keepAliveMs: number;
  /** Of a server of its own: connections in all; the next are not taken. */
  readonly maxConnections: number;
  /** Of a server of its own: how long connections may take to end when it stops, after the runs. */
  readonly closeMs: number;
}

export const SERVER_LIMITS: ServerLimits = {
  maxFrameBytes: MAX_FRAME_BYTES,
  maxLagBytes: 1024 * 1024,
  maxStallMs: 60_000,
  maxSharedBytes: 1024 * 1024,
  lingerMs: 10_000,
  maxCatchUps: 32,
  maxReaders: 10_000,
  maxBodyBytes: 256 * 1024,
  maxInboundLength: 64 * 1024,
  maxInboundPieces: 4096,
  maxOutboundBytes: 1024 * 1024,
  maxSubscriptions: 100,
  maxSockets: 10_000,
  maxBlobBytes: 32 * 1024 * 1024,
  maxSessionBlobBytes: 256 * 1024 * 1024,
  maxImageBytes: 10 * 1024 * 1024,
  maxImages: 8,
  imageTimeoutMs: 15_000,
  maxDocumentBytes: 10 * 1024 * 1024,
  maxIngestBytes: 64 * 1024 * 1024,
  ingestIdleMs: 5 * 60_000,
  heartbeatMs: 15_000,
  pingMs: 25_000,
  commandTimeoutMs: 10_000,
  graceMs: 10_000,
  bodyTimeoutMs: 30_000,
  headersTimeoutMs: 10_000,
  maxHeaderBytes: 16 * 1024,
  keepAliveMs: 65_000,
  maxConnections: 20_000,
  closeMs: 2_000,
};

/** Those that are given, the others by default. Throws `invalid_arguments` by name. */
export function readLimits(given: Partial<ServerLimits> = {}): ServerLimits {
  const limits: { -readonly [name in keyof ServerLimits]: number } = { ...SERVER_LIMITS };
  for (const [name, value] of Object.entries(given) as [keyof ServerLimits, unknown][]) {
    if (value === undefined) continue;
    if (!Object.hasOwn(SERVER_LIMITS, name))
      throw new LoomError("invalid_arguments", `there is no limit \`${name.slice(0, 60)}\``);
    const least = MAY_BE_ZERO.has(name) ? 0 : 1;
    if (!Number.isSafeInteger(value) || (value as number) < least) {
      const form = `a whole number from ${least} on, not ${describeValue(value)}`;
      throw new LoomError("invalid_arguments", `\`limits.${name}\` must be ${form}`);
    }
    limits[name] = value as number;
  }
  return limits;
}

const MAY_BE_ZERO: ReadonlySet<keyof ServerLimits> = new Set([
  "heartbeatMs",
  "pingMs",
  "ingestIdleMs",
  "commandTimeoutMs",
  "graceMs",
  "closeMs",
  "lingerMs",
  "maxSharedBytes",
]);
