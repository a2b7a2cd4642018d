/**
 * Fetches an image from the web for somebody who may not go there: https only, public addresses only, each redirect
 * judged as the first address was, and nothing of whoever asks is sent along. It knows no door.
 *
 * Invariant: what it gives is whole, no longer than it may be, and begins like an image of pixels.
 */
import { Buffer } from "node:buffer";
import { lookup } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { type ErrorCode, isLoomError, LoomError } from "../../protocol/index.ts";
import { judgeUrl, type ResolveHost, type UrlRules } from "./judge-url.ts";
import { isRedirect, openExchange, type OpenExchange } from "./open-exchange.ts";
import { IMAGE_TYPES, sniffImage } from "./sniff-image.ts";
import { withDeadline } from "./with-deadline.ts";

export interface FetchImageOptions {
  /** 10 MiB when absent. Reason `too_large`. */
  readonly maxBytes?: number;
  /** 3 when absent. Reason `url_refused`. */
  readonly maxRedirects?: number;
  /** For everything, from the name to the last byte; 15 seconds when absent. Reason `timeout`. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** All addresses of a name; the system's way when absent. */
  readonly resolve?: ResolveHost;
  /** How a request is sent; for tests. */
  readonly exchange?: OpenExchange;
}

export interface FetchedImage {
  /** As the bytes have it, whatever the server says. */
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** Why there is no image: `details.reason` of `image_refused`. */
export type ImageFault = "url_refused" | "too_large" | "not_an_image" | "unreachable" | "timeout";

const MAX_URL_LENGTH = 4096;
const REQUEST = {
  method: "GET",
  headers: {
    accept: "image/avif, image/webp, image/png, image/jpeg, image/gif",
    // What is packed could be a bomb, and pixels gain nothing by it.
    "accept-encoding": "identity",
    "user-agent": "loom-agent",
  },
};
const NEVER = new AbortController().signal;

/** Throws `image_refused` with a reason, or the reason of the signal. */
export async function fetchImage(url: string, options: FetchImageOptions = {}): Promise<FetchedImage> {
  const { timeoutMs = 15_000, signal = NEVER } = options;
  try {
    return await withDeadline(timeoutMs, signal, async (inner) => followToImage(url, options, inner));
  } catch (error) {
    signal.throwIfAborted();
    throw toRefusal(error);
  }
}

async function followToImage(first: string, options: FetchImageOptions, signal: AbortSignal): Promise<FetchedImage> {
  const { maxBytes = 10 * 1024 * 1024, maxRedirects = 3, exchange = openExchange } = options;
  const resolve = options.resolve ?? (async (host: string) => lookup(host, { all: true, order: "verbatim" }));
  const rules: UrlRules = { allow: [], ports: [443], maxUrlLength: MAX_URL_LENGTH, resolve };
  let address = first;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    if (URL.parse(address)?.protocol !== "https:") throw refuse("url_refused", "Only https addresses are fetched.");
    const judged = await judgeUrl(address, rules, signal);
    const response = await exchange(judged, REQUEST, signal);
    try {
      const status = response.statusCode ?? 0;
      const { location } = response.headers;
      if (!isRedirect(status) || location === undefined) return await readImage(response, status, maxBytes);
      // What is no URL is refused in the next round.
      address = URL.parse(location, judged.url.href)?.href ?? "";
    } finally {
      response.destroy();
    }
  }
  throw refuse("url_refused", `There were more than ${maxRedirects} redirects.`);
}

async function readImage(response: IncomingMessage, status: number, maxBytes: number): Promise<FetchedImage> {
  const {
    "content-type": type = "",
    "content-length": length,
    "content-encoding": coding = "identity",
  } = response.headers;
  if (status !== 200) throw refuse("unreachable", `The server answers with status ${status}.`);
  const said = (type.split(";", 1)[0] ?? "").trim().toLowerCase();
  if (!IMAGE_TYPES.has(said === "image/jpg" ? "image/jpeg" : said))
    throw refuse("not_an_image", "The server does not call it an image of a kind that is shown.");
  if (coding.trim().toLowerCase() !== "identity") throw refuse("not_an_image", "The image is packed.");
  if (Number(length ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    // What does not begin like an image is not read to its end.
    if (size >= 16 && size - chunk.length < 16) assertImage(Buffer.concat([...chunks, chunk]));
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  return { mediaType: assertImage(bytes), bytes };
}

function assertImage(bytes: Uint8Array): string {
  const mediaType = sniffImage(bytes);
  if (mediaType === undefined) throw refuse("not_an_image", "The bytes are not those of an image that is shown.");
  return mediaType;
}

function tooLarge(limit: number): LoomError {
  return refuse("too_large", `The image has more than ${limit} bytes.`, { limit });
}

function refuse(reason: ImageFault, message: string, more: { readonly [name: string]: number } = {}): LoomError {
  return new LoomError("image_refused", message, { reason, ...more });
}

const REASONS: { readonly [code in ErrorCode]?: ImageFault } = {
  url_refused: "url_refused",
  tool_failed: "unreachable",
  tool_timeout: "timeout",
};

function toRefusal(error: unknown): LoomError {
  if (isLoomError(error, "image_refused")) return error;
  const reason = isLoomError(error) ? REASONS[error.code] : undefined;
  const message = isLoomError(error) && reason !== undefined ? error.message : "The answer broke off.";
  return new LoomError("image_refused", message, { reason: reason ?? "unreachable" }, { cause: error });
}
