/**
 * Answers the prompts of tree and graph searches: moves of a Game of 24, the plan of a report or a comparison, and a
 * fixed example, labelled as one, for any other question. Returns undefined for any other prompt.
 *
 * What is asked is the name of the requested format; prompts that ask for text are recognized by their first words.
 */
import type { ModelTool } from "../model.ts";
import { answerMessage, type DemoAnswer, describeSolution, findTasks } from "./answer-message.ts";
import { EXAMPLE_NOTE, EXAMPLE_STEPS, readLanguage, type Say, speak } from "./demo-texts.ts";
import { followSteps, guess, isSolved, proposeMoves, rateNumbers, readPuzzle, writeNumbers } from "./game-of-24.ts";
import { describePart, expandTask, isComplex, planWork, REPLY } from "./plan-work.ts";
import type { DemoConversation } from "./read-conversation.ts";

/** A prompt of a search. */
interface Thought {
  readonly text: string;
  /** The conversation, with the question as its message. */
  readonly asked: DemoConversation;
  readonly tools: readonly ModelTool[];
  readonly seed: number;
  readonly say: Say;
}

const QUESTION = "Question:\n";
/** Begins what follows the question, and what follows a result. */
const SECTION =
  /\n\n(?=Steps so far:|Candidate 1:|Result of |Task \S+:\n|Missing, because|List different|Write the |Judge how|Split the work|Plan the next|Would this task|Rate each|Work on this|Combine the results|Improve the result|The search is over)/;

export function answerThought(
  conversation: DemoConversation,
  tools: readonly ModelTool[],
  format: string | undefined,
  seed: number,
): DemoAnswer | undefined {
  const { message: text } = conversation;
  const [first = "", ...others] = text.startsWith(QUESTION) ? text.split(SECTION) : [];
  if (others.length === 0) return undefined;
  const message = first.slice(QUESTION.length);
  const language = readLanguage(message);
  const thought = { text, asked: { ...conversation, message, language }, tools, seed, say: speak(language) };
  switch (format) {
    case "next_steps":
      return proposeSteps(thought);
    case "rating":
      return answerRating(thought);
    case "vote":
      return answerJson(vote(thought));
    case "plan":
      return plan(thought);
    case "complexity":
      return answerJson({ complex: isComplex(readTask(text)) });
    case "scores": {
      const scores = listResults(text).map(({ id }) => [id, Math.round(50 + 50 * guess(id)) / 100] as const);
      return answerJson({ scores: Object.fromEntries(scores) });
    }
    default:
      return answerText(thought, others.at(-1) ?? "");
  }
}

function answerJson(value: object): DemoAnswer {
  return { text: JSON.stringify({ why: "", ...value }), isStep: true };
}

function answerText(thought: Thought, task: string): DemoAnswer | undefined {
  if (task.startsWith("List different")) return proposeSteps(thought);
  if (task.startsWith("Write the next step")) return proposeSteps(thought, true);
  if (task.startsWith("The search is over")) return conclude(thought);
  if (task.startsWith("Write the final answer")) return report(thought);
  return /^(?:Work on this|Combine the results|Improve the result)/.test(task) ? work(thought, task) : undefined;
}

function listSteps(text: string): readonly string[] {
  const at = text.lastIndexOf("\nSteps so far:\n");
  return at < 0 ? [] : readSteps(text.slice(at));
}

function readSteps(text: string): readonly string[] {
  return [...text.matchAll(/^\d+\. (.*)$/gm)].map(([, step = ""]) => step);
}

/** At most as many steps as the prompt asks for; one if it asks for a sample. */
function proposeSteps({ text, asked, seed, say }: Thought, isSample = false): DemoAnswer {
  const steps = listSteps(text);
  const max = Number(/at most (\d+)/.exec(text.slice(text.lastIndexOf("\n\n")))?.[1] ?? 8);
  const puzzle = readPuzzle(asked.message);
  const left = (puzzle && followSteps(puzzle, steps)) ?? [];
  const found =
    puzzle === undefined
      ? (EXAMPLE_STEPS[asked.language][steps.length] ?? [])
      : proposeMoves(left, max).map(({ sum, left: rest }) => {
          const numbers = writeNumbers(rest);
          return sum + say(` (left: ${numbers})`, `（剩下：${numbers}）`);
        });
  const at = Math.floor(guess(steps.join(), seed) ** 2 * found.length);
  const chosen = isSample ? found.slice(at, at + 1) : found.slice(0, max);
  return {
    reasoning: left.length === 0 ? "" : say(`Left: ${writeNumbers(left)}.`, `剩下：${writeNumbers(left)}。`),
    text: chosen.length === 0 ? "none" : chosen.join("\n"),
    isStep: true,
  };
}

