/**
 * Prompts of Graph of Thoughts: the question first, then known results, the task, and the answer format last. They must
 * work with any model.
 */
import type { ModelMessage } from "../../models/model.ts";
import type { QuestionContext } from "../agent-kind.ts";
import { createReasonedFormat, describeObject, type ReplyForm } from "../ask-for-json.ts";
import { composePrompt } from "../compose-question.ts";
import type { ThoughtOperation, PlanNode } from "./plan.ts";

/** The result of another node. */
export interface KnownResult {
  readonly id: string;
  readonly task: string;
  readonly text: string;
}

const PLAN_FORM = [
  "Think briefly, then end with one JSON object of this form:",
  '{"nodes": [{"id": "short_name", "task": "what to work out", "needs": ["id of a node whose result it needs"], "operation": "generate"}]}',
  "Operations: generate (work something out), aggregate (combine the results it needs into one), refine (improve the one result it needs), score (compare the results it needs and keep the best).",
];

export const PLAN: ReplyForm = {
  format: createReasonedFormat("plan", {
    nodes: {
      type: "array",
      items: describeObject({
        id: { type: "string" },
        task: { type: "string" },
        needs: { type: "array", items: { type: "string" } },
        operation: { type: "string", enum: ["generate", "aggregate", "refine", "score"] },
      }),
    },
  }),
  again: (fault) => `That plan cannot be carried out: ${fault}. Give the whole plan again, in the same form.`,
};
export const COMPLEXITY: ReplyForm = {
  format: createReasonedFormat("complexity", { complex: { type: "boolean" } }),
  again: (fault) => `That answer cannot be used: ${fault}. Give the line of JSON alone, in the same form.`,
};

export function createScoresForm(known: readonly KnownResult[]): ReplyForm {
  const scores = known.map(({ id }) => [id, { type: "number", description: "From 0 to 1" }] as const);
  return {
    format: createReasonedFormat("scores", { scores: describeObject(Object.fromEntries(scores)) }),
    again: (fault) => `These scores cannot be used: ${fault}. Give all of them again, in the same form.`,
  };
}

function listRules(maxNodes: number): string {
  return `Rules: at most ${maxNodes} nodes; ids of letters, digits, "_" and "-"; no cycles; all nodes connected; end in one node that the others lead to. Use a single node for simple work.`;
}

/** With `isLayered`, only the first layer is requested. */
export function askForPlan(context: QuestionContext, maxNodes: number, isLayered = false): readonly ModelMessage[] {
  return composePrompt(context, [
    "Split the work on this question into a graph of small tasks, so that those which do not need each other can be worked on at the same time.",
    ...PLAN_FORM,
    isLayered
      ? `Rules: at most ${maxNodes} nodes; ids of letters, digits, "_" and "-". Plan only the first layer: tasks that need no other result. Further layers are planned from their results.`
      : listRules(maxNodes),
  ]);
}

export function askForLayer(
  context: QuestionContext,
  known: readonly KnownResult[],
  maxNodes: number,
): readonly ModelMessage[] {
  return composePrompt(context, [
    ...describeKnown(known),
    "Plan the next layer of the work on this question: tasks that go on from the results above.",
    ...PLAN_FORM,
    `Rules: at most ${maxNodes} nodes; new ids of letters, digits, "_" and "-"; "needs" names results above. If the results above are enough for the final answer, give {"nodes": []}.`,
  ]);
}

/** Asks whether a node should become a graph. */
export function askIfComplex(
  context: QuestionContext,
  node: PlanNode,
  known: readonly KnownResult[],
): readonly ModelMessage[] {
  return composePrompt(context, [
    ...describeKnown(known),
    describeTask(node),
    "Would this task be done clearly better if it were split into smaller tasks? Think briefly, then end with one line of JSON:",
    '{"complex": true or false}',
  ]);
}

export function askForExpansion(
  context: QuestionContext,
  node: PlanNode,
  known: readonly KnownResult[],
  maxNodes: number,
): readonly ModelMessage[] {
  return composePrompt(context, [
    ...describeKnown(known),
    describeTask(node),
    "Split the work on this task into a graph of smaller tasks, so that those which do not need each other can be worked on at the same time.",
    ...PLAN_FORM,
    listRules(maxNodes),
  ]);
}

const WORK: { readonly [K in Exclude<ThoughtOperation, "score">]: string } = {
  generate: "Work on this task only. Write its result, and nothing else.",
  aggregate:
    "Combine the results above into one for this task: keep what matters, say nothing twice. Write the combined result, and nothing else.",
  refine:
    "Improve the result above for this task: correct what is wrong, add what is missing. Write the whole improved result, and nothing else.",
};

export function askForWork(
  context: QuestionContext,
  node: PlanNode,
  known: readonly KnownResult[],
): readonly ModelMessage[] {
  const { operation } = node;
  const what = operation === "score" ? WORK.generate : WORK[operation];
  return composePrompt(context, [...describeKnown(known), describeTask(node), what]);
}

export function askForScores(
  context: QuestionContext,
  node: PlanNode,
  known: readonly KnownResult[],
): readonly ModelMessage[] {
  const form = known.map(({ id }) => `${JSON.stringify(id)}: 0.0 to 1.0`).join(", ");
  return composePrompt(context, [
    ...describeKnown(known),
    describeTask(node),
    "Rate each of the results above for this task. Think briefly, then end with one line of JSON:",
    `{"scores": {${form}}}`,
  ]);
}

/** A node without a result. It is named, so that the answer can mention the gap. */
export type MissingNode = {
  readonly id: string;
  readonly task: string;
  readonly reason: string;
};

export function askForAnswer(
  context: QuestionContext,
  known: readonly KnownResult[],
  missing: readonly MissingNode[],
): readonly ModelMessage[] {
  const gaps = missing.map(({ id, task, reason }) => `- ${id} (${task}): ${reason}`);
  return composePrompt(context, [
    ...describeKnown(known),
    ...(gaps.length === 0 ? [] : [`Missing, because it could not be worked out:\n${gaps.join("\n")}`]),
    "Write the final answer for the user, from these results and in the language of the question.",
  ]);
}

function describeKnown(known: readonly KnownResult[]): readonly string[] {
  return known.map(({ id, task, text }) => `Result of ${id} (${task}):\n${text}`);
}

function describeTask({ id, task }: PlanNode): string {
  return `Task ${id}:\n${task}`;
}
