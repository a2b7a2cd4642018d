/**
 * A session made of all that another held before one of its runs began: to say something else in its place, or, where no
 * run is named, to have all of it that is over twice. Nothing goes on there by itself; what is said next is answered with
 * what was said before.
 *
 * Invariants:
 * - All or nothing, as with `forkSession`, and the old session is only read.
 * - No run of the new session is live.
 */
import { LoomError } from "../protocol/index.ts";
import { copyEntries } from "./copy-entries.ts";
import { findIndexChanges } from "./index-changes.ts";
import type { Log, LogEntry, SessionInfo } from "./log.ts";
import { assertName, assertOwner, assertTitle, sessionExists, unknownSession } from "./rules.ts";

export interface ForkBeforeRunOptions {
  /** The session whose past it shares. */
  readonly from: string;
  /** The first thing that is not shared; the run that is live when absent, and nothing where none is. Code `unknown_run`. */
  readonly runId?: string;
  /** The new session. Refused as `session_exists`. */
  readonly to: string;
  /** That of the old one when absent; none where nothing is shared, since it was named after what is not. */
  readonly title?: string;
  /** Whose the new one is: that of the old one when absent. */
  readonly owner?: string;
  /** Where an image of the old session is in the new one. It stays where it is when absent. */
  readonly moveImage?: (url: string) => string;
}

const RUNS_AT_ONCE = 100;

/** Refused as `batch_too_large` where there is more before the run than `maxForkBytes` of the log. */
export async function forkBeforeRun(log: Log, options: ForkBeforeRunOptions): Promise<SessionInfo> {
  const { from, runId, to, moveImage } = options;
  assertName("session", to);
  assertTitle(options.title);
  assertOwner(options.owner);
  const info = await log.getSession(from);
  if (info === undefined) throw unknownSession(from);
  const lastId = runId === undefined ? await findLastOver(log, info) : (await findRunStart(log, from, runId)) - 1;
  if ((await log.getSession(to)) !== undefined) throw sessionExists(to);
  const entries = await copyEntries(log, info, { to, lastId, moveImage });
  if (runId !== undefined) assertEnded(entries, runId);
  const title = options.title ?? (entries.length === 0 ? undefined : info.title);
  const { owner = info.owner } = options;
  return log.createSession(to, { ...(title === undefined ? {} : { title }), owner, firstId: info.firstId, entries });
}

/** The first record of a run. Throws `unknown_run`. */
export async function findRunStart(log: Log, sessionId: string, runId: string): Promise<number> {
  const run = await log.getRun(sessionId, runId);
  if (run !== undefined) return run.firstId;
  throw new LoomError("unknown_run", `session "${sessionId}" has no run "${runId}"`, { run_id: runId });
}

/** The last record up to which every run has ended. What was imported may go on side by side, or never end. */
export async function findLastOver(log: Log, { sessionId, lastId }: SessionInfo): Promise<number> {
  let last = lastId;
  let after: string | undefined;
  for (;;) {
    const runs = await log.listRuns(sessionId, { limit: RUNS_AT_ONCE, ...(after === undefined ? {} : { after }) });
    // From the newest: whatever goes on across the place moves it, and those after it do not matter any more.
    for (const run of runs) if (run.firstId <= last && (run.lastId ?? Infinity) > last) last = run.firstId - 1;
    after = runs.at(-1)?.runId;
    if (runs.length < RUNS_AT_ONCE) return last;
  }
}

/** Written here one run comes after the other; what was imported may have been written anyhow. */
function assertEnded(entries: readonly LogEntry[], runId: string): void {
  const { begins, ends } = findIndexChanges(entries);
  const ended = new Set(ends.map((end) => end.runId));
  const open = begins.find((begin) => !ended.has(begin.runId));
  if (open === undefined) return;
  throw new LoomError("unsupported", `run "${open.runId}" goes on when run "${runId}" begins`, { run_id: open.runId });
}
