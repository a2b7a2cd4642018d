/**
 * Answers a message of the user: tool calls for what its rules find, in rounds, and then one text about the results. A
 * pure function of the prompt and the tools.
 */
import type { JsonObject } from "../../protocol/index.ts";
import type { ModelTool } from "../model.ts";
import { COURTESIES, DEMO, type Say, speak } from "./demo-texts.ts";
import { isSolved, type PuzzleNumber, readPuzzle, solvePuzzle, writeNumbers } from "./game-of-24.ts";
import { quotePassages } from "./passages.ts";
import type { CompletedCall, DemoConversation } from "./read-conversation.ts";
import { RULES } from "./rules.ts";
import { type DemoTask, SEARCH_TOOL, searchFor } from "./demo-task.ts";

export interface DemoAnswer {
  readonly reasoning?: string;
  readonly text: string;
  readonly calls?: readonly { readonly name: string; readonly input: JsonObject }[];
  /** Message to fail with, after the text: the user asked for an error. */
  readonly error?: string;
  /** Whether this answer of a search is the reply to the user. */
  readonly isReply?: boolean;
  /** Whether this is one of the many short answers of a search. */
  readonly isStep?: boolean;
}

const MAX_TASKS = 8;
/** Characters of a message that are read. */
const READ_CHARACTERS = 4000;

/** What the rules find in the message, in its order. */
export function findTasks(conversation: DemoConversation, tools: readonly ModelTool[]): readonly DemoTask[] {
  const { message, language } = conversation;
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  const context = { ...conversation, say: speak(language), tools: offered };
  let rest = message.slice(0, READ_CHARACTERS);
  const found: { readonly at: number; readonly task: DemoTask }[] = [];
  for (const { words, create } of RULES)
    rest = rest.replaceAll(words, (match, ...more: readonly unknown[]) => {
      const at = more.find((one) => typeof one === "number") ?? 0;
      const tasks = create((more.at(-1) ?? {}) as Parameters<typeof create>[0], context);
      found.push(...tasks.map((task) => ({ at, task })));
      // The mark ends a clause, and no other rule reads the words again.
      return tasks.length === 0 ? match : ";".repeat(match.length);
    });
  const inOrder = found.toSorted((a, b) => a.at - b.at).map(({ task }) => task);
  return inOrder.slice(0, MAX_TASKS);
}

export function answerMessage(conversation: DemoConversation, tools: readonly ModelTool[]): DemoAnswer {
  const { message, language, files, passages, done } = conversation;
  const say = speak(language);
  const offered = new Set(tools.map(({ name }) => name));
  const [, courtesy] = COURTESIES.find(([words]) => words.test(message)) ?? [];
  const puzzle = readPuzzle(message);
  const found = puzzle === undefined ? findTasks(conversation, tools) : [];
  // A question that no rule answers is searched for.
  const isSearched = found.length + files.length === 0 && puzzle === undefined && courtesy === undefined;
  const tasks =
    isSearched && offered.has(SEARCH_TOOL) && QUESTION.test(message) ? [searchFor(message, language)] : found;
  const steps = matchResults(
    // Passages that came with the prompt replace a search.
    passages === undefined || offered.has(SEARCH_TOOL) ? tasks : tasks.filter(({ tool }) => tool !== SEARCH_TOOL),
    done,
  );
  const next = chooseCalls(steps, offered);
  if (next.length > 0) {
    const said = next.map(({ text }) => text).join("");
    const plan = next.map(({ about, call }) => `${about} (${call.name})`);
    const reasoning = say(`To do: ${plan.join(", ")}.`, `要做：${plan.join("，")}。`);
    return { reasoning: said === "" ? reasoning : "", text: said, calls: next.map(({ call }) => call) };
  }
  const isFailing = tasks.some(({ isFault }) => isFault) && isApproved(steps);
  const texts = [
    ...steps.map((step) => describeStep(step, steps, offered, say)),
    ...files,
    isFailing ? say("Here is the error you asked for.", "这就是你要的错误。") : "",
    puzzle === undefined ? "" : describeSolution(puzzle, solvePuzzle(puzzle), say),
  ].filter((text) => text !== "");
  if (texts.length === 0) {
    const isQuoted = passages !== undefined && courtesy === undefined;
    texts.push(isQuoted ? quotePassages(passages, language) : (courtesy ?? DEMO)[language]);
  }
  return {
    reasoning: describeDone(steps, say),
    text: texts.reduce((text, one) => `${text}${text.endsWith("\n") ? "" : say(" ", "")}${one}`),
    ...(isFailing ? { error: say("The offline model failed on request.", "离线模型按要求出错。") } : {}),
  };
}

