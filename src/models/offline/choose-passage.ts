/**
 * Which of the passages a search gave is spoken of. The search has put them into order, and its score says how much of
 * the question a passage holds; nothing is ranked again here.
 */
import { countHits, listTerms } from "./content-words.ts";
import type { Language } from "./errand.ts";
import type { FoundPassage } from "./read-passages.ts";
import { isChinese } from "./request-words.ts";

/** Below this a passage has some of the question's words and may be about anything. */
const FITTING_SCORE = 0.45;
/** The same where a search says no score: the share of the question's words. */
const FITTING_SHARE = 0.5;

export function isFitting(question: string, { title, text, score }: FoundPassage): boolean {
  if (score !== undefined) return score >= FITTING_SCORE;
  const terms = listTerms(question.replaceAll(DOCUMENTS, " "));
  return terms.length > 0 && countHits(terms, `${title}\n${text}`) / terms.length >= FITTING_SHARE;
}

/** "The deployment docs": what is about it need not call itself so. */
const DOCUMENTS =
  /\b(?:docs?|documents?|documentation|handbook|manuals?|guides?|pages?|notes)\b|文档|手册|指南|资料|教程/gi;

/** Those in the question's language first. */
export function orderByLanguage(passages: readonly FoundPassage[], language: Language): readonly FoundPassage[] {
  const isAlike = ({ text }: FoundPassage): boolean => isChinese(text) === (language === "zh");
  return [...passages.filter(isAlike), ...passages.filter((one) => !isAlike(one))];
}
