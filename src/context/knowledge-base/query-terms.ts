/**
 * Reads the search terms of a query and drops words that every question contains. A query is data: nothing in it is a
 * command to the index.
 */
import { readTerms } from "./read-terms.ts";
import { stemWord } from "./stem-word.ts";

export interface QueryTerm {
  readonly term: string;
  /** Matches every term that starts with it. */
  readonly isPrefix: boolean;
  /** Carries little meaning: a pair with a particle, a single letter or digit, or a word such as `much`. */
  readonly isWeak: boolean;
  /** Shares a character with the previous term. */
  readonly overlapsPrevious: boolean;
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
/** Words that mostly express quantity or quality. */
const VAGUE_WORDS: ReadonlySet<string> = new Set(
  "best come far go good happen long look make many mean much often right take thing time way"
    .split(" ")
    .map((word) => stemWord(word)),
);
/** Phrases that ask rather than name a topic. Pairs of characters never extend over them. */
const STOP_PHRASES =
  /请告诉我|请帮我|告诉我|帮我|请问|你好|您好|谢谢|为什么|是什么|什么是|什么|怎么样|怎么办|怎么|怎样|如何|哪些|哪个|哪里|多少|多久|有没有|能不能|可不可以/g;
/** Also part of ordinary words: 目的地, 着火, 酒吧. */
const PARTICLE = /[的了着们吗呢吧啊是有]/;
/** One letter or digit, as in `plan B`. */
const SIGN = /^[a-z\d]$/;

export interface ParsedQuery {
  /** In query order, without duplicates. */
  readonly terms: readonly QueryTerm[];
  /** The query is only a greeting or question words. */
  readonly isEmpty: boolean;
}

/** Returns the terms of a query. If it has only question words, they become weak terms. */
export function readQuery(text: string): ParsedQuery {
  const query = text.normalize("NFKC");
  const cut = query.replaceAll(STOP_PHRASES, (phrase) => " ".repeat(phrase.length));
  const found = new Map<string, QueryTerm>();
  let before = -1;
  for (const { term, start, end, isSingle } of readTerms(cut)) {
    const overlapsPrevious = start < before;
    // The last character of a run is already in the pair before it.
    if ((isSingle === true && overlapsPrevious) || STOP_WORDS.has(term)) continue;
    before = end;
    // What remains of a longer run is not a complete word.
    const around = [Math.max(0, start - 1), end + 1] as const;
    const isPrefix = isSingle === true && cut.slice(...around) === query.slice(...around);
    const isWeak = PARTICLE.test(term) || SIGN.test(term) || VAGUE_WORDS.has(term) || (isSingle === true && !isPrefix);
    if (!found.has(term)) found.set(term, { term, isPrefix, isWeak, overlapsPrevious });
  }
  if (found.size > 0)
    return {
      terms: [...found.values()],
      isEmpty: [...found.keys()].every((term) => SIGN.test(term) || VAGUE_WORDS.has(term)),
    };
  const all = readTerms(query).filter(({ isSingle }, index) => isSingle !== true || index === 0);
  const terms = [...new Set(all.map(({ term }) => term))];
  return {
    terms: terms.map((term) => ({ term, isPrefix: false, isWeak: true, overlapsPrevious: false })),
    isEmpty: true,
  };
}
