/**
 * The contract of the store of a knowledge base: documents, their passages, and the search index. A SQLite file and a
 * PostgreSQL database implement it; both rank with `rank-passages.ts`. It does not know files or formats of documents.
 *
 * Invariants: a document is found completely or not at all; the old version is found until the new one is complete; a
 * passage is searched if and only if its document is stored.
 */
import type { PassageQuery, SearchHit } from "./rank-passages.ts";

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
  /** The folder whose import found the document; null if it was added by itself. */
  readonly root: string | null;
  /** State of the file in the file system when it was read; empty if there is no file. */
  readonly stamp: string;
}

export type DocumentToWrite = Omit<StoredDocument, "key">;

/** A passage with its search terms, each followed by a space. */
export interface ChunkToWrite {
  readonly content: string;
  readonly headings: string;
  readonly firstLine: number;
  readonly lastLine: number;
  readonly titleTerms: string;
  readonly headingTerms: string;
  readonly bodyTerms: string;
}

/** A passage as it is read back. */
export interface PassageText {
  readonly content: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

export interface PreparedDocument {
  readonly document: DocumentToWrite;
  readonly chunks: readonly ChunkToWrite[];
}

export interface KnowledgeTotals {
  readonly documents: number;
  readonly chunks: number;
  readonly bytes: number;
}

export type WriteOutcome = "added" | "updated" | "unchanged";

/** What is known about the file of a document whose content has not changed. */
export type DocumentFileState = Pick<DocumentToWrite, "hash" | "modifiedAt" | "indexedAt" | "root" | "stamp">;

/** Strings may contain anything, also characters that the store cannot keep: then nothing is found. */
export interface KnowledgeStore {
  /** Absolute path of the file, `:memory:`, or host and name of the database. */
  readonly where: string;
  find(uri: string): Promise<StoredDocument | undefined>;
  /** Lists documents sorted by the bytes of their uri. */
  list(collection: string | undefined, after: string, limit: number): Promise<readonly StoredDocument[]>;
  /** Lists documents whose uri starts with the prefix, sorted by uri. */
  listUnder(
    prefix: string,
    after: string,
    limit: number,
  ): Promise<readonly { readonly key: number; readonly uri: string; readonly root: string | null }[]>;
  count(): Promise<KnowledgeTotals>;
  listCollections(): Promise<readonly { readonly name: string; readonly documents: number }[]>;
  getNote(name: string): Promise<string | undefined>;
  setNote(name: string, text: string): Promise<void>;
  /**
   * Writes documents, each replacing the one with its uri. Returns an outcome for each: `full` if it is new and the base
   * has `maxDocuments`. If the signal aborts, documents that were written stay.
   */
  write(
    batch: readonly PreparedDocument[],
    signal: AbortSignal | undefined,
  ): Promise<readonly (WriteOutcome | "full")[]>;
  /** Does nothing if the document has another hash by now. */
  touch(key: number, state: DocumentFileState): Promise<void>;
  /** Removes documents. Unknown keys are ignored: another process may have replaced them. */
  remove(keys: readonly number[]): Promise<void>;
  /** Removes the document with this uri, also if it was just replaced. Returns false if there is none. */
  removeUri(uri: string): Promise<boolean>;
  /** Reads passages of a document in their order, starting at position `from`. None if the document was replaced. */
  readPassages(key: number, from: number, limit: number): Promise<readonly PassageText[]>;
  /** Number of passages of a document that end before this line. */
  countPassagesBefore(key: number, line: number): Promise<number>;
  /** Throws `search_timeout` and `too_many_searches`. */
  search(query: PassageQuery, signal: AbortSignal | undefined): Promise<readonly SearchHit[]>;
  /** Further calls throw `store_closed`. */
  close(): Promise<void>;
}
