// The store of a killed process whose write-ahead log is gone: lost commits are reported, and a log that was copied into
// the file by another program is not.
import { once } from "node:events";
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, it } from "vitest";
import { openSqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import { verifyStore } from "../../src/log/sqlite/verify-store.ts";
import { loom } from "../cli-run.ts";
import { findHighestIds, startChild } from "./child.ts";
import { verifyKnownRecords } from "./known-records.ts";
import { LONG, sampleCases } from "../sampling.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-lost-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

/** Kills a writer after 200 lines, with `meanwhile` after half of them. Returns the store and the acknowledged IDs. */
async function killWriter(meanwhile: (path: string) => void = () => undefined) {
  const path = join(folder, `${++count}.db`);
  const child = startChild("write-child.ts", [path, "a,b", "1000000", String(count)]);
  const wait = async (lines: number): Promise<void> => {
    while (child.lines.length < lines) await once(child.process.stdout!, "data");
  };
  await wait(100);
  meanwhile(path);
  await wait(child.lines.length + 100);
  child.process.kill("SIGKILL");
  await child.ended;
  return { path, acks: findHighestIds(child.lines, "ack") };
}

/** Runs SQL as a program that does not know the files of a store. */
function runSql(path: string, sql: string): unknown {
  const db = new DatabaseSync(path, { timeout: 10_000 });
  try {
    return db.prepare(sql).get();
  } finally {
    db.close();
  }
}

function checkpoint(path: string): void {
  expect(runSql(path, "PRAGMA wal_checkpoint(PASSIVE)")).toMatchObject({ busy: 0 });
}

it.each(
  sampleCases([
    ["", undefined],
    [", also after a checkpoint", checkpoint],
  ]),
)("reports lost commits if the log and its index were deleted%s", async (_, meanwhile) => {
  const { path } = await killWriter(meanwhile);
  for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix);
  // A program that opens the file changes nothing.
  runSql(path, "SELECT count(*) FROM sqlite_schema");
  await expect(openSqliteLog(path)).rejects.toMatchObject({
    code: "store_corrupt",
    message: expect.stringMatching(/latest \d+ changes of the store are missing.*-commits/) as string,
  });
  expect((await loom(["sessions", "list", "--store", path])).err).toContain("are missing");
  expect(verifyStore(path, () => undefined).damage).toEqual([
    { what: "store", message: expect.stringContaining("are missing") as string },
  ]);
  // As the message says, to continue without them.
  rmSync(`${path}-commits`);
  const log = await openSqliteLog(path);
  for (const { sessionId, lastId } of await log.listSessions())
    expect(await verifyKnownRecords(log, sessionId)).toBe(lastId);
  await log.close();
});

it("reports lost commits again after the rest of a damaged log was copied into the file", async () => {
  const { path } = await killWriter();
  truncateSync(`${path}-wal`, statSync(`${path}-wal`).size / 2);
  rmSync(`${path}-shm`);
  expect(verifyStore(path, () => undefined).damage).toHaveLength(1);
  expect(existsSync(`${path}-wal`)).toBe(false);
  for (let start = 0; start < 2; start++)
    await expect(openSqliteLog(path)).rejects.toMatchObject({ code: "store_corrupt" });
});

it.each(
  sampleCases([
    ["`loom sessions list`", async (path: string) => loom(["sessions", "list", "--store", path])],
    ["another program with SQLite", async (path: string) => runSql(path, "SELECT count(*) FROM sessions")],
    ["a process that closes it", async (path: string) => (await openSqliteLog(path)).close()],
  ]),
)("opens a store whose log was copied into the file by %s", async (_, fold) => {
  const { path, acks } = await killWriter();
  expect(existsSync(`${path}-commits`)).toBe(true);
  await fold(path);
  expect(existsSync(`${path}-wal`)).toBe(false);
  const log = await openSqliteLog(path);
  for (const [session, last] of acks) expect(await verifyKnownRecords(log, session)).toBeGreaterThanOrEqual(last);
  await log.close();
  // The file has everything, so a copy or a restored file is not compared with it.
  expect(existsSync(`${path}-commits`)).toBe(false);
});

it.runIf(LONG)("opens an older backup that was copied over the store after a kill", async () => {
  const { path } = await killWriter((store) => runSql(store, `VACUUM INTO '${store}.backup'`));
  for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix);
  // The file keeps its inode, which a new file in its place often gets as well.
  copyFileSync(`${path}.backup`, path);
  await (await openSqliteLog(path)).close();
});
