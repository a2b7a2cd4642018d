// The cost of one owner's queries in a store with many owners, and detection of changed owners.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { SearchIndex } from "./search-index.ts";
import { SessionRows, toLineageColumns } from "./session-rows.ts";
import { openSqliteLog } from "./sqlite-log.ts";
import { StoreReader } from "./store-reader.ts";
import { identifyFile } from "../../sqlite/file-identity.ts";
import { LOG_LIMITS } from "../log-limits.ts";
import { LONG, sampleCases } from "../../../test/sampling.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-owners-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let stores = 0;

function withDatabase<T>(path: string, use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path, { defensive: false });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

function openStoreReader(path: string): StoreReader {
  const options = { busyTimeoutMs: 10_000, maxRecentRows: 4096, maxCheckBytes: 0 };
  return new StoreReader({ path, file: identifyFile(path) ?? "", options, limits: LOG_LIMITS }, Date.now);
}

/** Inserts sessions titled `apple` in one transaction. */
function insertSessions(db: DatabaseSync, owners: readonly string[]): void {
  const [sessions, said] = [new SessionRows(db), new SearchIndex(db)];
  db.exec("BEGIN");
  for (const owner of owners) {
    const place = { incarnation: "i", createdAt: 1, updatedAt: 1, firstId: 1, basePos: 0, epoch: 0 };
    const marks = { isPinned: 0, isArchived: 0 };
    const fresh = {
      ...place,
      ...marks,
      ...toLineageColumns(owner, {}),
      sessionId: `${owner} ${++stores}`,
      title: "apple",
      owner,
      holder: null,
      expiresAt: 0,
    };
    const { key } = sessions.create(fresh);
    said.add({ key, owner }, 0, "apple");
  }
  db.exec("COMMIT");
}

describe("a store with many sessions of other owners", () => {
  const path = join(folder, "many.db");
  const OTHERS = LONG ? 100_000 : 10_000;

  beforeAll(async () => {
    await (await openSqliteLog(path)).close();
    // First, last, and two in the middle.
    const owners = Array.from({ length: OTHERS }, (_, index) => `other ${index % 7}`);
    for (const place of [OTHERS, 0.6 * OTHERS, 0.4 * OTHERS, 0]) owners.splice(place, 0, "alice");
    withDatabase(path, (db) => insertSessions(db, owners));
  }, 60_000);

  test("uses the owner index and does not sort", () => {
    const asked: string[] = [];
    withDatabase(path, (db) => {
      const prepare = db.prepare.bind(db);
      db.prepare = (sql) => {
        asked.push(sql);
        return prepare(sql);
      };
      const rows: unknown = new SessionRows(db);
      expect(rows).toBeDefined();
      const owned = asked.filter((sql) => sql.includes("owner = ?") && !sql.includes("root_id = ?"));
      expect(owned).toHaveLength(3);
      for (const sql of owned) {
        const plan = prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...Array.from(sql.matchAll(/\?/g), () => 1));
        expect(plan.map(({ detail }) => detail)).toEqual([
          expect.stringMatching(
            /^SEARCH sessions USING (COVERING )?INDEX sessions_(by_owner|marked) \(owner=\? AND rowid<\?\)$/,
          ),
        ]);
      }
    });
  });

  test("finds one owner's sessions", async () => {
    const log = await openSqliteLog(path);
    try {
      const listed = await log.listSessions({ owner: "alice" });
      expect(listed.map(({ owner }) => owner)).toEqual(["alice", "alice", "alice", "alice"]);
      expect(await log.listSessions({ owner: "alice", limit: 2, after: listed[1]!.sessionId })).toEqual(
        listed.slice(2),
      );
      const found = await log.searchSessions({ query: "apple", owner: "alice" });
      expect(found.map(({ sessionId }) => sessionId)).toEqual(listed.map(({ sessionId }) => sessionId));
      expect(await log.searchSessions({ query: "apple", owner: "missing" })).toEqual([]);
    } finally {
      await log.close();
    }
  });

  // The time of a search must not depend on the texts of other owners. The entries of the index that a query reads are
  // those of its terms.
  test.each(["app", "apple", "apple app", "banana", "b"])("reads only entries of one owner for %j", (query) =>
    withDatabase(path, (db) => {
      db.exec("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, terms, instance)");
      const entries = db.prepare("SELECT doc >> 26 AS key FROM vocabulary WHERE term >= ? AND term < ?");
      const sessions = new SessionRows(db);
      const plain = SearchIndex.prototype.find;
      const read: number[] = [];
      let hits = 0;
      const counted = vi.spyOn(SearchIndex.prototype, "find").mockImplementation(function* (
        this: SearchIndex,
        ...asked
      ) {
        const prepared = vi.spyOn(StatementSync.prototype, "iterate");
        const found = plain.apply(this, asked);
        const [expression] = (prepared.mock.lastCall ?? []) as unknown as [string];
        prepared.mockRestore();
        for (const [, term = "", star] of expression.matchAll(/"([^" ]+)"( \*)?/g))
          for (const row of entries.all(term, star === undefined ? `${term}\0` : `${term}\u{10ffff}`))
            read.push(Number(row["key"]));
        for (const hit of found) {
          hits++;
          yield hit;
        }
      });
      onTestFinished(() => counted.mockRestore());
      const reader = openStoreReader(path);
      const owned = reader.searchSessions({ query, owner: "alice" });
      reader.close();
      expect(owned).toHaveLength(query.startsWith("a") ? 4 : 0);
      expect(hits).toBe(owned.length);
      expect(read.every((key) => sessions.findByKey(key)?.owner === "alice")).toBe(true);
      expect(counted).toHaveBeenCalledTimes(4);
    }),
  );

  test("reads one part of the index for a page of many results", () => {
    const counted = vi.spyOn(SearchIndex.prototype, "find");
    onTestFinished(() => counted.mockRestore());
    const reader = openStoreReader(path);
    expect(reader.searchSessions({ query: "app", limit: 50 })).toHaveLength(50);
    expect(counted).toHaveBeenCalledTimes(1);
    expect(reader.searchSessions({ query: "banana" })).toEqual([]);
    expect(counted).toHaveBeenCalledTimes(1 + Math.ceil((OTHERS + 5) / 1024));
    reader.close();
  });
});

