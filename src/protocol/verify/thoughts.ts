/** The rules of thought trees and graphs within one run. */
import { BoundedMap } from "../bounded-map.ts";
import type { GotExpandEvent, GotPlanEvent, LoomEvent } from "../events.generated.ts";
import type { Report } from "./rules.ts";

const MAX_NODES = 10_000;

export class Thoughts {
  /** Nodes of the graph; undefined until there is a plan, or once an expansion did not name what it added. */
  #known: Set<string> | undefined;
  readonly #edges = new Map<string, string[]>();
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
    this.#edges.clear();
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
    for (const edge of edges ?? []) {
      const [from, to] = edge;
      if (from === undefined || to === undefined || edge.length !== 2) {
        report("got-edge", "an edge is a pair of node ids");
        continue;
      }
      const stranger = [from, to].find((id) => this.#known !== undefined && !this.#known.has(id));
      if (stranger !== undefined) report("got-edge", `the edge ${from} → ${to} names ${stranger}, which is no node`);
      else if (this.#reaches(to, from)) report("got-cycle", `the edge ${from} → ${to} closes a cycle`);
      else this.#edges.set(from, [...(this.#edges.get(from) ?? []), to]);
    }
  }

  #reaches(from: string, goal: string): boolean {
    const seen = new Set<string>();
    const queue = [from];
    for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
      if (node === goal) return true;
      if (seen.has(node)) continue;
      seen.add(node);
      queue.push(...(this.#edges.get(node) ?? []));
    }
    return false;
  }
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
