import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { draftRun, expectRefusal, makeEntries } from "../../../test/contracts/log/log-fixture.ts";
import { openSqliteLog } from "./sqlite-log.ts";
import { LONG } from "../../../test/sampling.ts";

const entries = makeEntries("s", 0, draftRun("r"));

const createPath = (): string => join(mkdtempSync(join(tmpdir(), "drafts-")), "loom.db");

function countRows(path: string): readonly unknown[] {
  using db = new DatabaseSync(path, { timeout: 5000 });
  return ["sessions", "recent", "chunks", "runs", "texts"].map(
    (table) => db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"],
  );
}

test("a draft whose writer stopped is swept, and cannot be continued", async () => {
  const path = createPath();
  let now = Date.now();
  const log = await openSqliteLog(path, { now: () => now });
  const other = await openSqliteLog(path, { now: () => now });
  const resumed = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  const pieces = async function* () {
    yield entries.slice(0, 2);
    stopped.resolve();
    await resumed.promise;
    yield entries.slice(2);
  };
  const created = log.createSession("s", { entries: pieces() });
  created.catch(() => undefined);
  await stopped.promise;
  await other.prune({});
  expect(countRows(path).slice(0, 2)).toEqual([1, 1]);
  now += 10 * 60_000;
  await other.prune({});
  expect(countRows(path)).toEqual([0, 0, 0, 0, 0]);
  resumed.resolve();
  await expectRefusal(created, "conflict");
  expect(await other.createSession("s", { entries })).toMatchObject({ lastId: entries.length });
  await log.close();
  await other.close();
});

test.runIf(LONG)("a draft that an earlier process left is swept by the next writer", async () => {
  const path = createPath();
  const log = await openSqliteLog(path);
  const failed = log.createSession("s", {
    entries: (async function* () {
      yield entries;
      await new Promise(() => undefined);
    })(),
  });
  failed.catch(() => undefined);
  await expect.poll(() => countRows(path)[1]).toBe(1);
  await log.close();
  const next = await openSqliteLog(path, { now: () => Date.now() + 10 * 60_000 });
  await next.release(await next.acquire("t", { holder: "x", ttlMs: 1000 }));
  await expect.poll(() => countRows(path), { timeout: 20_000 }).toEqual([1, 0, 0, 0, 0]);
  await next.close();
});
