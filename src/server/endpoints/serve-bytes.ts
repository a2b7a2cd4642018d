/**
 * Builds the response for an untrusted file, so that a browser never runs, sniffs or frames it. Only safe media types
 * are shown inline; all others are downloads.
 */
import { matchesTag } from "../guard/request-headers.ts";
import { CLOSED_POLICY, SECURITY_HEADERS } from "../guard/security-headers.ts";
import type { ByteRange } from "../blobs/blob-store.ts";

/** Media types that browsers may show inline. */
const INLINE_TYPES: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "image/avif",
  "text/plain",
]);
/** Media types that keep their name but are always downloads. */
const DECLARED_TYPES: ReadonlySet<string> = new Set(["application/pdf"]);

/** Response headers for untrusted files. */
export const UNTRUSTED_FILE_HEADERS: { readonly [name: string]: string } = {
  ...SECURITY_HEADERS,
  "content-security-policy": `sandbox; ${CLOSED_POLICY}`,
};

export interface ServedFile {
  readonly etag: string;
  readonly mediaType: string;
  readonly name: string | undefined;
  readonly bytes: number;
}

/**
 * What a request wants of a file.
 *
 * - `unchanged`: the client already has the current version.
 * - `unsatisfiable`: the range lies outside the file.
 */
export type RequestedContent =
  | { readonly kind: "all" | "unchanged" }
  | { readonly kind: "unsatisfiable" }
  | ({ readonly kind: "part" } & ByteRange);

/** Evaluates `If-None-Match`, `If-Range` and `Range`. */
export function readRequestedContent({ etag, bytes }: ServedFile, headers: Headers): RequestedContent {
  if (matchesTag(headers.get("if-none-match"), etag)) return { kind: "unchanged" };
  const condition = headers.get("if-range");
  // The range belongs to another version of the file.
  if (condition !== null && condition.trim() !== etag) return { kind: "all" };
  return readRange(headers.get("range"), bytes);
}

/** Supports one range. A malformed header or several ranges return the whole file, as HTTP allows. */
function readRange(header: string | null, bytes: number): RequestedContent {
  const [, from = "", to = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "") ?? [];
  if (from === "" && to === "") return { kind: "all" };
  if (from === "") {
    const start = Math.max(0, bytes - Number(to));
    return start < bytes ? { kind: "part", start, end: bytes } : { kind: "unsatisfiable" };
  }
  const start = Number(from);
  const end = to === "" ? bytes : Math.min(bytes, Number(to) + 1);
  if (to !== "" && Number(to) < start) return { kind: "all" };
  return start < bytes ? { kind: "part", start, end } : { kind: "unsatisfiable" };
}

export function serveBytes(
  file: ServedFile,
  requested: Exclude<RequestedContent, { kind: "unsatisfiable" }>,
  body: BodyInit | null,
): Response {
  const { etag, bytes } = file;
  const headers = new Headers({
    ...UNTRUSTED_FILE_HEADERS,
    // A blob never changes, but access to it can: cache it and revalidate each time.
    "cache-control": "private, no-cache",
    etag,
  });
  if (requested.kind === "unchanged") return new Response(null, { status: 304, headers });
  headers.set("accept-ranges", "bytes");
  headers.set("content-type", chooseType(file.mediaType));
  headers.set("content-disposition", chooseDisposition(file));
  const { start, end } = requested.kind === "part" ? requested : { start: 0, end: bytes };
  headers.set("content-length", String(end - start));
  if (requested.kind === "part") headers.set("content-range", `bytes ${start}-${end - 1}/${bytes}`);
  return new Response(body, { status: requested.kind === "part" ? 206 : 200, headers });
}

function chooseType(mediaType: string): string {
  if (mediaType === "text/plain") return "text/plain; charset=utf-8";
  return INLINE_TYPES.has(mediaType) || DECLARED_TYPES.has(mediaType) ? mediaType : "application/octet-stream";
}

function chooseDisposition({ mediaType, name }: ServedFile): string {
  const disposition = INLINE_TYPES.has(mediaType) ? "inline" : "attachment";
  return name === undefined ? disposition : `${disposition}; filename*=UTF-8''${encodeName(name)}`;
}

/** Encodes a file name as RFC 8187 requires, which is stricter than `encodeURIComponent`. */
function encodeName(name: string): string {
  return encodeURIComponent(name).replaceAll(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}
