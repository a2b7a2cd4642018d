/**
 * What a larger piece of work is about: a report, a comparison or a plan, found in a question of either language by its
 * words. Undefined where the question is none of these.
 */
import type { Language } from "../errand.ts";
import { splitItems } from "./split-task.ts";

export type Project =
  | { readonly kind: "report" | "compare"; readonly subjects: readonly string[] }
  | { readonly kind: "plan"; readonly subject: string; readonly days: number };

const READ_CHARACTERS = 1000;

export function findProject(question: string, language: Language): Project | undefined {
  const text = question.slice(0, READ_CHARACTERS).trim();
  const compared = splitItems(trimSubject(findFirst(COMPARE[language], text), language), language);
  if (compared.length > 1) return { kind: "compare", subjects: compared };
  const reported = splitItems(trimSubject(findFirst(REPORT[language], text), language), language);
  if (reported.length > 0) return { kind: "report", subjects: reported };
  const subject = trimSubject(findFirst(PLAN[language], text), language);
  return subject === "" ? undefined : { kind: "plan", subject, days: readDays(subject) };
}

const REPORT: Readonly<Record<Language, readonly RegExp[]>> = {
  en: [
    /\b(?:write|make|create|prepare|draft|give me|produce|compile|need|want)\b[^.?!\n]{0,40}?\b(?:report|essay|article|overview|summary|guide|introduction|presentation|paper|analysis|study)\s+(?:on|about|of|into|to)\s+([^.?!\n]{2,200})/i,
    /^(?:please\s+)?(?:research|analy[sz]e|investigate)\s+([^.?!\n]{2,200})/i,
  ],
  zh: [
    /(?:写|做|准备|给我|生成|起草|来)[^，。\n]{0,8}?关于([^，。？！\n]{1,60}?)的[^，。\n]{0,6}?(?:报告|文章|介绍|综述|概述|分析|总结|论文|调研)/,
    /(?:写|做|准备|给我|生成|起草|来)一?[份篇个]?([^，。？！\n]{1,60}?)的?(?:分析|调研)?(?:报告|综述|概述|论文)/,
    /^请?(?:帮我)?(?:调研|研究|分析)(?:一下)?([^，。？！\n]{1,60})/,
  ],
};

const COMPARE: Readonly<Record<Language, readonly RegExp[]>> = {
  en: [
    /\bcompar(?:e|ing|ison (?:of|between))\s+([^.?!\n]{3,200})/i,
    /\bdifferences?\s+between\s+([^.?!\n]{3,200})/i,
    /^([^.?!\n]{1,80}\s(?:vs\.?|versus)\s[^.?!\n]{1,80})/i,
  ],
  zh: [
    /(?:^|请|帮我|给我|来)(?:比较|对比)(?:一下)?([^。？！\n]{2,80})/,
    /^([^，。？！\n]{1,40}[和与跟][^，。？！\n]{1,40}?)(?:有什么)?的?(?:区别|差别|不同|哪个)/,
  ],
};

const PLAN: Readonly<Record<Language, readonly RegExp[]>> = {
  en: [
    /\b(?:make|write|create|draft|need|want)\b[^.?!\n]{0,20}?\bplan\s+(?:for|of|to)\s+([^.?!\n]{3,150})/i,
    /\b(?:plan|organi[sz]e)\s+(?:me\s+)?(?:a|an|my|our)\s+([^.?!\n]{3,150})/i,
    /^(?:please\s+|help me\s+(?:to\s+)?)?(?:plan|organi[sz]e)\s+(?:the\s+)?([^.?!\n]{3,150})/i,
  ],
  zh: [
    /(?:^|请|帮我|帮忙|给我|我想|我要)(?:计划|规划|安排|策划|制定)(?:一下)?(?:一[次个场份趟])?([^，。？！\n]{2,60})/,
  ],
};

function findFirst(ways: readonly RegExp[], text: string): string {
  for (const way of ways) {
    const [, found] = way.exec(text) ?? [];
    if (found !== undefined) return found;
  }
  return "";
}

/** Without what only says what for, or please. */
function trimSubject(words: string, language: Language): string {
  const tail =
    language === "zh"
      ? /(?:的(?:区别|差别|不同|优缺点|计划|方案)|吧|吗|呢)+$/
      : /\s+(?:please|for me|in terms of .*|with respect to .*)$/i;
  return words
    .trim()
    .replace(tail, "")
    .replace(/^["“「]|["”」]$/g, "");
}

const NUMERALS: Readonly<Record<string, number>> = {
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  一: 1,
  两: 2,
  二: 2,
  三: 3,
  四: 4,
  五: 5,
  六: 6,
  七: 7,
};
const MAX_DAYS = 7;

/** 0 where the plan has no days. */
function readDays(subject: string): number {
  const [, word = ""] =
    /(\d{1,2}|one|two|three|four|five|six|seven|[一两二三四五六七])[- ]?(?:days?\b|天|日)/i.exec(subject) ?? [];
  if (word !== "") return Math.min(NUMERALS[word.toLowerCase()] ?? Number(word), MAX_DAYS);
  return /\bweekend\b|周末/i.test(subject) ? 2 : 0;
}
