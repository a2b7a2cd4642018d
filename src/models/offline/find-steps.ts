/**
 * The list that a document has, to be made a list of: the items of the first passage that fits and has some. The words of
 * an item stay as they are, but for the marks of Markdown around them.
 */
import { orderByLanguage, isFitting } from "./choose-passage.ts";
import type { Language } from "./errand.ts";
import type { FoundPassage } from "./read-passages.ts";

export interface FoundSteps {
  readonly passage: FoundPassage;
  readonly items: readonly string[];
  /** How many the document has there: more than the items, where some are left out. */
  readonly total: number;
}

const MAX_ITEMS = 20;
const MAX_ITEM = 200;

/** Numbered items are steps, and go first. Undefined where nothing that fits has a list. */
export function findSteps(
  query: string,
  passages: readonly FoundPassage[],
  language: Language,
): FoundSteps | undefined {
  const fitting = passages.filter((passage) => isFitting(query, passage));
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
/** What an item goes on with: a line that is further in than where items begin, and no block of code. */
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

/** In a piece of code nothing is a mark: it is what was written. */
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
  return cut((cleaned + unmark(text.slice(from))).trim());
}

function unmark(text: string): string {
  return text.replaceAll(STRONG, "$2").replaceAll(EMPHASIS, "$1");
}

function cut(text: string): string {
  return text.length <= MAX_ITEM ? text : `${text.slice(0, MAX_ITEM - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
