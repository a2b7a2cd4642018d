/** The URL of a blob, with the base path of the server. */
import type { BlobInfo } from "./blob-store.ts";

export function blobUrl(
  { basePath }: { readonly basePath: string },
  { sessionId, blobId }: Pick<BlobInfo, "sessionId" | "blobId">,
): string {
  return `${basePath}/v1/sessions/${encodeURIComponent(sessionId)}/blobs/${blobId}`;
}
