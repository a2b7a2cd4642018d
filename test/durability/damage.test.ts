// A store whose files were damaged, cut, swapped or removed behind its back. It says so by name or says nothing wrong:
// never another text, a shorter session, another status, a lost end; and nothing is acknowledged that is not there.
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
import { openSqliteLog, type SqliteLog, type SqliteLogOptions } from "../../src/log/sqlite/sqlite-log.ts";
import { type ErrorCode, isLoomError, type LoomError } from "../../src/protocol/index.ts";
import {
  type Answer,
  askEverything,
  fillSampleStore,
  isPartOf,
  readTexts,
  SESSIONS,
  tellSamples,
} from "../fixtures/sample-store.ts";
import { highest, startChild } from "./child.ts";
import { proveStory } from "./story.ts";

const LONG = process.env["LOOM_LONG"] === "1";
const ROUNDS = LONG ? 2000 : 40;

const folder = mkdtempSync(join(tmpdir(), "loom-damage-"));
const sample = join(folder, "sample.db");
let whole: Buffer;
let truth: ReadonlyMap<string, Answer>;
let count = 0;

beforeAll(async () => {
  const log = await openSqliteLog(sample, { maxRecentRows: 1024 });
  await fillSampleStore(log);
  await log.close();
  whole = readFileSync(sample);
  truth = await withLog(sample, askEverything);
  const db = new DatabaseSync(sample);
  // The test would prove less if all records lay in one place.
  for (const table of ["chunks", "recent", "runs", "landmarks", "commands"])
    expect(db.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.["rows"]).toBeGreaterThan(3);
  db.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A copy of the sample, for one test to spoil. */
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

/** The refusal; anything else is a failure of the test. */
async function refusalOf(task: Promise<unknown>): Promise<LoomError> {
  const outcome = await task.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ("error" in outcome && isLoomError(outcome.error)) return outcome.error;
  throw new Error("this was not refused by name", { cause: outcome });
}

async function expectRefused(task: Promise<unknown>, ...codes: readonly ErrorCode[]): Promise<void> {
  const { code, message } = await refusalOf(task);
  expect(codes, message).toContain(code);
}

async function appendSamples(log: SqliteLog, sessionId: string, records: number): Promise<number> {
  const { epoch, lastId } = await log.acquire(sessionId, { holder: "test", ttlMs: 1000, takeover: true });
  const entries = tellSamples(sessionId, lastId, records);
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

/** Half of the damage lies anywhere; the other half where SQLite keeps its own accounts, which no checksum covers. */
function spoil(bytes: Buffer, pick: (below: number) => number): string {
  const kind = KINDS[pick(3)] ?? "bit";
  const page = pick(bytes.length / 4096) * 4096;
  const place = [pick(bytes.length), pick(bytes.length), page + pick(200), pick(4096)][pick(4)] ?? 0;
  if (kind === "bit") bytes[place] = (bytes[place] ?? 0) ^ (1 << pick(8));
  else if (kind === "piece") for (let i = 0; i < 16 && place + i < bytes.length; i++) bytes[place + i] = pick(256);
  else bytes.fill(0, place - (place % 512), place - (place % 512) + 512);
  return `${kind} at ${place}`;
}

interface Tally {
  refused: number;
  noticed: number;
  lacking: number;
}

/**
 * A large store is not looked through when it is opened: that would take a second for a gigabyte. Of its sessions and
 * their ends nothing is missed, and every row that is found is proven; but a row of these tables may not be found, and
 * `fold`, which is computed from the runs, may be taken from fewer of them.
 */
const MAY_LACK = /: (runs|run-\d+|checkpoints|lists|list-1|pending|c-\d|fold)$|^orphans$/;

function compare(answers: ReadonlyMap<string, Answer>, mayLack: boolean, tally: Tally, what: string): void {
  let noticed = false;
  for (const [question, answer] of answers) {
    const right = truth.get(question);
    if ("code" in answer) {
      expect(answer.code, `${what}, ${question}`).toMatch(/^store_/);
      noticed = true;
    } else if (mayLack && MAY_LACK.test(question) && !isDeepStrictEqual(answer, right)) {
      tally.lacking++;
      if (!question.endsWith(": fold")) expect(isPartOf(answer, right), `${what}, ${question}`).toBe(true);
    } else expect(answer, `${what}, ${question}`).toEqual(right);
  }
  if (noticed) tally.noticed++;
}

/** What is acknowledged is there, after what was there before; or nothing is acknowledged. */
async function tryToAppend(path: string, options: SqliteLogOptions, what: string): Promise<void> {
  await withLog(
    path,
    async (log) => {
      for (const sessionId of SESSIONS) {
        const before = truth.get(`${sessionId}: records`);
        const known = before !== undefined && "value" in before ? (before.value as readonly string[]) : [];
        try {
          const lastId = await appendSamples(log, sessionId, 3);
          const added = tellSamples(sessionId, lastId - 3, 3).map(({ text }) => text);
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

describe("a file in which bytes have changed", () => {
  it.for([
    ["is right or refused, in every answer", ROUNDS, 32 * 1024 * 1024, 20_251_115],
    // No record, no end of a session, no status and no body is wrong; a row of an index may be missing.
    ["is right or refused where it is too large to be looked through", ROUNDS / 2, 0, 20_251_116],
  ] as const)("%s (%i rounds)", { timeout: 900_000 }, async ([, rounds, maxCheckBytes, fixed], { annotate }) => {
    const options = { maxCheckBytes };
    const seed = LONG ? Date.now() : fixed;
    const pick = createRandom(seed);
    const tally: Tally = { refused: 0, noticed: 0, lacking: 0 };
    for (let round = 0; round < rounds; round++) {
      const bytes = Buffer.from(whole);
      const what = `seed ${seed}, round ${round}: ${spoil(bytes, pick)}`;
      const path = copySample(bytes);
      try {
        await withLog(
          path,
          async (log) => compare(await askEverything(log), maxCheckBytes === 0, tally, what),
          options,
        );
        if (round % 5 === 0) await tryToAppend(path, options, what);
      } catch (error) {
        if (!isLoomError(error)) throw error;
        expect(error.code, what).toMatch(/^store_/);
        tally.refused++;
      }
      for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
    }
    await annotate(`of ${rounds} rounds: ${JSON.stringify(tally)}`);
    // Else it would have spoiled nothing that matters.
    expect(tally.refused + tally.noticed, JSON.stringify(tally)).toBeGreaterThan(rounds / 3);
    expect(tally.noticed, JSON.stringify(tally)).toBeGreaterThan(rounds / 20);
  });
});

describe("a value that has changed in a row", () => {
  /** The statement that spoils, and what must then be refused. */
  const cases: readonly [name: string, sql: string, ask: (log: SqliteLog) => Promise<unknown>][] = [
    ["the text of a recent record", "UPDATE recent SET text = replace(text, 'n', 'm')", (log) => readTexts(log, "new")],
    ["the bytes up to a recent record", "UPDATE recent SET pos = pos + 1", (log) => log.getSession("new")],
    ["the text of a chunk", "UPDATE chunks SET text = replace(text, '1', '2')", (log) => readTexts(log, "long")],
    ["a text that is now a blob", "UPDATE chunks SET text = CAST(text AS BLOB)", (log) => readTexts(log, "long")],
    ["where a chunk begins", "UPDATE chunks SET first_id = first_id - 1", (log) => readTexts(log, "long")],
    [
      "where a chunk ends",
      "UPDATE chunks SET last_id = last_id + 5 WHERE first_id > 300",
      (log) => readTexts(log, "long"),
    ],
    ["the bytes up to a chunk", "UPDATE chunks SET pos = pos + 1", (log) => readTexts(log, "long")],
    ["whose a chunk is", "UPDATE chunks SET session = 7 - session", (log) => readTexts(log, "早い")],
    ["where the chunks of a session end", "UPDATE extents SET last_id = last_id - 1", (log) => readTexts(log, "早い")],
    ["the bytes of its chunks", "UPDATE extents SET pos = pos - 1", (log) => log.getSession("早い")],
    ["where a session begins", "UPDATE sessions SET first_id = first_id + 1", (log) => readTexts(log, "long")],
    [
      "the name of a session",
      "UPDATE sessions SET session_id = 'x' WHERE session_id = 'new'",
      (log) => log.getSession("x"),
    ],
    ["the incarnation", "UPDATE sessions SET incarnation = 'x'", (log) => log.listSessions()],
    ["the title", "UPDATE sessions SET title = 'x'", (log) => log.listSessions()],
    ["the owner", "UPDATE sessions SET owner = 'x'", (log) => log.getSession("new")],
    ["an epoch", "UPDATE sessions SET epoch = epoch + 1", (log) => appendSamples(log, "new", 1)],
    ["the last epoch of all", "UPDATE buried SET epoch = 1", (log) => log.createSession("another")],
    ["the status of a run", "UPDATE runs SET status = 'completed'", (log) => log.listRuns("new")],
    ["the end of a run", "UPDATE runs SET last_id = last_id - 1", (log) => log.getRun("new", "run-1")],
    [
      "an end where there was none",
      "UPDATE runs SET last_id = 65 WHERE last_id IS NULL",
      (log) => log.findFoldStart("new", 66),
    ],
    [
      "the record of a landmark",
      "UPDATE landmarks SET event_id = event_id + 1",
      (log) => log.listLandmarks("long", "checkpoint"),
    ],
    [
      "the run of a landmark",
      "UPDATE landmarks SET run_id = 'x'",
      (log) => log.getLandmark("new", "todo_list", "list-0"),
    ],
    ["the body of a command", 'UPDATE commands SET body = \'{"run_id":"x"}\'', (log) => log.listPending("new")],
    [
      "the answer to a command",
      'UPDATE commands SET outcome = \'{"code":"fenced"}\'',
      (log) => log.getCommand("new", "c-1"),
    ],
    [
      "an answer where there was none",
      "UPDATE commands SET outcome = '{}' WHERE outcome IS NULL",
      (log) => log.getCommand("new", "c-4"),
    ],
  ];

  const NEW = "(SELECT key FROM sessions WHERE session_id = 'new')";

  function change(sql: string): string {
    const path = copySample();
    const db = new DatabaseSync(path);
    expect(db.prepare(sql.replace("CAST(text AS BLOB)", "text")).run().changes).toBeGreaterThan(0);
    if (sql.includes("CAST")) {
      // A table that is strict takes no blob; a changed bit would not ask.
      db.enableDefensive(false);
      db.exec("PRAGMA writable_schema = ON");
      db.exec("UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '      ') WHERE name = 'chunks'");
      db.exec("PRAGMA writable_schema = RESET");
      db.exec(sql);
    }
    db.close();
    return path;
  }

  it.each(cases)("%s is refused", async (_name, sql, ask) => {
    await withLog(change(sql), (log) => expectRefused(ask(log), "store_corrupt"), { maxCheckBytes: 0 });
  });

  it("in one session leaves the others alone, in the same transaction too", async () => {
    const path = change("UPDATE runs SET agent = 'x' WHERE run_id = 'run-3' AND last_id IS NULL");
    await withLog(path, async (log) => {
      const sessions = ["new", "long", "早い"];
      const leases = await Promise.all(
        sessions.map((session) => log.acquire(session, { holder: "test", ttlMs: 1000 })),
      );
      // The first ends the damaged run, and is found out when its records are written already.
      const outcomes = await Promise.allSettled(
        leases.map(({ sessionId, epoch, lastId }) => {
          const entries = tellSamples(sessionId, lastId, 20);
          return log.append({ sessionId, epoch, expectedLastId: lastId, entries });
        }),
      );
      expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
      expect(outcomes[0]).toMatchObject({ reason: { code: "store_corrupt" } });
      const infos = await Promise.all(sessions.map((session) => log.getSession(session)));
      expect(infos.map((info) => info?.lastId)).toEqual([70, 700, 420]);
      expect(await readTexts(log, "new")).toHaveLength(50);
      expect((await readTexts(log, "long")).at(-1)).toBe(tellSamples("long", 699, 1)[0]?.text);
    });
  });

  it("does not say what is thrown away: ended runs", async () => {
    const path = change(`UPDATE runs SET last_id = 25 WHERE run_id = 'run-1' AND session = ${NEW}`);
    await withLog(path, async (log) => {
      const report = await log.prune({ maxAgeMs: 0 });
      expect(await readTexts(log, "new")).toHaveLength(50);
      // The others do not suffer for it.
      expect(report).toMatchObject({ damaged: ["new"] });
      expect(report.runs).toBeGreaterThan(5);
      expect((await log.getSession("long"))?.firstId).toBeGreaterThan(1);
    });
  });

  it("does not say what is thrown away: records that are no longer held", async () => {
    const path = change(`UPDATE sessions SET first_id = 60, unswept = 1 WHERE key = ${NEW}`);
    await withLog(path, async (log) => {
      // What is left of it is swept away, and of all others too.
      expect(await log.deleteSession("pruned")).toBe(true);
      expect(await log.prune({})).toMatchObject({ damaged: ["new"] });
    });
    const db = new DatabaseSync(path);
    expect(db.prepare("SELECT count(*) AS rows FROM sessions WHERE session_id IS NULL").get()).toEqual({ rows: 0 });
    const held = `SELECT count(*) AS rows FROM recent WHERE session = ${NEW} AND text LIKE '%"event_id":21,%'`;
    expect(db.prepare(held).get()).toEqual({ rows: 1 });
    db.close();
  });

  it("is not made sound by moving recent records to chunks", async () => {
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

describe("a file that was cut", () => {
  it("is refused when it is opened, or when what is missing is asked for", async () => {
    const pick = createRandom(LONG ? Date.now() : 7);
    const lengths = [0, 1, 15, 16, 50, 99, 100, 512, 4095, 4096, 4097, 8192, whole.length - 4096, whole.length - 1];
    for (let i = 0; i < (LONG ? 200 : 20); i++) lengths.push(pick(whole.length));
    for (const length of lengths) {
      for (const maxCheckBytes of [0, 32 * 1024 * 1024]) {
        const path = copySample(whole.subarray(0, length));
        const tally: Tally = { refused: 0, noticed: 0, lacking: 0 };
        try {
          await withLog(path, async (log) => compare(await askEverything(log), false, tally, `${length} bytes`), {
            maxCheckBytes,
          });
        } catch (error) {
          if (!isLoomError(error)) throw error;
          expect(error.code, `${length} bytes`).toBe("store_corrupt");
          tally.refused++;
        }
        expect(tally.refused + tally.noticed, `${length} bytes`).toBe(1);
        // What was there before is left for whoever can read it.
        expect(readFileSync(path).length, `${length} bytes`).toBe(length);
      }
    }
  });
});

describe("a store whose writer was killed", () => {
  /** The files it leaves, and what it was told to be written. Most of it is in the write-ahead log alone. */
  async function leave(): Promise<{ path: string; acks: ReadonlyMap<string, number> }> {
    const path = join(folder, `${++count}.db`);
    const child = startChild("write-child.ts", [path, "a,b", "1000000", String(count)]);
    while (child.lines.length < 300) await once(child.process.stdout!, "data");
    child.process.kill("SIGKILL");
    await child.ended;
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(statSync(path).size);
    return { path, acks: highest(child.lines, "ack") };
  }

  let left: Awaited<ReturnType<typeof leave>>;
  beforeAll(async () => {
    left = await leave();
  });

  function copyLeft(suffixes: readonly string[] = ["", "-wal", "-shm"]): string {
    const path = join(folder, `${++count}.db`);
    for (const suffix of suffixes) copyFileSync(left.path + suffix, path + suffix);
    return path;
  }

  it("has all that was acknowledged, with or without the index of its log", async () => {
    for (const path of [copyLeft(), copyLeft(["", "-wal"])])
      await withLog(path, async (log) => {
        for (const [session, last] of left.acks) expect(await proveStory(log, session)).toBeGreaterThanOrEqual(last);
      });
  });

  it("says so when its log is gone, until it is back or given up", async () => {
    const path = copyLeft();
    renameSync(`${path}-wal`, `${path}-away`);
    for (let attempt = 0; attempt < 2; attempt++) {
      const { code, message } = await refusalOf(openSqliteLog(path));
      expect([code, message]).toEqual(["store_corrupt", expect.stringContaining("has lost its write-ahead log")]);
    }
    renameSync(`${path}-away`, `${path}-wal`);
    await withLog(path, async (log) => {
      for (const [session, last] of left.acks) expect(await proveStory(log, session)).toBeGreaterThanOrEqual(last);
    });
    const given = copyLeft(["", "-shm"]);
    rmSync(`${given}-shm`);
    // Who removes both leaves a store that cannot know. It is sound, and shorter: a store is all of its files.
    await withLog(given, async (log) => {
      for (const { sessionId } of await log.listSessions()) await proveStory(log, sessionId);
    });
  });

  it("shows a beginning of what was written when its log was cut or changed, and nothing else", async () => {
    // The end of a log that does not fit its checksums is where a crash cut it, as far as SQLite can know: the records
    // after it are lost without a word. What must never happen is a gap, a wrong record, or an end that others miss.
    const log = readFileSync(`${left.path}-wal`);
    const pick = createRandom(LONG ? Date.now() : 11);
    for (let round = 0; round < (LONG ? 300 : 30); round++) {
      const bytes = Buffer.from(log);
      const isCut = round % 3 === 0;
      const what = isCut ? "cut" : spoil(bytes, pick);
      const path = copyLeft(["", "-shm"]);
      writeFileSync(`${path}-wal`, isCut ? bytes.subarray(0, round === 0 ? 0 : pick(bytes.length)) : bytes);
      try {
        await withLog(path, async (reopened) => {
          for (const { sessionId, lastId } of await reopened.listSessions())
            expect(await proveStory(reopened, sessionId), what).toBe(lastId);
        });
      } catch (error) {
        if (!isLoomError(error)) throw error;
        expect(error.code, what).toMatch(/^store_/);
      }
    }
  });
});

describe("a file that is no store", () => {
  async function expectLeft(path: string, code: ErrorCode): Promise<void> {
    const before = readFileSync(path);
    await expectRefused(openSqliteLog(path), code);
    expect(readFileSync(path).equals(before)).toBe(true);
  }

  it.each([
    ["nothing at all", ""],
    ["a few words", "This is a text."],
    ["many words", "This is a text. ".repeat(5000)],
    ["the first bytes of a store", "SQLite format 3\0"],
  ])("is refused and left alone: %s", async (_name, text) => {
    await expectLeft(copySample(Buffer.from(text)), "store_corrupt");
  });

  it("is refused and left alone: the database of another program", async () => {
    for (const sql of [
      "CREATE TABLE t (x); PRAGMA user_version = 1",
      "CREATE TABLE sessions (key)",
      "PRAGMA user_version = 1",
    ]) {
      const path = join(folder, `${++count}.db`);
      const db = new DatabaseSync(path);
      db.exec(sql);
      db.close();
      await expectLeft(path, "store_corrupt");
    }
  });

  it("is refused: a folder, or a name below a file", async () => {
    const path = join(folder, `${++count}.db`);
    mkdirSync(path);
    await expectRefused(openSqliteLog(path), "store_failed");
    await expectRefused(openSqliteLog(join(copySample(), "x.db")), "store_failed");
    expect(existsSync(path)).toBe(true);
  });
});

describe("a store whose file is taken away while it is open", () => {
  /** Opens a copy and has it written and read once. */
  async function openCopy(): Promise<{ path: string; log: SqliteLog }> {
    const path = copySample();
    const log = await openSqliteLog(path);
    expect(await appendSamples(log, "new", 3)).toBe(73);
    expect(await readTexts(log, "new")).toHaveLength(53);
    return { path, log };
  }

  it("acknowledges nothing and shows nothing while another is in its place, and goes on when it is back", async () => {
    const { path, log } = await openCopy();
    renameSync(path, `${path}-old`);
    const other = copySample();
    renameSync(other, path);
    const before = readFileSync(path);
    // The first attempt finds out, the later ones must not take the new file for the old one.
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

  it("is not made anew by those who had it open", async () => {
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

  it("says so when its file is cut under its hands", async () => {
    const { path, log } = await openCopy();
    await log.close();
    const again = await openSqliteLog(path);
    truncateSync(path, 5000);
    await expectRefused(readTexts(again, "long"), "store_corrupt", "store_failed");
    await expectRefused(appendSamples(again, "long", 1), "store_corrupt", "store_failed");
    await again.close();
  });
});
