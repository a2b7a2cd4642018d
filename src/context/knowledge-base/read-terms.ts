/**
 * Reads the terms of a text for the index and for queries. Words are normalized: lower case, no accents, no English
 * endings. Scripts without spaces between words give overlapping pairs of characters, so no dictionary is needed.
 *
 * Invariants: texts and queries use this one function; a term has no white space and no ASCII other than lower-case
 * letters and digits, so that the index keeps it unchanged; the cost is linear in the length of the text.
 */
import { stemWord } from "./stem-word.ts";

export interface Term {
  readonly term: string;
  /** Positions in the text, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
  /**
   * The last character of a run. If it is the whole run, a query for it also matches every pair that starts with it.
   */
  readonly isSingle?: true;
}

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;
const HAS_UNSPACED =
  /[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc]|[\ud840-\ud8ff]/;
const NOT_ASCII = /[^\x20-\x7e]/;
const MARK = /\p{M}+/gu;
/** Characters that are normalized together: a Hangul syllable in parts, or a character with its marks. */
const CLUSTER = /[\u1100-\u115f][\u1160-\u11a7]?[\u11a8-\u11ff]?|.[\p{M}\uff9e\uff9f]*/gsu;
const HUMP = /[a-z\d][A-Z]|[A-Z]{2}[a-z]{2}/;
const HUMPS = /[A-Z]+(?![a-z])|[A-Z]?[a-z\d]+/g;
/** Longer terms are cut: they are not words. */
const MAX_TERM = 48;
/** Programming languages whose name ends in a sign. */
const SIGNED: readonly (readonly [letter: RegExp, sign: string, term: string])[] = [
  [/^c$/i, "++", "cplusplus"],
  [/^c$/i, "#", "csharp"],
  [/^f$/i, "#", "fsharp"],
];

/** Returns the terms of a text in order, with their positions. */
export function readTerms(text: string): Term[] {
  const terms: Term[] = [];
  for (const match of text.matchAll(WORD)) {
    const [word] = match;
    const start = match.index;
    const signed =
      word.length === 1
        ? SIGNED.find(([letter, sign]) => letter.test(word) && text.startsWith(sign, start + 1))
        : undefined;
    if (signed !== undefined) terms.push({ term: signed[2], start, end: start + 1 + signed[1].length });
    else if (NOT_ASCII.test(word) && word.normalize("NFKC") !== word) readNormalized(word, start, terms);
    else readPlain(word, start, terms);
  }
  return terms;
}

/** Returns the terms as one text for the index. */
export function writeTerms(text: string): string {
  let written = "";
  for (const { term } of readTerms(text)) written += `${term} `;
  return written;
}

/** Reads a word that changes under Unicode normalization. Its terms keep their positions in the original text. */
function readNormalized(word: string, at: number, terms: Term[]): void {
  const starts: number[] = [];
  const ends: number[] = [];
  let plain = "";
  for (const { 0: cluster, index } of word.matchAll(CLUSTER)) {
    const form = cluster.normalize("NFKC");
    plain += form;
    for (let count = 0; count < form.length; count++) {
      starts.push(at + index);
      ends.push(at + index + cluster.length);
    }
  }
  const found: Term[] = [];
  // A normalized form can contain signs and spaces.
  for (const match of plain.matchAll(WORD)) readPlain(match[0], match.index, found);
  for (const { start, end, ...term } of found)
    terms.push({ ...term, start: starts[start] ?? at, end: ends[end - 1] ?? at + word.length });
}

function readPlain(word: string, at: number, terms: Term[]): void {
  if (!HAS_UNSPACED.test(word)) {
    readWord(word, at, terms);
    return;
  }
  // A run such as `用Docker部署` contains both kinds.
  let done = 0;
  for (const match of word.matchAll(UNSPACED)) {
    const [run] = match;
    if (match.index > done) readWord(word.slice(done, match.index), at + done, terms);
    readPairs(run, at + match.index, terms);
    done = match.index + run.length;
  }
  if (done < word.length) readWord(word.slice(done), at + done, terms);
}

function readPairs(run: string, at: number, terms: Term[]): void {
  let start = at;
  let before = "";
  for (const character of run) {
    const end = start + character.length;
    if (before !== "") terms.push({ term: before + character, start: start - before.length, end });
    before = character;
    start = end;
  }
  // The last character starts no pair, but a query for it alone must find it.
  terms.push({ term: before, start: start - before.length, end: start, isSingle: true });
}

function readWord(word: string, start: number, terms: Term[]): void {
  const end = start + word.length;
  const plain = NOT_ASCII.test(word) ? word.normalize("NFKD").replaceAll(MARK, "").normalize("NFKC") : word;
  for (const part of plain === word ? [word] : plain.split(/[^\p{L}\p{N}]+/u)) {
    if (part === "") continue;
    terms.push({ term: createTerm(part), start, end });
    // A name such as `createAgent` is also found by its parts.
    if (HUMP.test(part) && part.length <= MAX_TERM)
      for (const [hump] of part.matchAll(HUMPS)) terms.push({ term: createTerm(hump), start, end });
  }
}

function createTerm(word: string): string {
  const cut = word.length > MAX_TERM ? word.slice(0, MAX_TERM).toWellFormed() : word;
  return stemWord(cut.toLowerCase().replaceAll("ß", "ss"));
}
