/**
 * Streams the frames of a session over HTTP, in the framing selected by the `Accept` header. Errors before the first
 * byte are thrown and become error responses.
 */
import type { Framing } from "../../framing/detect-framing.ts";
import { assertCursorOf, isRead, parseCursor } from "../../log/cursor.ts";
import type { ApiCall } from "../api/operation.ts";
import { streamResponse, type StreamResponseOptions } from "../streams/stream-response.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { ReadRequest, StreamReader } from "../streams/stream-reader.ts";
import { readCursor, readStreamSelection } from "../streams/stream-selection.ts";
import { nameRun, runPath } from "./resource-paths.ts";
import { chooseMediaType, type OfferedFormat } from "./choose-media-type.ts";
import { findSession } from "./find-session.ts";

/** The part of a call that a stream needs. */
type StreamCall = Pick<ApiCall<"Empty", "Empty">, "request" | "caller" | "node" | "signal">;

export const STREAM_TYPES: readonly string[] = ["text/event-stream", "application/x-ndjson"];

export const CURSOR_HEADERS = {
  "Last-Event-ID":
    "Resume after this frame: the `id` of the last received server-sent event; takes precedence over `after`",
} as const;

const SSE: OfferedFormat<Framing> = { format: "sse", mediaTypes: ["text/event-stream"] };
const NDJSON: OfferedFormat<Framing> = {
  format: "ndjson",
  mediaTypes: ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"],
};
const JSON_BODY: OfferedFormat<"json"> = { format: "json", mediaTypes: ["application/json"] };

/** For endpoints that always stream. */
export function readFraming(request: Request): Framing {
  return chooseMediaType<Framing>(request.headers.get("accept"), [SSE, NDJSON]);
}

/** For endpoints that stream on request and respond with JSON otherwise. */
export function readFramingOrJson(request: Request): Framing | "json" {
  return chooseMediaType<Framing | "json">(request.headers.get("accept"), [JSON_BODY, SSE, NDJSON]);
}

/** Returns undefined if the header is absent or empty: browsers send none before the first event. */
export function readLastEventId(request: Request): string | undefined {
  const id = request.headers.get("last-event-id") ?? "";
  return id === "" ? undefined : id;
}

export interface SendStreamOptions extends Pick<StreamResponseOptions, "framing" | "isCutHard" | "headers"> {
  /** Changes what the client receives. Default: the frames as they are. A rejection becomes an error response. */
  readonly adapt?: (reader: StreamReader) => StreamReader | Promise<StreamReader>;
}

/**
 * Opens a reader of a session, which ends when the caller loses the permission to read it. Returns undefined if the client
 * has disconnected.
 */
export function openReader(
  { streams, access }: Pick<ServerCore, "streams" | "access">,
  { caller, signal }: Pick<StreamCall, "caller" | "signal">,
  session: string,
  request: Omit<ReadRequest, "signal" | "lease">,
): Promise<StreamReader | undefined> {
  const lease: ReadRequest["lease"] =
    caller.principal.kind === "local" ? undefined : (onEnd) => access.watch(caller, session, onEnd);
  return streams.open(session, { ...request, signal, lease });
}

/**
 * Streams a session. The stream is cut when the caller loses the permission to read it; a new request then gets the
 * reason.
 */
export async function sendStream(
  core: ServerCore,
  { node, ...call }: Omit<StreamCall, "request">,
  session: string,
  request: Omit<ReadRequest, "transport" | "signal" | "lease">,
  { adapt = (reader) => reader, ...options }: SendStreamOptions,
): Promise<Response> {
  const reader = await openReader(core, call, session, { ...request, transport: "http" });
  // The client has disconnected.
  if (reader === undefined) return new Response(null, { status: 499 });
  const { heartbeatMs, maxOutboundBytes } = core.limits;
  return streamResponse(await adapt(reader), { ...options, outgoing: node.outgoing, heartbeatMs, maxOutboundBytes });
}

/** A run that a request started. */
export interface RequestedRun {
  readonly session: string;
  readonly run: string;
  /** Id of the command. */
  readonly key: string;
}

/**
 * Streams one run until it ends, and waits for a queued one to start. If it never starts, the stream is cut, because no
 * frame can say so; repeating the request with the same key returns the reason.
 */
export function sendRun(
  core: ServerCore,
  call: StreamCall,
  { session, run, key }: RequestedRun,
  view: Pick<ReadRequest, "dialect" | "modes" | "strict" | "onLeave">,
  options: Pick<SendStreamOptions, "framing" | "isCutHard">,
): Promise<Response> {
  const after = readLastEventId(call.request);
  const headers = { ...nameRun({ session, run }), "content-location": runPath(core, session, run) };
  return sendStream(core, call, session, { ...view, after, run, command: key, follow: true }, { ...options, headers });
}

/**
 * Validates dialect, modes and cursor before the run is started, so that a rejected request starts nothing. A cursor
 * must belong to the current session.
 */
export async function assertStreamOptions(
  { log }: Pick<ServerCore, "log">,
  session: string,
  view: Pick<ReadRequest, "dialect" | "modes" | "strict">,
  request: Request,
): Promise<void> {
  const selection = readStreamSelection({ ...view, after: readLastEventId(request) });
  if (selection.cursor === undefined) return;
  const encoderOptions = { strict: view.strict === true };
  const position = readCursor(selection.cursor, { ...selection, encoderOptions });
  assertCursorOf(session, (await findSession(log, session)).incarnation, position);
}

/** True if the run has ended and the cursor is at or after its last frame. */
export async function isRunRead({ log }: ServerCore, session: string, run: string, cursor: string): Promise<boolean> {
  const info = await log.getRun(session, run);
  return info?.lastId !== undefined && isRead(parseCursor(cursor), info.lastId);
}
