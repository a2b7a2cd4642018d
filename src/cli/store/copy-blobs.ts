/**
 * Copies the images and files of a session from one store to another. Blobs are found by their digest, so a second copy
 * finds what is there, and a blob that arrived damaged would have another digest.
 */
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { BlobStore } from "../../server/blobs/blob-store.ts";

export interface CopiedBlobs {
  /** Number of the blobs that the target has, intact. */
  readonly blobs: number;
  /** Whether the target did not have all of them. */
  readonly isNew: boolean;
}

/** Throws `blob_damaged` for a blob that is damaged in the source; the others are copied before. */
export async function copyBlobs(from: BlobStore, to: BlobStore, sessionId: string): Promise<CopiedBlobs> {
  const damaged: string[] = [];
  let [blobs, isNew] = [0, false];
  for (const { blobId, mediaType, name } of await from.list(sessionId, (id) => damaged.push(id))) {
    if (!(await isIntact(to, sessionId, blobId))) {
      const isCopied = await copyBlob(from, to, { sessionId, blobId, mediaType, name });
      if (!isCopied) {
        damaged.push(blobId);
        continue;
      }
      isNew = true;
    }
    blobs++;
  }
  if (damaged.length === 0) return { blobs, isNew };
  throw new LoomError("blob_damaged", `${damaged.length} of its files are damaged, such as ${damaged[0]}`);
}

interface BlobToCopy {
  readonly sessionId: string;
  readonly blobId: string;
  readonly mediaType: string;
  readonly name: string | undefined;
}

/** Returns false if the blob is damaged. */
async function copyBlob(from: BlobStore, to: BlobStore, blob: BlobToCopy): Promise<boolean> {
  const { sessionId, blobId, mediaType, name } = blob;
  try {
    const { bytes } = await from.read(sessionId, blobId);
    return (await to.put(sessionId, bytes, { mediaType, name })).blobId === blobId;
  } catch (error) {
    if (isLoomError(error, "blob_damaged")) return false;
    throw error;
  }
}

/** Reading a blob compares its bytes with the digest. */
async function isIntact(store: BlobStore, sessionId: string, blobId: string): Promise<boolean> {
  try {
    const { bytes } = await store.read(sessionId, blobId);
    await bytes.cancel();
    return true;
  } catch (error) {
    if (isLoomError(error, "unknown_blob", "blob_damaged")) return false;
    throw error;
  }
}
