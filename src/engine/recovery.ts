/**
 * Decides what happens to a run whose process died, from its records:
 *
 * - A run at the checkpoint where its session was forked is resumed in any case, if `resume` accepts it: no process died.
 *   Attempts and time of the original do not count.
 * - A foreign run ends as `interrupted`, because only its sender could continue it.
 * - A run with `onInterruption: "fail"` ends as `interrupted`, unless it has a checkpoint and only waits for the user.
 * - A run with a checkpoint is resumed, if `canResume` and `resume` accept it. Its interrupted node runs are run again, and
 *   their text no longer counts.
 * - A run without a checkpoint is executed from the beginning by `restart`, if it has called no tool and sent no answer,
 *   or if `canRestart` accepts it.
 * - Both are attempts, unless the run only waited for the user, or ended with the decision of the user. After `maxAttempts`, it ends as `too_many_attempts`. An
 *   attempt that its process handed over when it stopped does not count, up to `maxHandOvers`.
 * - A run that cannot be continued here is left live for another process, if `mayLeave` allows that.
 * - A run that waits for an approval or for a result of the client keeps waiting, if `mayWait` allows it.
 * - Any other run ends as `interrupted`.
 *
 * It does not know sessions and takes no lease.
 */
import { followRecords } from "../log/follow-records.ts";
import type { ForkOrigin, Log, RunInfo } from "../log/log.ts";
import { readRuns } from "../log/read-pages.ts";
import { isKindName } from "../protocol/agent-kinds.ts";
import type { EventOf } from "../protocol/index.ts";
import { DENY_ALL } from "../protocol/tool-rules.ts";
import { AnswerText } from "./answer-text.ts";
import { type RunCheckpoint, type RunFork, type OpenToolCall, OpenWork } from "./open-work.ts";
import { Run } from "./run.ts";
import type { RunFailure, RunHost } from "./run-contract.ts";
import { type OnInterruption, readRunStart, type RunOrigin } from "./run-origin.ts";
import { rejectHandled } from "./sequencer.ts";
import { showWarning } from "./error-reporter.ts";

/** A run whose process died, as passed to `resume`. */
export interface DeadRun {
  /** The same run, which continues its event IDs and counts. */
  readonly run: Run;
  readonly checkpoint: RunCheckpoint;
  /** Calls that may still end: not started, started calls of idempotent tools, and calls that the client carries out. */
  readonly calls: readonly OpenToolCall[];
}

/** How a session continues the runs of a dead process. */
export interface RecoveryOptions {
  /** Resumes the run from its checkpoint. Return undefined to decline. */
  readonly resume?: (dead: DeadRun) => Promise<void> | undefined;
  /** Whether `resume` or `restart` accepts the run, asked before anything is written. It must not write. Default: true. */
  readonly canResume?: (dead: Pick<DeadRun, "run" | "calls">) => boolean;
  /**
   * Executes a run without a checkpoint from the beginning. Without it, such a run ends as `interrupted`. A run that has
   * called tools or sent an answer is restarted only if `canRestart` accepts it.
   */
  readonly restart?: (run: Run) => Promise<void>;
  /** Whether `restart` also accepts a run that has called tools or sent an answer. It must not write. Default: false. */
  readonly canRestart?: (run: Run) => boolean;
  /**
   * Maximum attempts of a run, the first included, over all processes. Attempts that only waited for the user, or whose
   * process stopped and handed the run over, do not count. Code `too_many_attempts`. Default: 3.
   */
  readonly maxAttempts?: number;
  /**
   * How many times a run may be handed over before further ones count as attempts: a run may be the reason why its
   * processes are stopped. Default: 100.
   */
  readonly maxHandOvers?: number;
  /** What to do with a run whose request does not say it: continue it (`resume`, the default), or end it (`fail`). */
  readonly onInterruption?: OnInterruption;
  /** If false, a run that `resume` declines ends even if it waits for the user or the client. Default: true. */
  readonly mayWait?: boolean;
  /** Returns true for a tool that may be run again after it had started. Default: no tool. */
  readonly isIdempotent?: (name: string, run: Run) => boolean;
}

/** What happened to a run whose process died. */
export interface RecoveredRun {
  readonly runId: string;
  /** `left`: the run is live, and another process may resume it. */
  readonly outcome: "resumed" | "waiting" | "left" | "ended";
}

