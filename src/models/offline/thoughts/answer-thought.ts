/**
 * Answers the prompts of tree-of-thoughts and graph-of-thoughts agents. A pure function of the prompt, the tools and
 * the seed; returns undefined for any other prompt.
 */
import type { ModelMessage, ModelTool } from "../../model.ts";
import type { OfflineAnswer } from "../answer-prompt.ts";
import type { OfflineLanguage } from "../offline-task.ts";
import { describeFiles } from "../read-files.ts";
import { LABEL, readPrompt } from "../read-prompt.ts";
import { answerGraph } from "./answer-graph.ts";
import { answerPuzzle } from "./answer-puzzle.ts";
import { answerTree, listDone } from "./answer-tree.ts";
import { findThought, type FoundThought } from "./find-thought.ts";
import { readConsent } from "./read-consent.ts";
import { readPuzzle } from "./read-puzzle.ts";
import type { ThoughtStep, TreeRequest } from "./read-thought.ts";

const SEARCHING: ReadonlySet<string> = new Set(["propose", "sample", "value", "vote"]);

export function answerThought(
  prompt: readonly ModelMessage[],
  tools: readonly ModelTool[],
  seed: number,
): OfflineAnswer | undefined {
  const found = findThought(prompt);
  if (found === undefined) return undefined;
  const { request, before } = found;
  const language: OfflineLanguage = /\p{Script=Han}/u.test(request.question) ? "zh" : "en";
  const thought = think(found, tools, seed, language);
  // Only the reply to the user carries the label, once per conversation.
  const isReply = request.kind === "conclude" || request.kind === "report";
  const files = isReply ? describeFiles(readPrompt(prompt).files, language) : [];
  const text = [...files, thought.text].filter((part) => part !== "").join(language === "zh" ? "" : " ");
  const isSearchStep = SEARCHING.has(request.kind);
  const answer = { ...thought, text, ...(isSearchStep ? { isSearchStep } : {}) };
  if (!isReply || answer.text === "" || readPrompt(before).hasLabel) return answer;
  return { ...answer, text: language === "zh" ? `${LABEL.zh}：${answer.text}` : `${LABEL.en}: ${answer.text}` };
}

function think(
  { request, before, since }: FoundThought,
  tools: readonly ModelTool[],
  seed: number,
  language: OfflineLanguage,
): OfflineAnswer {
  switch (request.kind) {
    case "propose":
    case "sample":
    case "value":
    case "vote":
    case "conclude": {
      const puzzle = readPuzzle(request.question);
      const moves = puzzle === undefined || "unread" in puzzle ? undefined : omitConsentSteps(request);
      if (puzzle === undefined || "unread" in puzzle || moves === undefined)
        return answerTree(request, tools, before, language);
      return { ...answerPuzzle(puzzle, moves, seed, language), calls: [] };
    }
    default:
      return answerGraph(request, { since, before, tools, language });
  }
}

/** Returns the request with the moves only, or undefined if the user has not approved yet or has refused. */
function omitConsentSteps(request: TreeRequest): TreeRequest | undefined {
  const paths = request.kind === "vote" ? request.candidates : [request.steps];
  const states = paths.map((steps) => readConsent(request.question, listDone(steps)));
  if (states.every((state) => state === "none")) return request;
  if (!states.every((state) => state === "given")) return undefined;
  const isMove = ({ observations }: ThoughtStep): boolean => observations.length === 0;
  if (request.kind !== "vote") return { ...request, steps: request.steps.filter(isMove) };
  return { ...request, candidates: paths.map((steps) => steps.filter(isMove)) };
}
