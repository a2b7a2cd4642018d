/** Finds the media type of a file from its name; other files are text if they are valid UTF-8. */
import { extname } from "node:path";

const TYPES: { readonly [extension: string]: string } = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".pdf": "application/pdf",
  ".json": "application/json",
  ".md": "text/markdown",
  ".csv": "text/csv",
  ".html": "text/html",
};

export function findMediaType(name: string, bytes: Uint8Array): string {
  const known = TYPES[extname(name).toLowerCase()];
  if (known !== undefined) return known;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return bytes.includes(0) ? "application/octet-stream" : "text/plain";
  } catch {
    return "application/octet-stream";
  }
}
