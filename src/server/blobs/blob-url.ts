/** The URL of a blob and its description in API responses. */
import type { Blob as BlobShape } from "../api/shapes.generated.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { BlobInfo } from "./blob-store.ts";

export function blobUrl(
  { basePath }: Pick<ServerCore, "basePath">,
  { sessionId, blobId }: Pick<BlobInfo, "sessionId" | "blobId">,
): string {
  return `${basePath}/v1/sessions/${encodeURIComponent(sessionId)}/blobs/${blobId}`;
}

export function describeBlob(core: Pick<ServerCore, "basePath">, info: BlobInfo): BlobShape {
  const { blobId, mediaType, name, bytes, createdAt } = info;
  const url = blobUrl(core, info);
  const named = name === undefined ? {} : { name };
  return { blob_id: blobId, url, media_type: mediaType, ...named, bytes, created_at: createdAt };
}
