/**
 * Chooses the passage to answer from. The search has already ranked the passages; its score says how well a passage
 * matches the question.
 */
import { countHits, listTerms } from "./content-words.ts";
import type { OfflineLanguage } from "./offline-task.ts";
import type { FoundPassage } from "./read-passages.ts";
import { isChinese } from "./request-words.ts";

/** Passages below this score share some words with the question but may be about anything. */
const MIN_SCORE = 0.45;
/** The same for searches without a score: the share of the question's words. */
const MIN_SHARE = 0.5;

export function isRelevant(question: string, { title, text, score }: FoundPassage): boolean {
  if (score !== undefined) return score >= MIN_SCORE;
  const terms = listTerms(question.replaceAll(DOCUMENTS, " "));
  return terms.length > 0 && countHits(terms, `${title}\n${text}`) / terms.length >= MIN_SHARE;
}

/** "The deployment docs": the passage itself need not contain the word "docs". */
const DOCUMENTS =
  /\b(?:docs?|documents?|documentation|handbook|manuals?|guides?|pages?|notes)\b|文档|手册|指南|资料|教程/gi;

/** Moves passages in the language of the question to the front. */
export function orderByLanguage(passages: readonly FoundPassage[], language: OfflineLanguage): readonly FoundPassage[] {
  const isAlike = ({ text }: FoundPassage): boolean => isChinese(text) === (language === "zh");
  return [...passages.filter(isAlike), ...passages.filter((one) => !isAlike(one))];
}
