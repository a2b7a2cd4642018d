/**
 * Decides what the offline model answers: tool calls for the tasks that are open, or a text from their results. It
 * names every part of a message that it skips. A pure function of the prompt and the tools.
 */
import type { JsonObject } from "../../protocol/index.ts";
import type { ModelMessage, ModelTool } from "../model.ts";
import { answerFromPassages } from "./answer-passages.ts";
import { hasContent } from "./content-words.ts";
import { findRequestedError } from "./requested-error.ts";
import type { OfflineTask, OfflineLanguage, BilingualText } from "./offline-task.ts";
import { type FoundTasks, isFiller, listAbilities, MAX_TASKS, READ_CHARACTERS, parseTasks } from "./find-tasks.ts";
import { isQuestion, knowledge, nameSource, readSteps, SEARCH_TOOL, searchFor } from "./knowledge.ts";
import { listReady, listResults, matchSteps, type TaskStep } from "./plan.ts";
import { describeFiles } from "./read-files.ts";
import { type GivenContext, readPassages } from "./read-passages.ts";
import { LABEL, type PromptReading, readPrompt } from "./read-prompt.ts";
import { describeNotApproved, describeOutcomes, describeUnusable } from "./describe-outcomes.ts";
import { isSmallTalk, talk } from "./talk.ts";
import { readPuzzle } from "./thoughts/read-puzzle.ts";
import { solvePuzzle } from "./thoughts/solve-puzzle.ts";

export interface OfflineAnswer {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: JsonObject }[];
  /** Error message to fail with, after the text: the user asked for an error. */
  readonly error?: string;
  /** Whether this is one of the many short answers of a tree search: a thought or its score. */
  readonly isSearchStep?: boolean;
}

export function answerPrompt(prompt: readonly ModelMessage[], tools: readonly ModelTool[]): OfflineAnswer {
  const reading = readPrompt(prompt);
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  const parsed = parseTasks(reading.message, reading.lists);
  // A message with a file is about the file, unless it asks for something else.
  const isAboutFiles = reading.files.length > 0 && parsed.tasks.length === 0;
  const found = isAboutFiles ? parsed : addSearch(parsed, reading, offered);
  const { language } = reading;
  const steps = matchSteps(found.tasks, reading.done, offered);
  const calls = listCalls(steps, offered);
  if (calls.length > 0) {
    const announced = calls.flatMap(({ said }) => (said === undefined ? [] : [said[language]])).join("");
    // An announced call needs no reasoning.
    const reasoning = announced === "" ? describePlan(calls, language) : "";
    const text = announced === "" ? "" : addLabel(announced, reading);
    return { reasoning, text, calls: calls.map(({ call }) => call) };
  }
  // Without approval nothing else is done either.
  const isAgreed = steps.every(({ task, done }) => task.isConsent !== true || done?.isError === false);
  const error = isAgreed ? findRequestedError(found.rest, language) : undefined;
  const said = [
    ...describeOutcomes(steps, language, offered),
    ...describeFiles(reading.files, language),
    ...(isAboutFiles && error === undefined
      ? []
      : answerRest(found, reading, { offered, isAgreed, isFailing: error !== undefined })),
    ...describeUnread(found, reading),
    ...describeLeftOut(found, reading),
  ];
  return {
    reasoning: steps.some(({ task, done }) => task.isSource === true && done !== undefined)
      ? ""
      : describeDone(steps, language),
    text: addLabel(joinSentences(said, language), reading),
    calls: [],
    ...(error === undefined ? {} : { error }),
  };
}

function joinSentences(said: readonly string[], language: OfflineLanguage): string {
  const gap = language === "zh" ? "" : " ";
  const isApart = (index: number): boolean => index === 0 || said[index - 1]?.endsWith("\n") === true;
  return said.map((part, index) => (isApart(index) || part.startsWith("\n") ? part : `${gap}${part}`)).join("");
}

/**
 * Adds a search for a question that no other skill can answer, unless passages came with the prompt. If they did and
 * there is no search tool, the passages replace the search.
 */
