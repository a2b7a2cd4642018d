/**
 * Expands a complex node into a graph (option `adaptive`). The model decides whether a node is complex and plans its
 * subgraph; both answers are remembered.
 *
 * Invariant: an expansion stays even if a later process has other options, and its nodes are counted before anything
 * else is planned. Expansions are therefore remembered by the graph's node run and not inside the thoughts.
 */
import type { PartContext } from "../../graph/graph.ts";
import { removeThinking } from "../../models/think-tags.ts";
import { askForJson } from "../ask-for-json.ts";
import { findField, listObjectsIn, removeFences } from "../read-json.ts";
import { findLast, readTruth, TRUTH } from "../read-score.ts";
import type { Execution } from "./execution.ts";
import { describeExpansion, type Plan, type PlanNode } from "./plan.ts";
import { askForExpansion, askIfComplex, COMPLEXITY, type KnownResult } from "./prompts.ts";
import { recallPlan, requestPlan } from "./request-plan.ts";

/** A graph of one node would be the node itself. */
const MIN_ROOM = 2;

/** Restores the expansions of these nodes that an earlier process made, recursively. */
export async function recallExpansions(execution: Execution, nodes: readonly PlanNode[]): Promise<void> {
  for (const { id } of nodes) {
    const plan = await recallPlan(execution.node, createExpansionKey(id));
    if (plan === undefined) continue;
    recordExpansion(execution, id, plan);
    await recallExpansions(execution, plan.nodes);
  }
}

/** Returns the subgraph of a node if it is complex and the limits allow one. Its IDs are unique within the run. */
export async function expandNode(
  execution: Execution,
  part: PartContext,
  node: PlanNode,
  known: readonly KnownResult[],
  depth: number,
): Promise<Plan | undefined> {
  const { context, node: around } = execution;
  const { limits } = context;
  const { signal } = around;
  const findRoom = (): number => Math.min(limits.maxNodes, limits.maxTotalNodes - execution.total);
  const expansion = execution.expansions.get(node.id);
  if (expansion !== undefined) return expansion;
  if (!limits.adaptive || node.operation !== "generate" || depth >= limits.maxDepth) return undefined;
  // An earlier process with other options may have started the node without expanding it.
  if (findRoom() < MIN_ROOM || part.has("think-1")) return undefined;
  const reply = await askForJson<boolean>(
    context,
    { ...COMPLEXITY, messages: askIfComplex(context, node, known), read: ({ result }) => readComplexity(result.text) },
    {
      span: part.span,
      signal,
      channel: "judgement",
      parts: {
        around: part,
        nameOf: (call) => (call === 1 ? "complex" : "complex-2"),
        describeFault: () => `The model did not say whether ${node.id} is complex; it is not expanded`,
      },
    },
  );
  const isComplex = "value" in reply && reply.value;
  // Other nodes may have used up the limit meanwhile.
  if (!isComplex || findRoom() < MIN_ROOM) return undefined;
  const planned = await requestPlan(context, around, {
    signal,
    span: part.span,
    key: createExpansionKey(node.id),
    asked: askForExpansion(context, node, known, findRoom()),
    findRoom,
    inside: node.id,
    describeFault: (fault) => `The model gave no valid plan for ${node.id} (${fault}); it is not expanded`,
    onValue: (found, inner) => {
      // Counted immediately, because other nodes check the limit concurrently.
      recordExpansion(execution, node.id, found);
      inner.emitWithResult(describeExpansion(node.id, found));
    },
  });
  return "value" in planned ? planned.value : undefined;
}

/** A key that cannot be a node ID. */
function createExpansionKey(id: string): string {
  return `expand:${id}`;
}

function recordExpansion(execution: Execution, id: string, plan: Plan): void {
  execution.expansions.set(id, plan);
  execution.total += plan.nodes.length;
}

const COMPLEX = new RegExp(
  String.raw`(?:\bcomplex|复杂)[\s*_"'\x60]{0,4}(?:[:：=]|\bis\b)?[\s*_"'\x60]{0,4}${TRUTH}`,
  "gi",
);
const BARE = /^[\s*_"'`]*(true|false|yes|no|是|否|不是)(?:\b|(?![\p{L}\p{N}]))/iu;

/** Returns whether the task is complex; undefined if the answer does not say. */
export function readComplex(said: string): boolean | undefined {
  const text = removeThinking(said);
  for (const object of listObjectsIn(text)) {
    const complex = readTruth(findField(object, "complex", "iscomplex", "split"));
    if (complex !== undefined) return complex;
  }
  return readTruth(findLast(text, COMPLEX)?.[1] ?? BARE.exec(removeFences(text))?.[1]);
}

function readComplexity(text: string): boolean | string {
  return readComplex(text) ?? 'there is no JSON object with "complex"';
}
