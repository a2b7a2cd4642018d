/**
 * The terms of a question: those of its text, without the words that every question has. A question is data: nothing in
 * it is a command to the index.
 */
import { readTerms } from "./read-terms.ts";
import { stemWord } from "./stem-word.ts";

export interface QueryTerm {
  readonly term: string;
  /** Whatever begins with it is meant. */
  readonly isPrefix: boolean;
  /** It says little: a pair with a particle in it, a single sign, a word such as `much`. */
  readonly isWeak: boolean;
  /** It shares a character with the term before it. */
  readonly isJoined: boolean;
}

const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a about all also am an and any are as at be been being but by can could did do does doing explain for from " +
    "get give had has have hello help hey hi how i if in into is it its just know like may me more most my " +
    "need no not of on one or our please s so some such t tell than thank thanks that the their them then there " +
    "these they this those to up us use want was we were what when where which who why will with work would you " +
    "your"
  )
    .split(" ")
    .map((word) => stemWord(word)),
);
/** They may be asked about, but mostly say how much or how well. */
const VAGUE_WORDS: ReadonlySet<string> = new Set(
  "best come far go good happen long look make many mean much often right take thing time way"
    .split(" ")
    .map((word) => stemWord(word)),
);
/** What asks, and not what is asked about. They are no part of other words, and no pair reaches over them. */
const STOP_PHRASES =
  /请告诉我|请帮我|告诉我|帮我|请问|你好|您好|谢谢|为什么|是什么|什么是|什么|怎么样|怎么办|怎么|怎样|如何|哪些|哪个|哪里|多少|多久|有没有|能不能|可不可以/g;
/** They are a part of words too: 目的地, 着火, 酒吧. */
const PARTICLE = /[的了着们吗呢吧啊是有]/;
/** One letter or digit, as in `plan B`. */
const SIGN = /^[a-z\d]$/;

export interface Query {
  /** In the order of the question, each once. */
  readonly terms: readonly QueryTerm[];
  /** It only asks, or greets. */
  readonly isEmpty: boolean;
}

export function readQuery(text: string): Query {
  const query = text.normalize("NFKC");
  const cut = query.replaceAll(STOP_PHRASES, (phrase) => " ".repeat(phrase.length));
  const found = new Map<string, QueryTerm>();
  let before = -1;
  for (const { term, start, end, isSingle } of readTerms(cut)) {
    const isJoined = start < before;
    // The last character of a run is in the pair before it.
    if ((isSingle === true && isJoined) || STOP_WORDS.has(term)) continue;
    before = end;
    // What is left of a longer run is no word by itself.
    const around = [Math.max(0, start - 1), end + 1] as const;
    const isPrefix = isSingle === true && cut.slice(...around) === query.slice(...around);
    const isWeak = PARTICLE.test(term) || SIGN.test(term) || VAGUE_WORDS.has(term) || (isSingle === true && !isPrefix);
    if (!found.has(term)) found.set(term, { term, isPrefix, isWeak, isJoined });
  }
  if (found.size > 0)
    return {
      terms: [...found.values()],
      isEmpty: [...found.keys()].every((term) => SIGN.test(term) || VAGUE_WORDS.has(term)),
    };
  const all = readTerms(query).filter(({ isSingle }, index) => isSingle !== true || index === 0);
  const terms = [...new Set(all.map(({ term }) => term))];
  return { terms: terms.map((term) => ({ term, isPrefix: false, isWeak: true, isJoined: false })), isEmpty: true };
}
