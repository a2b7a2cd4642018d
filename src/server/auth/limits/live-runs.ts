/**
 * Limits the live and queued runs of a principal, over all sessions.
 *
 * Started runs are tracked here, and removed only when the principal reaches its limit: then the log decides which of
 * them have ended. So a run counts correctly however and wherever it ends. Each process counts only the runs it
 * started, so the limit is looser after a restart, until the earlier runs have ended.
 */
import type { Log } from "../../../log/index.ts";
import { LoomError } from "../../../protocol/index.ts";
import { BoundedMap } from "../../../protocol/bounded-map.ts";
import { type Principal, DEFAULT_PRINCIPAL_LIMITS } from "../principal.ts";

export interface LiveRunsOptions {
  readonly log: Pick<Log, "getCommand" | "getRun" | "getSession">;
  /** Maximum live and queued runs of a principal that sets no limit. Default: 20. Code `too_many_runs`. */
  readonly maxRuns?: number | undefined;
  /** Principals to remember. Default: 10,000. */
  readonly maxPrincipals?: number | undefined;
  readonly now?: (() => number) | undefined;
}

/** A run that is about to start. */
export interface PendingRun {
  readonly session: string;
  readonly run: string;
  /** Id of the command that starts the run; absent for a run that continues in a fork. */
  readonly command?: string | undefined;
}

export interface LiveRuns {
  /** Counts a run; the same run again is counted once. Throws `too_many_runs`. */
  admit(principal: Principal, run: PendingRun): Promise<void>;
}

interface TrackedRun extends PendingRun {
  readonly at: number;
}

const MAX_PRINCIPALS = 10_000;
/** An admitted run appears in the log within this time; otherwise another check has rejected it. */
const WRITING_MS = 5000;

export function createLiveRuns(options: LiveRunsOptions): LiveRuns {
  const { log, maxRuns = DEFAULT_PRINCIPAL_LIMITS.maxRuns, maxPrincipals = MAX_PRINCIPALS, now = Date.now } = options;
  const tracked = new BoundedMap<Map<string, TrackedRun>>(maxPrincipals);

  async function isLive({ session, run, command, at }: TrackedRun): Promise<boolean> {
    if ((await log.getSession(session)) === undefined) return now() - at < WRITING_MS;
    if (command !== undefined) {
      const submitted = await log.getCommand(session, command);
      if (submitted === undefined) return now() - at < WRITING_MS;
      if (submitted.outcome === undefined) return true;
      if (submitted.outcome.code !== "done") return false;
    }
    return (await log.getRun(session, run))?.status === "live";
  }

  return {
    async admit(principal, pending) {
      if (principal.kind === "local") return;
      const { id, limits } = principal;
      const limit = limits.maxRuns ?? maxRuns;
      const { session, run, command = null } = pending;
      const key = JSON.stringify([session, command, run]);
      const runs = tracked.get(id) ?? new Map<string, TrackedRun>();
      // Marks the principal as the most recently used.
      tracked.set(id, runs);
      if (runs.has(key)) return;
      if (runs.size >= limit)
        for (const [other, known] of runs) if (runs.get(other) === known && !(await isLive(known))) runs.delete(other);
      if (runs.size >= limit)
        throw new LoomError(
          "too_many_runs",
          `Run limit reached: ${limit} runs are live or queued; wait until one ends`,
          { limit },
        );
      runs.set(key, { ...pending, at: now() });
    },
  };
}
