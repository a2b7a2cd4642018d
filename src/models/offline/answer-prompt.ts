/**
 * Decides what the offline model says: calls for what is still to be done, or an answer from what was done. What it leaves
 * out of a message it names. A pure function of the prompt and the tools.
 */
import type { JsonObject } from "../../protocol/index.ts";
import type { ModelMessage, ModelTool } from "../model.ts";
import { findAskedError } from "./asked-error.ts";
import type { Errand, Language } from "./errand.ts";
import { type FoundErrands, listAbilities, MAX_ERRANDS, READ_CHARACTERS, readErrands } from "./find-errands.ts";
import { listReady, listResults, matchSteps, type Step } from "./plan.ts";
import { LABEL, type Reading, readPrompt } from "./read-prompt.ts";
import { sayForbidden, sayOutcome } from "./say-outcome.ts";
import { talk } from "./talk.ts";
import { readPuzzle } from "./thoughts/read-puzzle.ts";
import { solveAtOnce } from "./thoughts/solve-at-once.ts";

export interface OfflineAnswer {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: JsonObject }[];
  /** It fails with this message, after what it has said: somebody asked for it. */
  readonly error?: string;
}

export function answerPrompt(prompt: readonly ModelMessage[], tools: readonly ModelTool[]): OfflineAnswer {
  const reading = readPrompt(prompt);
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  const found = readErrands(reading.message, reading.lists);
  const { language } = reading;
  const steps = matchSteps(found.errands, reading.done, offered);
  const calls = listCalls(steps, offered);
  if (calls.length > 0) return { reasoning: sayPlan(calls, language), text: "", calls: calls.map(({ call }) => call) };
  // Nobody agreed: nothing else is done either.
  const isAgreed = steps.every(({ errand, done }) => errand.isConsent !== true || done?.isError === false);
  const error = isAgreed ? findAskedError(found.rest, language) : undefined;
  const said = [
    ...sayOutcome(steps, language, offered),
    ...sayRest(found, reading, { offered, isAgreed, isFailing: error !== undefined }),
    ...sayLeftOut(found, reading),
  ];
  return {
    reasoning: sayDone(steps, language),
    text: introduce(said.join(language === "zh" ? "" : " "), reading),
    calls: [],
    ...(error === undefined ? {} : { error }),
  };
}

interface Call {
  readonly errand: Errand;
  readonly call: { readonly name: string; readonly input: JsonObject };
}

function listCalls(steps: readonly Step[], offered: ReadonlyMap<string, ModelTool>): readonly Call[] {
  return listReady(steps, offered).flatMap((errand) => {
    const tool = offered.get(errand.tool);
    if (tool === undefined) return [];
    return [{ errand, call: { name: tool.name, input: errand.createInput(tool, listResults(steps, errand)) } }];
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
  { message, language }: Reading,
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
  return [talk(words, language, listAbilities(new Set(offered.keys())))];
}

function isBlank(rest: string): boolean {
  return rest.replaceAll(/[\s\p{P}]|\b(?:please|and|then|first|thanks)\b|请|吧|再|然后|谢谢/giu, "") === "";
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
