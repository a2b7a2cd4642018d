/** Reads scores and yes-or-no values as models write them: `0.7`, `"7/10"`, `70%`, `True`, `yes`. */
import { isJsonObject, type Json } from "../protocol/index.ts";
import { findField } from "./read-json.ts";

/** A number, its scale if it names one, and no range such as `0.0 to 1.0`. */
export const NUMBER = String.raw`(\d{1,9}(?:[.,]\d{1,9})?|\.\d{1,9})(?:\s{0,3}(%)|\s{0,3}(?:\/|out of)\s{0,3}(\d{1,9}))?(?![\d%]|[.,]\d)(?!\s{0,3}(?:to|-|–)\s{0,3}\d)`;

const WHOLE_NUMBER = new RegExp(`^${NUMBER}$`, "i");

/**
 * Reads scores that one answer gives on one scale, as numbers from 0 to 1. Plain numbers above 1 are out of 10, and above
 * 10 out of 100. Undefined for a score that cannot be read.
 */
export function readScores(given: readonly (Json | undefined)[]): readonly (number | undefined)[] {
  const read = given.map(readNumber);
  const highest = Math.max(0, ...read.map((one) => (one === undefined || one.isScaled ? 0 : one.value)));
  const scale = highest <= 1 ? 1 : highest <= 10 ? 10 : 100;
  return read.map((one) => {
    const score = one === undefined ? Number.NaN : one.value / (one.isScaled ? 1 : scale);
    return score >= 0 && score <= 1 ? score : undefined;
  });
}

export function readScore(given: Json | undefined): number | undefined {
  return readScores([given])[0];
}

/** Returns the value; `isScaled` if it named its scale and is already from 0 to 1. */
function readNumber(given: Json | undefined): { readonly value: number; readonly isScaled: boolean } | undefined {
  if (typeof given === "number") return { value: given, isScaled: false };
  if (isJsonObject(given)) return readNumber(findField(given, "score", "value", "rating"));
  if (typeof given !== "string") return undefined;
  const [, digits, percent, total] = WHOLE_NUMBER.exec(given.trim()) ?? [];
  if (digits === undefined) return undefined;
  const value = Number(digits.replace(",", "."));
  if (percent !== undefined) return { value: value / 100, isScaled: true };
  return total === undefined ? { value, isScaled: false } : { value: value / Number(total), isScaled: true };
}

const TRUE: ReadonlySet<string> = new Set(["true", "yes", "y", "1", "是", "对"]);
const FALSE: ReadonlySet<string> = new Set(["false", "no", "n", "0", "not", "否", "不是", "未", "不"]);

/** Words that `readTruth` knows, for patterns. */
export const TRUTH = String.raw`(true|false|yes|no|not|是|否|不是|未)(?!\s{0,3}or\b)`;

export function readTruth(given: Json | undefined): boolean | undefined {
  if (typeof given === "boolean") return given;
  if (given === 0 || given === 1) return given === 1;
  if (typeof given !== "string") return undefined;
  const word = given
    .trim()
    .toLowerCase()
    .replace(/[.!。]$/, "");
  return TRUE.has(word) ? true : FALSE.has(word) ? false : undefined;
}

/** Returns the last match of a pattern, which must be global. */
export function findLast(text: string, pattern: RegExp): RegExpExecArray | undefined {
  let found: RegExpExecArray | undefined;
  for (const match of text.matchAll(pattern)) found = match;
  return found;
}
