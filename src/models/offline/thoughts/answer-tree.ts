/**
 * The offline model in a tree of thoughts about anything but a puzzle: a call of a tool is a step, one at a time, and when
 * nothing is left to be called the answer is one. A step says by its first word whether it is the answer.
 */
import type { ModelMessage, ModelTool } from "../../model.ts";
import type { OfflineAnswer } from "../answer-prompt.ts";
import type { Language } from "../errand.ts";
import { SEARCH_TOOL } from "../knowledge.ts";
import { answerAnew, describeCall } from "./answer-anew.ts";
import { answerWhole } from "./answer-whole.ts";
import { listSections } from "./plan-work.ts";
import type { ThoughtStep, TreeRequest } from "./read-thought.ts";

const ANSWER = { en: "Answer: ", zh: "回答：" } as const;
const ASK_BACK = { en: "Ask what exactly is meant.", zh: "先问清楚具体是指什么。" } as const;

export function answerTree(
  request: TreeRequest,
  tools: readonly ModelTool[],
  before: readonly ModelMessage[],
  language: Language,
): OfflineAnswer {
  switch (request.kind) {
    case "propose":
      return findNextStep(request, request.max, tools, before, language);
    case "sample":
      return findNextStep(request, 1, tools, before, language);
    case "value": {
      const { score, isAnswer, why } = judge(request.steps, language);
      return say(`${why}\n${JSON.stringify({ score, solved: isAnswer })}`);
    }
    case "vote": {
      const judged = request.candidates.map((steps) => judge(steps, language));
      let best = 0;
      for (const [index, { score }] of judged.entries()) if (score > (judged[best]?.score ?? 0)) best = index;
      const { isAnswer = false, why = "" } = judged[best] ?? {};
      return say(`${why}\n${JSON.stringify({ best: best + 1, solved: isAnswer })}`.trim());
    }
    case "conclude":
      return say(conclude(request, before, language));
  }
}

interface Path {
  readonly question: string;
  readonly steps: readonly ThoughtStep[];
}

function findNextStep(
  { question, steps }: Path,
  max: number,
  tools: readonly ModelTool[],
  before: readonly ModelMessage[],
  language: Language,
): OfflineAnswer {
  const options = { tools, since: listDone(steps), before, language, isShort: true };
  const { reasoning, text, calls, error } = answerWhole(question, options);
  // Only the first: the results are told apart by their order.
  if (calls.length > 0) return { reasoning, text: "", calls: calls.slice(0, 1) };
  if (error !== undefined) return { reasoning, text, calls: [], error };
  const lines = [ANSWER[language] + putInLine(text)];
  if (max > 1 && steps.length === 0) lines.push(ASK_BACK[language]);
  return { reasoning, text: lines.join("\n"), calls: [] };
}

/** A step is a line: what is listed in lines of its own is listed in it. */
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

interface Verdict {
  readonly score: number;
  readonly isAnswer: boolean;
  readonly why: string;
}

function judge(steps: readonly ThoughtStep[], language: Language): Verdict {
  const last = steps.at(-1);
  if (last === undefined) return { score: 0, isAnswer: false, why: WHY.nothing[language] };
  if (readAnswer(last) !== undefined) return { score: 0.95, isAnswer: true, why: WHY.answer[language] };
  if (last.actions.length > 0 || CALL.test(last.text)) return { score: 0.8, isAnswer: false, why: WHY.call[language] };
  return { score: 0.2, isAnswer: false, why: WHY.talk[language] };
}

const WHY = {
  nothing: { en: "There is no step to judge.", zh: "没有可以评判的步骤。" },
  answer: { en: "This is all that my rules can say about it.", zh: "按我的规则，这就是全部回答。" },
  call: { en: "A tool will tell.", zh: "工具会给出结果。" },
  talk: { en: "This does not lead far.", zh: "这一步走不远。" },
} as const;

function readAnswer({ text }: ThoughtStep): string | undefined {
  const mark = Object.values(ANSWER).find((word) => text.startsWith(word));
  return mark === undefined ? undefined : text.slice(mark.length);
}

function conclude({ question, steps }: Path, before: readonly ModelMessage[], language: Language): string {
  const last = steps.at(-1);
  const since = listDone(steps);
  const answer = last === undefined ? undefined : readAnswer(last);
  if (answer === undefined) return answerAnew(question, [], since, before).text;
  // A step is one line: it told only what an outline would consist of, or a passage without its lines.
  if (listSections(question, language) === undefined && !since.some(isSearch)) return answer;
  return answerWhole(question, { tools: [], since, before, language }).text;
}

function isSearch(message: ModelMessage): boolean {
  return message.role === "tool" && message.content.some(({ toolName }) => toolName === SEARCH_TOOL);
}

/** A call, written as a step or beside it. */
const CALL = /^([A-Za-z_][\w-]{0,63})\(/;

/** The calls of these steps, with their results. */
export function listDone(steps: readonly ThoughtStep[]): readonly ModelMessage[] {
  return steps.flatMap(({ text, actions, observations }, place) => {
    const calls = actions.length > 0 ? actions : [text];
    return observations.flatMap((seen, index) => {
      const [, name] = CALL.exec(calls[index] ?? "") ?? [];
      return name === undefined ? [] : describeCall(`step_${place + 1}_${index + 1}`, name, seen);
    });
  });
}

function say(text: string): OfflineAnswer {
  return { reasoning: "", text, calls: [] };
}
