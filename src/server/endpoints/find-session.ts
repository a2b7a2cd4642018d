/** Looks up the session or run named in a path. */
import type { Log, RunInfo, SessionInfo } from "../../log/index.ts";
import { unknownSession } from "../../log/rules.ts";
import { LoomError } from "../../protocol/index.ts";

/** Throws `unknown_session`. */
export async function findSession(log: Log, session: string): Promise<SessionInfo> {
  const info = await log.getSession(session);
  if (info === undefined) throw unknownSession(session);
  return info;
}

/** Throws `unknown_session` or `unknown_run`. */
export async function findRun(log: Log, session: string, run: string): Promise<RunInfo> {
  await findSession(log, session);
  const info = await log.getRun(session, run);
  if (info === undefined)
    throw new LoomError("unknown_run", `Session "${session}" has no run "${run}"`, { run_id: run });
  return info;
}
