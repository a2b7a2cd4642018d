/**
 * What the model is asked on the way through a graph of thoughts. Written for any model: plain words, the question first,
 * then what is known, then the task, and last of all the form of the answer. Nothing here knows how an answer is read.
 */
import type { ModelMessage } from "../../models/model.ts";
import type { AgentContext } from "../agent-kind.ts";
import type { Operation, PlanNode } from "./plan.ts";

type Asked = Pick<AgentContext, "system" | "history" | "question"> & Partial<Pick<AgentContext, "files">>;

/** The result of another node. */
export interface Known {
  readonly id: string;
  readonly task: string;
  readonly text: string;
}

const PLAN_FORM = [
  "Think briefly, then end with one JSON object of this form:",
  '{"nodes": [{"id": "short_name", "task": "what to work out", "needs": ["id of a node whose result it needs"], "operation": "generate"}]}',
  "Operations: generate (work something out), aggregate (combine the results it needs into one), refine (improve the one result it needs), score (compare the results it needs and keep the best).",
];

function listRules(maxNodes: number): string {
  return `Rules: at most ${maxNodes} nodes; ids of letters, digits, "_" and "-"; no cycles; all nodes connected; end in one node that the others lead to. What is simple is a single node.`;
}

export function askForPlan(asked: Asked, maxNodes: number): readonly ModelMessage[] {
  return compose(asked, [
    "Split the work on this question into a graph of small tasks, so that those which do not need each other can be worked on at the same time.",
    ...PLAN_FORM,
    listRules(maxNodes),
  ]);
}

/** After an answer that was no plan, or none that can be carried out. */
export function askForPlanAgain(
  first: readonly ModelMessage[],
  answer: string,
  fault: string,
): readonly ModelMessage[] {
  return askAgain(
    first,
    answer,
    `That plan cannot be carried out: ${fault}. Give the whole plan again, in the same form.`,
  );
}

/** Whether a node should become a graph itself. */
export function askIfComplex(asked: Asked, node: PlanNode, known: readonly Known[]): readonly ModelMessage[] {
  return compose(asked, [
    ...describeKnown(known),
    describeTask(node),
    "Would this task be done clearly better if it were split into smaller tasks? Think briefly, then end with one line of JSON:",
    '{"complex": true or false}',
  ]);
}

export function askForExpansion(
  asked: Asked,
  node: PlanNode,
  known: readonly Known[],
  maxNodes: number,
): readonly ModelMessage[] {
  return compose(asked, [
    ...describeKnown(known),
    describeTask(node),
    "Split the work on this task into a graph of smaller tasks, so that those which do not need each other can be worked on at the same time.",
    ...PLAN_FORM,
    listRules(maxNodes),
  ]);
}

const WORK: { readonly [K in Exclude<Operation, "score">]: string } = {
  generate: "Work on this task only. Write its result, and nothing else.",
  aggregate:
    "Combine the results above into one for this task: keep what matters, say nothing twice. Write the combined result, and nothing else.",
  refine:
    "Improve the result above for this task: correct what is wrong, add what is missing. Write the whole improved result, and nothing else.",
};

export function askForWork(asked: Asked, node: PlanNode, known: readonly Known[]): readonly ModelMessage[] {
  const { operation } = node;
  const what = operation === "score" ? WORK.generate : WORK[operation];
  return compose(asked, [...describeKnown(known), describeTask(node), what]);
}

export function askForScores(asked: Asked, node: PlanNode, known: readonly Known[]): readonly ModelMessage[] {
  const form = known.map(({ id }) => `${JSON.stringify(id)}: 0.0 to 1.0`).join(", ");
  return compose(asked, [
    ...describeKnown(known),
    describeTask(node),
    "Rate each of the results above for this task. Think briefly, then end with one line of JSON:",
    `{"scores": {${form}}}`,
  ]);
}

/** After an answer that has not rated them all. */
export function askForScoresAgain(
  first: readonly ModelMessage[],
  answer: string,
  fault: string,
): readonly ModelMessage[] {
  return askAgain(first, answer, `These scores cannot be used: ${fault}. Give all of them again, in the same form.`);
}

function askAgain(first: readonly ModelMessage[], answer: string, what: string): readonly ModelMessage[] {
  const said = answer.trim() === "" ? "(nothing)" : answer;
  return [
    ...first,
    { role: "assistant", content: [{ type: "text", text: said }] },
    { role: "user", content: [{ type: "text", text: what }] },
  ];
}

/** What is missing is named, so that the answer can say so. */
export type Missing = {
  readonly id: string;
  readonly task: string;
  readonly reason: string;
};

export function askForAnswer(
  asked: Asked,
  known: readonly Known[],
  missing: readonly Missing[],
): readonly ModelMessage[] {
  const gaps = missing.map(({ id, task, reason }) => `- ${id} (${task}): ${reason}`);
  return compose(asked, [
    ...describeKnown(known),
    ...(gaps.length === 0 ? [] : [`Missing, because it could not be worked out:\n${gaps.join("\n")}`]),
    "Write the final answer for the user, from these results and in the language of the question.",
  ]);
}

function describeKnown(known: readonly Known[]): readonly string[] {
  return known.map(({ id, task, text }) => `Result of ${id} (${task}):\n${text}`);
}

function describeTask({ id, task }: PlanNode): string {
  return `Task ${id}:\n${task}`;
}

function compose({ system, history, question, files = [] }: Asked, parts: readonly string[]): readonly ModelMessage[] {
  return [
    ...(system === undefined ? [] : [{ role: "system", content: system } as const]),
    ...history,
    { role: "user", content: [{ type: "text", text: [`Question:\n${question}`, ...parts].join("\n\n") }, ...files] },
  ];
}
