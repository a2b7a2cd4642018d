/**
 * Searches the passages of a database. An index finds passages that have a term of the query; BM25 is computed here, with
 * the formula and the weights of FTS5, so that a file and a database return the same passages.
 *
 * Invariant: a search examines at most `MAX_POSTINGS` passages of a frequent term, and at most about as many of others.
 */
import type { PostgresDatabase, Transaction } from "../../../postgres/postgres-database.ts";
import { searchTimedOut } from "../../../protocol/search-queue.ts";
import type { KnowledgeBaseLimits } from "../knowledge-base-options.ts";
import {
  addTitled,
  chooseTerms,
  countCandidates,
  findOnlyPrefixTerm,
  isFrequent,
  MAX_FIRST_TERMS,
  MAX_POSTINGS,
  type PassageCandidate,
  type PassageQuery,
  rankPassages,
  type SearchHit,
  type StoredPassage,
} from "../rank-passages.ts";
import { readAskedQuery, type TermCount, type WeighedTerm, weighQuery } from "../weigh-query.ts";
import { markCollection, markNamed, markTitled, type TermHits, unpackHits } from "./index-passage.ts";

/** The planner knows little about new tables; reading all passages is never right. */
const COUNTS = `SELECT s.passages AS chunks, s.length, t.term, t.passages AS count,
    set_config('enable_seqscan', 'off', true) AS setting
  FROM @.knowledge_totals s LEFT JOIN @.knowledge_terms t ON t.term = ANY ($1::text[])`;
const COUNT_SOME = "SELECT term, passages AS count FROM @.knowledge_terms WHERE term = ANY ($1::text[])";
/** At most `$3` terms, and no more after those that together have `$4` passages. */
const EXTENSIONS = `SELECT term, count FROM (
    SELECT term, passages AS count, sum(passages) OVER (ORDER BY term) - passages AS before FROM (
      SELECT term, passages FROM @.knowledge_terms WHERE term >= $1 AND term < $2 ORDER BY term LIMIT $3) t) u
  WHERE before < $4 ORDER BY term`;
const candidates = (within: string): string => `SELECT key, length,
    ARRAY (SELECT hits[array_position(terms, asked)] FROM unnest($2::text[]) AS asked) AS hits
  FROM @.knowledge_passages WHERE terms && $1::text[] ${within} LIMIT $3`;
const CANDIDATES = candidates("");
const CANDIDATES_OF = candidates("AND terms @> $4::text[]");
const PASSAGES = `SELECT p.key, p.document, d.uri, d.title, d.collection, p.first_line AS "firstLine",
    p.last_line AS "lastLine", p.headings, p.content
  FROM @.knowledge_passages p JOIN @.knowledge_documents d ON d.key = p.document WHERE p.key = ANY ($1::bigint[])`;

/** Weights of the parts of a passage, and the parameters of BM25, as in FTS5. */
const PARTS: TermHits = { title: 4, headings: 3, body: 1 };
const NAME_PARTS: TermHits = { ...PARTS, body: 0 };
const TITLE_PARTS: TermHits = { title: 4, headings: 0, body: 0 };
const K1 = 1.2;
const B = 0.75;
const MIN_IDF = 1e-6;

interface CountRow {
  readonly chunks: number;
  readonly length: number;
  readonly term: string | null;
  readonly count: number | null;
}

interface ExaminedPassage {
  readonly key: number;
  readonly length: number;
  /** Hits of each term that was asked for; null if the passage does not have it. */
  readonly hits: readonly (number | null)[];
}

/** Throws `search_timeout`. */
export async function searchDatabase(
  db: PostgresDatabase,
  search: PassageQuery,
  limits: KnowledgeBaseLimits,
): Promise<readonly SearchHit[]> {
  const timeoutMs = limits.searchTimeoutMs;
  const deadline = performance.now() + timeoutMs;
  try {
    return await db.transact(
      async ({ query }) =>
        new DatabaseSearch(async (sql, values) => {
          if (performance.now() > deadline) throw searchTimedOut(timeoutMs);
          return query(sql, values);
        }).run(search, limits),
      { isReadOnly: true, timeoutMs },
    );
  } catch (error) {
    const { cause } = error as { readonly cause?: { readonly code?: unknown } };
    // The database cancelled the statement.
    throw cause?.code === "57014" ? searchTimedOut(timeoutMs) : error;
  }
}

/** One search in one transaction. */
class DatabaseSearch {
  readonly #query: Transaction["query"];
  #chunks = 0;
  #averageLength = 1;
  #scope: readonly string[] = [];

