// One knowledge base used by several processes: one is killed during an import, two import at once.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openKnowledgeBase } from "../../src/context/index.ts";
import { nodeArgs } from "../bundle-source.ts";
import { LONG } from "../sampling.ts";

const FILES = 400;
let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "loom-kb-"));
  file = join(folder, "kb", "base.db");
  for (let at = 0; at < FILES; at++)
    writeFileSync(join(folder, `${at}.md`), `# Note ${at}\n\nword${at} ${"lorem ipsum ".repeat(100)}`);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function startImport() {
  const child = spawn(process.execPath, [...nodeArgs(), join(import.meta.dirname, "import-child.ts"), file, folder], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => (complaint += chunk.toString()));
  return { child, ended: once(child, "exit").then(([code]) => ({ code: code as number | null, complaint })) };
}

/** Checks that the index contains exactly the passages of all documents. */
function assertSound(): void {
  const db = new DatabaseSync(file);
  expect(db.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  db.exec("INSERT INTO terms (terms) VALUES ('integrity-check')");
  const count = (sql: string): unknown => Object.values(db.prepare(sql).get() ?? {})[0];
  expect(count("SELECT count(*) FROM chunks WHERE document NOT IN (SELECT key FROM documents)")).toBe(0);
  expect(count("SELECT count(*) FROM terms_docsize")).toBe(count("SELECT count(*) FROM chunks"));
  expect(db.prepare("SELECT documents, chunks FROM totals").get()).toEqual({
    documents: count("SELECT count(*) FROM documents"),
    chunks: count("SELECT count(*) FROM chunks"),
  });
  db.close();
}

describe("a knowledge base used by several processes", () => {
  it.runIf(LONG)("stays consistent if one is killed, and the rest is added later", async () => {
    const { child, ended } = startImport();
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await ended;
    await using base = await openKnowledgeBase(file);
    const { documents } = await base.stats();
    expect(documents).toBeGreaterThan(0);
    // A busy machine may kill it late.
    expect(documents).toBeLessThanOrEqual(FILES);
    assertSound();
    expect(await base.add(folder)).toMatchObject({ added: FILES - documents, failedCount: 0 });
    expect(await base.search(`word${FILES - 1}`)).toMatchObject([{ title: `Note ${FILES - 1}` }]);
    assertSound();
  });

  it("accepts two concurrent imports of the same folder", async () => {
    const both = [startImport(), startImport()];
    for (const { ended } of both) expect(await ended).toEqual({ code: 0, complaint: "" });
    assertSound();
    await using base = await openKnowledgeBase(file);
    expect(await base.stats()).toMatchObject({ documents: FILES });
    for (const at of [0, 199, 399]) expect(await base.search(`word${at}`)).toMatchObject([{ title: `Note ${at}` }]);
  });
});
