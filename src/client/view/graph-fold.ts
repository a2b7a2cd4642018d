/** The graph of thoughts of one turn: the plan, what became of its nodes, and what was added on the way. */
import type { EventOf, GotExpandEvent } from "../../protocol/index.ts";
import type { GraphExpansion, GraphNodeView, GraphView } from "../view.ts";
import { changeEntry, GrowingList, interruptEntries, type Room } from "./growing-list.ts";
import { makeView, withFields } from "./with-fields.ts";

export type GraphEvent = EventOf<
  "got_plan" | "got_node_start" | "got_node_complete" | "got_node_failed" | "got_expand"
>;

export class GraphFold {
  readonly #room: Room;
  /** Entries that the lists of expansions and scores may still have, all together. */
  #left: number;
  readonly #nodes: GrowingList<GraphNodeView>;
  readonly #edges: GrowingList<readonly [from: string, to: string]>;
  readonly #expansions: GrowingList<GraphExpansion>;
  #view = {} as GraphView;

  constructor(room: Room) {
    this.#room = room;
    this.#left = room.maxItems;
    this.#nodes = new GrowingList(room);
    this.#edges = new GrowingList(room);
    this.#expansions = new GrowingList(room);
  }

  apply(event: GraphEvent, ts: number | undefined): void {
    switch (event.type) {
      case "got_plan":
        for (const [i, id] of event.node_ids.entries()) {
          // A node that is planned again is another, and has not begun.
          const place = this.#nodes.find(id);
          if (place !== undefined && this.#nodes.at(place)?.status !== "running")
            this.#nodes.set(place, { id, status: "planned" });
          this.#put(id, { label: this.#room.cut(event.labels?.[i]), operation: event.operations?.[i] });
        }
        this.#connect(event.edges);
        return;
      case "got_node_start":
        this.#start(event.id, ts);
        return;
      case "got_node_complete":
        this.#put(event.id, {
          status: "complete",
          summary: this.#room.cut(event.result_summary),
          scores: this.#listScores(event),
          endedAt: ts,
        });
        return;
      case "got_node_failed":
        this.#put(event.id, {
          status: event.skipped === true ? "skipped" : "failed",
          error: this.#room.cut(event.error),
          endedAt: ts,
        });
        return;
      default:
        this.#expand(event);
    }
  }

  /** The node of this name, where it is planned or was added. */
  find(id: string): GraphNodeView | undefined {
    return this.#nodes.get(id);
  }

  /** The run is over: what still runs will not come to an end. */
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

  /** A node may begin again: of what became of it before, nothing holds any more. */
  #start(id: string, ts: number | undefined): void {
    const place = this.#nodes.find(id);
    const { label, operation, expandedFrom } = this.#nodes.get(id) ?? {};
    const node = makeView<GraphNodeView>({ id, status: "running", label, operation, expandedFrom, startedAt: ts });
    if (place === undefined) this.#nodes.push(node, id);
    else this.#nodes.set(place, node);
  }

  #expand({ node_id, nodes_added, edges_added, nodes = [], edges, labels, operations }: GotExpandEvent): void {
    this.#put(node_id);
    for (const [i, id] of nodes.entries())
      if (this.#nodes.find(id) === undefined)
        this.#put(id, { label: this.#room.cut(labels?.[i]), operation: operations?.[i], expandedFrom: node_id });
    this.#connect(edges);
    const shown = this.#list(nodes);
    this.#expansions.push({ nodeId: node_id, nodesAdded: nodes_added, edgesAdded: edges_added, nodes: shown });
  }

  #listScores({ scored, scores }: EventOf<"got_node_complete">): GraphNodeView["scores"] {
    const pairs = scored?.flatMap((id, i) => {
      const score = scores?.[i];
      return score === undefined ? [] : [{ id, score }];
    });
    return pairs && this.#list(pairs);
  }

  /** As many as there is room for. */
  #list<T>(all: readonly T[]): readonly T[] {
    const shown = all.slice(0, this.#left);
    if (shown.length < all.length) this.#room.omit();
    this.#left -= shown.length;
    return shown;
  }

  /** Changes a node, and makes it where nobody planned it. False when there is no room for it. */
  #put(id: string, fields: { readonly [K in keyof GraphNodeView]?: GraphNodeView[K] | undefined } = {}): boolean {
    const place = this.#nodes.find(id);
    if (place === undefined) return this.#nodes.push(withFields<GraphNodeView>({ id, status: "planned" }, fields), id);
    changeEntry(this.#nodes, place, fields);
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
