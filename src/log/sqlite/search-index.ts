/**
 * The full-text index of titles, messages and replies. It has no seals: its hits are checked against the records, which
 * have checksums.
 *
 * The row ID combines the session's key and the record's ID; record 0 is the title. Rows of a session are adjacent and
 * newer sessions have larger row IDs. Row IDs must be safe integers in JavaScript, because SQLite returns the last one
 * after every statement.
 *
 * The index is divided into parts: one per owner and range of session keys, and one per range for searches in all
 * sessions. A term is the name of its part followed by a word, so a query reads only terms of its part: its cost does
 * not depend on the texts of other owners, and each query of a part is short.
 */
import { hash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { listWords, type SearchPhrase } from "../search-text.ts";

/**
 * Bits of the record ID in a row ID. Records above `MAX_INDEXED_ID` and sessions above `MAX_KEY` are not searchable.
 */
const ID_BITS = 26;
export const MAX_INDEXED_ID = 2 ** ID_BITS - 1;
const MAX_KEY = 2 ** (53 - ID_BITS) - 1;
/** Session keys per part. */
const PART_KEYS = 1024;
/** Length of the name of a part: 64 bits, so that no owner can be named to share the part of another. */
const PART_LENGTH = 16;

/** The session of a text. */
export interface IndexedSession {
  readonly key: number;
  readonly owner: string;
}

export interface TextHit {
  readonly session: number;
  /** 0 for the title. */
  readonly eventId: number;
}

const STATEMENTS = {
  insertText: `INSERT INTO texts (id, words) VALUES ((? << ${ID_BITS}) | ?, ?)`,
  insertTerms: `INSERT INTO terms (rowid, list) VALUES ((? << ${ID_BITS}) | ?, ?)`,
  list: `SELECT id, words FROM texts WHERE id BETWEEN (?1 << ${ID_BITS}) | ?2 AND (?1 << ${ID_BITS}) | ?3`,
  // An index without content needs the terms of a text to remove it.
  dropTerms: "INSERT INTO terms (terms, rowid, list) VALUES ('delete', ?, ?)",
  dropTexts: `DELETE FROM texts WHERE id BETWEEN (?1 << ${ID_BITS}) | ?2 AND (?1 << ${ID_BITS}) | ?3`,
  find: `SELECT rowid >> ${ID_BITS} AS session, rowid & ${MAX_INDEXED_ID} AS eventId FROM terms
    WHERE terms MATCH ? AND rowid < (? << ${ID_BITS}) ORDER BY rowid DESC`,
} as const;

export class SearchIndex {
  readonly #sql: Statements<typeof STATEMENTS>;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, STATEMENTS);
  }

  add(session: IndexedSession, eventId: number, text: string): void {
    const { key } = session;
    if (eventId > MAX_INDEXED_ID || key > MAX_KEY) return;
    const words = listWords(text);
    if (words === "") return;
    this.#sql.insertText.run(key, eventId, words);
    this.#sql.insertTerms.run(key, eventId, listTerms(session, words));
  }

  /** Deletes the texts of records `from` to `to`, inclusive. */
  drop(session: IndexedSession, from: number, to: number): void {
    const { key } = session;
    if (key > MAX_KEY || from > MAX_INDEXED_ID) return;
    const last = Math.min(to, MAX_INDEXED_ID);
    for (const { id, words } of this.#sql.list.iterate(key, from, last) as Iterable<unknown> as Iterable<IndexedRow>)
      this.#sql.dropTerms.run(id, listTerms(session, words));
    this.#sql.dropTexts.run(key, from, last);
  }

  setTitle(session: IndexedSession, title: string): void {
    this.drop(session, 0, 0);
    this.add(session, 0, title);
  }

  /**
   * Yields possible matches in the part of the session with this key, newest session first, in sessions created before
   * the one with the key `before`. With an owner, mostly sessions of that owner.
   */
  find(phrases: readonly SearchPhrase[], key: number, owner: string | undefined, before: number): Iterable<TextHit> {
    const query = formatQuery(phrases, namePart(key, owner));
    return this.#sql.find.iterate(query, before) as Iterable<unknown> as Iterable<TextHit>;
  }
}

interface IndexedRow {
  readonly id: number;
  readonly words: string;
}

/** Returns the first key in the part of the session with this key. */
export function findPartStart(key: number): number {
  return key - (key % PART_KEYS);
}

/** Returns the terms of a text with these words: each word in the part of the owner, then each in the part of all. */
export function listTerms({ key, owner }: IndexedSession, words: string): string {
  const list = words.split(" ");
  return [namePart(key, owner), namePart(key, undefined)]
    .flatMap((part) => list.map((word) => `${part}${word}`))
    .join(" ");
}

function namePart(key: number, owner: string | undefined): string {
  return hash("sha256", `${Math.floor(key / PART_KEYS)} ${owner ?? ""}`).slice(0, PART_LENGTH);
}

/** Words contain no quotation marks, so they cannot contain query syntax of the index. */
function formatQuery(phrases: readonly SearchPhrase[], part: string): string {
  return phrases
    .map(({ words, isPrefix }) => `"${words.map((word) => `${part}${word}`).join(" ")}"${isPrefix ? " *" : ""}`)
    .join(" AND ");
}
