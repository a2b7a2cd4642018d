/**
 * The desk of a server: its agents, the sessions it holds for them, and the look for what other processes left. See
 * `run-desk.ts`.
 */
import type { AgentBlobs } from "../../agents/attachments.ts";
import { ErrorReporter, type Run, type SessionOptions } from "../../engine/index.ts";
import type { Log } from "../../log/index.ts";
import { Observation, type Observer } from "../../observe/index.ts";
import { HeldSessions } from "./held-sessions.ts";
import { OrphanWatch } from "./orphan-watch.ts";
import type { CloseRunsOptions, RunDesk } from "./run-desk.ts";
import { AgentRoster, type ServedAgents } from "./served-agents.ts";

export interface RunDeskOptions {
  readonly log: Log;
  readonly agents: ServedAgents;
  /** Answers messages that name no agent; the first when absent. */
  readonly defaultAgent?: string;
  /** Asked when a run's turn has come, which may be long after it was asked for. Throws why it may not begin. */
  readonly admit?: ((run: Pick<Run, "actor">) => void) | undefined;
  /** The files of sessions, for the agents' models and tools. */
  readonly blobs?: AgentBlobs | undefined;
  /** Told of all runs of the server, each once, also of those that are resumed; agents have their own besides. */
  readonly observers?: readonly Observer[];
  /** Told of what must not be shown to users, under the id they are shown instead. */
  readonly onError?: (error: unknown, errorId: string) => void;
  /** Sessions held at once; 4,000 when absent. More wait, in the log, until one is let go of. */
  readonly maxSessions?: number;
  /** Sessions opened at once; 32 when absent. */
  readonly maxOpening?: number;
  /** How long a session without anything to do is kept; 2 seconds when absent. */
  readonly lingerMs?: number;
  /** Between two looks for sessions that nobody holds and that need somebody; 5 seconds when absent. */
  readonly sweepMs?: number;
  /** Leases, queues and limits of the sessions. */
  readonly session?: Pick<
    SessionOptions,
    "ttlMs" | "maxQueuedRuns" | "maxCancelsAhead" | "maxBacklogBytes" | "cancelAheadMs" | "inboxMs" | "now"
  >;
}

const MAX_SESSIONS = 4000;
const MAX_OBSERVED = 10_000;
/** A longer timer would go off at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function createRunDesk(options: RunDeskOptions): RunDesk {
  const { log, observers = [], maxSessions = MAX_SESSIONS, maxOpening = 32, lingerMs = 2000, sweepMs = 5000 } = options;
  const roster = new AgentRoster(log, options.agents, {
    chosen: options.defaultAgent,
    blobs: options.blobs,
    admit: options.admit,
  });
  const reporter = new ErrorReporter(options.onError);
  const onError = (error: unknown): void => void reporter.report(error);
  const observation = new Observation(observers, { onError, maxSessions: Math.max(MAX_OBSERVED, maxSessions) });
  const held = new HeldSessions({
    log,
    session: {
      ...options.session,
      ...observation.tap(log),
      ...roster.serve(),
      ...(options.onError === undefined ? {} : { onError: options.onError }),
    },
    maxSessions,
    maxOpening,
    lingerMs,
    onError,
  });
  const orphans = new OrphanWatch(log, held, { sweepMs, onError });
  let closing: Promise<void> | undefined;

  const close = async ({ graceMs }: CloseRunsOptions): Promise<void> => {
    orphans.stop();
    const grace = Promise.withResolvers<void>();
    const timer = setTimeout(grace.resolve, Math.min(Math.max(0, graceMs), MAX_TIMER_MS));
    await held.close(grace.promise);
    clearTimeout(timer);
    await observation.idle();
  };

  return {
    agents: roster.infos,
    resolveAgent: (name) => roster.resolve(name),
    attend: (sessionId) => held.attend(sessionId),
    start: () => orphans.start(),
    get size() {
      return held.size;
    },
    get liveRuns() {
      return held.liveRuns;
    },
    close: (how) => (closing ??= close(how)),
  };
}
