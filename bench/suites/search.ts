/**
 * Full-text search over sessions: titles, messages and answers. The limit is a bare table of FTS5 with the trigram
 * tokenizer over the messages.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteLog } from "../../src/log/index.ts";
import type { Benchmark, Prepare, Spent } from "../benchmark.ts";
import { createFolder } from "../create-folder.ts";
import { createConversation } from "../records.ts";
import { storeRecords } from "../realistic-records.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";

/** Of a round. */
const SEARCHES = 50;
/** Hits of a page. */
const LIMIT = 20;

/** Each word of the queries is in a tenth of the texts. */
const writeText = (n: number): string => `Question ${n} about pattern${n % 10} of the loom, row ${n} of the chronicle`;
const writeQuery = (n: number): string => `pattern${n % 10}`;

const searchSessions: Prepare = async (count) => {
  const log = await openSqliteLog(join(createFolder(), "loom.db"));
  for (let n = 0; n < count; n++) {
    const records = createConversation(1).map(({ envelope, event }) => ({
      envelope: { ...envelope, session_id: `s${n}` },
      event: event.type === "run_start" ? { ...event, message: writeText(n) } : event,
    }));
    await storeRecords(log, `s${n}`, records as StampedRecord[]);
  }
  return searchOften(async (query) => (await log.searchSessions({ query, limit: LIMIT })).length);
};

const searchTable: Prepare = (count) => {
  const db = new DatabaseSync(join(createFolder(), "texts.db"));
  db.exec("CREATE VIRTUAL TABLE texts USING fts5(session UNINDEXED, body, tokenize = 'trigram'); BEGIN");
  const insert = db.prepare("INSERT INTO texts VALUES (?, ?)");
  for (let n = 0; n < count; n++) insert.run(`s${n}`, writeText(n));
  db.exec("COMMIT");
  const select = db.prepare(
    "SELECT session, snippet(texts, 1, '', '', '…', 32) FROM texts WHERE texts MATCH ? ORDER BY rowid DESC LIMIT ?",
  );
  return searchOften((query) => select.all(`"${query}"`, LIMIT).length);
};

/** A round whose time is that of one search. */
const searchOften = (search: (query: string) => Promise<number> | number) => async (): Promise<Spent> => {
  const before = process.cpuUsage();
  for (let n = 0; n < SEARCHES; n++) {
    const hits = await search(writeQuery(n));
    if (hits !== LIMIT) throw new Error(`${hits} hits instead of ${LIMIT}`);
  }
  const { user, system } = process.cpuUsage(before);
  return { cpuMs: (user + system) / 1000 / SEARCHES };
};

export const benchmark: Benchmark = {
  about: "CPU time of a full-text search",
  rows: [
    {
      what: "a search in many sessions, in SQLite",
      unit: "session that is searched",
      sizes: [500, 1000, 2000],
      ours: searchSessions,
      limits: { "FTS5, trigram": searchTable },
    },
  ],
};