function addSearch(
  found: FoundTasks,
  { message, done, context, language }: PromptReading,
  offered: ReadonlyMap<string, ModelTool>,
): FoundTasks {
  const canSearch = offered.has(SEARCH_TOOL) || done.some(({ tool }) => tool === SEARCH_TOOL);
  if (!canSearch && context.outcome !== "none") return { ...found, tasks: useContext(found.tasks, context, language) };
  const { tasks, rest } = found;
  if (!canSearch || context.outcome !== "none" || !tasks.every(({ isConsent }) => isConsent === true)) return found;
  const question = (tasks.length === 0 ? message : rest.replaceAll(/;{2,}/g, " ")).slice(0, READ_CHARACTERS);
  if (!isForDocuments(question, rest)) return found;
  return { ...found, tasks: [...tasks, searchFor(question)], rest: "" };
}

/** Uses the passages of the prompt in place of a search result. */
function useContext(
  tasks: readonly OfflineTask[],
  { text, outcome }: GivenContext,
  language: OfflineLanguage,
): readonly OfflineTask[] {
  const search = tasks.find(({ tool }) => tool === SEARCH_TOOL);
  if (search === undefined) return tasks;
  const { query = "" } = search;
  // The score is for the whole message, not for this query.
  const results = [text.replaceAll(/^(\[\d{1,4}\] .*), score [\d.]+\)$/gm, "$1)")];
  const steps = readSteps(query, results, language);
  const others = tasks
    .filter((task) => task !== search)
    .map((task): OfflineTask => {
      if (task.accepts === undefined || task.needsResults !== true) return task;
      const made = { ...task, needsResults: false };
      if (steps === undefined) return { ...made, refusal: describeUnusable(task.about) };
      const createInput: OfflineTask["createInput"] = (tool) => task.createInput(tool, results);
      const describeResult = (result: string): BilingualText => {
        const { en, zh } = task.describeResult(result);
        return { en: en + nameSource(steps, "en"), zh: zh + nameSource(steps, "zh") };
      };
      return { ...made, createInput, announce: () => task.announce?.(results), describeResult };
    });
  if (steps !== undefined && search.isSource === true) return others;
  // The search has already run: its result is the answer, and no tool is called.
  const said = answerFromContext(query, { text: results.join(""), outcome }, language);
  return [...others, { ...search, refusal: { en: said, zh: said } }];
}

function answerFromContext(question: string, { text, outcome }: GivenContext, language: OfflineLanguage): string {
  if (outcome === "failed") return SEARCH_FAILED[language];
  return answerFromPassages(question, readPassages(text), language);
}

const SEARCH_FAILED = {
  en: "Searching the knowledge base failed.",
  zh: "知识库搜索失败。",
};

function isForDocuments(question: string, rest: string): boolean {
  const isOther =
    readPuzzle(rest) !== undefined || findRequestedError(rest, "en") !== undefined || isSmallTalk(question);
  return (isQuestion(question) || knowledge.find(question, []).length > 0) && !isOther;
}

interface PlannedCall {
  readonly task: OfflineTask;
  /** Text to show before the call. */
  readonly said: BilingualText | undefined;
  readonly call: { readonly name: string; readonly input: JsonObject };
}

function listCalls(steps: readonly TaskStep[], offered: ReadonlyMap<string, ModelTool>): readonly PlannedCall[] {
  return listReady(steps, offered).flatMap((task) => {
    const tool = offered.get(task.tool);
    if (tool === undefined) return [];
    const results = listResults(steps, task);
    const said = task.announce?.(results);
    return [{ task, said, call: { name: tool.name, input: task.createInput(tool, results) } }];
  });
}

function describePlan(calls: readonly PlannedCall[], language: OfflineLanguage): string {
  const parts = calls.map(({ task, call }) => `${task.about[language]} (${call.name})`);
  return language === "zh" ? `要做：${parts.join("，")}。` : `To do: ${parts.join(", ")}.`;
}

