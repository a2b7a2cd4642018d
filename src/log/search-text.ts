/**
 * How texts are searched: what their words are, and where a query is in one. It knows no log and no index. A log in
 * memory and one in a store agree because both ask this in the end; an index only says where it is worth asking.
 *
 * A word is a run of letters and digits; of Chinese, Japanese and Korean, and of symbols such as emoji, each character is
 * one. Case, accents, width and punctuation do not count.
 */

/** Characters of a text that are searched; what lies beyond is not found. */
export const MAX_SEARCHED_LENGTH = 64 * 1024;
/** Characters of a query that count, and its words. */
const MAX_QUERY_LENGTH = 500;
const MAX_QUERY_WORDS = 32;
/** From so many characters on a word is also found where it only begins another. */
const LEAST_PREFIX = 2;
/** Characters of a snippet, and how many of them may come before what was found. */
const SNIPPET_LENGTH = 160;
const SNIPPET_LEAD = 40;

const LONE = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{So}`;
const WORD = new RegExp(
  String.raw`(?<lone>[${LONE}]\p{M}*)|[[\p{L}\p{N}]--[${LONE}]][[\p{L}\p{N}\p{M}]--[${LONE}]]*`,
  "gv",
);
/** Words that are folded by their case alone: most of what is written. */
const PLAIN = /^(?:[a-z\d]+|[\u4e00-\u9fff])$/i;

interface Word {
  readonly folded: string;
  readonly isLone: boolean;
  readonly start: number;
}

/** Words that must follow each other; the last may go on where `isPrefix`. */
export interface Phrase {
  readonly words: readonly string[];
  readonly isPrefix: boolean;
}

/** The words of a text as an index takes them: folded, one space between. */
export function listWords(text: string): string {
  return Array.from(readWords(text.slice(0, MAX_SEARCHED_LENGTH)), ({ folded }) => folded).join(" ");
}

/** What a query asks for, all of it: a phrase for each part between its spaces. None where nothing in it counts. */
export function readQuery(query: string): readonly Phrase[] {
  const phrases: Phrase[] = [];
  let left = MAX_QUERY_WORDS;
  for (const part of query.slice(0, MAX_QUERY_LENGTH).split(/\s+/u)) {
    const words = [...readWords(part)].slice(0, left);
    const last = words.at(-1);
    if (last === undefined) continue;
    left -= words.length;
    phrases.push({
      words: words.map(({ folded }) => folded),
      isPrefix: !last.isLone && last.folded.length >= LEAST_PREFIX,
    });
  }
  return phrases;
}

/** A piece of the text around the first phrase that is in it; undefined unless all are. Reads no further than it must. */
export function findSnippet(text: string, phrases: readonly Phrase[]): string | undefined {
  if (phrases.length === 0) return undefined;
  const words: Word[] = [];
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

function isAt(words: readonly Word[], from: number, { words: asked, isPrefix }: Phrase): boolean {
  return asked.every((word, index) => {
    const found = words[from + index]?.folded;
    return isPrefix && index === asked.length - 1 ? found?.startsWith(word) === true : found === word;
  });
}

function* readWords(text: string): Generator<Word> {
  for (const match of text.matchAll(WORD)) {
    const folded = fold(match[0]);
    if (folded !== "") yield { folded, isLone: match.groups?.["lone"] !== undefined, start: match.index };
  }
}

/** What is left has no space and nothing that an index could take for its own language. */
function fold(word: string): string {
  if (PLAIN.test(word)) return word.toLowerCase();
  return word
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[\p{M}\p{Z}\p{C}]|[\0-/:-@[-`{-\x7f]/gu, "");
}

/** On one line, with marks where something was cut off; no character is cut in half. */
function cutAround(text: string, at: number): string {
  let start = Math.max(0, at - SNIPPET_LEAD);
  if (isInsidePair(text, start)) start--;
  let end = Math.min(text.length, start + SNIPPET_LENGTH);
  if (isInsidePair(text, end)) end--;
  const piece = text.slice(start, end).replaceAll(/\s+/gu, " ").trim().toWellFormed();
  return `${start > 0 ? "…" : ""}${piece}${end < text.length ? "…" : ""}`;
}

function isInsidePair(text: string, at: number): boolean {
  return /[\udc00-\udfff]/.test(text.charAt(at)) && /[\ud800-\udbff]/.test(text.charAt(at - 1));
}
