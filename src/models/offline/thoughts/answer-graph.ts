/**
 * The offline model in a graph of thoughts: it plans, judges what is complex, works on tasks, combines, improves and rates
 * results, and writes the reply. Tools do what they can; the rest is an outline, and says so.
 */
import type { ModelMessage, ModelTool } from "../../model.ts";
import type { OfflineAnswer } from "../answer-prompt.ts";
import type { Language } from "../errand.ts";
import { findErrands } from "../find-errands.ts";
import { answerAnew } from "./answer-anew.ts";
import { planQuestion, planTask } from "./plan-work.ts";
import { readPuzzle } from "./read-puzzle.ts";
import type { GraphRequest, Known, Work } from "./read-thought.ts";
import { solveAtOnce } from "./solve-at-once.ts";
import { splitTask } from "./split-task.ts";
import {
  combineResults,
  isOutline,
  listWords,
  OUTLINE_NOTE,
  rateResult,
  refineResult,
  writeOutline,
} from "./write-outline.ts";

export function answerGraph(
  request: GraphRequest,
  since: readonly ModelMessage[],
  tools: readonly ModelTool[],
  language: Language,
): OfflineAnswer {
  const { question, task, known } = request;
  const text = task?.text ?? question;
  switch (request.kind) {
    case "plan": {
      const plan = task === undefined ? planQuestion : planTask;
      const nodes = plan(text, request.maxNodes, language);
      return say(`${sayCount(nodes.length, language)}\n${JSON.stringify({ nodes })}`);
    }
    case "complexity": {
      const parts = task?.id.includes(".") === true || !isDivisible(text) ? [] : splitTask(text, language);
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
      if (request.work === "generate" && FAIL.test(text.slice(0, MAX_FAIL))) {
        return { reasoning: "", text: "", calls: [], error: "this task was asked to fail" };
      }
      return work(text, question.startsWith(text), request.work, known, since, tools, language);
    case "report":
      return say(report(question, known, request.missing.length > 0, language));
  }
}

/** An error on request: "fail" as the thing a task is about, not as a word in a sentence about something else. */
const FAIL =
  /(?:^|\b(?:of|describe|on|about|for|against|and|please|should|must|work out|write)\s+|[:,]\s*)fail(?:\s+(?:on purpose|here|now|please))?\s*(?:$|[.,;:!)])|(?:^|请|要|应该|故意|必须|介绍|[的：，、和与])出错(?:$|[的，。、！])/i;
const MAX_FAIL = 400;

function work(
  task: string,
  isWhole: boolean,
  how: Work,
  known: readonly Known[],
  since: readonly ModelMessage[],
  tools: readonly ModelTool[],
  language: Language,
): OfflineAnswer {
  const [first] = known;
  if (how === "aggregate" && first !== undefined) return say(combineResults(task, known, language));
  if (how === "refine" && first !== undefined) return say(refineResult(first.text, language));
  const puzzle = readPuzzle(task);
  if (puzzle !== undefined) return say(solveAtOnce(puzzle, language));
  // What the rules for a message can do, they do; a part that they would only make excuses for is an outline.
  const answer = answerAnew(task, tools, since);
  const isDone = isWhole || answer.calls.length > 0 || answer.error !== undefined || findErrands(task).length > 0;
  return isDone ? answer : { ...answer, text: writeOutline(task, language) };
}

/** Work that changes something is left in one piece: its order matters. */
function isDivisible(task: string): boolean {
  const errands = findErrands(task);
  if (readPuzzle(task) !== undefined || errands.length === 1) return false;
  return errands.every(({ tool }) => tool === "calculator" || tool === "current_time");
}

function report(question: string, known: readonly Known[], isPartly: boolean, language: Language): string {
  const texts = [...new Set(known.map(({ text }) => text))];
  if (texts.length === 0) return answerAnew(question, []).text;
  const body = texts.join("\n\n");
  const notes = [...(isOutline(body) ? [OUTLINE_NOTE[language]] : []), ...(isPartly ? [PARTLY[language]] : [])];
  return notes.length === 0 ? body : `${notes.join(language === "zh" ? "" : " ")}\n\n${body}`;
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
