/**
 * The rules of a graph of thoughts within one run: its shape, and the order in which its nodes begin and end. A node that
 * is planned again is another node. What it remembers is bounded; of what it has forgotten it asks nothing.
 */
import { BoundedMap } from "../bounded-map.ts";
import type {
  GotExpandEvent,
  GotNodeCompleteEvent,
  GotNodeFailedEvent,
  GotNodeStartEvent,
  GotPlanEvent,
} from "../events.generated.ts";
import { nameId, reportOtherLength, reportTwice } from "./report-ids.ts";
import type { Report } from "./rules.ts";
import type { Spans } from "./spans.ts";

export type GraphEvent = GotPlanEvent | GotExpandEvent | GotNodeStartEvent | GotNodeCompleteEvent | GotNodeFailedEvent;

const MAX_NODES = 10_000;
const MAX_EDGES = 100_000;
/** Older nodes that are looked at for cycles, in all: a graph that only grows looks at none. */
const MAX_STEPS = 1_000_000;
/** Of those that one node needs. */
const MAX_NEEDS = 1000;

interface Node {
  readonly id: string;
  status: "planned" | "started" | "completed" | "failed";
  isPlanned: boolean;
  /** The node run it was started in, and the node_id of that. */
  span?: number | undefined;
  nodeId?: string | undefined;
  readonly next: Node[];
  /** Those it comes after, without the one it is inside of. */
  readonly needs: Node[];
}

export class ThoughtGraph {
  readonly #nodes = new BoundedMap<Node>(MAX_NODES);
  /** There is a plan, and every expansion has named what it added. */
  #isWhole = false;
  #edges = 0;
  #steps = 0;
  #hasCycle = false;

  /** `nodeId` is that of the frame; `spans` knows the node runs that are open. */
  check(event: GraphEvent, nodeId: string | undefined, spans: Spans, report: Report): void {
    switch (event.type) {
      case "got_plan":
        this.#plan(event, spans, report);
        return;
      case "got_expand":
        this.#expand(event, spans, report);
        return;
      case "got_node_start":
        this.#knows(event.id, spans, report);
        this.#start(this.#find(event.id), nodeId, spans, report);
        return;
      case "got_node_complete":
        reportOtherLength("scored", event.scored, "scores", event.scores?.length ?? 0, report);
        this.#complete(event.id, spans, report);
        return;
      default:
        this.#fail(event, spans, report);
    }
  }

  /** An event that adds to it was not read. */
  forget(): void {
    this.#isWhole = false;
  }

  /** The run ends with a reply: what began has ended. */
  close(spans: Spans, report: Report): void {
    if (spans.lenient) return;
    const [first, ...others] = [...this.#nodes.values()].filter(({ status }) => status === "started");
    if (first === undefined) return;
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    report("got-node-unended", `node ${nameId(first.id)}${more} began and did not end`);
  }

  #knows(id: string, spans: Spans, report: Report): void {
    if (!this.#isKnown(id) && !spans.lenient) report("got-node-unknown", `node ${nameId(id)} is in no plan`);
  }

  #isKnown(id: string): boolean {
    return !this.#isWhole || this.#nodes.evicted || this.#nodes.has(id);
  }

