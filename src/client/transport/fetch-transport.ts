/**
 * The HTTP transport: each stream is one request, as server-sent events or NDJSON; each command is one POST. It does
 * not read events; frames are passed on as text.
 *
 * A frame that is cut off by the end of the connection is not delivered, and the stream counts as lost. NDJSON carries
 * no cursors, so streams resume by frame count or record number.
 */
import { createNdjsonDecoder, createSseDecoder, type FrameDecoder, type FrameOutcome } from "../../framing/index.ts";
import type { Framing } from "../../framing/detect-framing.ts";
import { decodeDown } from "../../protocol/control/index.ts";
import { parseJson, parseObject } from "../../protocol/json.ts";
import type {
  ClientCommand,
  CommandResult,
  FrameSink,
  Refusal,
  StreamOutcome,
  StreamRequest,
  Transport,
} from "../transport.ts";
import {
  COMMAND_TIMEOUT_MS,
  encodeCommand,
  createTimedOutCommand,
  createLostCommand,
  MAX_COMMAND_LENGTH,
  readCommandResult,
} from "./command-frames.ts";
import { explainFailure } from "./find-access-refusal.ts";
import { isTemporaryStatus, readMediaType, readRetryAfter, readText } from "./http-response.ts";
import { CLOSED, readRefusal, refuse, refuseForeign } from "./refusal.ts";
import { type ClientToken, createAuthorization } from "./client-token.ts";
import { untilAborted } from "../../protocol/until-aborted.ts";

/** Options of `createFetchTransport`. */
export interface FetchTransportOptions {
  /** Base URL of the server, without `/v1`. */
  readonly url: string;
  /** Wire format. Default: `sse`. */
  readonly framing?: Framing;
  /** Replaces the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Returns additional headers. Called before every request. */
  readonly headers?: () => HeadersInit | Promise<HeadersInit>;
  /** Token sent in the `Authorization` header. */
  readonly token?: ClientToken;
  /** Whether requests carry cookies, as in `fetch`. Default: that of `fetch`. */
  readonly credentials?: RequestCredentials;
  /** Maximum length of a frame in bytes; longer ones are reported as faults. Default: 8,388,608 (8 MiB). */
  readonly maxLineBytes?: number;
  /** How long to wait for the response to a command, in milliseconds. Default: 15,000. */
  readonly commandTimeoutMs?: number;
  /** Maximum length of a command in characters; longer ones are refused as `invalid_command`. Default: 65,536. */
  readonly maxCommandLength?: number;
}

const MAX_ANSWER_BYTES = 1024 * 1024;
/** Response header with the cursor of the stream's start. */
const CURSOR_HEADER = "loom-cursor";

const FRAMINGS: { readonly [F in Framing]: { readonly accept: string; readonly mediaTypes: readonly string[] } } = {
  sse: { accept: "text/event-stream", mediaTypes: ["text/event-stream"] },
  ndjson: {
    accept: "application/x-ndjson",
    mediaTypes: ["application/x-ndjson", "application/ndjson", "application/jsonl"],
  },
};

/**
 * Creates a transport over HTTP. Throws if `maxLineBytes` is invalid.
 *
 * ```ts
 * const transport = createFetchTransport({ url: "http://127.0.0.1:10338", token: () => getToken() });
 * ```
 */
