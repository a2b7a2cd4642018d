/** Opens uploads into a session of the caller: of the body of a request, or of the files in a message. */
import { LoomError } from "../../protocol/index.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { Caller } from "../auth/authorize.ts";
import type { BlobInfo, BlobStore, PutBlobOptions } from "../blobs/blob-store.ts";
import { reserveIn } from "../blobs/blob-rules.ts";
import { ensureOwnSession } from "../commands/command-author.ts";
import { authorOf } from "../commands/command-host.ts";

/** Stores one file. The request must have a slot for uploads. */
export type Upload = (
  bytes: Parameters<BlobStore["put"]>[1],
  about: Pick<PutBlobOptions, "mediaType" | "name" | "signal">,
) => Promise<BlobInfo>;

/** Throws `not_found`. */
export function storeOf({ blobs }: ServerCore): BlobStore {
  if (blobs === undefined) throw new LoomError("not_found", "This server has no blob store");
  return blobs;
}

/** Creates the session if it is missing. Throws `not_found` without a blob store. */
export async function openUpload(core: ServerCore, caller: Caller, session: string): Promise<Upload> {
  const blobs = storeOf(core);
  const { incarnation } = await ensureOwnSession(core.log, authorOf(core, caller), session);
  // The upload may take long. Reject it if the session was deleted or recreated meanwhile, or if the permission was
  // revoked.
  const confirm = async (): Promise<void> => {
    await core.authorize({ caller, action: "blobs.write", session });
    if ((await core.log.getSession(session))?.incarnation !== incarnation)
      throw new LoomError("unknown_session", `Session "${session}" was deleted`, { session_id: session });
  };
  const reserve = reserveIn(core.log, session);
  return (bytes, about) => blobs.put(session, bytes, { ...about, isFromClient: true, confirm, reserve });
}
