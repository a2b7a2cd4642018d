/**
 * The store of a knowledge base in a SQLite file. Searches run in a thread. Documents are written and deleted in small
 * transactions, so that other processes do not wait long.
 */
import { resolve } from "node:path";
import { setImmediate as yieldToLoop } from "node:timers/promises";
import { asStoreError } from "../../../sqlite/as-store-error.ts";
import { identifyFile } from "../../../sqlite/file-identity.ts";
import { QueryThread } from "../../../sqlite/query-thread.ts";
import type { KnowledgeBaseLimits } from "../knowledge-base-options.ts";
import type {
  DocumentFileState,
  KnowledgeStore,
  KnowledgeTotals,
  PassageText,
  PreparedDocument,
  StoredDocument,
  WriteOutcome,
} from "../knowledge-store.ts";
import type { PassageQuery, SearchHit } from "../rank-passages.ts";
import { CHUNK_BATCH, KnowledgeRows } from "./knowledge-rows.ts";
import { openKnowledgeDatabase } from "./knowledge-schema.ts";
import { searchRows } from "./search-rows.ts";
import type { PassageSearchData } from "./search-thread.ts";

// TypeScript in the repository, JavaScript in the published package.
const SEARCH_THREAD = new URL(`./search-thread${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);
/** Limits the cleanup when a knowledge base is opened, so that opening stays fast. */
const SWEEPS_ON_OPEN = 16;

export async function openSqliteKnowledgeStore(file: string, limits: KnowledgeBaseLimits): Promise<KnowledgeStore> {
  const path = file === ":memory:" ? file : resolve(file);
  const db = await openKnowledgeDatabase(path, limits);
  try {
    const rows = new KnowledgeRows(db, path, limits.busyTimeoutMs);
    // Removes what a killed process left behind. If it fails, a later sweep does it.
    await sweep(rows, undefined, SWEEPS_ON_OPEN).catch(() => undefined);
    return new SqliteKnowledgeStore(rows, path, limits);
  } catch (error) {
    db.close();
    throw asStoreError(error, path);
  }
}

class SqliteKnowledgeStore implements KnowledgeStore {
  readonly where: string;
  readonly #rows: KnowledgeRows;
  readonly #limits: KnowledgeBaseLimits;
  /** Undefined for a base in memory, which only its own connection can read. */
  readonly #searches: QueryThread | undefined;

  constructor(rows: KnowledgeRows, path: string, limits: KnowledgeBaseLimits) {
    this.where = path;
    this.#rows = rows;
    this.#limits = limits;
    this.#searches = path === ":memory:" ? undefined : createSearchThread(path, limits);
  }

  async find(uri: string): Promise<StoredDocument | undefined> {
    return this.#rows.find(uri);
  }

  async list(collection: string | undefined, after: string, limit: number): Promise<readonly StoredDocument[]> {
    return this.#rows.read(({ list, listOf }) => {
      const found = collection === undefined ? list.all(after, limit) : listOf.all(collection, after, limit);
      return found as unknown as StoredDocument[];
    });
  }

  async listUnder(prefix: string, after: string, limit: number): ReturnType<KnowledgeStore["listUnder"]> {
    const from = after === "" ? prefix : `${after}\0`;
    return this.#rows.read(({ under }) => under.all(from, `${prefix}\u{10ffff}`, limit) as never);
  }

  async count(): Promise<KnowledgeTotals> {
    return this.#rows.count();
  }

  async listCollections(): ReturnType<KnowledgeStore["listCollections"]> {
    return this.#rows.read(({ collections }) => collections.all() as never);
  }

  async getNote(name: string): Promise<string | undefined> {
    return this.#rows.read(({ note }) => note.get(name)?.["text"] as string | undefined);
  }

  async setNote(name: string, text: string): Promise<void> {
    await this.#rows.transact(({ setNote }) => setNote.run(name, text));
  }

  async write(
    batch: readonly PreparedDocument[],
    signal: AbortSignal | undefined,
  ): Promise<readonly (WriteOutcome | "full")[]> {
    const rows = this.#rows;
    const isFull = ({ document: { uri } }: PreparedDocument): boolean =>
      rows.find(uri) === undefined && rows.count().documents >= this.#limits.maxDocuments;
    const isLong = ({ chunks }: PreparedDocument): boolean => chunks.length > CHUNK_BATCH;
    const outcomes = new Map<PreparedDocument, WriteOutcome | "full">();
    await rows.transact(() => {
      for (const one of batch)
        if (!isLong(one)) outcomes.set(one, isFull(one) ? "full" : rows.write(one.document, one.chunks));
    });
    for (const one of batch)
      if (isLong(one)) outcomes.set(one, isFull(one) ? "full" : await writeLong(rows, one, signal));
    await sweep(rows, signal);
    return batch.map((one) => outcomes.get(one) ?? "unchanged");
  }

  async touch(key: number, { hash, modifiedAt, indexedAt, root, stamp }: DocumentFileState): Promise<void> {
    await this.#rows.transact(({ touch }) => touch.run(modifiedAt, indexedAt, root, stamp, key, hash));
  }

  async remove(keys: readonly number[]): Promise<void> {
    await this.#rows.transact(() => {
      for (const key of keys) this.#rows.delete(key);
    });
    await sweep(this.#rows);
  }

  async removeUri(uri: string): Promise<boolean> {
    if (this.#rows.find(uri) === undefined) return false;
    // Look it up again: another process may have replaced it.
    const isRemoved = await this.#rows.transact(() => {
      const found = this.#rows.find(uri);
      if (found !== undefined) this.#rows.delete(found.key);
      return found !== undefined;
    });
    await sweep(this.#rows);
    return isRemoved;
  }

  async readPassages(key: number, from: number, limit: number): Promise<readonly PassageText[]> {
    return this.#rows.read(({ passagesOf }) => passagesOf.all(key, limit, from) as unknown as PassageText[]);
  }

  async countPassagesBefore(key: number, line: number): Promise<number> {
    return this.#rows.read(({ passagesBefore }) => Number(passagesBefore.get(key, line)?.["count"]));
  }

  async search(query: PassageQuery, signal: AbortSignal | undefined): Promise<readonly SearchHit[]> {
    if (this.#searches === undefined) return searchRows(this.#rows, query, this.#limits);
    return this.#searches.ask(query, signal);
  }

  async close(): Promise<void> {
    await this.#searches?.close();
    this.#rows.close();
  }
}

function createSearchThread(path: string, limits: KnowledgeBaseLimits): QueryThread {
  return new QueryThread({
    thread: SEARCH_THREAD,
    data: { path, file: identifyFile(path) ?? "", limits } satisfies PassageSearchData,
    timeoutMs: limits.searchTimeoutMs,
    maxWaiting: limits.maxWaitingSearches,
  });
}

/** Writes the new version next to the old one, which is found until the last part is written. */
async function writeLong(
  rows: KnowledgeRows,
  { document, chunks }: PreparedDocument,
  signal: AbortSignal | undefined,
): Promise<WriteOutcome> {
  const key = await rows.transact(() => rows.begin(document));
  try {
    for (let at = 0; at < chunks.length; at += CHUNK_BATCH) {
      signal?.throwIfAborted();
      await rows.transact(() => rows.append(key, document, chunks.slice(at, at + CHUNK_BATCH)));
      await yieldToLoop();
    }
    signal?.throwIfAborted();
    return await rows.transact(() => rows.publish(key, document));
  } catch (error) {
    // If this fails too, a later sweep removes the abandoned document.
    await rows
      .transact(() => rows.abandon(key))
      .then(
        () => sweep(rows),
        () => undefined,
      );
    throw error;
  }
}

/**
 * Deletes the rows of removed and abandoned documents in small transactions, so that other writers do not wait long.
 */
async function sweep(rows: KnowledgeRows, signal?: AbortSignal, steps = Infinity): Promise<void> {
  for (let step = 0; step < steps && rows.hasLeftovers(); step++) {
    if (signal?.aborted === true) return;
    await rows.transact(() => rows.sweep());
    await yieldToLoop();
  }
}
