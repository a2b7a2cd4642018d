/**
 * An answer from passages that were found: the words of the best one as they stand, with its number, and where they are
 * from. Nothing is added to them: this model knows nothing itself.
 */
import { isFitting, orderByLanguage } from "./choose-passage.ts";
import { countHits, listTerms } from "./content-words.ts";
import type { Language } from "./errand.ts";
import type { FoundPassage } from "./read-passages.ts";
import { isChinese } from "./request-words.ts";

/** Characters of a passage that are said at most. */
const MAX_SAID = 1200;
const MAX_MORE = 3;

const NONE = {
  en: "I searched the knowledge base and found nothing about this.",
  zh: "我搜索了知识库，没有找到相关内容。",
};

export function answerFromPassages(question: string, passages: readonly FoundPassage[], language: Language): string {
  const ordered = orderByLanguage(passages, language);
  const best = ordered.find((passage) => isFitting(question, passage));
  if (best !== undefined) {
    const { title, text, ref } = best;
    const opening =
      language === "zh" ? `知识库中的“${title}”写道 [${ref}]：` : `The knowledge base says in “${title}” [${ref}]:`;
    return `${opening}\n\n${pickBlocks(question, text)}\n\n${listSources([best], passages, language)}`;
  }
  const [nearest] = ordered;
  if (nearest === undefined) return NONE[language];
  const { title, ref } = nearest;
  const said =
    language === "zh"
      ? `知识库里没有很符合这个问题的内容，最接近的是“${title}”[${ref}]。`
      : `Nothing in the knowledge base fits this well; the nearest is “${title}” [${ref}].`;
  return `${said}\n\n${listSources([nearest], [], language)}`;
}

/** Where the words are from, and what else was found. */
export function listSources(
  used: readonly FoundPassage[],
  passages: readonly FoundPassage[],
  language: Language,
): string {
  const lines = used.map((one) => `[${one.ref}] ${one.title}${sayWhere(one, language)}`);
  const others = passages.filter(
    ({ title }, index) =>
      used.every((one) => one.title !== title) && passages.findIndex((one) => one.title === title) === index,
  );
  const alike = others.filter(({ text }) => isChinese(text) === (language === "zh")).slice(0, MAX_MORE);
  const more = alike.map(({ ref, title }) => `[${ref}] ${title}`);
  if (language === "zh")
    return `来源：\n${lines.join("\n")}\n${more.length === 0 ? "" : `另见：${more.join("，")}。\n`}`;
  return `Sources:\n${lines.join("\n")}\n${more.length === 0 ? "" : `See also: ${more.join(", ")}.\n`}`;
}

function sayWhere({ where }: FoundPassage, language: Language): string {
  if (where === "") return "";
  if (language === "en") return ` (${where})`;
  const lines = /, lines? (\d+)(?: to (\d+))?$/;
  return `（${where.replace(lines, (_, first: string, last?: string) => `，第 ${first}${last === undefined || last === first ? "" : `–${last}`} 行`)}）`;
}

/**
 * The section whose heading has the question's words, or all of a short passage; of a long one the parts that have most
 * of the words, in their order.
 */
function pickBlocks(question: string, text: string): string {
  const terms = listTerms(question);
  const isAsked = (heading: string): boolean => 2 * countHits(terms, heading) >= Math.max(1, terms.length);
  const section = text
    .split(/^(?=#{2,6} )/m)
    .find((one) => /^##+ .*\n/.test(one) && isAsked(one.split("\n", 1)[0] ?? ""));
  // The title has been said.
  const said = (section ?? text).replace(section === undefined ? /^# .*(?:\n|$)/ : /^.*\n/, "");
  const blocks = said
    // What ends with a colon belongs to what follows, and so does a heading.
    .split(/(?<![:：]|^#{1,6} .*)\n{2,}/m)
    .map((block) => block.trim())
    .filter((block) => block !== "");
  const whole = blocks.length === 0 ? text.replaceAll(/^#{1,6} /gm, "") : blocks.join("\n\n");
  if (whole.length <= MAX_SAID) return whole;
  const ranked = blocks
    .map((block, index) => ({ block, index, hits: countHits(terms, block) }))
    .sort((a, b) => b.hits - a.hits || a.index - b.index);
  const picked: typeof ranked = [];
  let used = 0;
  for (const one of ranked) {
    if (picked.length > 0 && (one.hits === 0 || used + one.block.length > MAX_SAID)) continue;
    picked.push(one);
    used += one.block.length;
  }
  return picked
    .sort((a, b) => a.index - b.index)
    .map(({ block }) => cut(block, MAX_SAID))
    .join("\n\n");
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
