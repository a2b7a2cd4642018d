/**
 * Decides what happens to a run whose process died, from its records:
 *
 * - A foreign run ends as `interrupted`, because only its sender could continue it.
 * - A run with nothing but its start is executed from the beginning, if `restart` is given.
 * - A run with a checkpoint is resumed, if `resume` accepts it and no answer text was sent since the checkpoint.
 * - It is left live for another process, if `mayLeave` allows that.
 * - A run that waits for an approval keeps waiting, if no answer text was sent and `mayWait` allows it.
 * - Any other run ends as `interrupted`, because sent text cannot be taken back.
 *
 * It does not know sessions and takes no lease.
 */
import { followRecords } from "../log/follow-records.ts";
import type { Log, RunInfo } from "../log/log.ts";
import type { EventOf, ToolRules } from "../protocol/index.ts";
import { isReasoningLevel, type ReasoningLevel } from "../protocol/reasoning-level.ts";
import { DENY_ALL, readToolRules } from "../protocol/tool-rules.ts";
import { AnswerText } from "./answer-text.ts";
import { type RunCheckpoint, type OpenToolCall, OpenWork } from "./open-work.ts";
import { Run } from "./run.ts";
import type { RunFailure, RunHost } from "./run-contract.ts";
import { rejectHandled } from "./sequencer.ts";
import { showWarning } from "./show-warning.ts";

/** A run whose process died, as passed to `resume`. */
export interface DeadRun {
  /** The same run, which continues its event IDs and counts. */
  readonly run: Run;
  readonly checkpoint: RunCheckpoint;
  /** Calls that may still be executed: calls that had not started, and started calls of idempotent tools. */
  readonly calls: readonly OpenToolCall[];
}

/** How a session continues the runs of a dead process. */
export interface RecoveryOptions {
  /** Resumes the run from its checkpoint. Return undefined to decline. */
  readonly resume?: (dead: DeadRun) => Promise<void> | undefined;
  /** Executes a run that had only been started. Without it, such a run ends as `interrupted`. */
  readonly restart?: (run: Run) => Promise<void>;
  /** If false, a run that `resume` declines ends even if it waits for an approval. Default: true. */
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

const PAGE_OF_RUNS = 100;

/**
 * Lists the live runs of a session, oldest first. A local writer leaves at most one; imported sessions may have more.
 */
export async function listLiveRuns(log: Log, sessionId: string): Promise<readonly RunInfo[]> {
  const found: RunInfo[] = [];
  const { lastId = 0 } = (await log.getSession(sessionId)) ?? {};
  // Runs that are live at the end of the log started after this record.
  const from = await log.findFoldStart(sessionId, lastId);
  let after: string | undefined;
  for (;;) {
    const page = await log.listRuns(sessionId, { limit: PAGE_OF_RUNS, ...(after === undefined ? {} : { after }) });
    found.push(...page.filter(({ status }) => status === "live"));
    const last = page.at(-1);
    if (last === undefined || last.firstId <= from || page.length < PAGE_OF_RUNS) return found.toReversed();
    after = last.runId;
  }
}

/** Restores a run from its records, which are read page by page. */
export async function restoreRun(
  host: RunHost,
  log: Log,
  { runId, firstId, requestId, agent }: RunInfo,
  maxReplyCharacters: number,
): Promise<Run> {
  const work = new OpenWork();
  const answer = new AnswerText(maxReplyCharacters);
  let message: string | undefined;
  let attachments: EventOf<"run_start">["attachments"];
  let actor: string | undefined;
  let reasoning: ReasoningLevel | undefined;
  let capabilities: readonly string[] | undefined;
  // Without a readable `run_start`, the run must not use any tool.
  let toolRules: ToolRules | undefined = DENY_ALL;
  for await (const page of followRecords(log, host.sessionId, { after: firstId - 1 })) {
    for (const record of page.records) {
      if (record.envelope.run_id !== runId) continue;
      if (record.event.type === "run_start") {
        const start = record.event as EventOf<"run_start">;
        ({ message, attachments, actor, capabilities } = start);
        reasoning = isReasoningLevel(start.reasoning) ? start.reasoning : undefined;
        toolRules = readToolRules(start.tool_rules);
      }
      work.add(record);
      answer.add(record);
    }
  }
  const origin = { runId, requestId, agent, message, attachments, reasoning, actor, toolRules, capabilities };
  return new Run(host, origin, work, answer);
}

/** Ends a run that cannot be continued. */
export function endInterrupted(run: Run): { readonly outcome: "ended"; readonly completion: Promise<unknown> } {
  return { outcome: "ended", completion: run.fail(INTERRUPTED) };
}

/** Decides what happens to the run and starts that. `completion` is the work to wait for. */
export function recoverRun(
  run: Run,
  options: RecoveryOptions & { readonly mayLeave?: boolean },
): { readonly outcome: RecoveredRun["outcome"]; readonly completion?: Promise<unknown> } {
  const { resume, restart, isIdempotent = () => false, mayWait = true, mayLeave = false } = options;
  const { work } = run;
  if (work.isForeign) return endInterrupted(run);
  if (restart !== undefined && work.frames === 1) return { outcome: "resumed", completion: restart(run) };
  run.expireApprovals();
  const mayGoOn = !work.hasAnswered;
  const { checkpoint } = work;
  if (mayGoOn && resume !== undefined && checkpoint !== undefined) {
    const mayStillRun = ({ state, name = "" }: OpenToolCall) =>
      state === "started" ? isTrue(() => isIdempotent(name, run)) : state !== "streaming";
    run.close({ reason: "interrupted", code: "interrupted", keep: mayStillRun });
    const completion = attempt(resume, { run, checkpoint, calls: [...work.calls].map((call) => ({ ...call })) });
    if (completion !== undefined) return { outcome: "resumed", completion };
  }
  if (mayGoOn && mayLeave && checkpoint !== undefined) return { outcome: "left" };
  if (mayGoOn && mayWait && work.waiting.some(({ callId }) => callId !== undefined)) return { outcome: "waiting" };
  return endInterrupted(run);
}

/** If the check throws, the tool counts as not idempotent. */
function isTrue(ask: () => boolean): boolean {
  try {
    return ask();
  } catch (error) {
    showWarning(error);
    return false;
  }
}

/** Turns a synchronous exception into a rejection. */
function attempt(resume: NonNullable<RecoveryOptions["resume"]>, dead: DeadRun): Promise<void> | undefined {
  try {
    return resume(dead);
  } catch (error) {
    return rejectHandled(error);
  }
}
