/** The rules of thought trees and graphs within one run. */
import { BoundedMap } from "../bounded-map.ts";
import type {
  GotExpandEvent,
  GotNodeFailedEvent,
  GotPlanEvent,
  LoomEvent,
  TotEvaluateEvent,
  TotExpandEvent,
} from "../events.generated.ts";
import type { Report } from "./rules.ts";
import type { Spans } from "./spans.ts";

const MAX_NODES = 10_000;
const MAX_THOUGHTS = 10_000;
/** Larger graphs are not searched for cycles; one that grows is searched at every step, and so must be smaller. */
const MAX_PLAN_EDGES = 100_000;
const MAX_GROWN_EDGES = 5000;

interface NodeState {
  readonly status: "started" | "completed" | "failed";
  /** The node run it was started in, and the node_id of that. */
  readonly span?: number | undefined;
  readonly nodeId?: string | undefined;
}

export class Thoughts {
  /** Thoughts that an expansion named, and those it came from; undefined once one named none. */
  #thoughts: BoundedMap<true> | undefined = new BoundedMap(MAX_THOUGHTS);
  /** Nodes of the graph; undefined until there is a plan, or once an expansion did not name what it added. */
  #known: Set<string> | undefined;
  #edges: (readonly string[])[] = [];
  readonly #state = new BoundedMap<NodeState>(MAX_NODES);

  /** `nodeId` is that of the frame; `spans` knows the node runs that are open. */
  check(event: LoomEvent, nodeId: string | undefined, spans: Spans, report: Report): void {
    switch (event.type) {
      case "tot_expand":
        this.#grow(event, report);
        return;
      case "tot_evaluate":
        this.#judge(event, spans, report);
        return;
      case "tot_backtrack":
        this.#knowsThought(event.from, spans, report);
        if (event.to_depth > 0) this.#knowsThought(event.to, spans, report);
        return;
      case "got_plan":
        this.#plan(event, report);
        return;
      case "got_expand":
        this.#expand(event, report);
        return;
      case "got_node_start":
        this.#knows(event.id, report);
        this.#start(event.id, nodeId, spans, report);
        return;
      case "got_node_complete":
        if (this.#state.get(event.id)?.status !== "started")
          report("got-node-order", `node ${event.id} completes, but is not running`);
        this.#state.set(event.id, { status: "completed" });
        return;
      case "got_node_failed":
        this.#fail(event, spans, report);
        return;
      default:
    }
  }

  #grow({ ids, candidates, parent }: TotExpandEvent, report: Report): void {
    sameLength("ids", ids, "candidates", candidates.length, report);
    if (ids === undefined) this.#thoughts = undefined;
    // The root is named by those that come from it, and by nobody else.
    if (parent !== undefined) this.#thoughts?.set(parent, true);
    for (const id of ids ?? []) this.#thoughts?.set(id, true);
  }

  #judge({ chosen, scores, ids, kept }: TotEvaluateEvent, spans: Spans, report: Report): void {
    if (chosen >= scores.length) report("tot-chosen", `chosen is ${chosen}, but there are ${scores.length} scores`);
    sameLength("ids", ids, "scores", scores.length, report);
    if (ids === undefined) return;
    for (const id of ids) if (!this.#knowsThought(id, spans, report)) break;
    const judged = new Set(ids);
    const stranger = kept?.find((id) => !judged.has(id));
    if (stranger !== undefined) report("tot-kept", `thought ${stranger.slice(0, 80)} is kept, and was not judged`);
  }

  /** A stream that has lost its beginning, or leaves something out, is not asked. */
  #knowsThought(id: string | undefined, spans: Spans, report: Report): boolean {
    const known = this.#thoughts;
    if (id === undefined || known === undefined || known.evicted || spans.lenient || known.has(id)) return true;
    report("tot-thought-unknown", `no tot_expand has named thought ${id.slice(0, 80)}`);
    return false;
  }

  /** A node run that was left may have taken a node with it that was not done: that one may begin again. */
  #start(id: string, nodeId: string | undefined, spans: Spans, report: Report): void {
    const before = this.#state.get(id);
    if (before?.status === "completed") report("got-node-order", `node ${id} begins, but was done`);
    else if (isRunning(before, spans)) report("got-node-order", `node ${id} is running already`);
    this.#state.set(id, { status: "started", nodeId, span: spans.findOpen(nodeId) });
  }

  #fail({ id, skipped }: GotNodeFailedEvent, spans: Spans, report: Report): void {
    // A node that is skipped because of another fails without having begun.
    this.#knows(id, report);
    const before = this.#state.get(id);
    if (before !== undefined && before.status !== "started") report("got-node-order", `node ${id} had ended`);
    else if (skipped === true && isRunning(before, spans))
      report("got-node-order", `node ${id} is skipped, but is running`);
    this.#state.set(id, { status: "failed" });
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
    const { nodes_added, edges_added, nodes, edges, labels } = event;
    this.#knows(event.node_id, report);
    sameLength("labels", labels, "nodes", nodes?.length ?? 0, report);
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

function isRunning(state: NodeState | undefined, spans: Spans): boolean {
  if (state?.status !== "started") return false;
  return state.span === undefined || spans.findOpen(state.nodeId) === state.span;
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
