import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { isDatabaseUrl, openLog } from "./open-log.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-open-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(["mysql://db/loom", "file:///tmp/loom.db", "HTTP://x"])("refuses %s and creates nothing", async (store) => {
  await expect(openLog(store)).rejects.toMatchObject({
    code: "store_failed",
    message: expect.stringContaining("postgres://user@host/database") as string,
  });
  expect(existsSync(store.split("/")[0] ?? "")).toBe(false);
});

test.each([
  ["postgres://h/d", true],
  ["PostgreSQL://u:p@h:1/d?sslmode=require", true],
  ["data/loom.db", false],
  ["postgres:/data", false],
  [String.raw`C:\data\loom.db`, false],
])("knows whether %s is a database", (store, isUrl) => expect(isDatabaseUrl(store)).toBe(isUrl));

test("opens a file for a path, and connects for a URL", async () => {
  const log = await openLog(join(folder, "loom.db"));
  expect(existsSync(join(folder, "loom.db"))).toBe(true);
  await log.close();
  const url = "postgres://me:secret@127.0.0.1:1/none";
  const failure = await openLog(url, { readWaitMs: 0 }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "store_unavailable" });
  expect((failure as Error).message).not.toContain("secret");
});
