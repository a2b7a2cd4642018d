import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { LONG } from "../../../test/sampling.ts";
import { createEntry } from "../entry.ts";
import { followRecords } from "../follow-records.ts";
import { describeLog } from "../../../test/contracts/log/log.ts";
import type { Log } from "../log.ts";
import { openSqliteLog } from "./sqlite-log.ts";
import type { SqliteLogOptions } from "../store-options.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-log-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** How each log was opened, to open its store again. */
const origins = new WeakMap<Log, { readonly path: string; readonly options: SqliteLogOptions }>();
let count = 0;

async function open(path: string, options: SqliteLogOptions): Promise<Log> {
  const log = await openSqliteLog(path, { searchTimeoutMs: 60_000, ...options, pollMs: 10 });
  origins.set(log, { path, options });
  return log;
}

function originOf(log: Log): { readonly path: string; readonly options: SqliteLogOptions } {
  const origin = origins.get(log);
  if (origin === undefined) throw new Error("the log was not opened by this test");
  return origin;
}

describeLog(
  "sqlite",
  {
    open: async (options) => open(join(folder, `${++count}.db`), options),
    reopen: async (log) => {
      await log.close();
      const { path, options } = originOf(log);
      return open(path, options);
    },
    second: async (log) => {
      const { path, options } = originOf(log);
      return open(path, options);
    },
    // In the long run each test has a new store.
    isShared: !LONG,
  },
  { numRuns: LONG ? 1000 : 3 },
);

test("rejects writes when the queue is full, and continues afterwards", async () => {
  const log = await openSqliteLog(join(folder, "queue.db"), { maxQueueBytes: 10_000 });
  const { epoch } = await log.acquire("s", { holder: "h", ttlMs: 60_000 });
  const append = (after: number) => {
    const envelope = { session_id: "s", event_id: after + 1 };
    const entries = [createEntry({ envelope, event: { type: "custom", value: "x".repeat(1000) } })];
    return log.append({ sessionId: "s", epoch, expectedLastId: after, entries });
  };
  const outcomes = await Promise.allSettled(Array.from({ length: 12 }, (_, index) => append(index)));
  const refused = outcomes.filter(({ status }) => status === "rejected");
  expect(refused.length).toBeGreaterThan(0);
  for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: "backlog_full" } });
  const last = (await log.getSession("s"))?.lastId ?? 0;
  expect(last).toBe(outcomes.length - refused.length);
  await append(last);
  await log.close();
});

test("an invalid argument fails only its own call", async () => {
  const log = await openSqliteLog(join(folder, "arguments.db"));
  const lease = await log.acquire("s", { holder: "h", ttlMs: 60_000 });
  const entries = [createEntry({ envelope: { session_id: "s", event_id: 1 }, event: { type: "custom", value: 1 } })];
  const good = log.append({ sessionId: "s", epoch: lease.epoch, expectedLastId: 0, entries });
  const bad = [
    log.release({} as never),
    log.deleteSession((() => 0) as never),
    log.updateSession("s", { title: (() => 0) as never }),
    log.renew({ ...lease, epoch: (() => 0) as never }, 1000),
    log.append({ sessionId: "s", epoch: {} as never, expectedLastId: 1, entries: [] }),
  ];
  expect((await Promise.allSettled(bad)).map(({ status }) => status)).toEqual(bad.map(() => "rejected"));
  expect(await good).toEqual({ lastId: 1 });
  expect((await log.getSession("s"))?.lastId).toBe(1);
  await log.close();
});

test("does not apply a write-ahead log without its store to a new one", async () => {
  const path = join(folder, "stray.db");
  writeFileSync(`${path}-wal`, "leftover");
  await expect(openSqliteLog(path)).rejects.toMatchObject({ code: "store_corrupt" });
  rmSync(`${path}-wal`);
  await (await openSqliteLog(path)).close();
});

test("does not show records of a deleted session in a new one with the same ID", async () => {
  const path = join(folder, "recreated.db");
  const [mine, others] = [await openSqliteLog(path), await openSqliteLog(path)];
  const lease = await mine.acquire("s", { holder: "h", ttlMs: 60_000 });
  const write = (log: Log, epoch: number, value: string, after: number) => {
    const envelope = { session_id: "s", event_id: after + 1 };
    const entries = [createEntry({ envelope, event: { type: "custom", value } })];
    return log.append({ sessionId: "s", epoch, expectedLastId: after, entries });
  };
  const stop = mine.watch("s", () => undefined);
  await write(mine, lease.epoch, "old", 0);
  await others.deleteSession("s");
  const { epoch } = await others.acquire("s", { holder: "o", ttlMs: 60_000 });
  await write(others, epoch, "new", 0);
  // A reader of the new session must not get records of the old one from memory.
  const seen: string[] = [];
  for await (const page of followRecords(mine, "s", { after: 0 })) seen.push(page.text);
  expect(seen.join("")).toContain("new");
  expect(seen.join("")).not.toContain("old");
  stop();
  await mine.close();
  await others.close();
});

test.runIf(LONG)("pruning lets other processes write in between and covers all sessions", async () => {
  const path = join(folder, "many.db");
  const log = await openSqliteLog(path, { now: () => 1e6 });
  const sessions = Array.from({ length: 450 }, (_, index) => `s${index}`);
  await Promise.all(
    sessions.map(async (sessionId) => {
      const { epoch } = await log.acquire(sessionId, { holder: "h", ttlMs: 1e6 });
      const envelope = { session_id: sessionId, run_id: "r", ts: 1 };
      const entries = [
        createEntry({ envelope: { ...envelope, event_id: 1 }, event: { type: "run_start", run_id: "r" } }),
        createEntry({ envelope: { ...envelope, event_id: 2 }, event: { type: "reply", reply: "x" } }),
      ];
      await log.append({ sessionId, epoch, expectedLastId: 0, entries });
    }),
  );
  expect(await log.prune({ maxBytes: 1e9 })).toMatchObject({ runs: 0 });
  const { bytes } = (await log.getSession("s0")) ?? { bytes: 0 };
  expect((await log.prune({ maxBytes: bytes * 100 })).runs).toBeGreaterThan(300);
  expect((await log.prune({ maxAgeMs: 10 })).runs).toBeGreaterThan(50);
  for (const sessionId of sessions) expect((await log.getSession(sessionId))?.firstId).toBe(3);
  await log.close();
});
