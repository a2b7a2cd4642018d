/**
 * Finds passages for a query. The index returns candidates by BM25; these are then read and ranked by how much of the
 * query they contain, and how well.
 *
 * Invariant: the number of passages examined is limited, whatever the query and the size of the base. Terms that occur
 * almost everywhere are left out of the first step if there are rarer ones; otherwise only some of their passages are
 * examined.
 */
import type { Passage } from "../retriever.ts";
import type { KnowledgeBaseLimits } from "./knowledge-base-options.ts";
import type { PassageCandidate, StoredChunk } from "./knowledge-rows.ts";
import type { KnowledgeStore } from "./knowledge-store.ts";
import { type Match, makeSnippet } from "./make-snippet.ts";
import { readQuery } from "./query-terms.ts";
import { readTerms } from "./read-terms.ts";
import { type WeighedQuery, type WeighedTerm, weighQuery } from "./weigh-query.ts";

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
/** Approximate number of index entries the first step may examine. */
const MAX_POSTINGS = 1500;
/** Maximum terms of the first step. */
const MAX_FIRST_TERMS = 24;
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
const SHARES = { held: 0.5, weight: 0.13, named: 0.2, together: 0.05, script: 0.12 } as const;
const HAN = /\p{Script=Han}/u;

export function searchPassages(
  store: KnowledgeStore,
  query: string,
  limit: number,
  collection: string | undefined,
  { maxPerDocument, maxQueryCharacters }: KnowledgeBaseLimits,
): readonly SearchHit[] {
  const scope = collection === undefined ? undefined : store.findScope(collection);
  if (limit < 1 || (collection !== undefined && scope === undefined)) return [];
  const asked = weighQuery(store, query, maxQueryCharacters);
  const searched = chooseTerms(store, asked.terms);
  if (searched.length === 0) return [];
  const found = findCandidates(store, searched, scope, Math.max(CANDIDATES, 2 * limit));
  const most = Math.max(...found.map(({ weight }) => weight), Number.MIN_VALUE);
  const matcher = createQueryMatcher(asked, query);
  const weighed: WeighedPassage[] = [];
  for (const { key, weight } of found) {
    const passage = store.findPassage(key);
    if (passage !== undefined) weighed.push(weighPassage(passage, weight / most, matcher));
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

/**
 * Chooses the rarest terms within the limit, at least one. Single characters are used only if there is nothing else.
 */
function chooseTerms(store: KnowledgeStore, terms: readonly WeighedTerm[]): readonly WeighedTerm[] {
  const whole = terms.filter(({ isPrefix }) => !isPrefix);
  const there =
    whole.length > 0
      ? whole.toSorted((a, b) => a.count - b.count)
      : terms.slice(0, 1).flatMap((term) => expand(store, term));
  let sum = 0;
  return there.slice(0, MAX_FIRST_TERMS).filter(({ count }, index) => (sum += count) <= MAX_POSTINGS || index === 0);
}

/** Returns the terms of the index that start with the prefix. */
function expand(store: KnowledgeStore, prefix: WeighedTerm): WeighedTerm[] {
  const found = store.listTerms(prefix.term, MAX_FIRST_TERMS, MAX_POSTINGS);
  return found.map(({ term, count }) => ({ ...prefix, term, count, isPrefix: false }));
}

function findCandidates(
  store: KnowledgeStore,
  terms: readonly WeighedTerm[],
  scope: string | undefined,
  limit: number,
): readonly PassageCandidate[] {
  // Terms contain only letters and digits; quoting is a precaution.
  const any = terms.map(({ term }) => `"${term.replaceAll('"', "")}"`).join(" OR ");
  const within = (columns: string): string =>
    scope === undefined ? `${columns}(${any})` : `scope : "${scope}" AND ${columns}(${any})`;
  if ((terms[0]?.count ?? 0) > MAX_POSTINGS) {
    // A term this frequent says little; passages with it in the title or a heading are about it.
    const named = store.match(within("{title headings} : "), limit);
    return named.length >= limit / 2 ? named : store.matchSome(within(""), limit, MAX_POSTINGS);
  }
  const found = store.match(within(""), limit);
  // A document named after the terms can rank below many that contain them more often.
  const keys = new Set(found.map(({ key }) => key));
  return found.length < limit
    ? found
    : [...found, ...store.match(within("title : "), Math.ceil(limit / 2)).filter(({ key }) => !keys.has(key))];
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
  readonly most: number;
}

function createQueryMatcher({ terms, total, isEmpty }: WeighedQuery, query: string): QueryMatcher {
  return {
    question: query.trim().toLowerCase(),
    isHan: HAN.test(query),
    terms,
    total,
    most: isEmpty ? EMPTY_QUERY_SHARE : 1,
    indexes: new Map(terms.map(({ term }, index) => [term, index])),
    prefixes: terms.flatMap(({ term, isPrefix }, index) => (isPrefix ? [{ term, index }] : [])),
  };
}

interface WeighedPassage {
  readonly passage: StoredChunk;
  readonly score: number;
  /** Positions of query terms in the content. */
  readonly matches: readonly Match[];
}

function weighPassage(passage: StoredChunk, weight: number, matcher: QueryMatcher): WeighedPassage {
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
  const isQuestion = title.trim().toLowerCase() === matcher.question;
  const named = isQuestion
    ? 1
    : Math.max(NAMED.title * compareName(title, matcher), NAMED.heading * compareName(nearest, matcher));
  const together = matcher.terms.length < 2 ? 1 : pairs.size / (matcher.terms.length - 1);
  const script = HAN.test(content) === matcher.isHan ? 1 : 0;
  let good = SHARES.held + SHARES.weight * weight + SHARES.named * named;
  good += SHARES.together * together + SHARES.script * script;
  return { passage, score: matcher.most * held * good, matches };
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
