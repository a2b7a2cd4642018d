/**
 * An answer from passages that were found: the words of the best one as they stand, with its number, and where they are
 * from. Nothing is added to them: this model knows nothing itself.
 */
import type { Language } from "./errand.ts";
import type { FoundPassage } from "./read-passages.ts";
import { isChinese } from "./request-words.ts";

/** Characters of a passage that are said at most. */
const MAX_SAID = 1200;
const MAX_ITEMS = 20;
const MAX_ITEM = 200;
const MAX_MORE = 3;
/** Below this share of the question's words, what was found may be about something else. */
const FITTING = 1 / 3;

const NONE = {
  en: "I searched the knowledge base and found nothing about this.",
  zh: "我搜索了知识库，没有找到相关内容。",
};

export function answerFromPassages(question: string, passages: readonly FoundPassage[], language: Language): string {
  const best = findBest(question, passages, language);
  if (best === undefined) return NONE[language];
  const { title, text, ref } = best;
  const said = pickBlocks(question, text);
  const opening =
    language === "zh" ? `知识库中的“${title}”写道 [${ref}]：` : `The knowledge base says in “${title}” [${ref}]:`;
  const doubt = isFitting(question, best) ? [] : [DOUBT[language]];
  return [...doubt, `${opening}\n\n${said}\n\n${listSources([best], passages, language)}`].join(
    language === "zh" ? "" : " ",
  );
}

const DOUBT = {
  en: "I am not sure that this answers the question, but it is the closest I have found.",
  zh: "不确定这是否回答了问题，这是找到的最接近的内容。",
};

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
  const lines = /, lines? (\d+)(?:(?: to |-)(\d+))?$/;
  return `（${where.replace(lines, (_, first: string, last?: string) => `，第 ${first}${last === undefined || last === first ? "" : `–${last}`} 行`)}）`;
}

/** In the question's language, where there are any: the one with most of its words, and of these the first. */
function findBest(question: string, passages: readonly FoundPassage[], language: Language): FoundPassage | undefined {
  const alike = passages.filter(({ text }) => isChinese(text) === (language === "zh"));
  const terms = listTerms(question);
  const weigh = ({ title, text }: FoundPassage): number =>
    countHits(terms, text.replace(TITLE, "")) +
    1.5 * countHits(terms, title) +
    (isNamed(question, title) ? terms.length : 0);
  return (alike.length > 0 ? alike : passages).toSorted((a, b) => weigh(b) - weigh(a))[0];
}

export interface FoundSteps {
  readonly passage: FoundPassage;
  readonly items: readonly string[];
}

/** The items of the first passage that has a list; numbered ones are steps, and go first. */
export function findSteps(passages: readonly FoundPassage[], language: Language): FoundSteps | undefined {
  const alike = passages.filter(({ text }) => isChinese(text) === (language === "zh"));
  for (const pattern of [NUMBERED, BULLET]) {
    for (const passage of alike.length > 0 ? alike : passages) {
      const items = listItems(passage.text, pattern);
      if (items.length > 1) return { passage, items };
    }
  }
  return undefined;
}

const NUMBERED = /^\s{0,8}\d{1,3}[.)、]\s{0,4}(?<item>\S.*)$/;
const BULLET = /^\s{0,8}[-*•+]\s{1,4}(?<item>\S.*)$/;

function listItems(text: string, pattern: RegExp): readonly string[] {
  return text
    .split("\n")
    .flatMap((line) => pattern.exec(line)?.groups?.["item"] ?? [])
    .map((item) => cut(item.replaceAll(/[`*]|^\[[ x]\] /g, "").replace(/[;；。.]\s*$/, ""), MAX_ITEM))
    .filter((item) => item !== "")
    .slice(0, MAX_ITEMS);
}

/** The title of a page stands on each of its passages. */
const TITLE = /^# .*$/m;
const HEADINGS = /^#{1,6} .*$/gm;

/**
 * The section whose heading has the question's words, or all of a short passage; of a long one the parts that have most
 * of the words, in their order.
 */
function pickBlocks(question: string, text: string): string {
  const terms = listTerms(question);
  const sections = text.split(/^(?=#{2,6} )/m);
  const section = sections.find(
    (one) => one.startsWith("##") && countHits(terms, one.split("\n", 1)[0] ?? "") > 0 && one.includes("\n"),
  );
  const blocks = (section ?? text)
    // What ends with a colon belongs to what follows.
    .split(/(?<![:：])\n{2,}/)
    .map((block) => block.replaceAll(HEADINGS, "").trim())
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

/** "What is Loom?" is the very title of a page, but for the order of its words. */
function isNamed(question: string, title: string): boolean {
  const words = title.toLowerCase().match(/[a-z0-9]+|\p{Script=Han}/gu) ?? [];
  const asked = new Set(
    question
      .slice(0, 400)
      .toLowerCase()
      .match(/[a-z0-9]+|\p{Script=Han}/gu) ?? [],
  );
  return words.length > 1 && words.every((word) => asked.has(word));
}

function isFitting(question: string, { title, text }: FoundPassage): boolean {
  const terms = listTerms(question);
  return terms.length === 0 || countHits(terms, `${title}\n${text}`) / terms.length >= FITTING;
}

function countHits(terms: readonly string[], text: string): number {
  const words = text.toLowerCase();
  return terms.filter((term) => words.includes(term)).length;
}

const STOP =
  /^(?:the|and|for|what|which|who|how|why|when|where|does|did|can|could|would|should|are|was|were|with|you|your|about|tell|explain|please|this|that|there|have|has|its|from|into|show|give|me|search|look|find|know|work|works|working|mean|means|use|used|using|need|needs|make|made|get|want)$/;
const STOP_ZH = /什么|如何|怎么|怎样|为什|一下|请问|哪些|哪里|可以|我们|你们|帮我|搜索|是什|么是|关于|有关|告诉|介绍/;
const MAX_TERMS = 40;

/** Words by their beginning, since English bends them; Chinese by pairs of characters. */
function listTerms(question: string): readonly string[] {
  const text = question.slice(0, 400).toLowerCase();
  const words = (text.match(/[a-z0-9_]{3,}/g) ?? []).filter((word) => !STOP.test(word));
  const pairs = (text.match(/\p{Script=Han}{2,}/gu) ?? []).flatMap((run) =>
    Array.from(run)
      .slice(1)
      .map((character, index) => `${Array.from(run)[index] ?? ""}${character}`),
  );
  const terms = [...words.map((word) => word.slice(0, 6)), ...pairs.filter((pair) => !STOP_ZH.test(pair))];
  return [...new Set(terms)].slice(0, MAX_TERMS);
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
