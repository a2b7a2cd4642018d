/**
 * Finds the passages for a question. The index gives those with the best BM25 for any of its terms; they are then read
 * and put into order by how much of the question they hold, and how well.
 *
 * Invariant: how many passages are weighed is bounded, however many there are and whatever is asked: terms that are nearly
 * everywhere are left out of the first step as long as rarer ones are there, and else some of their passages are taken.
 */
import type { Passage } from "../retriever.ts";
import type { KnowledgeBaseLimits } from "./knowledge-base-options.ts";
import type { Candidate, StoredChunk } from "./knowledge-rows.ts";
import type { KnowledgeStore } from "./knowledge-store.ts";
import { type Match, makeSnippet } from "./make-snippet.ts";
import { readQuery } from "./query-terms.ts";
import { readTerms } from "./read-terms.ts";
import { type WeighedQuery, type WeighedTerm, weighQuery } from "./weigh-query.ts";

export interface SearchHit extends Passage {
  readonly uri: string;
  readonly collection: string;
  /** From 0 to 1: how much of the question the passage holds, and how well. Little of it depends on the other passages. */
  readonly score: number;
  readonly snippet: string;
  readonly firstLine: number;
  readonly lastLine: number;
  /** The headings above the passage, outermost first. */
  readonly headings: readonly string[];
}

/** Below this a passage has hardly to do with the question. */
export const MIN_SCORE = 0.25;

/** Passages that are read to put them into order. */
const CANDIDATES = 24;
/** Places in the index that the first step looks at, nearly. */
const MAX_POSTINGS = 1500;
/** Terms of the first step. */
const MAX_FIRST_TERMS = 24;
/** What has less than this share of the best one's score has little to do with the question. */
const LEAST_SHARE = 0.3;
/** How much a term counts that is in the title alone, and a question that says nothing. */
const TITLED = 0.5;
const EMPTY = 0.25;
/** A title that is about the question, beside one that is the question; and a heading. */
const NAMED = { title: 0.9, heading: 0.7 } as const;
/**
 * A score is the share of the question that a passage holds, of which all counts only where the rest is good too: BM25
 * beside the best one's, whether title or headings are about the question and little else, how much of it is in a row,
 * and whether both are Chinese or neither.
 */
const SHARES = { held: 0.5, weight: 0.2, named: 0.2, together: 0.05, script: 0.05 } as const;
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
  const looked = chooseTerms(store, asked.terms);
  if (looked.length === 0) return [];
  const found = findCandidates(store, looked, scope, Math.max(CANDIDATES, 2 * limit));
  const most = Math.max(...found.map(({ weight }) => weight), Number.MIN_VALUE);
  const lens = createLens(asked, query);
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

/** The rarest, as many as may be looked at; one at least. One character is looked for where nothing else is. */
function chooseTerms(store: KnowledgeStore, terms: readonly WeighedTerm[]): readonly WeighedTerm[] {
  const whole = terms.filter(({ isPrefix }) => !isPrefix);
  const there =
    whole.length > 0
      ? whole.toSorted((a, b) => a.count - b.count)
      : terms.slice(0, 1).flatMap((term) => expand(store, term));
  let sum = 0;
  return there.slice(0, MAX_FIRST_TERMS).filter(({ count }, index) => (sum += count) <= MAX_POSTINGS || index === 0);
}

/** The terms of the base that begin so. */
function expand(store: KnowledgeStore, prefix: WeighedTerm): WeighedTerm[] {
  const found = store.listTerms(prefix.term, MAX_FIRST_TERMS, MAX_POSTINGS);
  return found.map(({ term, count }) => ({ ...prefix, term, count, isPrefix: false }));
}

function findCandidates(
  store: KnowledgeStore,
  terms: readonly WeighedTerm[],
  scope: string | undefined,
  limit: number,
): readonly Candidate[] {
  // Terms are letters and digits, and stand in quotes all the same.
  const any = terms.map(({ term }) => `"${term.replaceAll('"', "")}"`).join(" OR ");
  const within = (columns: string): string =>
    scope === undefined ? `${columns}(${any})` : `scope : "${scope}" AND ${columns}(${any})`;
  if ((terms[0]?.count ?? 0) > MAX_POSTINGS) {
    // A term that is in so many says little; what has it in its title or a heading is about it.
    const named = store.match(within("{title headings} : "), limit);
    return named.length >= limit / 2 ? named : store.matchSome(within(""), limit, MAX_POSTINGS);
  }
  const found = store.match(within(""), limit);
  // Many may have more of the words than the one that has its name from them.
  const keys = new Set(found.map(({ key }) => key));
  return found.length < limit
    ? found
    : [...found, ...store.match(within("title : "), Math.ceil(limit / 2)).filter(({ key }) => !keys.has(key))];
}

/** What is looked for in every passage, made once a question. */
interface Lens {
  readonly terms: readonly WeighedTerm[];
  readonly places: ReadonlyMap<string, number>;
  readonly prefixes: readonly { readonly term: string; readonly index: number }[];
  readonly total: number;
  /** In small letters. */
  readonly question: string;
  /** Whether it is Chinese. */
  readonly isHan: boolean;
  /** What the best score is. */
  readonly most: number;
}

function createLens({ terms, total, isEmpty }: WeighedQuery, query: string): Lens {
  return {
    question: query.trim().toLowerCase(),
    isHan: HAN.test(query),
    terms,
    total,
    most: isEmpty ? EMPTY : 1,
    places: new Map(terms.map(({ term }, index) => [term, index])),
    prefixes: terms.flatMap(({ term, isPrefix }, index) => (isPrefix ? [{ term, index }] : [])),
  };
}

interface WeighedPassage {
  readonly passage: StoredChunk;
  readonly score: number;
  /** Where the content has terms of the question. */
  readonly matches: readonly Match[];
}

function weighPassage(passage: StoredChunk, weight: number, lens: Lens): WeighedPassage {
  const { title, headings, content } = passage;
  const seen = new Set<number>();
  const pairs = new Set<number>();
  findMatches(headings, lens, seen, pairs);
  const matches = findMatches(content, lens, seen, pairs);
  const own = sumWeights(seen, lens);
  findMatches(title, lens, seen, pairs);
  // All passages of a document have its title, but those that hold its words are about it.
  const held = Math.min(1, (own + TITLED * (sumWeights(seen, lens) - own)) / lens.total);
  const nearest = headings.slice(headings.lastIndexOf("\n") + 1);
  const isQuestion = title.trim().toLowerCase() === lens.question;
  const named = isQuestion
    ? 1
    : Math.max(NAMED.title * compareName(title, lens), NAMED.heading * compareName(nearest, lens));
  const together = lens.terms.length < 2 ? 1 : pairs.size / (lens.terms.length - 1);
  const script = HAN.test(content) === lens.isHan ? 1 : 0;
  let good = SHARES.held + SHARES.weight * weight + SHARES.named * named;
  good += SHARES.together * together + SHARES.script * script;
  return { passage, score: lens.most * held * good, matches };
}

/** How much of the question a title has, and how much of the title is asked for. */
function compareName(name: string, lens: Lens): number {
  const seen = new Set<number>();
  findMatches(name, lens, seen, new Set());
  if (seen.size === 0) return 0;
  const asked = Math.min(1, sumWeights(seen, lens) / lens.total);
  return asked * Math.min(1, seen.size / readQuery(name).terms.length);
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
