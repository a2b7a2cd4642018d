/**
 * Graph of Thoughts as a graph: plan, execute the nodes in parallel, answer from the final results. Dependencies
 * between nodes are handled by `scheduler.ts`.
 */
import { defineGraph, merge, type NodeContext, replace, type StateOf } from "../../graph/index.ts";
import { LoomError } from "../../protocol/index.ts";
import { isBlank } from "../compose-question.ts";
import { describeCut, describeEmpty } from "../create-warning.ts";
import { fitTexts } from "../fit-results.ts";
import { think } from "../think.ts";
import { type Execution, type GotContext, listKnownResults } from "./execution.ts";
import { recallExpansions } from "./expand-node.ts";
import { describeMissing, joinMissing } from "./missing-nodes.ts";
import { describePlan, listFinalNodes, type Plan, type PlanNode } from "./plan.ts";
import { askForAnswer, askForPlan, type MissingNode } from "./prompts.ts";
import { type LayerContext, validatePlan, MAX_PLAN_NODES } from "./read-plan.ts";
import { growLayers, requestPlan } from "./request-plan.ts";
import { runThoughts } from "./run-thoughts.ts";
import { Scheduler } from "./scheduler.ts";
import { closeCallsOf } from "./think-with-tools.ts";

const channels = {
  plan: replace<Plan>({ nodes: [] }),
  /** Results by node ID. Results of expansions are part of the result of the expanded node. */
  results: merge<string>(),
  /** The first nodes without a result, expansions included, and how many there are in total. */
  missing: replace<readonly MissingNode[]>([]),
  missingCount: replace(0),
};

/** Maximum characters of all results, which are written as one event. */
const MAX_RESULT_CHARACTERS = 100_000;
const MAX_TASK_LENGTH = 2000;

export function createGotGraph(agentContext: GotContext) {
  const context = limitThoughts(agentContext);
  /** True if this process made the plan: it is valid, and no expansions are remembered. */
  let isNew = false;
  return defineGraph({
    name: "got",
    channels,
    start: "plan_graph",
    nodes: {
      plan_graph: async (_, node) => {
        const plan = await makePlan(context, node);
        isNew = true;
        closeCallsOf(context.run, node.span);
        node.emitWithResult(describePlan(plan));
        return { plan };
      },
      execute_graph: async ({ plan: kept }, node) => {
        const plan = isNew ? kept : checkPlan(context, kept);
        const execution: Execution = {
          context,
          node,
          scheduler: new Scheduler(context.limits.concurrency),
          results: new Map(),
          scores: new Map(),
          planned: new Map(),
          missing: new Map(),
          expansions: new Map(),
          firstFault: undefined,
          total: plan.nodes.length,
        };
        const runLayer = async (nodes: readonly PlanNode[]): Promise<void> => {
          if (!isNew) await recallExpansions(execution, nodes);
          await runThoughts(execution, nodes, { around: node, given: [], depth: 0 });
        };
        await runLayer(plan.nodes);
        const whole = await growLayers(execution, plan, runLayer);
        const isGrown = whole.nodes.length > plan.nodes.length;
        return { ...(isGrown ? { plan: whole } : {}), ...describeResults(execution, whole) };
      },
      answer: async (state, node) => {
        await giveAnswer(agentContext, node, state);
        closeCallsOf(context.run, node.span);
      },
    },
    edges: { plan_graph: "execute_graph", execute_graph: "answer" },
  });
}

/** The output of each call before the answer is stored in one record. */
function limitThoughts(context: GotContext): GotContext {
  const { callOptions, limits } = context;
  const { maxOutputCharacters = Infinity } = callOptions;
  const limit = Math.min(maxOutputCharacters, limits.maxCharacters);
  return { ...context, callOptions: { ...callOptions, maxOutputCharacters: limit } };
}

async function makePlan(context: GotContext, node: NodeContext): Promise<Plan> {
  const { limits, question } = context;
  const maxNodes = Math.min(limits.maxNodes, limits.maxTotalNodes);
  const reply = await requestPlan(context, node, {
    signal: node.signal,
    key: "plan",
    asked: askForPlan(context, maxNodes, limits.maxLayers > 1),
    findRoom: () => maxNodes,
    layer: limits.maxLayers > 1 ? FIRST_LAYER : undefined,
    describeFault: (fault) => `The model gave no valid plan (${fault}); the question is answered as one task`,
  });
  if ("value" in reply) return reply.value;
  const task = question.trim().slice(0, MAX_TASK_LENGTH).toWellFormed();
  return { nodes: [{ id: "whole", task, needs: [], operation: "generate" }] };
}

/** The tasks of a first layer need nothing. */
const FIRST_LAYER: LayerContext = { done: new Set(), all: new Set() };

/** A fork may contain an edited plan. */
function checkPlan(context: GotContext, kept: Plan): Plan {
  const plan = validatePlan(kept, MAX_PLAN_NODES, { layer: context.limits.maxLayers > 1 ? FIRST_LAYER : undefined });
  if (typeof plan !== "string") return plan;
  throw new LoomError("graph_invalid", `The plan is invalid: ${plan}`);
}

/** The results to keep in the state: final results complete if possible, the others as space permits. */
function describeResults(execution: Execution, { nodes }: Plan) {
  const { results } = execution;
  const { missing, count } = joinMissing(nodes.flatMap(({ id }) => execution.missing.get(id) ?? []));
  const ends = listFinalNodes(nodes, (id) => results.has(id));
  if (ends.length === 0)
    throw new LoomError("node_failed", `No node of the graph has a result; first failure: ${execution.firstFault}`, {
      stage: execution.context.stage,
    });
  const isEnd = new Set(ends);
  const others = nodes.filter((node) => results.has(node.id) && !isEnd.has(node));
  const readTexts = (list: readonly PlanNode[]) => list.map(({ id }) => results.get(id) ?? "");
  const whole = fitTexts(readTexts(ends), MAX_RESULT_CHARACTERS);
  const room = MAX_RESULT_CHARACTERS - whole.reduce((sum, { length }) => sum + length, 0);
  const kept = [...whole, ...fitTexts(readTexts(others), room)];
  return {
    results: Object.fromEntries([...ends, ...others].map(({ id }, index) => [id, kept[index] ?? ""])),
    missing,
    missingCount: count,
  };
}

async function giveAnswer(
  context: GotContext,
  node: NodeContext,
  { plan, results, missing, missingCount }: StateOf<typeof channels>,
): Promise<void> {
  const texts = new Map(Object.entries(results));
  const known = listKnownResults(
    listFinalNodes(plan.nodes, (id) => texts.has(id)),
    texts,
  );
  const { model, stage, question } = context;
  const asked = askForAnswer(context, known, missing);
  const { result } = await think(context, asked, { span: node.span, signal: node.signal });
  const cut = describeCut(result.finishReason, stage);
  if (cut !== undefined) node.emitWithResult(cut);
  // If the model returns nothing, answer with the results themselves.
  if (isBlank(result.text)) {
    node.emitWithResult(describeEmpty(model, result.finishReason, stage));
    await node.span.write(known.map(({ text }) => text).join("\n\n"));
  }
  const gaps = describeMissing(question, missing, missingCount);
  if (gaps !== "") await node.span.write(`\n\n${gaps}`);
}
