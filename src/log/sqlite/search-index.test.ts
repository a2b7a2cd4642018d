// Long texts are indexed and deleted in small transactions, so that other writers hardly wait.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test, vi } from "vitest";
import { createEntry } from "../entry.ts";
import type { Log } from "../log.ts";
import { openSqliteLog } from "./sqlite-log.ts";
import { sampleCases } from "../../../test/sampling.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-search-index-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const RUNS = 6;
const WORDS_PER_TEXT = 3000;

function count(path: string, sql: string): number {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return Number(Object.values(db.prepare(sql).get() ?? {})[0]);
  } finally {
    db.close();
  }
}

/** Appends runs whose messages have many different words, in one batch. */
async function writeLongRuns(log: Log, sessionId: string, word: string): Promise<void> {
  const { epoch } = await log.acquire(sessionId, { holder: "test", ttlMs: 60_000 });
  const entries = Array.from({ length: RUNS }, (_, run) => {
    const message = Array.from({ length: WORDS_PER_TEXT }, (_one, index) => `${word}${run}x${index}`).join(" ");
    const envelope = { session_id: sessionId, run_id: `r${run}`, event_id: run + 1, ts: 1 };
    return createEntry({ envelope, event: { type: "run_start", run_id: `r${run}`, message } });
  });
  await log.append({ sessionId, epoch, expectedLastId: 0, entries });
}

test("long texts are found at once, and indexed after the append", async () => {
  const path = join(folder, "long.db");
  const log = await openSqliteLog(path);
  await log.createSession("mine", { owner: "ann" });
  await log.createSession("theirs", { owner: "bob" });
  await writeLongRuns(log, "theirs", "apple");
  await writeLongRuns(log, "mine", "pear");
  const namesOf = async (query: string, owner?: string) =>
    (await log.searchSessions({ query, ...(owner === undefined ? {} : { owner }) })).map((one) => one.sessionId);
  const expectFound = async () => {
    expect(await namesOf("pear0x7 pear0x8", "ann")).toEqual(["mine"]);
    expect(await namesOf("pear5x2999")).toEqual(["mine"]);
    expect(await namesOf("apple5", "bob")).toEqual(["theirs"]);
    expect(await namesOf("apple5x1", "ann")).toEqual([]);
  };
  await expectFound();
  await vi.waitFor(() => expect(count(path, "SELECT count(*) FROM unindexed")).toBe(0), { timeout: 20_000 });
  await expectFound();
  await log.close();
});

test("a process continues to index texts that another one left", async () => {
  const path = join(folder, "left.db");
  const log = await openSqliteLog(path);
  await writeLongRuns(log, "s", "apple");
  await log.close();
  const db = new DatabaseSync(path, { defensive: false });
  db.exec(
    "INSERT INTO terms (terms) VALUES ('delete-all'); INSERT OR IGNORE INTO unindexed SELECT id, 'local' FROM texts",
  );
  db.close();
  const next = await openSqliteLog(path);
  await next.createSession("other");
  await vi.waitFor(() => expect(count(path, "SELECT count(*) FROM unindexed")).toBe(0), { timeout: 20_000 });
  expect(await next.searchSessions({ query: "apple3x4" })).toHaveLength(1);
  await next.close();
});

test.each(sampleCases(["deleted", "pruned"]))(
  "the words of a %s session are removed in many transactions",
  async (kind) => {
    const path = join(folder, `${kind}.db`);
    const log = await openSqliteLog(path);
    await writeLongRuns(log, "secret", "zq");
    await vi.waitFor(() => expect(count(path, "SELECT count(*) FROM unindexed")).toBe(0), { timeout: 20_000 });
    const before = count(path, "SELECT max(seq) FROM commits");
    if (kind === "deleted") {
      await log.deleteSession("secret");
      await log.prune({});
    } else {
      const lease = await log.acquire("secret", { holder: "test", ttlMs: 60_000, takeover: true });
      const entries = Array.from({ length: RUNS }, (_, run) => {
        const envelope = { session_id: "secret", run_id: `r${run}`, event_id: RUNS + run + 1, ts: 2 };
        return createEntry({ envelope, event: { type: "reply", reply: "done" } });
      });
      await log.append({ sessionId: "secret", epoch: lease.epoch, expectedLastId: RUNS, entries });
      await log.prune({ maxAgeMs: 0 });
    }
    // Each transaction of the sweep adds a row, and removes at most 256 words.
    expect(count(path, "SELECT max(seq) FROM commits") - before).toBeGreaterThan((RUNS * WORDS_PER_TEXT) / 256);
    expect(count(path, "SELECT count(*) FROM texts")).toBe(0);
    expect(readFileSync(path).toString("latin1")).not.toMatch(/zq\dx/);
    expect(await log.searchSessions({ query: "zq0x1" })).toEqual([]);
    await writeLongRuns(log, "next", "fig");
    expect(await log.searchSessions({ query: "fig0x1" })).toHaveLength(1);
    await log.close();
    expect(readFileSync(path).toString("latin1")).not.toMatch(/zq\dx/);
  },
);
