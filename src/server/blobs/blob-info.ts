/** The file `meta.json` of a stored blob: its description, with a digest that finds damage which is still valid JSON. */
import { createHash } from "node:crypto";
import { parseObject } from "../../protocol/json.ts";
import type { BlobInfo } from "./blob-store.ts";

/** Reads a description; undefined if it is damaged. */
export function readBlobInfo(text: string, sessionId: string, blobId: string): BlobInfo | undefined {
  const read = parseObject(text);
  if (read === undefined) return undefined;
  const { mediaType, name, bytes, createdAt, digest } = read;
  if (typeof mediaType !== "string" || typeof bytes !== "number" || typeof createdAt !== "number") return undefined;
  const shown = typeof name === "string" ? name : undefined;
  const info = { blobId, sessionId, mediaType, name: shown, bytes, createdAt };
  // Older descriptions have no digest.
  return digest === undefined || digest === digestBlobInfo(info) ? info : undefined;
}

export function digestBlobInfo({ blobId, sessionId, mediaType, name, bytes, createdAt }: BlobInfo): string {
  const values = JSON.stringify([blobId, sessionId, mediaType, name ?? null, bytes, createdAt]);
  return createHash("sha256").update(values).digest("hex");
}
