/** Looks up the session or run named in a path. */
import type { Log, RunInfo, SessionInfo } from "../../log/index.ts";
import { readRuns } from "../../log/read-pages.ts";
import { assertRun, assertSession } from "../../log/rules.ts";
import { LoomError } from "../../protocol/index.ts";
import { findCommand } from "../commands/execute-command.ts";

/** Throws `unknown_session`. */
export async function findSession(log: Log, session: string): Promise<SessionInfo> {
  return assertSession(await log.getSession(session), session);
}

/** Throws `unknown_session` or `unknown_run`. */
export async function findRun(log: Log, session: string, run: string): Promise<RunInfo> {
  await findSession(log, session);
  return assertRun(await log.getRun(session, run), session, run);
}

/** False also if the session does not exist. */
export async function hasRuns(log: Log, session: string): Promise<boolean> {
  return (await log.getSession(session)) !== undefined && (await log.listRuns(session, { limit: 1 })).length > 0;
}

/** A run, and the one that followed it. */
export interface FoundRun {
  readonly run: RunInfo;
  readonly next: RunInfo | undefined;
}

/** Returns the newest run that matches. Compares at most `max` runs. */
export async function findNewestRun(
  log: Log,
  session: string,
  matches: (run: RunInfo) => boolean,
  max = Number.POSITIVE_INFINITY,
): Promise<FoundRun | undefined> {
  let next: RunInfo | undefined;
  let compared = 0;
  for await (const run of readRuns(log, session)) {
    if (matches(run)) return { run, next };
    next = run;
    if (++compared >= max) break;
  }
  return undefined;
}

/** Returns the run after this one; undefined if there is none. */
export async function findNextRun(log: Log, session: string, run: string): Promise<string | undefined> {
  return (await findNewestRun(log, session, ({ runId }) => runId === run))?.next?.runId;
}

/**
 * Makes sure that a run exists, or that the command with this key starts it later. Throws like `findRun`, and the error of
 * a command that was refused: a stream of its run would never begin.
 */
export async function assertRunStarts(
  log: Log,
  { session, run, key }: { readonly session: string; readonly run: string; readonly key?: string | undefined },
): Promise<void> {
  // Read before the run: the outcome of the command is written together with the first record of the run.
  const command = key === undefined ? undefined : await findCommand(log, session, key);
  if ((await log.getRun(session, run)) !== undefined) return;
  if (command?.kind !== "enqueue" || command.body["run_id"] !== run) await findRun(log, session, run);
  const { outcome } = command ?? {};
  if (outcome !== undefined && outcome.code !== "done")
    throw new LoomError(outcome.code, outcome.message ?? "", outcome.details);
}
