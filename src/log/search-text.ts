/**
 * Full-text search in a single text: splits it into words and finds a query in it. All logs decide matches with this
 * module; an index only selects candidates. It does not know logs or indexes.
 *
 * A word is a sequence of letters and digits. In Chinese, Japanese and Korean, and for symbols such as emoji, each
 * character is a word. Case, accents, width and punctuation are ignored. The knowledge base ranks documents instead of
 * matching exact phrases, so it has its own terms (`context/knowledge-base/read-terms.ts`).
 */
import { isInsidePair } from "../protocol/cut-text.ts";
import { stripMarkdown } from "../protocol/strip-markdown.ts";

/** Where a session matches: in its title, otherwise in its latest matching text. */
export interface SearchMatch {
  readonly where: "title" | "message" | "answer";
  /** The text around the match, on one line. */
  readonly snippet: string;
  /** Run of the matching text; absent for a title. */
  readonly runId?: string;
}

/** Searched length of a text in characters and in words; the rest is not searched. */
export const MAX_SEARCHED_LENGTH = 64 * 1024;
const MAX_SEARCHED_WORDS = 16 * 1024;
/** Maximum length of a query in characters and in words; the rest is ignored. */
const MAX_QUERY_LENGTH = 500;
const MAX_QUERY_WORDS = 32;
/** Words of at least this length also match as a prefix. */
const MIN_PREFIX_LENGTH = 2;
/** Length of a snippet in characters, and how many of them may precede the match. */
const SNIPPET_LENGTH = 160;
const SNIPPET_LEAD = 40;

const LONE = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{So}`;
const WORD = new RegExp(
  String.raw`(?<lone>[${LONE}]\p{M}*)|[[\p{L}\p{N}]--[${LONE}]][[\p{L}\p{N}\p{M}]--[${LONE}]]*`,
  "gv",
);
/** Common words that only need lower-casing. */
const PLAIN = /^(?:[a-z\d]+|[\u4e00-\u9fff])$/i;

interface TextWord {
  readonly folded: string;
  readonly isLone: boolean;
  readonly start: number;
}

/** Words that must follow each other. With `isPrefix`, the last one may be a prefix of a longer word. */
export interface SearchPhrase {
  readonly words: readonly string[];
  readonly isPrefix: boolean;
}

/** Returns the folded words of a text, separated by spaces, as an index stores them. */
export function listWords(text: string): string {
  return Array.from(readWords(text.slice(0, MAX_SEARCHED_LENGTH)), ({ folded }) => folded).join(" ");
}

/** Parses a query: each part between spaces is a phrase, and all must match. Empty if the query has no words. */
export function readQuery(query: string): readonly SearchPhrase[] {
  const phrases: SearchPhrase[] = [];
  let left = MAX_QUERY_WORDS;
  for (const part of query.slice(0, MAX_QUERY_LENGTH).split(/\s+/u)) {
    const words = [...readWords(part)].slice(0, left);
    const last = words.at(-1);
    if (last === undefined) continue;
    left -= words.length;
    phrases.push({
      words: words.map(({ folded }) => folded),
      isPrefix: !last.isLone && last.folded.length >= MIN_PREFIX_LENGTH,
    });
  }
  return phrases;
}

/** Matches the title of a session, which comes before its texts. */
export function matchTitle(
  title: string | null | undefined,
  phrases: readonly SearchPhrase[],
): SearchMatch | undefined {
  const snippet = findSnippet(title ?? "", phrases);
  return snippet === undefined ? undefined : { where: "title", snippet };
}

/** Returns the text around the first match; undefined unless all phrases match. Stops reading as soon as they do. */
export function findSnippet(text: string, phrases: readonly SearchPhrase[]): string | undefined {
  if (phrases.length === 0) return undefined;
  const words: TextWord[] = [];
  const missing = new Set(phrases);
  let first = Number.POSITIVE_INFINITY;
  for (const word of readWords(text.slice(0, MAX_SEARCHED_LENGTH))) {
    words.push(word);
    for (const phrase of missing) {
      const from = words.length - phrase.words.length;
      if (!isAt(words, from, phrase)) continue;
      missing.delete(phrase);
      first = Math.min(first, words[from]?.start ?? 0);
    }
    if (missing.size === 0) return cutAround(text, first);
  }
  return undefined;
}

function isAt(words: readonly TextWord[], from: number, { words: wanted, isPrefix }: SearchPhrase): boolean {
  return wanted.every((word, index) => {
    const found = words[from + index]?.folded;
    return isPrefix && index === wanted.length - 1 ? found?.startsWith(word) === true : found === word;
  });
}

function* readWords(text: string): Generator<TextWord> {
  let count = 0;
  for (const match of text.matchAll(WORD)) {
    const folded = fold(match[0]);
    if (folded === "") continue;
    yield { folded, isLone: match.groups?.["lone"] !== undefined, start: match.index };
    if (++count === MAX_SEARCHED_WORDS) return;
  }
}

/** The result contains no spaces and no characters with a meaning in the query language of an index. */
function fold(word: string): string {
  if (PLAIN.test(word)) return word.toLowerCase();
  return word
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[\p{M}\p{Z}\p{C}]|[\0-/:-@[-`{-\x7f]/gu, "");
}

/** Cuts a one-line snippet without Markdown, with ellipses where text was cut off. Surrogate pairs are not split. */
function cutAround(text: string, at: number): string {
  let start = Math.max(0, at - SNIPPET_LEAD);
  if (isInsidePair(text, start)) start--;
  let end = Math.min(text.length, start + SNIPPET_LENGTH);
  if (isInsidePair(text, end)) end--;
  const piece = stripMarkdown(text.slice(start, end)).replaceAll(/\s+/gu, " ").trim().toWellFormed();
  return `${start > 0 ? "…" : ""}${piece}${end < text.length ? "…" : ""}`;
}
