/**
 * The full-text index of titles, messages and replies. It has no seals: its hits are checked against the records, which
 * have checksums.
 *
 * The row ID combines the session's key and the record's ID; record 0 is the title. Rows of a session are adjacent and
 * newer sessions have larger row IDs. Row IDs must be safe integers in JavaScript, because SQLite returns the last one
 * after every statement.
 *
 * The index is divided into parts, see `search-terms.ts`.
 *
 * Adding or deleting a term takes microseconds, and a long text has a hundred thousand. A transaction therefore indexes
 * and deletes a limited number of words, so that other writers hardly wait. Further texts wait in `unindexed`; a search
 * reads them itself.
 */
import type { DatabaseSync } from "node:sqlite";
import { prepareAll, type Statements } from "../../sqlite/database.ts";
import { findPartStart, type IndexedSession, listTerms, namePart } from "../search-terms.ts";
import { listWords, type SearchPhrase } from "../search-text.ts";

/**
 * Bits of the record ID in a row ID. Records above `MAX_INDEXED_ID` and sessions above `MAX_KEY` are not searchable.
 */
const ID_BITS = 26;
export const MAX_INDEXED_ID = 2 ** ID_BITS - 1;
const MAX_KEY = 2 ** (53 - ID_BITS) - 1;
/** Words that one transaction indexes, unless a single text that waited has more. */
const MAX_WORDS_INDEXED = 2048;
/** Pages of the index that one transaction merges. */
const MAX_PAGES_MERGED = 64;

export interface TextHit {
  readonly session: number;
  /** 0 for the title. */
  readonly eventId: number;
}

const STATEMENTS = {
  insertText: `INSERT INTO texts (id, words) VALUES ((? << ${ID_BITS}) | ?, ?)`,
  insertTerms: "INSERT INTO terms (rowid, list) VALUES (?, ?)",
  queue: `INSERT INTO unindexed (id, owner) VALUES ((? << ${ID_BITS}) | ?, ?)`,
  unqueue: "DELETE FROM unindexed WHERE id = ?",
  hasQueued: "SELECT 1 FROM unindexed LIMIT 1",
  nextQueued: "SELECT id, owner, words FROM unindexed JOIN texts USING (id) ORDER BY id LIMIT 1",
  firstText: `SELECT id, words FROM texts
    WHERE id BETWEEN (?1 << ${ID_BITS}) | ?2 AND (?1 << ${ID_BITS}) | ?3 ORDER BY id LIMIT 1`,
  // An index without content needs the terms of a text to remove it.
  dropTerms: "INSERT INTO terms (terms, rowid, list) VALUES ('delete', ?, ?)",
  dropText: "DELETE FROM texts WHERE id = ?",
  merge: `INSERT INTO terms (terms, rank) VALUES ('merge', ${MAX_PAGES_MERGED})`,
  changes: "SELECT total_changes() AS count",
  shortenText: "UPDATE texts SET words = ? WHERE id = ?",
  find: `SELECT rowid >> ${ID_BITS} AS session, rowid & ${MAX_INDEXED_ID} AS eventId FROM terms
    WHERE terms MATCH ? AND rowid < (? << ${ID_BITS}) ORDER BY rowid DESC`,
  findQueued: `SELECT id >> ${ID_BITS} AS session, id & ${MAX_INDEXED_ID} AS eventId FROM unindexed
    WHERE id BETWEEN ?1 << ${ID_BITS} AND (?2 << ${ID_BITS}) - 1 ORDER BY id DESC`,
  findQueuedOf: `SELECT id >> ${ID_BITS} AS session, id & ${MAX_INDEXED_ID} AS eventId FROM unindexed
    WHERE id BETWEEN ?1 << ${ID_BITS} AND (?2 << ${ID_BITS}) - 1 AND owner = ?3 ORDER BY id DESC`,
} as const;

export class SearchIndex {
  readonly #sql: Statements<typeof STATEMENTS>;
  /** Words that this transaction may still index. */
  #room = Number.POSITIVE_INFINITY;

  constructor(db: DatabaseSync) {
    this.#sql = prepareAll(db, STATEMENTS);
  }

  /** Call at the start of a transaction: it limits the words that the transaction indexes. */
  begin(): void {
    this.#room = MAX_WORDS_INDEXED;
  }