export const INTERRUPTED: RunFailure = {
  message: "The process that executed this run ended unexpectedly",
  code: "interrupted",
  recoverable: true,
};

const MAX_ATTEMPTS = 3;
const MAX_HAND_OVERS = 100;
const CONTINUES = "The process that executed this run ended unexpectedly; the run continues";
const HANDED_OVER = {
  message: "The process that executed this run stopped; the run continues",
  details: { handed_over: true },
} as const;

const FORKED = { message: "The run continues from a checkpoint", details: { forked: true } } as const;
const FORKED_AND_EDITED = {
  message: "The run continues from a checkpoint with an edited state",
  details: { forked: true, state_edited: true },
} as const;

/**
 * Lists the live runs of a session, oldest first. A local writer leaves at most one; imported sessions may have more.
 */
export async function listLiveRuns(log: Log, sessionId: string): Promise<readonly RunInfo[]> {
  const found: RunInfo[] = [];
  const { lastId = 0 } = (await log.getSession(sessionId)) ?? {};
  // Runs that are live at the end of the log started after this record.
  const from = await log.findFoldStart(sessionId, lastId);
  for await (const run of readRuns(log, sessionId)) {
    if (run.status === "live") found.push(run);
    if (run.firstId <= from) break;
  }
  return found.toReversed();
}

/** Restores a run from its records, which are read page by page. */
export async function restoreRun(host: RunHost, log: Log, { runId, firstId, requestId, agent }: RunInfo): Promise<Run> {
  const { forkedFrom } = (await log.getSession(host.sessionId)) ?? {};
  const work = new OpenWork();
  let isReadable = true;
  const answer = new AnswerText(log.limits.maxEventBytes);
  // Without a readable `run_start`, the run must not use any tool.
  let origin: Partial<RunOrigin> = { toolRules: DENY_ALL };
  for await (const page of followRecords(log, host.sessionId, { after: firstId - 1 })) {
    for (const record of page.records) {
      if (record.envelope.run_id !== runId) continue;
      if (record.event.type === "run_start") {
        const recorded = readRunStart(record.event as EventOf<"run_start">);
        isReadable &&= recorded.isReadable;
        origin = recorded.origin;
      }
      work.add(record);
      work.isDecided = record.event.type === "tool_approval_result";
      answer.add(record);
    }
  }
  if (isReadable) work.fork = findFork(work, forkedFrom);
  // The next record sets it.
  if (work.fork !== undefined) work.startedAt = undefined;
  const onInterruption = isReadable ? origin.onInterruption : "fail";
  return new Run(host, { ...origin, runId, requestId, agent, onInterruption }, work, answer);
}

/**
 * Returns undefined if the run has records after the fork, apart from the checkpoint with the replaced values: a run that
 * continues writes a notice first.
 */
function findFork({ checkpoint, lastId = 0 }: OpenWork, origin: ForkOrigin | undefined): RunFork | undefined {
  if (checkpoint === undefined || origin === undefined) return undefined;
  if (lastId <= origin.eventId) return { isEdited: false };
  return lastId === origin.eventId + 1 && checkpoint.eventId === lastId ? { isEdited: true } : undefined;
}

/** Ends a run that cannot be continued. */
export function endInterrupted(run: Run): { readonly outcome: "ended"; readonly completion: Promise<unknown> } {
  return { outcome: "ended", completion: run.fail(INTERRUPTED) };
}

