/**
 * The skill of looking things up, for the tool `search_knowledge_base`: where a message says so, and where it is a
 * question that nothing else here can answer. What is found is said as it stands.
 */
import { answerFromPassages, findSteps, type FoundSteps, listSources } from "./answer-passages.ts";
import type { FoundErrand, Language, Skill } from "./errand.ts";
import { matchSome } from "./match-some.ts";
import { readPassages } from "./read-passages.ts";
import { isChinese, isSpokenOf } from "./request-words.ts";

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
      if (query === "" || query.includes(";;") || isSpokenOf(text, at) || isElsewhere(query)) return [];
      return [createSearch(query, { at, end })];
    }),
};

const MAX_QUERY = 200;
/** Where the words for it end: with the sentence, or with what is asked for next. */
const QUERY_EN = String.raw`(?<query>(?:(?!,? (?:and|then|so) (?:then |please |also ){0,2}(?:make|create|write|give|show|draw|list|save|put|store|tell|turn|build|prepare)\b|[.!?](?:\s|$)|[,;\n]).){1,${MAX_QUERY}})`;
const QUERY_ZH = String.raw`(?<query>(?:(?!然后|接着|并且|并?(?:创建|生成|列出|列一|做一|写一|整理|制定|告诉|保存|画)|[，。！？；,;!?\n]).){1,${MAX_QUERY}})`;
const PLACE_EN = String.raw`(?:(?:in |through )?(?:the |my |our |your )?(?:knowledge ?base|docs|documents|documentation|handbook|manual)s? (?:for|about|on) |for )?`;
const PATTERNS: readonly RegExp[] = [
  new RegExp(String.raw`(?:\bplease )?\b(?:search|look up|look for|search for) (?:up )?${PLACE_EN}${QUERY_EN}`, "gi"),
  new RegExp(
    String.raw`\bfind (?:me |out )?(?:some |any )?(?:information|documents?|docs|documentation|pages?|passages?|something|anything) (?:about|on|for) ${QUERY_EN}`,
    "gi",
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

/** What no document tells. */
function isElsewhere(query: string): boolean {
  return /\b(?:weather|forecast|files?|folder)\b|^(?:current )?(?:time|date)\b|天气|^(?:文件|目录)$|\w\.[a-z]{1,5}$/i.test(
    query,
  );
}

const QUESTION_EN =
  /\?\s*$|^\s{0,9}(?:(?:please|so|and|but|ok|hi|hello|hey)[, ]{1,2})?(?:(?:can|could|would) you )?(?:what|how|why|where|which|who|when|whose|is|are|was|were|do|does|did|can|could|should|may|must|explain|describe|define|tell me)\b/i;
const QUESTION_ZH = /[?？]|什么|如何|怎[么样]|为何|为啥|哪|吗|呢|是否|能否|多少|几|介绍|说明|解释|讲讲|说说/;

/** A question that is worth looking up whole. */
export function isQuestion(message: string): boolean {
  return (isChinese(message) ? QUESTION_ZH : QUESTION_EN).test(message.slice(0, 2 * MAX_QUERY));
}

/** The whole message is what to look for. */
export function searchFor(message: string): FoundErrand {
  const words = message.slice(0, MAX_QUERY).replaceAll(/\s+/g, " ");
  return createSearch(words.trim().replace(/[\s?？!！。.]+$/, ""), { at: 0, end: message.length });
}

function createSearch(query: string, place: { readonly at: number; readonly end: number }): FoundErrand {
  const answer = (result: string, language: Language): string =>
    answerFromPassages(query, readPassages(result), language);
  return {
    tool: SEARCH_TOOL,
    ...place,
    about: { en: `look up “${query}”`, zh: `搜索“${query}”` },
    createInput: () => ({ query }),
    tell: (result) => ({ en: answer(result, "en"), zh: answer(result, "zh") }),
  };
}

/** The same where something else is made of what it finds: the answer names the sources, and no more. */
export function makeMaterial(search: FoundErrand): FoundErrand {
  const name = (result: string, language: Language): string => {
    const passages = readPassages(result);
    const steps = findSteps(passages, language);
    if (steps === undefined) return search.tell(result)[language];
    return `\n\n${listSources([steps.passage], [], language)}`;
  };
  return { ...search, isMaterial: true, tell: (result) => ({ en: name(result, "en"), zh: name(result, "zh") }) };
}

/** What a list can be made of; undefined where nothing fitting was found. */
export function readSteps(results: readonly string[], language: Language): FoundSteps | undefined {
  return findSteps(
    results.flatMap((result) => readPassages(result)),
    language,
  );
}
