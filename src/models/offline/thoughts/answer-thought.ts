/**
 * What the offline model says where it is asked to think in a tree or a graph of thoughts. A pure function of the prompt,
 * the tools and the seed; undefined where the prompt is about something else.
 */
import type { ModelMessage, ModelTool } from "../../model.ts";
import type { OfflineAnswer } from "../answer-prompt.ts";
import type { Language } from "../errand.ts";
import { LABEL, readPrompt } from "../read-prompt.ts";
import { answerGraph } from "./answer-graph.ts";
import { answerPuzzle } from "./answer-puzzle.ts";
import { answerTree } from "./answer-tree.ts";
import { findThought, type FoundThought } from "./find-thought.ts";
import { readPuzzle } from "./read-puzzle.ts";

export function answerThought(
  prompt: readonly ModelMessage[],
  tools: readonly ModelTool[],
  seed: number,
): OfflineAnswer | undefined {
  const found = findThought(prompt);
  if (found === undefined) return undefined;
  const { request, before } = found;
  const language: Language = /\p{Script=Han}/u.test(request.question) ? "zh" : "en";
  const answer = think(found, tools, seed, language);
  // Thoughts are nobody's words; the reply says once in a conversation who speaks.
  const isReply = request.kind === "conclude" || request.kind === "report";
  if (!isReply || answer.text === "" || readPrompt(before).isIntroduced) return answer;
  return { ...answer, text: language === "zh" ? `${LABEL.zh}：${answer.text}` : `${LABEL.en}: ${answer.text}` };
}

function think(
  { request, since }: FoundThought,
  tools: readonly ModelTool[],
  seed: number,
  language: Language,
): OfflineAnswer {
  switch (request.kind) {
    case "propose":
    case "sample":
    case "value":
    case "vote":
    case "conclude": {
      const puzzle = readPuzzle(request.question);
      if (puzzle === undefined) return answerTree(request, tools, language);
      return { ...answerPuzzle(puzzle, request, seed, language), calls: [] };
    }
    default:
      return answerGraph(request, since, tools, language);
  }
}