  add(session: IndexedSession, eventId: number, text: string): void {
    const { key, owner } = session;
    if (eventId > MAX_INDEXED_ID || key > MAX_KEY) return;
    const words = listWords(text);
    if (words === "") return;
    this.#sql.insertText.run(key, eventId, words);
    const count = countWords(words);
    if (count > this.#room) {
      this.#sql.queue.run(key, eventId, owner);
      return;
    }
    this.#room -= count;
    this.#sql.insertTerms.run(key * 2 ** ID_BITS + eventId, listTerms(session, words));
  }

  /** Whether texts wait to be indexed. */
  hasQueued(): boolean {
    return this.#sql.hasQueued.get() !== undefined;
  }

  /** Indexes texts that wait, at least one. */
  indexQueued(): void {
    while (this.#room > 0) {
      const next = this.#sql.nextQueued.get() as QueuedRow | undefined;
      if (next === undefined) return;
      const { id, owner, words } = next;
      this.#room -= countWords(words);
      this.#sql.insertTerms.run(id, listTerms({ key: keyOf(id), owner }, words));
      this.#sql.unqueue.run(id);
    }
  }

  /**
   * Deletes the texts of records `from` to `to`, inclusive, up to `maxWords` words. Returns how many more words could be
   * deleted: 0 if some may be left.
   */
  drop(session: IndexedSession, from: number, to: number, maxWords = Number.POSITIVE_INFINITY): number {
    const { key } = session;
    if (key > MAX_KEY || from > MAX_INDEXED_ID) return maxWords;
    let room = maxWords;
    while (room > 0) {
      const text = this.#sql.firstText.get(key, from, Math.min(to, MAX_INDEXED_ID)) as IndexedRow | undefined;
      if (text === undefined) return room;
      room -= this.#dropWords(session, text, room);
    }
    return 0;
  }

  /** Deletes up to `most` words of a text, and the text with its last word. Returns the number of words. */
  #dropWords(session: IndexedSession, { id, words }: IndexedRow, most: number): number {
    if (this.#sql.unqueue.run(id).changes > 0) {
      this.#sql.dropText.run(id);
      return 1;
    }
    // The index deletes all occurrences of a word in a text at once.
    const list = [...new Set(words.split(" "))];
    const dropped = list.slice(0, most);
    this.#sql.dropTerms.run(id, listTerms(session, dropped.join(" ")));
    if (dropped.length === list.length) {
      this.#sql.dropText.run(id);
    } else {
      this.#sql.shortenText.run(list.slice(most).join(" "), id);
      // The index counts its texts, and each deletion as one.
      this.#sql.insertTerms.run(id, "");
    }
    return dropped.length;
  }

  /**
   * Continues merges of the index, whose inputs may still have deleted words that no query reads. Returns false if there
   * is nothing to merge.
   */
  merge(): boolean {
    const countChanges = (): number => this.#sql.changes.get()?.["count"] as number;
    const before = countChanges();
    this.#sql.merge.run();
    // The statement itself counts as one change.
    return countChanges() - before > 1;
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
    const indexed = this.#sql.find.iterate(query, before) as Iterable<unknown> as Iterable<TextHit>;
    const start = findPartStart(key);
    const queued = (owner === undefined
      ? this.#sql.findQueued.all(start, before)
      : this.#sql.findQueuedOf.all(start, before, owner)) as unknown as readonly TextHit[];
    return queued.length === 0 ? indexed : mergeHits(indexed, queued);
  }
}

/** Merges hits in descending order. */
function* mergeHits(indexed: Iterable<TextHit>, queued: readonly TextHit[]): Generator<TextHit> {
  let next = 0;
  for (const hit of indexed) {
    for (let one = queued[next]; one !== undefined && isAfter(one, hit); one = queued[++next]) yield one;
    yield hit;
  }
  yield* queued.slice(next);
}

function isAfter(one: TextHit, other: TextHit): boolean {
  return one.session > other.session || (one.session === other.session && one.eventId > other.eventId);
}

function keyOf(id: number): number {
  return Math.floor(id / 2 ** ID_BITS);
}

function countWords(words: string): number {
  let count = 1;
  for (let at = words.indexOf(" "); at >= 0; at = words.indexOf(" ", at + 1)) count++;
  return count;
}

interface IndexedRow {
  readonly id: number;
  readonly words: string;
}

interface QueuedRow extends IndexedRow {
  readonly owner: string;
}

/** Words contain no quotation marks, so they cannot contain query syntax of the index. */
function formatQuery(phrases: readonly SearchPhrase[], part: string): string {
  return phrases
    .map(({ words, isPrefix }) => `"${words.map((word) => `${part}${word}`).join(" ")}"${isPrefix ? " *" : ""}`)
    .join(" AND ");
}
