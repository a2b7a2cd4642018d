/**
 * The index of what was said: the words of titles, messages and replies. It has no seals; what it finds is looked up in
 * the records, which are proven, before anybody is shown it.
 *
 * A row's number is its session's key and the record's id; a title stands for record 0. So rows of a session lie
 * together, newest session last, and going on after one is going on below its key. Both have to fit a number of
 * JavaScript: SQLite tells the last one with every statement, whatever it wrote.
 */
import type { DatabaseSync } from "node:sqlite";
import { listWords, type Phrase } from "../search-text.ts";
import { prepareAll, type Statements } from "./connection.ts";

/** Bits of a record's id, and the highest; beyond it, or in a session beyond `MAX_KEY`, nothing is found. */
const ID_BITS = 26;
export const MAX_INDEXED_ID = 2 ** ID_BITS - 1;
const MAX_KEY = 2 ** (53 - ID_BITS) - 1;

export interface SaidPlace {
  readonly session: number;
  /** 0: the title. */
  readonly eventId: number;
}

const STATEMENTS = {
  insert: `INSERT INTO said (rowid, words) VALUES ((? << ${ID_BITS}) | ?, ?)`,
  drop: `DELETE FROM said WHERE rowid BETWEEN (?1 << ${ID_BITS}) | ?2 AND (?1 << ${ID_BITS}) | ?3`,
  find: `SELECT rowid >> ${ID_BITS} AS session, rowid & ${MAX_INDEXED_ID} AS eventId FROM said
    WHERE said MATCH ? AND rowid < (? << ${ID_BITS}) ORDER BY rowid DESC`,
} as const;

export class SaidRows {
  readonly #sql: Statements<typeof STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, STATEMENTS);
  }

  add(session: number, eventId: number, text: string): void {
    if (eventId > MAX_INDEXED_ID || session > MAX_KEY) return;
    const words = listWords(text);
    if (words !== "") this.#sql.insert.run(session, eventId, words);
  }

  /** All of these records, both ends included. */
  drop(session: number, from: number, to: number): void {
    if (session > MAX_KEY || from > MAX_INDEXED_ID) return;
    this.#sql.drop.run(session, from, Math.min(to, MAX_INDEXED_ID));
  }

  setTitle(session: number, title: string): void {
    this.drop(session, 0, 0);
    this.add(session, 0, title);
  }

  /** Where the phrases may be, of sessions made before the one with this key: newest first, and lazily. */
  find(phrases: readonly Phrase[], before: number): Iterable<SaidPlace> {
    return this.#sql.find.iterate(formatQuery(phrases), before) as Iterable<unknown> as Iterable<SaidPlace>;
  }
}

/** Words have no quotation marks, so nothing in them is of the index's own language. */
function formatQuery(phrases: readonly Phrase[]): string {
  return phrases.map(({ words, isPrefix }) => `"${words.join(" ")}"${isPrefix ? " *" : ""}`).join(" AND ");
}