const QUESTION =
  /[?？]|^\s*(?:what|how|why|where|which|who|when|is|are|do|does|can|explain|describe|tell me)\b|什么|如何|怎么|为什么|哪|吗|介绍|解释/i;

/** Says what was found for a Game of 24. `left` are the numbers that are left. */
export function describeSolution(puzzle: readonly PuzzleNumber[], left: readonly PuzzleNumber[], say: Say): string {
  const [only] = left;
  if (only !== undefined && isSolved(left))
    return say(`${only.text} = 24, using each number once.`, `${only.text} = 24，每个数正好用一次。`);
  const given = writeNumbers(puzzle);
  return isSolved(solvePuzzle(puzzle))
    ? say(`I found no way to make 24 from ${given}.`, `没有找到用 ${given} 算出 24 的方法。`)
    : say(`24 cannot be made from ${given}: I tried every combination.`, `${given} 算不出 24：所有组合都试过了。`);
}

interface TaskStep {
  readonly task: DemoTask;
  readonly done: CompletedCall | undefined;
}

/** Each task gets the first result of its tool that no other task has. */
function matchResults(tasks: readonly DemoTask[], done: readonly CompletedCall[]): readonly TaskStep[] {
  const left = [...done];
  return tasks.map((task) => {
    const at = left.findIndex(({ tool }) => tool === task.tool);
    return { task, done: at < 0 ? undefined : left.splice(at, 1)[0] };
  });
}

function isApproved(steps: readonly TaskStep[]): boolean {
  return steps.every(({ task, done }) => task.isConsent !== true || done?.isError === false);
}

/** The calls of the next round, with the text before each. */
function chooseCalls(steps: readonly TaskStep[], offered: ReadonlySet<string>) {
  const consent = steps.find(({ task, done }) => task.isConsent === true && done === undefined);
  if (consent === undefined && !isApproved(steps)) return [];
  const open = steps.filter(({ task, done }) => done === undefined && offered.has(task.tool));
  return open.flatMap((step, index) => {
    const { about, tool: name, path, isLater, createInput, announce } = step.task;
    if (consent !== undefined && step !== consent) return [];
    if (open.slice(0, index).some(({ task }) => isLater === true || isSameFile(path, task.path))) return [];
    const before = steps.slice(0, steps.indexOf(step));
    const earlier = before.flatMap(({ done }) => (done?.isError === false ? [done.result] : [])).join("\n");
    const input = createInput(earlier);
    return input === undefined ? [] : [{ about, text: announce?.(earlier) ?? "", call: { name, input } }];
  });
}

function isSameFile(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && (one === "" || other === "" || one === other);
}

function describeStep(
  { task, done }: TaskStep,
  steps: readonly TaskStep[],
  offered: ReadonlySet<string>,
  say: Say,
): string {
  const { tool, about, isFault, describe } = task;
  if (done?.isError === false) return describe(done.result);
  if (isFault === true) return "";
  let why = done?.result ?? "";
  if (done === undefined && !offered.has(tool)) why = say(`the tool ${tool} is not available`, `工具 ${tool} 不可用`);
  else if (done === undefined && !isApproved(steps)) why = say("not approved", "未获同意");
  if (why === "") return "";
  return say(`Not done (${about}): ${why.replace(/\.?$/, ".")}`, `未完成（${about}）：${why.replace(/[.。]?$/, "。")}`);
}

function describeDone(steps: readonly TaskStep[], say: Say): string {
  const done = steps.filter((step) => step.done !== undefined).map(({ task }) => task);
  // The text with the call has already said what follows.
  if (done.some(({ announce }) => announce !== undefined)) return "";
  const names = done.map(({ about }) => about);
  if (names.length === 0) return say("No tool needed.", "不需要工具。");
  return say(`Results: ${names.join(", ")}.`, `已有结果：${names.join("，")}。`);
}
