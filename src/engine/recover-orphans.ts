/**
 * Goes over the sessions that need somebody and have nobody: a process that starts puts right what others left.
 */
import type { Log } from "../log/log.ts";
import { isLoomError, LoomError } from "../protocol/index.ts";
import type { RecoveredRun } from "./recovery.ts";
import { openSession } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";

export interface RecoverOptions extends SessionOptions {
  /** Sessions in one sweep. */
  readonly limit?: number;
}

export interface RecoveredSession {
  readonly sessionId: string;
  readonly runs: readonly RecoveredRun[];
  /** Why it could not be opened, or not be carried through. */
  readonly error?: LoomError;
}

/** One session that cannot be recovered keeps none of the others from it. */
export async function recoverOrphans(log: Log, options: RecoverOptions = {}): Promise<readonly RecoveredSession[]> {
  const { limit = 1000, ...sessionOptions } = options;
  const report: RecoveredSession[] = [];
  for (const sessionId of await log.listOrphans({ limit })) {
    let runs: readonly RecoveredRun[] = [];
    try {
      await using session = await openSession(log, sessionId, sessionOptions);
      runs = session.recovered;
      await session.idle();
      report.push({ sessionId, runs });
    } catch (cause) {
      const error = isLoomError(cause)
        ? cause
        : new LoomError("interrupted", "the session could not be recovered", {}, { cause });
      report.push({ sessionId, runs, error });
    }
  }
  return report;
}
