/**
 * The entries of a passage in the index of PostgreSQL: its terms with their number of hits, and marked terms. Marks are
 * private-use characters, which no term of a text contains, so no query can match them.
 */
import { hash } from "node:crypto";
import type { ChunkToWrite } from "../knowledge-store.ts";

export interface PassageEntries {
  readonly terms: readonly string[];
  /** Hits of the first terms, as `packHits` returns them. The terms after them are marked. */
  readonly hits: readonly number[];
  /** Number of terms with repetitions, as FTS5 counts them: the mark of the collection is one. */
  readonly length: number;
}

/** How often a term occurs in each part of a passage. */
export interface TermHits {
  readonly title: number;
  readonly headings: number;
  readonly body: number;
}

/** The largest numbers that are counted; together they fit into 31 bits. More hits hardly change a rank. */
const MOST: TermHits = { title: 127, headings: 1023, body: 16_383 };

export function packHits({ title, headings, body }: TermHits): number {
  const [first, second, third] = [
    Math.min(title, MOST.title),
    Math.min(headings, MOST.headings),
    Math.min(body, MOST.body),
  ];
  return (first * (MOST.headings + 1) + second) * (MOST.body + 1) + third;
}

export function unpackHits(packed: number): TermHits {
  const above = Math.floor(packed / (MOST.body + 1));
  return {
    title: Math.floor(above / (MOST.headings + 1)),
    headings: above % (MOST.headings + 1),
    body: packed % (MOST.body + 1),
  };
}

/** Every passage of the collection has this term. */
export function markCollection(collection: string): string {
  return `\ue000${hash("sha256", collection).slice(0, 32)}`;
}

/** Passages with the term in the title have this one. */
export function markTitled(term: string): string {
  return `\ue001${term}`;
}

/** Passages with the term in the title or a heading have this one. */
export function markNamed(term: string): string {
  return `\ue002${term}`;
}

export function indexPassage({ titleTerms, headingTerms, bodyTerms }: ChunkToWrite, scope: string): PassageEntries {
  const found = new Map<string, { title: number; headings: number; body: number }>();
  let length = 1;
  for (const [part, text] of [
    ["title", titleTerms],
    ["headings", headingTerms],
    ["body", bodyTerms],
  ] as const)
    for (const term of text.split(" ")) {
      if (term === "") continue;
      length++;
      let hits = found.get(term);
      if (hits === undefined) found.set(term, (hits = { title: 0, headings: 0, body: 0 }));
      hits[part]++;
    }
  const marked = [scope];
  for (const [term, { title, headings }] of found) {
    if (title > 0) marked.push(markTitled(term));
    if (title + headings > 0) marked.push(markNamed(term));
  }
  return { terms: [...found.keys(), ...marked], hits: [...found.values()].map(packHits), length };
}
