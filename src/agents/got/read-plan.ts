/**
 * Parses and validates the plan in a model's answer. Single nodes are repaired (`normalizePlan`); other faults are
 * described for the model, which may correct them. Never throws.
 *
 * Invariant: an accepted plan is acyclic and within the limits. It needs no common last node, because the answer, or the
 * node that it expands, combines all final results. Oversized plans are rejected before they are traversed.
 */
import { Buffer } from "node:buffer";
import type { Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { removeThinking } from "../../models/think-tags.ts";
import { listJson } from "../read-json.ts";
import { listTasks, normalizePlan } from "./normalize-plan.ts";
import { describePlan, type ThoughtOperation, nestPlan, type Plan, type PlanNode } from "./plan.ts";
import { shorten } from "../../protocol/cut-text.ts";

/** Node names of the graph that executes the plan; a plan may not use them as IDs. */
const GRAPH_NODES = ["plan_graph", "execute_graph", "answer"] as const;

const OPERATIONS: ReadonlySet<string> = new Set<ThoughtOperation>(["generate", "aggregate", "refine", "score"]);
const RESERVED_IDS: ReadonlySet<string> = new Set([...GRAPH_NODES, "__proto__"]);
const ID = /^[\p{L}\p{N}_-]{1,40}$/u;
const MAX_TASK_LENGTH = 2000;
/** The highest value of `maxNodes`; larger plans are not traversed. */
export const MAX_PLAN_NODES = 2000;
/** A plan is one event of at most 1 MiB; edges repeat the IDs of their nodes. */
const MAX_PLAN_BYTES = 512 * 1024;
const MAX_QUOTE = 60;

/** Nodes of the layers before a layer. */
export interface LayerContext {
  /** IDs of nodes with a result, which the layer may need. */
  readonly done: ReadonlySet<string>;
  /** IDs of all nodes, which the layer may not use again. */
  readonly all: ReadonlySet<string>;
}

export interface PlanReading {
  /** The node that the plan expands; the IDs of the plan are prefixed with its ID. */
  readonly inside?: string | undefined;
  /** Set for one of several layers; all after the first may be empty. */
  readonly layer?: LayerContext | undefined;
}

/** Returns the plan, or its fault. */
export function readPlan(text: string, maxNodes: number, reading: PlanReading = {}): Plan | string {
  let fault: string | undefined;
  for (const found of listJson(removeThinking(text))) {
    const plan = normalizePlan(found);
    const outcome = validatePlan(plan ?? found, maxNodes, reading);
    if (typeof outcome !== "string") return outcome;
    // The fault of a plan says more than that of another object.
    if (plan !== undefined) return outcome;
    fault ??= outcome;
  }
  const tasks = fault === undefined ? listTasks(removeThinking(text)) : undefined;
  if (tasks !== undefined) return validatePlan(tasks, maxNodes, reading);
  return fault ?? "it contains no JSON object";
}

/** Validates a plan in the form that was asked for. Returns the plan, or its fault. */
export function validatePlan(given: Json, maxNodes: number, { inside, layer }: PlanReading = {}): Plan | string {
  const listed = isJsonObject(given) ? given["nodes"] : undefined;
  if (!Array.isArray(listed)) return 'the object has no array "nodes"';
  if (listed.length === 0) return (layer?.done.size ?? 0) > 0 ? { nodes: [] } : "it has no nodes";
  if (listed.length > maxNodes) return `it has ${listed.length} nodes, but at most ${maxNodes} are allowed`;
  const nodes = new Map<string, PlanNode>();
  for (const [index, item] of (listed as readonly Json[]).entries()) {
    const node = readNode(item, listed.length + (layer?.done.size ?? 0));
    if (typeof node === "string") return `node ${index + 1} ${node}`;
    if (layer?.all.has(node.id) === true) return `the id ${quote(node.id)} is that of an earlier node`;
    if (nodes.has(node.id)) return `two nodes have the id ${quote(node.id)}`;
    nodes.set(node.id, node);
  }
  return validateGraph(nodes, inside, layer);
}

/** Returns the node, or the fault. */
function readNode(item: Json, count: number): PlanNode | string {
  if (!isJsonObject(item)) return "is not an object";
  const { id, task } = item;
  if (typeof id !== "string" || !ID.test(id))
    return `has the id ${quote(id)}: an id has 1 to 40 letters, digits, "_" and "-"`;
  if (RESERVED_IDS.has(id)) return `has the id ${quote(id)}, which is reserved`;
  if (typeof task !== "string" || task.trim() === "") return `(${id}) has no task`;
  const operation = readOperation(item);
  if (operation === undefined) return `(${id}) has the unknown operation ${quote(item["operation"])}`;
  const needs = item["needs"] ?? [];
  if (!Array.isArray(needs) || !needs.every((need) => typeof need === "string"))
    return `(${id}) has "needs" that is not an array of ids`;
  if (needs.length > count || new Set(needs).size < needs.length) return `(${id}) needs the same node twice`;
  if (needs.includes(id)) return `(${id}) needs itself`;
  if (operation !== "generate" && needs.length === 0)
    return `(${id}) has nothing to ${operation}: its "needs" is empty`;
  return { id, task: task.trim().slice(0, MAX_TASK_LENGTH).toWellFormed(), needs, operation };
}

function readOperation({ operation }: JsonObject): ThoughtOperation | undefined {
  if (operation === undefined || operation === null) return "generate";
  const name = typeof operation === "string" ? operation.trim().toLowerCase() : "";
  return OPERATIONS.has(name) ? (name as ThoughtOperation) : undefined;
}

function validateGraph(
  nodes: ReadonlyMap<string, PlanNode>,
  inside: string | undefined,
  layer: LayerContext | undefined,
): Plan | string {
  for (const { id, needs } of nodes.values()) {
    const unknown = needs.find((need) => layer?.done.has(need) !== true && !nodes.has(need));
    if (unknown !== undefined) return `node ${quote(id)} needs ${quote(unknown)}, which does not exist`;
  }
  const ordered = order(nodes);
  if (typeof ordered === "string") return `it has a cycle through node ${quote(ordered)}`;
  const plan: Plan = inside === undefined ? { nodes: ordered } : nestPlan(inside, { nodes: ordered });
  if (Buffer.byteLength(JSON.stringify(describePlan(plan))) > MAX_PLAN_BYTES)
    return "it is too large: use fewer edges or shorter ids";
  return plan;
}

/**
 * Orders the nodes so that each comes after those it needs, otherwise as listed. Returns the ID of a node on a cycle if
 * there is one.
 */
function order(nodes: ReadonlyMap<string, PlanNode>): readonly PlanNode[] | string {
  const ordered: PlanNode[] = [];
  const seen = new Map<string, "open" | "placed">();
  // The recursion is bounded by the number of nodes.
  const visit = (id: string): string | undefined => {
    if (seen.get(id) === "placed") return undefined;
    if (seen.get(id) === "open") return id;
    seen.set(id, "open");
    const node = nodes.get(id);
    for (const need of node?.needs ?? []) {
      const stuck = visit(need);
      if (stuck !== undefined) return stuck;
    }
    seen.set(id, "placed");
    if (node !== undefined) ordered.push(node);
    return undefined;
  };
  for (const id of nodes.keys()) {
    const stuck = visit(id);
    if (stuck !== undefined) return stuck;
  }
  return ordered;
}

/** A value of the model's answer, shortened for the fault. */
function quote(value: Json | undefined): string {
  const text = value === undefined ? "(none)" : typeof value === "object" ? "(not a string)" : JSON.stringify(value);
  return shorten(text, MAX_QUOTE);
}
