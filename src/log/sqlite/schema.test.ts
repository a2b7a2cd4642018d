// Store versions: older ones are migrated, newer ones rejected, and migrations are atomic. `store-v1.db` was created by
// `writeFixture` with version 1 and is never created again.
import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { startChild } from "../../../test/durability/child.ts";
import {
  type QueryResult,
  queryEverything,
  fillSampleStore,
  readTexts,
  createSampleEntries,
} from "../../../test/fixtures/sample-store.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { readPragma } from "../../sqlite/database.ts";
import { migrate } from "../../sqlite/migrate.ts";
import { sealOf } from "../../sqlite/seal.ts";
import { createEntry } from "../entry.ts";
import { Compactor } from "./compact.ts";
import { STORE_FORMAT } from "./schema.ts";
import { openSqliteLog, type SqliteLog } from "./sqlite-log.ts";

const { applicationId: APPLICATION_ID, migrations: MIGRATIONS } = STORE_FORMAT;
const migrateWith = (db: DatabaseSync, migrations: readonly string[]): void =>
  migrate(db, { ...STORE_FORMAT, migrations });

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

/** As it is read from JSON: undefined values are absent. */
const plain = (answers: ReadonlyMap<string, QueryResult>): unknown =>
  JSON.parse(JSON.stringify(Object.fromEntries(answers)));

/** Sessions in the fixture have no owner, root or marks; migrated ones belong to `local` and are their own root. */
function giveOwner(_key: string, value: unknown): unknown {
  const isSession = typeof value === "object" && value !== null && "incarnation" in value && "sessionId" in value;
  const added = { owner: "local", isPinned: false, isArchived: false };
  return isSession ? { ...value, ...added, rootId: value.sessionId } : value;
}

/** Run with LOOM_FIXTURE=write to create a fixture of the current version. */
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
  writeFileSync(ANSWERS, `${JSON.stringify(plain(await withLog(path, queryEverything)), null, 2)}\n`);
}

it.runIf(process.env["LOOM_FIXTURE"] === "write")("writes the fixture", writeFixture);

describe("a store of version 1", () => {
  it("is a small fixture with chunks and recent records", () => {
    expect(statSync(STORE).size).toBeLessThan(128 * 1024);
    withDatabase(copyStore(), (db) => {
      expect(readPragma(db, "user_version")).toBe(1);
      for (const table of ["chunks", "recent", "extents", "sessions", "runs", "landmarks", "commands"])
        expect(db.prepare(`SELECT 1 FROM ${table}`).get(), table).toBeDefined();
    });
  });

  it("opens and returns the same data as when it was created", async () => {
    const answers = await withLog(copyStore(), queryEverything);
    expect(plain(answers)).toEqual(JSON.parse(readFileSync(ANSWERS, "utf8"), giveOwner));
    // The answers are checked in; make sure that they are not empty.
    expect(answers.get("long: records")).toMatchObject({ value: expect.any(Array) as unknown });
    expect(answers.get("new: session")).toMatchObject({ value: { firstId: 21, lastId: 30, title: "A title, 标题" } });
  });

  it("can be appended to", async () => {
    const path = copyStore();
    const before = await withLog(path, (log) => readTexts(log, "long"));
    await withLog(path, async (log) => {
      const { epoch, lastId } = await log.acquire("long", { holder: "test", ttlMs: 1000 });
      expect(lastId).toBe(34);
      const entries = createSampleEntries("long", lastId, 1500);
      await log.append({ sessionId: "long", epoch, expectedLastId: lastId, entries });
      expect(
        await log.submit({ commandId: "c-3", sessionId: "new", kind: "cancel", body: { run_id: "run-3" } }),
      ).toMatchObject({
        outcome: undefined,
      });
    });
    const added = createSampleEntries("long", 34, 1500).map(({ text }) => text);
    expect(await withLog(path, (log) => readTexts(log, "long"))).toEqual([...before, ...added]);
  });
});

