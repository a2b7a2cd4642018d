import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { afterAll, describe, expect, it, vi } from "vitest";
import { drafts, makeEntries } from "../../../test/contracts/log/log-fixture.ts";
import type { LogEntry } from "../log.ts";
import { openSqliteLog, type SqliteLog } from "./sqlite-log.ts";
import type { SqliteLogOptions } from "../store-options.ts";
import { LONG } from "../../../test/sampling.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-monitor-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;

function createEntries(sessionId: string, after: number, length: number): readonly LogEntry[] {
  return makeEntries(
    sessionId,
    after,
    Array.from({ length }, () => drafts.note("x".repeat(100))),
  );
}

/** A store with a session of one record, its writer threads, and the faults it has reported. */
async function openStore(options: SqliteLogOptions = {}) {
  const path = join(folder, `${++count}.db`);
  const threads: Worker[] = [];
  const onWorker = (worker: Worker): unknown => threads.push(worker);
  process.on("worker", onWorker);
  const log = await openSqliteLog(path, options);
  const faults: (string | undefined)[] = [];
  const unwatch = log.monitor.watch((fault) => faults.push(fault?.code));
  const lease = await log.acquire("s", { holder: "test", ttlMs: 60_000 });
  let lastId = 0;
  const append = async (): Promise<void> => {
    const entries = createEntries("s", lastId, 1);
    ({ lastId } = await log.append({ sessionId: "s", epoch: lease.epoch, expectedLastId: lastId, entries }));
  };
  await append();
  const close = async (): Promise<void> => {
    unwatch();
    await log.close();
    process.off("worker", onWorker);
  };
  return { path, log, threads, faults, append, close };
}

const lastIdOf = async (log: SqliteLog): Promise<number> => (await log.getSession("s"))?.lastId ?? 0;

describe("a writer thread that ends", () => {
  it("is started again, and appends continue without an error", async () => {
    const { log, threads, faults, append, close } = await openStore();
    // Sent before the thread ends, and after.
    const sent = append();
    await Promise.resolve();
    await threads[0]?.terminate();
    await sent;
    await append();
    expect(await lastIdOf(log)).toBe(3);
    expect([threads.length, log.monitor.measure().restarts]).toEqual([2, 1]);
    // The fault is gone when a probe was stored, here or by the check of each second.
    expect(faults[0]).toBe("store_failed");
    await vi.waitFor(async () => expect(await log.monitor.check()).toBeUndefined(), { timeout: 10_000 });
    expect(faults.at(-1)).toBeUndefined();
    await close();
  });

  it("fails changes that cannot be repeated, with an error that says why", async () => {
    const { log, threads, close } = await openStore();
    // A terminated thread takes no message, so it ends without an answer.
    const ended = threads[0]?.terminate();
    const failure = log.createSession("other").catch((error: unknown) => error);
    await Promise.resolve();
    expect(log.monitor.measure().sentGroups).toBe(1);
    await ended;
    expect(await failure).toMatchObject({
      code: "store_failed",
      message: expect.stringContaining("ended before it answered") as string,
    });
    await log.createSession("next");
    await close();
  });

  it("is sent the repeatable changes of its group again, and no others", async () => {
    const { log, threads, append, close } = await openStore();
    const command = { commandId: "c", sessionId: "s", kind: "cancel", body: {} } as const;
    const ended = threads[0]?.terminate();
    const changes = [
      append(),
      log.createSession("created"),
      log.submit(command),
      log.acquire("taken", { holder: "other", ttlMs: 1000 }),
      log.updateSession("s", { title: "changed" }),
      log.deleteSession("s"),
    ];
    const outcomes = Promise.allSettled(changes);
    await Promise.resolve();
    expect(log.monitor.measure().sentGroups).toBe(1);
    await ended;
    const isStored = (await outcomes).map(({ status }) => status === "fulfilled");
    expect(isStored).toEqual([true, false, true, false, true, false]);
    expect(await log.listSessions()).toMatchObject([{ sessionId: "s", title: "changed", lastId: 2 }]);
    expect(await log.listPending("s")).toHaveLength(1);
    await close();
  });

  it.runIf(LONG)("is given up after six ends in a row", async () => {
    const { path, log, threads, faults, append, close } = await openStore();
    const onWorker = (worker: Worker): void => void worker.terminate();
    process.on("worker", onWorker);
    // No thread can store anything, however late it is terminated.
    const lock = new DatabaseSync(path, { timeout: 10_000 });
    lock.exec("BEGIN IMMEDIATE");
    try {
      const ended = threads[0]?.terminate();
      const failure = append().catch((error: unknown) => error);
      await Promise.resolve();
      expect(log.monitor.measure().sentGroups).toBe(1);
      await ended;
      expect(await failure).toMatchObject({ code: "store_failed" });
      await vi.waitFor(() => expect(log.monitor.fault).toMatchObject({ code: "writer_failed" }), { timeout: 20_000 });
      await expect(append()).rejects.toMatchObject({ code: "writer_failed" });
      expect(await log.monitor.check()).toMatchObject({ code: "writer_failed" });
      // On a slow machine the check of each second also reports that its probe is late.
      expect([faults[0], faults.at(-1)]).toEqual(["store_failed", "writer_failed"]);
      expect(faults).not.toContain(undefined);
      expect(threads).toHaveLength(6);
      expect(await lastIdOf(log)).toBe(1);
    } finally {
      process.off("worker", onWorker);
      lock.close();
      await close();
    }
  });
});

