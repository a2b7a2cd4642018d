/**
 * The doors of one session over HTTP, as a function from Request to Response that any server can mount: its stream as
 * server-sent events or NDJSON, and commands.
 *
 *   GET  /v1/sessions/{id}/events?dialect=&modes=&after=&skip=&of=&follow=&limit=   Accept says which framing
 *   POST /v1/sessions/{id}/commands                                                 one command of the control protocol
 *
 * A stream's answer bears the cursor of its beginning as `loom-cursor`: frames counted from there are counted in a known
 * place, also where the frames themselves tell none. `Last-Event-ID` goes before `after` and `skip`.
 *
 * Invariants:
 * - A stream is read as fast as it is taken.
 * - What goes wrong before the first byte is an answer with a code; afterwards the connection breaks, or ends within a
 *   frame, and never politely, for a polite end means that this is all.
 */
import { isCommand, readUp } from "../../protocol/control/index.ts";
import type { StreamMeter } from "../../observe/index.ts";
import { type ErrorCode, LoomError } from "../../protocol/index.ts";
import { carryOut, type CommandHost, refuse } from "../commands/carry-out.ts";
import { statusOf } from "../http/status-of.ts";
import { streamResponse } from "../http/stream-response.ts";
import { SERVER_LIMITS } from "../server-limits.ts";
import { createStreams } from "../streams/create-streams.ts";
import { meterRefusal } from "../streams/meter-stream.ts";
import type { ReadRequest, Streams } from "../streams/reader.ts";
import { MAX_FRAME_BYTES } from "../streams/stream-place.ts";

export interface EventsHandlerOptions extends CommandHost {
  /** What stands before `/v1`. */
  readonly base?: string;
  /** A sign of life when nothing else is sent; 0: none. */
  readonly heartbeatMs?: number;
  /** Bytes of the body of a command. Code `invalid_command`. */
  readonly maxCommandBytes?: number;
  /** Bytes of one frame of a stream; what a receiver reads, unless told otherwise. Code `frame_too_long`. */
  readonly maxFrameBytes?: number;
  /** Told of every stream: a `MetricsCollector`, say. */
  readonly meter?: StreamMeter | undefined;
}

export function createEventsHandler(options: EventsHandlerOptions): (request: Request) => Promise<Response> {
  const { base = "", log, meter, onError, maxFrameBytes = MAX_FRAME_BYTES } = options;
  // Nobody closes a function: it keeps nothing for those who may come back.
  const limits = { ...SERVER_LIMITS, maxFrameBytes, lingerMs: 0 };
  const streams = createStreams({ log, limits, meter, onError });
  return async (request) => {
    try {
      const url = new URL(request.url);
      const found = readPath(url.pathname, base);
      if (found === undefined) return reject(404, "unsupported", `there is nothing at ${url.pathname.slice(0, 200)}`);
      const { id, door } = found;
      if (door === "events" && request.method === "GET")
        return await openBody(options, streams, request, url.searchParams, id);
      if (door === "commands" && request.method === "POST") return await takeCommand(options, request, id);
      return reject(405, "unsupported", `${request.method} is not for ${door}`, {
        allow: door === "events" ? "GET" : "POST",
      });
    } catch (error) {
      const refusal = refuse(options, error, {});
      return Response.json(refusal, { status: statusOf(refusal.code) });
    }
  };
}

function readPath(path: string, base: string): { readonly id: string; readonly door: string } | undefined {
  if (!path.startsWith(base)) return undefined;
  const [, id, door] = /^\/v1\/sessions\/([^/]+)\/(events|commands)$/.exec(path.slice(base.length)) ?? [];
  if (id === undefined || door === undefined) return undefined;
  try {
    return { id: decodeURIComponent(id), door };
  } catch {
    throw new LoomError("invalid_name", "the name of the session is not well written");
  }
}

async function openBody(
  options: EventsHandlerOptions,
  streams: Streams,
  request: Request,
  asked: URLSearchParams,
  session: string,
): Promise<Response> {
  const { heartbeatMs } = options;
  const reader = await streams.open(session, { ...readAsked(options, request, asked), signal: request.signal });
  // Nobody is left to read this.
  if (reader === undefined) return new Response(null, { status: 499 });
  const framing = (request.headers.get("accept") ?? "").includes("ndjson") ? "ndjson" : "sse";
  return streamResponse(reader, { framing, heartbeatMs });
}

function readAsked(options: EventsHandlerOptions, request: Request, asked: URLSearchParams): ReadRequest {
  // A browser that connects again asks at the same address: what it has received since tells the header alone.
  const lastEventId = request.headers.get("last-event-id") ?? "";
  try {
    return {
      dialect: asked.get("dialect") ?? undefined,
      modes: readNames(asked, "modes"),
      after: lastEventId === "" ? (asked.get("after") ?? undefined) : lastEventId,
      skip: lastEventId === "" ? readCount(asked, "skip") : undefined,
      of: asked.get("of") ?? undefined,
      limit: readCount(asked, "limit"),
      follow: readFlag(asked, "follow"),
      transport: "http",
    };
  } catch (error) {
    meterRefusal(options, error);
    throw error;
  }
}

async function takeCommand(options: EventsHandlerOptions, request: Request, session: string): Promise<Response> {
  const { maxCommandBytes = 64 * 1024 } = options;
  const text = await readBody(request, maxCommandBytes);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new LoomError("invalid_command", "the body is no JSON");
  }
  const decoded = readUp(body);
  if (!decoded.ok) throw new LoomError("invalid_command", decoded.message);
  const { frame } = decoded;
  if (!isCommand(frame)) throw new LoomError("invalid_command", `${frame.type} is no command`);
  if (frame.session !== session) throw new LoomError("invalid_command", "`session` is another than the address says");
  const done = await carryOut(options, frame);
  if (done.type === "refusal") return Response.json(done, { status: statusOf(done.code) });
  return Response.json(done, { status: done.pending === true ? 202 : 200 });
}

async function readBody(request: Request, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new LoomError("invalid_command", `a command has at most ${maxBytes} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function readCount(asked: URLSearchParams, name: string): number | undefined {
  const text = asked.get(name);
  if (text === null || text === "") return undefined;
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  throw new LoomError("cursor_invalid", `\`${name}\` must be a whole number from 0 on, not ${text.slice(0, 40)}`);
}

/** Names with commas between them; none where the text is empty. */
function readNames(asked: URLSearchParams, name: string): readonly string[] | undefined {
  return asked
    .get(name)
    ?.split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function readFlag(asked: URLSearchParams, name: string): boolean {
  const text = asked.get(name);
  return text !== null && text !== "0" && text !== "false";
}

function reject(status: number, code: ErrorCode, message: string, headers: HeadersInit = {}): Response {
  return Response.json({ type: "refusal", code, message }, { status, headers });
}
