/**
 * The rows of a knowledge base: documents, their passages, and the index over them. It knows no file and no format.
 * Nothing waits within a transaction: other processes get their turn.
 *
 * Invariants: a passage is in the index if and only if it is in `chunks`, and its document in `documents`; a document is
 * found whole or not at all, however many transactions it takes to write or delete it.
 */
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { asStoreError } from "../../log/sqlite/failure.ts";
import { prepareAll, type Statements } from "../../log/sqlite/connection.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import {
  type Candidate,
  type ChunkToWrite,
  type DocumentToWrite,
  STATEMENTS,
  type StoredChunk,
  type StoredDocument,
  type Totals,
  WRITES,
  type Written,
} from "./knowledge-rows.ts";

/** Terms whose counts are kept. */
const MAX_COUNTED = 10_000;
/** Passages that are written or deleted in one transaction: others wait for so long. */
export const CHUNKS_AT_ONCE = 128;
/** How often it is tried again while another process writes. */
const RETRY_MS = 20;
/** Who has not gone on with a document for so long is not there any more. */
const ABANDONED_MS = 60_000;

export class KnowledgeStore {
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

  getNote(name: string): string | undefined {
    return this.#read(({ note }) => note.get(name)?.["text"] as string | undefined);
  }

  /** Within a transaction. */
  setNote(name: string, text: string): void {
    this.#statements.setNote.run(name, text);
  }

  /** Documents whose uri begins so, in the order of their uris. */
  listUnder(
    prefix: string,
    after: string,
    limit: number,
  ): readonly { readonly key: number; readonly uri: string; readonly root: string | null }[] {
    const from = after === "" ? prefix : `${after}\0`;
    return this.#read(({ under }) => under.all(from, `${prefix}\u{10ffff}`, limit) as never);
  }

  count(): Totals {
    return this.#read(({ totals }) => totals.get() as unknown as Totals);
  }

  listCollections(): readonly { readonly name: string; readonly documents: number }[] {
    return this.#read(({ collections }) => collections.all() as never);
  }

  /** Writes a document of a few passages in place of what had its uri; not if that is the same. */
  write(document: DocumentToWrite, chunks: readonly ChunkToWrite[]): Written {
    const written = this.#makeRoom(document);
    if (written === "unchanged") return written;
    const scope = this.#collectionOf(document);
    this.#writeChunks(this.#addDocument(document.uri, scope, document, chunks.length), scope, chunks);
    this.#statements.add.run(1, chunks.length, document.bytes);
    return written;
  }

  /** Begins a document that nothing is found of until it is published; returns its key. */
  begin(document: DocumentToWrite): number {
    return this.#addDocument(null, this.#collectionOf(document), { ...document, indexedAt: Date.now() }, 0);
  }

