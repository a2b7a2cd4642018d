/**
 * Reads the rating in a model's answer: a score, or the number of the best candidate. Returns the verdict, or its fault
 * as a text for the model. A rating that cannot be read is unknown; nothing is guessed.
 */
import { isJsonObject, type Json } from "../../protocol/index.ts";
import { shorten } from "../../protocol/cut-text.ts";
import { removeThinking } from "../../models/think-tags.ts";
import { findField, isCutOff, listObjectsIn, removeFences } from "../read-json.ts";
import { findLast, NUMBER, readScore, readTruth, TRUTH } from "../read-score.ts";

export type ValueVerdict = { readonly score: number; readonly isSolved: boolean };

export type VoteVerdict = { readonly best: number; readonly isSolved: boolean };

/** Words of prose that the values follow. */
const MARK = String.raw`[\s*_"'\x60]{0,4}(?:[:：=]|\bis\b|为|是)?[\s*_"'\x60]{0,4}`;
const SCORE = new RegExp(String.raw`(?:\bscore|\brating|评分|得分|分数)${MARK}${NUMBER}`, "gi");
const SOLVED = new RegExp(String.raw`(?:\bsolved|已解决|是否解决)${MARK}${TRUTH}`, "gi");
const BEST =
  /(?:\bbest|最佳|最好)(?:\s?(?:candidate|choice|option|候选))?[\s*_"'`]{0,4}(?:[:：=]|\bis\b|是|为)?[\s*_"'`]{0,4}(?:candidate|option|候选)?\s?#?(\d{1,6})\b/gi;
const CHOSEN = /\bcandidate\s?#?(\d{1,6})\**\s(?:is|looks|seems)\s(?:clearly\s)?(?:the\s)?(?:best|most promising)/gi;
const BARE = /^[\s*_`"'(]*(?:candidate\s?#?|score[:\s]{1,3})?([\d.,]{1,9}(?:\s?%|\s?\/\s?\d{1,9})?)[\s*_`"').]*$/i;

const CUT_OFF = "its JSON is incomplete";

export function readValue(said: string): ValueVerdict | string {
  const text = removeThinking(said);
  let fault: string | undefined;
  for (const object of listObjectsIn(text)) {
    const given = findField(object, "score", "rating", "value");
    if (given === undefined) continue;
    const score = readScore(given);
    if (score !== undefined) return { score, isSolved: isSolved(findField(object, "solved", "issolved")) };
    fault ??= `the score ${quote(given)} is not a number from 0 to 1`;
  }
  if (fault !== undefined) return fault;
  if (isCutOff(text)) return CUT_OFF;
  const [whole = ""] = findLast(text, SCORE) ?? [];
  const words = whole.slice(whole.search(/[\d.]/)) || (BARE.exec(removeFences(text))?.[1]?.replace(/\.$/, "") ?? "");
  const score = readScore(words);
  if (score !== undefined) return { score, isSolved: isSolved(findLast(text, SOLVED)?.[1]) };
  return isBlank(text) ? "it is empty" : 'there is no JSON object with "score"';
}

/** `best` is an index from 0; the model counts from 1. */
export function readVote(said: string, count: number): VoteVerdict | string {
  const text = removeThinking(said);
  const check = (given: Json | undefined, solved: Json | undefined): VoteVerdict | string => {
    const best = readCandidate(given);
    if (best === undefined) return `the best candidate ${quote(given)} is not the number of a candidate`;
    if (best < 1 || best > count) return `there is no candidate ${best}, only 1 to ${count}`;
    return { best: best - 1, isSolved: isSolved(solved) };
  };
  let fault: string | undefined;
  for (const object of listObjectsIn(text)) {
    const given = findField(object, "best", "bestcandidate", "candidate", "choice", "winner", "vote");
    if (given === undefined) continue;
    const verdict = check(given, findField(object, "solved", "issolved"));
    if (typeof verdict !== "string") return verdict;
    fault ??= verdict;
  }
  if (fault !== undefined) return fault;
  if (isCutOff(text)) return CUT_OFF;
  const named =
    findLast(text, BEST)?.[1] ?? findLast(text, CHOSEN)?.[1] ?? BARE.exec(removeFences(text))?.[1]?.replace(/\.$/, "");
  if (named !== undefined) return check(named, findLast(text, SOLVED)?.[1]);
  return isBlank(text) ? "it is empty" : 'there is no JSON object with "best"';
}

/** Reads `2`, `"2"`, `"Candidate 2"` and `"#2"`. */
function readCandidate(given: Json | undefined): number | undefined {
  if (typeof given === "number") return Number.isInteger(given) ? given : undefined;
  if (isJsonObject(given)) return readCandidate(findField(given, "number", "candidate", "id", "index"));
  if (typeof given !== "string") return undefined;
  const [, digits] = /^(?:candidate|option|候选)?[\s#_:]{0,3}(\d{1,6})\.?$/i.exec(given.trim()) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

function isSolved(given: Json | undefined): boolean {
  return readTruth(given) === true;
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

const MAX_QUOTE = 60;

function quote(value: Json | undefined): string {
  return shorten(JSON.stringify(value ?? null), MAX_QUOTE);
}
