/**
 * The store of a knowledge base in PostgreSQL, for servers on several machines. A document is written in one transaction,
 * so it appears at once, and nothing remains of one that was interrupted.
 *
 * Invariant: transactions that change documents do so one after the other (`#lock`). Passages of new documents are written
 * before the lock, because that takes long; no other process can see them.
 */
import { randomUUID } from "node:crypto";
import { migratePostgres } from "../../../postgres/migrate.ts";
import { openPostgres, type PostgresDatabase, type Transaction } from "../../../postgres/postgres-database.ts";
import type { PostgresOptions } from "../../../postgres/postgres-options.ts";
import { SearchQueue } from "../../../protocol/search-queue.ts";
import { fromColumn, toColumn } from "../../../postgres/text-column.ts";
import { LoomError } from "../../../protocol/index.ts";
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
import { assertNotAborted, changeDocuments, type KeyedDocument, writePassages } from "./document-rows.ts";
import { markCollection } from "./index-passage.ts";
import { KNOWLEDGE_FORMAT } from "./knowledge-schema.ts";
import { searchDatabase } from "./search-database.ts";

const DOCUMENT = `SELECT key, uri, collection, title, format, bytes, modified_at AS "modifiedAt",
  indexed_at AS "indexedAt", hash, passages AS chunks, root, stamp FROM @.knowledge_documents`;
const FIND = `${DOCUMENT} WHERE uri = $1`;
const IS_AFTER = "left(uri, 600) >= left($1, 600) AND uri > $1";
const PAGE = "ORDER BY left(uri, 600), uri LIMIT $2";
const LIST = `${DOCUMENT} WHERE ${IS_AFTER} ${PAGE}`;
const LIST_OF = `${DOCUMENT} WHERE scope = $3 AND ${IS_AFTER} ${PAGE}`;
const LIST_UNDER = `SELECT key, uri, root FROM @.knowledge_documents
  WHERE ${IS_AFTER} AND starts_with(uri, $3) AND left(uri, 600) >= left($3, 600) ${PAGE}`;
const KNOWN = `SELECT key, uri, hash, collection, write_id AS "writeId" FROM @.knowledge_documents
  WHERE uri = ANY ($1::text[])`;

interface KnownDocument {
  readonly key: number;
  readonly uri: string;
  readonly hash: string;
  readonly collection: string;
  readonly writeId: string;
}

/** Creates the tables if they do not exist. A database that is given is not closed with the store. */
export async function openPostgresKnowledgeStore(
  database: string | PostgresDatabase,
  limits: KnowledgeBaseLimits,
  options: PostgresOptions = {},
): Promise<KnowledgeStore> {
  const ownsDatabase = typeof database === "string";
  const db = ownsDatabase ? await openPostgres(database, options) : database;
  try {
    await migratePostgres(db, KNOWLEDGE_FORMAT);
    return new PostgresKnowledgeStore(db, limits, ownsDatabase);
  } catch (error) {
    if (ownsDatabase) await db.close();
    throw error;
  }
}

class PostgresKnowledgeStore implements KnowledgeStore {
  readonly where: string;
  readonly #database: PostgresDatabase;
  readonly #limits: KnowledgeBaseLimits;
  readonly #ownsDatabase: boolean;
  readonly #searches: SearchQueue;
  #isClosed = false;

