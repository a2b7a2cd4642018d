/**
 * How many runs a credential may have at once, in all sessions together, those that wait for their turn included.
 *
 * What was begun is noted here, and struck off only when somebody asks for one more than there may be: then the log says
 * which of them are over. So nothing leaks, however a run ends and wherever: here, in another process, or never begun.
 * Each process counts what was begun through it, since it was started: after a restart it is generous until those that
 * were begun before have ended.
 */
import type { Log } from "../../../log/index.ts";
import { BoundedMap, LoomError } from "../../../protocol/index.ts";
import { type Principal, USUAL_LIMITS } from "../principal.ts";

export interface LiveRunsOptions {
  readonly log: Pick<Log, "getCommand" | "getRun" | "getSession">;
  /** Of a credential that names no limit; the usual when absent. Code `too_many_runs`. */
  readonly maxRuns?: number | undefined;
  /** Credentials that are remembered; 10,000 when absent. */
  readonly maxPrincipals?: number | undefined;
  readonly now?: (() => number) | undefined;
}

/** A run that is to be begun. */
export interface BegunRun {
  readonly session: string;
  readonly run: string;
  /** The id of its message's command; absent where none begins it, as of one that goes on in a fork. */
  readonly command?: string | undefined;
}

export interface LiveRuns {
  /** Throws `too_many_runs`. The same message again is the same run. */
  admit(principal: Principal, run: BegunRun): Promise<void>;
}

interface Noted extends BegunRun {
  readonly at: number;
}

const MAX_PRINCIPALS = 10_000;
/** What was let in is written into the log within this time, or was refused by somebody else. */
const WRITING_MS = 5000;

export function createLiveRuns(options: LiveRunsOptions): LiveRuns {
  const { log, maxRuns = USUAL_LIMITS.maxRuns, maxPrincipals = MAX_PRINCIPALS, now = Date.now } = options;
  const noted = new BoundedMap<Map<string, Noted>>(maxPrincipals);

  async function isLive({ session, run, command, at }: Noted): Promise<boolean> {
    if ((await log.getSession(session)) === undefined) return now() - at < WRITING_MS;
    if (command !== undefined) {
      const asked = await log.getCommand(session, command);
      if (asked === undefined) return now() - at < WRITING_MS;
      if (asked.outcome === undefined) return true;
      if (asked.outcome.code !== "done") return false;
    }
    return (await log.getRun(session, run))?.status === "live";
  }

  return {
    async admit(principal, begun) {
      if (principal.kind === "local") return;
      const { id, limits } = principal;
      const limit = limits.maxRuns ?? maxRuns;
      const { session, run, command = null } = begun;
      const key = JSON.stringify([session, command, run]);
      const mine = noted.get(id) ?? new Map<string, Noted>();
      // It becomes the youngest.
      noted.set(id, mine);
      if (mine.has(key)) return;
      if (mine.size >= limit)
        for (const [other, known] of mine) if (mine.get(other) === known && !(await isLive(known))) mine.delete(other);
      if (mine.size >= limit)
        throw new LoomError("too_many_runs", `${limit} runs of yours are live or wait already`, { limit });
      mine.set(key, { ...begun, at: now() });
    },
  };
}
