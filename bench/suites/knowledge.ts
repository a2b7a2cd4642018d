/**
 * The knowledge base: indexing Markdown files of 2 kB, and searching them. The limit is a bare table of FTS5 with the
 * trigram tokenizer, a row per section, in one transaction; it searches for any word of the question.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openKnowledgeBase } from "../../src/context/index.ts";
import type { Benchmark, Prepare, Spent } from "../benchmark.ts";
import { createFolder } from "../create-folder.ts";
import { writeDocuments, writeQuestions } from "../documents.ts";

const SEARCHES = 100;
/** Hits of a search. */
const LIMIT = 5;

interface Base {
  add(folder: string): Promise<unknown> | void;
  search(question: string): Promise<readonly unknown[]> | readonly unknown[];
  close(): Promise<unknown> | void;
}

type OpenBase = (path: string) => Promise<Base> | Base;

const openTable: OpenBase = (path) => {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  db.exec("CREATE VIRTUAL TABLE passages USING fts5(uri UNINDEXED, body, tokenize = 'trigram')");
  const insert = db.prepare("INSERT INTO passages VALUES (?, ?)");
  const select = db.prepare(
    "SELECT uri, snippet(passages, 1, '', '', '…', 32) FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT ?",
  );
  return {
    add(folder) {
      db.exec("BEGIN");
      for (const name of readdirSync(folder, { recursive: true }) as string[])
        if (name.endsWith(".md"))
          for (const part of readFileSync(join(folder, name), "utf8").split(/\n(?=## )/)) insert.run(name, part);
      db.exec("COMMIT");
    },
    search(question) {
      const words = question.split(/\s+/).map((word) => `"${word}"`);
      return select.all(words.join(" OR "), LIMIT);
    },
    close: () => db.close(),
  };
};

function writeFolder(count: number): string {
  const folder = join(createFolder(), "documents");
  writeDocuments(folder, count);
  return folder;
}

/** Fills a new base. Creating and deleting it does not count. */
const index =
  (open: OpenBase): Prepare =>
  (count) => {
    const folder = writeFolder(count);
    const parent = createFolder();
    return async (): Promise<Spent> => {
      const own = mkdtempSync(join(parent, "base-"));
      const base = await open(join(own, "base.db"));
      const before = process.cpuUsage();
      await base.add(folder);
      const { user, system } = process.cpuUsage(before);
      await base.close();
      rmSync(own, { recursive: true });
      return { cpuMs: (user + system) / 1000 };
    };
  };

const search =
  (open: OpenBase): Prepare =>
  async (count) => {
    const base = await open(join(createFolder(), "base.db"));
    await base.add(writeFolder(count));
    const questions = writeQuestions(SEARCHES);
    return async () => {
      let found = 0;
      for (const question of questions) found += (await base.search(question)).length > 0 ? 1 : 0;
      if (found < SEARCHES / 4) throw new Error(`only ${found} of ${SEARCHES} searches have hits`);
    };
  };

const TABLE = "FTS5, trigram";

export const benchmark: Benchmark = {
  about: "CPU time of indexing files for the knowledge base, and of searching them",
  rows: [
    {
      what: "index files of 2 kB",
      unit: "file",
      sizes: [100, 300, 1000],
      ours: index(openKnowledgeBase),
      limits: { [TABLE]: index(openTable) },
    },
    {
      what: `${SEARCHES} searches`,
      unit: "file",
      sizes: [100, 300, 1000],
      ours: search(openKnowledgeBase),
      limits: { [TABLE]: search(openTable) },
    },
  ],
};