export function createFetchTransport(options: FetchTransportOptions): Transport {
  const { framing = "sse", fetch: send = (request) => fetch(request), headers, token, credentials } = options;
  const { commandTimeoutMs = COMMAND_TIMEOUT_MS, maxCommandLength = MAX_COMMAND_LENGTH, maxLineBytes } = options;
  const limits = maxLineBytes === undefined ? {} : { maxLineBytes };
  const createDecoder = (): FrameDecoder =>
    framing === "sse" ? createSseDecoder(limits) : createNdjsonDecoder(limits);
  createDecoder(); // Throws now if a limit is invalid, instead of with the first stream.
  const base = options.url.replace(/\/+$/, "");
  const closing = new AbortController();

  return {
    open(request, sink, signal) {
      const stop = AbortSignal.any([signal, closing.signal]);
      if (closing.signal.aborted) return Promise.resolve(signal.aborted ? ABORTED : CLOSED);
      return untilAborted(readStream(request, sink, stop), stop, () => ABORTED);
    },

    send(command, signal) {
      if (closing.signal.aborted) return Promise.resolve(CLOSED);
      const timeout = new AbortController();
      const timer = setTimeout(() => timeout.abort(), commandTimeoutMs);
      const stop = AbortSignal.any([signal, closing.signal, timeout.signal]);
      const onAbort = (): CommandResult =>
        timeout.signal.aborted
          ? createTimedOutCommand(commandTimeoutMs)
          : createLostCommand("The command was aborted before it was answered");
      return untilAborted(postCommand(command, stop), stop, onAbort).finally(() => clearTimeout(timer));
    },

    close() {
      closing.abort();
    },
  };

  async function readStream(
    streamRequest: StreamRequest,
    sink: FrameSink,
    signal: AbortSignal,
  ): Promise<StreamOutcome> {
    if (signal.aborted) return ABORTED;
    const path = sessionPath(streamRequest.session);
    if (path === undefined) return rejectSessionName(streamRequest.session);
    const response = await request(
      `${base}${path}/events?${streamQuery(streamRequest)}`,
      {},
      FRAMINGS[framing].accept,
      signal,
    );
    if ("kind" in response) return response;
    if (!response.ok) return readErrorResponse(response, signal);
    const mediaType = readMediaType(response.headers);
    const { body } = response;
    if (body === null) return { kind: "ended" };
    if (signal.aborted || !FRAMINGS[framing].mediaTypes.includes(mediaType)) {
      void body.cancel().catch(() => undefined);
      const what = `The server responded with ${mediaType || "no content type"}; expected ${FRAMINGS[framing].accept}`;
      return refuseForeign(what);
    }
    sink.alive();
    const cursor = response.headers.get(CURSOR_HEADER);
    if (cursor !== null && cursor !== "" && !signal.aborted) sink.begin?.(cursor);
    return readBody(body, createDecoder(), sink, signal);
  }

  async function postCommand(command: ClientCommand, signal: AbortSignal): Promise<CommandResult> {
    if (signal.aborted) return createLostCommand("The command was aborted before it was sent");
    const path = sessionPath(command.session);
    if (path === undefined) return rejectSessionName(command.session);
    const text = encodeCommand(command, maxCommandLength);
    if (typeof text !== "string") return text;
    const init = { method: "POST", body: text };
    const response = await request(`${base}${path}/commands`, init, "application/json", signal);
    if ("kind" in response) return response.kind === "refused" ? response : createLostCommand(response.message);
    const body = await readText(response, MAX_ANSWER_BYTES, signal);
    const what = `The server responded with ${describe(response)}`;
    if (body === undefined)
      return createLostCommand(`${what}, and the response was cut off`, readRetryAfter(response.headers, Date.now()));
    const answer = decodeDown(body);
    if (answer.ok && (answer.frame.type === "ack" || answer.frame.type === "refusal"))
      return readCommandResult(answer.frame);
    const refusal = readRefusal(parseObject(body), what);
    // A 503 from a Loom server describes the server, not the command, so the command can be retried.
    const isTemporary = refusal.isForeign === true ? isTemporaryStatus(response.status) : response.status === 503;
    if (!response.ok && !isTemporary) return refusal;
    return createLostCommand(`${what}, without a result for the command`, readRetryAfter(response.headers, Date.now()));
  }

  /** Returns the response, or why there is none. */
  async function request(
    url: string,
    init: RequestInit,
    accept: string,
    signal: AbortSignal,
  ): Promise<Response | Extract<StreamOutcome, { kind: "lost" }> | Refusal> {
    let given: HeadersInit | undefined;
    let bearer: string | Refusal | undefined;
    try {
      given = await headers?.();
      if (token !== undefined) bearer = await createAuthorization(token);
    } catch (error) {
      // The application may fetch headers or tokens over the network, so a failure here may be temporary.
      return { kind: "lost", message: messageOf(error) };
    }
    if (typeof bearer === "object") return bearer;
    const contentType = init.body === undefined ? undefined : "application/json";
    const own = collectHeaders(given, { accept, authorization: bearer, "content-type": contentType });
    if (own === undefined) return refuse("connection_refused", "Cannot create the request: a header is invalid");
    let prepared: Request;
    try {
      prepared = new Request(url, {
        ...init,
        headers: own,
        cache: "no-store",
        signal,
        ...(credentials !== undefined && { credentials }),
      });
    } catch (error) {
      return refuse("connection_refused", `Cannot create the request: ${messageOf(error)}`);
    }
    try {
      return await send(prepared);
    } catch (error) {
      const lost = { kind: "lost", message: messageOf(error) } as const;
      if (signal.aborted || globalThis.location === undefined) return lost;
      const why = await explainFailure({ ...lost, url: `${base}/v1/`, fetch: send, signal, hasCredentials: true });
      return typeof why === "string" ? { ...lost, message: why } : why;
    }
  }
}

