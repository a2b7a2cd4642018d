/**
 * Sizes, counts and timeouts of a server, and their defaults. A request that exceeds a limit gets the error code named
 * with it.
 */
import { DEFAULT_MAX_LINE_BYTES } from "../../framing/frame.ts";
import { acceptInteger, readOptions } from "../../protocol/read-options.ts";

/**
 * The default limit for a frame. Receivers accept lines of `DEFAULT_MAX_LINE_BYTES`, and messages of twice that size,
 * in which JSON escaping can double a frame; 4096 bytes are left for the surrounding fields.
 */
const MAX_FRAME_BYTES = DEFAULT_MAX_LINE_BYTES - 4096;

/** Limits of a server and their defaults. Times are in milliseconds, sizes in bytes unless noted. */
export const SERVER_LIMITS = {
  /** The largest frame in bytes. Code `frame_too_long`. */
  maxFrameBytes: MAX_FRAME_BYTES,
  /**
   * Maximum bytes a stream may advance while a sink is full; the reader is then closed as `slow`. Code `backlog_full`.
   */
  maxLagBytes: 1024 * 1024,
  /** How long a sink may stay full while frames are waiting, in milliseconds; the reader is then closed as `slow`. */
  maxStallMs: 60_000,
  /** Memory in bytes for recent frames of a followed stream, with their encodings, for readers that join or lag. */
  maxSharedBytes: 1024 * 1024,
  /**
   * Memory in bytes for recent frames of all followed streams. Beyond it, the streams that were idle longest drop
   * theirs, and their readers read the log. Default: 256 MiB.
   */
  maxTotalSharedBytes: 256 * 1024 * 1024,
  /** How long a stream without readers is retained for reconnects, in milliseconds. */
  lingerMs: 10_000,
  /** Maximum readers that catch up from the log at the same time; others wait. */
  maxCatchUps: 32,
  /** Maximum open readers. Code `too_many_open`. */
  maxReaders: 10_000,
  /** Size of a JSON request body. Code `body_too_large`. Default: 256 KiB. */
  maxBodyBytes: 256 * 1024,
  /**
   * Size of the JSON body of a message with files in it. A body larger than `maxBodyBytes` counts as an upload. Code
   * `body_too_large`. Default: 8 MiB.
   */
  maxInlineBytes: 8 * 1024 * 1024,
  /**
   * Length of a WebSocket message in characters. Code `invalid_control`, or `body_too_large` on the socket of
   * specification 004. A message more than four times as long closes the socket. On the socket of the Responses API,
   * `maxBodyBytes` applies instead. Default: 65,536.
   */
  maxInboundLength: 64 * 1024,
  /**
   * Fragments of a WebSocket message, TCP chunks of a frame, and messages received at once. A client that exceeds one
   * of them is disconnected with status 1008. Default: 4,096.
   */
  maxInboundPieces: 4096,
  /** Unsent data of one stream; when it is reached, the stream waits for the client. Default: 1 MiB. */
  maxOutboundBytes: 1024 * 1024,
  /** Streams on one control socket, and lanes on one of the Responses API. Code `too_many_subscriptions`. Default: 100. */
  maxSubscriptions: 100,
  /** Open WebSockets. Code `too_many_open`. Default: 10,000. */
  maxSockets: 10_000,
  /** Size of a blob. Code `blob_too_large`. Default: 32 MiB. */
  maxBlobBytes: 32 * 1024 * 1024,
  /** Size of all blobs of a session. Code `blobs_full`. Default: 256 MiB. */
  maxSessionBlobBytes: 256 * 1024 * 1024,
  /** Uploads of blobs at once; more wait. Default: 16. */
  maxUploads: 16,
  /** Uploads of blobs at once for one credential; more wait. Code `too_many_uploads` if too many wait. Default: 4. */
  maxUploadsPerToken: 4,
  /** Forks at once; more wait. Default: 4. */
  maxForks: 4,
  /** Forks at once for one credential; more wait. Code `too_many_forks` if too many wait. Default: 2. */
  maxForksPerToken: 2,
  /** Size of an image fetched from another site. Code `image_refused`. Default: 10 MiB. */
  maxImageBytes: 10 * 1024 * 1024,
  /** Images fetched at once, at most half of them for one credential. More wait for their turn. Default: 8. */
  maxImages: 8,
  /** Time to fetch an image. Code `image_refused`. Default: 15 s. */
  imageTimeoutMs: 15_000,
  /**
   * Size of a document for the knowledge base, which may have a lower limit. Code `document_too_large`. Default: 10
   * MiB.
   */
  maxDocumentBytes: 10 * 1024 * 1024,
  /** Size of an ingested stream. Code `body_too_large`. Default: 64 MiB. */
  maxIngestBytes: 64 * 1024 * 1024,
  /** Time without data from the sender of an ingested stream; 0: unlimited. Code `request_timeout`. Default: 5 min. */
  ingestIdleMs: 5 * 60_000,
  /** Interval of heartbeats on idle streams and control sockets; 0: none. Default: 15 s. */
  heartbeatMs: 15_000,
  /**
   * Interval of WebSocket pings. A client that does not answer before the next ping is disconnected. 0: none. Default:
   * 25 s.
   */
  pingMs: 25_000,
  /** Time to wait for the outcome of a command before the server answers that it is pending. Default: 10 s. */
  commandTimeoutMs: 10_000,
  /**
   * Time in which `/readyz` answers 503 and everything else works, before the server shuts down. Only `startLoomServer`.
   * Default: 0; `loom serve`: 3 s.
   */
  drainMs: 0,
  /** Time that live runs have to finish when the server shuts down. Default: 10 s. */
  graceMs: 10_000,
  /**
   * Time to receive a JSON body, and time without data from the sender of a blob or document. Code `request_timeout`.
   * Default: 30 s.
   */
  bodyTimeoutMs: 30_000,
  /** Total time to receive a blob or document. Code `request_timeout`. Default: 10 min. */
  uploadTimeoutMs: 600_000,
  /** Time to receive the headers of a request. Only `startLoomServer`. Default: 10 s. */
  headersTimeoutMs: 10_000,
  /** Size of the headers of a request. Only `startLoomServer`. Default: 16 KiB. */
  maxHeaderBytes: 16 * 1024,
  /**
   * Time an idle connection stays open; longer than proxies usually keep theirs. Only `startLoomServer`. Default: 65 s.
   */
  keepAliveMs: 65_000,
  /** Open connections; further ones are closed at once. Only `startLoomServer`. Default: 20,000. */
  maxConnections: 20_000,
  /**
   * Time that connections have to end after the runs when the server shuts down. Only `startLoomServer`. Default: 2 s.
   */
  closeMs: 2_000,
};

