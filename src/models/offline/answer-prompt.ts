/**
 * Decides what the offline model says: calls for what is still to be done, or an answer from what was done. What it leaves
 * out of a message it names. A pure function of the prompt and the tools.
 */
import type { JsonObject } from "../../protocol/index.ts";
import type { ModelMessage, ModelTool } from "../model.ts";
import { answerFromPassages } from "./answer-passages.ts";
import { hasContent } from "./content-words.ts";
import { findAskedError } from "./asked-error.ts";
import type { Errand, Language, Phrase } from "./errand.ts";
import {
  type FoundErrands,
  isFiller,
  listAbilities,
  MAX_ERRANDS,
  READ_CHARACTERS,
  readErrands,
} from "./find-errands.ts";
import { isQuestion, knowledge, nameSource, readSteps, SEARCH_TOOL, searchFor } from "./knowledge.ts";
import { listReady, listResults, matchSteps, type Step } from "./plan.ts";
import { sayFiles } from "./read-files.ts";
import { type GivenContext, readPassages } from "./read-passages.ts";
import { LABEL, type Reading, readPrompt } from "./read-prompt.ts";
import { sayForbidden, sayOutcome, sayUnfit } from "./say-outcome.ts";
import { isSmallTalk, talk } from "./talk.ts";
import { readPuzzle } from "./thoughts/read-puzzle.ts";
import { solveAtOnce } from "./thoughts/solve-at-once.ts";

export interface OfflineAnswer {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: JsonObject }[];
  /** It fails with this message, after what it has said: somebody asked for it. */
  readonly error?: string;
  /** One of the many small answers of a search: a thought, or what it is worth. */
  readonly isOfSearch?: boolean;
}

export function answerPrompt(prompt: readonly ModelMessage[], tools: readonly ModelTool[]): OfflineAnswer {
  const reading = readPrompt(prompt);
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  const errands = readErrands(reading.message, reading.lists);
  // What is said beside a file is about the file, unless it is something to do.
  const isAboutFiles = reading.files.length > 0 && errands.errands.length === 0;
  const found = isAboutFiles ? errands : addSearch(errands, reading, offered);
  const { language } = reading;
  const steps = matchSteps(found.errands, reading.done, offered);
  const calls = listCalls(steps, offered);
  if (calls.length > 0) {
    const announced = calls.flatMap(({ said }) => (said === undefined ? [] : [said[language]])).join("");
    // What is said aloud need not be thought.
    const reasoning = announced === "" ? sayPlan(calls, language) : "";
    const text = announced === "" ? "" : introduce(announced, reading);
    return { reasoning, text, calls: calls.map(({ call }) => call) };
  }
  // Nobody agreed: nothing else is done either.
  const isAgreed = steps.every(({ errand, done }) => errand.isConsent !== true || done?.isError === false);
  const error = isAgreed ? findAskedError(found.rest, language) : undefined;
  const said = [
    ...sayOutcome(steps, language, offered),
    ...sayFiles(reading.files, language),
    ...(isAboutFiles && error === undefined
      ? []
      : sayRest(found, reading, { offered, isAgreed, isFailing: error !== undefined })),
    ...sayUnread(found, reading),
    ...sayLeftOut(found, reading),
  ];
  return {
    reasoning: steps.some(({ errand, done }) => errand.isMaterial === true && done !== undefined)
      ? ""
      : sayDone(steps, language),
    text: introduce(joinSaid(said, language), reading),
    calls: [],
    ...(error === undefined ? {} : { error }),
  };
}

function joinSaid(said: readonly string[], language: Language): string {
  const gap = language === "zh" ? "" : " ";
  const isApart = (index: number): boolean => index === 0 || said[index - 1]?.endsWith("\n") === true;
  return said.map((part, index) => (isApart(index) || part.startsWith("\n") ? part : `${gap}${part}`)).join("");
}

/**
 * A question that nothing else here can answer is looked up, unless passages came with it. Where they did, and there is
 * nothing to search with, they are what a search would give.
 */
