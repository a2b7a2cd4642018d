import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { LazyKnowledgeBase } from "../kb/lazy-knowledge-base.ts";
import { chooseServerKnowledgeBase } from "./choose-server-knowledge-base.ts";

const MIB = 1024 * 1024;

it("has a document limit of at least the default, so that the handbook fits", async () => {
  const folder = mkdtempSync(join(tmpdir(), "loom-served-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const env = { LOOM_KB: undefined, LOOM_STORE: join(folder, "loom.db") };
  const choose = (bytes: number, kb?: string, store?: string) =>
    chooseServerKnowledgeBase({ kb, store, "max-document": bytes, "search-timeout": 3000 }, env);
  const small = choose(100);
  if (small === undefined) throw new Error("expected a knowledge base");
  await using base = new LazyKnowledgeBase(small, (error) => expect.unreachable(String(error)));
  expect((await base.stats()).collections).toMatchObject([{ name: "handbook" }]);
  expect(choose(50 * MIB)).toMatchObject({
    isNamed: false,
    mayBeMissing: true,
    limits: { maxDocumentBytes: 50 * MIB, searchTimeoutMs: 3000 },
  });
  expect(choose(100, "some.db")).toMatchObject({ file: "some.db", isNamed: true, mayBeMissing: true });
  expect(choose(100, "none")).toBeUndefined();
  const url = "postgres://db.example.com/loom";
  expect(choose(100, undefined, url)).toMatchObject({ file: url, isNamed: false });
  expect(choose(100, "some.db", url)).toMatchObject({ file: "some.db" });
});
