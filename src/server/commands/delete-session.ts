/** Deletes a session with everything that belongs to it: its live and queued runs end first, then blobs and records. */
import { randomUUID } from "node:crypto";
import { unknownSession } from "../../log/rules.ts";
import type { BlobStore } from "../blobs/blob-store.ts";
import { canAccess, LOCAL_AUTHOR } from "./command-author.ts";
import type { CommandHost } from "./command-host.ts";
import { runInSessionQueue } from "./command-queue.ts";
import { executeCommand } from "./execute-command.ts";

/** Runs that may be live at once. Runs written by Loom do not overlap; imported ones may. */
const MAX_LIVE_RUNS = 20;

/**
 * Returns false if the session does not exist. Throws `unknown_session` if the author of the host may not access it. If
 * it is interrupted, calling it again finishes it.
 */
export async function deleteSessionAndBlobs(
  host: CommandHost,
  blobs: BlobStore | undefined,
  sessionId: string,
): Promise<boolean> {
  const { log, author = LOCAL_AUTHOR } = host;
  if ((await log.getSession(sessionId)) !== undefined) await stopRuns(host, sessionId);
  const wasThere = await runInSessionQueue(log, sessionId, async () => {
    const info = await log.getSession(sessionId);
    // The session may have been recreated by another owner since the authorization.
    if (info !== undefined && !canAccess(author, info)) throw unknownSession(sessionId);
    // Delete blobs first: if this is interrupted, the client can retry, and a later session with the same ID finds
    // none of them.
    await blobs?.deleteSession(sessionId);
    return log.deleteSession(sessionId);
  });
  // Remove blobs that were uploaded in between, or left by an older server.
  await blobs?.deleteSession(sessionId);
  return wasThere;
}

/**
 * Cancels the runs, so that they release their models and tools; a run that is only deleted notices it at its next
 * write. A holder that does not respond in time is fenced by the deletion, so refused cancels are ignored.
 */
async function stopRuns(host: CommandHost, session: string): Promise<void> {
  const { log } = host;
  const waiting = await log.listPending(session, log.limits.maxPendingCommands);
  // Queued messages first, so that none starts when the live run ends.
  const queued = waiting.flatMap(({ kind, body: { run_id } }) =>
    kind === "enqueue" && typeof run_id === "string" ? [run_id] : [],
  );
  const live = (await log.listRuns(session, { limit: MAX_LIVE_RUNS })).filter(({ status }) => status === "live");
  // Cancel them concurrently to wait only once; the log receives them in this order.
  const reason = "The session was deleted";
  await Promise.all(
    [...queued, ...live.map(({ runId }) => runId)].map((run_id) =>
      executeCommand(host, { type: "cancel", id: randomUUID(), session, run_id, reason }),
    ),
  );
}
