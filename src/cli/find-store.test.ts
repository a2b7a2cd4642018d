import { accessSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { fileExists, findKnowledgeBase, hideCredentials, isDatabase } from "./find-store.ts";

// Root may read every file.
vi.mock(import("node:fs"), async (load) => ({ ...(await load()), accessSync: vi.fn<typeof accessSync>() }));

const URL_WITH_SECRET = "postgres://me:secret@db.example.com:5433/loom?sslmode=require";

test("finds the knowledge base in the database of the sessions, and hides credentials", () => {
  const env = { XDG_DATA_HOME: "/data", LOOM_STORE: URL_WITH_SECRET };
  expect(findKnowledgeBase(env)).toBe(URL_WITH_SECRET);
  expect(findKnowledgeBase({ ...env, LOOM_KB: "my.db" })).toBe("my.db");
  expect(findKnowledgeBase({ XDG_DATA_HOME: "/data" }, URL_WITH_SECRET)).toBe(URL_WITH_SECRET);
  // The store is a file that was given as an option.
  expect(findKnowledgeBase(env, "/other/loom.db")).toBe(join("/data", "loom", "knowledge.db"));
  expect(hideCredentials(URL_WITH_SECRET)).toBe("postgres://db.example.com:5433/loom");
});

test("refuses a URL of another kind", () => {
  const url = "mysql://me:secret@db/loom";
  expect(() => isDatabase(url)).toThrow("A store is a file or a URL such as postgres://user@host/database");
  // `--print-config` shows it.
  expect(hideCredentials(url)).toBe("mysql://db/loom");
});

test("says that a file cannot be read, instead of reading it as a damaged one", () => {
  expect([fileExists(import.meta.filename), fileExists(`${import.meta.filename}-missing`)]).toEqual([true, false]);
  vi.mocked(accessSync).mockImplementationOnce(() => {
    throw Object.assign(new Error("denied"), { code: "EACCES" });
  });
  expect(() => fileExists(import.meta.filename)).toThrow("cannot be read (permission denied)");
});
