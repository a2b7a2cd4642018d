/** Describes the attachments of a message for the log. The blobs must exist; their content is not read. */
import { LoomError, type RunStartEvent } from "../../protocol/index.ts";
import type { BlobStore } from "../blobs/blob-store.ts";

type AttachmentRecord = NonNullable<RunStartEvent["attachments"]>[number];

/** Returns the same descriptions for the same files, so that a repeated message stays equal. Throws `unknown_blob`. */
export function describeAttachments(
  blobs: Pick<BlobStore, "get">,
  sessionId: string,
  attachments: readonly { readonly blob_id: string; readonly name?: string }[],
): Promise<readonly AttachmentRecord[]> {
  return Promise.all(
    attachments.map(async ({ blob_id, name }) => {
      const info = await blobs.get(sessionId, blob_id);
      if (info === undefined)
        throw new LoomError("unknown_blob", `Session "${sessionId}" has no blob ${blob_id.slice(0, 80)}`, { blob_id });
      const called = name ?? info.name;
      const { blobId, mediaType: media_type, bytes } = info;
      return { blob_id: blobId, ...(called === undefined ? {} : { name: called }), media_type, bytes };
    }),
  );
}
