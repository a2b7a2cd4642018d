/**
 * Benchmarks of the log in PostgreSQL: durable events per second compared with the log in SQLite and with bare COPY
 * batches in the same run, the time until a reader in another process has an event, the runs of several processes, and
 * the cost of idle sessions. The server is a real one that syncs, started for the run.
 *
 * `--quick` takes fewer and shorter turns.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { createEntry } from "../src/log/entry.ts";
import type { Log } from "../src/log/index.ts";
import { openPostgresLog } from "../src/log/postgres/postgres-log.ts";
import { openSqliteLog } from "../src/log/sqlite/sqlite-log.ts";
import { startPostgres } from "../test/postgres-server.ts";
import { median, print, report, times } from "./measure.ts";
import { compareProcesses, measureIdle } from "./postgres-processes.ts";

const QUICK = process.argv.includes("--quick");
const WRITERS = 100;
const EVENTS = QUICK ? 100 : 300;
const TURNS = QUICK ? 2 : 5;

let reached = true;
let sessions = 0;

/** An entry whose text has 200 bytes. */
function entryAt(sessionId: string, id: number) {
  const envelope = { session_id: sessionId, run_id: "run-0001", node_id: "run-think-1", event_id: id, ts: 1.7e12 };
  const make = (content: string) => createEntry({ envelope, event: { type: "message_chunk", content, id: "think" } });
  return make("x".repeat(200 - make("").text.length));
}

type Write = (count: number) => Promise<void>;

async function openWriter(log: Log, sessionId: string): Promise<Write> {
  const lease = await log.acquire(sessionId, { holder: "bench", ttlMs: 3_600_000 });
  let last = lease.lastId;
  return async (count) => {
    const entries = Array.from({ length: count }, (_, index) => entryAt(sessionId, last + 1 + index));
    ({ lastId: last } = await log.append({ sessionId, epoch: lease.epoch, expectedLastId: last, entries }));
  };
}

/** Returns events per second with many writers that each wait for their events. */
async function measureWriters(writers: readonly Write[], count: number): Promise<number> {
  const start = performance.now();
  await Promise.all(
    writers.map(async (write) => {
      for (let event = 0; event < EVENTS; event++) await write(count);
    }),
  );
  return (writers.length * EVENTS * count * 1000) / (performance.now() - start);
}

async function openWriters(log: Log): Promise<readonly Write[]> {
  return Promise.all(Array.from({ length: WRITERS }, () => openWriter(log, `session-${++sessions}`)));
}

/** The limit: rows that arrive during a COPY are sent with the next one. Nothing is checked, and there is no index. */
async function openCopy(url: string): Promise<{ readonly writers: readonly Write[]; close(): Promise<void> }> {
  const clients = [new pg.Client(url), new pg.Client(url)];
  for (const client of clients) await client.connect();
  await clients[0]?.query("CREATE TABLE IF NOT EXISTS bare (session bigint, id bigint, text text)");
  const idle = [...clients];
  let waiting: { readonly row: string; readonly resolve: () => void }[] = [];
  const flush = (): void => {
    while (idle.length > 0 && waiting.length > 0) {
      const client = idle.pop();
      const group = waiting.splice(0, Math.ceil(waiting.length / (idle.length + 1)));
      const rows = Buffer.from(group.map(({ row }) => row).join(""));
      const done = (): void => {
        for (const { resolve } of group) resolve();
        if (client !== undefined) idle.push(client);
        flush();
      };
      client?.query(createCopy(rows, done) as unknown as pg.Submittable);
    }
  };
  const writers = Array.from({ length: WRITERS }, (_, writer): Write => {
    let last = 0;
    return async (count) => {
      const texts = Array.from({ length: count }, () => entryAt(`session-${writer}`, ++last).text);
      const row = `${writer}\t${last}\t${texts.join("\\n")}\n`;
      await new Promise<void>((resolve) => {
        if (waiting.push({ row, resolve }) === 1) setImmediate(flush);
      });
    };
  });
  return {
    writers,
    close: async () => {
      waiting = [];
      for (const client of clients) await client.end();
    },
  };
}

