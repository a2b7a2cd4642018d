/**
 * A plan: the nodes of a graph of thoughts after they were found right, and what can be said of them. Plain data, which is
 * kept in the log as it is; nothing here knows a model or a run.
 */
import type { GotExpandEvent, GotPlanEvent } from "../../protocol/index.ts";

/** What a node does with the results it needs. As in the paper: generate, aggregate, refine, score (and keep the best). */
export type Operation = "generate" | "aggregate" | "refine" | "score";

// Types and not interfaces: they are JSON, and only of a type the compiler knows that.
export type PlanNode = {
  readonly id: string;
  readonly task: string;
  /** Ids of the nodes whose results it needs. */
  readonly needs: readonly string[];
  readonly operation: Operation;
};

/** Acyclic, connected, bounded; in an order in which every node comes after those it needs. */
export type Plan = {
  readonly nodes: readonly PlanNode[];
};

const MAX_LABEL_LENGTH = 200;

/** The first line, no longer than may be: what a text is about. */
export function summarise(text: string): string {
  const line = text.trim().split("\n", 1)[0]?.trim() ?? "";
  return line.length <= MAX_LABEL_LENGTH ? line : `${line.slice(0, MAX_LABEL_LENGTH - 1).toWellFormed()}…`;
}

/** From a node to those that need it. */
export function listEdges(nodes: readonly PlanNode[]): readonly (readonly [from: string, to: string])[] {
  return nodes.flatMap(({ id, needs }) => needs.map((need) => [need, id] as const));
}

export function describePlan({ nodes }: Plan): GotPlanEvent {
  const edges = listEdges(nodes);
  return {
    type: "got_plan",
    node_count: nodes.length,
    edge_count: edges.length,
    node_ids: nodes.map(({ id }) => id),
    edges,
    labels: nodes.map(({ task }) => summarise(task)),
    operations: nodes.map(({ operation }) => operation),
  };
}

/** What a node has become. Edges lead away from it, so that no cycle can come of it. */
export function describeExpansion(id: string, { nodes }: Plan): GotExpandEvent {
  const sources = nodes.flatMap((node) => (node.needs.length === 0 ? [[id, node.id] as const] : []));
  const edges = [...sources, ...listEdges(nodes)];
  return {
    type: "got_expand",
    node_id: id,
    nodes_added: nodes.length,
    edges_added: edges.length,
    nodes: nodes.map((node) => node.id),
    edges,
    labels: nodes.map(({ task }) => summarise(task)),
    operations: nodes.map(({ operation }) => operation),
  };
}

/** A plan inside of a node: its ids begin with that of the node, so that no two nodes of a run have the same. */
export function placeInside(id: string, { nodes }: Plan): Plan {
  const inside = (inner: string): string => `${id}.${inner}`;
  return { nodes: nodes.map((node) => ({ ...node, id: inside(node.id), needs: node.needs.map(inside) })) };
}

/** Nodes with a result that nobody with a result has used, in the order of the plan: what the graph has come to. */
export function listEnds(nodes: readonly PlanNode[], hasResult: (id: string) => boolean): readonly PlanNode[] {
  const done = nodes.filter(({ id }) => hasResult(id));
  const used = new Set(done.flatMap(({ needs }) => needs));
  return done.filter(({ id }) => !used.has(id));
}
