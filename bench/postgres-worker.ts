/**
 * A process with a log in PostgreSQL that answers messages or follows idle sessions for a while, and reports the runs that
 * ended and its processor time; see `postgres-processes.ts`.
 */
import { setTimeout as pause } from "node:timers/promises";
import { agent } from "../src/agents/index.ts";
import { followRecords } from "../src/log/index.ts";
import { openPostgresLog } from "../src/log/postgres/postgres-log.ts";
import { isLoomError } from "../src/protocol/index.ts";
import { WordyModel } from "./wordy-model.ts";

/** Answer messages: `concurrency` at a time, each in a new session, with a model that waits before its words. */
export interface AnswerTask {
  readonly kind: "answer";
  readonly concurrency: number;
  readonly waitMs: number;
  readonly words: number;
  readonly warmUpMs: number;
  readonly ms: number;
}

/** Follow sessions that do not change. */
export interface FollowTask {
  readonly kind: "follow";
  readonly sessions: readonly string[];
  readonly warmUpMs: number;
  readonly ms: number;
}

export interface WorkerReport {
  readonly runs: number;
  /** Processor time divided by wall time. */
  readonly share: number;
  /** Reads that failed while the share was measured. */
  readonly failedReads: number;
}

/** How many readers start per millisecond. */
const READERS_PER_MS = 0.5;

const [, , url = ""] = process.argv;
const log = await openPostgresLog(url);
let count = 0;

async function answer({ concurrency, waitMs, words, warmUpMs, ms }: AnswerTask): Promise<WorkerReport> {
  const actor = agent({ model: new WordyModel(words, { waitMs }), log, metrics: false });
  let runs = 0;
  const stop = new AbortController();
  const loops = Array.from({ length: concurrency }, async (_, index) => {
    // Loops in step would make the load uneven.
    await pause((waitMs * index) / concurrency);
    while (!stop.signal.aborted) {
      // Rejects if the run does not complete.
      await actor.run("Talk", { sessionId: `bench-${process.pid}-${++count}` });
      runs++;
    }
  });
  await pause(warmUpMs);
  const before = runs;
  const share = await measureShare(ms);
  const ended = runs - before;
  stop.abort();
  await Promise.all(loops);
  await actor.close();
  return { runs: ended, share, failedReads: 0 };
}

async function follow({ sessions, warmUpMs, ms }: FollowTask): Promise<WorkerReport> {
  const stop = new AbortController();
  let faults = 0;
  const readers = sessions.map(async (sessionId, index) => {
    await pause(index / READERS_PER_MS);
    while (!stop.signal.aborted)
      try {
        for await (const page of followRecords(log, sessionId, { after: 0, follow: true, signal: stop.signal }))
          if (page.lastId > 0) throw new Error("an idle session has a record");
      } catch (error) {
        // A read that waits too long for a connection. A client would connect again.
        if (!isLoomError(error, "store_unavailable")) throw error;
        faults++;
        await pause(1000);
      }
  });
  await pause(warmUpMs);
  const before = faults;
  const share = await measureShare(ms);
  const failedReads = faults - before;
  stop.abort();
  await Promise.all(readers);
  return { runs: 0, share, failedReads };
}

async function measureShare(ms: number): Promise<number> {
  const before = process.cpuUsage();
  const began = performance.now();
  await pause(ms);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / (performance.now() - began);
}

async function execute(task: AnswerTask | FollowTask): Promise<void> {
  process.send?.(await (task.kind === "answer" ? answer(task) : follow(task)));
}

process.on("message", (task: AnswerTask | FollowTask) => void execute(task));
process.on("disconnect", () => void log.close());
process.send?.("ready");