/** Decides what happens to the run and starts that. `completion` is the work to wait for. */
export function recoverRun(
  run: Run,
  options: RecoveryOptions & {
    readonly mayLeave?: boolean;
    /** The last writer of the session stopped and handed the run over. */
    readonly wasHandedOver?: boolean;
  },
): { readonly outcome: RecoveredRun["outcome"]; readonly completion?: Promise<unknown> } {
  const { maxAttempts = MAX_ATTEMPTS, onInterruption = "resume", mayWait = true, mayLeave = false } = options;
  const { wasHandedOver = false, maxHandOvers = MAX_HAND_OVERS } = options;
  const { work } = run;
  if (work.isForeign) return endInterrupted(run);
  run.expireCalls();
  // A process that ended after it stored the decision of the user interrupted nothing either.
  const isWaiting = work.isIdle && (work.needsAnswer || work.isDecided);
  const { fork } = work;
  const canWait = fork !== undefined || (isWaiting && work.checkpoint !== undefined);
  if (!canWait && (run.request.onInterruption ?? onInterruption) === "fail") return endInterrupted(run);
  const keep = createFilter(run, options);
  const start = chooseStart(run, options, keep);
  if (start !== undefined) {
    const attempt = work.attempt + 1;
    const failed = work.attempt - work.attemptsBefore - Math.min(work.handOvers, maxHandOvers);
    const isFree = fork !== undefined || isWaiting || (wasHandedOver && work.handOvers < maxHandOvers);
    const mayContinue = isFree || failed < maxAttempts;
    const cause = describeCause(fork, wasHandedOver);
    const announcement = { type: "error", ...INTERRUPTED, ...cause, attempt } as const;
    run.close(
      { reason: "interrupted", code: "interrupted", ...(mayContinue ? { keep } : {}) },
      (isWaiting && fork === undefined) || !mayContinue ? undefined : announcement,
    );
    if (!mayContinue) return { outcome: "ended", completion: run.fail(describeTooMany(failed, wasHandedOver)) };
    const completion = start();
    if (completion !== undefined) return { outcome: "resumed", completion };
  }
  if (mayLeave && (work.checkpoint !== undefined || work.isFresh || mayAnswerAgain(run))) return { outcome: "left" };
  const unanswered = [...work.waiting, ...work.delegated];
  if (mayWait && unanswered.some(({ callId }) => callId !== undefined)) return { outcome: "waiting" };
  return endInterrupted(run);
}

/** Whether the run may belong to an agent of another framework, which has no checkpoints and answers again. */
function mayAnswerAgain({ agent }: Run): boolean {
  return agent !== undefined && !isKindName(agent);
}

/**
 * Returns which open calls may still be executed. A call inside another call is not one of them: if the outer call is
 * executed again, it makes its calls again.
 */
function createFilter(run: Run, { isIdempotent = () => false }: RecoveryOptions): (call: OpenToolCall) => boolean {
  return ({ state, name = "", isNested }) =>
    isNested === true ? false : state === "started" ? isTrue(() => isIdempotent(name, run)) : state !== "streaming";
}

/** Returns what continues the run. Undefined if nothing here can. */
function chooseStart(
  run: Run,
  { resume, restart, canRestart = () => false, canResume = () => true }: RecoveryOptions,
  keep: (call: OpenToolCall) => boolean,
): (() => Promise<void> | undefined) | undefined {
  const { checkpoint, isFresh } = run.work;
  const calls = [...run.work.calls].filter(keep).map((call) => ({ ...call }));
  if (!isTrue(() => canResume({ run, calls }))) return undefined;
  if (checkpoint !== undefined)
    return resume === undefined ? undefined : () => attemptTo(() => resume({ run, checkpoint, calls }));
  if (restart === undefined || !(isFresh || isTrue(() => canRestart(run)))) return undefined;
  return () => attemptTo(() => restart(run));
}

function describeCause(fork: RunFork | undefined, wasHandedOver: boolean): Pick<RunFailure, "message" | "details"> {
  if (fork !== undefined) return fork.isEdited ? FORKED_AND_EDITED : FORKED;
  return wasHandedOver ? HANDED_OVER : { message: CONTINUES };
}

function describeTooMany(attempts: number, wasHandedOver: boolean): RunFailure {
  const times = attempts === 1 ? "once" : `${attempts} times`;
  const what = wasHandedOver ? "was stopped too often" : `ended unexpectedly ${times}`;
  const message = `The process that executed this run ${what}; the run is not tried again`;
  return { message, code: "too_many_attempts", recoverable: false };
}

/** If the check throws, the answer is no. */
function isTrue(ask: () => boolean): boolean {
  try {
    return ask();
  } catch (error) {
    showWarning(error);
    return false;
  }
}

/** Turns a synchronous exception into a rejection. */
function attemptTo(start: () => Promise<void> | undefined): Promise<void> | undefined {
  try {
    return start();
  } catch (error) {
    return rejectHandled(error);
  }
}
