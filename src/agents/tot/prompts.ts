/**
 * Prompts of Tree of Thoughts: the question first, then the steps so far, and the answer format last. They must work
 * with any model.
 */
import type { QuestionContext } from "../agent-kind.ts";
import type { ModelMessage } from "../../models/model.ts";
import { createFormat, createReasonedFormat, type ReplyForm } from "../ask-for-json.ts";
import { composePrompt } from "../compose-question.ts";
import { shorten } from "../../protocol/cut-text.ts";

/** A thought on the path, its tool calls and their results. */
export interface PathStep {
  /** Identifies a step that appears in several paths; repeated steps are shortened. */
  readonly id?: string;
  readonly text: string;
  readonly actions?: readonly string[];
  readonly observations?: readonly string[];
}

/** Maximum characters of all observations in a prompt, and of a repeated step. */
const MAX_OBSERVED = 60_000;
const MAX_AGAIN = 200;

/** `isStructured` if the answer is requested with a format. */
export function askForProposals(
  context: QuestionContext,
  path: readonly PathStep[],
  max: number,
  isStructured = false,
): readonly ModelMessage[] {
  return compose(context, path, [
    `List different possible next steps, at most ${max}, the most promising first.`,
    isStructured
      ? 'Each short and complete in itself, as JSON: {"steps": ["one step", "another step"]}. If there is none: {"steps": []}'
      : 'One step per line, each short and complete in itself; no other text. If there is none, write "none".',
  ]);
}

/** Maximum characters of a rating that are shown to the model again. */
const MAX_RATING = 2000;

const ratingAgain = (fault: string): string =>
  `That rating cannot be used: ${fault}. Give the line of JSON alone, in the same form.`;

export const STEPS: ReplyForm = {
  format: createFormat("next_steps", { steps: { type: "array", items: { type: "string" } } }),
  again: (fault) => `That answer cannot be used: ${fault}. Answer in the form that was asked for.`,
  isTooLongFinal: true,
};
export const VALUE: ReplyForm = {
  format: createReasonedFormat("rating", {
    score: { type: "number", description: "From 0 to 1" },
    solved: { type: "boolean" },
  }),
  again: ratingAgain,
  maxShown: MAX_RATING,
};
export const VOTE: ReplyForm = {
  format: createReasonedFormat("vote", {
    best: { type: "integer", description: "Number of the best candidate, from 1" },
    solved: { type: "boolean" },
  }),
  again: ratingAgain,
  maxShown: MAX_RATING,
};

export function askForSample(context: QuestionContext, path: readonly PathStep[]): readonly ModelMessage[] {
  return compose(context, path, [
    'Write the next step only: one short thought that goes on from the steps so far. If there is none, write "none".',
  ]);
}

/** The last step of the path is the one to rate. */
export function askForValue(context: QuestionContext, path: readonly PathStep[]): readonly ModelMessage[] {
  return compose(context, path, [
    "Judge how promising these steps are for answering the question. Think briefly, then end with one line of JSON:",
    '{"score": 0.0 to 1.0, "solved": true or false}',
    "A score of 0 is a dead end. Solved means that the steps already hold the complete and correct answer.",
  ]);
}

export function askForVote(
  context: QuestionContext,
  candidates: readonly (readonly PathStep[])[],
): readonly ModelMessage[] {
  const described = describePaths(candidates);
  const listed = described.map((steps, index) => `Candidate ${index + 1}:\n${steps}`);
  return compose(context, undefined, [
    ...listed,
    "Which candidate is the most promising for answering the question? Think briefly, then end with one line of JSON:",
    '{"best": number of the candidate, "solved": true or false}',
    "Solved means that this candidate already holds the complete and correct answer.",
  ]);
}

/** How the search ended. */
export type SearchOutcome = "solved" | "unsolved" | "dead";

const OUTCOMES: { readonly [K in SearchOutcome]: string } = {
  solved: "The search is over: these steps answer the question.",
  unsolved: "The search is over without a complete answer: these are the most promising steps it found.",
  dead: "The search is over without an answer: every branch that was tried is a dead end.",
};

export function askForAnswer(
  context: QuestionContext,
  path: readonly PathStep[],
  outcome: SearchOutcome,
): readonly ModelMessage[] {
  return compose(context, path, [
    OUTCOMES[outcome],
    "Write the final answer for the user, from these steps and in the language of the question. Where there is no answer, say so.",
  ]);
}

function compose(
  context: QuestionContext,
  path: readonly PathStep[] | undefined,
  task: readonly string[],
): readonly ModelMessage[] {
  const steps = path === undefined ? [] : [`Steps so far:\n${describePaths([path]).join("")}`];
  return composePrompt(context, [...steps, task.join("\n")]);
}

/** Observations are shown only where a step appears first, and share the available space. */
function describePaths(paths: readonly (readonly PathStep[])[]): readonly string[] {
  const seen = new Set<string>();
  const shown = paths.map((path) =>
    path.map((step): PathStep => {
      const { id, text } = step;
      if (id === undefined || !seen.has(id)) {
        if (id !== undefined) seen.add(id);
        return step;
      }
      return { text: shorten(text, MAX_AGAIN) };
    }),
  );
  const count = shown.flat().reduce((sum, { observations = [] }) => sum + observations.length, 0);
  const room = Math.floor(MAX_OBSERVED / Math.max(1, count));
  return shown.map((path) =>
    path.length === 0 ? "(none)" : path.map((step, n) => describeStep(step, n + 1, room)).join("\n"),
  );
}

function describeStep({ text, actions = [], observations = [] }: PathStep, number: number, room: number): string {
  return [
    `${number}. ${text}`,
    ...actions.map((call) => `   Action: ${call}`),
    ...observations.map((seen) => `   Observation: ${shorten(markLines(seen), room)}`),
  ].join("\n");
}

/** Marks the lines of tool output, so that none can be mistaken for a step or an instruction. */
function markLines(text: string): string {
  return text.replaceAll(/\r\n?|[\n\v\f\u0085\u2028\u2029]/g, "\n   | ");
}
