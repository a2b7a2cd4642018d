/**
 * Answers the prompts of a graph of thoughts: plans, decides what is complex, works on tasks, combines, improves and
 * rates results, and writes the reply. Tasks without a tool get an outline that is marked as such.
 */
import type { OfflineAnswer } from "../answer-prompt.ts";
import type { OfflineLanguage } from "../offline-task.ts";
import { findTasks } from "../find-tasks.ts";
import { answerAsMessage } from "./answer-as-message.ts";
import { answerWhole, hasToolTasks, type WholeAnswerOptions } from "./answer-whole.ts";
import { findProject } from "./find-project.ts";
import { isWholeTask, planQuestion, planTask } from "./plan-work.ts";
import { readConsent } from "./read-consent.ts";
import { readPuzzle } from "./read-puzzle.ts";
import type { GraphRequest, ThoughtResult, WorkKind } from "./read-thought.ts";
import { splitTask } from "./split-task.ts";
import {
  combineResults,
  isOutline,
  listWords,
  OUTLINE_NOTE,
  rateResult,
  refineResult,
  describeLeftOut,
  writeOutline,
} from "./write-outline.ts";

export function answerGraph(request: GraphRequest, options: WholeAnswerOptions): OfflineAnswer {
  const { language } = options;
  const { question, task, known } = request;
  const text = task?.text ?? question;
  switch (request.kind) {
    case "plan": {
      const plan = task === undefined ? planQuestion : planTask;
      const whole = plan(text, request.layer === undefined ? request.maxNodes : MAX_NODES, language);
      const nodes = request.layer === undefined ? whole : chooseLayer(whole, known, request.maxNodes);
      return createAnswer(`${describeCount(nodes.length, language)}\n${JSON.stringify({ nodes })}`);
    }
    case "complexity": {
      const isPart = task?.id.includes(".") === true;
      const isOne = isPart || !isDivisible(text) || readConsent(question, []) !== "none";
      const parts = isOne ? [] : splitTask(text, language);
      const items = parts.map(({ item }) => item);
      return createAnswer(`${describeItems(items, language)}\n${JSON.stringify({ complex: items.length > 1 })}`);
    }
    case "score": {
      const words = listWords(`${text}\n${question}`);
      const results = new Map(known.map((one) => [one.id, one]));
      const rated = request.ids.map((id): readonly [string, number] => {
        const result = results.get(id);
        return [id, result === undefined ? 0 : rateResult(result, words)];
      });
      const said = rated.map(([id, score]) => `${id}: ${score}`).join(", ");
      return createAnswer(`${said}\n${JSON.stringify({ scores: Object.fromEntries(rated) })}`);
    }
    case "work":
      if (request.work === "generate" && FAIL.test(text)) {
        return { reasoning: "", text: "", calls: [], error: "failed on request" };
      }
      return work(text, isWholeTask(text, question) ? question : undefined, request.work, known, options);
    case "report":
      return createAnswer(report(question, known, request.missing.length > 0, options));
  }
}

/** Nodes of the whole plan, which is the same for every layer. */
const MAX_NODES = 50;

/** The nodes that come next: they have no result, and all they need has one. */
function chooseLayer<T extends { readonly id: string; readonly needs: readonly string[] }>(
  nodes: readonly T[],
  known: readonly ThoughtResult[],
  max: number,
): readonly T[] {
  const done = new Set(known.map(({ id }) => id));
  return nodes.filter(({ id, needs }) => !done.has(id) && needs.every((need) => done.has(need))).slice(0, max);
}

/** A requested error: "Compare tea, coffee and fail on purpose" has one task that fails. */
const FAIL = /^(?:about |please )?fail on purpose[.!]?$|^(?:介绍|请)?故意出错[。！]?$/i;

function work(
  task: string,
  whole: string | undefined,
  how: WorkKind,
  known: readonly ThoughtResult[],
  options: WholeAnswerOptions,
): OfflineAnswer {
  const { tools, since, before, language } = options;
  const [first] = known;
  if (how === "aggregate" && first !== undefined) return createAnswer(combineResults(task, known, language));
  if (how === "refine" && first !== undefined) return createAnswer(refineResult(first.text, language));
  if (whole !== undefined) return answerWhole(whole, options);
  // Tasks that the message rules can handle are answered by them; all others get an outline.
  const answer = answerAsMessage(task, tools, since, before);
  const isKnown = findTasks(task).length > 0 || readPuzzle(task) !== undefined;
  return isKnown || answer.calls.length > 0 || answer.error !== undefined
    ? answer
    : { ...answer, text: writeOutline(task, language) };
}

/** Work that changes something is not split, because its order matters. */
function isDivisible(task: string): boolean {
  const tasks = findTasks(task);
  if (readPuzzle(task) !== undefined || tasks.length === 1) return false;
  return tasks.every(({ tool }) => tool === "calculator" || tool === "current_time");
}

function report(
  question: string,
  known: readonly ThoughtResult[],
  isPartly: boolean,
  { before, language }: WholeAnswerOptions,
): string {
  const texts = [...new Set(known.map(({ text }) => text))];
  if (texts.length === 0) return answerAsMessage(question, [], [], before).text;
  const leftOut = hasToolTasks(question) ? "" : describeLeftOut(findProject(question, language)?.leftOut, language);
  const joined = texts.join("\n\n");
  const body = joined.includes(leftOut) ? joined : `${joined}\n\n${leftOut}`;
  const notes = [...(isOutline(body) ? [OUTLINE_NOTE[language]] : []), ...(isPartly ? [PARTLY[language]] : [])];
  const missing = notes.filter((note) => !body.includes(note));
  return missing.length === 0 ? body : `${missing.join(language === "zh" ? "" : " ")}\n\n${body}`;
}

const PARTLY = { en: "Some parts are missing.", zh: "部分内容缺失。" } as const;

function describeCount(count: number, language: OfflineLanguage): string {
  if (language === "zh") return count === 1 ? "问题简单，一个节点即可。" : `拆分为 ${count} 个节点。`;
  return count === 1 ? "Simple: one node." : `Split into ${count} nodes.`;
}

function describeItems(items: readonly string[], language: OfflineLanguage): string {
  if (items.length < 2) return language === "zh" ? "只有一个主题。" : "One topic.";
  return language === "zh"
    ? `共 ${items.length} 个主题：${items.join("、")}。`
    : `${items.length} topics: ${items.join(", ")}.`;
}

function createAnswer(text: string): OfflineAnswer {
  return { reasoning: "", text, calls: [] };
}
