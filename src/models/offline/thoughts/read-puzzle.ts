/**
 * Finds a Game of 24 in a question: numbers that are to be made into another one. In both languages; only where the words
 * around the numbers say so. It solves nothing.
 */
import { createFraction, type Fraction } from "./fraction.ts";

export interface Puzzle {
  readonly numbers: readonly Fraction[];
  readonly target: Fraction;
}

/** A puzzle stands in few words. */
const READ_CHARACTERS = 2000;

const NUMBER = String.raw`(?<![\d.])\d{1,4}(?![\d.]\d|\d)`;
const BETWEEN = String.raw`\s{0,3}(?:,|、|;|and|和|与|跟|\s)\s{0,3}(?:and\s{1,3})?`;
const NUMBERS = String.raw`(?<numbers>${NUMBER}(?:${BETWEEN}${NUMBER}){1,7})`;
const TARGET = String.raw`(?<target>${NUMBER})`;
const WORDS = String.raw`[^\d\n]{0,40}?`;
const LINES = String.raw`[^\d]{0,40}?`;

const WAYS: readonly RegExp[] = [
  // Game of 24: 4 9 10 13
  String.raw`\bgame of ${TARGET}${LINES}${NUMBERS}`,
  // 24 game with 4, 9, 10 and 13
  String.raw`${TARGET}[ -]?(?:points? )?(?:game|puzzle)\b${LINES}${NUMBERS}`,
  // make 24 from 4, 9, 10 and 13
  String.raw`\b(?:make|get|reach|form|build|obtain|solve|produce)\s{1,3}${TARGET}\s{1,3}(?:from|with|using|by using|out of|of|by)\b${WORDS}${NUMBERS}`,
  // use 4 9 10 13 to make 24; the numbers come first
  String.raw`${NUMBERS}${WORDS}\b(?:make|get|reach|form|build|obtain|equals?|gives?|produce)\s{1,3}${TARGET}`,
  String.raw`${NUMBERS}\s{0,3}(?:=|->|=>|→)\s{0,3}${TARGET}`,
  // 24点：4 9 10 13
  String.raw`${TARGET}\s{0,3}点${LINES}${NUMBERS}`,
  // 用 4 7 8 8 算 24 点
  String.raw`${NUMBERS}${WORDS}(?:算|得|凑|等于|变成|组成|做成|到)${WORDS}${TARGET}`,
  // 算出 24，用 4 7 8 8
  String.raw`(?:算|得|凑|组成)(?:出|到|成)?\s{0,3}${TARGET}${WORDS}用${WORDS}${NUMBERS}`,
].map((way) => new RegExp(way, "iu"));

const MIN_NUMBERS = 2;
const MAX_NUMBERS = 6;

export function readPuzzle(question: string): Puzzle | undefined {
  const text = question.slice(0, READ_CHARACTERS).normalize("NFKC").replaceAll("二十四点", "24点");
  for (const way of WAYS) {
    const { numbers: listed = "", target: aim = "" } = way.exec(text)?.groups ?? {};
    const target = createFraction(Number(aim));
    const numbers = (listed.match(/\d+/g) ?? []).flatMap((number) => createFraction(Number(number)) ?? []);
    if (target === undefined || numbers.length < MIN_NUMBERS || numbers.length > MAX_NUMBERS) continue;
    // "10点 20 30" is a time of day.
    if (numbers.length < 3 && !/game|puzzle|make|get|reach|use|算|凑|用/i.test(text)) continue;
    return { numbers, target };
  }
  return undefined;
}
