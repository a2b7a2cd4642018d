/** A validated plan, and the events that describe it. Plans are stored in the log as they are. */
import type { GotExpandEvent, GotPlanEvent } from "../../protocol/events.generated.ts";
import { shorten } from "../../protocol/cut-text.ts";

/** What a node does with the results it needs. `score` rates them and keeps the best. */
export type ThoughtOperation = "generate" | "aggregate" | "refine" | "score";

// Types instead of interfaces, because only types are assignable to JSON.
export type PlanNode = {
  readonly id: string;
  readonly task: string;
  /** Ids of the nodes whose results this node needs. */
  readonly needs: readonly string[];
  readonly operation: ThoughtOperation;
  /** For `score`: how many results to keep. Default: the option `keepBest`. */
  readonly keep?: number;
};

/** Acyclic and within the limits. Every node comes after the nodes it needs. */
export type Plan = {
  readonly nodes: readonly PlanNode[];
};

const MAX_LABEL_LENGTH = 200;

/** The first line of a text, shortened to a label. */
export function toLabel(text: string): string {
  const line = text.trim().split("\n", 1)[0]?.trim() ?? "";
  return shorten(line, MAX_LABEL_LENGTH);
}

/** Edges lead from a node to the nodes that need it. */
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
    labels: nodes.map(({ task }) => toLabel(task)),
    operations: nodes.map(({ operation }) => operation),
  };
}

/** The event for drafts of a node. */
export function describeDrafts(id: string, plan: Plan): GotPlanEvent {
  const edges = listInnerEdges(id, plan);
  return { ...describePlan(plan), edge_count: edges.length, edges, parent: id };
}

/** The edges of a plan inside a node. Some lead away from the node and none to it, so they cannot form a cycle. */
function listInnerEdges(id: string, { nodes }: Plan): readonly (readonly [from: string, to: string])[] {
  const sources = nodes.flatMap((node) => (node.needs.length === 0 ? [[id, node.id] as const] : []));
  return [...sources, ...listEdges(nodes)];
}

/** The event for an expanded node. */
export function describeExpansion(id: string, plan: Plan): GotExpandEvent {
  const { nodes } = plan;
  const edges = listInnerEdges(id, plan);
  return {
    type: "got_expand",
    node_id: id,
    nodes_added: nodes.length,
    edges_added: edges.length,
    nodes: nodes.map((node) => node.id),
    edges,
    labels: nodes.map(({ task }) => toLabel(task)),
    operations: nodes.map(({ operation }) => operation),
  };
}

/** Prefixes the IDs of a plan with the ID of the node that it expands, which keeps IDs unique within the run. */
export function nestPlan(id: string, { nodes }: Plan): Plan {
  const inside = (inner: string): string => `${id}.${inner}`;
  return { nodes: nodes.map((node) => ({ ...node, id: inside(node.id), needs: node.needs.map(inside) })) };
}

/** Nodes with a result that no other node with a result needs, in plan order. They are the result of the graph. */
export function listFinalNodes(nodes: readonly PlanNode[], hasResult: (id: string) => boolean): readonly PlanNode[] {
  const done = nodes.filter(({ id }) => hasResult(id));
  const used = new Set(done.flatMap(({ needs }) => needs));
  return done.filter(({ id }) => !used.has(id));
}
