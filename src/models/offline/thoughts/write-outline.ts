/**
 * What the offline model writes on a task it has no tool for: what a text on this would have to say. It knows nothing of
 * the subject, and each text says that it is an outline.
 */
import type { Language, Phrase } from "../errand.ts";
import type { Known } from "./read-thought.ts";

const MAX_TASK = 300;

export function writeOutline(task: string, language: Language): string {
  const title = shorten(task);
  const points = POINTS.find(([words]) => words.test(title))?.[1] ?? ANYTHING;
  const said = points[language];
  if (language === "zh") return `${title}${MARK.zh}：${said}${said.endsWith("？") ? "" : "。"}`;
  return `${title}${MARK.en}: ${said}${said.endsWith("?") ? "" : "."}`;
}

export function isOutline(text: string): boolean {
  return text.includes(MARK.en) || text.includes(MARK.zh);
}

/** Stands before an outline that is the answer. */
export const OUTLINE_NOTE: Phrase = {
  en: "This is an outline by fixed rules, not knowledge.",
  zh: "这是按固定规则写的提纲，不是知识。",
};

/** What else was asked for, named and not passed over. */
export function sayLeftOut(leftOut: string | undefined, language: Language): string {
  if (leftOut === undefined) return "";
  return language === "zh"
    ? `另外这句我没有处理，请单独再说一次：“${leftOut}”。`
    : `I left this out, please ask for it by itself: “${leftOut}”.`;
}

const MARK = { en: " (outline)", zh: "（提纲）" } as const;

const ANYTHING: Phrase = {
  en: "what it is, an example of it, and what follows from it",
  zh: "它是什么，一个例子，由此得出什么",
};

const POINTS: readonly (readonly [RegExp, Phrase])[] = [
  [
    /\bfor and against\b|优点和缺点/i,
    { en: "what it makes easier and what it costs, for whom", zh: "它使什么更容易，代价是什么，对谁而言" },
  ],
  [
    /\bmorning, afternoon\b|上午、下午/i,
    {
      en: "what matters most before noon, something near by after it, a quiet evening",
      zh: "上午看最重要的，下午就近安排，晚上轻松一些",
    },
  ],
  [
    /\bopening with a question|以提问/i,
    { en: "what is it, and why does it matter to the reader?", zh: "它是什么？为什么值得读者关心？" },
  ],
  [
    /\bopening\b|开头/i,
    { en: "it is what the following parts tell of, one after the other", zh: "它就是下面各部分要说的内容" },
  ],
  [
    /\bbackground\b|背景/i,
    { en: "where it comes from, what it was meant for, what came before it", zh: "它从何而来，为了什么，之前是什么样" },
  ],
  [
    /\bstate of\b|现状/i,
    { en: "how things stand: who has to do with it, how much, and where", zh: "现在的情况：谁在用，多少，在哪里" },
  ],
  [
    /\barguments for\b|优点|支持/i,
    {
      en: "what it makes possible, easier or cheaper, each with an example",
      zh: "它使什么成为可能、更容易或更便宜，各举一例",
    },
  ],
  [
    /\bagainst\b|缺点|反对/i,
    { en: "what it costs, whom it harms, and where it does not work", zh: "它的代价，对谁不利，在哪里行不通" },
  ],
  [
    /\boutlook\b|前景/i,
    { en: "what will change soon, what later, and what that depends on", zh: "近期会变什么，远期会变什么，取决于什么" },
  ],
  [
    /\bcriteria\b|标准/i,
    { en: "cost, effort, quality, and what happens when it goes wrong", zh: "成本、工夫、质量，以及出问题时会怎样" },
  ],
  [
    /\bmorning\b|上午/i,
    { en: "arrive, and see what matters most while you are fresh", zh: "到达，趁精神好先看最重要的" },
  ],
  [/\bafternoon\b|下午/i, { en: "something near by, with a break", zh: "就近安排，中间休息" }],
  [/\bevening\b|晚上/i, { en: "something quiet, and a look at the next day", zh: "轻松的活动，看看第二天的安排" }],
  [
    /\bgoal\b|目标/i,
    { en: "what should be reached, by when, and how one will know", zh: "要达到什么，到什么时候，怎么算达到" },
  ],
  [
    /\bsteps\b|步骤/i,
    { en: "what comes first, what may go side by side, what comes last", zh: "先做什么，什么可以同时做，最后做什么" },
  ],
  [/\bpreparation\b|准备/i, { en: "what has to be booked, bought or asked before", zh: "事先要预订、购买或询问什么" }],
  [
    /\brisks\b|风险/i,
    { en: "what may go wrong, how likely it is, and what to do then", zh: "可能出什么问题，有多大可能，到时怎么办" },
  ],
  [/^about\b|介绍/i, { en: "what it is, what it is good at, and what it costs", zh: "它是什么，擅长什么，代价是什么" }],
];

