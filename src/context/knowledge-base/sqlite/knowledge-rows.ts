/**
 * Reads and writes the rows of a knowledge base file: documents, passages and the search index. Transactions never wait,
 * so other processes can write in between.
 *
 * `write`, `begin`, `append`, `publish`, `abandon`, `delete` and `sweep` must be called inside `transact`. All other methods
 * only read, and need no transaction.
 *
 * Invariants: a passage is in the index if and only if it is in `chunks` and its document is in `documents`; a document
 * is found completely or not at all, however many transactions it takes to write or delete it.
 */
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import { asStoreError } from "../../../sqlite/as-store-error.ts";
import { prepareAll, type Statements } from "../../../sqlite/database.ts";
import type {
  ChunkToWrite,
  DocumentToWrite,
  KnowledgeTotals,
  StoredDocument,
  WriteOutcome,
} from "../knowledge-store.ts";
import type { PassageCandidate, StoredPassage } from "../rank-passages.ts";
import type { TermCount } from "../weigh-query.ts";
import { STATEMENTS } from "./statements.ts";

/** Maximum terms whose counts are cached. */
const MAX_COUNTED = 10_000;
/** Passages written or deleted per transaction. Other writers wait that long. */
export const CHUNK_BATCH = 128;
/** Maximum delay before trying again while another process writes. */
const RETRY_MS = 20;
/** A document that was not continued for this long is abandoned. */
const ABANDONED_MS = 60_000;

export class KnowledgeRows {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #busyTimeoutMs: number;
  readonly #statements: Statements<typeof STATEMENTS>;
  readonly #counted = new Map<string, number>();
  #countedAt = -1;
  #isClosed = false;

  constructor(db: DatabaseSync, file: string, busyTimeoutMs: number) {
    this.#db = db;
    this.#file = file;
    this.#busyTimeoutMs = busyTimeoutMs;
    this.#statements = prepareAll(db, STATEMENTS);
    // The index uses row IDs beyond the safe integer range, and every write returns the last one.
    for (const name of Object.keys(STATEMENTS) as (keyof typeof STATEMENTS)[])
      if (!STATEMENTS[name].startsWith("SELECT")) this.#statements[name].setReadBigInts(true);
  }

