/**
 * Writes outlines for tasks without a tool: what a text about the subject should cover. Each one is marked as an
 * outline.
 */
import type { OfflineLanguage, BilingualText } from "../offline-task.ts";
import type { ThoughtResult } from "./read-thought.ts";

const MAX_TASK = 300;

export function writeOutline(task: string, language: OfflineLanguage): string {
  const title = firstLineOf(task);
  const points = POINTS.find(([words]) => words.test(title))?.[1] ?? ANYTHING;
  const said = points[language];
  if (language === "zh") return `${title}${MARK.zh}：${said}${said.endsWith("？") ? "" : "。"}`;
  return `${title}${MARK.en}: ${said}${said.endsWith("?") ? "" : "."}`;
}

export function isOutline(text: string): boolean {
  return text.includes(MARK.en) || text.includes(MARK.zh);
}

/** Comes before an outline that is the whole answer. */
export const OUTLINE_NOTE: BilingualText = {
  en: "This is a generic outline, written by fixed rules.",
  zh: "这是按固定规则生成的通用提纲。",
};

/** Names other requests that were skipped. */
export function describeLeftOut(leftOut: string | undefined, language: OfflineLanguage): string {
  if (leftOut === undefined) return "";
  return language === "zh"
    ? `未处理：“${leftOut}”。请单独提出。`
    : `Not done: “${leftOut}”. Please ask for it separately.`;
}

const MARK = { en: " (outline)", zh: "（提纲）" } as const;

const ANYTHING: BilingualText = {
  en: "what it is, an example, and the consequences",
  zh: "它是什么、一个例子、带来的影响",
};

const POINTS: readonly (readonly [RegExp, BilingualText])[] = [
  [/\bfor and against\b|优点和缺点/i, { en: "benefits, drawbacks, and who is affected", zh: "优点、缺点、影响到谁" }],
  [
    /\bmorning, afternoon\b|上午、下午/i,
    {
      en: "main sights in the morning, something nearby in the afternoon, a quiet evening",
      zh: "上午看重点，下午就近安排，晚上轻松一些",
    },
  ],
  [/\bopening with a question|以提问/i, { en: "what is it, and why does it matter?", zh: "它是什么？为什么重要？" }],
  [/\bopening\b|开头/i, { en: "what the following parts cover", zh: "概括后面各部分的内容" }],
  [/\bbackground\b|背景/i, { en: "origin, purpose, and what came before", zh: "起源、目的、之前的情况" }],
  [/\bstate of\b|现状/i, { en: "who uses it, how much, and where", zh: "谁在用、用多少、在哪里" }],
  [
    /\barguments for\b|优点|支持/i,
    {
      en: "what it makes possible, easier or cheaper, with examples",
      zh: "它让什么成为可能、更容易或更便宜，各举一例",
    },
  ],
  [/\bagainst\b|缺点|反对/i, { en: "costs, risks, and where it does not work", zh: "代价、风险、不适用的情况" }],
  [
    /\boutlook\b|前景/i,
    { en: "what changes soon, what changes later, and what it depends on", zh: "近期变化、远期变化、取决于什么" },
  ],
  [
    /\bcriteria\b|标准/i,
    { en: "cost, effort, quality, and what happens on failure", zh: "成本、工作量、质量、出问题时的后果" },
  ],
  [/\bmorning\b|上午/i, { en: "arrive and start with what matters most", zh: "到达，先安排最重要的" }],
  [/\bafternoon\b|下午/i, { en: "something nearby, with a break", zh: "就近安排，中间休息" }],
  [/\bevening\b|晚上/i, { en: "something quiet, and plans for the next day", zh: "轻松的活动，安排第二天" }],
  [/\bgoal\b|目标/i, { en: "what to achieve, by when, and how to measure it", zh: "要达到什么、何时完成、如何衡量" }],
  [
    /\bsteps\b|步骤/i,
    { en: "what comes first, what runs in parallel, what comes last", zh: "先做什么、哪些可以并行、最后做什么" },
  ],
  [/\bpreparation\b|准备/i, { en: "what to book, buy or ask in advance", zh: "需要提前预订、购买或询问的事" }],
  [
    /\brisks\b|风险/i,
    { en: "what can go wrong, how likely it is, and what to do then", zh: "可能的问题、发生的可能性、应对办法" },
  ],
  [/^about\b|介绍/i, { en: "what it is, what it does well, and what it costs", zh: "它是什么、擅长什么、成本如何" }],
];

/** Joins short results in one paragraph and longer ones under headings; drops duplicates. */
export function combineResults(task: string, known: readonly ThoughtResult[], language: OfflineLanguage): string {
  const results = [...new Map(known.toReversed().map((one) => [one.text, one])).values()].toReversed();
  const texts = results.map(({ text }) => text);
  if (texts.every((text) => isPlain(text))) return texts.join(language === "zh" ? "" : " ");
  return [`## ${firstLineOf(task)}`, ...results.map(writeSection)].join("\n\n");
}

/** A part with its own headings moves one level down. */
function writeSection({ task, text }: ThoughtResult): string {
  if (text.startsWith("#")) return text.replaceAll(/^(#{2,4}) /gm, "#$1 ");
  const [, title = "", points = ""] = OUTLINE.exec(text) ?? [];
  if (title === "") return `### ${firstLineOf(task)}\n\n${text}`;
  return `### ${title}\n\n${points.charAt(0).toUpperCase()}${points.slice(1)}`;
}

const OUTLINE = /^(.{1,320}?(?: \(outline\)|（提纲）))[:：] ?(.+)$/s;
const MAX_PLAIN = 300;

function isPlain(text: string): boolean {
  return text.length <= MAX_PLAIN && !text.includes("\n") && !isOutline(text);
}

/** Tidies the text and adds a summary line. */
export function refineResult(text: string, language: OfflineLanguage): string {
  const lines = text.split("\n").map((line) => line.trimEnd());
  // At most one empty line in a row.
  const kept = lines.filter((line, index) => line !== "" || (index > 0 && lines[index - 1] !== ""));
  const tidy = kept.join("\n").trim();
  const parts = Math.max(1, (tidy.match(/^### /gm) ?? []).length);
  const last =
    language === "zh" ? `小结：共 ${parts} 个部分。` : `Summary: ${parts} ${parts === 1 ? "part" : "parts"}.`;
  return `${tidy}\n\n${last}`;
}

/** The words a result should contain. */
export function listWords(task: string): readonly string[] {
  const words =
    task
      .slice(0, MAX_TASK)
      .toLowerCase()
      .match(/\p{Script=Han}|[\p{L}\p{N}]{3,}/gu) ?? [];
  return [...new Set(words.slice(0, MAX_WORDS))];
}

const MAX_WORDS = 50;

/** Rates a result by its length and by how many of the words it contains, from 0 to 1. */
export function rateResult({ text }: ThoughtResult, words: readonly string[]): number {
  const lower = text.slice(0, MAX_RATED).toLowerCase();
  const coverage = words.length === 0 ? 0 : words.filter((word) => lower.includes(word)).length / words.length;
  return Math.round((0.3 + 0.4 * Math.min(1, text.length / 200) + 0.3 * coverage) * 100) / 100;
}

const MAX_RATED = 4000;

function firstLineOf(task: string): string {
  const [line = ""] = task.trim().slice(0, MAX_TASK).split("\n");
  return line.toWellFormed();
}