  constructor(query: Transaction["query"]) {
    this.#query = query;
  }

  async run(search: PassageQuery, limits: KnowledgeBaseLimits): Promise<readonly SearchHit[]> {
    const { query, limit, collection } = search;
    const parsed = readAskedQuery(query);
    if (limit < 1 || parsed.terms.length === 0) return [];
    this.#scope = collection === undefined ? [] : [markCollection(collection)];
    const counted = await this.#query<CountRow>(COUNTS, [parsed.terms.map(({ term }) => term)]);
    const { chunks = 0, length = 0 } = counted[0] ?? {};
    this.#chunks = chunks;
    this.#averageLength = length / Math.max(1, chunks);
    const counts = new Map(counted.map(({ term, count }) => [term, count ?? 0]));
    const asked = weighQuery(parsed, chunks, (term) => counts.get(term) ?? 0);
    const prefix = findOnlyPrefixTerm(asked.terms);
    const terms = chooseTerms(asked.terms, prefix === undefined ? [] : await this.#extend(prefix));
    if (terms.length === 0) return [];
    const found = await this.#findCandidates(terms, countCandidates(limit));
    if (found.length === 0) return [];
    const passages = await this.#query<StoredPassage>(PASSAGES, [found.map(({ key }) => key)]);
    const byKey = new Map(passages.map((passage) => [passage.key, passage]));
    return rankPassages(found, (key) => byKey.get(key), asked, search, limits.maxPerDocument);
  }

  async #extend({ term }: WeighedTerm): Promise<readonly TermCount[]> {
    return this.#query<TermCount>(EXTENSIONS, [term, `${term}\u{10ffff}`, MAX_FIRST_TERMS, MAX_POSTINGS]);
  }

  async #findCandidates(terms: readonly WeighedTerm[], limit: number): Promise<readonly PassageCandidate[]> {
    const all = terms.map(({ term }) => term);
    const counts = new Map(terms.map(({ term, count }) => [term, count]));
    if (isFrequent(terms)) {
      const named = await this.#examine(all.map(markNamed), all);
      const best = this.#weigh(named, NAME_PARTS, await this.#count(all, markNamed)).slice(0, limit);
      if (best.length >= limit / 2) return best;
      return this.#weigh(await this.#examine(all, all), PARTS, counts).slice(0, limit);
    }
    const examined = await this.#examine(all, all);
    const found = this.#weigh(examined, PARTS, counts);
    if (found.length < limit) return found;
    const titled = this.#weigh(examined, TITLE_PARTS, await this.#count(all, markTitled));
    return addTitled(found.slice(0, limit), titled.slice(0, Math.ceil(limit / 2)));
  }

  /** Reads passages with at least one of the entries, and their hits of the terms. */
  async #examine(entries: readonly string[], terms: readonly string[]): Promise<readonly ExaminedPassage[]> {
    const values = [entries, terms, MAX_POSTINGS];
    return this.#scope.length === 0
      ? this.#query<ExaminedPassage>(CANDIDATES, values)
      : this.#query<ExaminedPassage>(CANDIDATES_OF, [...values, this.#scope]);
  }

  async #count(terms: readonly string[], mark: (term: string) => string): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#query<TermCount>(COUNT_SOME, [terms.map(mark)]);
    const counts = new Map(rows.map(({ term, count }) => [term, count]));
    return new Map(terms.map((term) => [term, counts.get(mark(term)) ?? 0]));
  }

  /** Sorts passages by BM25. `counts` has the terms in the order of the hits. Passages without a hit are left out. */
  #weigh(
    examined: readonly ExaminedPassage[],
    parts: TermHits,
    counts: ReadonlyMap<string, number>,
  ): readonly PassageCandidate[] {
    const weigh = (count: number): number => Math.max(MIN_IDF, Math.log((this.#chunks - count + 0.5) / (count + 0.5)));
    const weights = [...counts.values()].map(weigh);
    const found: PassageCandidate[] = [];
    for (const { key, length, hits } of examined) {
      const norm = K1 * (1 - B + (B * length) / this.#averageLength);
      let weight = 0;
      for (const [index, packed] of hits.entries()) {
        const { title, headings, body } = unpackHits(packed ?? 0);
        const frequency = parts.title * title + parts.headings * headings + parts.body * body;
        weight += (weights[index] ?? 0) * ((frequency * (K1 + 1)) / (frequency + norm));
      }
      if (weight > 0) found.push({ key, weight });
    }
    return found.toSorted((a, b) => b.weight - a.weight || a.key - b.key);
  }
}
