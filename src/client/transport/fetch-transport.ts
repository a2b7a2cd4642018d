/**
 * Streams over HTTP, as server-sent events or NDJSON, one request each; commands as one POST each. It knows no event: a
 * frame is the text between two line ends.
 *
 * A frame that the end of the connection cut in two is not given, and the stream counts as lost: the rest of it comes
 * with the next try. With NDJSON nothing on the wire tells a cursor: whoever resumes counts frames, or knows their ids.
 */
import {
  createNdjsonDecoder,
  createSseDecoder,
  type FrameDecoder,
  type FrameOutcome,
  type Framing,
} from "../../framing/index.ts";
import { decodeDown } from "../../protocol/control/index.ts";
import type {
  ClientCommand,
  CommandOutcome,
  FrameSink,
  Refusal,
  StreamOutcome,
  StreamRequest,
  Transport,
} from "../transport.ts";
import {
  COMMAND_TIMEOUT_MS,
  encodeCommand,
  expireCommand,
  loseCommand,
  MAX_COMMAND_LENGTH,
  readAnswer,
} from "./command-frames.ts";
import { isPassing, readMediaType, readRetryAfter, readText } from "./http-answer.ts";
import { CLOSED, parseJson, readRefusal, refuse, refuseForeign } from "./refusal.ts";
import { type Token, writeBearer } from "./token.ts";
import { untilAborted } from "./until-aborted.ts";

export interface FetchTransportOptions {
  /** The address of the server, up to where `/v1` begins. */
  readonly url: string;
  /** `sse` unless told otherwise. */
  readonly framing?: Framing;
  /** In place of the global one. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Asked before every request. */
  readonly headers?: () => HeadersInit | Promise<HeadersInit>;
  /** What the client is known by, as `Authorization`. */
  readonly token?: Token;
  readonly credentials?: RequestCredentials;
  /** The longest frame; a longer one is a fault. 8 MiB unless told otherwise. */
  readonly maxLineBytes?: number;
  /** How long a command may go unanswered. 15 seconds unless told otherwise. */
  readonly commandTimeoutMs?: number;
  /** Characters of a command; a longer one is refused as `invalid_command`. 65,536 unless told otherwise. */
  readonly maxCommandLength?: number;
}

const MAX_ANSWER_BYTES = 1024 * 1024;
/** Where the stream began. */
const CURSOR_HEADER = "loom-cursor";

const FRAMINGS: { readonly [F in Framing]: { readonly accept: string; readonly mediaTypes: readonly string[] } } = {
  sse: { accept: "text/event-stream", mediaTypes: ["text/event-stream"] },
  ndjson: {
    accept: "application/x-ndjson",
    mediaTypes: ["application/x-ndjson", "application/ndjson", "application/jsonl"],
  },
};

