import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { LoomError } from "../../protocol/index.ts";
import { GroupWriter } from "../../sqlite/group-writer.ts";
import { createEntry } from "../entry.ts";
import { followRecords } from "../follow-records.ts";
import type { Log } from "../log.ts";
import { openSqliteLog } from "./sqlite-log.ts";
import type { SqliteLogOptions } from "../store-options.ts";
import { LONG } from "../../../test/sampling.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-poller-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

/** Two logs on one store. The first one is watched, the second one is another process. */
async function openBoth(options: SqliteLogOptions = {}) {
  const path = join(folder, `${++count}.db`);
  const [mine, other] = [await openSqliteLog(path, { pollMs: 2, ...options }), await openSqliteLog(path)];
  onTestFinished(async () => {
    await mine.close();
    await other.close();
  });
  return { path, mine, other };
}

async function createSessions(log: Log, number: number): Promise<readonly string[]> {
  const names = Array.from({ length: number }, (_, index) => `s${index}`);
  await Promise.all(names.map((name) => log.createSession(name)));
  return names;
}

/** Counts the statements of this thread. */
function countStatements(): { count: number } {
  const counted = { count: 0 };
  for (const name of ["get", "all", "run", "iterate"] as const) {
    const original = StatementSync.prototype[name];
    const spy = vi.spyOn(StatementSync.prototype, name).mockImplementation(function (this: StatementSync, ...given) {
      counted.count++;
      return Reflect.apply(original, this, given) as never;
    });
    onTestFinished(() => spy.mockRestore());
  }
  return counted;
}

const submit = (log: Log, sessionId: string, commandId: string) =>
  log.submit({ commandId, sessionId, kind: "cancel", body: {} });

async function append(log: Log, sessionId: string): Promise<void> {
  const lease = await log.acquire(sessionId, { holder: "h", ttlMs: 60_000, takeover: true });
  const envelope = { session_id: sessionId, event_id: lease.lastId + 1 };
  const entries = [createEntry({ envelope, event: { type: "custom", value: "x" } })];
  await log.append({ sessionId, epoch: lease.epoch, expectedLastId: lease.lastId, entries });
}

/** Watches each session; returns the IDs in the order of their hints. */
function watchAll(log: Log, names: readonly string[]): string[] {
  const hints: string[] = [];
  const stops = names.map((name) => log.watch(name, () => hints.push(name)));
  onTestFinished(() => stops.forEach((stop) => stop()));
  return hints;
}

