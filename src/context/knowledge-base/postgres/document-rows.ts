/** Writes and deletes the rows of documents in PostgreSQL, and keeps the counts of the index. */
import { setImmediate as yieldToLoop } from "node:timers/promises";
import type { Transaction } from "../../../postgres/postgres-database.ts";
import { LoomError } from "../../../protocol/index.ts";
import type { DocumentToWrite, PreparedDocument } from "../knowledge-store.ts";
import { indexPassage, markCollection } from "./index-passage.ts";

/** A new document whose passages are written. */
export interface KeyedDocument {
  readonly key: number;
  readonly document: DocumentToWrite;
  /** Number of its passages that have a term. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface DocumentChanges {
  readonly added: readonly KeyedDocument[];
  /** Documents to delete. Unknown ones are ignored. */
  readonly removed: readonly number[];
  /** New documents that are not needed after all; only their passages exist. */
  readonly dropped: readonly number[];
}

/** Passages written by one statement. */
const BATCH = 128;

/** Lists of lists cannot be sent as arrays, so the rows are sent as JSON. */
const ADD_PASSAGES = `INSERT INTO @.knowledge_passages
    (document, first_line, last_line, headings, content, length, terms, hits)
  SELECT $1, "firstLine", "lastLine", headings, content, length, terms, hits FROM json_to_recordset($2)
    AS row ("firstLine" integer, "lastLine" integer, headings text, content text, length integer, terms text[],
      hits integer[])`;
const ADD_DOCUMENTS = `INSERT INTO @.knowledge_documents (key, uri, collection, scope, title, format, bytes,
    modified_at, indexed_at, hash, passages, root, stamp, write_id)
  SELECT key, uri, collection, scope, title, format, bytes, "modifiedAt", "indexedAt", hash, chunks, root, stamp, $2
  FROM json_to_recordset($1) AS row (key bigint, uri text, collection text, scope text, title text, format text,
    bytes bigint, "modifiedAt" double precision, "indexedAt" double precision, hash text, chunks bigint, root text,
    stamp text)`;
/** Adds `$2` to the counts of the terms `$1`, subtracts the passages of the documents `$3`, and returns unused terms. */
const COUNT_TERMS = `WITH changes AS (
    SELECT term, sum(change) AS change FROM (
      SELECT unnest($1::text[]) AS term, unnest($2::bigint[]) AS change
      UNION ALL SELECT unnest(terms), -1 FROM @.knowledge_passages WHERE document = ANY ($3::bigint[])) c
    GROUP BY term HAVING sum(change) <> 0),
  counted AS (INSERT INTO @.knowledge_terms AS t (term, passages) SELECT term, change FROM changes
    ON CONFLICT (term) DO UPDATE SET passages = t.passages + excluded.passages RETURNING term, passages)
  SELECT term FROM counted WHERE passages <= 0`;
const DELETE_TERMS = "DELETE FROM @.knowledge_terms WHERE term = ANY ($1::text[])";
const COUNT_TOTALS = `WITH signed AS (
    SELECT key, bytes, CASE WHEN key = ANY ($1::bigint[]) THEN 1 ELSE -1 END AS sign FROM @.knowledge_documents
    WHERE key = ANY ($1::bigint[] || $2::bigint[])),
  sizes AS (SELECT coalesce(sum(sign), 0) AS documents, coalesce(sum(sign * bytes), 0) AS bytes FROM signed),
  lengths AS (SELECT coalesce(sum(sign), 0) AS passages, coalesce(sum(sign * p.length), 0) AS length
    FROM signed s JOIN @.knowledge_passages p ON p.document = s.key)
  UPDATE @.knowledge_totals t SET documents = t.documents + sizes.documents, bytes = t.bytes + sizes.bytes,
    passages = t.passages + lengths.passages, length = t.length + lengths.length FROM sizes, lengths`;
const DELETE_PASSAGES = "DELETE FROM @.knowledge_passages WHERE document = ANY ($1::bigint[])";
const DELETE_DOCUMENTS = "DELETE FROM @.knowledge_documents WHERE key = ANY ($1::bigint[])";

/** Writes the passages of a document that does not exist yet. */
export async function writePassages(
  query: Transaction["query"],
  { document, chunks }: PreparedDocument,
  signal: AbortSignal | undefined,
): Promise<KeyedDocument> {
  const [row] = await query<{ readonly key: number }>("SELECT nextval('@.knowledge_keys') AS key");
  const key = row?.key ?? 0;
  const scope = markCollection(document.collection);
  const counts = new Map<string, number>();
  for (let at = 0; at < chunks.length; at += BATCH) {
    const rows = chunks.slice(at, at + BATCH).map((chunk) => {
      const { firstLine, lastLine, headings, content } = chunk;
      const entries = indexPassage(chunk, scope);
      for (const term of entries.terms) counts.set(term, (counts.get(term) ?? 0) + 1);
      return { firstLine, lastLine, headings, content, ...entries };
    });
    await query(ADD_PASSAGES, [key, JSON.stringify(rows)]);
    await yieldToLoop();
    assertNotAborted(signal);
  }
  return { key, document, counts };
}

/** Throws a LoomError: a transaction could take the reason of the signal for a lost connection, and repeat itself. */
export function assertNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new LoomError("cancelled", "The import was cancelled");
}

/** Needs the lock of the store. */
export async function changeDocuments(
  query: Transaction["query"],
  { added, removed, dropped }: DocumentChanges,
  writeId: string,
): Promise<void> {
  if (dropped.length > 0) await query(DELETE_PASSAGES, [dropped]);
  if (added.length + removed.length === 0) return;
  await countTerms(query, added, removed);
  if (removed.length > 0) {
    await query(COUNT_TOTALS, [[], removed]);
    await query(DELETE_PASSAGES, [removed]);
    await query(DELETE_DOCUMENTS, [removed]);
  }
  if (added.length === 0) return;
  const rows = added.map(({ key, document }) => ({
    ...document,
    key,
    scope: markCollection(document.collection),
    // Texts in PostgreSQL have no zero characters, and JSON no halves of characters.
    title: document.title.replaceAll("\0", " ").toWellFormed(),
  }));
  await query(ADD_DOCUMENTS, [JSON.stringify(rows), writeId]);
  await query(COUNT_TOTALS, [added.map(({ key }) => key), []]);
}

async function countTerms(
  query: Transaction["query"],
  added: readonly KeyedDocument[],
  removed: readonly number[],
): Promise<void> {
  const changes = new Map<string, number>();
  for (const { counts } of added)
    for (const [term, count] of counts) changes.set(term, (changes.get(term) ?? 0) + count);
  const unused = await query<{ readonly term: string }>(COUNT_TERMS, [
    [...changes.keys()],
    [...changes.values()],
    removed,
  ]);
  if (unused.length > 0) await query(DELETE_TERMS, [unused.map(({ term }) => term)]);
}
