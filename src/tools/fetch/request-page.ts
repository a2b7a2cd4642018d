/**
 * One HTTP exchange after another until there is a page: requests, redirects, decompression, limits. Every URL is judged
 * before it is asked for, and the connection goes to the addresses that were judged. It knows no tool.
 *
 * Invariant: when it is done, whichever way, the socket is closed.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { pipeline, Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { LoomError } from "../../protocol/index.ts";
import { judgeUrl, type UrlRules } from "./judge-url.ts";
import { isRedirect, openExchange } from "./open-exchange.ts";

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
    const { method, body, contentType } = asked;
    const response = await openExchange(
      judged,
      { method, headers: describeHeaders(limits), body, contentType },
      signal,
    );
    try {
      const status = response.statusCode ?? 0;
      const { location } = response.headers;
      if (!isRedirect(status) || location === undefined) {
        const { bytes, isCut } = asked.method === "HEAD" ? NO_BODY : await readBody(response, limits.maxBytes, signal);
        const { "content-type": type = "" } = response.headers;
        return { url: judged.url.href, status, contentType: type, bytes, isCut, redirects };
      }
      asked = follow(asked, status, location, judged.url);
    } finally {
      response.destroy();
    }
  }
}

function describeHeaders({ userAgent }: PageLimits): { readonly [name: string]: string } {
  return {
    accept: "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5",
    "accept-encoding": "gzip, br, deflate",
    "user-agent": userAgent,
  };
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
