import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { assertIntact, readPragma } from "./database.ts";
import { type DatabaseFormat, migrate, readVersion } from "./migrate.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-migrate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const FORMAT: DatabaseFormat = {
  name: "sample",
  applicationId: 7,
  schema: "CREATE TABLE a (x, y); INSERT INTO a VALUES (1, 4)",
  oldest: 2,
  migrations: ["ALTER TABLE a ADD COLUMN y", (db) => db.prepare("INSERT INTO a VALUES (?, ?)").run(1, 4)],
};
/** A database of version 2. */
const OLD: DatabaseFormat = { ...FORMAT, schema: "CREATE TABLE a (x)", migrations: [] };

describe("migrate", () => {
  it.each([
    ["creates the tables of an empty database", undefined],
    ["runs the missing migrations", OLD],
    ["runs only the missing migrations", { ...OLD, schema: "CREATE TABLE a (x, y)", oldest: 3 }],
  ])("%s once", (_what, before) => {
    const db = new DatabaseSync(":memory:");
    expect(readVersion(db, FORMAT)).toBe(0);
    if (before !== undefined) migrate(db, before);
    for (let times = 0; times < 2; times++) migrate(db, FORMAT);
    expect(db.prepare("SELECT * FROM a").all()).toEqual([{ x: 1, y: 4 }]);
    expect([readVersion(db, FORMAT), readPragma(db, "application_id")]).toEqual([4, 7]);
    assertIntact(db, FORMAT.name);
  });

  it.each([
    ["another application", "application_id = 8", "store_corrupt", "The file is not a sample: PATH"],
    ["no version", "user_version = 0", "store_corrupt", "The sample PATH has no valid version number"],
    ["a newer version", "user_version = 5", "store_newer", "The sample PATH has version 5, "],
    [
      "a version too old",
      "user_version = 1",
      "store_older",
      "The sample PATH has version 1, but this program migrates only version 2 and newer; open it once with commit 8bf344a2 of Loom",
    ],
  ])("rejects %s and does not change the file", (what, pragma, code, message) => {
    const path = join(folder, `${what}.db`);
    const db = new DatabaseSync(path);
    migrate(db, FORMAT);
    db.exec(`PRAGMA ${pragma}`);
    const before = readFileSync(path);
    expect(() => migrate(db, FORMAT)).toThrow(
      expect.objectContaining({
        code,
        message: expect.stringContaining(message.replace("PATH", path)) as string,
      }),
    );
    db.close();
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});
