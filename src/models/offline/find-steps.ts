/**
 * Finds a list in search results, for a to-do list: the items of the first relevant passage that has some. Items keep
 * their words; only Markdown marks are removed.
 */
import { orderByLanguage, isRelevant } from "./choose-passage.ts";
import type { OfflineLanguage } from "./offline-task.ts";
import type { FoundPassage } from "./read-passages.ts";
import { shorten } from "../../protocol/cut-text.ts";

export interface FoundSteps {
  readonly passage: FoundPassage;
  readonly items: readonly string[];
  /** Number of items in the document; more than `items` if some were dropped. */
  readonly total: number;
}

const MAX_ITEMS = 20;
const MAX_ITEM = 200;

/** Prefers numbered lists. Returns undefined if no relevant passage has a list. */
export function findSteps(
  query: string,
  passages: readonly FoundPassage[],
  language: OfflineLanguage,
): FoundSteps | undefined {
  const fitting = passages.filter((passage) => isRelevant(query, passage));
  for (const pattern of [NUMBERED, BULLET]) {
    for (const passage of orderByLanguage(fitting, language)) {
      const items = listItems(passage.text, pattern);
      if (items.length > 1) return { passage, items: items.slice(0, MAX_ITEMS), total: items.length };
    }
  }
  return undefined;
}

const NUMBERED = /^\s{0,8}\d{1,3}[.)、]\s{0,4}(?<item>\S.*)$/;
const BULLET = /^\s{0,8}[-*•+]\s{1,4}(?<item>\S.*)$/;
/** The continuation of an item: an indented line that is not a code block. */
const MORE = /^\s{2,8}(?!```|~~~|[-*•+] |\d{1,3}[.)、])(?<more>\S.*)$/;

function listItems(text: string, pattern: RegExp): readonly string[] {
  const items: string[] = [];
  let isOpen = false;
  for (const line of text.split("\n")) {
    const item: string | undefined = pattern.exec(line)?.groups?.["item"];
    const more: string | undefined = isOpen ? MORE.exec(line)?.groups?.["more"] : undefined;
    isOpen = item !== undefined || more !== undefined;
    if (item !== undefined) items.push(item);
    else if (more !== undefined) items.push(`${items.pop() ?? ""} ${more}`);
  }
  return items.map(cleanItem).filter((item) => item !== "");
}

/** Text inside code spans is kept unchanged. */
const CODE = /(?<!`)(`{1,3})(?!`)(.{1,400}?)(?<!`)\1(?!`)/g;
const STRONG = /(?<![\w*])(\*\*|__)(?=[^\s*_])(.{1,400}?)(?<=[^\s*_])\1(?![\w*])/g;
const EMPHASIS = /(?<![\w*\\])\*(?=[^\s*])([^*]{1,400}?)(?<=[^\s*])\*(?![\w*])/g;

export function cleanItem(item: string): string {
  const text = item
    .slice(0, 2 * MAX_ITEM)
    .replace(/^\[[ xX]\] /, "")
    .replace(/(?<![.。])[;；。.]\s*$/, "");
  let cleaned = "";
  let from = 0;
  for (const code of text.matchAll(CODE)) {
    cleaned += unmark(text.slice(from, code.index)) + (code[2] ?? "").replace(/^ (.*\S.*) $/, "$1");
    from = code.index + code[0].length;
  }
  return shorten((cleaned + unmark(text.slice(from))).trim(), MAX_ITEM);
}

function unmark(text: string): string {
  return text.replaceAll(STRONG, "$2").replaceAll(EMPHASIS, "$1");
}
