/** Changes and deletes conversations: all versions of a session. The title and the marks belong to the conversation. */
import type { Log, SessionChanges, SessionInfo } from "../../log/index.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { CommandHost } from "../commands/command-host.ts";
import { runInSessionQueue } from "../commands/command-queue.ts";
import { deleteSessionAndBlobs } from "../commands/delete-session.ts";

const PAGE = 500;

/** Changes a session and then the other versions of its conversation, the newest first. Returns the session. */
export async function updateConversation(log: Log, sessionId: string, changes: SessionChanges): Promise<SessionInfo> {
  const update = (id: string): Promise<SessionInfo> => runInSessionQueue(log, id, () => log.updateSession(id, changes));
  const updated = await update(sessionId);
  for await (const id of listOthers(log, updated)) await update(id).catch(ignoreDeleted);
  return updated;
}

/**
 * Deletes all versions of a conversation, the given one last, so that an interrupted request can be repeated. Returns
 * false if the session does not exist.
 */
export async function deleteConversation(
  host: CommandHost,
  blobs: BlobStore | undefined,
  sessionId: string,
): Promise<boolean> {
  const info = await host.log.getSession(sessionId);
  if (info === undefined) return false;
  const others: string[] = [];
  for await (const id of listOthers(host.log, info)) others.push(id);
  for (const id of others) await deleteSessionAndBlobs(host, blobs, id);
  return deleteSessionAndBlobs(host, blobs, sessionId);
}

async function* listOthers(log: Log, { sessionId }: SessionInfo): AsyncGenerator<string, void, undefined> {
  for (let after: string | undefined; ;) {
    const next = after === undefined ? {} : { after };
    const page = await log.listBranches(sessionId, { newestFirst: true, limit: PAGE, ...next });
    for (const branch of page) if (branch.sessionId !== sessionId) yield branch.sessionId;
    if (page.length < PAGE) return;
    after = page.at(-1)?.sessionId;
  }
}

/** Another client deleted the version in the meantime. */
function ignoreDeleted(error: unknown): void {
  if (!isLoomError(error, "unknown_session")) throw error;
}
