/**
 * How much each term of a question says, in the base it is asked of: the fewer passages have it, the more. Terms that are
 * nowhere count too: who asks for something else as well has not been answered.
 *
 * Invariant: what is counted is bounded, however long the question is.
 */
import type { KnowledgeStore } from "./knowledge-store.ts";
import { type QueryTerm, readQuery } from "./query-terms.ts";

export interface WeighedTerm extends QueryTerm {
  readonly count: number;
  /** How much it says: more, the fewer passages have it. */
  readonly weight: number;
}

export interface WeighedQuery {
  /** Those that are somewhere in the base. */
  readonly terms: readonly WeighedTerm[];
  /** What a passage has to hold to have all of the question, terms that are nowhere among it. */
  readonly total: number;
  /** It only asks, or greets. */
  readonly isEmpty: boolean;
}

/** Terms that are counted, of the beginning and the end of a question, and those that are kept. */
const MAX_COUNTED = 400;
const MAX_TERMS = 64;
/** A message may be long: who holds as much of it as so many rare terms holds all that can be asked. */
const ASKED_TERMS = 4;
/** A small base says little about how rare a word is. */
const LEAST_PASSAGES = 100;
/** How much a weak term counts. */
const WEAK = 0.25;

export function weighQuery(store: KnowledgeStore, query: string, maxCharacters: number): WeighedQuery {
  const { terms: given, isEmpty } = readQuery(takeEnds(query, maxCharacters));
  const half = MAX_COUNTED / 2;
  const asked = given.length <= MAX_COUNTED ? given : [...given.slice(0, half), ...given.slice(-half)];
  const { chunks } = store.count();
  const passages = Math.max(chunks, LEAST_PASSAGES);
  const weigh = (count: number): number => Math.log(1 + (passages - Math.min(count, passages) + 0.5) / (count + 0.5));
  const counts = asked.map(({ term, isPrefix }) => (isPrefix ? 0 : store.countPassages(term)));
  const terms: WeighedTerm[] = [];
  let total = Number.MIN_VALUE;
  for (const [index, term] of asked.entries()) {
    const count = counts[index] ?? 0;
    const isThere = count > 0 || term.isPrefix;
    const weight = term.isPrefix ? 1 : weigh(count) * Math.min(term.isWeak ? WEAK : 1, weighSeam(asked, counts, index));
    total += weight;
    if (isThere) terms.push({ ...term, count, weight });
  }
  const rarest = terms.length <= MAX_TERMS ? terms : terms.toSorted((a, b) => a.count - b.count).slice(0, MAX_TERMS);
  return {
    terms: rarest === terms ? terms : terms.filter((term) => rarest.includes(term)),
    isEmpty,
    total: Math.min(total, ASKED_TERMS * weigh(0)),
  };
}

/** Who pastes something asks before or after it. */
function takeEnds(query: string, limit: number): string {
  if (query.length <= limit) return query.toWellFormed();
  const half = Math.ceil(limit / 2);
  return `${query.slice(0, half)} ${query.slice(query.length - limit + half)}`.toWellFormed();
}

/** A pair may lie between two words and be none itself: those beside it share its characters and are more common. */
function weighSeam(terms: readonly QueryTerm[], counts: readonly number[], index: number): number {
  if (terms[index]?.isJoined !== true || terms[index + 1]?.isJoined !== true) return 1;
  const [before = 0, count = 0, after = 0] = counts.slice(index - 1, index + 2);
  if (before > 0 && after > 0) return 2 * count <= Math.min(before, after) ? 0 : 1;
  return count === 0 && before + after > 0 ? WEAK : 1;
}