function addSearch(
  found: FoundErrands,
  { message, done, context, language }: Reading,
  offered: ReadonlyMap<string, ModelTool>,
): FoundErrands {
  const canSearch = offered.has(SEARCH_TOOL) || done.some(({ tool }) => tool === SEARCH_TOOL);
  if (!canSearch && context.outcome !== "none")
    return { ...found, errands: useContext(found.errands, context, language) };
  const { errands, rest } = found;
  if (!canSearch || context.outcome !== "none" || !errands.every(({ isConsent }) => isConsent === true)) return found;
  const question = (errands.length === 0 ? message : rest.replaceAll(/;{2,}/g, " ")).slice(0, READ_CHARACTERS);
  if (!isForDocuments(question, rest)) return found;
  return { ...found, errands: [...errands, searchFor(question)], rest: "" };
}

/** What would have been made of a search is made of what came with the message. */
function useContext(
  errands: readonly Errand[],
  { text, outcome }: GivenContext,
  language: Language,
): readonly Errand[] {
  const search = errands.find(({ tool }) => tool === SEARCH_TOOL);
  if (search === undefined) return errands;
  const { query = "" } = search;
  // What was searched for is the message, and how well it fits that is no matter here.
  const results = [text.replaceAll(/^(\[\d{1,4}\] .*), score [\d.]+\)$/gm, "$1)")];
  const steps = readSteps(query, results, language);
  const others = errands
    .filter((errand) => errand !== search)
    .map((errand): Errand => {
      if (errand.accepts === undefined || errand.needsResults !== true) return errand;
      const made = { ...errand, needsResults: false };
      if (steps === undefined) return { ...made, cannot: sayUnfit(errand.about) };
      const createInput: Errand["createInput"] = (tool) => errand.createInput(tool, results);
      const tell = (result: string): Phrase => {
        const { en, zh } = errand.tell(result);
        return { en: en + nameSource(steps, "en"), zh: zh + nameSource(steps, "zh") };
      };
      return { ...made, createInput, announce: () => errand.announce?.(results), tell };
    });
  if (steps !== undefined && search.isMaterial === true) return others;
  // It was searched already: what came of it is said, and nothing is called.
  const said = sayContext(query, { text: results.join(""), outcome }, language);
  return [...others, { ...search, cannot: { en: said, zh: said } }];
}

function sayContext(question: string, { text, outcome }: GivenContext, language: Language): string {
  if (outcome === "failed") return SEARCH_FAILED[language];
  return answerFromPassages(question, readPassages(text), language);
}

const SEARCH_FAILED = {
  en: "The knowledge base could not be searched, so I cannot say what is in it.",
  zh: "知识库搜索失败，所以不知道里面有什么。",
};

function isForDocuments(question: string, rest: string): boolean {
  const isOther = readPuzzle(rest) !== undefined || findAskedError(rest, "en") !== undefined || isSmallTalk(question);
  return (isQuestion(question) || knowledge.find(question, []).length > 0) && !isOther;
}

interface Call {
  readonly errand: Errand;
  /** Words to the user that go with it. */
  readonly said: Phrase | undefined;
  readonly call: { readonly name: string; readonly input: JsonObject };
}

function listCalls(steps: readonly Step[], offered: ReadonlyMap<string, ModelTool>): readonly Call[] {
  return listReady(steps, offered).flatMap((errand) => {
    const tool = offered.get(errand.tool);
    if (tool === undefined) return [];
    const results = listResults(steps, errand);
    const said = errand.announce?.(results);
    return [{ errand, said, call: { name: tool.name, input: errand.createInput(tool, results) } }];
  });
}

function sayPlan(calls: readonly Call[], language: Language): string {
  const parts = calls.map(({ errand, call }) => `${errand.about[language]} (${call.name})`);
  return language === "zh" ? `要做的：${parts.join("，")}。` : `To do: ${parts.join(", ")}.`;
}

