// The cost of listing the versions of a conversation, and detection of changed rows and indexes.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { renewSessions } from "./maintain-file.ts";
import { SessionRows } from "./session-rows.ts";
import { openSqliteLog } from "./sqlite-log.ts";
import { verifyStore } from "./verify-store.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-lineage-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let stores = 0;

/** A store with the session `s` and its fork `fork`. */
async function makeStore(): Promise<string> {
  const path = join(folder, `${++stores}.db`);
  const log = await openSqliteLog(path);
  await log.createSession("s", { owner: "alice" });
  await log.createSession("fork", { owner: "alice", forkedFrom: { sessionId: "s", eventId: 0 }, rootId: "s" });
  await log.createSession("bobs", { owner: "bob" });
  await log.close();
  return path;
}

function withDatabase<T>(path: string, use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path, { defensive: false });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

describe("the versions of a conversation", () => {
  test("are listed by an index in order, without sorting", async () => {
    const asked: string[] = [];
    withDatabase(await makeStore(), (db) => {
      const prepare = db.prepare.bind(db);
      db.prepare = (sql) => {
        asked.push(sql);
        return prepare(sql);
      };
      expect(new SessionRows(db).listVersions("s", "alice", 0, 10, false)).toHaveLength(2);
      const lists = asked.filter((sql) => sql.includes("AND root_id = ?"));
      expect(lists).toHaveLength(2);
      for (const sql of lists) {
        const plan = prepare(`EXPLAIN QUERY PLAN ${sql}`).all("s", "alice", 0, 10);
        expect(plan.map(({ detail }) => detail)).toEqual([
          expect.stringMatching(
            /^SEARCH sessions USING INDEX sessions_by_root \(root_id=\? AND owner=\? AND rowid[<>]\?\)$/,
          ),
        ]);
      }
    });
  });
});

test("a restored store has the same lineages", async () => {
  const path = await makeStore();
  renewSessions(path);
  const log = await openSqliteLog(path);
  const { incarnation: _new, ...fork } = (await log.getSession("fork"))!;
  expect(fork).toMatchObject({ forkedFrom: { sessionId: "s", eventId: 0 }, rootId: "s" });
  expect((await log.listBranches("s")).map(({ sessionId }) => sessionId)).toEqual(["s", "fork"]);
  await log.close();
});

describe("a lineage changed on disk", () => {
  const CHANGES = ["root_id = 'x'", "owner = 'bob'", "origin_id = 'x'", "origin_run_id = 'x'", "origin_event_id = 1"];
  test.each(CHANGES)("(%s) is detected", async (change) => {
    const path = await makeStore();
    withDatabase(path, (db) => db.exec(`UPDATE sessions SET ${change} WHERE session_id = 'fork'`));
    const log = await openSqliteLog(path);
    for (const ask of [
      () => log.getSession("fork"),
      () => log.listSessions(),
      () => log.listBranches("fork"),
      ...(/root_id|owner/.test(change) ? [] : [() => log.listBranches("s")]),
    ])
      await expect(ask()).rejects.toMatchObject({ code: "store_corrupt" });
    await log.close();
    expect(verifyStore(path, () => undefined).damage).toMatchObject([{ what: "fork" }]);
  });

  test("is detected if only the index was changed", async () => {
    const path = await makeStore();
    const log = await openSqliteLog(path);
    await log.createSession("other", { owner: "alice" });
    withDatabase(path, (db) => {
      // Makes the index list a session among the versions of another one, as a changed page of it would.
      db.exec(`DROP INDEX sessions_by_root; CREATE INDEX sessions_by_root ON
        sessions (iif(root_id = 'other', 's', root_id), owner) WHERE session_id IS NOT NULL`);
      db.exec("PRAGMA writable_schema = ON");
      db.exec(`UPDATE sqlite_schema SET sql = replace(sql, 'iif(root_id = ''other'', ''s'', root_id)', 'root_id')
        WHERE name = 'sessions_by_root'`);
      db.exec("PRAGMA writable_schema = RESET");
    });
    await expect(log.listBranches("s")).rejects.toMatchObject({ code: "store_corrupt" });
    await log.close();
  });
});
