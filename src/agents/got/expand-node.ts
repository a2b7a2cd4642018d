/**
 * Makes a graph of a node that proves complex: the adaptive part of a graph of thoughts. Whether it is complex and what it
 * becomes is for the model to say, and is remembered; how far it may go is not.
 *
 * Invariant: what a node has become it stays, whatever the options of a later process say, and its nodes count before
 * anything else is planned. For that, expansions are remembered beside the thoughts and not inside of them.
 */
import type { Part } from "../../graph/index.ts";
import type { ErrorEvent } from "../../protocol/index.ts";
import { readLastObject } from "../read-json.ts";
import { askForForm, createComplaint, type Execution } from "./execution.ts";
import { describeExpansion, type Plan, type PlanNode } from "./plan.ts";
import { askForExpansion, askIfComplex, type Known } from "./prompts.ts";
import { recallPlan, requestPlan } from "./request-plan.ts";

/** A graph of one node is the node. */
const MIN_ROOM = 2;

/** The expansions of these nodes that an earlier process has left, and those within them. */
export async function recallExpansions(execution: Execution, nodes: readonly PlanNode[]): Promise<void> {
  for (const { id } of nodes) {
    const plan = await recallPlan(execution.node, nameExpansion(id));
    if (plan === undefined) continue;
    noteExpansion(execution, id, plan);
    await recallExpansions(execution, plan.nodes);
  }
}

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
  const expansion = execution.expansions.get(node.id);
  if (expansion !== undefined) return expansion;
  if (!limits.adaptive || node.operation !== "generate" || depth >= limits.maxDepth) return undefined;
  // An earlier process, which was told something else, may have begun it as it is.
  if (findRoom() < MIN_ROOM || part.has("think-1")) return undefined;
  const isComplex = await part.once("complex", async (inner): Promise<boolean> => {
    const { text } = await askForForm(context, signal, inner.span, "complex", askIfComplex(context, node, known));
    const complex = readLastObject(text)?.["complex"];
    if (typeof complex !== "boolean")
      inner.conclude(complain(`the model did not say whether ${node.id} is complex: it is worked on as it is`));
    return complex === true;
  });
  // Others may have taken the room meanwhile.
  if (!isComplex || findRoom() < MIN_ROOM) return undefined;
  const outcome = await requestPlan(context, around, {
    signal,
    span: part.span,
    key: nameExpansion(node.id),
    asked: askForExpansion(context, node, known, findRoom()),
    findRoom,
    inside: node.id,
    onOutcome: (found, inner) => {
      if (found.ok) {
        // At once: another may be asking how much room there is.
        noteExpansion(execution, node.id, found.plan);
        inner.conclude(describeExpansion(node.id, found.plan));
      } else
        inner.conclude(complain(`the model gave no plan for ${node.id} (${found.fault}): it is worked on as it is`));
    },
  });
  return outcome.ok ? outcome.plan : undefined;
}

/** A name that no node can have. */
function nameExpansion(id: string): string {
  return `expand:${id}`;
}

function noteExpansion(execution: Execution, id: string, plan: Plan): void {
  execution.expansions.set(id, plan);
  execution.total += plan.nodes.length;
}
