/**
 * Reads the plan a model has given, and finds out whether it can be carried out. What it says of a bad one is for the
 * model, which may put it right. It knows no run and never throws.
 *
 * Invariant: a plan it gives is acyclic, connected and within its limits; what is too large is refused before it is walked
 * through, and the rest is walked through once.
 */
import { Buffer } from "node:buffer";
import { isJsonObject, type Json, type JsonObject } from "../../protocol/index.ts";
import { readLastObject } from "../read-json.ts";
import { describePlan, type Operation, placeInside, type Plan, type PlanNode } from "./plan.ts";

export type PlanOutcome = { readonly ok: true; readonly plan: Plan } | { readonly ok: false; readonly fault: string };

/** Of the graph that carries out the plan: a node of the plan must not be taken for one of them. */
const OWN_NODES = ["plan_graph", "execute_graph", "answer"] as const;

const OPERATIONS: ReadonlySet<string> = new Set<Operation>(["generate", "aggregate", "refine", "score"]);
const REFUSED_IDS: ReadonlySet<string> = new Set([...OWN_NODES, "__proto__"]);
const ID = /^[\p{L}\p{N}_-]{1,40}$/u;
const MAX_TASK_LENGTH = 2000;
/** More than any option allows is not walked through. */
export const MAX_PLAN_NODES = 2000;
/** A plan is one event, which may have 1 MiB; edges repeat the ids of their nodes. */
const MAX_PLAN_BYTES = 512 * 1024;
const MAX_QUOTE = 60;

/** A plan `inside` a node is made part of the graph that this node belongs to. */
export function readPlan(text: string, maxNodes: number, inside?: string): PlanOutcome {
  const found = readLastObject(text);
  return found === undefined ? fail("there is no JSON object in it") : judgePlan(found, maxNodes, inside);
}

/** The same of a plan that is no text. */
export function judgePlan(given: Json, maxNodes: number, inside?: string): PlanOutcome {
  const listed = isJsonObject(given) ? given["nodes"] : undefined;
  if (!Array.isArray(listed)) return fail('the object has no list "nodes"');
  if (listed.length === 0) return fail("it has no nodes");
  if (listed.length > maxNodes) return fail(`it has ${listed.length} nodes, and at most ${maxNodes} are allowed`);
  const nodes = new Map<string, PlanNode>();
  for (const [index, item] of (listed as readonly Json[]).entries()) {
    const node = readNode(item, listed.length);
    if (typeof node === "string") return fail(`node ${index + 1} ${node}`);
    if (nodes.has(node.id)) return fail(`two nodes have the id ${quote(node.id)}`);
    nodes.set(node.id, node);
  }
  return judgeGraph(nodes, inside);
}

/** The node, or what is wrong with it. */
function readNode(item: Json, count: number): PlanNode | string {
  if (!isJsonObject(item)) return "is no object";
  const { id, task } = item;
  if (typeof id !== "string" || !ID.test(id))
    return `has the id ${quote(id)}: an id has 1 to 40 letters, digits, "_" and "-"`;
  if (REFUSED_IDS.has(id)) return `has the id ${quote(id)}, which is taken`;
  if (typeof task !== "string" || task.trim() === "") return `(${id}) has no task`;
  const operation = readOperation(item);
  if (operation === undefined) return `(${id}) has an operation that does not exist: ${quote(item["operation"])}`;
  const needs = item["needs"] ?? [];
  if (!Array.isArray(needs) || !needs.every((need) => typeof need === "string"))
    return `(${id}) has "needs" that is no list of ids`;
  if (needs.length > count || new Set(needs).size < needs.length) return `(${id}) needs the same node twice`;
  if (needs.includes(id)) return `(${id}) needs itself`;
  if (operation !== "generate" && needs.length === 0) return `(${id}) has nothing to ${operation}: it needs no node`;
  return { id, task: task.trim().slice(0, MAX_TASK_LENGTH).toWellFormed(), needs, operation };
}

function readOperation({ operation }: JsonObject): Operation | undefined {
  if (operation === undefined || operation === null) return "generate";
  const name = typeof operation === "string" ? operation.trim().toLowerCase() : "";
  return OPERATIONS.has(name) ? (name as Operation) : undefined;
}

/** The nodes as a graph. */
function judgeGraph(nodes: ReadonlyMap<string, PlanNode>, inside: string | undefined): PlanOutcome {
  const dependants = new Map<string, PlanNode[]>([...nodes.keys()].map((id) => [id, []]));
  for (const node of nodes.values()) {
    for (const need of node.needs) {
      const known = dependants.get(need);
      if (known === undefined) return fail(`node ${quote(node.id)} needs ${quote(need)}, which does not exist`);
      known.push(node);
    }
  }
  const ordered = order(nodes);
  if (typeof ordered === "string") return fail(`it has a cycle: node ${quote(ordered)} needs itself by way of others`);
  const apart = findApart(nodes, dependants);
  if (apart !== undefined)
    return fail(`it is not connected: nothing leads from ${quote([...nodes.keys()][0])} to ${quote(apart)}`);
  const plan: Plan = inside === undefined ? { nodes: ordered } : placeInside(inside, { nodes: ordered });
  if (Buffer.byteLength(JSON.stringify(describePlan(plan))) > MAX_PLAN_BYTES)
    return fail("it is too large: give it fewer edges, or shorter ids");
  return { ok: true, plan };
}

/** As the model has listed them, but every node after those it needs; or a node on a cycle. */
function order(nodes: ReadonlyMap<string, PlanNode>): readonly PlanNode[] | string {
  const ordered: PlanNode[] = [];
  const seen = new Map<string, "open" | "placed">();
  // No deeper than there are nodes, whose number is limited.
  const place = (id: string): string | undefined => {
    if (seen.get(id) === "placed") return undefined;
    if (seen.get(id) === "open") return id;
    seen.set(id, "open");
    const node = nodes.get(id);
    for (const need of node?.needs ?? []) {
      const stuck = place(need);
      if (stuck !== undefined) return stuck;
    }
    seen.set(id, "placed");
    if (node !== undefined) ordered.push(node);
    return undefined;
  };
  for (const id of nodes.keys()) {
    const stuck = place(id);
    if (stuck !== undefined) return stuck;
  }
  return ordered;
}

/** A node that the first one has no connection to, whichever way the edges lead. */
function findApart(
  nodes: ReadonlyMap<string, PlanNode>,
  dependants: ReadonlyMap<string, readonly PlanNode[]>,
): string | undefined {
  const [first] = nodes.keys();
  const reached = new Set(first === undefined ? [] : [first]);
  for (const id of reached) {
    for (const need of nodes.get(id)?.needs ?? []) reached.add(need);
    for (const next of dependants.get(id) ?? []) reached.add(next.id);
  }
  return [...nodes.keys()].find((id) => !reached.has(id));
}

function fail(fault: string): PlanOutcome {
  return { ok: false, fault };
}

/** What the model has written, short enough to be shown to it. */
function quote(value: Json | undefined): string {
  const text = value === undefined ? "(none)" : typeof value === "object" ? "(no text)" : JSON.stringify(value);
  return text.length <= MAX_QUOTE ? text : `${text.slice(0, MAX_QUOTE).toWellFormed()}…`;
}
