import { join } from "node:path";
import { expect, test } from "vitest";
import { findKnowledgeBase, hideCredentials, isDatabase } from "./find-store.ts";

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