/** Limits of a server: those of `SERVER_LIMITS`. */
export type ServerLimits = Readonly<typeof SERVER_LIMITS>;

/** Limits of the streams of a server. */
export type StreamLimits = Pick<
  ServerLimits,
  | "maxFrameBytes"
  | "maxLagBytes"
  | "maxStallMs"
  | "maxSharedBytes"
  | "maxTotalSharedBytes"
  | "lingerMs"
  | "maxCatchUps"
  | "maxReaders"
>;

/** Limits that can be 0, which switches something off or waits for nothing. All others are at least 1. */
export const MAY_BE_ZERO: ReadonlySet<string> = new Set<keyof ServerLimits>([
  "heartbeatMs",
  "pingMs",
  "ingestIdleMs",
  "commandTimeoutMs",
  "drainMs",
  "graceMs",
  "closeMs",
  "lingerMs",
  "maxSharedBytes",
  "maxTotalSharedBytes",
]);

/**
 * Completes the given limits with the defaults. Throws `invalid_arguments` with the name of an unknown or invalid
 * limit.
 */
export function readLimits(given: Partial<ServerLimits> = {}): ServerLimits {
  const rules = Object.keys(SERVER_LIMITS).map((name) => [name, acceptInteger(MAY_BE_ZERO.has(name) ? 0 : 1)] as const);
  return { ...SERVER_LIMITS, ...readOptions(Object.fromEntries(rules), given, { path: "limits", noun: "limit" }) };
}