const ABORTED: StreamOutcome = { kind: "aborted" };

/** Returns undefined if a header is invalid. The original error contains the value, which may be a secret. */
function collectHeaders(
  given: HeadersInit | undefined,
  own: { readonly [name: string]: string | undefined },
): Headers | undefined {
  try {
    const headers = new Headers(given);
    for (const [name, value] of Object.entries(own)) if (value !== undefined) headers.set(name, value);
    return headers;
  } catch {
    return undefined;
  }
}

/** Returns undefined for names a URL path cannot contain. Dots have a special meaning even when encoded. */
function sessionPath(session: string): string | undefined {
  if (session === "" || session === "." || session === ".." || !session.isWellFormed()) return undefined;
  return `/v1/sessions/${encodeURIComponent(session)}`;
}

function rejectSessionName(session: string): Refusal {
  return refuse("unsupported", `The session name ${JSON.stringify(session)} cannot be used in a URL; use another name`);
}

function streamQuery({ dialect, modes, from, follow, limit }: StreamRequest): string {
  // The receiver cannot verify the strict form, which a server may send by default.
  const query = new URLSearchParams({ dialect, strict: "0" });
  if (modes !== undefined) query.set("modes", String(modes));
  if (from.after !== undefined) query.set("after", from.after);
  if (from.skip !== undefined && from.skip > 0) query.set("skip", String(from.skip));
  if (from.of !== undefined) query.set("of", from.of);
  if (follow) query.set("follow", "1");
  if (limit !== undefined) query.set("limit", String(limit));
  return query.toString();
}

async function readErrorResponse(response: Response, signal: AbortSignal): Promise<StreamOutcome> {
  const what = `The server responded with ${describe(response)}`;
  const text = await readText(response, MAX_ANSWER_BYTES, signal);
  // Without the full body the reason is unknown, so retry.
  const refusal = text === undefined ? undefined : readRefusal(parseObject(text), what);
  if (refusal !== undefined && !isTemporaryStatus(response.status)) return refusal;
  const retryAfterMs = readRetryAfter(response.headers, Date.now());
  const message = refusal?.message ?? `${what}, and the response was cut off`;
  return { kind: "lost", message, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

async function readBody(
  body: ReadableStream<Uint8Array>,
  decoder: FrameDecoder,
  sink: FrameSink,
  signal: AbortSignal,
): Promise<StreamOutcome> {
  const reader = body.getReader();
  // Ends a pending read for any kind of source.
  const stop = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", stop, { once: true });
  const give = (outcomes: readonly FrameOutcome[]): void => {
    for (const outcome of outcomes) {
      // The sink may abort the stream while taking a frame.
      if (signal.aborted) return;
      if (outcome.ok) sink.frame(outcome.text, outcome.id);
      else sink.fault(outcome.reason, outcome.detail);
    }
  };
  let broken: string | undefined;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (signal.aborted) return ABORTED;
      if (done) break;
      sink.alive();
      give(decoder.push(value));
    }
  } catch (error) {
    broken = messageOf(error);
  } finally {
    signal.removeEventListener("abort", stop);
  }
  const rest = decoder.end();
  const whole = rest.filter((outcome) => outcome.ok && isWhole(outcome.text));
  give(whole);
  if (signal.aborted) return ABORTED;
  if (broken !== undefined) return { kind: "lost", message: broken };
  return whole.length < rest.length ? { kind: "lost", message: "The stream was cut" } : { kind: "ended" };
}

/**
 * Returns true if an unterminated last line is a whole frame: an object, array or string that parses as JSON cannot be
 * a prefix of a longer one.
 */
function isWhole(text: string): boolean {
  return /^[ \t]*[{["]/.test(text) && parseJson(text) !== undefined;
}

function describe({ status, statusText }: Response): string {
  return statusText === "" ? String(status) : `${status} ${statusText}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
