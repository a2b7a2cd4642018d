/**
 * Reads a list of numbers: digits, cards, and small numbers in words. It includes anything that looks like a number, so
 * that an unreadable one is noticed instead of skipped.
 */
import { createFraction, type Fraction } from "./fraction.ts";

export interface NumberList {
  /** Undefined if one of them is negative, a fraction, too large or unreadable. */
  readonly numbers: readonly Fraction[] | undefined;
  /** How many there are, readable or not. */
  readonly count: number;
  readonly end: number;
}

const MAX_ITEMS = 100;
const ITEM = /[-−]?\d+(?:[./:]\d+)*[a-z%°]*|[a-z]+(?![\w'’])|[零一二两三四五六七八九十]{1,3}/iuy;
const BETWEEN = /\s{0,3}(?:[,;、&+]|(?:and\b|和|与|跟|及))?\s{0,3}(?:and\b\s{0,3})?/iuy;

const WORDS =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split(
    " ",
  );
const SIGNS = "零一二三四五六七八九十";
const CARDS: Readonly<Record<string, number>> = { A: 1, J: 11, Q: 12, K: 13, j: 11, q: 12, k: 13, 两: 2 };

/** Whether the text contains a number. */
export function hasNumber(text: string): boolean {
  return (
    /\d/.test(text) ||
    (text.match(/[a-z]+|[零一二两三四五六七八九十]{1,3}/gi) ?? []).some((word) => readItem(word) !== undefined)
  );
}

export function readNumberList(text: string, from: number): NumberList {
  const values: (number | undefined)[] = [];
  let end = from;
  for (let at = from; values.length < MAX_ITEMS;) {
    ITEM.lastIndex = at;
    const [item] = ITEM.exec(text) ?? [];
    if (item === undefined) break;
    const value = readItem(item);
    // A word that is not a number ends the list. Digits in any form, and "a", which may be an ace, belong to it.
    if (value === undefined && !/\d|^a$/.test(item)) break;
    values.push(value);
    end = at + item.length;
    BETWEEN.lastIndex = end;
    BETWEEN.test(text);
    at = BETWEEN.lastIndex;
  }
  const numbers = values.flatMap((value) => (value === undefined ? [] : (createFraction(value) ?? [])));
  return { numbers: numbers.length === values.length ? numbers : undefined, count: values.length, end };
}

function readItem(item: string): number | undefined {
  if (/^\d{1,4}$/.test(item)) return Number(item);
  const word = WORDS.indexOf(item.toLowerCase());
  if (word >= 0) return word;
  const [, ten = "", one = ""] = /^(十?)([零一二三四五六七八九]?)$/.exec(item) ?? [];
  if (ten !== "") return 10 + Math.max(0, SIGNS.indexOf(one === "" ? "零" : one));
  return one !== "" ? SIGNS.indexOf(one) : CARDS[item];
}
