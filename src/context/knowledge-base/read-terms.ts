/**
 * The terms of a text: what is put into the index, and what is looked for in it. Words are brought to one form (small
 * letters, no accents, no English endings). Scripts that put no space between words give overlapping pairs of characters:
 * nobody needs to know where a word ends, and one of two characters is found as well as one of four.
 *
 * Invariants: texts and questions are read by this one function; a term has no white space and no ASCII other than small
 * letters and digits, so that the index takes it as it is; the cost is linear in the text.
 */
import { stemWord } from "./stem-word.ts";

export interface Term {
  readonly term: string;
  /** In characters of the text. */
  readonly start: number;
  readonly end: number;
  /** One character that stands by itself: any pair that begins with it is meant as well. */
  readonly isSingle?: true;
}

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;
const HAS_UNSPACED =
  /[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc]|[\ud840-\ud8ff]/;
const NOT_ASCII = /[^\x20-\x7e]/;
const MARK = /\p{M}+/gu;
const HUMP = /[a-z\d][A-Z]/;
const HUMPS = /[A-Z]+(?![a-z])|[A-Z]?[a-z\d]+/g;
/** Longer ones are no words: they are known by their beginning. */
const MAX_TERM = 48;

export function readTerms(text: string): Term[] {
  const terms: Term[] = [];
  for (const match of text.matchAll(WORD)) {
    const [word] = match;
    if (HAS_UNSPACED.test(word)) readMixed(word, match.index, terms);
    else readWord(word, match.index, terms);
  }
  return terms;
}

/** The terms as the index is given them. */
export function writeTerms(text: string): string {
  let written = "";
  for (const { term } of readTerms(text)) written += `${term} `;
  return written;
}

/** A run such as `用Docker部署`, which is of both kinds. */
function readMixed(word: string, at: number, terms: Term[]): void {
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
    // Forms that look alike and differ in code are one.
    const plain = character.normalize("NFKC").trim();
    if (before !== "" && plain !== "") terms.push({ term: before + plain, start: start - before.length, end });
    if (plain !== "") before = plain;
    start = end;
  }
  // The last one begins no pair, but a question for it alone must find it.
  if (before !== "") terms.push({ term: before, start: start - before.length, end: start, isSingle: true });
}

function readWord(word: string, start: number, terms: Term[]): void {
  const end = start + word.length;
  const plain = NOT_ASCII.test(word) ? word.normalize("NFKD").replaceAll(MARK, "").normalize("NFKC") : word;
  // What a compatibility form stands for may have signs and spaces in it.
  for (const part of plain === word ? [word] : plain.split(/[^\p{L}\p{N}]+/u)) {
    if (part === "") continue;
    terms.push({ term: formTerm(part), start, end });
    // A name such as `createAgent` is also found by its parts.
    if (HUMP.test(part) && part.length <= MAX_TERM)
      for (const [hump] of part.matchAll(HUMPS)) terms.push({ term: formTerm(hump), start, end });
  }
}

function formTerm(word: string): string {
  const cut = word.length > MAX_TERM ? word.slice(0, MAX_TERM).toWellFormed() : word;
  return stemWord(cut.toLowerCase());
}
