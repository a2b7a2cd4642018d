/** How much of everything a server takes, and how long it waits. Every limit has an option here and a code. */
import type { StreamLimits } from "./streams/reader.ts";
import { MAX_FRAME_BYTES } from "./streams/stream-place.ts";

export interface ServerLimits extends StreamLimits {
  /** Bytes of the body of a request in JSON. Code `body_too_large`. */
  readonly maxBodyBytes: number;
  /** Characters of one message of a WebSocket. Code `invalid_control`; longer ones than four times this end the socket. */
  readonly maxInboundLength: number;
  /** Bytes on their way to one reader; then it is full. */
  readonly maxOutboundBytes: number;
  /** Streams on one control socket. Code `too_many_subscriptions`. */
  readonly maxSubscriptions: number;
  /** WebSockets in all. Code `too_many_open`. */
  readonly maxSockets: number;
  /** Bytes of one blob, and of all blobs of a session. Codes `blob_too_large`, `blobs_full`. */
  readonly maxBlobBytes: number;
  readonly maxSessionBlobBytes: number;
  /** Bytes of a whole ingest. Code `body_too_large`. */
  readonly maxIngestBytes: number;
  /** A sign of life in streams and on control sockets when nothing else is sent; 0: none. */
  readonly heartbeatMs: number;
  /** Between two pings of a WebSocket; one that does not answer until the next is gone. 0: none. */
  readonly pingMs: number;
  /** How long a command is waited for before the answer says that it waits. */
  readonly commandTimeoutMs: number;
  /** How long runs may go on when the server stops. */
  readonly graceMs: number;
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
  maxOutboundBytes: 1024 * 1024,
  maxSubscriptions: 100,
  maxSockets: 10_000,
  maxBlobBytes: 32 * 1024 * 1024,
  maxSessionBlobBytes: 256 * 1024 * 1024,
  maxIngestBytes: 64 * 1024 * 1024,
  heartbeatMs: 15_000,
  pingMs: 25_000,
  commandTimeoutMs: 10_000,
  graceMs: 10_000,
};
