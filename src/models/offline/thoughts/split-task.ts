/** Splits a task that names several things into one task for each: "Background of cats and dogs" becomes two. */
import type { OfflineLanguage } from "../offline-task.ts";

export interface TaskPart {
  readonly item: string;
  readonly task: string;
}

/** Longer tasks are read up to here. */
const READ_CHARACTERS = 600;
const MAX_PARTS = 8;
const MAX_ITEM = 80;

/** Returns at least two parts, or none. */
export function splitTask(task: string, language: OfflineLanguage): readonly TaskPart[] {
  const text = task.slice(0, READ_CHARACTERS).trim();
  const { joint, lead, close } = RULES[language];
  const at = text.search(joint);
  if (at < 0) return [];
  let start = 0;
  for (const word of text.slice(0, at).matchAll(lead)) start = word.index + word[0].length;
  // "Arguments for and against it": both words refer to the same thing.
  const pair = /^(.{0,200}?)\b(for|with) and (against|without) (.{1,200})$/i.exec(text);
  if (pair !== null) {
    const [, before = "", one = "", other = "", what = ""] = pair;
    return [one, other].map((item) => ({ item, task: `${before}${item} ${what}` }));
  }
  const rest = text.slice(start);
  const end = start + Math.max(0, endOf(rest, close));
  const list = text.slice(start, end);
  const items = isTitle(list) ? [] : splitItems(list, language);
  if (items.length < 2) return [];
  return items.map((item) => ({ item, task: `${text.slice(0, start)}${item}${text.slice(end)}`.trim() }));
}

/** "War and Peace", or anything in quotation marks, is one name. */
export function isTitle(words: string): boolean {
  return /^\p{Lu}[\p{L}’']* and \p{Lu}[\p{L}’']*$/u.test(words) || /^["“「《][^"”」》]{1,200}["”」》]$/.test(words);
}

/** Splits a list of names. */
export function splitItems(list: string, language: OfflineLanguage): readonly string[] {
  const items = list
    .slice(0, READ_CHARACTERS)
    .split(RULES[language].between)
    .map((item) => item.trim().replaceAll(/^["“「]|["”」.。?？!！]+$/g, ""));
  return [...new Set(items.filter((item) => item !== "" && item.length <= MAX_ITEM))].slice(0, MAX_PARTS);
}

const RULES = {
  en: {
    joint: /\band\b|\bvs\b|\bversus\b/i,
    between: /,?\s+(?:and|or|vs\.?|versus)\s+|,\s+/i,
    /** The list begins after the last of these. */
    lead: /\b(?:of|on|about|for|in|between|with|from|describe|compare)\s+|:\s+/gi,
    close: /[.;?!]|$/,
  },
  zh: {
    joint: /以及|[和与及、跟]/,
    between: /以及|[和与及、跟]/,
    lead: /[的：:]|关于|比较|对比|介绍/g,
    close: /的|[。；？！]|$/,
  },
} as const;

function endOf(text: string, close: RegExp): number {
  return close.exec(text)?.index ?? text.length;
}
