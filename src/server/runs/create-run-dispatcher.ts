/**
 * Creates the run dispatcher of a server from its agents, the sessions it holds and the sweep for orphaned sessions.
 */
import type { AgentBlobs } from "../../agents/attachments.ts";
import type { Run, SessionOptions } from "../../engine/index.ts";
import { ErrorReporter } from "../../engine/error-reporter.ts";
import type { Log } from "../../log/index.ts";
import { Observation, type Observer } from "../../observe/index.ts";
import { HeldSessions } from "./held-sessions.ts";
import { OrphanWatch } from "./orphan-watch.ts";
import type { CloseRunsOptions, RunDispatcher } from "./run-dispatcher.ts";
import { SessionTitles } from "./session-titles.ts";
import { AgentRegistry, type ServedAgents } from "./agent-registry.ts";
import { limitTimer } from "../../protocol/limit-timer.ts";

export interface RunDispatcherOptions {
  readonly log: Log;
  readonly agents: ServedAgents;
  /** The agent for messages that name none. Default: the first one. */
  readonly defaultAgent?: string;
  /** Called when a run is about to start, which may be long after it was requested. Rejects to refuse it. */
  readonly admit?: ((run: Pick<Run, "request" | "signal">) => Promise<void>) | undefined;
  /** Counts model tokens that were used for a principal outside of a run. */
  readonly onUsage?: ((actor: string, tokens: number) => void) | undefined;
  /** The files of sessions, for models and tools. */
  readonly blobs?: AgentBlobs | undefined;
  /** Observe every run of the server, including resumed ones. Agents can have additional observers. */
  readonly observers?: readonly Observer[];
  /** Called with errors that are hidden from users, and the ID that users see instead. */
  readonly onError?: (error: unknown, errorId: string) => void;
  /** Maximum sessions held at the same time; others wait in the log. Default: 4,000. */
  readonly maxSessions?: number;
  /** Maximum sessions opened at the same time. Default: 32. */
  readonly maxOpening?: number;
  /** How long an idle session is kept open, in milliseconds. Default: 2,000. */
  readonly lingerMs?: number;
  /** The interval between sweeps for orphaned sessions, in milliseconds. Default: 5,000, at most half of a lease. */
  readonly sweepMs?: number;
  /** Leases, queues and limits of the sessions. */
  readonly session?: Pick<
    SessionOptions,
    | "ttlMs"
    | "maxQueuedRuns"
    | "maxEarlyCancels"
    | "maxBacklogBytes"
    | "earlyCancelMs"
    | "inboxMs"
    | "now"
    | "maxAttempts"
    | "maxHandOvers"
    | "onInterruption"
  >;
}

const MAX_SESSIONS = 4000;
const MAX_SWEEP_MS = 5000;
const MIN_OBSERVED_SESSIONS = 10_000;
export function createRunDispatcher(options: RunDispatcherOptions): RunDispatcher {
  const { log, observers = [], maxSessions = MAX_SESSIONS, maxOpening = 32, lingerMs = 2000 } = options;
  const { sweepMs = Math.min(MAX_SWEEP_MS, (options.session?.ttlMs ?? Infinity) / 2) } = options;
  const registry = new AgentRegistry(log, options.agents, {
    defaultAgent: options.defaultAgent,
    blobs: options.blobs,
    onError: options.onError,
    admit: options.admit,
    onRun: (run) => titles.watch(run),
  });
  const reporter = new ErrorReporter(options.onError);
  const onError = (error: unknown): void => void reporter.report(error);
  const titles = new SessionTitles({
    log,
    find: (agent) => registry.findTitleWriter(agent),
    onUsage: options.onUsage,
    onError,
  });
  const observation = new Observation(observers, {
    onError,
    maxSessions: Math.max(MIN_OBSERVED_SESSIONS, maxSessions),
  });
  const held = new HeldSessions({
    log,
    session: {
      ...options.session,
      ...observation.tap(log),
      ...registry.createSessionHandlers(),
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
    const timer = setTimeout(grace.resolve, limitTimer(Math.max(0, graceMs)));
    await held.close(grace.promise);
    clearTimeout(timer);
    await titles.close();
    await observation.idle();
  };

  return {
    agents: registry.infos,
    resolveAgent: (name, demands) => registry.resolve(name, demands),
    dispatch: (sessionId) => held.dispatch(sessionId),
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
