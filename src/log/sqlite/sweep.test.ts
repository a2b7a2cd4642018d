// Deleted and pruned records are removed from the file: from its tables and from the bytes of its pages.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { createEntry } from "../entry.ts";
import type { Log } from "../log.ts";
import { openSqliteLog } from "./sqlite-log.ts";
import { sampleCases } from "../../../test/sampling.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-sweep-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes a run of `count` records and its end, one append each, which gives many rows. */
async function writeRun(log: Log, sessionId: string, run_id: string, count: number, value: string): Promise<void> {
  const lease = await log.acquire(sessionId, { holder: "test", ttlMs: 60_000, takeover: true });
  const { epoch, lastId } = lease;
  const append = (index: number) => {
    const envelope = { session_id: sessionId, run_id, event_id: lastId + index, ts: 1 };
    const event = index > count ? { type: "reply", reply: value } : { type: "custom", value: `${value} ${index}` };
    const entries = [createEntry({ envelope, event })];
    return log.append({ sessionId, epoch, expectedLastId: lastId + index - 1, entries });
  };
  await Promise.all(Array.from({ length: count + 1 }, (_, index) => append(index + 1)));
  await log.release(lease);
}

function ask(path: string, sql: string): unknown {
  const db = new DatabaseSync(path);
  try {
    return Object.values(db.prepare(sql).get() ?? {})[0];
  } finally {
    db.close();
  }
}

const ROWS = `SELECT (SELECT count(*) FROM recent WHERE text LIKE '%SECRET%') +
  (SELECT count(*) FROM chunks WHERE text LIKE '%SECRET%')`;
const STRAYS = `SELECT (SELECT count(*) FROM chunks WHERE session NOT IN (SELECT key FROM sessions)) +
  (SELECT count(*) FROM extents WHERE session NOT IN (SELECT key FROM sessions)) +
  (SELECT count(*) FROM chunks JOIN sessions ON key = session WHERE last_id < sessions.first_id)`;

// From a few rows in `recent` to more pages than one transaction returns.
test.each(
  sampleCases(
    [
      [5, 1],
      [60, 1],
      [3000, 1],
      [3000, 1700],
    ],
    { perKind: 2 },
  ),
)("a deleted session of %i records with %i words does not reappear", async (count, words) => {
  const path = join(folder, `deleted-${count}-${words}.db`);
  const log = await openSqliteLog(path, { maxRecentRows: 64 });
  await writeRun(log, "warm", "r", 200, "warm");
  await writeRun(log, "secret", "r", count, "SECRET ".repeat(words));
  await log.updateSession("secret", { title: "SECRET" });
  expect(ask(path, ROWS)).toBeGreaterThan(0);
  await log.deleteSession("secret");
  await writeRun(log, "during", "r", 100, "during");
  await log.prune({});
  expect(ask(path, ROWS)).toBe(0);
  await writeRun(log, "later", "r", 300, "later");
  expect(ask(path, ROWS)).toBe(0);
  await log.close();
  expect(readFileSync(path).includes("SECRET")).toBe(false);
  const again = await openSqliteLog(path);
  await again.prune({});
  expect((await again.listSessions()).map(({ sessionId, lastId }) => [sessionId, lastId])).toEqual([
    ["later", 301],
    ["during", 101],
    ["warm", 201],
  ]);
  await again.close();
  expect(ask(path, STRAYS)).toBe(0);
});

test("a deleted session with the highest record ID does not reappear", async () => {
  const path = join(folder, "highest.db");
  const log = await openSqliteLog(path);
  await log.createSession("secret", { firstId: Number.MAX_SAFE_INTEGER - 5 });
  await writeRun(log, "secret", "r", 5, "SECRET");
  await log.deleteSession("secret");
  await log.prune({});
  await log.close();
  expect([ask(path, ROWS), ask(path, STRAYS)]).toEqual([0, 0]);
});

test("pruned runs do not reappear", async () => {
  const path = join(folder, "pruned.db");
  const log = await openSqliteLog(path, { maxRecentRows: 64 });
  await writeRun(log, "warm", "r", 200, "warm");
  await writeRun(log, "s", "old", 20, "SECRET");
  await log.prune({ maxSessionBytes: 0 });
  await writeRun(log, "s", "new", 300, "later");
  await log.close();
  expect([ask(path, ROWS), ask(path, STRAYS)]).toEqual([0, 0]);
  expect(readFileSync(path).includes("SECRET")).toBe(false);
});

test("deleted texts are removed from the search index and the file", async () => {
  const path = join(folder, "search.db");
  const log = await openSqliteLog(path);
  for (const sessionId of ["pruned", "deleted", "kept"]) {
    const { epoch } = await log.acquire(sessionId, { holder: "test", ttlMs: 1000 });
    const place = { session_id: sessionId, run_id: "r", ts: 1 };
    const entries = [
      createEntry({
        envelope: { ...place, event_id: 1 },
        event: { type: "run_start", run_id: "r", message: `zq${sessionId}` },
      }),
      createEntry({ envelope: { ...place, event_id: 2 }, event: { type: "run_end", status: "completed" } }),
      createEntry({ envelope: { ...place, event_id: 3 }, event: { type: "reply", reply: `zv${sessionId}` } }),
    ];
    if (sessionId === "kept") await log.prune({ maxAgeMs: 0 });
    await log.append({ sessionId, epoch, expectedLastId: 0, entries });
    if (sessionId === "deleted") await log.deleteSession(sessionId);
  }
  await log.prune({});
  await log.close();
  const file = readFileSync(path).toString("latin1");
  for (const word of ["zqpruned", "zvpruned", "zqdeleted", "zvdeleted"]) expect(file.includes(word), word).toBe(false);
  expect(file.includes("zqkept")).toBe(true);
  expect(ask(path, "SELECT count(*) FROM texts")).toBe(2);
});

test("the file of an open store has no ID and no text of a deleted session after pruning", async () => {
  const path = join(folder, "open.db");
  const log = await openSqliteLog(path);
  await writeRun(log, "kept", "r", 20, "kept");
  await writeRun(log, "zqsession", "r", 20, "zqtext");
  await log.updateSession("zqsession", { title: "zqtitle" });
  const db = new DatabaseSync(path);
  db.exec("PRAGMA wal_checkpoint");
  expect(readFileSync(path).includes("zqtext")).toBe(true);
  await log.deleteSession("zqsession");
  await log.prune({});
  const file = readFileSync(path).toString("latin1");
  for (const word of ["zqsession", "zqtext", "zqtitle"]) expect(file.includes(word), word).toBe(false);
  expect(db.prepare("SELECT count(*) AS count FROM commits WHERE sessions LIKE '%zq%'").get()).toEqual({ count: 0 });
  db.close();
  await log.close();
});
