/** Searches the full-text index of a knowledge base file. */
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
} from "../rank-passages.ts";
import { readAskedQuery, type WeighedTerm, weighQuery } from "../weigh-query.ts";
import type { KnowledgeRows } from "./knowledge-rows.ts";

export function searchRows(
  rows: KnowledgeRows,
  search: PassageQuery,
  { maxPerDocument }: KnowledgeBaseLimits,
): readonly SearchHit[] {
  const { query, limit, collection } = search;
  const scope = collection === undefined ? undefined : rows.findScope(collection);
  if (limit < 1 || (collection !== undefined && scope === undefined)) return [];
  const asked = weighQuery(readAskedQuery(query), rows.count().chunks, (term) => rows.countPassages(term));
  const prefix = findOnlyPrefixTerm(asked.terms);
  const extensions = prefix === undefined ? [] : rows.listTerms(prefix.term, MAX_FIRST_TERMS, MAX_POSTINGS);
  const terms = chooseTerms(asked.terms, extensions);
  if (terms.length === 0) return [];
  const found = findCandidates(rows, terms, scope, countCandidates(limit));
  return rankPassages(found, (key) => rows.findPassage(key), asked, search, maxPerDocument);
}

function findCandidates(
  rows: KnowledgeRows,
  terms: readonly WeighedTerm[],
  scope: string | undefined,
  limit: number,
): readonly PassageCandidate[] {
  // Terms contain only letters and digits; quoting is a precaution.
  const any = terms.map(({ term }) => `"${term.replaceAll('"', "")}"`).join(" OR ");
  const within = (columns: string): string =>
    scope === undefined ? `${columns}(${any})` : `scope : "${scope}" AND ${columns}(${any})`;
  if (isFrequent(terms)) {
    const named = rows.match(within("{title headings} : "), limit);
    return named.length >= limit / 2 ? named : rows.matchSome(within(""), limit, MAX_POSTINGS);
  }
  const found = rows.match(within(""), limit);
  return found.length < limit ? found : addTitled(found, rows.match(within("title : "), Math.ceil(limit / 2)));
}
