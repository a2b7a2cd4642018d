/**
 * Detects a larger piece of work in a question: a report, a comparison or a plan, in English or Chinese. A request for
 * approval is ignored.
 */
import type { OfflineLanguage } from "../offline-task.ts";
import { omitConsent } from "./read-consent.ts";
import { isTitle, splitItems } from "./split-task.ts";

export type Project = (
  | { readonly kind: "report" | "compare"; readonly subjects: readonly string[] }
  | { readonly kind: "plan"; readonly subject: string; readonly days: number; readonly isCut?: true }
) & {
  /** Other requests in the same sentence. */
  readonly leftOut?: string;
};

const READ_CHARACTERS = 1000;

export function findProject(question: string, language: OfflineLanguage): Project | undefined {
  const text = omitConsent(question.slice(0, READ_CHARACTERS)).trim();
  const compare = findSubject(COMPARE, text, language);
  // "My two options: to rent or to buy".
  const compared = splitItems(compare.subject.replace(/^[^:：]{0,60}[:：]\s{0,4}/, ""), language);
  if (compared.length > 1) return { kind: "compare", subjects: compared, ...compare.more };
  const report = findSubject(REPORT, text, language);
  const reported = isTitle(report.subject) ? [report.subject] : splitItems(report.subject, language);
  if (reported.length > 0) return { kind: "report", subjects: reported, ...report.more };
  const { subject, more } = findSubject(PLAN, text, language);
  return subject === "" ? undefined : { kind: "plan", subject, ...readDays(subject), ...more };
}

const REPORT: Readonly<Record<OfflineLanguage, readonly RegExp[]>> = {
  en: [
    /\b(?:write|make|create|prepare|draft|give me|produce|compile|need|want)\b[^.?!\n]{0,40}?\b(?:report|essay|article|overview|summary|guide|introduction|presentation|paper|analysis|study)\s+(?:on|about|of|into|to)\s+((?:[^.?!\n]|\.(?=\w)){2,200})/i,
    /^(?:please\s+)?(?:research|analy[sz]e|investigate)\s+((?:[^.?!\n]|\.(?=\w)){2,200})/i,
  ],
  zh: [
    /(?:(?:给我)?(?:写|做|准备|生成|起草)|给我|来)[^，。\n]{0,8}?关于([^，。？！\n]{1,60}?)的[^，。\n]{0,6}?(?:报告|文章|介绍|综述|概述|分析|总结|论文|调研)/,
    /(?:(?:给我)?(?:写|做|准备|生成|起草)|给我|来)(?:一?[份篇个])?(?!一?[份篇个]?(?:分析|调研)?(?:报告|综述|概述|论文))([^，。？！\n]{1,60}?)的?(?:分析|调研)?(?:报告|综述|概述|论文)/,
    /^请?(?:帮我)?(?:调研|研究|分析)(?:一下)?([^，。？！\n]{1,60})/,
  ],
};

const COMPARE: Readonly<Record<OfflineLanguage, readonly RegExp[]>> = {
  en: [
    /\bcompar(?:e|ing|ison (?:of|between))\s+((?:[^.?!\n]|\.(?=\w)){3,200})/i,
    /\bdifferences?\s+between\s+((?:[^.?!\n]|\.(?=\w)){3,200})/i,
    /^([^.?!\n]{1,80}\s(?:vs\.?|versus)\s[^.?!\n]{1,80})/i,
  ],
  zh: [
    /(?:^|请|帮我|给我|来)(?:比较|对比)(?:一下)?([^。？！\n]{2,80})/,
    /^([^，。？！\n]{1,40}[和与跟][^，。？！\n]{1,40}?)(?:有什么)?的?(?:区别|差别|不同|哪个)/,
  ],
};

