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
 * - A stream is read as fast as it is taken: one batch at a time.
 * - What goes wrong before the first byte is an answer with a code; afterwards the connection breaks, or ends within a
 *   frame, and never politely, for a polite end means that this is all.
 */
import { encodeNdjson, encodeSse, encodeSseComment } from "../../framing/index.ts";
import type { StreamFrame } from "../../log/index.ts";
import { isCommand, readUp } from "../../protocol/control/index.ts";
import type { StreamMeter } from "../../observe/index.ts";
import { ERROR_CODES, type ErrorCode, isLoomError, LoomError } from "../../protocol/index.ts";
import { carryOut, type CommandHost, refuse } from "../commands/carry-out.ts";
import { meterRefusal, type MeteredStream, meterStream } from "../streams/meter-stream.ts";
import { MAX_FRAME_BYTES, type OpenedStream, openPlace, readPlace } from "../streams/stream-place.ts";

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

interface Written {
  readonly mediaType: string;
  readonly heartbeat: string;
  /** The beginning of a frame. A stream that ends so has not said all. */
  readonly cut: string;
  write(frame: StreamFrame): string;
}

const SSE: Written = {
  mediaType: "text/event-stream",
  heartbeat: encodeSseComment("alive"),
  cut: "data: {",
  write: ({ text, cursor }) => encodeSse({ id: cursor, data: text }),
};

const NDJSON: Written = {
  mediaType: "application/x-ndjson",
  // A blank line, which readers of lines skip.
  heartbeat: "\n",
  cut: "{",
  write: ({ text }) => encodeNdjson(text),
};

export function createEventsHandler(options: EventsHandlerOptions): (request: Request) => Promise<Response> {
  const { base = "" } = options;
  return async (request) => {
    try {
      const url = new URL(request.url);
      const found = readPath(url.pathname, base);
      if (found === undefined) return reject(404, "unsupported", `there is nothing at ${url.pathname.slice(0, 200)}`);
      const { id, door } = found;
      if (door === "events" && request.method === "GET") {
        return await openBody(options, request, url, id).catch((error: unknown) => {
          meterRefusal(options, error);
          throw error;
        });
      }
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
  request: Request,
  { searchParams: asked }: URL,
  session: string,
): Promise<Response> {
  const { log, heartbeatMs = 15_000, onError, maxFrameBytes = MAX_FRAME_BYTES } = options;
  // A browser that connects again asks at the same address: what it has received since tells the header alone.
  const lastEventId = request.headers.get("last-event-id") ?? "";
  const place = readPlace({
    dialect: asked.get("dialect") ?? undefined,
    modes: readNames(asked, "modes"),
    after: lastEventId === "" ? (asked.get("after") ?? undefined) : lastEventId,
    skip: lastEventId === "" ? readCount(asked, "skip") : undefined,
    of: asked.get("of") ?? undefined,
  });
  const limit = readCount(asked, "limit") ?? Number.POSITIVE_INFINITY;
  const follow = readFlag(asked, "follow");
  const written = (request.headers.get("accept") ?? "").includes("ndjson") ? NDJSON : SSE;
  const stop = new AbortController();
  if (request.signal.aborted) stop.abort();
  request.signal.addEventListener("abort", () => stop.abort(), { once: true, signal: stop.signal });
  const opened = await openPlace(log, session, { ...place, follow, maxFrameBytes, signal: stop.signal });
  // Nobody is left to read this.
  if (opened === undefined) return new Response(null, { status: 499 });
  const metered = meterStream(options, opened, { ...place, transport: "http", follow, limit });
  return new Response(createBody(opened, stop, { written, limit, heartbeatMs, onError, metered }), {
    headers: {
      "content-type": written.mediaType,
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "loom-cursor": opened.cursor,
    },
  });
}

interface BodyOptions {
  readonly written: Written;
  readonly limit: number;
  readonly heartbeatMs: number;
  readonly onError: CommandHost["onError"];
  readonly metered: MeteredStream | undefined;
}

/** The text of each batch; ends when so many frames were given. */
async function* createTexts(
  { batches }: OpenedStream,
  { written, limit, onError, metered }: BodyOptions,
): AsyncGenerator<string, void, undefined> {
  let left = limit;
  if (left === 0) return;
  try {
    for await (const batch of batches) {
      const given = batch.slice(0, left);
      left -= given.length;
      metered?.send(given);
      yield given.map((frame) => written.write(frame)).join("");
      if (left <= 0) return;
    }
  } catch (error) {
    if (!isLoomError(error, "frame_too_long")) throw error;
    // A connection that breaks takes with it what is under way. All that went before must arrive, for then the reader
    // asks for this frame first, and is told why it cannot have it.
    onError?.(error);
    metered?.close("error");
    yield written.cut;
  }
}

function createBody(opened: OpenedStream, stop: AbortController, options: BodyOptions): ReadableStream<Uint8Array> {
  const { written, heartbeatMs, onError, metered } = options;
  const texts = createTexts(opened, options);
  const encoder = new TextEncoder();
  let timer: NodeJS.Timeout | undefined;
  let lastWrittenAt = performance.now();
  // However the reader goes; where the stream has ended before, it is told already.
  if (metered !== undefined) stop.signal.addEventListener("abort", () => metered.close("left"), { once: true });
  const finish = (): void => {
    clearInterval(timer);
    stop.abort();
    void opened.close();
  };
  return new ReadableStream<Uint8Array>({
    start(controller) {
      if (heartbeatMs <= 0) return;
      timer = setInterval(() => {
        // Only where the reader has taken everything: a slow one needs no sign of life.
        const isIdle = performance.now() - lastWrittenAt >= heartbeatMs / 2;
        if (!isIdle || (controller.desiredSize ?? 0) <= 0) return;
        lastWrittenAt = performance.now();
        controller.enqueue(encoder.encode(written.heartbeat));
      }, heartbeatMs / 4).unref();
    },
    async pull(controller) {
      try {
        const { done, value } = await texts.next();
        if (done !== true) {
          lastWrittenAt = performance.now();
          controller.enqueue(encoder.encode(value));
          return;
        }
        metered?.close(stop.signal.aborted ? "left" : "end");
        finish();
        controller.close();
      } catch (error) {
        // The reader is told nothing but that it broke.
        if (!stop.signal.aborted) onError?.(error);
        metered?.close(stop.signal.aborted ? "left" : "error");
        finish();
        controller.error(error);
      }
    },
    cancel: finish,
  });
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

const STATUSES: { readonly [code: string]: number } = {
  unknown_session: 404,
  unknown_run: 404,
  unknown_call: 404,
  unknown_todo: 404,
  evicted: 410,
  cursor_stale: 410,
  cursor_ahead: 416,
  run_live: 409,
  run_ended: 409,
  already_answered: 409,
  approval_mismatch: 409,
  command_conflict: 409,
  lease_held: 409,
  inbox_full: 429,
  queue_full: 429,
  backlog_full: 429,
  store_busy: 503,
  store_full: 507,
};

/** 400 for what the asker did wrong, 500 for what we did. */
function statusOf(code: string): number {
  const known = STATUSES[code];
  if (known !== undefined) return known;
  return Object.hasOwn(ERROR_CODES, code) && ERROR_CODES[code as ErrorCode] === "validation" ? 400 : 500;
}
