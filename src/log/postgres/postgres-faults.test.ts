// The log in PostgreSQL when connections break, the database goes away, and several processes write the same session.
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../../test/postgres-server.ts";
import { LONG } from "../../../test/sampling.ts";
import { startTcpProxy, type TcpProxy } from "../../../test/tcp-proxy.ts";
import { migratePostgres } from "../../postgres/migrate.ts";
import { openPostgres } from "../../postgres/postgres-database.ts";
import { isLoomError, type LoomError } from "../../protocol/index.ts";
import { createEntry } from "../entry.ts";
import { Feed } from "../feed.ts";
import { followRecords } from "../follow-records.ts";
import type { Lease, Log, LogEntry } from "../log.ts";
import { LOG_LIMITS } from "../log-limits.ts";
import { ChangeWatcher } from "./change-watcher.ts";
import { DatabaseMonitor } from "./database-monitor.ts";
import { openPostgresLog, type PostgresLog } from "./postgres-log.ts";
import type { PostgresLogOptions } from "../store-options.ts";
import { LOG_FORMAT } from "./schema.ts";

const NOTHING_QUEUED = { queuedOperations: 0, queuedBytes: 0, sentGroups: 0, feedBytes: 0 };

function note(sessionId: string, id: number, value: string): LogEntry {
  return createEntry({ envelope: { session_id: sessionId, event_id: id, ts: id }, event: { type: "custom", value } });
}

async function write(log: Log, { sessionId, epoch }: Lease, after: number, value = "x"): Promise<number> {
  const entries = [note(sessionId, after + 1, value)];
  return (await log.append({ sessionId, epoch, expectedLastId: after, entries })).lastId;
}

async function readTexts(log: Log, sessionId: string): Promise<readonly string[]> {
  const page = await log.read(sessionId, { after: 0 });
  return page.records.map(({ event }) => String((event as { value?: unknown }).value));
}