  #find(id: string): Node {
    return this.#nodes.getOrCreate(id, () => ({ id, status: "planned", isPlanned: false, next: [], needs: [] }));
  }

  /** A node run that was left may have taken a node with it that was not done: that one may begin again. */
  #start(node: Node, nodeId: string | undefined, spans: Spans, report: Report): void {
    const name = nameId(node.id);
    if (!spans.lenient) {
      if (node.status === "completed") report("got-node-order", `node ${name} begins, but was done`);
      else if (isRunning(node, spans)) report("got-node-order", `node ${name} is running already`);
      const need = node.needs.slice(0, MAX_NEEDS).find(({ status }) => status !== "completed");
      if (need !== undefined)
        report("got-node-needs", `node ${name} begins, but ${nameId(need.id)}, which it needs, is not done`);
    }
    node.status = "started";
    node.nodeId = nodeId;
    node.span = spans.findOpen(nodeId, node.id);
  }

  #complete(id: string, spans: Spans, report: Report): void {
    const isForgotten = this.#nodes.evicted && !this.#nodes.has(id);
    const node = this.#find(id);
    if (node.status !== "started" && !isForgotten && !spans.lenient)
      report("got-node-order", `node ${nameId(id)} completes, but is not running`);
    node.status = "completed";
  }

  /** A node that is skipped because of another fails without having begun. */
  #fail({ id, skipped }: GotNodeFailedEvent, spans: Spans, report: Report): void {
    this.#knows(id, spans, report);
    const node = this.#find(id);
    if (!spans.lenient) {
      if (node.status === "completed" || node.status === "failed")
        report("got-node-order", `node ${nameId(id)} had ended`);
      else if (skipped === true && isRunning(node, spans))
        report("got-node-order", `node ${nameId(id)} is skipped, but is running`);
    }
    node.status = "failed";
  }

  #plan(event: GotPlanEvent, spans: Spans, report: Report): void {
    const { node_count, edge_count, node_ids, edges, labels, operations } = event;
    reportCount("node_count", node_count, "node_ids", node_ids, report);
    reportCount("edge_count", edge_count, "edges", edges, report);
    reportOtherLength("labels", labels, "node_ids", node_ids.length, report);
    reportOtherLength("operations", operations, "node_ids", node_ids.length, report);
    reportTwice("node_ids", node_ids, report);
    const added = new Set<Node>();
    for (const id of new Set(node_ids)) {
      const before = this.#nodes.get(id);
      if (before?.isPlanned === true) {
        this.#edges -= before.needs.length;
        this.#nodes.delete(id);
      }
      const node = this.#find(id);
      node.isPlanned = true;
      added.add(node);
    }
    this.#isWhole = true;
    this.#connect(edges, undefined, added, spans, report);
  }

  #expand(event: GotExpandEvent, spans: Spans, report: Report): void {
    const { node_id, nodes_added, edges_added, nodes, edges, labels, operations } = event;
    this.#knows(node_id, spans, report);
    reportOtherLength("labels", labels, "nodes", nodes?.length ?? 0, report);
    reportOtherLength("operations", operations, "nodes", nodes?.length ?? 0, report);
    reportCount("nodes_added", nodes_added, "nodes", nodes, report);
    reportCount("edges_added", edges_added, "edges", edges, report);
    if (nodes === undefined) this.#isWhole = false;
    const added = new Set<Node>();
    for (const id of nodes ?? []) {
      if (!this.#nodes.has(id)) added.add(this.#find(id));
      this.#find(id).isPlanned = true;
    }
    this.#connect(edges, node_id, added, spans, report);
  }

  /** `around` is the node that was expanded: those inside of it come after its beginning. `added` came with the edges. */
  #connect(
    edges: readonly (readonly string[])[] = [],
    around: string | undefined,
    added: Set<Node>,
    spans: Spans,
    report: Report,
  ): void {
    const isBroken = (id: string): boolean => !this.#isKnown(id) && !spans.lenient;
    const broken = edges.find((edge) => edge.length !== 2 || edge.some(isBroken));
    if (broken !== undefined) {
      const shown = broken.slice(0, 4).map(nameId).join(" → ");
      report("got-edge", `the edge ${nameId(shown)} is not a pair of known nodes`);
      return;
    }
    if (this.#edges + edges.length > MAX_EDGES || this.#hasCycle) return;
    const older = new Set<Node>();
    for (const [from = "", to = ""] of edges) {
      for (const id of [from, to]) if (!this.#nodes.has(id)) added.add(this.#find(id));
      const [source, target] = [this.#find(from), this.#find(to)];
      source.next.push(target);
      this.#edges++;
      if (from !== around) target.needs.push(source);
      if (!added.has(target)) older.add(target);
    }
    const node = this.#findOnCycle([...added, ...older], added);
    if (node === undefined) return;
    this.#hasCycle = true;
    report("got-cycle", `node ${nameId(node.id)} depends on itself`);
  }

  /** A cycle that is new has only nodes that are new, or an edge to one of the older nodes that are among `starts`. */
  #findOnCycle(starts: readonly Node[], added: ReadonlySet<Node>): Node | undefined {
    const done = new Set<Node>();
    const path = new Set<Node>();
    for (const start of starts) {
      const stack = done.has(start) ? [] : [{ node: start, at: 0 }];
      for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
        path.add(top.node);
        const next = top.node.next[top.at++];
        if (!added.has(top.node) && ++this.#steps > MAX_STEPS) return undefined;
        if (next === undefined) {
          path.delete(top.node);
          done.add(top.node);
          stack.pop();
        } else if (path.has(next)) return next;
        else if (!done.has(next)) stack.push({ node: next, at: 0 });
      }
    }
    return undefined;
  }
}

/** Not where nothing tells in which node run it began: that one may have been left since. */
function isRunning({ status, span, nodeId, id }: Node, spans: Spans): boolean {
  return status === "started" && span !== undefined && spans.findOpen(nodeId, id) === span;
}

function reportCount(
  name: string,
  count: number,
  other: string,
  list: readonly unknown[] | undefined,
  report: Report,
): void {
  if (list !== undefined && list.length !== count)
    report("got-counts", `${name} is ${count}, ${other} has ${list.length}`);
}
