/** Requests a page: follows redirects, decompresses the body and enforces limits. */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { pipeline, Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { LoomError } from "../../protocol/index.ts";
import type { UrlRules } from "./check-url.ts";
import { type FetchRequest, followRedirects } from "./follow-redirects.ts";

export interface PageRequestLimits {
  /** Maximum size after decompression, in bytes; the rest is truncated. */
  readonly maxBytes: number;
  /** Code `url_refused`. */
  readonly maxRedirects: number;
  /** Time limit for the whole fetch, including DNS, in milliseconds. Code `tool_timeout`. */
  readonly timeoutMs: number;
  /** Default: `loom-agent`. */
  readonly userAgent?: string | undefined;
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
  first: FetchRequest,
  rules: UrlRules,
  { maxBytes, maxRedirects, timeoutMs, userAgent = "loom-agent" }: PageRequestLimits,
  signal: AbortSignal,
): Promise<FetchedPage> {
  const headers = {
    accept: "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.5",
    "accept-encoding": "gzip, br, deflate",
    "user-agent": userAgent,
  };
  const options = { headers, maxRedirects, timeoutMs, noun: "page" };
  return followRedirects(first, rules, options, signal, async ({ response, method, ...final }, inner) => {
    const { bytes, isCut } = method === "HEAD" ? NO_BODY : await readBody(response, maxBytes, inner);
    return { ...final, contentType: response.headers["content-type"] ?? "", bytes, isCut };
  });
}

const NO_BODY = { bytes: Buffer.alloc(0), isCut: false };

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
