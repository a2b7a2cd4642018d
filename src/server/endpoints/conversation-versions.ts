/** Changes and deletes conversations: all versions of a session. The title and the marks belong to the conversation. */
import type { Log, SessionInfo } from "../../log/index.ts";
import type { SessionChanges } from "../../log/log.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import type { CommandHost } from "../commands/command-host.ts";
import { runInSessionQueue } from "../commands/command-queue.ts";
import { deleteSessionAndBlobs } from "../commands/delete-session.ts";

const PAGE = 500;

/** Throws if the caller may not change a version. */
type AuthorizeVersion = (sessionId: string) => void | Promise<void>;

/**
 * Changes a session and then the other versions of its conversation, the newest first, also those that appear meanwhile.
 * Returns the session. Throws before anything is changed if one of the known versions may not be changed.
 */
export async function updateConversation(
  log: Log,
  sessionId: string,
  changes: SessionChanges,
  authorize: AuthorizeVersion,
): Promise<SessionInfo> {
  const update = (id: string): Promise<SessionInfo> => runInSessionQueue(log, id, () => log.updateSession(id, changes));
  let others = await listOthers(log, sessionId, authorize);
  const updated = await update(sessionId);
  const changed = new Set<string>();
  // A fork that appeared before its origin was changed has the old values.
  do {
    for (const id of others) await update(id).catch(ignoreDeleted);
    for (const id of others) changed.add(id);
    others = (await listOthers(log, sessionId, authorize)).filter((id) => !changed.has(id));
  } while (others.length > 0);
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
  authorize: AuthorizeVersion,
): Promise<boolean> {
  if ((await host.log.getSession(sessionId)) === undefined) return false;
  for (const id of await listOthers(host.log, sessionId, authorize)) await deleteSessionAndBlobs(host, blobs, id);
  return deleteSessionAndBlobs(host, blobs, sessionId);
}

/** Returns the title as one line. Lists would show a title without a visible character as an empty row. */
export function readTitle({ title }: { readonly title?: string }): { readonly title?: string } {
  if (title === undefined) return {};
  if (!/[^\s\p{Cc}\p{Default_Ignorable_Code_Point}]/u.test(title))
    throw new LoomError("invalid_name", "A title must have a visible character");
  return { title: title.replaceAll(/[\s\p{Cc}]+/gu, " ").trim() };
}

/** Lists the other versions, the newest first. */
async function listOthers(log: Log, sessionId: string, authorize: AuthorizeVersion): Promise<readonly string[]> {
  const others: string[] = [];
  for (let after: string | undefined; ;) {
    const next = after === undefined ? {} : { after };
    const page = await log.listBranches(sessionId, { newestFirst: true, limit: PAGE, ...next });
    for (const { sessionId: id } of page) {
      if (id === sessionId) continue;
      await authorize(id);
      others.push(id);
    }
    if (page.length < PAGE) return others;
    after = page.at(-1)?.sessionId;
  }
}

/** Another client deleted the version in the meantime. */
function ignoreDeleted(error: unknown): void {
  if (!isLoomError(error, "unknown_session")) throw error;
}
