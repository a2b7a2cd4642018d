/**
 * Knowledge base searches, for the tool `search_knowledge_base`: on request, and for questions that no other skill can
 * answer. Results are quoted verbatim.
 */
import { answerFromPassages } from "./answer-passages.ts";
import { hasContent } from "./content-words.ts";
import type { FoundTask, OfflineLanguage, Skill } from "./offline-task.ts";
import { findSteps, type FoundSteps } from "./find-steps.ts";
import { matchSome } from "./match-some.ts";
import { readPassages } from "./read-passages.ts";
import { isChinese, isOnlyMentioned } from "./request-words.ts";

export const SEARCH_TOOL = "search_knowledge_base";

export const knowledge: Skill = {
  abilities: [
    {
      tool: SEARCH_TOOL,
      can: { en: "search the knowledge base", zh: "搜索知识库" },
      example: { en: "How do I deploy it?", zh: "如何部署应用？" },
    },
  ],
  find: (text) =>
    PATTERNS.flatMap((pattern) => matchSome(text, pattern)).flatMap((match) => {
      const query = tidyQuery(match.groups?.["query"] ?? "");
      const [at, end] = [match.index, match.index + match[0].trimEnd().length];
      if (query === "" || query.includes(";;") || isOnlyMentioned(text, at) || isElsewhere(match[0], query)) return [];
      return [createSearch(query, { at, end })];
    }),
};

const MAX_QUERY = 200;
/** The query ends with the sentence or before the next request. */
const QUERY_EN = String.raw`(?<query>(?:(?!,? (?:and|then|so) (?:then |please |also ){0,2}(?:make|create|write|give|show|draw|list|save|put|store|tell|turn|build|prepare)\b|[.!?](?:\s|$)|[,;\n]).){1,${MAX_QUERY}})`;
const QUERY_ZH = String.raw`(?<query>(?:(?!然后|接着|并且|并?(?:根据|创建|生成|列出|列一|做一|做成|写一|写成|整理|制定|告诉|保存|画)|[，。！？；,;!?\n]).){1,${MAX_QUERY}})`;
const PLACE_EN = String.raw`(?:(?:in |through )?(?:the |my |our |your )?(?:knowledge ?base|docs|documents|documentation|handbook|manual)s? (?:for|about|on) |for )?`;
const DOCS_EN = "(?:docs|documents?|documentation|handbook|manual|guides?|knowledge ?base|pages?|notes)";
const FROM_EN = "(?:from|out of|based on|according to|following|using)";
const DOCS_ZH = "(?:文档|手册|指南|资料|知识库|教程)";
const PATTERNS: readonly RegExp[] = [
  new RegExp(String.raw`(?:\bplease )?\b(?:search|look up|look for|search for) (?:up )?${PLACE_EN}${QUERY_EN}`, "gi"),
  new RegExp(
    String.raw`\bfind (?:me |out )?(?:some |any )?(?:information|documents?|docs|documentation|pages?|passages?|something|anything) (?:about|on|for) ${QUERY_EN}`,
    "gi",
  ),
  // "Find the deployment docs", "a checklist from the deployment guide", "a deployment checklist from the docs".
  new RegExp(
    String.raw`\bfind (?:me )?(?:the |our |my )?(?<query>(?!(?:the|our|my) )(?:[\w-]{1,40} ){1,4}${DOCS_EN})\b`,
    "gi",
  ),
  new RegExp(
    String.raw`\b${FROM_EN} (?:the |our |my |an? )?(?<query>(?!(?:the|our|my|an?) )(?:[\w-]{1,40} ){1,4}?${DOCS_EN})\b`,
    "gi",
  ),
  new RegExp(
    String.raw`(?<=\b(?<query>[\w-]{2,40}) (?:to-?do |task |check-?)?list )${FROM_EN} (?:the |our |my )?${DOCS_EN}\b`,
    "gi",
  ),
  new RegExp(String.raw`(?:根据|按照|依据|参照|参考)(?<query>[^，。！？；,;!?\s]{1,20}?${DOCS_ZH})`, "g"),
  new RegExp(
    String.raw`(?:根据|按照|依据|参照|参考)${DOCS_ZH}[里中]?(?=[，,\s]{0,2}(?:帮我|为我|给我)?(?:创建|生成|整理|制定|列出?|做|写)(?:出|成)?(?:一?[个份张])?(?<query>[^，。！？：:,\s的个份]{2,20}?)的?清单)`,
    "g",
  ),
  new RegExp(
    String.raw`(?:在(?:知识库|文档|手册)[里中]?)?(?:搜索|搜一下|搜下|搜搜|查一下|查下|查一查|查找|查阅|检索|找一下|帮我查|帮我找)(?:一下)?(?:(?:知识库|文档|手册)[里中]?的?(?=[^，。！？,.!?\s]))?(?:关于|有关)?\s{0,4}[:：]?\s{0,4}${QUERY_ZH}`,
    "g",
  ),
];

