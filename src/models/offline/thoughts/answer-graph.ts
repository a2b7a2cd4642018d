/**
 * The offline model in a graph of thoughts: it plans, judges what is complex, works on tasks, combines, improves and rates
 * results, and writes the reply. Tools do what they can; the rest is an outline, and says so.
 */
import type { OfflineAnswer } from "../answer-prompt.ts";
import type { Language } from "../errand.ts";
import { findErrands } from "../find-errands.ts";
import { answerAnew } from "./answer-anew.ts";
import { answerWhole, hasErrands, type WholeOptions } from "./answer-whole.ts";
import { findProject } from "./find-project.ts";
import { isWholeTask, planQuestion, planTask } from "./plan-work.ts";
import { readConsent } from "./read-consent.ts";
import { readPuzzle } from "./read-puzzle.ts";
import type { GraphRequest, Known, Work } from "./read-thought.ts";
import { splitTask } from "./split-task.ts";
import {
  combineResults,
  isOutline,
  listWords,
  OUTLINE_NOTE,
  rateResult,
  refineResult,
  sayLeftOut,
  writeOutline,
} from "./write-outline.ts";

export function answerGraph(request: GraphRequest, options: WholeOptions): OfflineAnswer {
  const { language } = options;
  const { question, task, known } = request;
  const text = task?.text ?? question;
  switch (request.kind) {
    case "plan": {
      const plan = task === undefined ? planQuestion : planTask;
      const nodes = plan(text, request.maxNodes, language);
      return say(`${sayCount(nodes.length, language)}\n${JSON.stringify({ nodes })}`);
    }
    case "complexity": {
      const isPart = task?.id.includes(".") === true;
      const isOne = isPart || !isDivisible(text) || readConsent(question, []) !== "none";
      const parts = isOne ? [] : splitTask(text, language);
      const items = parts.map(({ item }) => item);
      return say(`${sayItems(items, language)}\n${JSON.stringify({ complex: items.length > 1 })}`);
    }
    case "score": {
      const words = listWords(`${text}\n${question}`);
      const results = new Map(known.map((one) => [one.id, one]));
      const rated = request.ids.map((id): readonly [string, number] => {
        const result = results.get(id);
        return [id, result === undefined ? 0 : rateResult(result, words)];
      });
      const said = rated.map(([id, score]) => `${id}: ${score}`).join(", ");
      return say(`${said}\n${JSON.stringify({ scores: Object.fromEntries(rated) })}`);
    }
    case "work":
      if (request.work === "generate" && FAIL.test(text)) {
        return { reasoning: "", text: "", calls: [], error: "this task was asked to fail" };
      }
      return work(text, isWholeTask(text, question) ? question : undefined, request.work, known, options);
    case "report":
      return say(report(question, known, request.missing.length > 0, options));
  }
}

/** An error on request: "Compare tea, coffee and fail on purpose" has one task that fails. */
const FAIL = /^(?:about |please )?fail on purpose[.!]?$|^(?:介绍|请)?故意出错[。！]?$/i;

function work(
  task: string,
  whole: string | undefined,
  how: Work,
  known: readonly Known[],
  options: WholeOptions,
): OfflineAnswer {
  const { tools, since, before, language } = options;
  const [first] = known;
  if (how === "aggregate" && first !== undefined) return say(combineResults(task, known, language));
  if (how === "refine" && first !== undefined) return say(refineResult(first.text, language));
  if (whole !== undefined) return answerWhole(whole, options);
  // What the rules for a message can do, they do; a part that they would only make excuses for is an outline.
  const answer = answerAnew(task, tools, since, before);
  const isKnown = findErrands(task).length > 0 || readPuzzle(task) !== undefined;
  return isKnown || answer.calls.length > 0 || answer.error !== undefined
    ? answer
    : { ...answer, text: writeOutline(task, language) };
}

/** Work that changes something is left in one piece: its order matters. */
function isDivisible(task: string): boolean {
  const errands = findErrands(task);
  if (readPuzzle(task) !== undefined || errands.length === 1) return false;
  return errands.every(({ tool }) => tool === "calculator" || tool === "current_time");
}

function report(
  question: string,
  known: readonly Known[],
  isPartly: boolean,
  { before, language }: WholeOptions,
): string {
  const texts = [...new Set(known.map(({ text }) => text))];
  if (texts.length === 0) return answerAnew(question, [], [], before).text;
  const leftOut = hasErrands(question) ? "" : sayLeftOut(findProject(question, language)?.leftOut, language);
  const told = texts.join("\n\n");
  const body = told.includes(leftOut) ? told : `${told}\n\n${leftOut}`;
  const notes = [...(isOutline(body) ? [OUTLINE_NOTE[language]] : []), ...(isPartly ? [PARTLY[language]] : [])];
  const missing = notes.filter((note) => !body.includes(note));
  return missing.length === 0 ? body : `${missing.join(language === "zh" ? "" : " ")}\n\n${body}`;
}

const PARTLY = { en: "Some parts of it could not be worked out.", zh: "有些部分没有得出结果。" } as const;

function sayCount(count: number, language: Language): string {
  if (language === "zh") return count === 1 ? "这个问题很简单：一个节点。" : `分成 ${count} 个节点。`;
  return count === 1 ? "This is simple: one node." : `It falls into ${count} nodes.`;
}

function sayItems(items: readonly string[], language: Language): string {
  if (items.length < 2) return language === "zh" ? "只涉及一件事。" : "It is about one thing.";
  return language === "zh"
    ? `涉及 ${items.length} 件事：${items.join("、")}。`
    : `It names ${items.length} things: ${items.join(", ")}.`;
}

function say(text: string): OfflineAnswer {
  return { reasoning: "", text, calls: [] };
}
