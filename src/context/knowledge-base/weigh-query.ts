/**
 * Weighs the terms of a query by how rare they are in the knowledge base. Terms that occur nowhere count too: a passage
 * without them does not answer the whole query.
 *
 * Invariant: the work is limited, however long the query is.
 */
import { type ParsedQuery, type QueryTerm, readQuery } from "./query-terms.ts";

/** A term and the number of passages that have it. */
export interface TermCount {
  readonly term: string;
  readonly count: number;
}

export interface WeighedTerm extends QueryTerm, TermCount {
  /** Higher if fewer passages have the term. */
  readonly weight: number;
}

export interface WeighedQuery {
  /** The terms that occur in the base. */
  readonly terms: readonly WeighedTerm[];
  /** Weight of the complete query, including terms that occur nowhere. */
  readonly total: number;
  /** The query is only a greeting or question words. */
  readonly isEmpty: boolean;
}

/** Characters of a query that are used, half from its start and half from its end. */
const MAX_CHARACTERS = 2000;
/** Terms counted, half from the start and half from the end of the query, and terms kept. */
const MAX_COUNTED = 400;
const MAX_TERMS = 64;
/** A long query counts at most as much as this many rare terms, so that long messages can be answered too. */
const MAX_TOTAL_TERMS = 4;
/** Smaller bases are treated as if they had this many passages, because they say little about how rare a word is. */
const MIN_PASSAGES = 100;
/** Share of the weight that a weak term keeps. */
const WEAK_SHARE = 0.25;

/** Reads the terms that must be counted. */
export function readAskedQuery(query: string): ParsedQuery {
  const { terms, isEmpty } = readQuery(takeEnds(query, MAX_CHARACTERS));
  const half = MAX_COUNTED / 2;
  return { terms: terms.length <= MAX_COUNTED ? terms : [...terms.slice(0, half), ...terms.slice(-half)], isEmpty };
}

/** `chunks` is the number of passages of the base, and `countPassages` of those with a term. */
export function weighQuery(
  { terms: asked, isEmpty }: ParsedQuery,
  chunks: number,
  countPassages: (term: string) => number,
): WeighedQuery {
  const passages = Math.max(chunks, MIN_PASSAGES);
  const weigh = (count: number): number => Math.log(1 + (passages - Math.min(count, passages) + 0.5) / (count + 0.5));
  const counts = asked.map(({ term, isPrefix }) => (isPrefix ? 0 : countPassages(term)));
  const terms: WeighedTerm[] = [];
  let total = Number.MIN_VALUE;
  for (const [index, term] of asked.entries()) {
    const count = counts[index] ?? 0;
    const isThere = count > 0 || term.isPrefix;
    const weight = term.isPrefix
      ? 1
      : weigh(count) * Math.min(term.isWeak ? WEAK_SHARE : 1, weighSeam(asked, counts, index));
    total += weight;
    if (isThere) terms.push({ ...term, count, weight });
  }
  const rarest = terms.length <= MAX_TERMS ? terms : terms.toSorted((a, b) => a.count - b.count).slice(0, MAX_TERMS);
  return {
    terms: rarest === terms ? terms : terms.filter((term) => rarest.includes(term)),
    isEmpty,
    total: Math.min(total, MAX_TOTAL_TERMS * weigh(0)),
  };
}

/** Keeps the start and end of a long query: users write their question before or after pasted text. */
function takeEnds(query: string, limit: number): string {
  if (query.length <= limit) return query.toWellFormed();
  const half = Math.ceil(limit / 2);
  return `${query.slice(0, half)} ${query.slice(query.length - limit + half)}`.toWellFormed();
}

/**
 * A pair of characters across two words is not a word. The pairs beside it share its characters and are more frequent.
 */
function weighSeam(terms: readonly QueryTerm[], counts: readonly number[], index: number): number {
  if (terms[index]?.overlapsPrevious !== true || terms[index + 1]?.overlapsPrevious !== true) return 1;
  const [before = 0, count = 0, after = 0] = counts.slice(index - 1, index + 2);
  if (before > 0 && after > 0) return 2 * count <= Math.min(before, after) ? 0 : 1;
  return count === 0 && before + after > 0 ? WEAK_SHARE : 1;
}
