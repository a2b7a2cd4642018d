/**
 * Fetches an image from the web on behalf of a client: https only, public addresses only, also for redirects. No
 * headers of the client are forwarded.
 *
 * Invariant: a returned image is complete, within the size limit, and starts like a raster image.
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { type ErrorCode, isLoomError, LoomError } from "../../protocol/index.ts";
import type { ResolveHost } from "./check-url.ts";
import { followRedirects } from "./follow-redirects.ts";
import type { OpenExchange } from "./open-exchange.ts";
import { IMAGE_TYPES, sniffImage } from "./sniff-image.ts";

export interface FetchImageOptions {
  /** Maximum size in bytes. Default: 10 MiB. Reason `too_large`. */
  readonly maxBytes?: number;
  /** Maximum number of redirects. Default: 3. Reason `url_refused`. */
  readonly maxRedirects?: number;
  /** Time limit for the whole fetch, including DNS, in milliseconds. Default: 15,000. Reason `timeout`. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** Returns all addresses of a host name. Default: the resolver of the system. */
  readonly resolve?: ResolveHost;
  /** Replaces the HTTP client in tests. */
  readonly exchange?: OpenExchange;
}

export interface FetchedImage {
  /** Detected from the bytes, not from the response header. */
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** Why an image was refused: `details.reason` of `image_refused`. */
export type ImageRefusalReason = "url_refused" | "too_large" | "not_an_image" | "unreachable" | "timeout";

const HEADERS = {
  accept: "image/avif, image/webp, image/png, image/jpeg, image/gif",
  // Images do not profit from compression, and a compressed body could be a decompression bomb.
  "accept-encoding": "identity",
  "user-agent": "loom-agent",
};
const NEVER = new AbortController().signal;

/** Fetches an image. Throws `image_refused` with a reason, or the reason of the signal. */
export async function fetchImage(url: string, options: FetchImageOptions = {}): Promise<FetchedImage> {
  const { maxBytes = 10 * 1024 * 1024, maxRedirects = 3, timeoutMs = 15_000, signal = NEVER } = options;
  const rules = { ports: [443], httpsOnly: true, resolve: options.resolve };
  const following = { headers: HEADERS, maxRedirects, timeoutMs, noun: "image", exchange: options.exchange };
  try {
    return await followRedirects({ url, method: "GET" }, rules, following, signal, async ({ response, status }) =>
      readImage(response, status, maxBytes),
    );
  } catch (error) {
    signal.throwIfAborted();
    throw toRefusal(error);
  }
}

async function readImage(response: IncomingMessage, status: number, maxBytes: number): Promise<FetchedImage> {
  const {
    "content-type": type = "",
    "content-length": length,
    "content-encoding": coding = "identity",
  } = response.headers;
  if (status !== 200) throw refuse("unreachable", `The server responded with status ${status}`);
  const declared = (type.split(";", 1)[0] ?? "").trim().toLowerCase();
  if (!IMAGE_TYPES.has(declared === "image/jpg" ? "image/jpeg" : declared))
    throw refuse("not_an_image", "The response is not an image of a supported type");
  if (coding.trim().toLowerCase() !== "identity")
    throw refuse("not_an_image", "The image is compressed, which is not supported");
  if (Number(length ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    // Stops early if the data does not start like an image.
    if (size >= 16 && size - chunk.length < 16) assertImage(Buffer.concat([...chunks, chunk]));
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  return { mediaType: assertImage(bytes), bytes };
}

function assertImage(bytes: Uint8Array): string {
  const mediaType = sniffImage(bytes);
  if (mediaType === undefined) throw refuse("not_an_image", "The data is not an image of a supported type");
  return mediaType;
}

function tooLarge(limit: number): LoomError {
  return refuse("too_large", `The image is larger than ${limit} bytes`, { limit });
}

function refuse(
  reason: ImageRefusalReason,
  message: string,
  more: { readonly [name: string]: number } = {},
): LoomError {
  return new LoomError("image_refused", message, { reason, ...more });
}

const REASONS: { readonly [code in ErrorCode]?: ImageRefusalReason } = {
  url_refused: "url_refused",
  tool_failed: "unreachable",
  tool_timeout: "timeout",
};

function toRefusal(error: unknown): LoomError {
  if (isLoomError(error, "image_refused")) return error;
  const reason = isLoomError(error) ? REASONS[error.code] : undefined;
  const message =
    isLoomError(error) && reason !== undefined
      ? error.message
      : "The connection closed before the response was complete";
  return new LoomError("image_refused", message, { reason: reason ?? "unreachable" }, { cause: error });
}
