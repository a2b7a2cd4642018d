/**
 * Converts calculations in words, such as "two plus three" or "三加五", to digits. A number on its own, or after digits,
 * is left unchanged. If one number of a calculation is not understood, the whole calculation is left unchanged.
 */

const SMALL =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  );
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const DIGITS = "零一二三四五六七八九";

const WORD = `(?:${[...SMALL, ...TENS].toReversed().join("|")}|hundred|thousand|a(?= (?:hundred|thousand)))`;
const WORDS = `\\b${WORD}\\b(?:(?:[- ]|(?<=hundred|thousand),? and |(?<=thousand), )${WORD}\\b){0,9}`;
/** A word that is part of a number, including numbers that are not supported here. */
export const NUMBER_WORD = `(?:${[...SMALL, ...TENS].join("|")}|hundred|thousand|million|billion|dozen|point|half|quarter|third)`;
const OPERATION =
  "(?:,? (?:and then|then|and))? (?:plus|minus|times|multipl(?:ied|y) by|divided? by|over|add|subtract) ";
const CHAIN = new RegExp(`${WORDS}(?:${OPERATION}(?:${WORDS}|\\d{1,9}\\b)){1,20}`, "gi");
const NUMBERS = new RegExp(WORDS, "gi");
const CHINESE_NUMBER = "[零一二两三四五六七八九十百]{1,7}";
const CHINESE_OPERATION = "[，,]?(?:然后再|然后|再|并)?(?:加上?|减去?|乘以?|除以)";
const CHINESE_CHAIN = new RegExp(`${CHINESE_NUMBER}(?:${CHINESE_OPERATION}${CHINESE_NUMBER}){1,20}`, "g");
const CHINESE_NUMBERS = new RegExp(CHINESE_NUMBER, "g");

/** Most messages contain no calculation in words, and the expressions below take long to compile. */
const HAS_OPERATION = /\b(?:plus|minus|times|multipl(?:ied|y)|divided?|over|add|subtract)\b|[加减乘除]/i;

export function writeDigits(text: string): string {
  if (!HAS_OPERATION.test(text)) return text;
  return text
    .replaceAll(CHAIN, (chain) => replaceNumbers(chain, NUMBERS, readWords))
    .replaceAll(CHINESE_CHAIN, (chain) => replaceNumbers(chain, CHINESE_NUMBERS, readChinese, " ").trim());
}

function replaceNumbers(
  chain: string,
  numbers: RegExp,
  read: (words: string) => number | undefined,
  around = "",
): string {
  let areRead = true;
  const digits = chain.replaceAll(numbers, (words) => {
    const number = read(words);
    areRead &&= number !== undefined;
    return `${around}${number ?? words}${around}`;
  });
  return areRead ? digits : chain;
}

const BELOW_100 = "(?:To?|[os])";
const BELOW_1000 = `(?:[ao]h${BELOW_100}?|${BELOW_100})`;
/** Valid orders of number words: tens, ones, small numbers, hundreds and thousands. */
const FORM = new RegExp(`^(?:(?:a|${BELOW_1000})t${BELOW_1000}?|${BELOW_1000})$`);

/** Reads up to 999,999. Returns undefined for an invalid order, such as "twenty eleven". */
function readWords(words: string): number | undefined {
  let thousands = 0;
  let sum = 0;
  let form = "";
  for (const word of words.toLowerCase().split(/[-, ]+/)) {
    const [small, tens] = [SMALL.indexOf(word), TENS.indexOf(word)];
    if (word === "and") continue;
    if (word === "thousand") [thousands, sum] = [sum * 1000, 0];
    else if (word === "hundred") sum *= 100;
    else sum += word === "a" ? 1 : tens < 0 ? small : (tens + 2) * 10;
    form += tens >= 0 ? "T" : small < 0 ? word.charAt(0) : small > 0 && small < 10 ? "o" : "s";
  }
  return FORM.test(form) ? thousands + sum : undefined;
}

/** Reads up to 999; undefined for other notations. "一百五" is 150; 105 is "一百零五". */
function readChinese(word: string): number | undefined {
  const form = /^(?:([一二两三四五六七八九])百)?(零)?(?:([一二三四五六七八九])?(十))?([零一二两三四五六七八九])?$/.exec(
    word,
  );
  if (form === null) return undefined;
  const [, hundreds, zero, tens, ten, ones] = form;
  const digit = (sign: string | undefined): number => (sign === "两" ? 2 : Math.max(0, DIGITS.indexOf(sign ?? "零")));
  const isShort = hundreds !== undefined && zero === undefined && ten === undefined;
  const more = ten === undefined ? 0 : 10 * (tens === undefined ? 1 : digit(tens));
  return 100 * digit(hundreds) + more + digit(ones) * (isShort ? 10 : 1);
}
