// Versions of a store: an older one is opened and brought up to date, a newer one is refused, and nothing is half done.
// `store-v1.db` was made by `writeFixture` when version 1 was; it is what users have, and is never made anew after that.
import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { startChild } from "../../../test/durability/child.ts";
import {
  type Answer,
  askEverything,
  fillSampleStore,
  readTexts,
  tellSamples,
} from "../../../test/fixtures/sample-store.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { createEntry } from "../entry.ts";
import { Compactor } from "./compact.ts";
import { APPLICATION_ID, migrate, MIGRATIONS, readPragma } from "./schema.ts";
import { openSqliteLog, type SqliteLog } from "./sqlite-log.ts";

const FIXTURES = join(import.meta.dirname, "../../../test/fixtures");
const STORE = join(FIXTURES, "store-v1.db");
const ANSWERS = join(FIXTURES, "store-v1.json");

const folder = mkdtempSync(join(tmpdir(), "loom-schema-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

function copyStore(): string {
  const path = join(folder, `${++count}.db`);
  copyFileSync(STORE, path);
  return path;
}

async function withLog<T>(path: string, use: (log: SqliteLog) => Promise<T>): Promise<T> {
  const log = await openSqliteLog(path);
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

function withDatabase<T>(path: string, use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path);
  try {
    return use(db);
  } finally {
    db.close();
  }
}

/** As it comes out of a file: what is undefined is absent. */
const plain = (answers: ReadonlyMap<string, Answer>): unknown =>
  JSON.parse(JSON.stringify(Object.fromEntries(answers)));

/** Sessions had no owner when the fixture was made: they are of this machine. */
function giveOwner(_key: string, value: unknown): unknown {
  const isSession = typeof value === "object" && value !== null && "incarnation" in value;
  return isSession ? { ...value, owner: "local" } : value;
}

/** Run with LOOM_FIXTURE=write when there is a version that no fixture has. */
async function writeFixture(): Promise<void> {
  const path = join(folder, "fixture.db");
  const log = await openSqliteLog(path, { now: () => 1_700_000_100_000 });
  const plans = [
    { sessionId: "long", early: 24, late: 10 },
    { sessionId: "早い", early: 22, late: 0 },
    { sessionId: "new", early: 0, late: 20 },
  ];
  await fillSampleStore(log, plans, () =>
    withDatabase(path, (db) => {
      db.exec("BEGIN IMMEDIATE");
      new Compactor(db, 1).run();
      db.exec("COMMIT");
    }),
  );
  await log.close();
  withDatabase(path, (db) => db.exec("VACUUM"));
  copyFileSync(path, STORE);
  writeFileSync(ANSWERS, `${JSON.stringify(plain(await withLog(path, askEverything)), null, 2)}\n`);
}

it.runIf(process.env["LOOM_FIXTURE"] === "write")("writes the fixture", writeFixture);

describe("a store of version 1", () => {
  it("is the fixture: small, with records of both kinds", () => {
    expect(statSync(STORE).size).toBeLessThan(128 * 1024);
    withDatabase(copyStore(), (db) => {
      expect(readPragma(db, "user_version")).toBe(1);
      for (const table of ["chunks", "recent", "extents", "sessions", "runs", "landmarks", "commands"])
        expect(db.prepare(`SELECT 1 FROM ${table}`).get(), table).toBeDefined();
    });
  });

  it("opens, and says what it said when it was made", async () => {
    const answers = await withLog(copyStore(), askEverything);
    expect(plain(answers)).toEqual(JSON.parse(readFileSync(ANSWERS, "utf8"), giveOwner));
    // The file of answers is checked in too: it must not have been made from a store that says nothing.
    expect(answers.get("long: records")).toMatchObject({ value: expect.any(Array) as unknown });
    expect(answers.get("new: session")).toMatchObject({ value: { firstId: 21, lastId: 30, title: "A title, 标题" } });
  });

  it("is written on", async () => {
    const path = copyStore();
    const before = await withLog(path, (log) => readTexts(log, "long"));
    await withLog(path, async (log) => {
      const { epoch, lastId } = await log.acquire("long", { holder: "test", ttlMs: 1000 });
      expect(lastId).toBe(34);
      const entries = tellSamples("long", lastId, 1500);
      await log.append({ sessionId: "long", epoch, expectedLastId: lastId, entries });
      expect(
        await log.submit({ commandId: "c-3", sessionId: "new", kind: "cancel", body: { run_id: "run-3" } }),
      ).toMatchObject({
        outcome: undefined,
      });
    });
    const added = tellSamples("long", 34, 1500).map(({ text }) => text);
    expect(await withLog(path, (log) => readTexts(log, "long"))).toEqual([...before, ...added]);
  });
});

describe("a store of version 3", () => {
  /** A turn of three records. */
  async function tell(log: SqliteLog, sessionId: string, message: string, reply: string): Promise<void> {
    const lease = await log.acquire(sessionId, { holder: "test", ttlMs: 1000 });
    const runId = `run ${lease.lastId}`;
    const events = [
      { type: "run_start", run_id: runId, message },
      { type: "run_end", status: "completed" },
      { type: "reply", reply },
    ] as const;
    const entries = events.map((event, index) =>
      createEntry({
        envelope: { session_id: sessionId, run_id: runId, event_id: lease.lastId + 1 + index, ts: 1 },
        event,
      }),
    );
    await log.append({ sessionId, epoch: lease.epoch, expectedLastId: lease.lastId, entries });
    await log.release(lease);
  }

  it("is searched, in what was there and in what comes", async () => {
    const path = join(folder, "version-3.db");
    await withLog(path, async (log) => {
      await log.createSession("titled", { title: "标题 of old" });
      await tell(log, "pruned", "gone one", "gone two");
      await log.prune({ maxAgeMs: 0 });
      for (const name of ["old", "deleted"]) await tell(log, name, `early ${name}`, "早い返事");
      await log.deleteSession("deleted");
    });
    withDatabase(path, (db) => {
      db.exec("BEGIN IMMEDIATE");
      new Compactor(db, 1).run();
      db.exec("COMMIT");
    });
    await withLog(path, (log) => tell(log, "old", "late old", "late reply"));
    withDatabase(path, (db) => {
      db.exec("DROP TABLE said; DROP INDEX sessions_by_owner; ALTER TABLE sessions DROP COLUMN owner");
      db.exec("PRAGMA user_version = 3");
      // As damaged as this one may be, it has to be opened before anybody can be told.
      db.exec("INSERT INTO recent SELECT pk + 1000, session, 1, pos, crc, text FROM recent WHERE id = 6 LIMIT 1");
      expect(db.prepare("SELECT count(*) AS n FROM recent WHERE pk > 1000").get()).toEqual({ n: 1 });
    });
    await withLog(path, async (log) => {
      await tell(log, "new", "newest old", "-");
      const search = async (query: string) =>
        (await log.searchSessions({ query })).map(({ sessionId, match }) => `${sessionId} ${match.where}`);
      expect(await search("old")).toEqual(["new message", "old message", "titled title"]);
      expect(await search("返事")).toEqual(["old answer"]);
      expect(await search("early")).toEqual(["old message"]);
      expect([await search("gone"), await search("deleted")]).toEqual([[], []]);
    });
  });
});

describe("a store of version 4", () => {
  /** What was in the fixture, as version 4 has it. */
  function makeStore(spoil = ""): string {
    const path = copyStore();
    withDatabase(path, (db) => {
      migrate(db, MIGRATIONS.slice(0, 4));
      expect(readPragma(db, "user_version")).toBe(4);
      db.exec(spoil);
    });
    return path;
  }

  it("has sessions of this machine, and takes those of others", async () => {
    await withLog(makeStore(), async (log) => {
      const all = await log.listSessions();
      expect(all.map(({ owner }) => owner)).toEqual(Array.from({ length: 5 }, () => "local"));
      expect(await log.listSessions({ owner: "local" })).toEqual(all);
      expect(await log.searchSessions({ query: "标题", owner: "local" })).toMatchObject([{ sessionId: "new" }]);
      await log.createSession("hers", { owner: "alice", title: "标题" });
      expect(await log.listSessions({ owner: "alice" })).toMatchObject([{ sessionId: "hers" }]);
      expect(await log.listSessions({ owner: "local" })).toEqual(all);
      // The seals that were there are those of today, also once a row is written anew.
      await log.renameSession("empty", "something");
      expect(await log.getSession("empty")).toMatchObject({ title: "something", owner: "local" });
    });
  });

  it("that is damaged is not made whole by it", async () => {
    await withLog(makeStore("UPDATE sessions SET title = 'x' WHERE session_id = 'empty'"), async (log) => {
      await expect(log.getSession("empty")).rejects.toMatchObject({ code: "store_corrupt" });
      expect((await log.getSession("new"))?.owner).toBe("local");
    });
  });
});

describe("migrate", () => {
  const LATER = MIGRATIONS.length + 1;
  const later = [...MIGRATIONS, "ALTER TABLE sessions ADD COLUMN colour TEXT; CREATE TABLE flags (name TEXT) STRICT"];
  const schemaOf = (db: DatabaseSync): unknown => db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all();

  it("brings an older store up to date, once, and keeps what is in it", async () => {
    const path = copyStore();
    const before = await withLog(path, askEverything);
    withDatabase(path, (db) => {
      migrate(db, later);
      const schema = schemaOf(db);
      migrate(db, later);
      expect([readPragma(db, "user_version"), readPragma(db, "application_id")]).toEqual([LATER, APPLICATION_ID]);
      expect(schemaOf(db)).toEqual(schema);
      expect(db.prepare("SELECT colour FROM sessions").all()).toHaveLength(5);
      db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
    });
    // With a column more it is still a store: what was in it is in it.
    expect(await withLog(path, askEverything)).toEqual(before);
  });

  it("takes several steps in one transaction, all or none", async () => {
    const path = copyStore();
    const before = await withLog(path, askEverything);
    const version = MIGRATIONS.length;
    withDatabase(path, (db) => {
      const schema = schemaOf(db);
      for (const broken of ["CREATE TABLE flags (name TEXT) STRICT", "UPDATE sessions SET epoch = NULL", "NONSENSE"]) {
        expect(() => migrate(db, [...later, broken])).toThrow(Error);
        expect(db.isTransaction).toBe(false);
        expect([readPragma(db, "user_version"), schemaOf(db)]).toEqual([version, schema]);
      }
      // What went wrong is said, not what became of the transaction.
      expect(() => migrate(db, [...later, "ROLLBACK; NONSENSE"])).toThrow("NONSENSE");
      expect([readPragma(db, "user_version"), schemaOf(db)]).toEqual([version, schema]);
    });
    expect(await withLog(path, askEverything)).toEqual(before);
    withDatabase(path, (db) => {
      migrate(db, [...later, "CREATE TABLE more (name TEXT) STRICT"]);
      expect(readPragma(db, "user_version")).toBe(LATER + 1);
    });
  });

  it("is done by one of two who come at once", () => {
    const path = copyStore();
    const one = new DatabaseSync(path, { timeout: 10_000 });
    const two = new DatabaseSync(path, { timeout: 10_000 });
    // The second reads the version before the first has written it: it must look again.
    const prepare = two.prepare.bind(two);
    let looks = 0;
    two.prepare = (sql) => {
      const statement = prepare(sql);
      if (sql === "PRAGMA user_version" && looks++ === 0) {
        const version = statement.get();
        migrate(one, later);
        return Object.assign(Object.create(statement) as typeof statement, { get: () => version });
      }
      return statement;
    };
    migrate(two, later);
    expect(looks).toBe(2);
    expect(readPragma(one, "user_version")).toBe(LATER);
    one.close();
    two.close();
  });

  it("is done once by processes that come at once", async () => {
    const path = copyStore();
    const module = JSON.stringify(new URL("schema.ts", import.meta.url).href);
    const program = `
      import { DatabaseSync } from "node:sqlite";
      import { migrate } from ${module};
      const db = new DatabaseSync(process.argv[1], { timeout: 10_000 });
      migrate(db, JSON.parse(process.argv[2]));
      db.close();`;
    const args = ["--input-type=module-typescript", "--eval", program, path, JSON.stringify(later)];
    await Promise.all([1, 2, 3].map(() => promisify(execFile)(process.execPath, args)));
    withDatabase(path, (db) => {
      expect(readPragma(db, "user_version")).toBe(LATER);
      expect(db.prepare("SELECT colour FROM sessions").all()).toHaveLength(5);
    });
  });

  it("leaves the store as it was when the disk is full, and says so", () => {
    withDatabase(copyStore(), (db) => {
      const schema = schemaOf(db);
      db.exec(`PRAGMA max_page_count = ${readPragma(db, "page_count") + 1}`);
      const large = "CREATE TABLE large (x); INSERT INTO large SELECT zeroblob(100000) FROM runs";
      expect(() => migrate(db, [...MIGRATIONS, large])).toThrow(expect.objectContaining({ errcode: 13 }));
      expect([readPragma(db, "user_version"), schemaOf(db)]).toEqual([1, schema]);
    });
  });

  it("makes a whole store of an empty database", () => {
    const [empty, made] = [new DatabaseSync(":memory:"), new DatabaseSync(copyStore())];
    migrate(empty);
    migrate(made);
    expect(schemaOf(empty)).toEqual(schemaOf(made));
    expect(readPragma(empty, "application_id")).toBe(APPLICATION_ID);
    made.close();
  });

  it.each([0, -5])("refuses a store that says it has version %i", async (version) => {
    const path = copyStore();
    withDatabase(path, (db) => db.exec(`PRAGMA user_version = ${version}`));
    await expect(openSqliteLog(path)).rejects.toMatchObject({ code: "store_corrupt" });
  });
});

describe("a store of a newer version", () => {
  it("is refused with both versions, and left as it is", async () => {
    const path = copyStore();
    withDatabase(path, (db) => db.exec("PRAGMA user_version = 99"));
    const before = readFileSync(path);
    const error: unknown = await openSqliteLog(path).catch((thrown: unknown) => thrown);
    if (!isLoomError(error)) throw new LoomError("conflict", "it was opened", {}, { cause: error });
    expect([error.code, error.details]).toEqual(["store_newer", { version: 99, known: MIGRATIONS.length }]);
    expect(error.message).toContain("version 99");
    expect(error.message).toContain(`versions up to ${MIGRATIONS.length}`);
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

describe("an old store that many open at once", () => {
  it("is opened by all of them, in this process and in others", async () => {
    const path = copyStore();
    const children = [1, 2].map(() => startChild("../fixtures/limited-child.ts", [path, "0"]));
    const logs = await Promise.all([1, 2, 3].map(() => openSqliteLog(path)));
    const [first, ...others] = await Promise.all(logs.map(askEverything));
    for (const other of others) expect(other).toEqual(first);
    await Promise.all(children.map(({ ended }) => ended));
    for (const { lines } of children) expect(lines.at(-1)).toBe("closed");
    await Promise.all(logs.map((log) => log.close()));
  });
});
