// A store whose files were corrupted, truncated, replaced or removed by another program. It fails with a `store_*` code
// or returns correct data: never a wrong text, status or end of a session. Nothing is acknowledged that is not stored.
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqliteLog, type SqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import type { SqliteLogOptions } from "../../src/log/store-options.ts";
import { type ErrorCode, isLoomError, type LoomError } from "../../src/protocol/index.ts";
import {
  type QueryResult,
  queryEverything,
  fillSampleStore,
  isPartialResult,
  readTexts,
  SESSIONS,
  createSampleEntries,
} from "../fixtures/sample-store.ts";
import { findHighestIds, startChild } from "./child.ts";
import { verifyKnownRecords } from "./known-records.ts";
import { LONG } from "../sampling.ts";

const ROUNDS = LONG ? 2000 : 9;

const folder = mkdtempSync(join(tmpdir(), "loom-damage-"));
const sample = join(folder, "sample.db");
let whole: Buffer;
let expectedResults: ReadonlyMap<string, QueryResult>;
let count = 0;

beforeAll(async () => {
  const log = await openSqliteLog(sample, { maxRecentRows: 1024 });
  await fillSampleStore(log);
  await log.close();
  whole = readFileSync(sample);
  expectedResults = await withLog(sample, queryEverything);
  const db = new DatabaseSync(sample);
  // Records must be in chunks as well as in recent rows.
  for (const table of ["chunks", "recent", "runs", "landmarks", "commands"])
    expect(db.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.["rows"]).toBeGreaterThan(3);
  db.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A copy of the sample for one test. */
function copySample(bytes: Uint8Array = whole): string {
  const path = join(folder, `${++count}.db`);
  writeFileSync(path, bytes);
  return path;
}

async function withLog<T>(
  path: string,
  use: (log: SqliteLog) => Promise<T>,
  options: SqliteLogOptions = {},
): Promise<T> {
  const log = await openSqliteLog(path, options);
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

/** Returns the LoomError that a task rejects with; throws if there is none. */
async function catchLoomError(task: Promise<unknown>): Promise<LoomError> {
  const outcome = await task.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ("error" in outcome && isLoomError(outcome.error)) return outcome.error;
  throw new Error("expected the task to reject with a LoomError", { cause: outcome });
}

async function expectRefused(task: Promise<unknown>, ...codes: readonly ErrorCode[]): Promise<void> {
  const { code, message } = await catchLoomError(task);
  expect(codes, message).toContain(code);
}

async function appendSamples(log: SqliteLog, sessionId: string, records: number): Promise<number> {
  const { epoch, lastId } = await log.acquire(sessionId, { holder: "test", ttlMs: 1000, takeover: true });
  const entries = createSampleEntries(sessionId, lastId, records);
  return (await log.append({ sessionId, epoch, expectedLastId: lastId, entries })).lastId;
}

function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const KINDS = ["bit", "piece", "sector"] as const;

/**
 * Corrupts bytes. Half of the positions are random; the other half is in page headers and the first page, which no
 * checksum of ours covers.
 */
function corrupt(bytes: Buffer, pick: (below: number) => number): string {
  const kind = KINDS[pick(3)] ?? "bit";
  const page = pick(bytes.length / 4096) * 4096;
  const position = [pick(bytes.length), pick(bytes.length), page + pick(200), pick(4096)][pick(4)] ?? 0;
  if (kind === "bit") bytes[position] = (bytes[position] ?? 0) ^ (1 << pick(8));
  else if (kind === "piece")
    for (let i = 0; i < 16 && position + i < bytes.length; i++) bytes[position + i] = pick(256);
  else bytes.fill(0, position - (position % 512), position - (position % 512) + 512);
  return `${kind} at ${position}`;
}

interface Tally {
  refused: number;
  noticed: number;
  incomplete: number;
}

/**
 * A large store is not fully checked when it is opened, because that takes about a second per gigabyte. Sessions and
 * their ends are complete and every row that is found is verified, but rows of these tables may be missing. `fold` is
 * computed from the runs and may use fewer of them.
 */
const MAY_BE_INCOMPLETE = /: (runs|run-\d+|checkpoints|lists|list-1|pending|c-\d|fold)$|^orphans$/;

function compare(
  results: ReadonlyMap<string, QueryResult>,
  mayBeIncomplete: boolean,
  tally: Tally,
  what: string,
): void {
  let noticed = false;
  for (const [query, result] of results) {
    const right = expectedResults.get(query);
    if ("code" in result) {
      expect(result.code, `${what}, ${query}`).toMatch(/^store_/);
      noticed = true;
    } else if (mayBeIncomplete && MAY_BE_INCOMPLETE.test(query) && !isDeepStrictEqual(result, right)) {
      tally.incomplete++;
      if (!query.endsWith(": fold")) expect(isPartialResult(result, right), `${what}, ${query}`).toBe(true);
    } else expect(result, `${what}, ${query}`).toEqual(right);
  }
  if (noticed) tally.noticed++;
}

/** Acknowledged records are stored after the existing ones; otherwise nothing is acknowledged. */
async function checkAppend(path: string, options: SqliteLogOptions, what: string): Promise<void> {
  await withLog(
    path,
    async (log) => {
      for (const sessionId of SESSIONS) {
        const before = expectedResults.get(`${sessionId}: records`);
        const known = before !== undefined && "value" in before ? (before.value as readonly string[]) : [];
        try {
          const lastId = await appendSamples(log, sessionId, 3);
          const added = createSampleEntries(sessionId, lastId - 3, 3).map(({ text }) => text);
          const page = await log.read(sessionId, { after: lastId - 3 });
          expect(page.texts, `${what}, ${sessionId}`).toEqual(added);
          const texts = await readTexts(log, sessionId);
          expect(texts, `${what}, ${sessionId}`).toEqual([...known, ...added]);
        } catch (error) {
          if (!isLoomError(error)) throw error;
          expect(error.code, `${what}, ${sessionId}`).toMatch(/^store_/);
        }
      }
    },
    options,
  ).catch((error: unknown) => {
    if (!isLoomError(error)) throw error;
  });
}

describe("a corrupted file", () => {
  it.for([
    ["every result is correct or an error", ROUNDS, 32 * 1024 * 1024, 20_251_115],
    // Records, session ends, statuses and bodies are correct; index rows may be missing.
    ["every result is correct or an error, without a full check", ROUNDS / 2, 0, 20_251_118],
  ] as const)("%s (%i rounds)", { timeout: 900_000 }, async ([, rounds, maxCheckBytes, fixed], { annotate }) => {
    const options = { maxCheckBytes };
    const seed = LONG ? Date.now() : fixed;
    const pick = createRandom(seed);
    const tally: Tally = { refused: 0, noticed: 0, incomplete: 0 };
    for (let round = 0; round < rounds; round++) {
      const bytes = Buffer.from(whole);
      const what = `seed ${seed}, round ${round}: ${corrupt(bytes, pick)}`;
      const path = copySample(bytes);
      try {
        await withLog(
          path,
          async (log) => compare(await queryEverything(log), maxCheckBytes === 0, tally, what),
          options,
        );
        if (round % 5 === 0) await checkAppend(path, options, what);
      } catch (error) {
        if (!isLoomError(error)) throw error;
        expect(error.code, what).toMatch(/^store_/);
        tally.refused++;
      }
      for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
    }
    await annotate(`${rounds} rounds: ${JSON.stringify(tally)}`);
    // Otherwise the corruption did not affect anything that was read.
    expect(tally.refused + tally.noticed, JSON.stringify(tally)).toBeGreaterThan(rounds / 3);
    expect(tally.noticed, JSON.stringify(tally)).toBeGreaterThan(rounds / 20);
  });
});

describe("a changed value in a row", () => {
  /** The statement that corrupts, and the call that must fail. */
  const cases: readonly [name: string, sql: string, ask: (log: SqliteLog) => Promise<unknown>][] = [
    ["text of a recent record", "UPDATE recent SET text = replace(text, 'n', 'm')", (log) => readTexts(log, "new")],
    ["position of a recent record", "UPDATE recent SET pos = pos + 1", (log) => log.getSession("new")],
    ["text of a chunk", "UPDATE chunks SET text = replace(text, '1', '2')", (log) => readTexts(log, "long")],
    [
      "text of a chunk changed to a blob",
      "UPDATE chunks SET text = CAST(text AS BLOB)",
      (log) => readTexts(log, "long"),
    ],
    ["first id of a chunk", "UPDATE chunks SET first_id = first_id - 1", (log) => readTexts(log, "long")],
    [
      "last id of a chunk",
      "UPDATE chunks SET last_id = last_id + 5 WHERE first_id > 300",
      (log) => readTexts(log, "long"),
    ],
    ["position of a chunk", "UPDATE chunks SET pos = pos + 1", (log) => readTexts(log, "long")],
    ["session of a chunk", "UPDATE chunks SET session = 7 - session", (log) => readTexts(log, "早い")],
    ["last chunked id of a session", "UPDATE extents SET last_id = last_id - 1", (log) => readTexts(log, "早い")],
    ["chunked bytes of a session", "UPDATE extents SET pos = pos - 1", (log) => log.getSession("早い")],
    ["first id of a session", "UPDATE sessions SET first_id = first_id + 1", (log) => readTexts(log, "long")],
    [
      "name of a session",
      "UPDATE sessions SET session_id = 'x' WHERE session_id = 'new'",
      (log) => log.getSession("x"),
    ],
    ["incarnation", "UPDATE sessions SET incarnation = 'x'", (log) => log.listSessions()],
    ["title", "UPDATE sessions SET title = 'x'", (log) => log.listSessions()],
    ["owner", "UPDATE sessions SET owner = 'x'", (log) => log.getSession("new")],
    ["epoch", "UPDATE sessions SET epoch = epoch + 1", (log) => appendSamples(log, "new", 1)],
    ["highest epoch of deleted sessions", "UPDATE deleted_epochs SET epoch = 1", (log) => log.createSession("another")],
    ["status of a run", "UPDATE runs SET status = 'completed'", (log) => log.listRuns("new")],
    ["last id of a run", "UPDATE runs SET last_id = last_id - 1", (log) => log.getRun("new", "run-1")],
    [
      "last id of a live run",
      "UPDATE runs SET last_id = 65 WHERE last_id IS NULL",
      (log) => log.findFoldStart("new", 66),
    ],
    [
      "event id of a landmark",
      "UPDATE landmarks SET event_id = event_id + 1",
      (log) => log.listLandmarks("long", "checkpoint"),
    ],
    ["run of a landmark", "UPDATE landmarks SET run_id = 'x'", (log) => log.getLandmark("new", "todo_list", "list-0")],
    ["body of a command", 'UPDATE commands SET body = \'{"run_id":"x"}\'', (log) => log.listPending("new")],
    [
      "outcome of a command",
      'UPDATE commands SET outcome = \'{"code":"fenced"}\'',
      (log) => log.getCommand("new", "c-1"),
    ],
    [
      "outcome of a pending command",
      "UPDATE commands SET outcome = '{}' WHERE outcome IS NULL",
      (log) => log.getCommand("new", "c-4"),
    ],
  ];

  const NEW = "(SELECT key FROM sessions WHERE session_id = 'new')";

  function change(sql: string, path = copySample()): string {
    const db = new DatabaseSync(path);
    expect(db.prepare(sql.replace("CAST(text AS BLOB)", "text")).run().changes).toBeGreaterThan(0);
    if (sql.includes("CAST")) {
      // A strict table rejects blobs, but a flipped bit can still turn a text into one.
      db.enableDefensive(false);
      db.exec("PRAGMA writable_schema = ON");
      db.exec("UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '      ') WHERE name = 'chunks'");
      db.exec("PRAGMA writable_schema = RESET");
      db.exec(sql);
    }
    db.close();
    return path;
  }

  it.each(cases)("is detected: %s", async (_name, sql, ask) => {
    await withLog(change(sql), (log) => expectRefused(ask(log), "store_corrupt"), { maxCheckBytes: 0 });
  });

  it("in one session does not affect others, even in the same transaction", async () => {
    const path = copySample();
    await withLog(path, async (log) => {
      const sessions = ["new", "long", "早い"];
      const leases = await Promise.all(
        sessions.map((session) => log.acquire(session, { holder: "test", ttlMs: 60_000 })),
      );
      change("UPDATE runs SET agent = 'x' WHERE run_id = 'run-3' AND last_id IS NULL", path);
      // The append to "new" ends the corrupted run, which is detected only after its records are written.
      const outcomes = await Promise.allSettled(
        leases.map(({ sessionId, epoch, lastId }) => {
          const entries = createSampleEntries(sessionId, lastId, 20);
          return log.append({ sessionId, epoch, expectedLastId: lastId, entries });
        }),
      );
      expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
      expect(outcomes[0]).toMatchObject({ reason: { code: "store_corrupt" } });
      const infos = await Promise.all(sessions.map((session) => log.getSession(session)));
      expect(infos.map((info) => info?.lastId)).toEqual([70, 700, 420]);
      expect(await readTexts(log, "new")).toHaveLength(50);
      expect((await readTexts(log, "long")).at(-1)).toBe(createSampleEntries("long", 699, 1)[0]?.text);
      const acquired = log.acquire("new", { holder: "test", ttlMs: 1000, takeover: true });
      expect(await catchLoomError(acquired)).toMatchObject({ code: "store_corrupt" });
    });
  });

  it("does not make pruning delete records of a run", async () => {
    const path = change(`UPDATE runs SET last_id = 25 WHERE run_id = 'run-1' AND session = ${NEW}`);
    await withLog(path, async (log) => {
      const report = await log.prune({ maxAgeMs: 0 });
      expect(await readTexts(log, "new")).toHaveLength(50);
      // Other sessions are pruned normally.
      expect(report).toMatchObject({ damaged: ["new"] });
      expect(report.runs).toBeGreaterThan(5);
      expect((await log.getSession("long"))?.firstId).toBeGreaterThan(1);
    });
  });

  it("does not make pruning delete records of a session", async () => {
    const path = change(`UPDATE sessions SET first_id = 60, unswept = 1 WHERE key = ${NEW}`);
    await withLog(path, async (log) => {
      // Deleted sessions are still swept.
      expect(await log.deleteSession("pruned")).toBe(true);
      expect(await log.prune({ maxAgeMs: 0 })).toMatchObject({ damaged: ["new"] });
    });
    const db = new DatabaseSync(path);
    expect(db.prepare("SELECT count(*) AS rows FROM sessions WHERE session_id IS NULL").get()).toEqual({ rows: 0 });
    const held = `SELECT count(*) AS rows FROM recent WHERE session = ${NEW} AND text LIKE '%"event_id":21,%'`;
    expect(db.prepare(held).get()).toEqual({ rows: 1 });
    db.close();
  });

  it("is still detected after compaction", async () => {
    const path = change(
      `UPDATE recent SET text = replace(text, 'custom', 'kustom') WHERE text LIKE '%"event_id":30,%'`,
    );
    await withLog(path, async (log) => {
      for (let batch = 0; batch < 3; batch++) await appendSamples(log, "long", 500);
      await expectRefused(readTexts(log, "new"), "store_corrupt");
      expect(await readTexts(log, "long")).toHaveLength(2160);
    });
  });
});

describe("a truncated file", () => {
  it("is detected when it is opened or when the missing part is read", async () => {
    const pick = createRandom(LONG ? Date.now() : 7);
    const lengths = [0, 1, 15, 16, 50, 99, 100, 512, 4095, 4096, 4097, 8192, whole.length - 4096, whole.length - 1];
    for (let i = 0; i < (LONG ? 200 : 8); i++) lengths.push(pick(whole.length));
    for (const length of lengths) {
      for (const maxCheckBytes of [0, 32 * 1024 * 1024]) {
        const path = copySample(whole.subarray(0, length));
        const tally: Tally = { refused: 0, noticed: 0, incomplete: 0 };
        try {
          await withLog(path, async (log) => compare(await queryEverything(log), false, tally, `${length} bytes`), {
            maxCheckBytes,
          });
        } catch (error) {
          if (!isLoomError(error)) throw error;
          expect(error.code, `${length} bytes`).toBe("store_corrupt");
          tally.refused++;
        }
        expect(tally.refused + tally.noticed, `${length} bytes`).toBe(1);
        // The file is left as it was.
        expect(readFileSync(path).length, `${length} bytes`).toBe(length);
      }
    }
  });
});

describe("the store of a killed writer", () => {
  /** Kills a writer; returns the store and the acknowledged IDs. Most records are only in the write-ahead log. */
  async function killWriter(): Promise<{ path: string; acks: ReadonlyMap<string, number> }> {
    const path = join(folder, `${++count}.db`);
    const child = startChild("write-child.ts", [path, "a,b", "1000000", String(count)]);
    while (child.lines.length < 300) await once(child.process.stdout!, "data");
    child.process.kill("SIGKILL");
    await child.ended;
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(statSync(path).size);
    return { path, acks: findHighestIds(child.lines, "ack") };
  }

  let killed: Awaited<ReturnType<typeof killWriter>>;
  beforeAll(async () => {
    killed = await killWriter();
  });

  function copyKilled(suffixes: readonly string[] = ["", "-wal", "-shm"]): string {
    const path = join(folder, `${++count}.db`);
    for (const suffix of suffixes) copyFileSync(killed.path + suffix, path + suffix);
    return path;
  }

  it("contains everything that was acknowledged, with or without the shared-memory file", async () => {
    for (const path of [copyKilled(), copyKilled(["", "-wal"])])
      await withLog(path, async (log) => {
        for (const [session, last] of killed.acks)
          expect(await verifyKnownRecords(log, session)).toBeGreaterThanOrEqual(last);
      });
  });

  it("reports a missing write-ahead log until it is restored or given up", async () => {
    const path = copyKilled();
    renameSync(`${path}-wal`, `${path}-away`);
    for (let attempt = 0; attempt < 2; attempt++) {
      const { code, message } = await catchLoomError(openSqliteLog(path));
      expect([code, message]).toEqual([
        "store_corrupt",
        expect.stringContaining("write-ahead log of the store is missing"),
      ]);
    }
    renameSync(`${path}-away`, `${path}-wal`);
    await withLog(path, async (log) => {
      for (const [session, last] of killed.acks)
        expect(await verifyKnownRecords(log, session)).toBeGreaterThanOrEqual(last);
    });
    const given = copyKilled(["", "-shm"]);
    rmSync(`${given}-shm`);
    // Without both files, the loss cannot be detected. The store is valid, but shorter.
    await withLog(given, async (log) => {
      for (const { sessionId } of await log.listSessions()) await verifyKnownRecords(log, sessionId);
    });
  });

  it("returns a prefix of what was written if its write-ahead log is truncated or corrupted", async () => {
    // SQLite cannot tell a corrupted end of the write-ahead log from an interrupted write, so the records after it are
    // lost without an error. A gap, a wrong record or a wrong end must never happen.
    const log = readFileSync(`${killed.path}-wal`);
    const pick = createRandom(LONG ? Date.now() : 11);
    for (let round = 0; round < (LONG ? 300 : 10); round++) {
      const bytes = Buffer.from(log);
      const isCut = round % 3 === 0;
      const what = isCut ? "cut" : corrupt(bytes, pick);
      const path = copyKilled(["", "-shm"]);
      writeFileSync(`${path}-wal`, isCut ? bytes.subarray(0, round === 0 ? 0 : pick(bytes.length)) : bytes);
      try {
        await withLog(path, async (reopened) => {
          for (const { sessionId, lastId } of await reopened.listSessions())
            expect(await verifyKnownRecords(reopened, sessionId), what).toBe(lastId);
        });
      } catch (error) {
        if (!isLoomError(error)) throw error;
        expect(error.code, what).toMatch(/^store_/);
      }
    }
  });
});

describe("a file that is not a store", () => {
  async function expectUnchanged(path: string, code: ErrorCode): Promise<void> {
    const before = readFileSync(path);
    await expectRefused(openSqliteLog(path), code);
    expect(readFileSync(path).equals(before)).toBe(true);
  }

  it.each([
    ["empty file", ""],
    ["short text", "This is a text."],
    ["long text", "This is a text. ".repeat(5000)],
    ["start of a SQLite header", "SQLite format 3\0"],
  ])("is rejected and left unchanged: %s", async (_name, text) => {
    await expectUnchanged(copySample(Buffer.from(text)), "store_corrupt");
  });

  it("is rejected and left unchanged: the database of another program", async () => {
    for (const sql of [
      "CREATE TABLE t (x); PRAGMA user_version = 1",
      "CREATE TABLE sessions (key)",
      "PRAGMA user_version = 1",
    ]) {
      const path = join(folder, `${++count}.db`);
      const db = new DatabaseSync(path);
      db.exec(sql);
      db.close();
      await expectUnchanged(path, "store_corrupt");
    }
  });

  it("is rejected: a folder, or a path below a file", async () => {
    const path = join(folder, `${++count}.db`);
    mkdirSync(path);
    await expectRefused(openSqliteLog(path), "store_failed");
    await expectRefused(openSqliteLog(join(copySample(), "x.db")), "store_failed");
    expect(existsSync(path)).toBe(true);
  });
});

describe("a store whose file is removed while it is open", () => {
  /** Opens a copy, writes to it and reads it once. */
  async function openCopy(): Promise<{ path: string; log: SqliteLog }> {
    const path = copySample();
    const log = await openSqliteLog(path);
    expect(await appendSamples(log, "new", 3)).toBe(73);
    expect(await readTexts(log, "new")).toHaveLength(53);
    return { path, log };
  }

  it("rejects reads and writes while another file has its name, and continues when it is restored", async () => {
    const { path, log } = await openCopy();
    renameSync(path, `${path}-old`);
    const other = copySample();
    renameSync(other, path);
    const before = readFileSync(path);
    // Later attempts must not mistake the new file for the old one.
    for (let attempt = 0; attempt < 3; attempt++) {
      await expectRefused(appendSamples(log, "new", 1), "store_failed");
      await expectRefused(log.submit({ commandId: "c", sessionId: "new", kind: "cancel", body: {} }), "store_failed");
      await expectRefused(log.getSession("new"), "store_failed");
      await expectRefused(readTexts(log, "long"), "store_failed");
    }
    expect(readFileSync(path).equals(before)).toBe(true);
    renameSync(`${path}-old`, path);
    expect(await appendSamples(log, "new", 3)).toBe(76);
    expect(await readTexts(log, "new")).toHaveLength(56);
    await log.close();
    await withLog(path, async (again) => expect(await readTexts(again, "new")).toHaveLength(56));
  });

  it("is not created again by a log that had it open", async () => {
    const { path, log } = await openCopy();
    for (const suffix of ["", "-wal", "-shm"]) renameSync(path + suffix, `${path}-old${suffix}`);
    for (let attempt = 0; attempt < 2; attempt++) {
      await expectRefused(appendSamples(log, "new", 1), "store_failed");
      await expectRefused(log.getSession("new"), "store_failed");
    }
    expect(existsSync(path)).toBe(false);
    await log.close();
    await withLog(`${path}-old`, async (again) => expect(await readTexts(again, "new")).toHaveLength(53));
  });

  it("reports a truncated file", async () => {
    const { path, log } = await openCopy();
    await log.close();
    const again = await openSqliteLog(path);
    truncateSync(path, 5000);
    await expectRefused(readTexts(again, "long"), "store_corrupt", "store_failed");
    await expectRefused(appendSamples(again, "long", 1), "store_corrupt", "store_failed");
    await again.close();
  });
});
