/**
 * Answers the prompts of a tree search about anything but a puzzle: each tool call is a step, and the last step is the
 * answer, marked by its first word.
 */
import type { ModelMessage, ModelTool } from "../../model.ts";
import type { OfflineAnswer } from "../answer-prompt.ts";
import type { OfflineLanguage } from "../offline-task.ts";
import { SEARCH_TOOL } from "../knowledge.ts";
import { answerAsMessage, describeCall } from "./answer-as-message.ts";
import { answerWhole } from "./answer-whole.ts";
import { listSections } from "./plan-work.ts";
import type { ThoughtStep, TreeRequest } from "./read-thought.ts";

const ANSWER = { en: "Answer: ", zh: "回答：" } as const;
const ASK_BACK = { en: "Ask a clarifying question.", zh: "先问清楚具体含义。" } as const;

export function answerTree(
  request: TreeRequest,
  tools: readonly ModelTool[],
  before: readonly ModelMessage[],
  language: OfflineLanguage,
): OfflineAnswer {
  switch (request.kind) {
    case "propose":
      return findNextStep(request, request.max, tools, before, language);
    case "sample":
      return findNextStep(request, 1, tools, before, language);
    case "value": {
      const { score, isAnswer, why } = judge(request.steps, language);
      return createAnswer(`${why}\n${JSON.stringify({ score, solved: isAnswer })}`);
    }
    case "vote": {
      const judged = request.candidates.map((steps) => judge(steps, language));
      let best = 0;
      for (const [index, { score }] of judged.entries()) if (score > (judged[best]?.score ?? 0)) best = index;
      const { isAnswer = false, why = "" } = judged[best] ?? {};
      return createAnswer(`${why}\n${JSON.stringify({ best: best + 1, solved: isAnswer })}`.trim());
    }
    case "conclude":
      return createAnswer(conclude(request, before, language));
  }
}

interface ThoughtPath {
  readonly question: string;
  readonly steps: readonly ThoughtStep[];
}

function findNextStep(
  { question, steps }: ThoughtPath,
  max: number,
  tools: readonly ModelTool[],
  before: readonly ModelMessage[],
  language: OfflineLanguage,
): OfflineAnswer {
  const options = { tools, since: listDone(steps), before, language, isShort: true };
  const { reasoning, text, calls, error } = answerWhole(question, options);
  // Only the first call: results are matched by order.
  if (calls.length > 0) return { reasoning, text: "", calls: calls.slice(0, 1) };
  if (error !== undefined) return { reasoning, text, calls: [], error };
  const lines = [ANSWER[language] + putInLine(text)];
  if (max > 1 && steps.length === 0) lines.push(ASK_BACK[language]);
  return { reasoning, text: lines.join("\n"), calls: [] };
}

/** A step is one line, so lists are written inline. */
function putInLine(text: string): string {
  let line = "";
  for (const part of text.split("\n").map((one) => one.trim())) {
    if (part === "") continue;
    const isItem = part.startsWith("- ");
    if (isItem) line += line.endsWith(":") || line.endsWith("：") ? ` ${part.slice(2)}` : ` / ${part.slice(2)}`;
    else line += /[^.?!:。？！：]$/.test(line) ? `. ${part}` : ` ${part}`;
  }
  return line.trim();
}

interface StepVerdict {
  readonly score: number;
  readonly isAnswer: boolean;
  readonly why: string;
}

function judge(steps: readonly ThoughtStep[], language: OfflineLanguage): StepVerdict {
  const last = steps.at(-1);
  if (last === undefined) return { score: 0, isAnswer: false, why: WHY.nothing[language] };
  if (readAnswer(last) !== undefined) return { score: 0.95, isAnswer: true, why: WHY.answer[language] };
  if (last.actions.length > 0 || CALL.test(last.text)) return { score: 0.8, isAnswer: false, why: WHY.call[language] };
  return { score: 0.2, isAnswer: false, why: WHY.talk[language] };
}

const WHY = {
  nothing: { en: "No step to judge.", zh: "没有可评判的步骤。" },
  answer: { en: "Complete by my rules.", zh: "按我的规则，回答已完整。" },
  call: { en: "A tool can answer this.", zh: "工具可以给出结果。" },
  talk: { en: "This step adds little.", zh: "这一步帮助不大。" },
} as const;

function readAnswer({ text }: ThoughtStep): string | undefined {
  const mark = Object.values(ANSWER).find((word) => text.startsWith(word));
  return mark === undefined ? undefined : text.slice(mark.length);
}

function conclude(
  { question, steps }: ThoughtPath,
  before: readonly ModelMessage[],
  language: OfflineLanguage,
): string {
  const last = steps.at(-1);
  const since = listDone(steps);
  const answer = last === undefined ? undefined : readAnswer(last);
  if (answer === undefined) return answerAsMessage(question, [], since, before).text;
  // A step is one line, so it holds only the headings of an outline, or a passage without its line breaks.
  if (listSections(question, language) === undefined && !since.some(isSearch)) return answer;
  return answerWhole(question, { tools: [], since, before, language }).text;
}

function isSearch(message: ModelMessage): boolean {
  return message.role === "tool" && message.content.some(({ toolName }) => toolName === SEARCH_TOOL);
}

/** A tool call, written as a step or next to it. */
const CALL = /^([A-Za-z_][\w-]{0,63})\(/;

/** Returns the calls of these steps with their results. */
export function listDone(steps: readonly ThoughtStep[]): readonly ModelMessage[] {
  return steps.flatMap(({ text, actions, observations }, place) => {
    const calls = actions.length > 0 ? actions : [text];
    return observations.flatMap((seen, index) => {
      const [, name] = CALL.exec(calls[index] ?? "") ?? [];
      return name === undefined ? [] : describeCall(`step_${place + 1}_${index + 1}`, name, seen);
    });
  });
}

function createAnswer(text: string): OfflineAnswer {
  return { reasoning: "", text, calls: [] };
}
