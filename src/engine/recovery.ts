/**
 * What becomes of a run whose process died. Its records say how far it came; this reads them and decides:
 *
 * - it was somebody else's, who told of it here: it ends as an error, `interrupted`, since only its sender could go on;
 * - nothing of it but its start is there, and somebody begins it again: it is carried out as if it began now;
 * - there is a checkpoint, somebody who can go on from it, and no answer text of the work in progress: it is resumed;
 * - there is nobody here who can, but might be elsewhere, and the session was opened for something else: it is left;
 * - it waits for the user, nothing was said meanwhile, and somebody may still come who goes on with it: it waits on;
 * - otherwise it ends as an error, `interrupted`, since text that was sent cannot be taken back.
 *
 * It knows no session and takes no lease.
 */
import { followRecords } from "../log/follow-records.ts";
import type { Log, RunInfo } from "../log/log.ts";
import { DENY_ALL, type EventOf, readToolRules, type ToolRules } from "../protocol/index.ts";
import { AnswerText } from "./answer-text.ts";
import { type Checkpoint, type OpenCall, OpenWork } from "./open-work.ts";
import { Run } from "./run.ts";
import type { RunFailure, RunHost } from "./run-contract.ts";
import { refuse } from "./sequencer.ts";
import { showWarning } from "./show-warning.ts";

export interface DeadRun {
  /** Goes on with the same run: its counts and ids continue. */
  readonly run: Run;
  readonly checkpoint: Checkpoint;
  /** Calls that may still be carried out: those that had not started, and started ones that may be repeated. */
  readonly calls: readonly OpenCall[];
}

export interface RecoveryOptions {
  /** Goes on from the checkpoint; `undefined` declines. */
  readonly resume?: (dead: DeadRun) => Promise<void> | undefined;
  /** Carries out a run that had only started: nothing was done for it, and nobody was told more. Without it, it ends. */
  readonly beginAgain?: (run: Run) => Promise<void>;
  /** False: a run that `resume` declines ends even where it waits for the user, since nobody else will come. */
  readonly mayWait?: boolean;
  /** True for a tool that may be run again although it had started. */
  readonly isIdempotent?: (name: string, run: Run) => boolean;
}

export interface RecoveredRun {
  readonly runId: string;
  /** `left`: it is live, and whoever can resume it may. */
  readonly outcome: "resumed" | "waiting" | "left" | "ended";
}

export const INTERRUPTED: RunFailure = {
  message: "the process that carried out this run is gone",
  code: "interrupted",
  recoverable: true,
};

const PAGE_OF_RUNS = 100;

/** Runs without an end, oldest first. A sender of ours leaves one at most, and it is the newest; imports may hold more. */
export async function listLiveRuns(log: Log, sessionId: string): Promise<readonly RunInfo[]> {
  const found: RunInfo[] = [];
  const { lastId = 0 } = (await log.getSession(sessionId)) ?? {};
  // No run that is live at the end began before this.
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

/** When the session was last written, by the clock of whoever did. */
export async function readLastTime(
  log: Log,
  { sessionId, lastId }: { sessionId: string; lastId: number },
): Promise<number> {
  if (lastId === 0) return 0;
  const info = await log.getSession(sessionId);
  if (info === undefined || info.firstId > lastId) return info?.updatedAt ?? 0;
  const { records } = await log.read(sessionId, { after: lastId - 1, limit: 1 });
  return records[0]?.envelope.ts ?? 0;
}

/** A run as its records left it, which are read back page by page. */
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
  // A run whose beginning cannot be read may do nothing.
  let toolRules: ToolRules | undefined = DENY_ALL;
  for await (const page of followRecords(log, host.sessionId, { after: firstId - 1 })) {
    for (const record of page.records) {
      if (record.envelope.run_id !== runId) continue;
      if (record.event.type === "run_start") {
        const start = record.event as EventOf<"run_start">;
        ({ message, attachments, actor } = start);
        toolRules = readToolRules(start.tool_rules);
      }
      work.add(record);
      answer.add(record);
    }
  }
  return new Run(host, { runId, requestId, agent, message, attachments, actor, toolRules }, work, answer);
}

/** What becomes of a run that nobody goes on with. */
export function endRun(run: Run): { readonly outcome: "ended"; readonly going: Promise<unknown> } {
  return { outcome: "ended", going: run.fail(INTERRUPTED) };
}

/** Decides, and begins what was decided; `going` is what must be waited for. */
export function recoverRun(
  run: Run,
  options: RecoveryOptions & { readonly mayLeave?: boolean },
): { readonly outcome: RecoveredRun["outcome"]; readonly going?: Promise<unknown> } {
  const { resume, beginAgain, isIdempotent = () => false, mayWait = true, mayLeave = false } = options;
  const { work } = run;
  if (work.isForeign) return endRun(run);
  if (beginAgain !== undefined && work.frames === 1) return { outcome: "resumed", going: beginAgain(run) };
  run.expire();
  const mayGoOn = !work.hasAnswered;
  const { checkpoint } = work;
  if (mayGoOn && resume !== undefined && checkpoint !== undefined) {
    const mayStillRun = ({ state, name = "" }: OpenCall) =>
      state === "started" ? isTrue(() => isIdempotent(name, run)) : state !== "streaming";
    run.close({ reason: "interrupted", code: "interrupted", keep: mayStillRun });
    const going = attempt(resume, { run, checkpoint, calls: [...work.calls].map((call) => ({ ...call })) });
    if (going !== undefined) return { outcome: "resumed", going };
  }
  if (mayGoOn && mayLeave && checkpoint !== undefined) return { outcome: "left" };
  if (mayGoOn && mayWait && work.waiting.some(({ callId }) => callId !== undefined)) return { outcome: "waiting" };
  return endRun(run);
}

/** A tool nobody can speak for is not run again. */
function isTrue(ask: () => boolean): boolean {
  try {
    return ask();
  } catch (error) {
    showWarning(error);
    return false;
  }
}

/** A function that throws at once is like one that fails later. */
function attempt(resume: NonNullable<RecoveryOptions["resume"]>, dead: DeadRun): Promise<void> | undefined {
  try {
    return resume(dead);
  } catch (error) {
    return refuse(error);
  }
}