const PLAN: Readonly<Record<OfflineLanguage, readonly RegExp[]>> = {
  en: [
    /\b(?:make|write|create|draft|need|want)\b[^.?!\n]{0,20}?\bplan\s+(?:for|of|to)\s+((?:[^.?!\n]|\.(?=\w)){3,150})/i,
    /\b(?:plan|organi[sz]e)\s+(?:me\s+)?(?:a|an|my|our)\s+((?:[^.?!\n]|\.(?=\w)){3,150})/i,
    /^(?:please\s+|help me\s+(?:to\s+)?)?(?:plan|organi[sz]e)\s+(?:the\s+)?((?:[^.?!\n]|\.(?=\w)){3,150})/i,
  ],
  zh: [
    /(?:^|请|帮我|帮忙|给我|我想|我要)(?:计划|规划|安排|策划|制定)(?:一下)?(?:一[次个场份趟])?([^，。？！\n]{2,60})/,
  ],
};

/** Where another request or a target file begins. */
const NEXT: Readonly<Record<OfflineLanguage, RegExp>> = {
  en: /[,;]?\s{1,4}(?:(?:and|then|but)\s{1,4}){1,2}(?:also |please |then ){0,2}(?:make|draw|write|calculate|compute|tell|show|list|save|store|put|create|delete|read|open|give|plan|ask|send|what|when|how)\b.*$|\s{1,4}(?:to|into|in|as)\s{1,4}[\w./-]{1,80}\.[a-z]\w{0,4}$/is,
  zh: /[，,；;]?\s{0,4}(?:然后|并且|接着|同时|并|再|顺便)\s{0,2}(?:请|帮我|给我){0,2}(?:把|将|保存|计算|算|告诉|画|显示|列|查看|读取|删除|做|写|问|建).*$/s,
};
const MAX_LEFT_OUT = 120;
const GREETING = /^(?:[\s\p{P}]|\b(?:hi|hello|hey|please|thanks|thank you|now)\b|你好|您好|请|谢谢|麻烦你?){0,20}$/iu;

interface Subject {
  readonly subject: string;
  /** The sentences before and after it. */
  readonly more: { readonly leftOut?: string };
}

function findSubject(
  ways: Readonly<Record<OfflineLanguage, readonly RegExp[]>>,
  text: string,
  language: OfflineLanguage,
): Subject {
  for (const way of ways[language]) {
    const found = way.exec(text);
    if (found === null) continue;
    const [all, words = ""] = found;
    const at = words.search(NEXT[language]);
    const [, before = ""] = /^(.*[.!?;。！？；\n])/s.exec(text.slice(0, found.index)) ?? [];
    const [, after = ""] = /[.!?;。！？；，\n](.*)$/s.exec(text.slice(found.index + all.length)) ?? [];
    const others = [before, at < 0 ? "" : words.slice(at), after].filter((part) => !GREETING.test(part));
    const leftOut = others.map((part) => part.replaceAll(/^[\s,;，；]+|\s+$/g, "")).join(" … ");
    return {
      subject: trimSubject(at < 0 ? words : words.slice(0, at), language),
      more: leftOut === "" ? {} : { leftOut: leftOut.slice(0, MAX_LEFT_OUT).toWellFormed() },
    };
  }
  return { subject: "", more: {} };
}

/** Removes trailing words that are not part of the subject. */
function trimSubject(words: string, language: OfflineLanguage): string {
  const tail =
    language === "zh"
      ? /(?:的(?:区别|差别|不同|优缺点|计划|方案)|吧|吗|呢)+$/
      : /(?:\s+(?:please|for me|but|and|then|in terms of .*|with respect to .*)|[\s,;])+$/i;
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
  eight: 8,
  nine: 9,
  ten: 10,
  一: 1,
  两: 2,
  二: 2,
  三: 3,
  四: 4,
  五: 5,
  六: 6,
  七: 7,
  八: 8,
  九: 9,
  十: 10,
};
const MAX_DAYS = 7;

/** Returns 0 if the plan has no days; `isCut` if it has more than the maximum. */
function readDays(subject: string): { readonly days: number; readonly isCut?: true } {
  const [, word = ""] =
    /(\d{1,4}|\b(?:one|two|three|four|five|six|seven|eight|nine|ten)|[一两二三四五六七八九十])[- ]?(?:days?\b|天|日)/i.exec(
      subject,
    ) ?? [];
  if (word === "") return { days: /\bweekend\b|周末/i.test(subject) ? 2 : 0 };
  const days = NUMERALS[word.toLowerCase()] ?? Number(word);
  return days > MAX_DAYS ? { days: MAX_DAYS, isCut: true } : { days };
}
