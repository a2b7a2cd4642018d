/**
 * Ranks the passages that an index found for a query. Every store uses it, so they agree: the index returns candidates
 * by BM25, which are then ranked by how much of the query they contain, and how well.
 *
 * Invariant: the number of passages examined is limited, whatever the query and the size of the base. Terms that occur
 * almost everywhere are left out of the first step if there are rarer ones; otherwise only some of their passages are
 * examined.
 */
import type { Passage } from "../retriever.ts";
import { type Match, makeSnippet } from "./make-snippet.ts";
import { readQuery } from "./query-terms.ts";
import { readTerms } from "./read-terms.ts";
import type { TermCount, WeighedQuery, WeighedTerm } from "./weigh-query.ts";

/** A passage found by `KnowledgeBase.search`. */
export interface SearchHit extends Passage {
  readonly uri: string;
  readonly collection: string;
  /** From 0 to 1: how much of the query the passage contains, and how well. Depends little on the other passages. */
  readonly score: number;
  readonly snippet: string;
  readonly firstLine: number;
  readonly lastLine: number;
  /** The headings above the passage, outermost first. */
  readonly headings: readonly string[];
}

/** A passage with a lower score is probably irrelevant. */
export const MIN_SCORE = 0.25;

/** Passages that are read and ranked. */
const CANDIDATES = 24;
/** Approximate number of index entries the first step may examine. Also the limit of passages it examines of a frequent term. */
export const MAX_POSTINGS = 1500;
/** Maximum terms of the first step. */
export const MAX_FIRST_TERMS = 24;
/** Passages with less than this share of the best score are dropped. */
const MIN_SHARE_OF_BEST = 0.3;
/** Share of a term's weight if only the title contains it, and of the score if the query has only question words. */
const TITLE_ONLY_SHARE = 0.5;
const EMPTY_QUERY_SHARE = 0.25;
/** Share for a title or heading that is about the query. A title equal to the query counts 1. */
const NAMED = { title: 0.9, heading: 0.7 } as const;
/**
 * A score is the share of the query that a passage contains, multiplied by a quality between 0.5 and 1: BM25 relative
 * to the best candidate, whether title or headings are about the query, how many terms are adjacent, and whether both
 * or neither are Chinese.
 */
const SHARES = { base: 0.5, bm25: 0.13, named: 0.2, together: 0.05, script: 0.12 } as const;
const HAN = /\p{Script=Han}/u;

export interface PassageQuery {
  readonly query: string;
  readonly limit: number;
  /** Undefined: all collections. */
  readonly collection: string | undefined;
}

