/**
 * Answers a question from search results: quotes the best passage with its number. Adds no words to the quotation. Where
 * passages come from is not said: clients show it for the numbers that are cited.
 */
import { isRelevant, orderByLanguage } from "./choose-passage.ts";
import { countHits, listTerms } from "./content-words.ts";
import type { OfflineLanguage } from "./offline-task.ts";
import type { FoundPassage } from "./read-passages.ts";
import { isChinese } from "./request-words.ts";
import { shorten } from "../../protocol/cut-text.ts";

/** Maximum characters quoted from a passage. */
const MAX_QUOTED = 1200;
const MAX_MORE = 3;

const NOTHING_FOUND = {
  en: "The knowledge base has nothing about this.",
  zh: "知识库中没有相关内容。",
};

export function answerFromPassages(
  question: string,
  passages: readonly FoundPassage[],
  language: OfflineLanguage,
): string {
  const ordered = orderByLanguage(passages, language);
  const best = ordered.find((passage) => isRelevant(question, passage));
  if (best !== undefined) {
    const { title, text, ref } = best;
    const opening = language === "zh" ? `来自“${title}”[${ref}]：` : `From “${title}” [${ref}]:`;
    return `${opening}\n\n${pickBlocks(question, text)}${nameOthers(best, passages, language)}`;
  }
  const [nearest] = ordered;
  if (nearest === undefined) return NOTHING_FOUND[language];
  const { title, ref } = nearest;
  return language === "zh"
    ? `知识库中没有很匹配的内容，最接近的是“${title}”[${ref}]。`
    : `The knowledge base has no exact match. The closest is “${title}” [${ref}].`;
}

/** Names other passages that were found, in the language of the answer. */
function nameOthers(used: FoundPassage, passages: readonly FoundPassage[], language: OfflineLanguage): string {
  const others = passages.filter(
    ({ title }, index) => used.title !== title && passages.findIndex((one) => one.title === title) === index,
  );
  const alike = others.filter(({ text }) => isChinese(text) === (language === "zh")).slice(0, MAX_MORE);
  if (alike.length === 0) return "";
  const names = alike.map(({ ref, title }) => `${title} [${ref}]`);
  return language === "zh" ? `\n\n另见：${names.join("，")}。` : `\n\nSee also: ${names.join(", ")}.`;
}

/**
 * Picks the section whose heading contains the words of the question, or all of a short passage. From a long passage it
 * picks the paragraphs with the most words of the question, in their order.
 */
function pickBlocks(question: string, text: string): string {
  const terms = listTerms(question);
  const isAsked = (heading: string): boolean => 2 * countHits(terms, heading) >= Math.max(1, terms.length);
  const section = text
    .split(/^(?=#{2,6} )/m)
    .find((one) => /^##+ .*\n/.test(one) && isAsked(one.split("\n", 1)[0] ?? ""));
  // The title is already in the answer.
  const said = (section ?? text).replace(section === undefined ? /^# .*(?:\n|$)/ : /^.*\n/, "");
  const blocks = said
    // A heading, and a paragraph that ends with a colon, stay with the next paragraph.
    .split(/(?<![:：]|^#{1,6} .*)\n{2,}/m)
    .map((block) => block.trim())
    .filter((block) => block !== "");
  const whole = blocks.length === 0 ? text.replaceAll(/^#{1,6} /gm, "") : blocks.join("\n\n");
  if (whole.length <= MAX_QUOTED) return whole;
  const ranked = blocks
    .map((block, index) => ({ block, index, hits: countHits(terms, block) }))
    .sort((a, b) => b.hits - a.hits || a.index - b.index);
  const picked: typeof ranked = [];
  let used = 0;
  for (const one of ranked) {
    if (picked.length > 0 && (one.hits === 0 || used + one.block.length > MAX_QUOTED)) continue;
    picked.push(one);
    used += one.block.length;
  }
  return picked
    .sort((a, b) => a.index - b.index)
    .map(({ block }) => shorten(block, MAX_QUOTED))
    .join("\n\n");
}