describe("an owner changed on disk", () => {
  test.each(
    sampleCases(
      [
        ["alice", "bob"],
        ["alice", "local"],
        ["local", "alice"],
        ["alice", ""],
        ["alice", "Alice"],
      ],
      { perKind: 2 },
    ),
  )("from %j to %j is detected by every call", async (owner, changed) => {
    const path = join(folder, `${++stores}.db`);
    const made = await openSqliteLog(path);
    await made.createSession("s", { owner, title: "apple" });
    await made.close();
    withDatabase(path, (db) => db.prepare("UPDATE sessions SET owner = ?").run(changed));
    const log = await openSqliteLog(path);
    const asked = [
      () => log.getSession("s"),
      () => log.listSessions(),
      () => log.read("s", { after: 0 }),
      () => log.createSession("s", { owner }),
      () => log.updateSession("s", { title: "x" }),
      () => log.acquire("s", { holder: "h", ttlMs: 1 }),
      ...(changed === ""
        ? []
        : [
            () => log.listSessions({ owner: changed }),
            () => log.searchSessions({ query: "apple", owner: changed }),
            () => log.createSession("s", { owner: changed }),
          ]),
    ];
    for (const ask of asked) await expect(ask()).rejects.toMatchObject({ code: "store_corrupt" });
    await log.close();
  });

  test("in the index alone reveals no session of another owner", async () => {
    const path = join(folder, `${++stores}.db`);
    const log = await openSqliteLog(path);
    await log.createSession("alices", { owner: "alice", title: "apple" });
    await log.createSession("bobs", { owner: "bob", title: "apple" });
    withDatabase(path, (db) => {
      // Makes the index list bob's session under alice, as a changed page of it would.
      db.exec(`DROP INDEX sessions_by_owner; CREATE INDEX sessions_by_owner ON
        sessions (iif(owner = 'bob', 'alice', owner)) WHERE session_id IS NOT NULL`);
      db.exec("PRAGMA writable_schema = ON");
      db.exec(`UPDATE sqlite_schema SET sql = replace(sql, 'iif(owner = ''bob'', ''alice'', owner)', 'owner')
        WHERE name = 'sessions_by_owner'`);
      db.exec("PRAGMA writable_schema = RESET");
      expect(new SessionRows(db).findLatest(1000, "alice")).toBe(2);
    });
    await expect(log.listSessions({ owner: "alice" })).rejects.toMatchObject({ code: "store_corrupt" });
    const found = await log.searchSessions({ query: "apple", owner: "alice" });
    expect(found.map(({ sessionId }) => sessionId)).toEqual(["alices"]);
    expect(await log.listSessions()).toHaveLength(2);
    await log.close();
    await expect(openSqliteLog(path)).rejects.toMatchObject({ code: "store_corrupt" });
  });
});
