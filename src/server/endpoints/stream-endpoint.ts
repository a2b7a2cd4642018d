/**
 * How doors over HTTP send a session's frames: a reader from the streams of the server, written as the caller's `Accept`
 * has it. What goes wrong before the first byte is thrown, and so becomes an answer with a code.
 */
import { assertCursorOf } from "../../log/cursor.ts";
import { parseCursor } from "../../log/index.ts";
import type { ApiCall } from "../api/operation.ts";
import { streamResponse } from "../http/stream-response.ts";
import type { ServerCore } from "../server-core.ts";
import type { ReadRequest } from "../streams/reader.ts";
import { readPlace } from "../streams/stream-place.ts";
import { addressOfRun } from "./addresses.ts";
import { chooseMediaType, type OfferedForm } from "./choose-media-type.ts";
import { findSession } from "./find-session.ts";
import type { AskedRun } from "./start-run.ts";

type Framing = "sse" | "ndjson";
/** What a stream needs of a call, whatever its query and body are. */
type StreamCall = Pick<ApiCall<"Nothing", "Nothing">, "request" | "caller" | "node" | "signal">;

export const STREAM_TYPES: readonly string[] = ["text/event-stream", "application/x-ndjson"];

export const PLACE_HEADERS = {
  "Last-Event-ID": "Go on after this frame: the `id` of the last server-sent event that came; goes before `after`",
} as const;

const SSE: OfferedForm<Framing> = { form: "sse", mediaTypes: ["text/event-stream"] };
const NDJSON: OfferedForm<Framing> = {
  form: "ndjson",
  mediaTypes: ["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"],
};
const JSON_BODY: OfferedForm<"json"> = { form: "json", mediaTypes: ["application/json"] };

/** For a door that can only stream. */
export function readFraming(request: Request): Framing {
  return chooseMediaType<Framing>(request.headers.get("accept"), [SSE, NDJSON]);
}

/** For a door that streams where it is asked to, and else answers in JSON. */
export function readFramingOrJson(request: Request): Framing | "json" {
  return chooseMediaType<Framing | "json">(request.headers.get("accept"), [JSON_BODY, SSE, NDJSON]);
}

/** Undefined where the header is absent or empty: browsers send none before the first event. */
export function readLastEventId(request: Request): string | undefined {
  const id = request.headers.get("last-event-id") ?? "";
  return id === "" ? undefined : id;
}

interface SendOptions {
  readonly framing: Framing;
  readonly headers?: { readonly [name: string]: string };
}

/** It breaks off when leave to read the session ends: whoever comes back is told why. */
export async function sendStream(
  core: ServerCore,
  { caller, node, signal }: Omit<StreamCall, "request">,
  session: string,
  asked: Omit<ReadRequest, "transport" | "signal" | "lease">,
  { framing, headers = {} }: SendOptions,
): Promise<Response> {
  const { access } = core;
  const lease: ReadRequest["lease"] = access.isOpen ? undefined : (onEnd) => access.watch(caller, session, onEnd);
  const reader = await core.streams.open(session, { ...asked, transport: "http", signal, lease });
  // Nobody is left to read this.
  if (reader === undefined) return new Response(null, { status: 499 });
  const { heartbeatMs, maxOutboundBytes } = core.limits;
  return streamResponse(reader, { framing, headers, node, heartbeatMs, maxOutboundBytes });
}

/**
 * The stream of one run, to its end. One that waits for its turn is waited for. Where it never begins there is no frame to
 * say so: the stream breaks, and whoever asks again with the same key is told why.
 */
export function sendRun(
  core: ServerCore,
  call: StreamCall,
  { session, run, key }: AskedRun,
  view: Pick<ReadRequest, "dialect" | "modes">,
  framing: Framing,
): Promise<Response> {
  const after = readLastEventId(call.request);
  const headers = {
    "loom-session": encodeURIComponent(session),
    "loom-run": encodeURIComponent(run),
    "content-location": addressOfRun(core, session, run),
  };
  return sendStream(core, call, session, { ...view, after, run, command: key, follow: true }, { framing, headers });
}

/**
 * Throws what is wrong with how a run shall be told, before it is begun: whoever is refused has started nothing. A cursor
 * must be of the session as it is.
 */
export async function assertView(
  { log }: Pick<ServerCore, "log">,
  session: string,
  view: Pick<ReadRequest, "dialect" | "modes">,
  request: Request,
): Promise<void> {
  const { cursor } = readPlace({ ...view, after: readLastEventId(request) });
  if (cursor === undefined) return;
  const place = parseCursor(cursor);
  assertCursorOf(session, (await findSession(log, session)).incarnation, place);
}

/** The run is over, and this cursor is behind its last frame. */
export async function isAllRead({ log }: ServerCore, session: string, run: string, cursor: string): Promise<boolean> {
  const info = await log.getRun(session, run);
  if (info?.lastId === undefined) return false;
  const { eventId, frame } = parseCursor(cursor);
  return eventId > info.lastId || (eventId === info.lastId && frame === undefined);
}
