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
}

/** Terms of a question at most: more say no more about what is looked for. */
const MAX_QUERY_TERMS = 64;

const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a about all also am an and any are as at be been being but by can could did do does doing for from get give had has " +
    "have how i if in into is it its just like may me more most my need no not of on one or our please s so some such t tell " +
    "than that the their them then there these they this those to up us use want was we were what when where which who why " +
    "will with would you your"
  )
    .split(" ")
    .map((word) => stemWord(word)),
);
/** What asks, and not what is asked about. They are cut out before pairs are made, so that none reaches over them. */
const STOP_PHRASES =
  /为什么|是什么|什么是|什么|怎么样|怎么|怎样|如何|哪些|哪个|哪里|请问|请|有没有|能不能|可不可以|可以|一下|我们|你们|他们|我|你|这个|那个|一个|需要|想要|告诉|介绍|吗|呢|吧|啊/g;
const FUNCTION_CHARACTER = /[的了着们]/;

/** In the order of the question, each once. */
export function readQueryTerms(query: string): readonly QueryTerm[] {
  const cut = readTerms(query.replaceAll(STOP_PHRASES, " "));
  const kept = cut.filter(({ term }) => !STOP_WORDS.has(term) && !FUNCTION_CHARACTER.test(term));
  const all = kept.length > 0 ? kept : cut.length > 0 ? cut : readTerms(query);
  const found = new Map<string, QueryTerm>();
  let before = -1;
  for (const { term, start, end, isSingle } of all) {
    if (found.size >= MAX_QUERY_TERMS) break;
    // The last character of a run is in the pair before it.
    const isInPair = isSingle === true && before === end;
    before = end;
    if (!isInPair && !found.has(term)) found.set(term, { term, isPrefix: isSingle === true && start < end });
  }
  return [...found.values()];
}
