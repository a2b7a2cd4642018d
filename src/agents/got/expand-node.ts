/**
 * Makes a graph of a node that proves complex: the adaptive part of a graph of thoughts. Whether it is complex and what it
 * becomes is for the model to say, and is remembered; how far it may go is not.
 */
import type { Part } from "../../graph/index.ts";
import type { ErrorEvent } from "../../protocol/index.ts";
import { readLastObject } from "../read-json.ts";
import { askForForm, countNodes, createComplaint, type Execution } from "./execution.ts";
import { describeExpansion, type Plan, type PlanNode } from "./plan.ts";
import { askForExpansion, askIfComplex, type Known } from "./prompts.ts";
import { requestPlan } from "./request-plan.ts";

/** The graph a node becomes, where it is complex and there is room for one. Its ids are those of the whole graph. */
export async function expandNode(
  execution: Execution,
  part: Part,
  node: PlanNode,
  known: readonly Known[],
  depth: number,
): Promise<Plan | undefined> {
  const { context, node: around } = execution;
  const { limits } = context;
  const { signal } = around;
  const complain = (message: string): ErrorEvent => createComplaint("model_output_invalid", message, context.stage);
  const findRoom = (): number => Math.min(limits.maxNodes, limits.maxTotalNodes - execution.total);
  if (!limits.adaptive || node.operation !== "generate" || depth >= limits.maxDepth) return undefined;
  // What was decided before a restart stays so, however many nodes there are by now.
  const isComplex = await part.once("complex", async (inner): Promise<boolean> => {
    if (findRoom() < 1) return false;
    const { text } = await askForForm(context, signal, inner.span, "complex", askIfComplex(context, node, known));
    const complex = readLastObject(text)?.["complex"];
    if (typeof complex !== "boolean")
      inner.conclude(complain(`the model did not say whether ${node.id} is complex: it is worked on as it is`));
    return complex === true;
  });
  if (!isComplex) return undefined;
  const outcome = await requestPlan(context, part, {
    signal,
    key: "expand",
    asked: askForExpansion(context, node, known, Math.max(1, findRoom())),
    findRoom,
    inside: node.id,
    onOutcome: (found, inner) => {
      if (found.ok) {
        // At once: another may be asking how much room there is.
        countNodes(execution, node.id, found.plan.nodes.length);
        inner.conclude(describeExpansion(node.id, found.plan));
      } else
        inner.conclude(complain(`the model gave no plan for ${node.id} (${found.fault}): it is worked on as it is`));
    },
  });
  if (!outcome.ok) return undefined;
  countNodes(execution, node.id, outcome.plan.nodes.length);
  return outcome.plan;
}
