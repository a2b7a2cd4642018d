/**
 * Log benchmarks: durable events per second, time to acknowledgement and to a follower, reading speed, and the time to
 * open a large store. The peers in the same run are a bare file with one sync per group (the limit), LMDB, and a plain
 * use of SQLite.
 *
 * `--quick` makes the large store a tenth of its size.
 */
import { closeSync, fdatasync, fdatasyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { open as openLmdb } from "lmdb";
import { followRecords, type Log } from "../src/log/index.ts";
import { createEntry } from "../src/log/entry.ts";
import { describeHolder } from "../src/log/holder.ts";
import { openSqliteLog } from "../src/log/sqlite/sqlite-log.ts";
import { print, report, times } from "./measure.ts";

const QUICK = process.argv.includes("--quick");
const WRITERS = 100;
const EVENTS = 300;
const TURNS = 5;
const LARGE = QUICK ? 1_000_000 : 10_000_000;

const folder = mkdtempSync(join(tmpdir(), "loom-bench-"));
let reached = true;
let stores = 0;
const freshPath = (): string => join(folder, `${++stores}`, "loom.db");

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** An entry whose text has 200 bytes. */
function entryAt(sessionId: string, id: number) {
  const envelope = { session_id: sessionId, run_id: "run-0001", node_id: "run-think-1", event_id: id, ts: 1.7e12 };
  const make = (content: string) => createEntry({ envelope, event: { type: "message_chunk", content, id: "think" } });
  return make("x".repeat(200 - make("").text.length));
}

async function openWriter(log: Log, sessionId: string): Promise<(count?: number) => Promise<void>> {
  const lease = await log.acquire(sessionId, { holder: describeHolder(), ttlMs: 3_600_000 });
  let last = lease.lastId;
  return async (count = 1) => {
    const entries = Array.from({ length: count }, (_, index) => entryAt(sessionId, last + 1 + index));
    ({ lastId: last } = await log.append({ sessionId, epoch: lease.epoch, expectedLastId: last, entries }));
  };
}

/**
 * Returns events per second with many concurrent writers that each wait for their event, and the p99 of the wait in
 * milliseconds.
 */
async function measureWriters(write: (writer: number, event: number) => Promise<unknown>): Promise<[number, number]> {
  const waits: number[] = [];
  const start = performance.now();
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      for (let event = 0; event < EVENTS; event++) {
        const from = performance.now();
        await write(writer, event);
        waits.push(performance.now() - from);
      }
    }),
  );
  return [(WRITERS * EVENTS * 1000) / (performance.now() - start), quantile(waits, 0.99)];
}

/** The limit: texts that arrive during a sync are written together and share the next sync. */
function createFileWriter(path: string): { write(text: string): Promise<void>; close(): void } {
  const file = openSync(path, "w");
  let queue: { text: string; resolve: () => void }[] = [];
  let busy = false;
  const flush = (): void => {
    const group = queue;
    queue = [];
    busy = group.length > 0;
    if (!busy) return;
    writeSync(file, group.map(({ text }) => `${text}\n`).join(""));
    fdatasync(file, () => {
      for (const { resolve } of group) resolve();
      flush();
    });
  };
  return {
    write: (text) =>
      new Promise<void>((resolve) => {
        queue.push({ text, resolve });
        if (!busy) {
          busy = true;
          queueMicrotask(flush);
        }
      }),
    close: () => closeSync(file),
  };
}

async function compareWriters(): Promise<void> {
  const texts = Array.from({ length: EVENTS }, (_, event) => entryAt("session-00", event + 1).text);
  const log = await openSqliteLog(freshPath());
  const writers = await Promise.all(Array.from({ length: WRITERS }, (_, i) => openWriter(log, `session-${i}`)));
  const contestants: { [name: string]: () => Promise<[number, number]> } = {
    ours: () => measureWriters((writer) => writers[writer]?.() ?? Promise.resolve()),
    "bare file": async () => {
      const file = createFileWriter(join(folder, `${++stores}.log`));
      const result = await measureWriters((_, event) => file.write(texts[event] ?? ""));
      file.close();
      return result;
    },
    lmdb: async () => {
      const db = openLmdb({ path: join(folder, `${++stores}.lmdb`), encoding: "string" });
      const result = await measureWriters((writer, event) => {
        void db.put([writer, event], texts[event] ?? "");
        return db.flushed;
      });
      await db.close();
      return result;
    },
    "plain sqlite": async () => {
      const db = new DatabaseSync(join(folder, `${++stores}.sqlite`));
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
      db.exec("CREATE TABLE events (session INTEGER, id INTEGER, text TEXT, PRIMARY KEY (session, id))");
      const insert = db.prepare("INSERT INTO events VALUES (?, ?, ?)");
      const result = await measureWriters(async (writer, event) => insert.run(writer, event, texts[event] ?? ""));
      db.close();
      return result;
    },
  };
  const rates: { [name: string]: number[] } = {};
  const waits: number[] = [];
  // The first turn is a warm-up.
  for (let turn = 0; turn <= TURNS; turn++) {
    for (const [name, run] of Object.entries(contestants)) {
      const [rate, wait] = await run();
      if (turn > 0) (rates[name] ??= []).push(rate);
      if (turn > 0 && name === "ours") waits.push(wait);
    }
  }
  await log.close();
  const rate = (name: string): number => median(rates[name] ?? []);
  const detail = ["bare file", "lmdb", "plain sqlite"]
    .map((name) => `${times(rate("ours") / rate(name))} ${name} (${perSecond(rate(name))})`)
    .join(", ");
  const best = Math.max(...(rates["ours"] ?? []));
  reached =
    report(
      `durable events of 200 bytes, ${WRITERS} writers`,
      perSecond(rate("ours")),
      "≥ 60,000/s",
      rate("ours") >= 60_000,
      `best turn ${perSecond(best)}; ${detail}`,
    ) && reached;
  const slow = median(waits);
  reached = report(`  acknowledgement, p99`, `${slow.toFixed(1)} ms`, "≤ 10 ms", slow <= 10) && reached;
}