function tidyQuery(words: string): string {
  return words
    .trim()
    .replace(/^(?:the|an?|my|our|some)\s/i, "")
    .replaceAll(/^["“「]|["”」]$|[\s,，:：]+$/g, "")
    .trim();
}

/** Things that documents do not contain, as in "look for my keys". */
function isElsewhere(words: string, query: string): boolean {
  if (/^look for (?:my|your|his|her|their|an?) /i.test(words) || !hasContent(query)) return true;
  return /\b(?:weather|forecast|files?|folder)\b|^(?:current )?(?:time|date)\b|天气|^(?:文件|目录)$|\w\.[a-z]{1,5}$/i.test(
    query,
  );
}

const QUESTION_EN =
  /\?\s*$|^\s{0,9}(?:(?:please|so|and|but|ok|hi|hello|hey)[, ]{1,2})?(?:(?:can|could|would) you )?(?:what|how|why|where|which|who|when|whose|is|are|was|were|do|does|did|can|could|should|may|must|explain|describe|define|tell me)\b/i;
const QUESTION_ZH = /[?？]|什么|如何|怎[么样]|为何|为啥|哪|吗|呢|是否|能否|多少|几|介绍|说明|解释|讲讲|说说/;

/** Whether the whole message is a question to search for. */
export function isQuestion(message: string): boolean {
  const text = message.slice(0, 2 * MAX_QUERY);
  return (isChinese(text) ? QUESTION_ZH : QUESTION_EN).test(text) && hasContent(text);
}

/** Creates a search for the whole message. */
export function searchFor(message: string): FoundTask {
  const words = message.slice(0, MAX_QUERY).replaceAll(/\s+/g, " ");
  return createSearch(words.trim().replace(/[\s?？!！。.]+$/, ""), { at: 0, end: message.length });
}

function createSearch(query: string, place: { readonly at: number; readonly end: number }): FoundTask {
  const answer = (result: string, language: OfflineLanguage): string =>
    answerFromPassages(query, readPassages(result), language);
  return {
    tool: SEARCH_TOOL,
    ...place,
    query,
    about: { en: `look up “${query}”`, zh: `搜索“${query}”` },
    createInput: () => ({ query }),
    describeResult: (result) => ({ en: answer(result, "en"), zh: answer(result, "zh") }),
  };
}

/** Returns the same search for use by another task: the answer then names only the source. */
export function markAsSource(search: FoundTask): FoundTask {
  const { query = "" } = search;
  const name = (result: string, language: OfflineLanguage): string => {
    const steps = readSteps(query, [result], language);
    return steps === undefined ? search.describeResult(result)[language] : nameSource(steps, language);
  };
  return {
    ...search,
    isSource: true,
    describeResult: (result) => ({ en: name(result, "en"), zh: name(result, "zh") }),
  };
}

export function nameSource({ passage }: FoundSteps, language: OfflineLanguage): string {
  const { title, ref } = passage;
  return language === "zh" ? `\n\n来源：“${title}”[${ref}]。` : `\n\nSource: “${title}” [${ref}].`;
}

/** Finds the steps for a list in search results; undefined if nothing is relevant. */
export function readSteps(
  query: string,
  results: readonly string[],
  language: OfflineLanguage,
): FoundSteps | undefined {
  return findSteps(
    query,
    results.flatMap((result) => readPassages(result)),
    language,
  );
}
