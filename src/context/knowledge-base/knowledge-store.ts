/**
 * The rows of a knowledge base: documents, their passages, and the index over them. It knows no file and no format. What
 * it does in one call is one transaction, and nothing waits within one: other processes get their turn.
 *
 * Invariant: a passage is in the index if and only if it is in `chunks`, and its document in `documents`.
 */
import type { DatabaseSync } from "node:sqlite";
import { asStoreError } from "../../log/sqlite/failure.ts";
import { prepareAll, type Statements } from "../../log/sqlite/connection.ts";
import { LoomError } from "../../protocol/index.ts";

export interface StoredDocument {
  readonly key: number;
  readonly uri: string;
  readonly collection: string;
  readonly title: string;
  readonly format: string;
  readonly bytes: number;
  readonly modifiedAt: number;
  readonly indexedAt: number;
  readonly hash: string;
  readonly chunks: number;
}

export type DocumentToWrite = Omit<StoredDocument, "key">;

export interface StoredChunk {
  readonly key: number;
  readonly document: number;
  readonly uri: string;
  readonly title: string;
  readonly collection: string;
  readonly firstLine: number;
  readonly lastLine: number;
  readonly headings: string;
  readonly content: string;
}

export interface Candidate {
  readonly key: number;
  readonly weight: number;
}

export interface Totals {
  readonly documents: number;
  readonly chunks: number;
  readonly bytes: number;
}

/** A passage with the terms it is found by. */
export interface ChunkToWrite {
  readonly content: string;
  readonly headings: string;
  readonly firstLine: number;
  readonly lastLine: number;
  readonly titleTerms: string;
  readonly headingTerms: string;
  readonly bodyTerms: string;
}

const DOCUMENT =
  "d.key, d.uri, c.name AS collection, d.title, d.format, d.bytes, d.modified_at AS modifiedAt, " +
  "d.indexed_at AS indexedAt, d.hash, d.chunks FROM documents d JOIN collections c ON c.key = d.collection";

const STATEMENTS = {
  find: `SELECT ${DOCUMENT} WHERE d.uri = ?`,
  list: `SELECT ${DOCUMENT} WHERE d.uri > ? ORDER BY d.uri LIMIT ?`,
  listOf: `SELECT ${DOCUMENT} WHERE d.collection = ? AND d.uri > ? ORDER BY d.uri LIMIT ?`,
  under: "SELECT key, uri FROM documents WHERE uri >= ? AND uri < ? ORDER BY uri LIMIT ?",
  isThere: "SELECT 1 FROM documents WHERE key = ?",
  totals: "SELECT documents, chunks, bytes FROM totals",
  add: "UPDATE totals SET documents = documents + ?, chunks = chunks + ?, bytes = bytes + ?",
  size: "SELECT bytes FROM documents WHERE key = ?",
  collections:
    "SELECT c.name, count(d.key) AS documents FROM collections c JOIN documents d ON d.collection = c.key GROUP BY c.key ORDER BY c.name",
  collection: "SELECT key FROM collections WHERE name = ?",
  addCollection: "INSERT INTO collections (name) VALUES (?)",
  addDocument:
    "INSERT INTO documents (uri, collection, title, format, bytes, modified_at, indexed_at, hash, chunks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
  seal: "UPDATE documents SET hash = ?, chunks = ? WHERE key = ?",
  touch: "UPDATE documents SET modified_at = ?, indexed_at = ? WHERE key = ? AND hash = ?",
  deleteDocument: "DELETE FROM documents WHERE key = ?",
  addChunk: "INSERT INTO chunks (document, first_line, last_line, headings, content) VALUES (?, ?, ?, ?, ?)",
  deleteTerms: "DELETE FROM terms WHERE rowid IN (SELECT key FROM chunks WHERE document = ?)",
  deleteChunks: "DELETE FROM chunks WHERE document = ?",
  addTerms: "INSERT INTO terms (rowid, title, headings, body, scope) VALUES (?, ?, ?, ?, ?)",
  frequency: "SELECT doc FROM vocabulary WHERE term = ?",
  match: "SELECT rowid AS key, -rank AS weight FROM terms WHERE terms MATCH ? ORDER BY rank LIMIT ?",
  matchSome: "SELECT rowid AS key, -bm25(terms, 4.0, 3.0, 1.0, 0.0) AS weight FROM terms WHERE terms MATCH ? LIMIT ?",
  passage:
    "SELECT p.key, p.document, d.uri, d.title, c.name AS collection, p.first_line AS firstLine, p.last_line AS lastLine, " +
    "p.headings, p.content FROM chunks p JOIN documents d ON d.key = p.document JOIN collections c ON c.key = d.collection " +
    "WHERE p.key = ?",
} as const;

