/**
 * Appends records that no agent writes to a session: what a client says happened before.
 *
 * Invariant: all of it is written with one append. A request that is repeated after a crash finds all of it or nothing.
 */
import { openSession, type Session } from "../../engine/index.ts";
import { acquireIdle, assertQuota } from "../../engine/foreign-session.ts";
import { MemoryLog } from "../../log/index.ts";
import type { LogEntry } from "../../log/log.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { ServerCore } from "../api/server-core.ts";

/** How long to wait for a process that holds the session without a run. */
const WAIT_MS = 2000;

export interface AppendedRecords {
  /** Writes the records. May be called twice. */
  readonly write: (draft: Session) => Promise<unknown>;
  /** Creates the session if it is missing. Called once it is clear that the records can be written. Default: it exists. */
  readonly prepare?: () => Promise<unknown>;
  /** Whether the records are missing in the session. Default: true. */
  readonly isNeeded?: () => Promise<boolean>;
}

/** Appends to a session. Throws `run_live`, and `body_too_large` if it is too much for one append. */
export async function appendToSession(
  { log, report }: Pick<ServerCore, "log" | "report">,
  session: string,
  { write, prepare = () => Promise.resolve(), isNeeded = () => Promise.resolve(true) }: AppendedRecords,
): Promise<void> {
  const { lastId: at = 0, updatedAt = 0 } = (await log.getSession(session)) ?? {};
  const first = await createEntries(session, { lastId: at, lastTs: updatedAt }, write);
  await prepare();
  const lease = await acquireIdle(log, session, { waitMs: WAIT_MS });
  try {
    if (!(await isNeeded())) return;
    const { lastId, epoch } = lease;
    const entries = lastId === at ? first : await createEntries(session, lease, write);
    await assertQuota(log, lease);
    await log.append({ sessionId: session, epoch, expectedLastId: lastId, entries });
  } catch (error) {
    throw isLoomError(error, "batch_too_large") ? new LoomError("body_too_large", error.message) : error;
  } finally {
    await log.release(lease).catch((error: unknown) => report(error));
  }
}

/** Returns the records that `write` makes after the last one of the session. */
async function createEntries(
  sessionId: string,
  { lastId, lastTs }: { readonly lastId: number; readonly lastTs: number },
  write: AppendedRecords["write"],
): Promise<readonly LogEntry[]> {
  const log = new MemoryLog();
  await log.createSession(sessionId, { firstId: lastId + 1 });
  // Faults are thrown to the client, who caused them.
  const draft = await openSession(log, sessionId, {
    now: () => Math.max(Date.now(), lastTs),
    onError: () => undefined,
  });
  try {
    await write(draft);
  } finally {
    await draft.close();
  }
  const entries: LogEntry[] = [];
  for (;;) {
    const { records, texts } = await log.read(sessionId, { after: lastId + entries.length });
    if (records.length === 0) return entries;
    entries.push(...records.map((record, index) => ({ record, text: texts[index] as string })));
  }
}
