/** Gives agents access to the blobs of a server: attachments of messages and files created by tools. */
import type { AgentBlobs } from "../../agents/attachments.ts";
import type { Log } from "../../log/index.ts";
import { isLoomError } from "../../protocol/index.ts";
import { blobUrl, reserveIn } from "./blob-rules.ts";
import type { BlobStore } from "./blob-store.ts";

/** `basePath` is used in the URLs of saved blobs. */
export function createAgentBlobs(
  store: BlobStore,
  { log, ...base }: { readonly basePath: string; readonly log: Log },
): AgentBlobs {
  return {
    async read(sessionId, blobId, { signal }) {
      const found = await store.read(sessionId, blobId).catch((error: unknown) => {
        if (isLoomError(error, "unknown_blob")) return undefined;
        throw error;
      });
      return found === undefined ? undefined : collect(found.bytes, found.info.bytes, signal);
    },
    async save(sessionId, bytes, { mediaType, name, signal }) {
      const info = await store.put(sessionId, [bytes], { mediaType, name, signal, reserve: reserveIn(log, sessionId) });
      return { blob_id: info.blobId, url: blobUrl(base, info) };
    },
  };
}

async function collect(stream: ReadableStream<Uint8Array>, length: number, signal: AbortSignal): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let at = 0;
  // Throwing inside the loop cancels the stream.
  for await (const chunk of stream) {
    signal.throwIfAborted();
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes.subarray(0, at);
}
