/**
 * The answer that carries a file somebody else has made: nothing in it is run, guessed or framed, whatever it is, and
 * only what is known to be harmless is shown as what it says it is. It knows no store.
 */
import { CLOSED_POLICY, SECURITY_HEADERS } from "../http/security-headers.ts";
import type { ByteRange } from "./blob-store.ts";

/** What a browser may show by itself; everything else is something to keep. */
const SHOWN: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "image/avif",
  "text/plain",
]);
/** Told by its name, and kept all the same. */
const NAMED: ReadonlySet<string> = new Set(["application/pdf"]);

/** Headers of bytes that are not ours. */
export const FOREIGN_HEADERS: { readonly [name: string]: string } = {
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
 * - `unchanged`: the caller has it.
 * - `unsatisfiable`: none of it is in the range.
 */
export type Asked =
  | { readonly what: "all" | "unchanged" }
  | { readonly what: "unsatisfiable" }
  | ({ readonly what: "part" } & ByteRange);

/** What of a file a request asks for. */
export function readAsked({ etag, bytes }: ServedFile, headers: Headers): Asked {
  const known = headers.get("if-none-match");
  if (known !== null && matchesTag(known, etag)) return { what: "unchanged" };
  const condition = headers.get("if-range");
  // A part of another file is of no use.
  if (condition !== null && condition.trim() !== etag) return { what: "all" };
  return readRange(headers.get("range"), bytes);
}

function matchesTag(header: string, etag: string): boolean {
  return header.split(",").some((each) => each.trim() === "*" || each.trim().replace(/^W\//, "") === etag);
}

/** One range; of what is malformed, or of several, all is given, as the rules of HTTP allow. */
function readRange(header: string | null, bytes: number): Asked {
  const [, from = "", to = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? "") ?? [];
  if (from === "" && to === "") return { what: "all" };
  if (from === "") {
    const start = Math.max(0, bytes - Number(to));
    return start < bytes ? { what: "part", start, end: bytes } : { what: "unsatisfiable" };
  }
  const start = Number(from);
  const end = to === "" ? bytes : Math.min(bytes, Number(to) + 1);
  if (to !== "" && Number(to) < start) return { what: "all" };
  return start < bytes ? { what: "part", start, end } : { what: "unsatisfiable" };
}

export function serveBytes(
  file: ServedFile,
  asked: Exclude<Asked, { what: "unsatisfiable" }>,
  body: BodyInit | null,
): Response {
  const { etag, bytes } = file;
  const headers = new Headers({
    ...FOREIGN_HEADERS,
    // What is there never changes, but who may see it does: it is kept, and asked about each time.
    "cache-control": "private, no-cache",
    etag,
  });
  if (asked.what === "unchanged") return new Response(null, { status: 304, headers });
  headers.set("accept-ranges", "bytes");
  headers.set("content-type", chooseType(file.mediaType));
  headers.set("content-disposition", chooseDisposition(file));
  const { start, end } = asked.what === "part" ? asked : { start: 0, end: bytes };
  headers.set("content-length", String(end - start));
  if (asked.what === "part") headers.set("content-range", `bytes ${start}-${end - 1}/${bytes}`);
  return new Response(body, { status: asked.what === "part" ? 206 : 200, headers });
}

function chooseType(mediaType: string): string {
  if (mediaType === "text/plain") return "text/plain; charset=utf-8";
  return SHOWN.has(mediaType) || NAMED.has(mediaType) ? mediaType : "application/octet-stream";
}

function chooseDisposition({ mediaType, name }: ServedFile): string {
  const kind = SHOWN.has(mediaType) ? "inline" : "attachment";
  return name === undefined ? kind : `${kind}; filename*=UTF-8''${encodeName(name)}`;
}

/** As RFC 8187 has it, which is stricter than addresses are. */
function encodeName(name: string): string {
  return encodeURIComponent(name).replaceAll(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}