  /** Adds passages to what was begun. */
  append(key: number, document: DocumentToWrite, chunks: readonly ChunkToWrite[]): void {
    if (Number(this.#statements.grow.run(Date.now(), chunks.length, key).changes) === 0) throw refuseLate();
    this.#writeChunks(key, this.#collectionOf(document), chunks);
  }

  /** What was begun is whole, and takes the place of what had its uri. */
  publish(key: number, document: DocumentToWrite): Written {
    const written = this.#makeRoom(document);
    if (written === "unchanged") this.#statements.hide.run(key);
    else if (Number(this.#statements.publish.run(document.uri, document.indexedAt, key).changes) === 0)
      throw refuseLate();
    else this.#statements.add.run(1, document.chunks, document.bytes);
    return written;
  }

  /** What was begun will not be finished: `sweep` may take it. */
  abandon(key: number): void {
    this.#statements.hide.run(key);
  }

  /** The content is the same, and what is known of its file is not. */
  touch(key: number, { hash, modifiedAt, indexedAt, root, stamp }: Omit<DocumentToWrite, "title" | "chunks">): void {
    this.#statements.touch.run(modifiedAt, indexedAt, root, stamp, key, hash);
  }

  /** It is found no more. What is long is left for `sweep`. */
  delete(key: number): void {
    const { size, hide, add } = this.#statements;
    const found = size.get(key);
    if (found === undefined) return;
    const chunks = Number(found["chunks"]);
    if (chunks >= CHUNKS_AT_ONCE) hide.run(key);
    else this.#deleteRows(key);
    add.run(-1, -chunks, -Number(found["bytes"]));
  }

  /** Whether there are rows of documents that were deleted, or begun by somebody who is gone. */
  hasLeft(): boolean {
    return this.#read(({ left }) => left.get(Date.now() - ABANDONED_MS) !== undefined);
  }

  /** Deletes some of those rows. */
  sweep(): void {
    const key = this.#statements.left.get(Date.now() - ABANDONED_MS)?.["key"];
    if (key !== undefined) this.#deleteRows(Number(key));
  }

  /** All or nothing of what `work` writes. Waits for other processes; throws `store_busy`. */
  async transact<T>(work: () => T): Promise<T> {
    const until = Date.now() + this.#busyTimeoutMs;
    while (!this.#tryBegin(Date.now() >= until)) await wait(RETRY_MS * Math.random());
    try {
      const result = work();
      this.#statements.bump.run();
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
   * so what it said is kept until something is written, by whomever.
   */
  countPassages(term: string): number {
    const generation = this.#read((statements) => Number(statements.generation.get()?.["generation"]));
    if (generation !== this.#countedAt || this.#counted.size >= MAX_COUNTED) this.#counted.clear();
    this.#countedAt = generation;
    let count = this.#counted.get(term);
    if (count === undefined) {
      count = this.#read(({ frequency }) => Number(frequency.get(term)?.["doc"] ?? 0));
      this.#counted.set(term, count);
    }
    return count;
  }

  /** Terms that begin so, and the passages each is in, nearly: so many terms, or until they are in so many passages. */
  listTerms(
    prefix: string,
    limit: number,
    passages: number,
  ): readonly { readonly term: string; readonly count: number }[] {
    return this.#read(({ beginning }) => {
      const found: { readonly term: string; readonly count: number }[] = [];
      let sum = 0;
      for (const row of beginning.iterate(prefix, `${prefix}\u{10ffff}`)) {
        const count = Number(row["count"]);
        found.push({ term: String(row["term"]), count });
        sum += count;
        if (found.length >= limit || sum >= passages) break;
      }
      return found;
    });
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

  #collectionOf({ collection }: DocumentToWrite): number {
    return this.#findCollection(collection) ?? Number(this.#statements.addCollection.run(collection).lastInsertRowid);
  }

  /** Deletes what has the uri, unless it is the same. */
  #makeRoom({ uri, hash, collection }: DocumentToWrite): Written {
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
    deleteTerms.run(key, CHUNKS_AT_ONCE);
    if (Number(deleteChunks.run(key, CHUNKS_AT_ONCE).changes) < CHUNKS_AT_ONCE) deleteDocument.run(key);
  }

  /** False where somebody else writes. */
  #tryBegin(isLast: boolean): boolean {
    this.#assertOpen();
    try {
      this.#db.exec("BEGIN IMMEDIATE");
      return true;
    } catch (error) {
      const told = asStoreError(error, this.#file);
      if (isLast || !isLoomError(told, "store_busy")) throw told;
      return false;
    }
  }

  #writeChunks(document: number, scope: number, chunks: readonly ChunkToWrite[]): void {
    const { addChunk, addTerms } = this.#statements;
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

function refuseLate(): LoomError {
  return new LoomError("store_busy", "a long document took so long to write that it was taken for an abandoned one");
}

/** No term of a text has such a character: nothing that is asked for can be taken for a collection. */
function formScope(collection: number): string {
  return `\ue000${collection}`;
}
