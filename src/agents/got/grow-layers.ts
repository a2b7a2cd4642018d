/**
 * Plans a graph layer by layer (option `maxLayers`): when a layer is done, the model sees all results and plans the next
 * one, or says that they are enough.
 *
 * Invariant: each layer is remembered by the graph's node run together with its `got_plan`.
 */
import { createWarning, type Execution, fitKnownResults, listKnownResults } from "./execution.ts";
import { describePlan, type Plan, type PlanNode } from "./plan.ts";
import { askForLayer } from "./prompts.ts";
import { requestPlan } from "./request-plan.ts";

/** Runs further layers after the first. Returns the nodes of all layers. */
export async function growLayers(
  execution: Execution,
  first: Plan,
  runLayer: (nodes: readonly PlanNode[]) => Promise<void>,
): Promise<Plan> {
  const { context, node, results } = execution;
  const { limits, stage } = context;
  const nodes = [...first.nodes];
  for (let layer = 2; layer <= limits.maxLayers; layer++) {
    const done = nodes.filter(({ id }) => results.has(id));
    const findRoom = (): number => Math.min(limits.maxNodes, limits.maxTotalNodes - execution.total);
    const key = `layer-${layer}`;
    if (done.length === 0 || (findRoom() < 1 && !node.has(`${key}-1`))) break;
    const known = fitKnownResults(listKnownResults(done, results));
    const outcome = await requestPlan(context, node, {
      signal: node.signal,
      key,
      asked: askForLayer(context, known, findRoom()),
      findRoom,
      layer: { done: new Set(done.map(({ id }) => id)), all: new Set(nodes.map(({ id }) => id)) },
      onOutcome: (found, part) => {
        if (!found.ok) {
          const message = `The model gave no valid layer (${found.fault}); the graph ends with the layer before`;
          part.emitWithResult(createWarning("model_output_invalid", message, stage));
        } else if (found.plan.nodes.length > 0) part.emitWithResult(describePlan(found.plan));
      },
    });
    if (!outcome.ok || outcome.plan.nodes.length === 0) break;
    execution.total += outcome.plan.nodes.length;
    nodes.push(...outcome.plan.nodes);
    await runLayer(outcome.plan.nodes);
  }
  return { nodes };
}