describe("files of an open store", () => {
  it("reports a deleted write-ahead log, stores nothing more, and loses nothing that was stored", async () => {
    const { path, log, faults, append, close } = await openStore();
    rmSync(`${path}-wal`);
    await vi.waitFor(() => expect(faults).toEqual(["store_failed"]), { timeout: 10_000 });
    expect(log.monitor.fault?.message).toContain("write-ahead log");
    await expect(append()).rejects.toMatchObject({ code: "store_failed" });
    expect(await log.monitor.check()).toBe(log.monitor.fault);
    // Reading still works.
    expect(await lastIdOf(log)).toBe(1);
    await close();
    expect(existsSync(`${path}-shm`)).toBe(false);
    const again = await openSqliteLog(path);
    expect(await lastIdOf(again)).toBe(1);
    await again.close();
  });

  it("does not acknowledge an append to a deleted write-ahead log", async () => {
    const { path, append, close } = await openStore();
    rmSync(`${path}-wal`);
    writeFileSync(`${path}-wal`, "");
    await expect(append()).rejects.toMatchObject({ code: "store_failed" });
    await close();
  });

  it.runIf(LONG)("reports a moved file until it is back", async () => {
    const { path, log, faults, append, close } = await openStore();
    renameSync(path, `${path}-moved`);
    await vi.waitFor(() => expect(faults).toEqual(["store_failed"]), { timeout: 10_000 });
    await expect(append()).rejects.toMatchObject({ code: "store_failed" });
    renameSync(`${path}-moved`, path);
    await vi.waitFor(() => expect(faults.at(-1)).toBeUndefined(), { timeout: 10_000 });
    await append();
    expect(log.monitor.fault).toBeUndefined();
    await close();
  });
});

describe("a store without space", () => {
  it("has a fault until there is space, and does not alternate in between", async () => {
    const { log, faults, close } = await openStore({ maxFileBytes: 512 * 1024 });
    await log.createSession("old");
    const lease = await log.acquire("old", { holder: "test", ttlMs: 60_000 });
    const fill = async (): Promise<never> => {
      for (let last = 0; ; last += 50) {
        const entries = createEntries("old", last, 50);
        await log.append({ sessionId: "old", epoch: lease.epoch, expectedLastId: last, entries });
      }
    };
    await expect(fill()).rejects.toMatchObject({ code: "store_full" });
    expect(await log.monitor.check()).toMatchObject({ code: "store_full" });
    expect(faults.map(String)).toEqual(["store_full"]);
    await log.deleteSession("old");
    await log.prune({});
    await vi.waitFor(async () => expect(await log.monitor.check()).toBeUndefined(), { timeout: 10_000 });
    expect(faults).toEqual(["store_full", undefined]);
    await close();
  });
});

it("measures calls and sizes", async () => {
  const calls: string[] = [];
  const { log, append, close } = await openStore({ meter: { recordStoreCall: (kind) => calls.push(kind) } });
  const appended = append();
  // The sweep at the start may still be with the writer.
  expect(log.monitor.measure().queuedOperations).toBeGreaterThan(0);
  await appended;
  await log.listSessions();
  expect(log.monitor.measure()).toMatchObject({ queuedOperations: 0, queuedBytes: 0, sentGroups: 0, restarts: 0 });
  expect(log.monitor.measure().walBytes).toBeGreaterThan(0);
  expect(new Set(calls)).toEqual(new Set(["write", "append", "read"]));
  await close();
});
