/**
 * Reads scores and yes-or-no values as models write them: `0.7`, `"7/10"`, `70%`, `likely`, `★★★★☆`, `8分（满分10分）`,
 * `True`, `yes`.
 */
import type { Json, JsonObject } from "../protocol/index.ts";
import { isJsonObject } from "../protocol/json.ts";
import { findField } from "./read-json.ts";

/** A number, its scale if it names one, and no range such as `0.0 to 1.0`. */
export const NUMBER = String.raw`(\d{1,9}(?:[.,]\d{1,9})?|\.\d{1,9})(?:\s{0,3}(%)|\s{0,3}(?:\/|out of)\s{0,3}(\d{1,9}))?(?![\d%]|[.,]\d)(?!\s{0,3}(?:to|-|–)\s{0,3}\d)`;

const WHOLE_NUMBER = new RegExp(`^${NUMBER}$`, "i");

/** The words of the ToT paper (sure, likely, impossible) and others between them. */
const WORDS: readonly (readonly [score: number, words: RegExp])[] = [
  [1, /^(?:sure|certain|definitely|肯定|一定|必然|确定)$/],
  [0.85, /^(?:almost certain|(?:very|highly) likely|很可能|极有可能)$/],
  [0.7, /^(?:likely|probable|probably|可能|有可能|比较可能)$/],
  [0.4, /^(?:maybe|perhaps|possibl[ey]|uncertain|unsure|not sure|也许|或许|不确定)$/],
  [0.1, /^(?:unlikely|improbable|not likely|不太可能)$/],
  [0, /^(?:impossible|不可能)$/],
];

/** Stars are out of 5 unless empty ones or a number say otherwise. */
const DEFAULT_STARS = 5;
const STARS = /^([★⭐🌟]{1,10})([☆✩]{0,10})$/u;
const COUNTED_STARS =
  /^(\d{1,3}(?:\.\d{1,3})?) ?(?:(?:\/|out of) ?(\d{1,3}) ?)?(?:stars?|颗?星|★|⭐)(?: out of (\d{1,3}))?$/u;
const POINTS = /^(\d{1,3}(?:\.\d{1,3})?) ?(?:分|points?)$/;
const POINTS_OF =
  /^(\d{1,3}(?:\.\d{1,3})?) ?(?:分|points?)?[ ,、]?[([]? ?(?:满分|总分|out of|of|\/)[为是:]? ?(\d{1,3}) ?(?:分|points?)?[)\]]?$/;
const OF_POINTS =
  /^[([]?(?:满分|总分)[为是:]? ?(\d{1,3}) ?分?[)\]]?[ ,:、]?[得评]?[分为是:]? ?(\d{1,3}(?:\.\d{1,3})?) ?分?$/;

/**
 * Reads scores that one answer gives on one scale, as numbers from 0 to 1. Plain numbers above 1 are out of 10, and above
 * 10 out of 100. Undefined for a score that cannot be read.
 */
export function readScores(given: readonly (Json | undefined)[]): readonly (number | undefined)[] {
  const read = given.map(readNumber);
  const highest = Math.max(0, ...read.map((one) => (one === undefined || one.isScaled ? 0 : one.value)));
  const hasPoints = read.some((one) => one?.isPoints);
  const scale = highest <= 1 && !hasPoints ? 1 : highest <= 10 ? 10 : 100;
  return read.map((one) => {
    const score = one === undefined ? Number.NaN : one.value / (one.isScaled ? 1 : scale);
    return score >= 0 && score <= 1 ? score : undefined;
  });
}

export function readScore(given: Json | undefined): number | undefined {
  return readScores([given])[0];
}

interface ReadNumber {
  readonly value: number;
  /** True if it named its scale and is already from 0 to 1. */
  readonly isScaled: boolean;
  /** True for whole points, of which one is not all. */
  readonly isPoints?: boolean;
}

function readNumber(given: Json | undefined): ReadNumber | undefined {
  if (typeof given === "number") return { value: given, isScaled: false };
  if (isJsonObject(given)) return readNumber(scoreIn(given, findField(given, "score", "value", "rating")));
  if (typeof given !== "string" || given.length > MAX_SCORE_LENGTH) return undefined;
  const text = plainScore(given);
  const [, digits, percent, total] = WHOLE_NUMBER.exec(text) ?? [];
  if (digits === undefined) return readWords(text);
  const value = Number(digits.replace(",", "."));
  if (percent !== undefined) return { value: value / 100, isScaled: true };
  return total === undefined ? { value, isScaled: false } : scaleTo(value, total);
}

/** A number and its scale, if the object names one, such as `{"score": 4, "out_of": 5}`. */
export function scoreIn(object: JsonObject, given: Json | undefined): Json | undefined {
  if (typeof given !== "number") return given;
  const scale = findField(object, ...SCALES);
  return typeof scale === "number" && scale > 0 ? `${given}/${scale}` : given;
}

const SCALES = ["max", "maxscore", "maximum", "outof", "scale", "total", "满分", "总分"] as const;

const MAX_SCORE_LENGTH = 60;

/** Spells full-width signs as ASCII, and removes marks around the score. */
function plainScore(given: string): string {
  return (
    given
      .normalize("NFKC")
      .toLowerCase()
      .replaceAll("\uFE0F", "")
      .replaceAll(/^[\s*_"'`~≈]+|[\s*_"'`.!。]+$/g, "")
      // "★★★☆☆ (3/5)"
      .replace(/^([★⭐🌟☆✩]{1,20}) ?\(.*\)$/u, "$1")
      .replace(/^(?:about|around|approximately|roughly|大约|大概|约) ?/, "")
      .replace(/^百分之 ?(\d{1,3}(?:\.\d{1,9})?)$/, "$1%")
      .replace(/^(\d{1,3}(?:\.\d{1,9})?) ?(?:percent|per cent)$/, "$1%")
  );
}

function readWords(text: string): ReadNumber | undefined {
  const plain = text.replaceAll(/[\s_-]+/g, " ");
  const word = WORDS.find(([, words]) => words.test(plain));
  if (word !== undefined) return { value: word[0], isScaled: true };
  const [, full, empty = ""] = STARS.exec(plain) ?? [];
  if (full !== undefined) {
    const [count, left] = [Array.from(full).length, Array.from(empty).length];
    return scaleTo(count, left > 0 ? count + left : DEFAULT_STARS);
  }
  const [, stars, outOf, total] = COUNTED_STARS.exec(plain) ?? [];
  if (stars !== undefined) return scaleTo(stars, outOf ?? total ?? DEFAULT_STARS);
  const [, points] = POINTS.exec(plain) ?? [];
  if (points !== undefined) return { value: Number(points), isScaled: false, isPoints: Number(points) >= 1 };
  const [, given, most] = POINTS_OF.exec(plain) ?? [];
  if (given !== undefined) return scaleTo(given, most);
  const [, whole, got] = OF_POINTS.exec(plain) ?? [];
  return whole === undefined ? undefined : scaleTo(got, whole);
}

function scaleTo(value: string | number | undefined, total: string | number | undefined): ReadNumber {
  return { value: Number(value) / Number(total), isScaled: true };
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
