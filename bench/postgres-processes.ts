/**
 * Several processes with one PostgreSQL database: how many runs one and three carry with a model that waits, where the
 * limit is, and what it costs to follow many idle sessions.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import pg from "pg";
import { print, report, times } from "./measure.ts";
import type { AnswerTask, FollowTask, WorkerReport } from "./postgres-worker.ts";

const WORDS = 100;

/** Clock ticks of `/proc` per second on Linux. */
const TICKS = 100;

async function startWorkers(url: string, count: number): Promise<readonly ChildProcess[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const worker = fork(new URL("postgres-worker.ts", import.meta.url), [url]);
      await once(worker, "message");
      return worker;
    }),
  );
}

async function stopWorkers(workers: readonly ChildProcess[]): Promise<void> {
  await Promise.all(
    workers.map(async (worker) => {
      worker.disconnect();
      await once(worker, "exit");
    }),
  );
}

interface Load {
  readonly runs: number;
  /** Reads that failed. */
  readonly failedReads: number;
  /** Processor time divided by wall time, of each process. */
  readonly shares: readonly number[];
  /** The same for all processes of the database; NaN if the system does not report it. */
  readonly database: number;
}

async function measure(
  client: pg.Client,
  workers: readonly ChildProcess[],
  taskOf: (index: number) => AnswerTask | FollowTask,
): Promise<Load> {
  const began = performance.now();
  const before = await readDatabaseMs(client);
  const reports = await Promise.all(
    workers.map(async (worker, index): Promise<WorkerReport> => {
      worker.send(taskOf(index));
      const failed = once(worker, "exit").then(() => Promise.reject(new Error("a process ended early")));
      const [message] = (await Promise.race([once(worker, "message"), failed])) as [WorkerReport];
      return message;
    }),
  );
  const database = ((await readDatabaseMs(client)) - before) / (performance.now() - began);
  const runs = total(reports.map((one) => one.runs));
  const failedReads = total(reports.map((one) => one.failedReads));
  return { runs, failedReads, shares: reports.map(({ share }) => share), database };
}

/** Processor time of the connections and other processes of the database. */
async function readDatabaseMs(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("SELECT pid FROM pg_stat_activity");
  try {
    return rows.reduce((sum, { pid }) => {
      // The name of the process, in brackets, may contain spaces.
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
      return sum + ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
    }, 0);
  } catch {
    return Number.NaN;
  }
}

function percent(share: number): string {
  return Number.isNaN(share) ? "unknown" : `${(share * 100).toFixed(1)} %`;
}

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

async function withWorkers<T>(
  url: string,
  count: number,
  use: (workers: readonly ChildProcess[], client: pg.Client) => Promise<T>,
): Promise<T> {
  const workers = await startWorkers(url, count);
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await use(workers, client);
  } finally {
    await client.end();
    await stopWorkers(workers);
  }
}

/** Runs of one and of three processes. Returns whether the goal is reached. */
export async function compareProcesses(url: string, isQuick: boolean): Promise<boolean> {
  const waiting: AnswerTask = isQuick
    ? { kind: "answer", concurrency: 10, waitMs: 500, words: WORDS, warmUpMs: 1000, ms: 3000 }
    : { kind: "answer", concurrency: 40, waitMs: 2000, words: WORDS, warmUpMs: 4000, ms: 20_000 };
  const seconds = waiting.ms / 1000;
  const loads = new Map<number, Load>();
  for (const count of [1, 3])
    loads.set(count, await withWorkers(url, count, (workers, client) => measure(client, workers, () => waiting)));
  const [one, three] = [loads.get(1), loads.get(3)];
  const ratio = (three?.runs ?? 0) / (one?.runs ?? 0);
  const rates = [one, three].map((load) => `${((load?.runs ?? 0) / seconds).toFixed(1)}/s`).join(" and ");
  const what = `runs of three processes, compared with one; ${waiting.concurrency} at a time per process, the model waits ${waiting.waitMs} ms`;
  const reached = report(what, times(ratio), "≥ 2 ×", ratio >= 2, rates);
  for (const [count, load] of loads)
    print(`      ${count} × process: ${percent(total(load.shares))} of a core, database ${percent(load.database)}`);
  const busy: AnswerTask = { ...waiting, waitMs: 0, concurrency: 20, warmUpMs: 1000 };
  const limit = await withWorkers(url, 3, (workers, client) => measure(client, workers, () => busy));
  const rate = limit.runs / seconds;
  print(
    `      limit with a model that does not wait: ${rate.toFixed(0)} runs/s, ${Math.round(rate * WORDS).toLocaleString("en")} tokens/s; ` +
      `processes ${percent(total(limit.shares))} of a core, database ${percent(limit.database)}`,
  );
  return reached;
}

/** Processor time for sessions that are followed and do not change. Returns whether the goal is reached. */
export async function measureIdle(url: string, isQuick: boolean): Promise<boolean> {
  const count = isQuick ? 1000 : 10_000;
  const client = new pg.Client(url);
  await client.connect();
  await client.query(
    `INSERT INTO loom.sessions (session_id, incarnation, owner, created_at, updated_at, first_id, last_id, epoch)
      SELECT 'idle-' || n, 'idle', 'local', 0, 0, 1, 0, 0 FROM generate_series(1, $1) n`,
    [count],
  );
  await client.query("ANALYZE loom.sessions");
  await client.end();
  const sessions = Array.from({ length: count }, (_, index) => `idle-${index + 1}`);
  const task: FollowTask = { kind: "follow", sessions, warmUpMs: isQuick ? 6000 : 40_000, ms: isQuick ? 3000 : 20_000 };
  const load = await withWorkers(url, 2, (workers, reader) => measure(reader, workers, () => task));
  const most = Math.max(...load.shares);
  const what = `processor time of a process that follows ${count.toLocaleString("en")} idle sessions`;
  const detail = load.failedReads === 0 ? `database ${percent(load.database)}` : `${load.failedReads} reads failed`;
  return report(what, percent(most), "≤ 5 % of a core", most <= 0.05 && load.failedReads === 0, detail);
}
