/** Folds the graph-of-thoughts events of one turn: the plan, the progress of its nodes, and expansions. */
import type { EventOf } from "../../protocol/index.ts";
import type { GotExpandEvent, GotPlanEvent } from "../../protocol/events.generated.ts";
import type { GraphExpansion, GraphNodeView, GraphView } from "../view.ts";
import { changeEntry, GrowingList, interruptEntries, type ViewQuota } from "./growing-list.ts";
import { makeView, withFields } from "./with-fields.ts";

export type GraphFoldEvent = EventOf<
  "got_plan" | "got_node_start" | "got_node_complete" | "got_node_failed" | "got_expand"
>;

export class GraphFold {
  readonly #quota: ViewQuota;
  /** Remaining entries for all expansion and score lists together. */
  #left: number;
  readonly #nodes: GrowingList<GraphNodeView>;
  readonly #edges: GrowingList<readonly [from: string, to: string]>;
  readonly #expansions: GrowingList<GraphExpansion>;
  #view = {} as GraphView;

  constructor(quota: ViewQuota) {
    this.#quota = quota;
    this.#left = quota.maxItems;
    this.#nodes = new GrowingList(quota);
    this.#edges = new GrowingList(quota);
    this.#expansions = new GrowingList(quota);
  }

  apply(event: GraphFoldEvent, ts: number | undefined): void {
    switch (event.type) {
      case "got_plan":
        this.#plan(event);
        return;
      case "got_node_start":
        this.#start(event.id, ts);
        return;
      case "got_node_complete":
        this.#put(event.id, {
          status: "complete",
          summary: this.#quota.cut(event.result_summary),
          scores: this.#listScores(event),
          endedAt: ts,
        });
        return;
      case "got_node_failed":
        this.#put(event.id, {
          status: event.skipped === true ? "skipped" : "failed",
          error: this.#quota.cut(event.error),
          endedAt: ts,
        });
        return;
      default:
        this.#expand(event);
    }
  }

  /** Returns the node with this ID, if it was planned or added. */
  find(id: string): GraphNodeView | undefined {
    return this.#nodes.get(id);
  }

  /** Marks running nodes as interrupted, because the run has ended. */
  close(): void {
    interruptEntries(this.#nodes);
  }

  show(): GraphView {
    this.#view = withFields(this.#view, {
      nodes: this.#nodes.show(),
      edges: this.#edges.show(),
      expansions: this.#expansions.show(),
    });
    return this.#view;
  }

  /** Starts a node. A restarted node loses its earlier result. */
  #start(id: string, ts: number | undefined): void {
    const index = this.#nodes.find(id);
    const { label, operation, expandedFrom } = this.#nodes.get(id) ?? {};
    const node = makeView<GraphNodeView>({ id, status: "running", label, operation, expandedFrom, startedAt: ts });
    if (index === undefined) this.#nodes.push(node, id);
    else this.#nodes.set(index, node);
  }

  #plan({ node_ids, parent, node_count, edge_count, edges, labels, operations }: GotPlanEvent): void {
    if (parent !== undefined) this.#put(parent);
    for (const [i, id] of node_ids.entries()) {
      // Planning a node again resets it, unless it is running.
      const index = this.#nodes.find(id);
      if (index !== undefined && this.#nodes.at(index)?.status !== "running")
        this.#nodes.set(index, { id, status: "planned" });
      this.#put(id, { label: this.#quota.cut(labels?.[i]), operation: operations?.[i], expandedFrom: parent });
    }
    this.#connect(edges);
    if (parent !== undefined) this.#addExpansion(parent, node_count, edge_count, node_ids);
  }

  #expand({ node_id, nodes_added, edges_added, nodes = [], edges, labels, operations }: GotExpandEvent): void {
    this.#put(node_id);
    for (const [i, id] of nodes.entries())
      if (this.#nodes.find(id) === undefined)
        this.#put(id, { label: this.#quota.cut(labels?.[i]), operation: operations?.[i], expandedFrom: node_id });
    this.#connect(edges);
    this.#addExpansion(node_id, nodes_added, edges_added, nodes);
  }

  #addExpansion(nodeId: string, nodesAdded: number, edgesAdded: number, nodes: readonly string[]): void {
    this.#expansions.push({ nodeId, nodesAdded, edgesAdded, nodes: this.#list(nodes) });
  }

  #listScores({ scored, scores }: EventOf<"got_node_complete">): GraphNodeView["scores"] {
    const pairs = scored?.flatMap((id, i) => {
      const score = scores?.[i];
      return score === undefined ? [] : [{ id, score }];
    });
    return pairs && this.#list(pairs);
  }

  /** Returns as many entries as the limit allows. */
  #list<T>(all: readonly T[]): readonly T[] {
    const shown = all.slice(0, this.#left);
    if (shown.length < all.length) this.#quota.omit();
    this.#left -= shown.length;
    return shown;
  }

  /** Changes a node, creating it if it was not planned. Returns false if the limit is reached. */
  #put(id: string, fields: { readonly [K in keyof GraphNodeView]?: GraphNodeView[K] | undefined } = {}): boolean {
    const index = this.#nodes.find(id);
    if (index === undefined) return this.#nodes.push(withFields<GraphNodeView>({ id, status: "planned" }, fields), id);
    changeEntry(this.#nodes, index, fields);
    return true;
  }

  #connect(edges: readonly (readonly string[])[] = []): void {
    for (const edge of edges) {
      const [from, to] = edge;
      if (from === undefined || to === undefined || edge.length !== 2) continue;
      const key = JSON.stringify(edge);
      if (this.#edges.find(key) !== undefined) continue;
      if (!this.#put(from) || !this.#put(to) || !this.#edges.push([from, to], key)) return;
    }
  }
}
