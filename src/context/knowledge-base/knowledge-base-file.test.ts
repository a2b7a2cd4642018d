import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqliteLog } from "../../log/index.ts";
import { openKnowledgeBase } from "./knowledge-base.ts";
import { testSharedKnowledgeBase } from "../../../test/contracts/shared-knowledge-base.ts";
import { KnowledgeRows } from "./sqlite/knowledge-rows.ts";
import { LONG } from "../../../test/sampling.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "loom-kb-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("the knowledge base file", () => {
  testSharedKnowledgeBase(() => {
    const file = join(folder, "kb.db");
    return async (options) => openKnowledgeBase(file, options);
  });

  it("waits for another writer without blocking the event loop", async () => {
    const file = join(folder, "kb.db");
    await using waiting = await openKnowledgeBase(file);
    await using hasty = await openKnowledgeBase(file, { busyTimeoutMs: 0 });
    const other = new DatabaseSync(file);
    other.exec("BEGIN IMMEDIATE");
    await expect(hasty.addText({ uri: "y", text: "tern" })).rejects.toMatchObject({ code: "store_busy" });
    const adding = waiting.addText({ uri: "x", text: "tern" });
    // Timers run, and one of them ends the wait.
    await new Promise((resolve) => setTimeout(resolve, 150));
    other.exec("ROLLBACK");
    expect(await adding).toBe("added");
    other.close();
  });

  it.runIf(LONG)("removes the current version of a document that was replaced while it waited", async () => {
    const file = join(folder, "base.db");
    await using one = await openKnowledgeBase(file);
    await using other = await openKnowledgeBase(file);
    for (let round = 0; round < 12; round++) {
      await one.addText({ uri: "a", text: `old ${round}` });
      const lock = new DatabaseSync(file);
      lock.exec("BEGIN IMMEDIATE");
      const both = Promise.all([one.removeDocument("a"), other.addText({ uri: "a", text: `new ${round}` })]);
      await new Promise((resolve) => setTimeout(resolve, 5));
      lock.exec("COMMIT");
      lock.close();
      const [isRemoved, outcome] = await both;
      expect(isRemoved).toBe(true);
      expect([outcome, (await one.get("a")) === undefined]).toEqual([outcome, outcome === "updated"]);
    }
  });

  it("removes abandoned documents when opened, but not one that is being written", async () => {
    const file = join(folder, "kb.db");
    await (await openKnowledgeBase(file)).close();
    const db = new DatabaseSync(file);
    const store = new KnowledgeRows(db, file, 0);
    const document = { collection: "c", title: "t", format: "text", bytes: 1, modifiedAt: 0, indexedAt: 0, hash: "h" };
    const chunk = { content: "stork", headings: "", firstLine: 1, lastLine: 1, titleTerms: "", headingTerms: "" };
    for (let at = 0; at < 2; at++)
      await store.transact(() => {
        const begun = { ...document, uri: "x", chunks: 300, root: null, stamp: "" };
        store.append(
          store.begin(begun),
          begun,
          Array.from({ length: 300 }, () => ({ ...chunk, bodyTerms: "stork" })),
        );
      });
    db.exec("UPDATE documents SET indexed_at = indexed_at - 120000 WHERE key = 1");
    await using opened = await openKnowledgeBase(file);
    expect(await opened.search("stork")).toEqual([]);
    expect(await opened.stats()).toMatchObject({ documents: 0, chunks: 0 });
    expect(db.prepare("SELECT key FROM documents").all()).toEqual([{ key: 2 }]);
    expect(db.prepare("SELECT count(*) AS count FROM chunks WHERE document = 1").get()).toEqual({ count: 0 });
    store.close();
  });

  it("keeps its documents after closing", async () => {
    const file = join(folder, "new", "kb.db");
    await using first = await openKnowledgeBase(file);
    await first.addText({ uri: "x", text: "gannet" });
    await using second = await openKnowledgeBase(file);
    expect(await second.search("gannet")).toHaveLength(1);
    await second.remove("x");
    expect(await first.search("gannet")).toEqual([]);
  });

  it("has exactly its passages in the index", async () => {
    const file = join(folder, "kb.db");
    await using kept = await openKnowledgeBase(file);
    for (const text of ["auk", "puffin", "auk again"])
      for (const uri of ["x", "y", "z"]) await kept.addText({ uri, text: `# ${text}\n\n${uri}` });
    await kept.remove("y");
    const db = new DatabaseSync(file);
    const keysOf = (sql: string): unknown[] =>
      db
        .prepare(sql)
        .all()
        .map(({ key }) => key);
    expect(keysOf("SELECT id AS key FROM terms_docsize")).toEqual(keysOf("SELECT key FROM chunks ORDER BY key"));
    expect(keysOf("SELECT key FROM chunks")).toHaveLength(2);
    db.close();
  });

  it("rejects other files, damaged files and other versions", async () => {
    const file = join(folder, "kb.db");
    writeFileSync(file, "This is not a database, but it is long enough to be taken for one.".repeat(200));
    await expect(openKnowledgeBase(file)).rejects.toMatchObject({ code: "store_corrupt" });

    const log = await openSqliteLog(join(folder, "log.db"));
    await log.close();
    await expect(openKnowledgeBase(join(folder, "log.db"))).rejects.toMatchObject({ code: "store_corrupt" });

    const newer = join(folder, "newer.db");
    await (await openKnowledgeBase(newer)).close();
    await expect(openSqliteLog(newer)).rejects.toMatchObject({ code: "store_corrupt" });
    const db = new DatabaseSync(newer);
    db.exec("PRAGMA user_version = 99");
    await expect(openKnowledgeBase(newer)).rejects.toMatchObject({ code: "store_newer" });
    db.exec("PRAGMA user_version = 1");
    db.close();
    await expect(openKnowledgeBase(newer)).rejects.toMatchObject({
      code: "store_older",
      message: expect.stringContaining("add the documents again") as string,
    });
  });

  it("rejects calls after close and invalid options", async () => {
    const base = await openKnowledgeBase(":memory:");
    await base.close();
    await base.close();
    await expect(base.search("x")).rejects.toMatchObject({ code: "store_closed" });
    await expect(base.add(folder)).rejects.toMatchObject({ code: "store_closed" });
    await expect(openKnowledgeBase(":memory:", { maxDepth: -1 })).rejects.toMatchObject({ code: "invalid_arguments" });
  });
});