describe("a store of version 3", () => {
  /** Writes a run of three records. */
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

  it("is searchable, including old records", async () => {
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
      db.exec(
        "DROP TABLE carried; DROP TABLE pruning; DROP INDEX runs_by_end; DROP TABLE snapshots; DROP TABLE commits; DROP TABLE unindexed; DROP TABLE texts; DROP TABLE terms; ALTER TABLE deleted_epochs RENAME TO buried; DROP INDEX sessions_by_owner; DROP INDEX sessions_marked; DROP INDEX sessions_drafts; DROP INDEX commands_by_id; DROP TABLE owner_usage; DROP TABLE blob_usage; DROP TABLE lineages; ALTER TABLE sessions DROP COLUMN owner; ALTER TABLE sessions DROP COLUMN is_pinned; ALTER TABLE sessions DROP COLUMN is_archived",
      );
      db.exec("PRAGMA user_version = 3");
      // A damaged store must still open, so that the damage can be reported.
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
  /** The fixture, migrated to version 4. */
  function makeStore(spoil = ""): string {
    const path = copyStore();
    withDatabase(path, (db) => {
      migrateWith(db, MIGRATIONS.slice(0, 4));
      expect(readPragma(db, "user_version")).toBe(4);
      db.exec(spoil);
    });
    return path;
  }

  it("has sessions of `local` and accepts other owners", async () => {
    await withLog(makeStore(), async (log) => {
      const all = await log.listSessions();
      expect(all.map(({ owner }) => owner)).toEqual(Array.from({ length: 5 }, () => "local"));
      expect(await log.listSessions({ owner: "local" })).toEqual(all);
      expect(await log.searchSessions({ query: "标题", owner: "local" })).toMatchObject([{ sessionId: "new" }]);
      await log.createSession("alices", { owner: "alice", title: "标题" });
      expect(await log.listSessions({ owner: "alice" })).toMatchObject([{ sessionId: "alices" }]);
      expect(await log.listSessions({ owner: "local" })).toEqual(all);
      // Seals of existing rows stay valid, also after a row is written again.
      await log.updateSession("empty", { title: "something" });
      expect(await log.getSession("empty")).toMatchObject({ title: "something", owner: "local" });
    });
  });

  it("stays damaged if it was", async () => {
    await withLog(makeStore("UPDATE sessions SET title = 'x' WHERE session_id = 'empty'"), async (log) => {
      await expect(log.getSession("empty")).rejects.toMatchObject({ code: "store_corrupt" });
      expect((await log.getSession("new"))?.owner).toBe("local");
    });
  });
});

describe("a store of version 5", () => {
  /** The fixture, migrated to version 5, after a session with epoch 7 was deleted. */
  function makeStore(): string {
    const path = copyStore();
    withDatabase(path, (db) => {
      migrateWith(db, MIGRATIONS.slice(0, 5));
      expect(readPragma(db, "user_version")).toBe(5);
      db.prepare("UPDATE buried SET epoch = ?, seal = ?").run(7, sealOf([7]));
    });
    return path;
  }

  it("keeps its last epoch in the renamed table", async () => {
    const path = makeStore();
    await withLog(path, async (log) => {
      expect(await log.createSession("next")).toMatchObject({ epoch: 7 });
      const lease = await log.acquire("next", { holder: "test", ttlMs: 1000 });
      expect(lease.epoch).toBe(8);
      await log.deleteSession("next");
      expect(await log.createSession("next")).toMatchObject({ epoch: 8 });
    });
    withDatabase(path, (db) => {
      expect(readPragma(db, "user_version")).toBe(MIGRATIONS.length);
      expect(db.prepare("SELECT epoch, seal FROM deleted_epochs").all()).toEqual([{ epoch: 8, seal: sealOf([8]) }]);
      expect(db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'buried'").get()).toBeUndefined();
    });
  });

  it("stays damaged if its last epoch was", async () => {
    const path = makeStore();
    withDatabase(path, (db) => db.exec("UPDATE buried SET epoch = 1"));
    await withLog(path, async (log) => {
      await expect(log.createSession("next")).rejects.toMatchObject({ code: "store_corrupt" });
    });
  });
});

describe("migrate", () => {
  const LATER = MIGRATIONS.length + 1;
  const later = [...MIGRATIONS, "ALTER TABLE sessions ADD COLUMN colour TEXT; CREATE TABLE flags (name TEXT) STRICT"];
  const schemaOf = (db: DatabaseSync): unknown => db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all();

  it("migrates an older store once and keeps its data", async () => {
    const path = copyStore();
    const before = await withLog(path, queryEverything);
    withDatabase(path, (db) => {
      migrateWith(db, later);
      const schema = schemaOf(db);
      migrateWith(db, later);
      expect([readPragma(db, "user_version"), readPragma(db, "application_id")]).toEqual([LATER, APPLICATION_ID]);
      expect(schemaOf(db)).toEqual(schema);
      expect(db.prepare("SELECT colour FROM sessions").all()).toHaveLength(5);
      db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
    });
    // An additional column does not matter.
    expect(await withLog(path, queryEverything)).toEqual(before);
  });

  it("applies several migrations in one transaction, all or none", async () => {
    const path = copyStore();
    const before = await withLog(path, queryEverything);
    const version = MIGRATIONS.length;
    withDatabase(path, (db) => {
      const schema = schemaOf(db);
      for (const broken of ["CREATE TABLE flags (name TEXT) STRICT", "UPDATE sessions SET epoch = NULL", "NONSENSE"]) {
        expect(() => migrateWith(db, [...later, broken])).toThrow(Error);
        expect(db.isTransaction).toBe(false);
        expect([readPragma(db, "user_version"), schemaOf(db)]).toEqual([version, schema]);
      }
      // The error of the migration is reported, not one of the rollback.
      expect(() => migrateWith(db, [...later, "ROLLBACK; NONSENSE"])).toThrow("NONSENSE");
      expect([readPragma(db, "user_version"), schemaOf(db)]).toEqual([version, schema]);
    });
    expect(await withLog(path, queryEverything)).toEqual(before);
    withDatabase(path, (db) => {
      migrateWith(db, [...later, "CREATE TABLE more (name TEXT) STRICT"]);
      expect(readPragma(db, "user_version")).toBe(LATER + 1);
    });
  });

  it("is done by one of two connections at the same time", () => {
    const path = copyStore();
    const one = new DatabaseSync(path, { timeout: 10_000 });
    const two = new DatabaseSync(path, { timeout: 10_000 });
    // The second reads the version before the first has changed it, and must read it again.
    const prepare = two.prepare.bind(two);
    let looks = 0;
    two.prepare = (sql) => {
      const statement = prepare(sql);
      if (sql === "PRAGMA user_version" && looks++ === 0) {
        const version = statement.get();
        migrateWith(one, later);
        return Object.assign(Object.create(statement) as typeof statement, { get: () => version });
      }
      return statement;
    };
    migrateWith(two, later);
    expect(looks).toBe(2);
    expect(readPragma(one, "user_version")).toBe(LATER);
    one.close();
    two.close();
  });

  it("is done once by concurrent processes", async () => {
    const path = copyStore();
    const [migrateModule, schemaModule] = ["../../sqlite/migrate.ts", "schema.ts"].map((file) =>
      JSON.stringify(new URL(file, import.meta.url).href),
    );
    const program = `
      import { DatabaseSync } from "node:sqlite";
      import { migrate } from ${migrateModule};
      import { STORE_FORMAT } from ${schemaModule};
      const db = new DatabaseSync(process.argv[1], { timeout: 10_000 });
      migrate(db, { ...STORE_FORMAT, migrations: JSON.parse(process.argv[2]) });
      db.close();`;
    const args = ["--input-type=module-typescript", "--eval", program, path, JSON.stringify(later)];
    await Promise.all([1, 2, 3].map(() => promisify(execFile)(process.execPath, args)));
    withDatabase(path, (db) => {
      expect(readPragma(db, "user_version")).toBe(LATER);
      expect(db.prepare("SELECT colour FROM sessions").all()).toHaveLength(5);
    });
  });

  it("leaves the store unchanged if the disk is full", () => {
    withDatabase(copyStore(), (db) => {
      const schema = schemaOf(db);
      db.exec(`PRAGMA max_page_count = ${readPragma(db, "page_count") + 1}`);
      const large = "CREATE TABLE large (x); INSERT INTO large SELECT zeroblob(100000) FROM runs";
      expect(() => migrateWith(db, [...MIGRATIONS, large])).toThrow(expect.objectContaining({ errcode: 13 }));
      expect([readPragma(db, "user_version"), schemaOf(db)]).toEqual([1, schema]);
    });
  });

  it("creates the same schema in an empty database", () => {
    const [empty, made] = [new DatabaseSync(":memory:"), new DatabaseSync(copyStore())];
    migrate(empty, STORE_FORMAT);
    migrate(made, STORE_FORMAT);
    expect(schemaOf(empty)).toEqual(schemaOf(made));
    expect(readPragma(empty, "application_id")).toBe(APPLICATION_ID);
    made.close();
  });

  it.each([0, -5])("rejects a store with version %i", async (version) => {
    const path = copyStore();
    withDatabase(path, (db) => db.exec(`PRAGMA user_version = ${version}`));
    await expect(openSqliteLog(path)).rejects.toMatchObject({ code: "store_corrupt" });
  });
});

describe("a store with a newer version", () => {
  it("is rejected with both versions and left unchanged", async () => {
    const path = copyStore();
    withDatabase(path, (db) => db.exec("PRAGMA user_version = 99"));
    const before = readFileSync(path);
    const error: unknown = await openSqliteLog(path).catch((thrown: unknown) => thrown);
    if (!isLoomError(error)) throw new LoomError("conflict", "the store was opened", {}, { cause: error });
    expect([error.code, error.details]).toEqual(["store_newer", { version: 99, known: MIGRATIONS.length }]);
    expect(error.message).toContain("version 99");
    expect(error.message).toContain(`versions up to ${MIGRATIONS.length}`);
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

describe("an old store opened concurrently", () => {
  it("is opened by all, in this process and in others", async () => {
    const path = copyStore();
    const children = [1, 2].map(() => startChild("../fixtures/limited-child.ts", [path, "0"]));
    const logs = await Promise.all([1, 2, 3].map(() => openSqliteLog(path)));
    const [first, ...others] = await Promise.all(logs.map(queryEverything));
    for (const other of others) expect(other).toEqual(first);
    await Promise.all(children.map(({ ended }) => ended));
    for (const { lines } of children) expect(lines.at(-1)).toBe("closed");
    await Promise.all(logs.map((log) => log.close()));
  });
});
