import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arithmetic } from "./arithmetic.ts";
import { callsOf } from "../../../test/contracts/ask-offline.ts";
import { writeDigits } from "./number-words.ts";

describe("an expression", () => {
  it.each<[string, string]>([
    ["what is two hundred and five minus five", "205-5"],
    ["one thousand and five minus five", "1005-5"],
    ["3 times the sum of 2 and 4", "3*(2+4)"],
    ["10 minus the product of 2 and 3", "10-(2*3)"],
    ["square root of (16 + 9)", "sqrt(16+9)"],
    ["3 times the square root of 16", "3*sqrt(16)"],
    ["divide 10 by 2 and add 3", "(10/2)+3"],
    ["subtract 5 from 20 and multiply by 2", "(20-5)*2"],
    ["multiply 3 by 4 and subtract 2", "(3*4)-2"],
    ["five plus five, then minus three", "(5+5)-3"],
    ["五加五，再减三等于多少", "(5+5)-3"],
    ["一百五减三十", "150-30"],
    ["二百五加一", "250+1"],
    ["一百零五加一", "105+1"],
    ["3加4的和是多少", "3+4"],
    ["I don't know what is 2+2", "2+2"],
  ])("is read completely: %s", (text, expression) => {
    expect(callsOf(text)).toEqual([`calculator ${expression}`]);
  });

  it.each([
    // There is more than is understood.
    "two million and five minus five",
    "twenty eleven plus five",
    "multiply 3 by 4 and double it",
    "what is 8/2, then minus two",
    "how much is 3 + 4 and a half",
    "how much is 3 + 4 and 5",
    "sum of 1 to 10",
    "1.000,5 + 1",
    "sum of 2 and 3 squared",
    "sum of 2 and 3 times 4",
    "add 2 and 3 to 4",
    "what is the difference between 10 and 2+3?",
    "10 minus the value of 3+4",
    "3加4的和乘2",
    "3+4和5的积",
    "五加五，减三",
    "一二三加四",
    "0x10 + 1",
    // It is not requested.
    "Don't calculate 2+2",
    "Never compute 3*4 for me",
    "请不要计算 1+1",
    "别算 1+1",
  ])("is not read in part: %s", (text) => {
    expect(callsOf(text)).toEqual([]);
  });

  it("may be one of several", () => {
    expect(callsOf("What is 17 * 23? And 18 * 24?")).toEqual(["calculator 17*23", "calculator 18*24"]);
    expect(callsOf("分别计算 2+2 和 3*3")).toEqual(["calculator 2+2", "calculator 3*3"]);
    expect(callsOf("what is five plus six and seven plus eight?")).toEqual(["calculator 5+6", "calculator 7+8"]);
  });

  it("with angles names their unit", () => {
    const tell = (text: string): string | undefined => arithmetic.find(text, [])[0]?.describeResult("1").en;
    expect(tell("sin(90)")).toBe("sin(90) = 1 (angles in radians).");
    expect(tell("sqrt(1)")).toBe("sqrt(1) = 1.");
  });
});

const SMALL =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  );
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");

function spell(number: number, and: string): string {
  if (number < 20) return SMALL[number] ?? "";
  const [unit, word] = number < 100 ? [10, ""] : number < 1000 ? [100, " hundred"] : [1000, " thousand"];
  const rest = number % unit;
  if (unit === 10) return `${TENS[Math.floor(number / 10) - 2] ?? ""}${rest === 0 ? "" : `-${spell(rest, and)}`}`;
  return `${spell(Math.floor(number / unit), and)}${word}${rest === 0 ? "" : `${and}${spell(rest, and)}`}`;
}

function spellChinese(number: number): string {
  const digits = "零一二三四五六七八九";
  const [hundreds, tens, ones] = [Math.floor(number / 100), Math.floor(number / 10) % 10, number % 10];
  const last = ones === 0 ? "" : (digits[ones] ?? "");
  if (hundreds === 0) return tens === 0 ? (digits[ones] ?? "") : `${tens === 1 ? "" : (digits[tens] ?? "")}十${last}`;
  return `${digits[hundreds] ?? ""}百${tens === 0 ? (ones === 0 ? "" : "零") : `${digits[tens] ?? ""}十`}${last}`;
}

describe("a number in words", () => {
  it("is converted in English and Chinese", () => {
    const below = (max: number): fc.Arbitrary<number> => fc.nat({ max });
    fc.assert(
      fc.property(below(999_999), below(999), fc.constantFrom(" ", " and "), (one, other, and) => {
        expect(writeDigits(`${spell(one, and)} minus ${spell(other, and)}`)).toBe(`${one} minus ${other}`);
        const chinese = `${spellChinese(one % 1000)}减${spellChinese(other)}`;
        expect(writeDigits(chinese).replaceAll(" ", "")).toBe(`${one % 1000}减${other}`);
      }),
    );
  });
});