export function createFetchTransport(options: FetchTransportOptions): Transport {
  const { framing = "sse", fetch: send = (request) => fetch(request), headers, token, credentials } = options;
  const { commandTimeoutMs = COMMAND_TIMEOUT_MS, maxCommandLength = MAX_COMMAND_LENGTH, maxLineBytes } = options;
  const limits = maxLineBytes === undefined ? {} : { maxLineBytes };
  const createDecoder = (): FrameDecoder =>
    framing === "sse" ? createSseDecoder(limits) : createNdjsonDecoder(limits);
  createDecoder(); // A limit that cannot work is told to the programmer, not to the first stream.
  const base = options.url.replace(/\/+$/, "");
  const closing = new AbortController();

  return {
    open(request, sink, signal) {
      const stop = AbortSignal.any([signal, closing.signal]);
      if (closing.signal.aborted) return Promise.resolve(signal.aborted ? ABORTED : CLOSED);
      return untilAborted(stop, readStream(request, sink, stop), () => ABORTED);
    },

    send(command, signal) {
      if (closing.signal.aborted) return Promise.resolve(CLOSED);
      const timeout = new AbortController();
      const timer = setTimeout(() => timeout.abort(), commandTimeoutMs);
      const stop = AbortSignal.any([signal, closing.signal, timeout.signal]);
      const unanswered = (): CommandOutcome =>
        timeout.signal.aborted ? expireCommand(commandTimeoutMs) : loseCommand("given up before it was answered");
      return untilAborted(stop, postCommand(command, stop), unanswered).finally(() => clearTimeout(timer));
    },

    close() {
      closing.abort();
    },
  };

  async function readStream(asked: StreamRequest, sink: FrameSink, signal: AbortSignal): Promise<StreamOutcome> {
    if (signal.aborted) return ABORTED;
    const path = sessionPath(asked.session);
    if (path === undefined) return unsayable(asked.session);
    const response = await request(`${base}${path}/events?${streamQuery(asked)}`, {}, FRAMINGS[framing].accept, signal);
    if ("kind" in response) return response;
    if (!response.ok) return judgeStatus(response, signal);
    const mediaType = readMediaType(response.headers);
    const { body } = response;
    if (body === null) return { kind: "ended" };
    if (signal.aborted || !FRAMINGS[framing].mediaTypes.includes(mediaType)) {
      void body.cancel().catch(() => undefined);
      const what = `the server answered with ${mediaType || "no content type"}, not ${FRAMINGS[framing].accept}`;
      return refuseForeign(what);
    }
    sink.alive();
    const cursor = response.headers.get(CURSOR_HEADER);
    if (cursor !== null && cursor !== "" && !signal.aborted) sink.begin?.(cursor);
    return readBody(body, createDecoder(), sink, signal);
  }

  async function postCommand(command: ClientCommand, signal: AbortSignal): Promise<CommandOutcome> {
    if (signal.aborted) return loseCommand("given up before it was sent");
    const path = sessionPath(command.session);
    if (path === undefined) return unsayable(command.session);
    const text = encodeCommand(command, maxCommandLength);
    if (typeof text !== "string") return text;
    const init = { method: "POST", body: text };
    const response = await request(`${base}${path}/commands`, init, "application/json", signal);
    if ("kind" in response) return response.kind === "refused" ? response : loseCommand(response.message);
    const body = await readText(response, MAX_ANSWER_BYTES, signal);
    const what = `the server answered ${describe(response)}`;
    if (body === undefined) return loseCommand(`${what}, and broke off`, readRetryAfter(response.headers, Date.now()));
    const answer = decodeDown(body);
    if (answer.ok && (answer.frame.type === "ack" || answer.frame.type === "refusal")) return readAnswer(answer.frame);
    const refusal = readRefusal(parseJson(body), what);
    // What our server says is said of the command, but for what it says of itself: later.
    const isLater = refusal.isForeign === true ? isPassing(response.status) : response.status === 503;
    if (!response.ok && !isLater) return refusal;
    return loseCommand(`${what}, which says nothing of the command`, readRetryAfter(response.headers, Date.now()));
  }

  /** A response, or why there is none. */
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
      if (token !== undefined) bearer = await writeBearer(token);
    } catch (error) {
      // They may have had to be fetched, too.
      return { kind: "lost", message: messageOf(error) };
    }
    if (typeof bearer === "object") return bearer;
    const contentType = init.body === undefined ? undefined : "application/json";
    const own = collectHeaders(given, { accept, authorization: bearer, "content-type": contentType });
    if (own === undefined) return refuse("connection_refused", "no request could be made: a header cannot be sent");
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
      return refuse("connection_refused", `no request could be made: ${messageOf(error)}`);
    }
    try {
      return await send(prepared);
    } catch (error) {
      return { kind: "lost", message: messageOf(error) };
    }
  }
}

const ABORTED: StreamOutcome = { kind: "aborted" };

/** Undefined where one of them is none: what is said of that has its value in it, which may be a secret. */
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

/** Undefined where the name cannot stand in an address: not even encoded are dots more than dots. */
function sessionPath(session: string): string | undefined {
  if (session === "" || session === "." || session === ".." || !session.isWellFormed()) return undefined;
  return `/v1/sessions/${encodeURIComponent(session)}`;
}

function unsayable(session: string): Refusal {
  return refuse("unsupported", `the session name ${JSON.stringify(session)} cannot stand in an address`);
}

function streamQuery({ dialect, modes, from, follow, limit }: StreamRequest): string {
  const query = new URLSearchParams({ dialect });
  if (modes !== undefined) query.set("modes", String(modes));
  if (from.after !== undefined) query.set("after", from.after);
  if (from.skip !== undefined && from.skip > 0) query.set("skip", String(from.skip));
  if (from.of !== undefined) query.set("of", from.of);
  if (follow) query.set("follow", "1");
  if (limit !== undefined) query.set("limit", String(limit));
  return query.toString();
}

async function judgeStatus(response: Response, signal: AbortSignal): Promise<StreamOutcome> {
  const what = `the server answered ${describe(response)}`;
  const text = await readText(response, MAX_ANSWER_BYTES, signal);
  // Where it broke off, why it refused was lost on the way, and with it whether to ask again.
  const refusal = text === undefined ? undefined : readRefusal(parseJson(text), what);
  if (refusal !== undefined && !isPassing(response.status)) return refusal;
  const retryAfterMs = readRetryAfter(response.headers, Date.now());
  const message = refusal?.message ?? `${what}, and broke off`;
  return { kind: "lost", message, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

async function readBody(
  body: ReadableStream<Uint8Array>,
  decoder: FrameDecoder,
  sink: FrameSink,
  signal: AbortSignal,
): Promise<StreamOutcome> {
  const reader = body.getReader();
  // A read that is under way ends with this, whatever the source.
  const stop = (): void => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", stop, { once: true });
  const give = (outcomes: readonly FrameOutcome[]): void => {
    for (const outcome of outcomes) {
      // Asked for each: taking a frame may make its taker stop.
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
  return whole.length < rest.length ? { kind: "lost", message: "the stream ended within a frame" } : { kind: "ended" };
}

/** Of a last line without its end: no beginning of an object, an array or a string is JSON, so what is JSON is all of it. */
function isWhole(text: string): boolean {
  return /^[ \t]*[{["]/.test(text) && parseJson(text) !== undefined;
}

function describe({ status, statusText }: Response): string {
  return statusText === "" ? String(status) : `${status} ${statusText}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
