/** What the log says of the files that come with a message: they must be there before it. It reads none of them. */
import { LoomError, type RunStartEvent } from "../../protocol/index.ts";
import type { BlobStore } from "../blobs/blob-store.ts";

type Described = NonNullable<RunStartEvent["attachments"]>[number];

/** The same for the same files, so that a message that is asked again stays the same. Throws `unknown_blob`. */
export function describeAttachments(
  blobs: Pick<BlobStore, "get">,
  sessionId: string,
  attachments: readonly { readonly blob_id: string; readonly name?: string }[],
): Promise<readonly Described[]> {
  return Promise.all(
    attachments.map(async ({ blob_id, name }) => {
      const info = await blobs.get(sessionId, blob_id);
      if (info === undefined)
        throw new LoomError("unknown_blob", `session "${sessionId}" has no blob ${blob_id.slice(0, 80)}`, { blob_id });
      const called = name ?? info.name;
      const { blobId, mediaType: media_type, bytes } = info;
      return { blob_id: blobId, ...(called === undefined ? {} : { name: called }), media_type, bytes };
    }),
  );
}