describe.skipIf(NO_POSTGRES !== undefined)("PostgreSQL", () => {
  let server: PostgresServer;
  let proxy: TcpProxy;
  const logs: Log[] = [];
  beforeAll(async () => {
    server = await startPostgres();
    proxy = await startTcpProxy(server.port);
  });
  afterAll(async () => {
    await Promise.all(logs.map((log) => log.close()));
    await proxy.close();
    await server.stop();
  });

  let schemas = 0;
  const open = async (port: number, options: PostgresLogOptions = {}): Promise<PostgresLog> => {
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    const log = await openPostgresLog(url, { schema: `faults_${schemas}`, maxConnections: 4, ...options });
    logs.push(log);
    return log;
  };

  describe("a lost answer", () => {
    test("to an append: it is stored once, and the append succeeds", async () => {
      schemas++;
      const log = await open(proxy.port);
      const lease = await log.acquire("s", { holder: "h", ttlMs: 60_000 });
      let isCut = false;
      // The statement is its own transaction, so its answer says that it is committed.
      proxy.cutAnswerOf("lost append", () => (isCut = true));
      expect(await write(log, lease, 0, "lost append")).toBe(1);
      expect(isCut).toBe(true);
      expect(await write(log, lease, 1, "next")).toBe(2);
      expect(await readTexts(log, "s")).toEqual(["lost append", "next"]);
    });

    test("to the commit of an append with indexes: the run is indexed once", async () => {
      const log = await open(proxy.port);
      const lease = await log.acquire("run", { holder: "h", ttlMs: 60_000 });
      const envelope = { session_id: "run", run_id: "r", ts: 1 };
      const entries = [
        createEntry({ envelope: { ...envelope, event_id: 1 }, event: { type: "run_start", run_id: "r" } }),
        createEntry({ envelope: { ...envelope, event_id: 2 }, event: { type: "reply", reply: "done" } }),
      ];
      let isCut = false;
      proxy.cutAnswerOf("COMMIT", () => (isCut = true));
      const { sessionId, epoch } = lease;
      expect(await log.append({ sessionId, epoch, expectedLastId: 0, entries })).toEqual({ lastId: 2 });
      expect(isCut).toBe(true);
      expect(await log.listRuns("run")).toMatchObject([{ runId: "r", status: "completed", firstId: 1, lastId: 2 }]);
      expect((await log.read("run", { after: 0 })).length).toBe(2);
    });

    test("to taking a session: it still reports that the session was handed over", async () => {
      const log = await open(proxy.port);
      await log.release(await log.acquire("handed", { holder: "h", ttlMs: 60_000 }), { handsOver: true });
      let isCut = false;
      proxy.cutAnswerOf("COMMIT", () => (isCut = true));
      expect(await log.acquire("handed", { holder: "h", ttlMs: 60_000 })).toMatchObject({ wasHandedOver: true });
      expect(isCut).toBe(true);
    });

    test("to other changes: they happen once and report what they did", async () => {
      const log = await open(proxy.port);
      proxy.cutAnswerOf("COMMIT");
      const lease = await log.acquire("other", { holder: "h", ttlMs: 60_000 });
      expect(await log.getSession("other")).toMatchObject({ epoch: lease.epoch, holder: "h" });
      proxy.cutAnswerOf("COMMIT");
      const command = { commandId: "c", sessionId: "other", kind: "cancel", body: {} } as const;
      await log.submit(command);
      expect(await log.listPending("other")).toHaveLength(1);
      const entries = [note("copy", 1, "a"), note("copy", 2, "b")];
      const pieces = async function* () {
        yield entries.slice(0, 1);
        proxy.cutAnswerOf("COMMIT");
        yield entries.slice(1);
      };
      expect(await log.createSession("copy", { entries: pieces() })).toMatchObject({ lastId: 2 });
      expect(await readTexts(log, "copy")).toEqual(["a", "b"]);
      proxy.cutAnswerOf("COMMIT");
      expect(await log.deleteSession("copy")).toBe(true);
      expect(await log.deleteSession("copy")).toBe(false);
    });
  });

  test.runIf(LONG)(
    "hints orphans again and again while nothing can listen, and tells others when it closes",
    async () => {
      schemas++;
      const deaf = await open(server.port, { listenUrl: "postgres://postgres@127.0.0.1:1/none" });
      const [hearing, stopping] = [await open(server.port, { pollMs: 600_000 }), await open(server.port)];
      const hints = { deaf: 0, hearing: 0 };
      deaf.watchOrphans(() => hints.deaf++);
      hearing.watchOrphans(() => hints.hearing++);
      // At the start, and for sessions that were released before it listened.
      await expect.poll(() => hints.hearing).toBeGreaterThan(1);
      await expect.poll(() => hints.deaf).toBeGreaterThan(2);
      const leases: Lease[] = [];
      for (const name of ["a", "b", "c"]) {
        await stopping.submit({ sessionId: name, commandId: "m", kind: "enqueue", body: {} }, { create: {} });
        leases.push(await stopping.acquire(name, { holder: "h", ttlMs: 60_000 }));
      }
      const before = hints.hearing;
      // The notification of the last release is sent before the connections end.
      await Promise.all(leases.map((lease) => stopping.release(lease)));
      await stopping.close();
      await expect.poll(() => hints.hearing).toBeGreaterThan(before);
      expect(await hearing.listOrphans()).toEqual(["a", "b", "c"]);
    },
  );

  test("leaves no connections behind while a database refuses to listen, reports that, and listens later", async () => {
    const standby = await startPostgres({ files: { "standby.signal": "" } });
    const [db, other] = [
      await openPostgres(server.url, { listenUrl: standby.url, maxConnections: 2 }),
      await openPostgres(standby.url, { maxConnections: 1 }),
    ];
    const monitor = new DatabaseMonitor({ db, measure: () => ({ ...NOTHING_QUEUED }) });
    const reports: (string | undefined)[] = [];
    monitor.watch((fault, warning) => reports.push(fault?.code ?? warning?.message));
    const attempts = vi.spyOn(db, "connectListener");
    const feed = new Feed({ ...LOG_LIMITS, maxFeedBytes: 1000 });
    const { onDeaf } = monitor;
    const watcher = new ChangeWatcher({ db, feed, writer: "w", pollMs: 5, retryMs: 10, onDeaf });
    const countConnections = async (): Promise<number> => {
      const count = "SELECT count(*) AS count FROM pg_stat_activity WHERE application_name = 'loom'";
      return (await other.read<{ count: number }>(count))[0]?.count ?? 0;
    };
    try {
      watcher.start();
      await expect.poll(() => attempts.mock.calls.length, { timeout: 20_000 }).toBeGreaterThan(3);
      // Only the one that counts, between two attempts.
      await expect.poll(countConnections, { timeout: 20_000 }).toBe(1);
      // Names the database that refuses, which is not the one of the store.
      const reason = `${new URL(standby.url).host}/postgres is not available: cannot execute LISTEN during recovery`;
      expect(reports).toEqual([expect.stringContaining(reason)]);
      expect([monitor.fault, monitor.warning?.code]).toEqual([undefined, "store_degraded"]);
      await other.read("SELECT pg_promote()", [], 60_000);
      await expect.poll(() => monitor.warning, { timeout: 20_000 }).toBeUndefined();
      expect(await countConnections()).toBe(2);
    } finally {
      watcher.stop();
      monitor.close();
      await Promise.all([db.close(), other.close()]);
      await standby.stop();
    }
  });

  test("is not ready while it is a standby, and a slow statement is not an outage", async () => {
    const standby = await startPostgres({ files: { "standby.signal": "" } });
    const db = await openPostgres(standby.url, { statementMs: 300, readWaitMs: 100, maxConnections: 1 });
    const monitor = new DatabaseMonitor({ db, measure: () => ({ ...NOTHING_QUEUED }) });
    try {
      expect(await monitor.check()).toMatchObject({ code: expect.stringMatching(/^store_/) as string });
      const faults: unknown[] = [];
      db.onChange((fault) => faults.push(fault));
      // The second waits for the connection of the first.
      const slow = [db.read("SELECT pg_sleep(2)"), db.read("SELECT pg_sleep(2)")];
      for (const { status, reason } of (await Promise.allSettled(slow)) as PromiseRejectedResult[]) {
        expect(status).toBe("rejected");
        expect(reason).toMatchObject({ code: "store_timeout", details: { limit: 300 } });
      }
      expect([db.fault, faults]).toEqual([undefined, []]);
    } finally {
      monitor.close();
      await db.close();
      await standby.stop();
    }
  });

  test("has one writer of a session at any time, however many processes compete", async () => {
    schemas++;
    const rivals = [];
    for (let index = 0; index < 4; index++) rivals.push(await open(server.port));
    const written: string[] = [];
    const epochs = new Set<number>();
    const began = performance.now();
    // On a busy machine, a second is not enough for several writers.
    const isOver = (): boolean => performance.now() - began > (epochs.size > 4 ? 1000 : 30_000);
    await Promise.all(
      rivals.map(async (log, index) => {
        for (let turn = 0; !isOver(); turn++) {
          try {
            const lease = await log.acquire("s", { holder: `h${index}`, ttlMs: 20, takeover: turn % 3 === 0 });
            for (let last = lease.lastId; !isOver();) {
              const value = `${lease.epoch}/${index}/${last}`;
              last = await write(log, lease, last, value);
              written.push(value);
              epochs.add(lease.epoch);
            }
          } catch (error) {
            if (!isLoomError(error, "fenced", "lease_held", "conflict")) throw error;
          }
        }
      }),
    );
    const [log] = rivals;
    const stored: string[] = [];
    for (let after = 0; ;) {
      const page = await log!.read("s", { after });
      if (page.isEmpty) break;
      stored.push(...page.records.map(({ event }) => (event as { value: string }).value));
      after = page.lastId;
    }
    // Everything that was acknowledged is stored, once; epochs only increase, and each has one writer.
    expect(stored.toSorted()).toEqual(written.toSorted());
    const order = stored.map((value) => Number(value.split("/")[0]));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    const writers = new Set(stored.map((value) => value.split("/").slice(0, 2).join("/")));
    expect(writers.size).toBe(new Set(order).size);
    expect(writers.size).toBeGreaterThan(4);
  });

  test("keeps a lease by the clock of the database, whatever the clocks of the processes say", async () => {
    const [holder, other] = [await open(server.port), await open(server.port)];
    const lease = await holder.acquire("clock", { holder: "h", ttlMs: 300 });
    await expect(other.acquire("clock", { holder: "o", ttlMs: 1000 })).rejects.toMatchObject({ code: "lease_held" });
    expect(Math.abs(lease.expiresAt - 300 - Date.now())).toBeLessThan(60_000);
    await pause(400);
    const next = await other.acquire("clock", { holder: "o", ttlMs: 1000 });
    await expect(write(holder, lease, 0)).rejects.toMatchObject({ code: "fenced", details: { epoch: next.epoch } });
  });

  describe("a follower in another process", () => {
    test.each([
      ["by notifications", {}],
      ["by polls alone, if nothing can listen", { listenUrl: "postgres://postgres@127.0.0.1:1/none" }],
    ])("receives every record in order, %s", async (_, options) => {
      schemas++;
      const [writer, reader] = [await open(server.port), await open(server.port, options)];
      const lease = await writer.acquire("s", { holder: "h", ttlMs: 60_000 });
      const stop = new AbortController();
      const seen: number[] = [];
      const following = (async () => {
        for await (const page of followRecords(reader, "s", { after: 0, follow: true, signal: stop.signal })) {
          for (const { envelope } of page.records) seen.push(envelope.event_id);
          if (seen.length >= 50) return;
        }
      })();
      for (let id = 0; id < 50; id++) {
        await write(writer, lease, id);
        if (id % 10 === 0) await pause(20);
      }
      await following;
      stop.abort();
      expect(seen).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
    });
  });

  describe("a database that is away", () => {
    test("lets appends wait and stores them in order when it returns; reads fail soon", async () => {
      schemas++;
      const log = await open(proxy.port, { readWaitMs: 100 });
      const direct = await open(server.port);
      const lease = await log.acquire("s", { holder: "h", ttlMs: 60_000 });
      await write(log, lease, 0, "before");
      const faults: (string | undefined)[] = [];
      log.monitor.watch((fault) => faults.push(fault?.code));
      proxy.setUp(false);
      const waiting = ["a", "b", "c"].map((value, index) => write(log, lease, 1 + index, value));
      await expect(log.read("s", { after: 0 })).rejects.toMatchObject({ code: "store_unavailable" });
      expect(log.monitor.fault?.code).toBe("store_unavailable");
      expect((await log.monitor.check())?.code).toBe("store_unavailable");
      expect(await readTexts(direct, "s")).toEqual(["before"]);
      expect(log.peek("s", 1)).toBeUndefined();
      proxy.setUp(true);
      expect(await Promise.all(waiting)).toEqual([2, 3, 4]);
      expect(log.monitor.fault).toBeUndefined();
      expect(await readTexts(log, "s")).toEqual(["before", "a", "b", "c"]);
      expect(faults).toEqual(["store_unavailable", undefined]);
    });

    test("makes an append fail after the limit, and the log works when it returns", async () => {
      const log = await open(proxy.port, { waitMs: 300, readWaitMs: 100 });
      const lease = await log.acquire("limit", { holder: "h", ttlMs: 60_000 });
      proxy.setUp(false);
      const failure = await write(log, lease, 0).catch((error: unknown) => error as LoomError);
      expect(failure).toMatchObject({ code: "store_unavailable" });
      proxy.setUp(true);
      expect(await write(log, lease, 0, "later")).toBe(1);
    });

    test("does not let this process take leases that could not be renewed meanwhile", async () => {
      const [holder, other] = [await open(proxy.port), await open(proxy.port, { readWaitMs: 100 })];
      const lease = await holder.acquire("recovering", { holder: "h", ttlMs: 200 });
      await holder.submit({ commandId: "c", sessionId: "recovering", kind: "cancel", body: {} });
      proxy.setUp(false);
      await expect(other.getSession("recovering")).rejects.toMatchObject({ code: "store_unavailable" });
      await pause(300);
      proxy.setUp(true);
      expect(await other.listOrphans()).not.toContain("recovering");
      await expect(other.acquire("recovering", { holder: "o", ttlMs: 1000 })).rejects.toMatchObject({
        code: "lease_held",
      });
      await holder.renew(lease, 1000);
    });

    test.each([
      [200, 3000],
      [45_000, 45_000],
    ])("lets holders of leases of %i ms renew them for %i ms after it", async (ttlMs, recoveryMs) => {
      const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
      const db = await openPostgres(url, { schema: `faults_${schemas}`, readWaitMs: 100 });
      const log = await openPostgresLog(db);
      await log.acquire("own", { holder: "h", ttlMs, takeover: true });
      expect(db.recoveryMs).toBe(0);
      const began = performance.now();
      proxy.setUp(false);
      await expect(log.getSession("own")).rejects.toMatchObject({ code: "store_unavailable" });
      const away = db.recoveryMs;
      proxy.setUp(true);
      await log.getSession("own");
      for (const ms of [away, db.recoveryMs]) {
        expect(ms).toBeGreaterThan(recoveryMs);
        expect(ms).toBeLessThan(recoveryMs + performance.now() - began);
      }
      await log.close();
      await db.close();
    });

    test("goes on after the server was killed", async () => {
      schemas++;
      const log = await open(server.port);
      const lease = await log.acquire("s", { holder: "h", ttlMs: 60_000 });
      await write(log, lease, 0, "before");
      const seen: string[] = [];
      const stop = new AbortController();
      const reader = await open(server.port, { readWaitMs: 60_000 });
      const following = (async () => {
        for await (const page of followRecords(reader, "s", { after: 0, follow: true, signal: stop.signal })) {
          for (const { event } of page.records) seen.push((event as { value: string }).value);
          if (seen.length >= 3) return;
        }
      })();
      await server.kill();
      const waiting = write(log, lease, 1, "during");
      await server.restart();
      expect(await waiting).toBe(2);
      expect(await write(log, lease, 2, "after")).toBe(3);
      await following;
      stop.abort();
      expect(seen).toEqual(["before", "during", "after"]);
    }, 60_000);
  });

  test("a process that stops inside a transaction does not keep a session for longer than its lease", async () => {
    const [stopped, other] = [await openPostgres(server.url, { schema: `faults_${schemas}` }), await open(server.port)];
    const lease = await other.acquire("locked", { holder: "h", ttlMs: 60_000 });
    const attempts: number[] = [];
    let limit: string | undefined;
    const isLocked = Promise.withResolvers<void>();
    const isTaken = Promise.withResolvers<void>();
    const work = stopped.transact(async ({ query, attempt }) => {
      attempts.push(attempt);
      if (attempt > 0) return;
      limit = (
        await query<{ limit: string }>("SELECT current_setting('idle_in_transaction_session_timeout') AS limit")
      )[0]?.limit;
      // The test need not wait for the limit.
      await query("SET LOCAL idle_in_transaction_session_timeout = 200");
      await query("SELECT 1 FROM @.sessions WHERE session_id = 'locked' FOR UPDATE");
      isLocked.resolve();
      await isTaken.promise;
      await query("SELECT 1");
    });
    await isLocked.promise;
    const taken = await other.acquire("locked", { holder: "o", ttlMs: 60_000, takeover: true });
    expect(taken.epoch).toBeGreaterThan(lease.epoch);
    isTaken.resolve();
    await work;
    // The database has ended the first attempt.
    expect(attempts).toEqual([0, 1]);
    expect(limit).toBe("5s");
    await stopped.close();
  });

  test.runIf(LONG)("a process that uses all its connections does not take the database for away", async () => {
    const db = await openPostgres(server.url, { maxConnections: 1 });
    const faults: unknown[] = [];
    db.onChange((fault) => faults.push(fault));
    const busy = db.transact(async ({ query }) => {
      // Longer than a connection may take to open.
      for (let second = 0; second < 7; second++) await query("SELECT pg_sleep(1)");
    });
    expect(await db.read("SELECT 1 AS n")).toEqual([{ n: 1 }]);
    await busy;
    expect(faults).toEqual([]);
    await db.close();
  });

  test("an error of the caller does not repeat the transaction, even if it is a timeout", async () => {
    const db = await openPostgres(server.url);
    const attempts: number[] = [];
    const work = db.transact(async ({ attempt }) => {
      attempts.push(attempt);
      throw new DOMException("The operation was aborted due to timeout", "TimeoutError");
    });
    await expect(work).rejects.toThrow("due to timeout");
    expect(attempts).toEqual([0]);
    await db.close();
  });

  test("retention waits for no session from which nothing is pruned", async () => {
    schemas++;
    const log = await open(server.port, { now: () => 1000 });
    for (const [sessionId, ts] of [
      ["old", 1],
      ["new", 900],
    ] as const) {
      const { epoch } = await log.acquire(sessionId, { holder: "h", ttlMs: 60_000 });
      const envelope = { session_id: sessionId, run_id: "r", ts };
      const entries = [
        createEntry({ envelope: { ...envelope, event_id: 1 }, event: { type: "run_start", run_id: "r" } }),
        createEntry({ envelope: { ...envelope, event_id: 2 }, event: { type: "reply", reply: "done" } }),
      ];
      await log.append({ sessionId, epoch, expectedLastId: 0, entries });
    }
    const { bytes = 0 } = (await log.getSession("new")) ?? {};
    const db = await openPostgres(server.url, { schema: `faults_${schemas}`, maxConnections: 1 });
    const report = await db.transact(async ({ query }) => {
      await query("SELECT 1 FROM @.sessions WHERE session_id = 'new' FOR UPDATE");
      return log.prune({ maxAgeMs: 500, maxBytes: bytes, maxSessionBytes: bytes });
    });
    expect(report).toMatchObject({ runs: 1, records: 2 });
    await db.close();
  });

  test("a connection that ends between two statements repeats the transaction", async () => {
    const [db, other] = [await openPostgres(server.url), await openPostgres(server.url)];
    const attempts: number[] = [];
    const value = await db.transact(async ({ query, attempt }) => {
      attempts.push(attempt);
      const [row] = await query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      if (attempt === 0) {
        await other.write("SELECT pg_terminate_backend($1)", [row!.pid]);
        // The driver reports the end while no statement runs.
        await pause(100);
      }
      return (await query<{ n: number }>("SELECT 1 AS n"))[0]?.n;
    });
    expect([value, attempts]).toEqual([1, [0, 1]]);
    await Promise.all([db.close(), other.close()]);
  });

  test("is refused if a newer version has migrated it; several processes may create it at once", async () => {
    schemas++;
    await Promise.all(Array.from({ length: 4 }, () => open(server.port)));
    const db = await openPostgres(server.url, { schema: `faults_${schemas}` });
    await migratePostgres(db, { ...LOG_FORMAT, migrations: [...LOG_FORMAT.migrations, "SELECT 1"] });
    await db.close();
    await expect(open(server.port)).rejects.toMatchObject({ code: "store_newer" });
  });
});