describe("polling", () => {
  test("costs one statement per interval for any number of idle followers", async () => {
    const { mine } = await openBoth({ pollMs: 10 });
    const names = await createSessions(mine, 300);
    const tails = names.map((name) => followRecords(mine, name, { after: 0, follow: true }));
    const waiting = Promise.allSettled(tails.map((tail) => tail.next()));
    await pause(100);
    const statements = countStatements();
    const began = performance.now();
    await pause(400);
    const intervals = (performance.now() - began) / 10;
    expect(statements.count).toBeGreaterThan(0);
    expect(statements.count).toBeLessThanOrEqual(intervals + 2);
    await mine.close();
    // Closing the log ends its followers.
    for (const end of await waiting) expect(end).toMatchObject({ reason: { code: "store_closed" } });
  });

  test("stops when nothing is watched", async () => {
    const { mine } = await openBoth();
    await mine.createSession("s");
    const statements = countStatements();
    mine.watch("s", () => undefined)();
    const before = statements.count;
    await pause(50);
    expect(statements.count).toBe(before);
  });

  test.runIf(LONG)("a change by another process costs the same for 10 and for 400 watched sessions", async () => {
    const costs: number[] = [];
    for (const number of [10, 400]) {
      const { mine, other } = await openBoth();
      const names = await createSessions(other, number);
      const hints = watchAll(mine, names);
      await pause(50);
      const prepared = vi.spyOn(DatabaseSync.prototype, "prepare");
      const statements = countStatements();
      const all = vi.mocked(StatementSync.prototype.all);
      await submit(other, "s3", "c");
      await vi.waitFor(() => expect(hints).toEqual(["s3"]));
      // `submit` and polling use `get`; only the journal is read with `all`, once.
      costs.push(all.mock.calls.length);
      expect(statements.count).toBeGreaterThan(0);
      expect(prepared.mock.calls.length).toBe(0);
      vi.restoreAllMocks();
    }
    expect(costs).toEqual([1, 1]);
  });

  test("finds creation, records, commands, leases and deletion by another process", async () => {
    const { mine, other } = await openBoth();
    const hints = watchAll(mine, ["s", "quiet"]);
    for (const change of [
      () => other.createSession("s"),
      () => append(other, "s"),
      () => submit(other, "s", "c"),
      async () => other.release(await other.acquire("s", { holder: "h2", ttlMs: 60_000, takeover: true })),
      () => other.deleteSession("s"),
      () => other.createSession("s"),
    ] as const) {
      hints.length = 0;
      await change();
      await vi.waitFor(() => expect(hints).toContain("s"));
    }
    expect(hints).not.toContain("quiet");
  });

  test("does not notify watchers about renewals or about its own commits", async () => {
    const { mine, other } = await openBoth();
    await createSessions(mine, 3);
    const lease = await other.acquire("s0", { holder: "h", ttlMs: 60_000 });
    const hints = watchAll(mine, ["s0", "s1", "s2"]);
    await other.renew(lease, 60_000);
    await mine.updateSession("s1", { title: "Title" });
    await submit(other, "s2", "c");
    await vi.waitFor(() => expect(hints).toContain("s2"));
    expect(hints).toEqual(["s2"]);
  });

  test("notifies watchers when the answer to a write of this log is lost", async () => {
    const { mine } = await openBoth();
    await createSessions(mine, 2);
    const hints = watchAll(mine, ["s0", "s1"]);
    const original = GroupWriter.prototype.write;
    const write = vi.spyOn(GroupWriter.prototype, "write").mockImplementation(async function (
      this: GroupWriter<unknown>,
      operation,
    ) {
      await Reflect.apply(original, this, [operation]);
      throw new LoomError("store_failed", "The thread ended");
    });
    onTestFinished(() => write.mockRestore());
    await expect(submit(mine, "s1", "c")).rejects.toMatchObject({ code: "store_failed" });
    expect(hints).toEqual(["s1"]);
    expect(await mine.listPending("s1")).toHaveLength(1);
  });

  test("notifies all watchers, a few at a time, about a commit that is not in the journal", async () => {
    const { path, mine } = await openBoth();
    const names = await createSessions(mine, 250);
    const hints = watchAll(mine, names);
    await pause(20);
    hints.length = 0;
    // A program that does not know the journal.
    const old = new DatabaseSync(path);
    old.exec("UPDATE sessions SET created_at = created_at + 1 WHERE session_id = 's7'");
    old.close();
    await vi.waitFor(() => expect(new Set(hints).size).toBe(250));
  });

  test("notifies all watchers when it has missed commits", async () => {
    const { path, mine, other } = await openBoth({ pollMs: 150 });
    const hints = watchAll(mine, ["a", "b"]);
    await other.createSession("s");
    const db = new DatabaseSync(path);
    db.exec("DELETE FROM commits; INSERT INTO commits VALUES (5000, 1, '[]')");
    db.close();
    await vi.waitFor(() => expect(hints).toEqual(["a", "b"]));
  });

  test.runIf(LONG)("keeps a limited number of commits", async () => {
    const { path, other } = await openBoth();
    await other.createSession("s");
    // Each is one commit.
    for (let i = 0; i < 1600; i++) await other.updateSession("s", { title: `Title ${i}` });
    const db = new DatabaseSync(path);
    const { rows } = db.prepare("SELECT count(*) AS rows FROM commits").get() as { rows: number };
    db.close();
    expect(rows).toBeGreaterThanOrEqual(1024);
    expect(rows).toBeLessThanOrEqual(1024 + 256);
  });
});
