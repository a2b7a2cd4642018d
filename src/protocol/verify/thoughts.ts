/** The rules of thought trees and graphs within one run. */
import { BoundedMap } from "../bounded-map.ts";
import type { GotExpandEvent, GotPlanEvent, LoomEvent } from "../events.generated.ts";
import type { Report } from "./rules.ts";

const MAX_NODES = 10_000;
/** Larger graphs are not searched for cycles; one that grows is searched at every step, and so must be smaller. */
const MAX_PLAN_EDGES = 100_000;
const MAX_GROWN_EDGES = 5000;

export class Thoughts {
  /** Nodes of the graph; undefined until there is a plan, or once an expansion did not name what it added. */
  #known: Set<string> | undefined;
  #edges: (readonly string[])[] = [];
  readonly #state = new BoundedMap<"started" | "ended">(MAX_NODES);

  check(event: LoomEvent, report: Report): void {
    switch (event.type) {
      case "tot_expand":
        sameLength("ids", event.ids, "candidates", event.candidates.length, report);
        return;
      case "tot_evaluate":
        if (event.chosen >= event.scores.length)
          report("tot-chosen", `chosen is ${event.chosen}, but there are ${event.scores.length} scores`);
        sameLength("ids", event.ids, "scores", event.scores.length, report);
        return;
      case "got_plan":
        this.#plan(event, report);
        return;
      case "got_expand":
        this.#expand(event, report);
        return;
      case "got_node_start":
        this.#knows(event.id, report);
        if (this.#state.get(event.id) === "started") report("got-node-order", `node ${event.id} is running already`);
        this.#state.set(event.id, "started");
        return;
      case "got_node_complete":
        if (this.#state.get(event.id) !== "started")
          report("got-node-order", `node ${event.id} completes, but is not running`);
        this.#state.set(event.id, "ended");
        return;
      case "got_node_failed":
        // A node that is skipped because of another fails without having begun.
        this.#knows(event.id, report);
        if (this.#state.get(event.id) === "ended") report("got-node-order", `node ${event.id} had ended`);
        this.#state.set(event.id, "ended");
        return;
      default:
    }
  }

  #knows(id: string, report: Report): void {
    if (this.#known !== undefined && !this.#known.has(id)) report("got-node-unknown", `node ${id} is in no plan`);
  }

  #plan(event: GotPlanEvent, report: Report): void {
    const { node_count, edge_count, node_ids, edges, labels } = event;
    if (node_ids.length !== node_count)
      report("got-counts", `node_count is ${node_count}, node_ids has ${node_ids.length}`);
    if (edges !== undefined && edges.length !== edge_count)
      report("got-counts", `edge_count is ${edge_count}, edges has ${edges.length}`);
    sameLength("labels", labels, "node_ids", node_ids.length, report);
    this.#known = node_ids.length > MAX_NODES ? undefined : new Set(node_ids);
    this.#edges = [];
    this.#connect(edges, report);
  }

  #expand(event: GotExpandEvent, report: Report): void {
    const { nodes_added, edges_added, nodes, edges } = event;
    this.#knows(event.node_id, report);
    if (nodes !== undefined && nodes.length !== nodes_added)
      report("got-counts", `nodes_added is ${nodes_added}, nodes has ${nodes.length}`);
    if (edges !== undefined && edges.length !== edges_added)
      report("got-counts", `edges_added is ${edges_added}, edges has ${edges.length}`);
    if (nodes === undefined || (this.#known?.size ?? 0) + nodes.length > MAX_NODES) this.#known = undefined;
    else for (const id of nodes) this.#known?.add(id);
    this.#connect(edges, report);
  }

  #connect(edges: readonly (readonly string[])[] | undefined, report: Report): void {
    if (edges === undefined || edges.length === 0) return;
    const broken = edges.find((edge) => edge.length !== 2 || edge.some((id) => this.#known?.has(id) === false));
    if (broken !== undefined) {
      report("got-edge", `the edge ${broken.slice(0, 4).join(" → ").slice(0, 80)} is not a pair of known nodes`);
      return;
    }
    if (this.#edges.length + edges.length > (this.#edges.length === 0 ? MAX_PLAN_EDGES : MAX_GROWN_EDGES)) return;
    for (const edge of edges) this.#edges.push(edge);
    const node = findOnCycle(this.#edges);
    if (node === undefined) return;
    report("got-cycle", `node ${node} depends on itself`);
    this.#edges = [];
  }
}

/** Nodes are taken away that nothing leads to, until none is left, or only those on a cycle or behind one. */
function findOnCycle(edges: readonly (readonly string[])[]): string | undefined {
  const next = new Map<string, string[]>();
  const incoming = new Map<string, number>();
  for (const [from = "", to = ""] of edges) {
    const list = next.get(from);
    if (list === undefined) next.set(from, [to]);
    else list.push(to);
    incoming.set(to, (incoming.get(to) ?? 0) + 1);
    if (!incoming.has(from)) incoming.set(from, 0);
  }
  const free = [...incoming].filter(([, count]) => count === 0).map(([id]) => id);
  for (let id = free.pop(); id !== undefined; id = free.pop()) {
    incoming.delete(id);
    for (const to of next.get(id) ?? []) {
      const left = (incoming.get(to) ?? 0) - 1;
      incoming.set(to, left);
      if (left === 0) free.push(to);
    }
  }
  const [node] = incoming.keys();
  return node;
}

function sameLength(
  name: string,
  list: readonly string[] | undefined,
  other: string,
  length: number,
  report: Report,
): void {
  if (list !== undefined && list.length !== length)
    report("thought-ids", `${name} has ${list.length} entries, ${other} has ${length}`);
}
