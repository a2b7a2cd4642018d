/**
 * Sums in words alone, "two plus three" or "三加五", with digits in place of the words. A number that stands by itself, or
 * after digits, is left as it is: there it may be part of anything.
 */

const SMALL =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  );
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const DIGITS = "零一二三四五六七八九";

const WORD = `(?:(?:a|one) hundred|(?:${TENS.join("|")})(?:[- ](?:${SMALL.slice(1, 10).join("|")}))?|${SMALL.toReversed().join("|")})`;
const OPERATION = "(?:plus|minus|times|multiplied by|divided by|over)";
const CHAIN = new RegExp(`\\b${WORD}(?: ${OPERATION} (?:${WORD}|\\d{1,9})){1,20}\\b`, "gi");
const WORDS = new RegExp(`\\b${WORD}\\b`, "gi");
const CHINESE_NUMBER = "[零一二两三四五六七八九十百]{1,7}";
const CHINESE_OPERATION = "(?:加上?|减去?|乘以?|除以)";
const CHINESE_CHAIN = new RegExp(`${CHINESE_NUMBER}(?:${CHINESE_OPERATION}${CHINESE_NUMBER}){1,20}`, "g");

export function writeDigits(text: string): string {
  return text
    .replaceAll(CHAIN, (chain) =>
      / and /i.test(chain) ? chain : chain.replaceAll(WORDS, (word) => `${readWord(word)}`),
    )
    .replaceAll(CHINESE_CHAIN, (chain) =>
      chain.replaceAll(new RegExp(CHINESE_NUMBER, "g"), (word) => ` ${readChinese(word) ?? word} `).trim(),
    );
}

function readWord(word: string): number {
  const [first = "", second] = word.toLowerCase().split(/[- ]/);
  if (second === "hundred") return 100;
  const tens = TENS.indexOf(first);
  if (tens < 0) return SMALL.indexOf(first);
  return (tens + 2) * 10 + (second === undefined ? 0 : SMALL.indexOf(second));
}

/** Up to 999; undefined for what is written otherwise. */
function readChinese(word: string): number | undefined {
  const form = /^(?:([一二两三四五六七八九])百)?零?(?:([一二三四五六七八九])?(十))?([零一二两三四五六七八九])?$/.exec(
    word,
  );
  if (form === null) return undefined;
  const [, hundreds, tens, ten, ones] = form;
  const digit = (sign: string | undefined): number => (sign === "两" ? 2 : Math.max(0, DIGITS.indexOf(sign ?? "零")));
  return 100 * digit(hundreds) + (ten === undefined ? 0 : 10 * (tens === undefined ? 1 : digit(tens))) + digit(ones);
}
