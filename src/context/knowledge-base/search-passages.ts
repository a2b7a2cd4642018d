/**
 * Finds the passages for a question. The index gives those with the best BM25 for any of its terms; they are then read
 * and put into order by how much of the question they hold, how much of it side by side, and that weight.
 *
 * Invariant: how many passages are weighed is bounded, however many there are and whatever is asked: terms that are nearly
 * everywhere are left out of the first step as long as rarer ones are there, and else some of their passages are taken.
 */
import type { Passage } from "../retriever.ts";
import type { KnowledgeBaseLimits } from "./knowledge-base-options.ts";
import type { Candidate, KnowledgeStore, StoredChunk } from "./knowledge-store.ts";
import { type Match, makeSnippet } from "./make-snippet.ts";
import { type QueryTerm, readQueryTerms } from "./query-terms.ts";
import { readTerms } from "./read-terms.ts";

export interface SearchHit extends Passage {
  readonly uri: string;
  readonly collection: string;
  /** From 0 to 1. */
  readonly score: number;
  readonly snippet: string;
  readonly firstLine: number;
  readonly lastLine: number;
  /** The headings above the passage, outermost first. */
  readonly headings: readonly string[];
}

interface WeighedTerm extends QueryTerm {
  readonly count: number;
  /** How much it says: more, the fewer passages have it. */
  readonly weight: number;
}

/** Passages that are read to put them into order. */
const CANDIDATES = 24;
/** Places in the index that the first step looks at, nearly. */
const MAX_POSTINGS = 1500;
/** Terms of the first step. */
const MAX_TERMS = 24;
/** What has less than this share of the best one's score has little to do with the question. */
const LEAST_SHARE = 0.3;
/** What a score is made of: BM25, how much of the question is there, how much in title and headings, how much in a row. */
const SHARES = { weight: 0.5, held: 0.2, named: 0.2, together: 0.1 } as const;

export function searchPassages(
  store: KnowledgeStore,
  query: string,
  limit: number,
  collection: string | undefined,
  { maxPerDocument, maxQueryCharacters }: KnowledgeBaseLimits,
): readonly SearchHit[] {
  const scope = collection === undefined ? undefined : store.findScope(collection);
  if (limit < 1 || (collection !== undefined && scope === undefined)) return [];
  const terms = weighTerms(store, readQueryTerms(query.slice(0, maxQueryCharacters).toWellFormed()));
  const looked = chooseTerms(terms);
  if (looked.length === 0) return [];
  const found = findCandidates(store, looked, scope, Math.max(CANDIDATES, 2 * limit));
  const most = Math.max(...found.map(({ weight }) => weight), Number.MIN_VALUE);
  const lens = createLens(terms);
  const weighed: WeighedPassage[] = [];
  for (const { key, weight } of found) {
    const passage = store.findPassage(key);
    if (passage !== undefined) weighed.push(weighPassage(passage, weight / most, lens));
  }
  weighed.sort((a, b) => b.score - a.score || a.passage.key - b.passage.key);
  const least = (weighed[0]?.score ?? 0) * LEAST_SHARE;
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

function weighTerms(store: KnowledgeStore, terms: readonly QueryTerm[]): readonly WeighedTerm[] {
  const { chunks } = store.count();
  return terms.map(({ term, isPrefix }) => {
    const count = isPrefix ? 0 : store.countPassages(term, chunks);
    const weight = Math.log(1 + (chunks - Math.min(count, chunks) + 0.5) / (count + 0.5));
    return { term, isPrefix, count, weight: isPrefix ? 1 : weight };
  });
}

/** The rarest, as many as may be looked at; one at least. */
function chooseTerms(terms: readonly WeighedTerm[]): readonly WeighedTerm[] {
  const there = terms.filter(({ count, isPrefix }) => count > 0 || isPrefix).toSorted((a, b) => a.count - b.count);
  let sum = 0;
  return there.slice(0, MAX_TERMS).filter(({ count }, index) => (sum += count) <= MAX_POSTINGS || index === 0);
}

function findCandidates(
  store: KnowledgeStore,
  terms: readonly WeighedTerm[],
  scope: string | undefined,
  limit: number,
): readonly Candidate[] {
  // Terms are letters and digits, and stand in quotes all the same.
  const any = terms.map(({ term, isPrefix }) => `"${term.replaceAll('"', "")}"${isPrefix ? " *" : ""}`).join(" OR ");
  const within = (columns: string): string =>
    scope === undefined ? `${columns}(${any})` : `scope : "${scope}" AND ${columns}(${any})`;
  if ((terms[0]?.count ?? 0) <= MAX_POSTINGS) return store.match(within(""), limit);
  // A term that is in so many says little; what has it in its title or a heading is about it.
  const named = store.match(within("{title headings} : "), limit);
  return named.length >= limit / 2 ? named : store.matchSome(within(""), limit, MAX_POSTINGS);
}

/** What is looked for in every passage, made once a question. */
interface Lens {
  readonly terms: readonly WeighedTerm[];
  readonly places: ReadonlyMap<string, number>;
  readonly prefixes: readonly { readonly term: string; readonly index: number }[];
  readonly total: number;
}

function createLens(terms: readonly WeighedTerm[]): Lens {
  return {
    terms,
    places: new Map(terms.map(({ term }, index) => [term, index])),
    prefixes: terms.flatMap(({ term, isPrefix }, index) => (isPrefix ? [{ term, index }] : [])),
    total: terms.reduce((sum, { weight }) => sum + weight, Number.MIN_VALUE),
  };
}

interface WeighedPassage {
  readonly passage: StoredChunk;
  readonly score: number;
  /** Where the content has terms of the question. */
  readonly matches: readonly Match[];
}

function weighPassage(passage: StoredChunk, weight: number, lens: Lens): WeighedPassage {
  const seen = new Set<number>();
  const pairs = new Set<number>();
  findMatches(passage.title, lens, seen, pairs);
  findMatches(passage.headings, lens, seen, pairs);
  const named = sumWeights(seen, lens) / lens.total;
  const matches = findMatches(passage.content, lens, seen, pairs);
  const held = sumWeights(seen, lens) / lens.total;
  const together = lens.terms.length < 2 ? 1 : pairs.size / (lens.terms.length - 1);
  const score = SHARES.weight * weight + SHARES.held * held + SHARES.named * named + SHARES.together * together;
  return { passage, score, matches };
}

/** Notes which terms of the question a text has, and which of them right after the one before in the question. */
function findMatches(text: string, lens: Lens, seen: Set<number>, pairs: Set<number>): Match[] {
  const { terms, places, prefixes } = lens;
  const matches: Match[] = [];
  let before = -2;
  for (const at of readTerms(text)) {
    let index = places.get(at.term);
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

function sumWeights(indexes: ReadonlySet<number>, { terms }: Lens): number {
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
