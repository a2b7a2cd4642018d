/**
 * Requests plans from the model: of the question, of its next layers (option `maxLayers`), and of a node. An invalid plan
 * is requested once more.
 *
 * Invariant: the result of each call is remembered, so that finished calls are not repeated. A layer is remembered by the
 * graph's node run together with its `got_plan`.
 */
import type { PartContext } from "../../graph/graph.ts";
import type { ModelMessage } from "../../models/model.ts";
import { LoomError } from "../../protocol/index.ts";
import { askForJson, type JsonReply, recallReply, type ReplyParts } from "../ask-for-json.ts";
import { type Execution, fitKnownResults, type GotContext, listKnownResults } from "./execution.ts";
import { describePlan, type Plan, type PlanNode } from "./plan.ts";
import { askForLayer, PLAN } from "./prompts.ts";
import { type PlanReading, readPlan } from "./read-plan.ts";

export interface PlanRequest extends PlanReading, Pick<ReplyParts<Plan>, "describeFault" | "onValue"> {
  readonly signal: AbortSignal;
  /** Span of the model calls. Default: the span of the part. */
  readonly span?: PartContext["span"];
  /** Prefix of the names of the parts, such as `plan-1` and `plan-2`. */
  readonly key: string;
  readonly asked: readonly ModelMessage[];
  /** Returns the maximum number of nodes at the time the answer arrives. */
  readonly findRoom: () => number;
}

export function requestPlan(
  context: GotContext,
  around: PartContext,
  { signal, span = around.span, key, asked, findRoom, inside, layer, describeFault, onValue }: PlanRequest,
): Promise<JsonReply<Plan>> {
  return askForJson<Plan>(
    context,
    { ...PLAN, messages: asked, read: ({ result }) => readPlan(result.text, findRoom(), { inside, layer }) },
    {
      span,
      signal,
      channel: "thought",
      isJson: true,
      parts: { around, nameOf: (call) => `${key}-${call}`, describeFault, onValue },
    },
  );
}

/** Returns the plan remembered under this key, or undefined. */
export async function recallPlan(part: PartContext, key: string): Promise<Plan | undefined> {
  for (const call of [1, 2]) {
    if (!part.has(`${key}-${call}`)) return undefined;
    const remembered = await part.once<JsonReply<Plan>>(`${key}-${call}`, () => {
      throw new LoomError("node_failed", `The plan "${key}" is not remembered`);
    });
    const reply = recallReply(remembered);
    if ("value" in reply) return reply.value;
  }
  return undefined;
}

/**
 * Runs further layers after the first: when a layer is done, the model sees all results and plans the next one, or says
 * that they are enough. Returns the nodes of all layers.
 */
export async function growLayers(
  execution: Execution,
  first: Plan,
  runLayer: (nodes: readonly PlanNode[]) => Promise<void>,
): Promise<Plan> {
  const { context, node, results } = execution;
  const { limits } = context;
  const nodes = [...first.nodes];
  for (let layer = 2; layer <= limits.maxLayers; layer++) {
    const done = nodes.filter(({ id }) => results.has(id));
    const findRoom = (): number => Math.min(limits.maxNodes, limits.maxTotalNodes - execution.total);
    const key = `layer-${layer}`;
    if (done.length === 0 || (findRoom() < 1 && !node.has(`${key}-1`))) break;
    const known = fitKnownResults(listKnownResults(done, results));
    const reply = await requestPlan(context, node, {
      signal: node.signal,
      key,
      asked: askForLayer(context, known, findRoom()),
      findRoom,
      layer: { done: new Set(done.map(({ id }) => id)), all: new Set(nodes.map(({ id }) => id)) },
      describeFault: (fault) => `The model gave no valid layer (${fault}); the graph ends with the layer before`,
      onValue: (found, part) => {
        if (found.nodes.length > 0) part.emitWithResult(describePlan(found));
      },
    });
    if (!("value" in reply) || reply.value.nodes.length === 0) break;
    const { nodes: planned } = reply.value;
    execution.total += planned.length;
    nodes.push(...planned);
    await runLayer(planned);
  }
  return { nodes };
}
