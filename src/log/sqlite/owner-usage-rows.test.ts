import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { makeRun, writeRecords } from "../../../test/log-sessions.ts";
import { expectRefusal } from "../../../test/contracts/log/log-fixture.ts";
import { openSqliteLog } from "./sqlite-log.ts";

const createPath = (): string => join(mkdtempSync(join(tmpdir(), "usage-")), "loom.db");

function readUsage(path: string): unknown {
  using db = new DatabaseSync(path, { timeout: 5000 });
  return db
    .prepare("SELECT owner, sessions, bytes FROM owner_usage")
    .all()
    .map((row) => ({ ...row }));
}

test("the usage is counted once when quotas are turned on, also by a process without quotas, and if damaged", async () => {
  const path = createPath();
  const plain = await openSqliteLog(path);
  for (const id of ["a", "b"]) {
    await plain.createSession(id, { owner: "alice" });
    await writeRecords(plain, makeRun("r", { sessionId: id }));
  }
  expect(readUsage(path)).toEqual([]);
  const limited = await openSqliteLog(path, { limits: { maxOwnerSessions: 3 } });
  await limited.createSession("c", { owner: "alice" });
  const { bytes } = (await plain.getSession("a")) ?? { bytes: 0 };
  expect(readUsage(path)).toEqual([{ owner: "alice", sessions: 3, bytes: 2 * bytes }]);
  await expectRefusal(limited.createSession("d", { owner: "alice" }), "quota_exceeded");
  // The process without quotas keeps the count up to date.
  await plain.deleteSession("a");
  expect(readUsage(path)).toEqual([{ owner: "alice", sessions: 2, bytes }]);
  {
    using db = new DatabaseSync(path, { timeout: 5000 });
    db.exec("UPDATE owner_usage SET sessions = 0");
  }
  await limited.createSession("d", { owner: "alice" });
  await expectRefusal(limited.createSession("e", { owner: "alice" }), "quota_exceeded");
  expect(readUsage(path)).toEqual([{ owner: "alice", sessions: 3, bytes }]);
  await plain.close();
  await limited.close();
});