interface CopyConnection {
  query(sql: string): void;
  sendCopyFromChunk(rows: Buffer): void;
  endCopyFrom(): void;
}

/** A request of the driver that sends rows. */
function createCopy(rows: Buffer, done: () => void): object {
  const fail = (error: Error): void => {
    throw error;
  };
  return {
    submit: (connection: CopyConnection) => connection.query("COPY bare FROM STDIN"),
    handleCopyInResponse(connection: CopyConnection) {
      connection.sendCopyFromChunk(rows);
      connection.endCopyFrom();
    },
    handleCommandComplete: () => undefined,
    handleReadyForQuery: done,
    handleError: fail,
  };
}

async function compareWriters(url: string, folder: string): Promise<void> {
  const ours = await openPostgresLog(url);
  const sqlite = await openSqliteLog(join(folder, "loom.db"));
  const copy = await openCopy(url);
  const writers = {
    ours: await openWriters(ours),
    sqlite: await openWriters(sqlite),
    copy: copy.writers,
  };
  for (const [count, goal] of [
    [1, 0.7],
    [10, 0.9],
  ] as const) {
    const rates = { ours: [] as number[], sqlite: [] as number[], copy: [] as number[] };
    // The first turn is a warm-up.
    for (let turn = 0; turn <= TURNS; turn++)
      for (const name of ["ours", "sqlite", "copy"] as const) {
        const rate = await measureWriters(writers[name], count);
        if (turn > 0) rates[name].push(rate);
      }
    const ratio = (peer: "sqlite" | "copy") => median(rates.ours.map((rate, turn) => rate / (rates[peer][turn] ?? 0)));
    const what = `durable events of 200 bytes, ${WRITERS} writers, ${count} per append`;
    print(`      ${what}: ${Math.round(median(rates.ours)).toLocaleString("en")}/s`);
    const against = (peer: "sqlite" | "copy") => `${Math.round(median(rates[peer])).toLocaleString("en")}/s`;
    const bySqlite = ratio("sqlite");
    reached =
      report("  compared with SQLite", times(bySqlite), `≥ ${goal} ×`, bySqlite >= goal, against("sqlite")) && reached;
    const byCopy = ratio("copy");
    reached = report("  compared with bare COPY", times(byCopy), "≥ 0.8 ×", byCopy >= 0.8, against("copy")) && reached;
  }
  await ours.close();
  await sqlite.close();
  await copy.close();
}

async function compareArrival(url: string): Promise<void> {
  const log = await openPostgresLog(url);
  const write = await openWriter(log, "followed");
  const reader = fork(new URL("postgres-reader.ts", import.meta.url), [url, "followed"]);
  await once(reader, "message");
  let onArrival: ((at: number) => void) | undefined;
  reader.on("message", ({ at }: { readonly at: number }) => onArrival?.(at));
  const commits: number[] = [];
  const arrivals: number[] = [];
  for (let index = 0; index < (QUICK ? 220 : 1000); index++) {
    const { promise, resolve } = Promise.withResolvers<number>();
    onArrival = resolve;
    const start = performance.timeOrigin + performance.now();
    await write(1);
    const committed = performance.timeOrigin + performance.now();
    const arrived = await promise;
    if (index < 20) continue;
    commits.push(committed - start);
    arrivals.push(arrived - start);
  }
  reader.disconnect();
  await once(reader, "exit");
  await log.close();
  const [commit, arrival] = [median(commits), median(arrivals)];
  const detail = `${arrival.toFixed(2)} ms and ${commit.toFixed(2)} ms`;
  reached =
    report(
      "arrival at a reader in another process, compared with the commit",
      times(arrival / commit),
      "≤ 3 ×",
      arrival / commit <= 3,
      detail,
    ) && reached;
}

const folder = mkdtempSync(join(tmpdir(), "loom-bench-"));
const server = await startPostgres({ isDurable: true });
try {
  await compareWriters(server.url, folder);
  await compareArrival(server.url);
  reached = (await compareProcesses(server.url, QUICK)) && reached;
  reached = (await measureIdle(server.url, QUICK)) && reached;
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = reached ? 0 : 1;
