/**
 * The full-text index of titles, messages and replies. It has no seals: its hits are checked against the records, which
 * have checksums.
 *
 * The row ID combines the session's key and the record's ID; record 0 is the title. Rows of a session are adjacent and
 * newer sessions have larger row IDs. Row IDs must be safe integers in JavaScript, because SQLite returns the last one
 * after every statement.
 */
import type { DatabaseSync } from "node:sqlite";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { listWords, type SearchPhrase } from "../search-text.ts";

/**
 * Bits of the record ID in a row ID. Records above `MAX_INDEXED_ID` and sessions above `MAX_KEY` are not searchable.
 */
const ID_BITS = 26;
export const MAX_INDEXED_ID = 2 ** ID_BITS - 1;
const MAX_KEY = 2 ** (53 - ID_BITS) - 1;

export interface TextHit {
  readonly session: number;
  /** 0 for the title. */
  readonly eventId: number;
}

const STATEMENTS = {
  insert: `INSERT INTO said (rowid, words) VALUES ((? << ${ID_BITS}) | ?, ?)`,
  drop: `DELETE FROM said WHERE rowid BETWEEN (?1 << ${ID_BITS}) | ?2 AND (?1 << ${ID_BITS}) | ?3`,
  find: `SELECT rowid >> ${ID_BITS} AS session, rowid & ${MAX_INDEXED_ID} AS eventId FROM said
    WHERE said MATCH ? AND rowid < (? << ${ID_BITS}) ORDER BY rowid DESC`,
} as const;

export class SearchIndex {
  readonly #sql: Statements<typeof STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, STATEMENTS);
  }

  add(session: number, eventId: number, text: string): void {
    if (eventId > MAX_INDEXED_ID || session > MAX_KEY) return;
    const words = listWords(text);
    if (words !== "") this.#sql.insert.run(session, eventId, words);
  }

  /** Deletes the texts of records `from` to `to`, inclusive. */
  drop(session: number, from: number, to: number): void {
    if (session > MAX_KEY || from > MAX_INDEXED_ID) return;
    this.#sql.drop.run(session, from, Math.min(to, MAX_INDEXED_ID));
  }

  setTitle(session: number, title: string): void {
    this.drop(session, 0, 0);
    this.add(session, 0, title);
  }

  /** Yields possible matches in sessions created before the one with this key, newest first. */
  find(phrases: readonly SearchPhrase[], before: number): Iterable<TextHit> {
    return this.#sql.find.iterate(formatQuery(phrases), before) as Iterable<unknown> as Iterable<TextHit>;
  }
}

/** Words contain no quotation marks, so they cannot contain query syntax of the index. */
function formatQuery(phrases: readonly SearchPhrase[]): string {
  return phrases.map(({ words, isPrefix }) => `"${words.join(" ")}"${isPrefix ? " *" : ""}`).join(" AND ");
}
