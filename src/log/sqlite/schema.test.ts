// Store versions: older ones are migrated or rejected, newer ones rejected, and migrations are atomic. What a migrated
// store contains is tested in test/old-stores.test.ts.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { startChild } from "../../../test/durability/child.ts";
import { type OldCommit, writeOldFiles } from "../../../test/fixtures/old-stores.ts";
import { queryEverything } from "../../../test/fixtures/sample-store.ts";
import { assertIntact, readPragma } from "../../sqlite/database.ts";
import { migrate, newestVersion } from "../../sqlite/migrate.ts";
import { sealOf } from "../../sqlite/seal.ts";
import { STORE_FORMAT } from "./schema.ts";
import { openSqliteLog, type SqliteLog } from "./sqlite-log.ts";
import { verifyStore } from "./verify-store.ts";

const NEWEST = newestVersion(STORE_FORMAT);
const SESSIONS = 12;

const folder = mkdtempSync(join(tmpdir(), "loom-schema-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

/** Writes a store of version 15, or that of another commit. */
function writeOldStore(commit?: OldCommit): string {
  const place = join(folder, String(++count));
  writeOldFiles(place, "loom.db", commit);
  return join(place, "loom.db");
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

describe.each([
  [15, "9f3b46d0"],
  [16, "8bf344a2"],
] as const)("a store of version %i", (version, commit) => {
  it("is migrated to the tables that a new store has", () => {
    const [empty, path] = [new DatabaseSync(":memory:"), writeOldStore(commit)];
    withDatabase(path, (db) => {
      expect(readPragma(db, "user_version")).toBe(version);
      for (const table of ["chunks", "recent", "extents", "sessions", "runs", "landmarks", "commands", "lineages"])
        expect(db.prepare(`SELECT 1 FROM ${table}`).get(), table).toBeDefined();
      for (const each of [db, empty]) migrate(each, STORE_FORMAT);
      expect(describeTables(db)).toEqual(describeTables(empty));
      expect([readPragma(db, "user_version"), readPragma(empty, "user_version")]).toEqual([NEWEST, NEWEST]);
      assertIntact(db, "store", "integrity_check");
    });
    expect(verifyStore(path, () => undefined).damage).toEqual([]);
  });

  it.each([
    ["a session", "UPDATE sessions SET title = 'x' WHERE session_id = 'fork'"],
    ["an owner", "UPDATE sessions SET owner = 'local' WHERE session_id = 'fork'"],
    ["a mark", "UPDATE sessions SET is_pinned = 1 WHERE session_id = 'fork'"],
    ["a lineage", "UPDATE lineages SET root_id = 'x' WHERE parent_id = 'talk'"],
    ["the owner of a lineage", "UPDATE lineages SET owner = 'bob' WHERE parent_id = 'talk'"],
  ])("stays damaged in %s and nowhere else", async (_what, spoil) => {
    const path = writeOldStore(commit);
    withDatabase(path, (db) => db.exec(spoil));
    await withLog(path, async (log) => {
      await expect(log.getSession("fork")).rejects.toMatchObject({ code: "store_corrupt" });
      expect(await log.getSession("talk")).toMatchObject({ owner: "alice" });
    });
    expect(verifyStore(path, () => undefined).damage).toMatchObject([{ what: "fork" }]);
  });

  it("keeps its last epoch and the numbers of its sessions", async () => {
    const path = writeOldStore(commit);
    const readLast = (db: DatabaseSync) =>
      db.prepare("SELECT epoch, seq FROM deleted_epochs, sqlite_sequence WHERE name = 'sessions'").get();
    withDatabase(path, (db) => {
      db.exec("UPDATE sqlite_sequence SET seq = 1000 WHERE name = 'sessions'");
      db.prepare("UPDATE deleted_epochs SET epoch = ?, seal = ?").run(7, sealOf([7]));
    });
    await withLog(path, async (log) => expect(await log.createSession("next")).toMatchObject({ epoch: 7 }));
    expect(withDatabase(path, readLast)).toEqual({ epoch: 7, seq: 1001 });
  });

  it("finds the principals of its live runs and pending messages", () => {
    withDatabase(writeOldStore(commit), (db) => {
      const name = (table: string) => `UPDATE ${table} SET text =
        replace(text, '"type":"run_start",', '"type":"run_start","actor":"token:潮",')`;
      db.exec(`${name("recent")}; ${name("chunks")}`);
      const add = db.prepare(`INSERT INTO commands (session, command_id, kind, body, created_at, outcome, seal)
        VALUES (1, ?, ?, ?, 1, ?, 0)`);
      const body = JSON.stringify({ message: "\0\ud800", actor: "token:b" });
      add.run("pending", "enqueue", body, null);
      add.run("approval", "approve", body, null);
      add.run("done", "enqueue", body, "{}");
      for (const damaged of ["{", "[]", '{"actor":{}}']) add.run(damaged, "enqueue", damaged, null);
      migrate(db, STORE_FORMAT);
      const live = db.prepare("SELECT actor, last_id AS lastId FROM runs WHERE actor IS NOT NULL OR last_id IS NULL");
      expect(live.all()).toEqual([{ actor: "token:潮", lastId: null }]);
      const commands = db.prepare("SELECT command_id AS id, actor FROM commands WHERE actor IS NOT NULL");
      expect(commands.all()).toEqual([{ id: "pending", actor: "token:b" }]);
    });
  });

  it("takes no more sessions from a process of that version", async () => {
    const path = writeOldStore(commit);
    const columns =
      "session_id, incarnation, owner, created_at, updated_at, first_id, base_pos, epoch, expires_at, is_pinned, is_archived, seal";
    const create = `INSERT INTO sessions (${columns}) VALUES ('new', 'i', 'local', 1, 1, 1, 0, 0, 0, 0, 0, 0)`;
    withDatabase(path, (db) => {
      const statement = db.prepare(create);
      migrate(db, STORE_FORMAT);
      expect(() => statement.run()).toThrow("CHECK constraint failed");
    });
  });
});

/** SQLite quotes the name of a renamed table, and an added column is on the line of the one before it. */
function describeTables(db: DatabaseSync): unknown {
  const tables = db.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").all();
  return tables.map(({ name, sql }) => [name, String(sql).replaceAll('"', "").replaceAll(/\s+/g, " ")]);
}

describe("migrate", () => {
  const later = [
    ...STORE_FORMAT.migrations,
    "ALTER TABLE sessions ADD COLUMN colour TEXT; CREATE TABLE flags (name TEXT) STRICT",
  ];
  const LATER = NEWEST + 1;
  const migrateWith = (db: DatabaseSync, migrations: typeof STORE_FORMAT.migrations): void =>
    migrate(db, { ...STORE_FORMAT, migrations });
  const schemaOf = (db: DatabaseSync): unknown => db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all();

  it("migrates an older store once and keeps its data", async () => {
    const path = writeOldStore();
    const before = await withLog(path, queryEverything);
    withDatabase(path, (db) => {
      migrateWith(db, later);
      const schema = schemaOf(db);
      migrateWith(db, later);
      expect(readPragma(db, "user_version")).toBe(LATER);
      expect(schemaOf(db)).toEqual(schema);
      expect(db.prepare("SELECT colour FROM sessions WHERE session_id IS NOT NULL").all()).toHaveLength(SESSIONS);
      db.exec(`PRAGMA user_version = ${NEWEST}`);
    });
    // An additional column does not matter.
    expect(await withLog(path, queryEverything)).toEqual(before);
  });

  it("applies several migrations in one transaction, all or none", async () => {
    const path = writeOldStore();
    withDatabase(path, (db) => {
      const schema = schemaOf(db);
      for (const broken of ["CREATE TABLE flags (name TEXT) STRICT", "UPDATE sessions SET epoch = NULL", "NONSENSE"]) {
        expect(() => migrateWith(db, [...later, broken])).toThrow(Error);
        expect(db.isTransaction).toBe(false);
        expect([readPragma(db, "user_version"), schemaOf(db)]).toEqual([15, schema]);
      }
      // The error of the migration is reported, not one of the rollback.
      expect(() => migrateWith(db, [...later, "ROLLBACK; NONSENSE"])).toThrow("NONSENSE");
      expect([readPragma(db, "user_version"), schemaOf(db)]).toEqual([15, schema]);
    });
    expect(await withLog(path, (log) => log.listSessions())).toHaveLength(SESSIONS);
  });

  it("is done by one of two connections at the same time", () => {
    const path = writeOldStore();
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
    const path = writeOldStore();
    const [migrateModule, schemaModule] = ["../../sqlite/migrate.ts", "schema.ts"].map((file) =>
      JSON.stringify(new URL(file, import.meta.url).href),
    );
    const program = `
      import { DatabaseSync } from "node:sqlite";
      import { migrate } from ${migrateModule};
      import { STORE_FORMAT } from ${schemaModule};
      const db = new DatabaseSync(process.argv[1], { timeout: 10_000 });
      migrate(db, { ...STORE_FORMAT, migrations: [...STORE_FORMAT.migrations, process.argv[2]] });
      db.close();`;
    const args = ["--input-type=module-typescript", "--eval", program, path, String(later.at(-1))];
    await Promise.all([1, 2, 3].map(() => promisify(execFile)(process.execPath, args)));
    withDatabase(path, (db) => {
      expect(readPragma(db, "user_version")).toBe(LATER);
      expect(db.prepare("SELECT colour FROM sessions WHERE session_id IS NOT NULL").all()).toHaveLength(SESSIONS);
    });
  });

  it("leaves the store unchanged if the disk is full", () => {
    withDatabase(writeOldStore(), (db) => {
      const schema = schemaOf(db);
      db.exec(`PRAGMA max_page_count = ${readPragma(db, "page_count") + 1}`);
      const large = "CREATE TABLE large (x); INSERT INTO large SELECT zeroblob(100000) FROM runs";
      expect(() => migrateWith(db, [...later, large])).toThrow(expect.objectContaining({ errcode: 13 }));
      expect([readPragma(db, "user_version"), schemaOf(db)]).toEqual([15, schema]);
    });
  });
});

describe("a store of another version", () => {
  it.each([
    [0, "store_corrupt", "no valid version"],
    [-5, "store_corrupt", "no valid version"],
    [
      14,
      "store_older",
      "version 14, but this program migrates only version 15 and newer; open it once with commit 8bf344a2",
    ],
    [99, "store_newer", `version 99, but this program supports versions up to ${NEWEST}`],
  ])("(%i) is rejected and left unchanged", async (version, code, message) => {
    const path = writeOldStore();
    withDatabase(path, (db) => db.exec(`PRAGMA user_version = ${version}`));
    const before = readFileSync(path);
    await expect(openSqliteLog(path)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message) as string,
    });
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});

describe("an old store opened concurrently", () => {
  it("is opened by all, in this process and in others", async () => {
    const path = writeOldStore();
    const children = [1, 2].map(() => startChild("../fixtures/limited-child.ts", [path, "0"]));
    const logs = await Promise.all([1, 2, 3].map(() => openSqliteLog(path)));
    // They write a session.
    await Promise.all(children.map(({ ended }) => ended));
    for (const { lines } of children) expect(lines.at(-1)).toBe("closed");
    const [first, ...others] = await Promise.all(logs.map(queryEverything));
    for (const other of others) expect(other).toEqual(first);
    await Promise.all(logs.map((log) => log.close()));
  });
});
