/**
 * Reads the rating in a model's answer: a score, or the number of the best candidate. Returns the verdict, or its fault
 * as a text for the model. A rating that cannot be read is unknown; nothing is guessed.
 */
import type { Json } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { shorten } from "../../protocol/cut-text.ts";
import { removeThinking } from "../../models/think-tags.ts";
import { isBlank } from "../compose-question.ts";
import { findField, isCutOff, listObjectsIn, removeFences } from "../read-json.ts";
import { findLast, NUMBER, readScore, readTruth, scoreIn, TRUTH } from "../read-score.ts";

export type ValueVerdict = { readonly score: number; readonly isSolved: boolean };

export type VoteVerdict = { readonly best: number; readonly isSolved: boolean };

/** Words of prose that the values follow. */
const MARK = String.raw`[\s*_"'\x60]{0,4}(?:[:：=]|\bis\b|\bof\b|为|是)?[\s*_"'\x60]{0,4}`;
/** A line such as "Rating: likely". */
const LABELLED =
  /^(?:(?:overall|final|my) )?(?:score|rating|verdict|judge?ment|judge|evaluation|assessment|likelihood|probability|confidence|overall|评分|打分|得分|分数|评价|判断|可能性|概率)(?:\s?(?:[:：=]|\bis\b|为|是)|\*\*)\s?(.{1,60})$/iu;
/** A line such as "I'd rate this 8/10" or "我给8分". */
const GIVEN =
  /(?:\b(?:rate|give|score)(?: (?:it|this|that|(?:this|the) (?:thought|step|path|candidate)))(?: (?:an?|as|at))?|我(?:会)?(?:给|打)(?:它|出)?|(?:给|打|评)(?:它|出|为))\s?\*{0,2}([^\s*].{0,40}?)(?: because .*|，.*)?$/iu;
const SCORE = new RegExp(String.raw`(?:\bscore|\brating|评分|得分|分数)${MARK}${NUMBER}`, "gi");
const SOLVED = new RegExp(String.raw`(?:\bsolved|已解决|是否解决)${MARK}${TRUTH}`, "gi");
const BEST =
  /(?:\bbest|最佳|最好)(?:\s?(?:candidate|choice|option|候选))?[\s*_"'`]{0,4}(?:[:：=]|\bis\b|是|为)?[\s*_"'`]{0,4}(?:candidate|option|候选)?\s?#?(\d{1,6})\b/gi;
const CHOSEN = /\bcandidate\s?#?(\d{1,6})\**\s(?:is|looks|seems)\s(?:clearly\s)?(?:the\s)?(?:best|most promising)/gi;
/** A line that ends with the chosen candidate, such as "I choose 2" or "Vote: candidate 2". */
const CHOICE =
  /(?:\b(?:vote|votes|choice|choose|pick|select|winner|promising)\b|最有希望|选择|投给)[^\d\n]{0,40}?#?(\d{1,6})[\s*_.。)]*$/gim;
const NAMED = /^[\s*_]*(?:candidate|option|choice|候选|选项|第)?\s?#?(\d{1,6})\s?(?:个)?[\s*_.。]*$/iu;
const BARE = /^[\s*_`"'(]*(?:candidate\s?#?|score[:\s]{1,3})?([\d.,]{1,9}(?:\s?%|\s?\/\s?\d{1,9})?)[\s*_`"').]*$/i;

/** Names of a rating in JSON. */
const SCORE_KEYS = [
  "score",
  "rating",
  "value",
  "verdict",
  "judgement",
  "judgment",
  "evaluation",
  "assessment",
  "likelihood",
  "probability",
  "评分",
  "得分",
  "分数",
  "评价",
] as const;
/** Lines at the end of an answer in which a rating is searched. */
const LAST_LINES = 20;
const MAX_LINE = 200;

const CUT_OFF = "its JSON is incomplete";

export function readValue(said: string): ValueVerdict | string {
  const text = removeThinking(said);
  let fault: string | undefined;
  for (const object of listObjectsIn(text)) {
    const given = scoreIn(object, findField(object, ...SCORE_KEYS));
    if (given === undefined) continue;
    const score = readScore(given);
    if (score !== undefined) return { score, isSolved: isSolved(findField(object, "solved", "issolved")) };
    fault ??= `the score ${quote(given)} is not a number from 0 to 1`;
  }
  if (fault !== undefined) return fault;
  if (isCutOff(text)) return CUT_OFF;
  const stated = readLines(removeFences(text));
  if (stated !== undefined) return { score: stated, isSolved: isSolved(findLast(text, SOLVED)?.[1]) };
  const [whole = ""] = findLast(text, SCORE) ?? [];
  const words = whole.slice(whole.search(/[\d.]/)) || (BARE.exec(removeFences(text))?.[1]?.replace(/\.$/, "") ?? "");
  const score = readScore(words);
  if (score !== undefined) return { score, isSolved: isSolved(findLast(text, SOLVED)?.[1]) };
  return isBlank(text) ? "it is empty" : 'there is no JSON object with "score"';
}

/** Reads the last line that is a rating: one with a label, or a last line of words, stars or points. */
function readLines(text: string): number | undefined {
  const lines = text
    .trim()
    .split(/\r\n?|\n/)
    .slice(-LAST_LINES)
    .toReversed();
  for (const [index, raw] of lines.entries()) {
    if (raw.length > MAX_LINE) continue;
    const line = raw.replaceAll(/^[\s>#*_-]+|[\s*_]+$/g, "");
    const labelled = LABELLED.exec(line)?.[1] ?? GIVEN.exec(line)?.[1];
    const isBare = index === 0 && !/^[\d.,\s]*$/.test(line);
    const score = labelled === undefined ? (isBare ? readScore(line) : undefined) : readScore(labelled);
    if (score !== undefined) return score;
  }
  return undefined;
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
    findLast(text, BEST)?.[1] ??
    findLast(text, CHOSEN)?.[1] ??
    findLast(text, CHOICE)?.[1] ??
    NAMED.exec(removeFences(text).trim())?.[1];
  if (named !== undefined) return check(named, findLast(text, SOLVED)?.[1]);
  return isBlank(text) ? "it is empty" : 'there is no JSON object with "best"';
}

/** Reads `2`, `"2"`, `"Candidate 2"` and `"#2"`. */
function readCandidate(given: Json | undefined): number | undefined {
  if (typeof given === "number") return Number.isInteger(given) ? given : undefined;
  if (isJsonObject(given)) return readCandidate(findField(given, "number", "candidate", "id", "index"));
  if (Array.isArray(given)) return given.length === 1 ? readCandidate(given[0] as Json) : undefined;
  if (typeof given !== "string") return undefined;
  const [, digits] = /^(?:candidate|option|候选)?[\s#_:]{0,3}(\d{1,6})(?:\.|[:：]\s.*)?$/is.exec(given.trim()) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

function isSolved(given: Json | undefined): boolean {
  return readTruth(given) === true;
}

const MAX_QUOTE = 60;

function quote(value: Json | undefined): string {
  return shorten(JSON.stringify(value ?? null), MAX_QUOTE);
}
