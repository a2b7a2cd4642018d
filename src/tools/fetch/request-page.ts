/**
 * Requests a page: follows redirects, decompresses the body and enforces limits. Each URL is checked, and the request
 * connects to the checked addresses.
 *
 * Invariant: the socket is closed when the call returns or throws.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { pipeline, Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { LoomError } from "../../protocol/index.ts";
import { checkUrl, type UrlRules } from "./check-url.ts";
import { isRedirect, openExchange } from "./open-exchange.ts";

export interface PageRequest {
  readonly url: string;
  readonly method: string;
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
}

export interface PageRequestLimits {
  /** Maximum size after decompression, in bytes; the rest is truncated. */
  readonly maxBytes: number;
  /** Code `url_refused`. */
  readonly maxRedirects: number;
  readonly userAgent: string;
}

export interface FetchedPage {
  /** URL after redirects. */
  readonly url: string;
  readonly status: number;
  readonly contentType: string;
  readonly bytes: Buffer;
  readonly isCut: boolean;
  readonly redirects: number;
}

export async function requestPage(
  first: PageRequest,
  rules: UrlRules,
  limits: PageRequestLimits,
  signal: AbortSignal,
): Promise<FetchedPage> {
  let request = first;
  for (let redirects = 0; ; redirects += 1) {
    if (redirects > limits.maxRedirects)
      throw new LoomError("url_refused", `The page redirects more than ${limits.maxRedirects} times`);
    const checked = await checkUrl(request.url, rules, signal);
    const { method, body, contentType } = request;
    const response = await openExchange(
      checked,
      { method, headers: describeHeaders(limits), body, contentType },
      signal,
    );
    try {
      const status = response.statusCode ?? 0;
      const { location } = response.headers;
      if (!isRedirect(status) || location === undefined) {
        const { bytes, isCut } =
          request.method === "HEAD" ? NO_BODY : await readBody(response, limits.maxBytes, signal);
        const { "content-type": type = "" } = response.headers;
        return { url: checked.url.href, status, contentType: type, bytes, isCut, redirects };
      }
      request = follow(request, status, location, checked.url);
    } finally {
      response.destroy();
    }
  }
}

function describeHeaders({ userAgent }: PageRequestLimits): { readonly [name: string]: string } {
  return {
    accept: "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5",
    "accept-encoding": "gzip, br, deflate",
    "user-agent": userAgent,
  };
}

const NO_BODY = { bytes: Buffer.alloc(0), isCut: false };

/** Follows redirects as browsers do: the body is only sent again for status 307 and 308. */
function follow(request: PageRequest, status: number, location: string, base: URL): PageRequest {
  const url = URL.parse(location, base.href);
  if (url === null) throw new LoomError("tool_failed", "The server redirects to an invalid URL");
  const isSafe = request.method === "GET" || request.method === "HEAD";
  if (isSafe) return { ...request, url: url.href };
  if (status !== 307 && status !== 308) return { url: url.href, method: "GET" };
  // The user approved the request only for this host.
  if (url.host !== base.host || (base.protocol === "https:" && url.protocol !== "https:"))
    throw new LoomError(
      "url_refused",
      `${base.host} redirects the ${request.method} request to ${url.host.slice(0, 200)}; it was not sent there`,
    );
  return { ...request, url: url.href };
}

/** Reads and decompresses the body, and stops at `maxBytes`. */
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
      : new LoomError("tool_failed", "The connection closed before the response was complete", {}, { cause: error });
  } finally {
    body.destroy();
  }
  return { bytes: Buffer.concat(chunks), isCut };
}

/** A compressed body can be this much longer than its content. */
const SLACK_BYTES = 64 * 1024;

async function decompress(response: IncomingMessage, maxBytes: number): Promise<Readable> {
  const coding = (response.headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (coding === "" || coding === "identity") return response;
  const make = DECODERS[coding];
  if (make === undefined) throw new LoomError("tool_failed", "The response has an unsupported content encoding");
  const chunks = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const first = await chunks.next();
  // Servers often declare a compression for an empty body.
  if (first.done === true) return Readable.from([]);
  const compressed = async function* (): AsyncGenerator<Buffer> {
    let sent = 0;
    for (let step: IteratorResult<Buffer> = first; step.done !== true; step = await chunks.next()) {
      sent += step.value.length;
      // Also limits a compressed body that never expands.
      if (sent > maxBytes + SLACK_BYTES) throw new LoomError("tool_failed", "The response is too long");
      yield step.value;
    }
  };
  // An error in either stream destroys both, and is thrown while the body is read.
  return pipeline(compressed, make(first.value), () => undefined);
}

const DECODERS: { readonly [coding: string]: ((first: Buffer) => Readable & NodeJS.WritableStream) | undefined } = {
  __proto__: null as never,
  gzip: () => createGunzip(),
  "x-gzip": () => createGunzip(),
  br: () => createBrotliDecompress(),
  // Both raw deflate and zlib are in use under this name.
  deflate: (first) => (hasZlibHeader(first) ? createInflate() : createInflateRaw()),
};

function hasZlibHeader([method = 0, flags]: Buffer): boolean {
  return (method & 0x8f) === 0x08 && (flags === undefined || (method * 256 + flags) % 31 === 0);
}