  /** Runs a statement that needs no transaction. */
  read<T>(work: (statements: Statements<typeof STATEMENTS>) => T): T {
    this.#assertOpen();
    try {
      return work(this.#statements);
    } catch (error) {
      throw asStoreError(error, this.#file);
    }
  }

  find(uri: string): StoredDocument | undefined {
    return this.read(({ find }) => find.get(uri) as StoredDocument | undefined);
  }

  /** Number of documents, passages and bytes. */
  count(): KnowledgeTotals {
    return this.read(({ totals }) => totals.get() as unknown as KnowledgeTotals);
  }

  /** Writes a short document and replaces the one with its uri. Does nothing if that is the same. */
  write(document: DocumentToWrite, chunks: readonly ChunkToWrite[]): WriteOutcome {
    const written = this.#removePrevious(document);
    if (written === "unchanged") return written;
    const scope = this.#ensureCollection(document);
    this.#writeChunks(this.#addDocument(document.uri, scope, document, chunks.length), scope, chunks);
    this.#statements.add.run(1, chunks.length, document.bytes);
    return written;
  }

  /** Starts a document that is not found until it is published. Returns its key. */
  begin(document: DocumentToWrite): number {
    return this.#addDocument(null, this.#ensureCollection(document), { ...document, indexedAt: Date.now() }, 0);
  }

  /** Adds passages to a started document. */
  append(key: number, document: DocumentToWrite, chunks: readonly ChunkToWrite[]): void {
    if (Number(this.#statements.grow.run(Date.now(), chunks.length, key).changes) === 0) throw createAbandonedError();
    this.#writeChunks(key, this.#ensureCollection(document), chunks);
  }

  /** Makes a started document visible and replaces the one with its uri. */
  publish(key: number, document: DocumentToWrite): WriteOutcome {
    const written = this.#removePrevious(document);
    if (written === "unchanged") this.#statements.hide.run(key);
    else if (Number(this.#statements.publish.run(document.uri, document.indexedAt, key).changes) === 0)
      throw createAbandonedError();
    else this.#statements.add.run(1, document.chunks, document.bytes);
    return written;
  }

  /** Marks a started document for removal by `sweep`. */
  abandon(key: number): void {
    this.#statements.hide.run(key);
  }

  /** Removes a document. The rows of a long one are left to `sweep`. */
  delete(key: number): void {
    const { size, hide, add } = this.#statements;
    const found = size.get(key);
    if (found === undefined) return;
    const chunks = Number(found["chunks"]);
    if (chunks >= CHUNK_BATCH) hide.run(key);
    else this.#deleteRows(key);
    add.run(-1, -chunks, -Number(found["bytes"]));
  }

  /** Whether there are rows of deleted or abandoned documents. */
  hasLeftovers(): boolean {
    return this.read(({ leftover }) => leftover.get(Date.now() - ABANDONED_MS) !== undefined);
  }

  /** Deletes some of those rows. */
  sweep(): void {
    const key = this.#statements.leftover.get(Date.now() - ABANDONED_MS)?.["key"];
    if (key !== undefined) this.#deleteRows(Number(key));
  }

  /** Runs `work` in a transaction. Waits for other processes; throws `store_busy` after `busyTimeoutMs`. */
  async transact<T>(work: (statements: Statements<typeof STATEMENTS>) => T): Promise<T> {
    const until = Date.now() + this.#busyTimeoutMs;
    while (!this.#tryBegin(Date.now() >= until)) await wait(RETRY_MS * Math.random());
    try {
      const result = work(this.#statements);
      this.#statements.bump.run();
      this.#db.exec("COMMIT");
      return result;
    } catch (error) {
      // SQLite has already rolled back if the disk is full.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      throw asStoreError(error, this.#file);
    }
  }

  /**
   * Returns the approximate number of passages with a term; deleted ones may be counted. The index has to walk all of
   * them, so counts are cached until any process writes.
   */
  countPassages(term: string): number {
    const generation = this.read((statements) => Number(statements.generation.get()?.["generation"]));
    if (generation !== this.#countedAt || this.#counted.size >= MAX_COUNTED) this.#counted.clear();
    this.#countedAt = generation;
    let count = this.#counted.get(term);
    if (count === undefined) {
      count = this.read(({ frequency }) => Number(frequency.get(term)?.["doc"] ?? 0));
      this.#counted.set(term, count);
    }
    return count;
  }

  /**
   * Lists terms with the prefix and their approximate number of passages, up to `limit` terms or `passages` passages in
   * total.
   */
  listTerms(prefix: string, limit: number, passages: number): readonly TermCount[] {
    return this.read(({ termsWithPrefix }) => {
      const found: TermCount[] = [];
      let sum = 0;
      for (const row of termsWithPrefix.iterate(prefix, `${prefix}\u{10ffff}`)) {
        const count = Number(row["count"]);
        found.push({ term: String(row["term"]), count });
        sum += count;
        if (found.length >= limit || sum >= passages) break;
      }
      return found;
    });
  }

  /** Returns the best passages by BM25. */
  match(expression: string, limit: number): readonly PassageCandidate[] {
    return this.read(({ match }) => match.all(expression, limit) as unknown as PassageCandidate[]);
  }

  /** Returns the best of the first `scanned` matches. For terms that occur almost everywhere. */
  matchSome(expression: string, limit: number, scanned: number): readonly PassageCandidate[] {
    const some = this.read(({ matchSome }) => matchSome.all(expression, scanned) as unknown as PassageCandidate[]);
    return some.toSorted((a, b) => b.weight - a.weight).slice(0, limit);
  }

  findPassage(key: number): StoredPassage | undefined {
    return this.read(({ passage }) => passage.get(key) as StoredPassage | undefined);
  }

  /** Returns the term that every passage of the collection has; undefined if there is no such collection. */
  findScope(collection: string): string | undefined {
    const key = this.read(() => this.#findCollection(collection));
    return key === undefined ? undefined : formatScope(key);
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

  /** Returns the key of the collection of the document. Adds the collection if there is none. */
  #ensureCollection({ collection }: DocumentToWrite): number {
    return this.#findCollection(collection) ?? Number(this.#statements.addCollection.run(collection).lastInsertRowid);
  }

  /** Deletes the document with this uri unless it is the same. */
  #removePrevious({ uri, hash, collection }: DocumentToWrite): WriteOutcome {
    const old = this.find(uri);
    if (old === undefined) return "added";
    if (old.hash === hash && old.collection === collection) return "unchanged";
    this.delete(old.key);
    return "updated";
  }

  #addDocument(uri: string | null, collection: number, document: DocumentToWrite, chunks: number): number {
    const { title, format, bytes, modifiedAt, indexedAt, hash, root, stamp } = document;
    const { addDocument } = this.#statements;
    const added = addDocument.run(
      uri,
      collection,
      title,
      format,
      bytes,
      modifiedAt,
      indexedAt,
      hash,
      chunks,
      root,
      stamp,
    );
    return Number(added.lastInsertRowid);
  }

  #deleteRows(key: number): void {
    const { deleteTerms, deleteChunks, deleteDocument } = this.#statements;
    deleteTerms.run(key, CHUNK_BATCH);
    if (Number(deleteChunks.run(key, CHUNK_BATCH).changes) < CHUNK_BATCH) deleteDocument.run(key);
  }

  /** Returns false if another process is writing. */
  #tryBegin(isLast: boolean): boolean {
    this.#assertOpen();
    try {
      this.#db.exec("BEGIN IMMEDIATE");
      return true;
    } catch (error) {
      const failure = asStoreError(error, this.#file);
      if (isLast || !isLoomError(failure, "store_busy")) throw failure;
      return false;
    }
  }

  #writeChunks(document: number, scope: number, chunks: readonly ChunkToWrite[]): void {
    const { addChunk, addTerms } = this.#statements;
    for (const { content, headings, firstLine, lastLine, titleTerms, headingTerms, bodyTerms } of chunks) {
      const { lastInsertRowid } = addChunk.run(document, firstLine, lastLine, headings, content);
      addTerms.run(lastInsertRowid, titleTerms, headingTerms, bodyTerms, formatScope(scope));
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new LoomError("store_closed", "The knowledge base is closed", { path: this.#file });
  }
}

function createAbandonedError(): LoomError {
  return new LoomError(
    "store_busy",
    "Writing a long document took too long, and another process removed it as abandoned; add it again",
  );
}

/** Uses a private-use character that no term of a text contains, so that no query can match a collection key. */
function formatScope(collection: number): string {
  return `\ue000${collection}`;
}