function sayDone(steps: readonly Step[], language: Language): string {
  const done = steps.filter((step) => step.done !== undefined).map(({ errand }) => errand.about[language]);
  if (done.length === 0) return NOTHING[language];
  return language === "zh" ? `已有结果：${done.join("，")}。` : `There are results for: ${done.join(", ")}.`;
}

const NOTHING = { en: "There is nothing here for a tool.", zh: "没有工具能做的事。" };
const FAILS = { en: "Here is the error you asked for.", zh: "这就是你要的错误。" };
const PUZZLE = { en: "the puzzle", zh: "这道题" };

interface Circumstances {
  readonly offered: ReadonlyMap<string, ModelTool>;
  readonly isAgreed: boolean;
  readonly isFailing: boolean;
}

/** What needs no tool. */
function sayRest(
  { errands, rest }: FoundErrands,
  { message, language, context }: Reading,
  { offered, isAgreed, isFailing }: Circumstances,
): readonly string[] {
  const puzzle = readPuzzle(rest);
  if (puzzle !== undefined)
    return [isAgreed ? solveAtOnce(puzzle, language) : sayForbidden(PUZZLE[language], language)];
  if (isFailing) return errands.length === 0 ? [FAILS[language]] : [];
  // After a yes to nothing it knows, it says so.
  const isConsentAlone = isAgreed && errands.every(({ isConsent }) => isConsent === true) && !isBlank(rest);
  if (errands.length > 0 && !isConsentAlone) return [];
  const words = errands.length === 0 ? message.slice(0, READ_CHARACTERS) : rest;
  if (context.outcome !== "none" && isForDocuments(words, rest) && isAgreed)
    return [sayContext(words, context, language)];
  return [talk(words, language, listAbilities(new Set(offered.keys())))];
}

function isBlank(rest: string): boolean {
  return rest.replaceAll(/[\s\p{P}]|\b(?:please|and|then|first|thanks)\b|请|吧|再|然后|谢谢/giu, "") === "";
}

/** What else was asked for beside a search and what is made of it: it is not passed over. */
function sayUnread({ errands, unread }: FoundErrands, { language }: Reading): readonly string[] {
  if (!errands.some(({ isMaterial }) => isMaterial === true)) return [];
  const left = unread
    .split(/[;；,，。！？!?\n]|\.(?=\s|$)/)
    .map((part) => part.trim().replace(/^(?:and|then|also|please|并且?|然后|再|请|接着)\s{0,4}/i, ""))
    .filter((part) => hasContent(part) && !isFiller(part) && !/^(?:根据|按照)[它他]$/.test(part))
    .slice(0, MAX_NAMED);
  if (left.length === 0) return [];
  return [
    language === "zh"
      ? `这些我没有处理：${left.map((part) => `“${part}”`).join("、")}。`
      : `I left this out: ${left.map((part) => `“${part}”`).join(", ")}.`,
  ];
}

const MAX_NAMED = 8;

function sayLeftOut({ leftOut }: FoundErrands, { message, language }: Reading): readonly string[] {
  const said: string[] = [];
  if (leftOut.length > 0) {
    const named = leftOut.slice(0, MAX_NAMED).map(({ about }) => about[language]);
    if (leftOut.length > MAX_NAMED) named.push("…");
    said.push(
      language === "zh"
        ? `我一次最多做 ${MAX_ERRANDS} 件事，没有做：${named.join("，")}。`
        : `I do at most ${MAX_ERRANDS} things at once, and left out: ${named.join(", ")}.`,
    );
  }
  if (message.length > READ_CHARACTERS)
    said.push(
      language === "zh"
        ? `我只读了消息的前 ${READ_CHARACTERS} 个字符。`
        : `I have read only the first ${READ_CHARACTERS} characters of your message.`,
    );
  return said;
}

/** Says once in a conversation who speaks. */
function introduce(text: string, { language, isIntroduced }: Reading): string {
  if (isIntroduced) return text;
  return language === "zh" ? `${LABEL.zh}：${text}` : `${LABEL.en}: ${text}`;
}
