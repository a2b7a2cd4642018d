/**
 * Recovers all orphaned sessions of a log: those with a live run or a pending command, but without a holder. A process
 * calls it when it starts.
 */
import type { Log } from "../log/log.ts";
import { isLoomError, LoomError } from "../protocol/index.ts";
import type { RecoveredRun } from "./recovery.ts";
import { openSession } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";

/** What happened to one orphaned session. */
export interface RecoveredSession {
  readonly sessionId: string;
  readonly runs: readonly RecoveredRun[];
  /** Why the session could not be opened or recovered. */
  readonly error?: LoomError;
}

/** Sessions recovered at the same time. A session counts until its resumed run has ended. */
const CONCURRENCY = 8;
const PAGE_OF_SESSIONS = 100;

/**
 * Opens every orphaned session, recovers its runs and executes its commands. Resolves when all of them are done. A
 * session that fails is reported in the result and does not stop the others.
 *
 * ```ts
 * const resume = async (dead: DeadRun) => void (await resumeGraph(graph, dead, { log }));
 * const sessions = await recoverOrphans(log, { resume });
 * ```
 */
export async function recoverOrphans(log: Log, options: SessionOptions = {}): Promise<readonly RecoveredSession[]> {
  // List all before opening the first: a recovered session is no longer an orphan and cannot be a list position.
  const orphans = await listOrphans(log);
  const report: RecoveredSession[] = [];
  const waiting = orphans.entries();
  const work = async (): Promise<void> => {
    for (const [index, sessionId] of waiting) report[index] = await recoverSession(log, sessionId, options);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return report;
}

async function listOrphans(log: Log): Promise<readonly string[]> {
  const found = new Set<string>();
  for (let after: string | undefined; ;) {
    const page = await nextPage(log, after);
    for (const sessionId of page) found.add(sessionId);
    if (page.length < PAGE_OF_SESSIONS) return [...found];
    after = page.at(-1);
  }
}

async function nextPage(log: Log, after: string | undefined): Promise<readonly string[]> {
  try {
    return await log.listOrphans({ limit: PAGE_OF_SESSIONS, ...(after === undefined ? {} : { after }) });
  } catch (error) {
    // The session to continue after was deleted. The next call finds the rest.
    if (after !== undefined && isLoomError(error, "cursor_invalid")) return [];
    throw error;
  }
}

async function recoverSession(log: Log, sessionId: string, options: SessionOptions): Promise<RecoveredSession> {
  let runs: readonly RecoveredRun[] = [];
  try {
    await using session = await openSession(log, sessionId, options);
    runs = session.recovered;
    await session.idle();
    return { sessionId, runs };
  } catch (cause) {
    const error = isLoomError(cause)
      ? cause
      : new LoomError("interrupted", "The session could not be recovered", {}, { cause });
    return { sessionId, runs, error };
  }
}
