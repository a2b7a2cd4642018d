/**
 * Goes over the sessions that need somebody and have nobody: a process that starts puts right what others left.
 */
import type { Log } from "../log/log.ts";
import { isLoomError, LoomError } from "../protocol/index.ts";
import type { RecoveredRun } from "./recovery.ts";
import { openSession } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";

export interface RecoverOptions extends SessionOptions {
  /** Sessions in one sweep; all when absent. */
  readonly limit?: number;
  /** Sessions that are being recovered at once. One whose `resume` takes long keeps its place for that long. */
  readonly concurrency?: number;
}

export interface RecoveredSession {
  readonly sessionId: string;
  readonly runs: readonly RecoveredRun[];
  /** Why it could not be opened, or not be carried through. */
  readonly error?: LoomError;
}

const CONCURRENCY = 8;
const PAGE_OF_SESSIONS = 100;

/** One session that cannot be recovered keeps none of the others from it. Resolves when all are carried through. */
export async function recoverOrphans(log: Log, options: RecoverOptions = {}): Promise<readonly RecoveredSession[]> {
  const { limit = Number.POSITIVE_INFINITY, concurrency = CONCURRENCY, ...sessionOptions } = options;
  // All are known before the first is opened: one that is recovered is no orphan any more, and could not be gone on after.
  const orphans = await listOrphans(log, limit);
  const report = new Map<string, RecoveredSession>();
  const waiting = orphans.values();
  const work = async (): Promise<void> => {
    for (const sessionId of waiting) report.set(sessionId, await recoverSession(log, sessionId, sessionOptions));
  };
  const places = Math.max(1, Math.min(concurrency, orphans.length));
  await Promise.all(Array.from({ length: places }, work));
  return orphans.flatMap((sessionId) => report.get(sessionId) ?? []);
}

async function listOrphans(log: Log, limit: number): Promise<readonly string[]> {
  const found = new Set<string>();
  for (let after: string | undefined; found.size < limit;) {
    const size = found.size;
    const page = await nextPage(log, Math.min(limit - size, PAGE_OF_SESSIONS), after);
    for (const sessionId of page) found.add(sessionId);
    if (found.size === size) break;
    after = page.at(-1);
  }
  return [...found];
}

async function nextPage(log: Log, limit: number, after: string | undefined): Promise<readonly string[]> {
  try {
    return await log.listOrphans({ limit, ...(after === undefined ? {} : { after }) });
  } catch (error) {
    // The session to go on after was deleted meanwhile; the next sweep finds the rest.
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
      : new LoomError("interrupted", "the session could not be recovered", {}, { cause });
    return { sessionId, runs, error };
  }
}