function describeDone(steps: readonly TaskStep[], language: OfflineLanguage): string {
  const done = steps.filter((step) => step.done !== undefined).map(({ task }) => task.about[language]);
  if (done.length === 0) return NOTHING[language];
  return language === "zh" ? `已有结果：${done.join("，")}。` : `Results: ${done.join(", ")}.`;
}

const NOTHING = { en: "No tool needed.", zh: "不需要工具。" };
const FAILS = { en: "Here is the error you asked for.", zh: "这就是你要的错误。" };
const PUZZLE = { en: "the puzzle", zh: "这道题" };

interface RestOptions {
  readonly offered: ReadonlyMap<string, ModelTool>;
  readonly isAgreed: boolean;
  readonly isFailing: boolean;
}

/** Answers the part of the message that needs no tool. */
function answerRest(
  { tasks, rest }: FoundTasks,
  { message, language, context }: PromptReading,
  { offered, isAgreed, isFailing }: RestOptions,
): readonly string[] {
  const puzzle = readPuzzle(rest);
  if (puzzle !== undefined)
    return [isAgreed ? solvePuzzle(puzzle, language) : describeNotApproved(PUZZLE[language], language)];
  if (isFailing) return tasks.length === 0 ? [FAILS[language]] : [];
  // After an approval for something it does not know, it says so.
  const isConsentAlone = isAgreed && tasks.every(({ isConsent }) => isConsent === true) && !isBlank(rest);
  if (tasks.length > 0 && !isConsentAlone) return [];
  const words = tasks.length === 0 ? message.slice(0, READ_CHARACTERS) : rest;
  if (context.outcome !== "none" && isForDocuments(words, rest) && isAgreed)
    return [answerFromContext(words, context, language)];
  return [talk(words, language, listAbilities(new Set(offered.keys())))];
}

function isBlank(rest: string): boolean {
  return rest.replaceAll(/[\s\p{P}]|\b(?:please|and|then|first|thanks)\b|请|吧|再|然后|谢谢/giu, "") === "";
}

/** Names other requests beside a search and the task that uses its result. */
function describeUnread({ tasks, unread }: FoundTasks, { language }: PromptReading): readonly string[] {
  if (!tasks.some(({ isSource }) => isSource === true)) return [];
  const left = unread
    .split(/[;；,，。！？!?\n]|\.(?=\s|$)/)
    .map((part) => part.trim().replace(/^(?:and|then|also|please|并且?|然后|再|请|接着)\s{0,4}/i, ""))
    .filter((part) => hasContent(part) && !isFiller(part) && !/^(?:根据|按照)[它他]$/.test(part))
    .slice(0, MAX_NAMED);
  if (left.length === 0) return [];
  return [
    language === "zh"
      ? `未处理：${left.map((part) => `“${part}”`).join("、")}。`
      : `Not done: ${left.map((part) => `“${part}”`).join(", ")}.`,
  ];
}

const MAX_NAMED = 8;

function describeLeftOut({ leftOut }: FoundTasks, { message, language }: PromptReading): readonly string[] {
  const said: string[] = [];
  if (leftOut.length > 0) {
    const named = leftOut.slice(0, MAX_NAMED).map(({ about }) => about[language]);
    if (leftOut.length > MAX_NAMED) named.push("…");
    said.push(
      language === "zh"
        ? `我一次最多处理 ${MAX_TASKS} 个请求，未处理：${named.join("，")}。`
        : `I handle at most ${MAX_TASKS} requests per message. Not done: ${named.join(", ")}.`,
    );
  }
  if (message.length > READ_CHARACTERS)
    said.push(
      language === "zh"
        ? `我只读了消息的前 ${READ_CHARACTERS} 个字符。`
        : `I read only the first ${READ_CHARACTERS} characters of your message.`,
    );
  return said;
}

/** Adds the label of the offline model to its first answer in a conversation. */
function addLabel(text: string, { language, hasLabel }: PromptReading): string {
  if (hasLabel) return text;
  return language === "zh" ? `${LABEL.zh}：${text}` : `${LABEL.en}: ${text}`;
}
