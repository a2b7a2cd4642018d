/** Parses the rating in a model's answer: a score, or the number of the best candidate. Nothing is guessed. */
import type { JsonObject } from "../../protocol/index.ts";
import { readLastObject } from "../read-json.ts";

export type ValueVerdict = { readonly score: number; readonly isSolved: boolean };

export type VoteVerdict = { readonly best: number; readonly isSolved: boolean };

export function readValue(text: string): ValueVerdict | undefined {
  const found = readLastObject(text);
  const score = readNumber(found, "score");
  if (score === undefined || !(score >= 0 && score <= 1)) return undefined;
  return { score, isSolved: readTruth(found, "solved") };
}

/** `best` is an index from 0; the model counts from 1. */
export function readVote(text: string, count: number): VoteVerdict | undefined {
  const found = readLastObject(text);
  const best = readNumber(found, "best");
  if (best === undefined || !Number.isInteger(best) || best < 1 || best > count) return undefined;
  return { best: best - 1, isSolved: readTruth(found, "solved") };
}

/** Some models write booleans as strings. */
function readTruth(object: JsonObject | undefined, name: string): boolean {
  const value = object?.[name];
  return value === true || (typeof value === "string" && value.trim().toLowerCase() === "true");
}

/** Some models write numbers as strings. */
function readNumber(object: JsonObject | undefined, name: string): number | undefined {
  const value = object?.[name];
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\d+(?:\.\d+)?$/u.test(value.trim()) ? Number(value) : undefined;
}