function answerRating(thought: Thought): DemoAnswer {
  const steps = listSteps(thought.text);
  const rating = rate(thought, steps);
  // Structured answers are not shown to users, but the reasoning is.
  const { say } = thought;
  const reasoning = `${steps.at(-1) ?? ""}${say(`: score ${rating.score}.`, `：${rating.score} 分。`)}`;
  return { ...answerJson(rating), reasoning };
}

function rate({ asked: { message, language } }: Thought, steps: readonly string[], insight?: number) {
  const puzzle = readPuzzle(message);
  if (puzzle !== undefined) {
    const left = followSteps(puzzle, steps) ?? [];
    return { score: left.length === 0 ? 0 : rateNumbers(left, insight), solved: isSolved(left) };
  }
  const solved = steps.length >= EXAMPLE_STEPS[language].length;
  return { score: Math.round(30 + 60 * guess(steps.join())) / 100, solved };
}

/** Who compares sees more than who rates one position. */
const COMPARED = 0.4;

function vote(thought: Thought) {
  const [, ...candidates] = thought.text.split(/^Candidate \d+:$/m);
  const rated = candidates.map((steps) => rate(thought, readSteps(steps), COMPARED));
  const best = rated.reduce((top, { score }, index) => (score > (rated[top]?.score ?? 0) ? index : top), 0);
  return { best: best + 1, solved: rated[best]?.solved ?? false };
}

function conclude({ text, asked: { message, language }, say }: Thought): DemoAnswer {
  const steps = listSteps(text);
  const puzzle = readPuzzle(message);
  if (puzzle !== undefined)
    return { text: describeSolution(puzzle, followSteps(puzzle, steps) ?? puzzle, say), isReply: true };
  const listed = steps.map((step, index) => `${index + 1}. ${step}`);
  return { text: `${EXAMPLE_NOTE[language]}\n\n${listed.join("\n")}`, isReply: true };
}

/** The results of other tasks in the prompt. */
function listResults(text: string) {
  return text.split(SECTION).flatMap((part) => {
    const [, id, task = "", result = ""] = /^Result of (\S+) \((.*?)\):\n(.*)$/s.exec(part) ?? [];
    return id === undefined ? [] : [{ id, task, text: result }];
  });
}

function readTask(text: string): { readonly id: string; readonly task: string } {
  const part = text.split(SECTION).findLast((one) => one.startsWith("Task ")) ?? "";
  const [, id = "", task = ""] = /^Task (\S+):\n(.*)$/s.exec(part) ?? [];
  return { id, task };
}

function plan({ text, asked, tools, say }: Thought): DemoAnswer {
  const max = Number(/at most (\d+) nodes/.exec(text)?.[1] ?? 1);
  const { id, task } = readTask(text);
  const isMessage = readPuzzle(asked.message) !== undefined || findTasks(asked, tools).length > 0;
  const whole = id === "" ? planWork(asked.message, say, max, isMessage) : expandTask(task, say, max);
  const known = new Set(listResults(text).map((result) => result.id));
  const nodes = /Plan (?:only the first|the next) layer/.test(text)
    ? whole.filter((node) => !known.has(node.id) && node.needs.every((need) => known.has(need)))
    : whole;
  const reasoning = say(`Split into ${nodes.length} nodes.`, `拆分为 ${nodes.length} 个节点。`);
  return { reasoning: nodes.length > 1 ? reasoning : "", text: JSON.stringify({ why: "", nodes }) };
}

function work({ text, asked, tools, say }: Thought, kind: string): DemoAnswer {
  const { task } = readTask(text);
  const results = listResults(text);
  const [first] = results;
  if (kind.startsWith("Combine") && first !== undefined) {
    // The headings of a part move one level down.
    const parts = results.map((one) => [
      `### ${one.task}`,
      one.text.replace(/^## .*\n+/, "").replaceAll(/^### /gm, "#### "),
    ]);
    return { text: [`## ${task}`, ...parts.flat()].join("\n\n") };
  }
  if (kind.startsWith("Improve") && first !== undefined) {
    const parts = first.text.match(/^### /gm)?.length ?? 1;
    return { text: `${first.text}\n\n${say(`Summary: ${parts} parts.`, `小结：共 ${parts} 个部分。`)}` };
  }
  if (/fail on purpose|故意出错/i.test(task)) return { text: "", error: "failed on request" };
  return task.trim() === asked.message.trim() ? answerMessage(asked, tools) : { text: describePart(task, say) };
}

function report({ text, asked: { language }, say }: Thought): DemoAnswer {
  const results = listResults(text);
  const isMissing = text.includes("\n\nMissing, because");
  const notes = [
    ...(results.some(({ id }) => id === REPLY) ? [] : [EXAMPLE_NOTE[language]]),
    ...(isMissing ? [say("Some parts are missing.", "部分内容缺失。")] : []),
  ];
  return { text: [...notes, ...new Set(results.map((result) => result.text))].join("\n\n"), isReply: true };
}