/** A passage as it is stored. */
export interface StoredPassage {
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

/** A passage found by the index. `weight` is its BM25 score; higher is better. */
export interface PassageCandidate {
  readonly key: number;
  readonly weight: number;
}

/** Returns the number of candidates that the index should find for a result of `limit` passages. */
export function countCandidates(limit: number): number {
  return Math.max(CANDIDATES, 2 * limit);
}

/**
 * Returns the first term if all terms are prefixes, otherwise undefined. `chooseTerms` needs the extensions of this term.
 * Single characters are prefixes; they are used only if there is nothing else.
 */
export function findOnlyPrefixTerm(terms: readonly WeighedTerm[]): WeighedTerm | undefined {
  return terms.every(({ isPrefix }) => isPrefix) ? terms[0] : undefined;
}

/** Chooses the rarest terms within the limit, at least one. `extensions` are terms that start with the prefix. */
export function chooseTerms(
  terms: readonly WeighedTerm[],
  extensions: readonly TermCount[] = [],
): readonly WeighedTerm[] {
  const prefix = findOnlyPrefixTerm(terms);
  const there =
    prefix === undefined
      ? terms.filter(({ isPrefix }) => !isPrefix).toSorted((a, b) => a.count - b.count)
      : extensions.map((found) => ({ ...prefix, ...found, isPrefix: false }));
  let sum = 0;
  return there.slice(0, MAX_FIRST_TERMS).filter(({ count }, index) => (sum += count) <= MAX_POSTINGS || index === 0);
}

/**
 * Whether the first step has only a term that is too frequent to examine all its passages. It says little then; passages
 * with it in the title or a heading are about it, and are used if there are at least half as many as needed.
 */
export function isFrequent(terms: readonly WeighedTerm[]): boolean {
  return (terms[0]?.count ?? 0) > MAX_POSTINGS;
}

/** Adds passages whose title has the terms: they can rank below many that contain the terms more often. */
export function addTitled(
  found: readonly PassageCandidate[],
  titled: readonly PassageCandidate[],
): readonly PassageCandidate[] {
  const keys = new Set(found.map(({ key }) => key));
  return [...found, ...titled.filter(({ key }) => !keys.has(key))];
}

/** Ranks the candidates. Those that `findPassage` does not find are left out. */
export function rankPassages(
  found: readonly PassageCandidate[],
  findPassage: (key: number) => StoredPassage | undefined,
  asked: WeighedQuery,
  { query, limit }: PassageQuery,
  maxPerDocument: number,
): readonly SearchHit[] {
  const bestWeight = Math.max(...found.map(({ weight }) => weight), Number.MIN_VALUE);
  const matcher = createQueryMatcher(asked, query);
  const weighed: WeighedPassage[] = [];
  for (const { key, weight } of found) {
    const passage = findPassage(key);
    if (passage !== undefined) weighed.push(weighPassage(passage, weight / bestWeight, matcher));
  }
  weighed.sort((a, b) => b.score - a.score || a.passage.key - b.passage.key);
  const least = (weighed[0]?.score ?? 0) * MIN_SHARE_OF_BEST;
  const perDocument = new Map<number, number>();
  const kept: SearchHit[] = [];
  for (const one of weighed) {
    const count = (perDocument.get(one.passage.document) ?? 0) + 1;
    if (kept.length >= limit || one.score < least) break;
    if (count > maxPerDocument) continue;
    perDocument.set(one.passage.document, count);
    kept.push(toHit(one));
  }
  return kept;
}

/** The query in the form needed to score passages; created once per query. */
interface QueryMatcher {
  readonly terms: readonly WeighedTerm[];
  readonly indexes: ReadonlyMap<string, number>;
  readonly prefixes: readonly { readonly term: string; readonly index: number }[];
  readonly total: number;
  /** In lower case. */
  readonly question: string;
  /** Whether the query is Chinese. */
  readonly isHan: boolean;
  /** The highest possible score. */
  readonly maxScore: number;
}

function createQueryMatcher({ terms, total, isEmpty }: WeighedQuery, query: string): QueryMatcher {
  return {
    question: query.trim().toLowerCase(),
    isHan: HAN.test(query),
    terms,
    total,
    maxScore: isEmpty ? EMPTY_QUERY_SHARE : 1,
    indexes: new Map(terms.map(({ term }, index) => [term, index])),
    prefixes: terms.flatMap(({ term, isPrefix }, index) => (isPrefix ? [{ term, index }] : [])),
  };
}

interface WeighedPassage {
  readonly passage: StoredPassage;
  readonly score: number;
  /** Positions of query terms in the content. */
  readonly matches: readonly Match[];
}

/** `bm25` is the BM25 score of the passage, relative to the best candidate. */
function weighPassage(passage: StoredPassage, bm25: number, matcher: QueryMatcher): WeighedPassage {
  const { title, headings, content } = passage;
  const seen = new Set<number>();
  const pairs = new Set<number>();
  findMatches(headings, matcher, seen, pairs);
  const matches = findMatches(content, matcher, seen, pairs);
  const own = sumWeights(seen, matcher);
  findMatches(title, matcher, seen, pairs);
  // All passages of a document share its title, so terms found only there count less.
  const held = Math.min(1, (own + TITLE_ONLY_SHARE * (sumWeights(seen, matcher) - own)) / matcher.total);
  const nearest = headings.slice(headings.lastIndexOf("\n") + 1);
  const isTitleQuery = title.trim().toLowerCase() === matcher.question;
  const named = isTitleQuery
    ? 1
    : Math.max(NAMED.title * compareName(title, matcher), NAMED.heading * compareName(nearest, matcher));
  const together = matcher.terms.length < 2 ? 1 : pairs.size / (matcher.terms.length - 1);
  const script = HAN.test(content) === matcher.isHan ? 1 : 0;
  let good = SHARES.base + SHARES.bm25 * bm25 + SHARES.named * named;
  good += SHARES.together * together + SHARES.script * script;
  return { passage, score: matcher.maxScore * held * good, matches };
}

/** Share of the query that a title contains, multiplied by the share of the title that the query contains. */
function compareName(name: string, matcher: QueryMatcher): number {
  const seen = new Set<number>();
  findMatches(name, matcher, seen, new Set());
  if (seen.size === 0) return 0;
  const asked = Math.min(1, sumWeights(seen, matcher) / matcher.total);
  return asked * Math.min(1, seen.size / readQuery(name).terms.length);
}

/**
 * Finds query terms in a text. Adds them to `seen`, and to `pairs` those that directly follow the term before them in
 * the query.
 */
function findMatches(text: string, matcher: QueryMatcher, seen: Set<number>, pairs: Set<number>): Match[] {
  const { terms, indexes, prefixes } = matcher;
  const matches: Match[] = [];
  let before = -2;
  for (const at of readTerms(text)) {
    let index = indexes.get(at.term);
    if (index === undefined && prefixes.length > 0)
      index = prefixes.find(({ term }) => at.term.startsWith(term))?.index;
    if (index === undefined) {
      before = -2;
      continue;
    }
    seen.add(index);
    if (index === before + 1) pairs.add(index);
    before = index;
    matches.push({ start: at.start, end: at.end, weight: terms[index]?.weight ?? 0 });
  }
  return matches;
}

function sumWeights(indexes: ReadonlySet<number>, { terms }: QueryMatcher): number {
  let sum = 0;
  for (const index of indexes) sum += terms[index]?.weight ?? 0;
  return sum;
}

function toHit({ passage, score, matches }: WeighedPassage): SearchHit {
  const { title, content, uri, collection, firstLine, lastLine, headings } = passage;
  return {
    title,
    content,
    uri,
    collection,
    score: Math.round(score * 10_000) / 10_000,
    snippet: makeSnippet(content, matches),
    firstLine,
    lastLine,
    headings: headings === "" ? [] : headings.split("\n"),
  };
}