  constructor(db: PostgresDatabase, limits: KnowledgeBaseLimits, ownsDatabase: boolean) {
    this.where = db.where;
    this.#database = db;
    this.#limits = limits;
    this.#ownsDatabase = ownsDatabase;
    this.#searches = new SearchQueue({
      maxWaiting: limits.maxWaitingSearches,
      timeoutMs: limits.searchTimeoutMs,
    });
  }

  async find(uri: string): Promise<StoredDocument | undefined> {
    const [row] = hasNul(uri) ? [] : await this.#db.read<StoredDocument>(FIND, [uri]);
    return row;
  }

  async list(collection: string | undefined, after: string, limit: number): Promise<readonly StoredDocument[]> {
    const from = cutAtNul(after);
    if (collection === undefined) return this.#db.read(LIST, [from, limit]);
    return this.#db.read(LIST_OF, [from, limit, markCollection(collection)]);
  }

  async listUnder(prefix: string, after: string, limit: number): ReturnType<KnowledgeStore["listUnder"]> {
    return hasNul(prefix) ? [] : this.#db.read(LIST_UNDER, [cutAtNul(after), limit, prefix]);
  }

  async count(): Promise<KnowledgeTotals> {
    const [row] = await this.#db.read<KnowledgeTotals>(
      "SELECT documents, passages AS chunks, bytes FROM @.knowledge_totals",
    );
    return row ?? { documents: 0, chunks: 0, bytes: 0 };
  }

  async listCollections(): ReturnType<KnowledgeStore["listCollections"]> {
    return this.#db.read(
      "SELECT collection AS name, count(*) AS documents FROM @.knowledge_documents GROUP BY collection ORDER BY collection",
    );
  }

  async getNote(name: string): Promise<string | undefined> {
    const [row] = await this.#db.read<{ readonly text: string }>("SELECT text FROM @.knowledge_notes WHERE name = $1", [
      name,
    ]);
    return row === undefined ? undefined : fromColumn(row.text);
  }

  async setNote(name: string, text: string): Promise<void> {
    await this.#db.transact(async ({ query }) => {
      await this.#lock(query);
      await query("DELETE FROM @.knowledge_notes WHERE name = $1", [name]);
      await query("INSERT INTO @.knowledge_notes VALUES ($1, $2)", [name, toColumn(text)]);
    });
  }

  async write(
    batch: readonly PreparedDocument[],
    signal: AbortSignal | undefined,
  ): Promise<readonly (WriteOutcome | "full")[]> {
    try {
      return await this.#write(batch, signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  }

  async #write(
    batch: readonly PreparedDocument[],
    signal: AbortSignal | undefined,
  ): Promise<readonly (WriteOutcome | "full")[]> {
    const writeId = randomUUID();
    // Of the previous attempt, which may have been committed.
    let outcomes: readonly (WriteOutcome | "full")[] = [];
    return this.#db.transact(async ({ query, attempt }) => {
      const before = await findKnown(query, batch);
      if (attempt > 0 && [...before.values()].some((known) => known.writeId === writeId)) return outcomes;
      const written = new Map<PreparedDocument, KeyedDocument>();
      for (const one of batch) {
        if (isSame(before.get(one.document.uri), one)) continue;
        assertNotAborted(signal);
        written.set(one, await writePassages(query, one, signal));
      }
      assertNotAborted(signal);
      if (written.size === 0) return batch.map(() => "unchanged" as const);
      let room = this.#limits.maxDocuments - (await this.#lock(query));
      const known = await findKnown(query, batch);
      const changes = { added: new Array<KeyedDocument>(), removed: new Array<number>(), dropped: new Array<number>() };
      outcomes = batch.map((one) => {
        const keyed = written.get(one);
        const old = known.get(one.document.uri);
        const isUnchanged = keyed === undefined || isSame(old, one);
        if (isUnchanged || (old === undefined && room <= 0)) {
          if (keyed !== undefined) changes.dropped.push(keyed.key);
          return isUnchanged ? "unchanged" : "full";
        }
        changes.added.push(keyed);
        if (old === undefined) room--;
        else changes.removed.push(old.key);
        return old === undefined ? "added" : "updated";
      });
      await changeDocuments(query, changes, writeId);
      return outcomes;
    });
  }

  async touch(key: number, { hash, modifiedAt, indexedAt, root, stamp }: DocumentFileState): Promise<void> {
    await this.#db.write(
      `UPDATE @.knowledge_documents SET modified_at = $1, indexed_at = $2, root = $3, stamp = $4
      WHERE key = $5 AND hash = $6`,
      [modifiedAt, indexedAt, root, stamp, key, hash],
    );
  }

  async remove(keys: readonly number[]): Promise<void> {
    await this.#db.transact(async ({ query }) => {
      await this.#lock(query);
      await changeDocuments(query, { added: [], removed: keys, dropped: [] }, "");
    });
  }

  async removeUri(uri: string): Promise<boolean> {
    if ((await this.find(uri)) === undefined) return false;
    // Set by the previous attempt, which may have been committed.
    let isRemoved = false;
    return this.#db.transact(async ({ query }) => {
      await this.#lock(query);
      // Look it up again: another process may have replaced it.
      const [found] = await query<KnownDocument>(FIND, [uri]);
      if (found === undefined) return isRemoved;
      await changeDocuments(query, { added: [], removed: [found.key], dropped: [] }, "");
      isRemoved = true;
      return true;
    });
  }

  async readPassages(key: number, from: number, limit: number): Promise<readonly PassageText[]> {
    return this.#db.read(
      `SELECT content, first_line AS "firstLine", last_line AS "lastLine" FROM @.knowledge_passages
      WHERE document = $1 ORDER BY key LIMIT $3 OFFSET $2`,
      [key, from, limit],
    );
  }

  async countPassagesBefore(key: number, line: number): Promise<number> {
    const [row] = await this.#db.read<{ readonly count: number }>(
      "SELECT count(*) AS count FROM @.knowledge_passages WHERE document = $1 AND last_line < $2",
      [key, line],
    );
    return row?.count ?? 0;
  }

  async search(query: PassageQuery, signal: AbortSignal | undefined): Promise<readonly SearchHit[]> {
    const db = this.#db;
    return this.#searches.run(async () => searchDatabase(db, query, this.#limits), signal);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#ownsDatabase) await this.#database.close();
  }

  get #db(): PostgresDatabase {
    if (this.#isClosed)
      throw new LoomError("store_closed", "The knowledge base is closed", { path: this.#database.where });
    return this.#database;
  }

  /** Waits for other writers, and returns the number of documents. Throws `store_busy`. */
  async #lock(query: Transaction["query"]): Promise<number> {
    await query(`SET LOCAL lock_timeout = ${Math.max(1, this.#limits.busyTimeoutMs)}`);
    const [row] = await query<{ readonly documents: number }>("SELECT documents FROM @.knowledge_totals FOR UPDATE");
    return row?.documents ?? 0;
  }
}

async function findKnown(
  query: Transaction["query"],
  batch: readonly PreparedDocument[],
): Promise<ReadonlyMap<string, KnownDocument>> {
  const rows = await query<KnownDocument>(KNOWN, [batch.map(({ document }) => document.uri)]);
  return new Map(rows.map((row) => [row.uri, row]));
}

function isSame(known: KnownDocument | undefined, { document: { hash, collection } }: PreparedDocument): boolean {
  return known?.hash === hash && known.collection === collection;
}

function hasNul(text: string): boolean {
  return text.includes("\0");
}

/** No uri has a zero character, so all that are greater than the text are greater than its start. */
function cutAtNul(text: string): string {
  return hasNul(text) ? text.slice(0, text.indexOf("\0")) : text;
}
