/** Reads the passages of a search, and answers with the best one: it is quoted, with its number, and nothing is added. */
import { shorten } from "../../protocol/cut-text.ts";
import { type DemoLanguage, isChinese, speak } from "./demo-texts.ts";

export interface FoundPassage {
  readonly ref: string;
  readonly title: string;
  /** Relevance from 0 to 1; 1 if the search reports none. */
  readonly score: number;
  readonly text: string;
}

const MAX_QUOTED = 1200;
/** A passage below this score shares some words with the question but may be about anything. */
const MIN_SCORE = 0.45;

/** `[1] "Title" (tides.md, lines 1 to 3, score 0.72)`. The lines of the passage begin with a mark. */
const HEAD = /^\[(\d+)\] "(.*?)"(?: \((.*)\))?$/;
const MARK = "| ";

export function readPassages(text: string): readonly FoundPassage[] {
  const passages: { ref: string; title: string; score: number; text: string }[] = [];
  for (const line of text.split("\n")) {
    const [, ref, title = "", where = ""] = HEAD.exec(line) ?? [];
    const score = Number(/score ([\d.]+)$/.exec(where)?.[1] ?? 1);
    const open = passages.at(-1);
    if (ref !== undefined) passages.push({ ref, title, score, text: "" });
    else if (open !== undefined && line.startsWith(MARK)) open.text += `${line.slice(MARK.length)}\n`;
  }
  return passages;
}

/** How agents introduce passages in the system message, or say that there are none. */
const FOUND = "Passages found for the user's question";
const NOTHING = /^(?:A search of the documents found nothing|The search of the documents failed)/m;

/** The passages of an automatic search; undefined if there was none. */
export function findPassages(system: string): readonly FoundPassage[] | undefined {
  const at = system.indexOf(FOUND);
  if (at >= 0) return readPassages(system.slice(at));
  return NOTHING.test(system) ? [] : undefined;
}

/** Moves passages in the language of the question to the front. */
function orderPassages(passages: readonly FoundPassage[], language: DemoLanguage): readonly FoundPassage[] {
  const isAlike = ({ text }: FoundPassage): boolean => isChinese(text) === (language === "zh");
  return [...passages.filter(isAlike), ...passages.filter((one) => !isAlike(one))];
}

export function quotePassages(passages: readonly FoundPassage[], language: DemoLanguage): string {
  const say = speak(language);
  const [best] = orderPassages(passages, language);
  if (best === undefined) return say("The knowledge base has nothing about this.", "知识库中没有相关内容。");
  const { ref, title, score, text } = best;
  const named = `“${title}”${say(" ", "")}[${ref}]`;
  if (score < MIN_SCORE)
    return say(
      `The knowledge base has no exact match. The closest is ${named}.`,
      `知识库中没有很匹配的内容，最接近的是${named}。`,
    );
  // The first line is the title, which is already in the answer.
  const body = text.replace(/^# .*\n+/, "").trim();
  return `${say(`From ${named}:`, `来自${named}：`)}\n\n${shorten(body, MAX_QUOTED)}`;
}

export interface FoundSteps {
  readonly title: string;
  /** The title and the number of the passage. */
  readonly source: string;
  readonly items: readonly string[];
}

const MAX_ITEMS = 20;

/** The numbered or bulleted list of the first passage that has one. */
export function findSteps(passages: readonly FoundPassage[], language: DemoLanguage): FoundSteps | undefined {
  for (const { title, ref, text } of orderPassages(passages, language)) {
    const items = [...text.matchAll(/^(?:\d+[.)]|[-*]) +(.+)$/gm)].map(([, item = ""]) => item.replaceAll(/[`*]/g, ""));
    const source = `“${title}”${speak(language)(" ", "")}[${ref}]`;
    if (items.length > 1) return { title, source, items: items.slice(0, MAX_ITEMS) };
  }
  return undefined;
}