async function compareLatency(): Promise<void> {
  const log = await openSqliteLog(freshPath());
  const write = await openWriter(log, "session-00");
  const file = openSync(join(folder, "sync"), "w");
  const text = `${entryAt("session-00", 1).text}\n`;
  let onArrival: (() => void) | undefined;
  const stop = new AbortController();
  const follower = (async () => {
    for await (const _ of followRecords(log, "session-00", { after: 0, follow: true, signal: stop.signal }))
      onArrival?.();
  })();
  const syncs: number[] = [];
  const acks: number[] = [];
  const arrivals: number[] = [];
  for (let i = 0; i < 2200; i++) {
    const before = performance.now();
    writeSync(file, text);
    fdatasyncSync(file);
    const synced = performance.now();
    const arrival = new Promise<number>((resolve) => (onArrival = () => resolve(performance.now())));
    await write();
    const acked = performance.now();
    const arrived = await arrival;
    if (i < 200) continue;
    syncs.push(synced - before);
    acks.push(acked - synced);
    arrivals.push(arrived - synced);
  }
  stop.abort();
  await follower;
  closeSync(file);
  await log.close();
  const [sync, ack, arrival] = [median(syncs), median(acks), median(arrivals)];
  const us = (ms: number): string => `${Math.round(ms * 1000)} µs`;
  reached =
    report(
      "acknowledgement with one writer, compared with a bare write and fdatasync",
      times(ack / sync),
      "≤ 4 ×",
      ack / sync <= 4,
      us(ack),
    ) && reached;
  reached =
    report(
      "arrival at a follower in the same process, compared with the acknowledgement",
      times(arrival / ack),
      "≤ 1.2 ×",
      arrival / ack <= 1.2,
      us(arrival),
    ) && reached;
}

async function compareLarge(): Promise<void> {
  const path = freshPath();
  const log = await openSqliteLog(path);
  const sessions = 100;
  const batch = 1000;
  const started = performance.now();
  const writers = await Promise.all(Array.from({ length: sessions }, (_, i) => openWriter(log, `session-${i}`)));
  const rounds = LARGE / sessions / batch;
  const costs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { user, system } = process.cpuUsage();
    await Promise.all(writers.map((write) => write(batch)));
    const now = process.cpuUsage();
    costs.push((now.user + now.system - user - system) / (sessions * batch));
  }
  await log.close();
  const tenth = Math.max(1, Math.floor(rounds / 10));
  const growth = median(costs.slice(-tenth)) / median(costs.slice(1, 1 + tenth));
  const size = statSync(path).size / 1e9;
  print(
    `      ${LARGE} records written in ${Math.round((performance.now() - started) / 1000)} s, ${size.toFixed(2)} GB`,
  );
  reached =
    report("cost per event at the end, compared with the start", times(growth), "≤ 1.3 ×", growth <= 1.3) && reached;
  await measureOpening(path);
  await measureReading(path);
}

async function measureOpening(path: string): Promise<void> {
  const opened: number[] = [];
  for (let i = 0; i < 9; i++) {
    const start = performance.now();
    const log = await openSqliteLog(path);
    await log.read("session-7", { after: 0, limit: 1 });
    opened.push(performance.now() - start);
    await log.close();
  }
  const ms = median(opened);
  reached = report(`opening a store of ${LARGE} records`, `${ms.toFixed(1)} ms`, "< 200 ms", ms < 200) && reached;
}

/** Reads whole sessions as records, and for comparison only parses the same texts. */
async function measureReading(path: string): Promise<void> {
  const log = await openSqliteLog(path);
  const rates: number[] = [];
  const ratios: number[] = [];
  for (let turn = 0; turn < 9; turn++) {
    let count = 0;
    const texts: string[] = [];
    const start = performance.now();
    for await (const page of followRecords(log, `session-${turn}`, { after: 0 })) {
      count += page.records.length;
      texts.push(page.text);
      if (count >= 100_000) break;
    }
    const middle = performance.now();
    for (const text of texts) for (const line of text.split("\n")) JSON.parse(line);
    const end = performance.now();
    rates.push((count * 1000) / (middle - start));
    ratios.push((middle - start) / (end - middle));
  }
  await log.close();
  const rate = median(rates);
  const detail = `${times(median(ratios))} the time of JSON.parse alone`;
  reached = report("reading records", perSecond(rate), "≥ 500,000/s", rate >= 500_000, detail) && reached;
}

function perSecond(rate: number): string {
  return `${Math.round(rate).toLocaleString("en")}/s`;
}

try {
  await compareWriters();
  await compareLatency();
  await compareLarge();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = reached ? 0 : 1;