/** Short results in a row, longer ones under headings; nothing twice. */
export function combineResults(task: string, known: readonly Known[], language: Language): string {
  const results = [...new Map(known.toReversed().map((one) => [one.text, one])).values()].toReversed();
  const texts = results.map(({ text }) => text);
  if (texts.every((text) => isPlain(text))) return texts.join(language === "zh" ? "" : " ");
  return [`## ${shorten(task)}`, ...results.map(writeSection)].join("\n\n");
}

/** A part with headings of its own goes one level down. */
function writeSection({ task, text }: Known): string {
  if (text.startsWith("#")) return text.replaceAll(/^(#{2,4}) /gm, "#$1 ");
  const [, title = "", points = ""] = OUTLINE.exec(text) ?? [];
  if (title === "") return `### ${shorten(task)}\n\n${text}`;
  return `### ${title}\n\n${points.charAt(0).toUpperCase()}${points.slice(1)}`;
}

const OUTLINE = /^(.{1,320}?(?: \(outline\)|（提纲）))[:：] ?(.+)$/s;
const MAX_PLAIN = 300;

function isPlain(text: string): boolean {
  return text.length <= MAX_PLAIN && !text.includes("\n") && !isOutline(text);
}

/** Tidied, with a line at the end that says what there is. */
export function refineResult(text: string, language: Language): string {
  const lines = text.split("\n").map((line) => line.trimEnd());
  // Never more than one empty line.
  const kept = lines.filter((line, index) => line !== "" || (index > 0 && lines[index - 1] !== ""));
  const tidy = kept.join("\n").trim();
  const parts = Math.max(1, (tidy.match(/^### /gm) ?? []).length);
  const last =
    language === "zh" ? `小结：共 ${parts} 个部分。` : `In short: ${parts} ${parts === 1 ? "part" : "parts"}.`;
  return `${tidy}\n\n${last}`;
}

/** What a result should speak of. */
export function listWords(task: string): readonly string[] {
  const words =
    task
      .slice(0, MAX_TASK)
      .toLowerCase()
      .match(/\p{Script=Han}|[\p{L}\p{N}]{3,}/gu) ?? [];
  return [...new Set(words.slice(0, MAX_WORDS))];
}

const MAX_WORDS = 50;

/** By how much there is, and how many of the words are in it. From 0 to 1. */
export function rateResult({ text }: Known, words: readonly string[]): number {
  const lower = text.slice(0, MAX_RATED).toLowerCase();
  const coverage = words.length === 0 ? 0 : words.filter((word) => lower.includes(word)).length / words.length;
  return Math.round((0.3 + 0.4 * Math.min(1, text.length / 200) + 0.3 * coverage) * 100) / 100;
}

const MAX_RATED = 4000;

function shorten(task: string): string {
  const [line = ""] = task.trim().slice(0, MAX_TASK).split("\n");
  return line.toWellFormed();
}
