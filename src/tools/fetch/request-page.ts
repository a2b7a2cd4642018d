/**
 * One HTTP exchange after another until there is a page: requests, redirects, decompression, limits. Every URL is judged
 * before it is asked for, and the connection goes to the addresses that were judged. It knows no tool.
 *
 * Invariant: when it is done, whichever way, the socket is closed.
 */
import { Buffer } from "node:buffer";
import type { LookupFunction } from "node:net";
import { request as requestHttp, type IncomingMessage, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import { pipeline, Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { LoomError } from "../../protocol/index.ts";
import { type JudgedUrl, judgeUrl, type UrlRules } from "./judge-url.ts";

export interface PageRequest {
  readonly url: string;
  readonly method: string;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
}

export interface PageLimits {
  /** Of the page, decompressed. The rest is cut. */
  readonly maxBytes: number;
  /** Code `url_refused`. */
  readonly maxRedirects: number;
  readonly userAgent: string;
}

export interface Page {
  /** Where the redirects led. */
  readonly url: string;
  readonly status: number;
  readonly contentType: string;
  readonly bytes: Buffer;
  readonly isCut: boolean;
  readonly redirects: number;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export async function requestPage(
  first: PageRequest,
  rules: UrlRules,
  limits: PageLimits,
  signal: AbortSignal,
): Promise<Page> {
  let asked = first;
  for (let redirects = 0; ; redirects += 1) {
    if (redirects > limits.maxRedirects)
      throw new LoomError("url_refused", `There were more than ${limits.maxRedirects} redirects.`);
    const judged = await judgeUrl(asked.url, rules, signal);
    const response = await send(asked, judged, limits, signal);
    try {
      const status = response.statusCode ?? 0;
      const { location } = response.headers;
      if (!REDIRECTS.has(status) || location === undefined) {
        const { bytes, isCut } = asked.method === "HEAD" ? NO_BODY : await readBody(response, limits.maxBytes, signal);
        const contentType = response.headers["content-type"] ?? "";
        return { url: judged.url.href, status, contentType, bytes, isCut, redirects };
      }
      asked = follow(asked, status, location, judged.url);
    } finally {
      response.destroy();
    }
  }
}

const NO_BODY = { bytes: Buffer.alloc(0), isCut: false };

/** As browsers do: what was sent is sent again only where the status says so. */
function follow(asked: PageRequest, status: number, location: string, base: URL): PageRequest {
  const url = URL.parse(location, base.href);
  if (url === null) throw new LoomError("tool_failed", "The server redirects to something that is no URL.");
  const isSafe = asked.method === "GET" || asked.method === "HEAD";
  if (isSafe) return { ...asked, url: url.href };
  if (status !== 307 && status !== 308) return { url: url.href, method: "GET" };
  // Whoever agreed to the request agreed to where it goes.
  if (url.host !== base.host || (base.protocol === "https:" && url.protocol !== "https:"))
    throw new LoomError(
      "url_refused",
      `${base.host} redirects the ${asked.method} to ${url.host.slice(0, 200)}; it was not sent there.`,
    );
  return { ...asked, url: url.href };
}

async function send(
  { method, body, contentType }: PageRequest,
  { url, addresses }: JudgedUrl,
  { userAgent }: PageLimits,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  // Whatever the name means by now, these are the addresses it was judged by.
  const lookup: LookupFunction = (_host, options, callback) => {
    const [one] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else if (one !== undefined) callback(null, one.address, one.family);
  };
  const options: RequestOptions = {
    method,
    lookup,
    signal,
    // A connection of its own: none is kept, and no proxy of the environment comes between.
    agent: false,
    headers: {
      accept: "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5",
      "accept-encoding": "gzip, br, deflate",
      "user-agent": userAgent,
      ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
      ...(body === undefined ? {} : { "content-type": contentType ?? "text/plain; charset=utf-8" }),
    },
  };
  return new Promise((resolve, reject) => {
    const request = url.protocol === "https:" ? requestHttps(url, options) : requestHttp(url, options);
    request.once("response", resolve);
    // A server that changes to another protocol gives no answer and no error.
    request.once("upgrade", (_response, socket) => socket.destroy());
    request.once("close", () => reject(explain(new Error("closed"), url)));
    // Stays on: a request that fails after its answer came must not end the process.
    request.on("error", (error) => reject(signal.aborted ? (signal.reason as Error) : explain(error, url)));
    request.end(body);
  });
}

/** The body without its compression, up to `maxBytes`. What expands is stopped as soon as it is too much. */
async function readBody(
  response: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<{ bytes: Buffer; isCut: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  let isCut = false;
  let body: Readable = response;
  try {
    body = await decompress(response, maxBytes);
    for await (const chunk of body as AsyncIterable<Buffer>) {
      const room = maxBytes - size;
      isCut = chunk.length > room;
      chunks.push(isCut ? chunk.subarray(0, room) : chunk);
      size += Math.min(room, chunk.length);
      if (isCut) break;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof LoomError
      ? error
      : new LoomError("tool_failed", "The answer broke off.", {}, { cause: error });
  } finally {
    body.destroy();
  }
  return { bytes: Buffer.concat(chunks), isCut };
}

/** By how much a compressed body may be longer than what is in it. */
const SLACK_BYTES = 64 * 1024;

async function decompress(response: IncomingMessage, maxBytes: number): Promise<Readable> {
  const coding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (coding === "" || coding === "identity") return response;
  const make = DECODERS[coding];
  if (make === undefined)
    throw new LoomError("tool_failed", "The answer is compressed in a way that is not known here.");
  const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await chunks.next();
  // Nothing, compressed, is often sent as nothing.
  if (first.done === true) return Readable.from([]);
  const compressed = async function* (): AsyncGenerator<Buffer> {
    let sent = 0;
    for (let step: IteratorResult<Buffer> = first; step.done !== true; step = await chunks.next()) {
      sent += step.value.length;
      // A body that never expands must end too.
      if (sent > maxBytes + SLACK_BYTES) throw new LoomError("tool_failed", "The answer is too long.");
      yield step.value;
    }
  };
  // An error of either destroys both, and is thrown where the body is read.
  return pipeline(compressed, make(first.value), () => undefined);
}

const DECODERS: { readonly [coding: string]: ((first: Buffer) => Readable & NodeJS.WritableStream) | undefined } = {
  __proto__: null as never,
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  br: () => createBrotliDecompress(),
  // Two formats go by this name: one with a header, and one without.
  deflate: (first) => (hasZlibHeader(first) ? createInflate() : createInflateRaw()),
};

function hasZlibHeader([method = 0, flags]: Buffer): boolean {
  return (method & 0x8f) === 0x08 && (flags === undefined || (method * 256 + flags) % 31 === 0);
}

function explain(error: Error, url: URL): LoomError {
  const code: unknown = "code" in error ? error.code : undefined;
  const why = typeof code === "string" ? ` (${code})` : "";
  return new LoomError("tool_failed", `${url.host} did not answer${why}.`, {}, { cause: error });
}
