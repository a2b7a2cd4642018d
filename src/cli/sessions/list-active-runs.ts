/** Finds the live and queued runs of all sessions, and what waits for approval in them. */
import type { PendingDecision, SessionService } from "./session-service.ts";

/** A run that is live, or a message that waits. */
export interface BusyRun {
  readonly session_id: string;
  readonly title: string | undefined;
  readonly run_id: string;
  /** `interrupted`: no process executes the run, and it does not wait for approval. */
  readonly status: "live" | "interrupted" | "queued";
  readonly agent: string | undefined;
  /** Start of the run, or time of the message, in milliseconds since 1970. */
  readonly since: number;
  /** Tool calls that wait for approval. */
  readonly approvals: readonly PendingDecision[];
}

const PAGE = 200;
const MAX_CONCURRENT = 4;

export async function listActiveRuns(service: SessionService): Promise<readonly BusyRun[]> {
  const sessions: string[] = [];
  let after: string | undefined;
  do {
    const page = await service.listActiveSessions({ limit: PAGE, after });
    sessions.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  const found: (readonly BusyRun[])[] = [];
  const waiting = sessions.entries();
  const work = async (): Promise<void> => {
    for (const [index, session] of waiting) found[index] = await readActiveRuns(service, session);
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, work));
  return found.flat();
}

/** Returns the live run of a session and its queued messages; none if the session was deleted. */
async function readActiveRuns(service: SessionService, session_id: string): Promise<readonly BusyRun[]> {
  const session = await service.getSession(session_id);
  if (session?.is_busy !== true) return [];
  const about = { session_id, title: session.title };
  const live = session.runs.filter(({ status }) => status === "live");
  const approvals = live.length === 0 ? [] : await service.listApprovals(session_id);
  const status = session.is_orphan === true && approvals.length === 0 ? "interrupted" : "live";
  return [
    ...live.map(({ run_id, agent, started_at: since }): BusyRun => {
      const own = approvals.filter((call) => call.run_id === run_id);
      return { ...about, run_id, status, agent, since, approvals: own };
    }),
    ...session.queued.map(({ run_id, agent, created_at: since }): BusyRun => ({
      ...about,
      run_id,
      status: "queued",
      agent,
      since,
      approvals: [],
    })),
  ];
}