/** Terms whose counts are kept. */
const MAX_COUNTED = 10_000;

const WRITES = [
  "add",
  "addCollection",
  "addDocument",
  "seal",
  "touch",
  "deleteDocument",
  "addChunk",
  "deleteTerms",
  "deleteChunks",
  "addTerms",
] as const;

export class KnowledgeStore {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #statements: Statements<typeof STATEMENTS>;
  readonly #counted = new Map<string, number>();
  #countedAt = -1;
  #isClosed = false;

  constructor(db: DatabaseSync, file: string) {
    this.#db = db;
    this.#file = file;
    this.#statements = prepareAll(db, STATEMENTS);
    // The index numbers its own rows beyond what a number can hold, and every write tells the last of them.
    for (const name of WRITES) this.#statements[name].setReadBigInts(true);
  }

  find(uri: string): StoredDocument | undefined {
    return this.#read(({ find }) => find.get(uri) as StoredDocument | undefined);
  }

  list(collection: string | undefined, after: string, limit: number): readonly StoredDocument[] {
    return this.#read(({ list, listOf }) => {
      if (collection === undefined) return list.all(after, limit) as unknown as StoredDocument[];
      const key = this.#findCollection(collection);
      return key === undefined ? [] : (listOf.all(key, after, limit) as unknown as StoredDocument[]);
    });
  }

  /** Documents whose uri begins so, in the order of their uris. */
  listUnder(prefix: string, after: string, limit: number): readonly { readonly key: number; readonly uri: string }[] {
    const from = after === "" ? prefix : `${after}\0`;
    return this.#read(({ under }) => under.all(from, `${prefix}\u{10ffff}`, limit) as never);
  }

  count(): Totals {
    return this.#read(({ totals }) => totals.get() as unknown as Totals);
  }

  listCollections(): readonly { readonly name: string; readonly documents: number }[] {
    return this.#read(({ collections }) => collections.all() as never);
  }

  /** Writes a document in place of what had its uri, with its first passages; returns its key. */
  write(document: DocumentToWrite, chunks: readonly ChunkToWrite[]): number {
    const { uri, title, format, bytes, modifiedAt, indexedAt, hash } = document;
    const { find, addCollection, addDocument } = this.#statements;
    const collection =
      this.#findCollection(document.collection) ?? Number(addCollection.run(document.collection).lastInsertRowid);
    const old = find.get(uri)?.["key"];
    if (old !== undefined) this.delete(Number(old));
    const added = addDocument.run(uri, collection, title, format, bytes, modifiedAt, indexedAt, hash, chunks.length);
    const key = Number(added.lastInsertRowid);
    this.#statements.add.run(1, 0, bytes);
    this.#writeChunks(key, collection, chunks);
    return key;
  }

  /** Adds passages to a document; false where it is gone meanwhile. */
  append(key: number, collection: string, chunks: readonly ChunkToWrite[]): boolean {
    const scope = this.#findCollection(collection);
    if (scope === undefined || this.#statements.isThere.get(key) === undefined) return false;
    this.#writeChunks(key, scope, chunks);
    return true;
  }

  /** The document is whole. */
  seal(key: number, hash: string, chunks: number): void {
    this.#statements.seal.run(hash, chunks, key);
  }

  /** The file has another date and the same content. */
  touch(key: number, hash: string, modifiedAt: number, indexedAt: number): void {
    this.#statements.touch.run(modifiedAt, indexedAt, key, hash);
  }

  delete(key: number): void {
    const { size, deleteTerms, deleteChunks, deleteDocument, add } = this.#statements;
    const bytes = size.get(key)?.["bytes"];
    if (bytes === undefined) return;
    deleteTerms.run(key);
    const { changes } = deleteChunks.run(key);
    deleteDocument.run(key);
    add.run(-1, -Number(changes), -Number(bytes));
  }

  /** All or nothing of what `work` writes. */
  transact<T>(work: () => T): T {
    this.#assertOpen();
    try {
      this.#db.exec("BEGIN IMMEDIATE");
      const result = work();
      this.#db.exec("COMMIT");
      return result;
    } catch (error) {
      // A disk that is full has ended it already.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw asStoreError(error, this.#file);
    }
  }

  /**
   * Passages a term is in, nearly: those that were deleted may be counted. The index walks through all of them to say it,
   * so what it said is kept for as long as the number of passages stays the same.
   */
  countPassages(term: string, total: number): number {
    if (total !== this.#countedAt || this.#counted.size >= MAX_COUNTED) this.#counted.clear();
    this.#countedAt = total;
    let count = this.#counted.get(term);
    if (count === undefined) {
      count = this.#read(({ frequency }) => Number(frequency.get(term)?.["doc"] ?? 0));
      this.#counted.set(term, count);
    }
    return count;
  }

  /** The best passages by BM25. */
  match(expression: string, limit: number): readonly Candidate[] {
    return this.#read(({ match }) => match.all(expression, limit) as unknown as Candidate[]);
  }

  /** The best of the first so many that match: for what nearly all match. */
  matchSome(expression: string, limit: number, scanned: number): readonly Candidate[] {
    const some = this.#read(({ matchSome }) => matchSome.all(expression, scanned) as unknown as Candidate[]);
    return some.toSorted((a, b) => b.weight - a.weight).slice(0, limit);
  }

  findPassage(key: number): StoredChunk | undefined {
    return this.#read(({ passage }) => passage.get(key) as StoredChunk | undefined);
  }

  /** The term that is in every passage of a collection; undefined where there is no such collection. */
  findScope(collection: string): string | undefined {
    const key = this.#read(() => this.#findCollection(collection));
    return key === undefined ? undefined : formScope(key);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#db.close();
  }

  #findCollection(name: string): number | undefined {
    const key = this.#statements.collection.get(name)?.["key"];
    return key === undefined ? undefined : Number(key);
  }

  #writeChunks(document: number, scope: number, chunks: readonly ChunkToWrite[]): void {
    const { addChunk, addTerms, add } = this.#statements;
    add.run(0, chunks.length, 0);
    for (const { content, headings, firstLine, lastLine, titleTerms, headingTerms, bodyTerms } of chunks) {
      const { lastInsertRowid } = addChunk.run(document, firstLine, lastLine, headings, content);
      addTerms.run(lastInsertRowid, titleTerms, headingTerms, bodyTerms, formScope(scope));
    }
  }

  #read<T>(work: (statements: Statements<typeof STATEMENTS>) => T): T {
    this.#assertOpen();
    try {
      return work(this.#statements);
    } catch (error) {
      throw asStoreError(error, this.#file);
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new LoomError("store_closed", "the knowledge base was closed", { path: this.#file });
  }
}

/** No term of a text has such a character: nothing that is asked for can be taken for a collection. */
function formScope(collection: number): string {
  return `\ue000${collection}`;
}
