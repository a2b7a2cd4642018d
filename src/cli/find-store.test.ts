import { join } from "node:path";
import { expect, test } from "vitest";
import { findFilesOf, findKnowledgeBase, hideCredentials, isDatabase } from "./find-store.ts";

const URL_WITH_SECRET = "postgres://me:secret@db.example.com:5433/loom?sslmode=require";

test("names the files of a database after it, without credentials", () => {
  const env = { XDG_DATA_HOME: "/data", LOOM_STORE: URL_WITH_SECRET };
  expect(findFilesOf(URL_WITH_SECRET, env)).toBe(join("/data", "loom", "postgres-db.example.com-5433-loom"));
  expect(findFilesOf("here/loom.db", env)).toBe("here/loom.db");
  expect(findKnowledgeBase(env)).toBe(join("/data", "loom", "knowledge.db"));
  expect(hideCredentials(URL_WITH_SECRET)).toBe("postgres://db.example.com:5433/loom");
});

test("refuses a URL of another kind", () => {
  for (const use of [isDatabase, hideCredentials, (store: string) => findFilesOf(store, {})])
    expect(() => use("mysql://db/loom")).toThrow("A store is a file or a URL such as postgres://user@host/database");
});
