/**
 * What becomes of a run whose process died. Its records say how far it came; this reads them and decides:
 *
 * - there is a checkpoint, somebody who can go on from it, and no answer text of the work in progress: it is resumed;
 * - it waits for the user, and nothing was said meanwhile: it waits on;
 * - otherwise it ends as an error, `interrupted`, since text that was sent cannot be taken back.
 *
 * It knows no session and takes no lease.
 */
import type { Log, RunInfo } from "../log/log.ts";
import type { EventOf } from "../protocol/index.ts";
import { AnswerText } from "./answer-text.ts";
import { type Checkpoint, type OpenCall, OpenWork } from "./open-work.ts";
import type { Run } from "./run.ts";
import type { RunFailure, RunOrigin } from "./run-contract.ts";
import { refuse } from "./sequencer.ts";

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
  /** True for a tool that may be run again although it had started. */
  readonly isIdempotent?: (name: string) => boolean;
}

export interface RecoveredRun {
  readonly runId: string;
  readonly outcome: "resumed" | "waiting" | "ended";
}

export const INTERRUPTED: RunFailure = {
  message: "the process that carried out this run is gone",
  code: "interrupted",
  recoverable: true,
};

const PAGE_OF_RUNS = 100;

/** Runs without an end, oldest first. A sender of ours leaves one at most, and it is the newest. */
export async function listLiveRuns(log: Log, sessionId: string): Promise<readonly RunInfo[]> {
  const found: RunInfo[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await log.listRuns(sessionId, { limit: PAGE_OF_RUNS, ...(after === undefined ? {} : { after }) });
    const live = page.filter(({ status }) => status === "live");
    found.push(...live);
    after = page.at(-1)?.runId;
    if (live.length === 0 || page.length < PAGE_OF_RUNS) return found.toReversed();
  }
}

export interface StoredRun {
  readonly origin: RunOrigin;
  readonly work: OpenWork;
  readonly answer: AnswerText;
}

/** Reads a run's records back, page by page. */
export async function readStoredRun(
  log: Log,
  sessionId: string,
  { runId, firstId, requestId, agent }: RunInfo,
  maxReplyCharacters: number,
): Promise<StoredRun> {
  const work = new OpenWork();
  const answer = new AnswerText(maxReplyCharacters);
  let message: string | undefined;
  let after = firstId - 1;
  for (;;) {
    const page = await log.read(sessionId, { after });
    if (page.isEmpty) break;
    for (const record of page.records) {
      if (record.envelope.run_id !== runId) continue;
      if (record.event.type === "run_start") ({ message } = record.event as EventOf<"run_start">);
      work.add(record);
      answer.add(record);
    }
    after = page.lastId;
  }
  return { origin: { runId, requestId, agent, message }, work, answer };
}

/** Decides, and begins what was decided; `going` is what must be waited for. */
export function recoverRun(
  run: Run,
  { resume, isIdempotent = () => false }: RecoveryOptions,
): { readonly outcome: RecoveredRun["outcome"]; readonly going?: Promise<unknown> } {
  run.expire();
  const { work } = run;
  const mayGoOn = !work.hasAnswered;
  const { checkpoint } = work;
  if (mayGoOn && resume !== undefined && checkpoint !== undefined) {
    const mayStillRun = ({ state, name = "" }: OpenCall) =>
      state === "started" ? isIdempotent(name) : state !== "streaming";
    run.close({ reason: "interrupted", code: "interrupted", keep: mayStillRun });
    const going = attempt(resume, { run, checkpoint, calls: [...work.calls].map((call) => ({ ...call })) });
    if (going !== undefined) return { outcome: "resumed", going };
  }
  if (mayGoOn && work.waiting.some(({ callId }) => callId !== undefined)) return { outcome: "waiting" };
  return { outcome: "ended", going: run.fail(INTERRUPTED) };
}

/** A function that throws at once is like one that fails later. */
function attempt(resume: NonNullable<RecoveryOptions["resume"]>, dead: DeadRun): Promise<void> | undefined {
  try {
    return resume(dead);
  } catch (error) {
    return refuse(error);
  }
}
