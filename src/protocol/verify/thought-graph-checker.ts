/**
 * Checks the graph of thoughts in one run: its structure, and the order in which nodes start and end. A node that is
 * planned again counts as a new node. Memory is bounded; evicted nodes are not checked.
 */
import { BoundedMap } from "../bounded-map.ts";
import type { GotExpandEvent, GotNodeFailedEvent, GotPlanEvent, LoomEvent } from "../events.generated.ts";
import { shortenId, reportLongId, reportLengthMismatch, reportDuplicate } from "./report-ids.ts";
import type { IssueReporter } from "./lifecycle-rules.ts";
import type { SpanChecker } from "./span-checker.ts";

const MAX_NODES = 10_000;
const MAX_EDGES = 100_000;
/** Maximum number of visits to older nodes in cycle checks, per run. A graph that only grows needs none. */
const MAX_STEPS = 1_000_000;
/** Maximum number of dependencies checked per node. */
const MAX_NEEDS = 1000;

interface ThoughtNode {
  readonly id: string;
  status: "planned" | "started" | "completed" | "failed";
  isPlanned: boolean;
  /** The node run in which it started, and its node_id. */
  span?: number | undefined;
  nodeId?: string | undefined;
  readonly next: ThoughtNode[];
  /** The nodes it depends on, without the node that contains it. */
  readonly needs: ThoughtNode[];
}

export class ThoughtGraphChecker {
  readonly #nodes = new BoundedMap<ThoughtNode>(MAX_NODES);
  /** True if there is a plan and every expansion named its nodes. */
  #isWhole = false;
  #edges = 0;
  #steps = 0;
  #hasCycle = false;

  /** `nodeId` is the frame's node_id; `spans` knows the open node runs. */
  check(event: LoomEvent, nodeId: string | undefined, spans: SpanChecker, report: IssueReporter): void {
    switch (event.type) {
      case "got_plan":
        if (reportLongId([event.parent, ...event.node_ids, ...(event.edges ?? []).flat()], report))
          this.#isWhole = false;
        else this.#plan(event, spans, report);
        return;
      case "got_expand":
        if (reportLongId([event.node_id, ...(event.nodes ?? []), ...(event.edges ?? []).flat()], report))
          this.#isWhole = false;
        else this.#expand(event, spans, report);
        return;
      case "got_node_start":
        if (reportLongId([event.id], report)) return;
        this.#checkKnown(event.id, spans, report);
        this.#start(this.#find(event.id), nodeId, spans, report);
        return;
      case "got_node_complete":
        if (reportLongId([event.id], report)) return;
        reportLengthMismatch("scored", event.scored, "scores", event.scores?.length ?? 0, report);
        this.#complete(event.id, spans, report);
        return;
      case "got_node_failed":
        if (!reportLongId([event.id], report)) this.#fail(event, spans, report);
        return;
      default:
    }
  }

  /** Called when the run ends with a reply: reports nodes that started and never ended. */
  close(spans: SpanChecker, report: IssueReporter): void {
    if (spans.lenient) return;
    const [first, ...others] = [...this.#nodes.values()].filter(({ status }) => status === "started");
    if (first === undefined) return;
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    report("got-node-unended", `node ${shortenId(first.id)}${more} started but did not end`);
  }

  #checkKnown(id: string, spans: SpanChecker, report: IssueReporter): void {
    if (!this.#isKnown(id) && !spans.lenient) report("got-node-unknown", `node ${shortenId(id)} is not in the plan`);
  }

  #isKnown(id: string): boolean {
    return !this.#isWhole || this.#nodes.evicted || this.#nodes.has(id);
  }

  #find(id: string): ThoughtNode {
    return this.#nodes.getOrCreate(id, () => ({ id, status: "planned", isPlanned: false, next: [], needs: [] }));
  }

  /** A node whose node run has ended may start again unless it completed. */
  #start(node: ThoughtNode, nodeId: string | undefined, spans: SpanChecker, report: IssueReporter): void {
    const name = shortenId(node.id);
    if (!spans.lenient) {
      if (node.status === "completed") report("got-node-order", `node ${name} starts but has already completed`);
      else if (isRunning(node, spans)) report("got-node-order", `node ${name} is already running`);
      const need = node.needs.slice(0, MAX_NEEDS).find(({ status }) => status !== "completed");
      if (need !== undefined)
        report(
          "got-node-needs",
          `node ${name} starts before ${shortenId(need.id)}, on which it depends, has completed`,
        );
    }
    node.status = "started";
    node.nodeId = nodeId;
    node.span = spans.findOpen(nodeId, node.id);
  }

  #complete(id: string, spans: SpanChecker, report: IssueReporter): void {
    const isForgotten = this.#nodes.evicted && !this.#nodes.has(id);
    const node = this.#find(id);
    if (node.status !== "started" && !isForgotten && !spans.lenient)
      report("got-node-order", `node ${shortenId(id)} completes but is not running`);
    node.status = "completed";
  }

  /** A skipped node fails without having started. */
  #fail({ id, skipped }: GotNodeFailedEvent, spans: SpanChecker, report: IssueReporter): void {
    this.#checkKnown(id, spans, report);
    const node = this.#find(id);
    if (!spans.lenient) {
      if (node.status === "completed" || node.status === "failed")
        report("got-node-order", `node ${shortenId(id)} has already ended`);
      else if (skipped === true && isRunning(node, spans))
        report("got-node-order", `node ${shortenId(id)} is skipped but is running`);
    }
    node.status = "failed";
  }

  #plan(event: GotPlanEvent, spans: SpanChecker, report: IssueReporter): void {
    const { node_count, edge_count, node_ids, parent, edges, labels, operations } = event;
    if (parent !== undefined) this.#checkKnown(parent, spans, report);
    reportCount("node_count", node_count, "node_ids", node_ids, report);
    reportCount("edge_count", edge_count, "edges", edges, report);
    reportLengthMismatch("labels", labels, "node_ids", node_ids.length, report);
    reportLengthMismatch("operations", operations, "node_ids", node_ids.length, report);
    reportDuplicate("node_ids", node_ids, report);
    const added = new Set<ThoughtNode>();
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
    this.#connect(edges, parent, added, spans, report);
  }

  #expand(event: GotExpandEvent, spans: SpanChecker, report: IssueReporter): void {
    const { node_id, nodes_added, edges_added, nodes, edges, labels, operations } = event;
    this.#checkKnown(node_id, spans, report);
    reportLengthMismatch("labels", labels, "nodes", nodes?.length ?? 0, report);
    reportLengthMismatch("operations", operations, "nodes", nodes?.length ?? 0, report);
    reportCount("nodes_added", nodes_added, "nodes", nodes, report);
    reportCount("edges_added", edges_added, "edges", edges, report);
    if (nodes === undefined) this.#isWhole = false;
    const added = new Set<ThoughtNode>();
    for (const id of nodes ?? []) {
      if (!this.#nodes.has(id)) added.add(this.#find(id));
      this.#find(id).isPlanned = true;
    }
    this.#connect(edges, node_id, added, spans, report);
  }

  /**
   * Adds edges. `around` is the node that contains the added nodes; `added` are the nodes of the same event.
   */
  #connect(
    edges: readonly (readonly string[])[] = [],
    around: string | undefined,
    added: Set<ThoughtNode>,
    spans: SpanChecker,
    report: IssueReporter,
  ): void {
    const isBroken = (id: string): boolean => !this.#isKnown(id) && !spans.lenient;
    const broken = edges.find((edge) => edge.length !== 2 || edge.some(isBroken));
    if (broken !== undefined) {
      const shown = broken.slice(0, 4).map(shortenId).join(" → ");
      report("got-edge", `the edge ${shortenId(shown)} is not a pair of known nodes`);
      return;
    }
    if (this.#edges + edges.length > MAX_EDGES || this.#hasCycle) return;
    const older = new Set<ThoughtNode>();
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
    report("got-cycle", `node ${shortenId(node.id)} depends on itself`);
  }

  /** Finds a node on a new cycle. Such a cycle consists of new nodes, or contains an older node from `starts`. */
  #findOnCycle(starts: readonly ThoughtNode[], added: ReadonlySet<ThoughtNode>): ThoughtNode | undefined {
    const done = new Set<ThoughtNode>();
    const path = new Set<ThoughtNode>();
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

/** False if the node run it started in is unknown, because that may have ended. */
function isRunning({ status, span, nodeId, id }: ThoughtNode, spans: SpanChecker): boolean {
  return status === "started" && span !== undefined && spans.findOpen(nodeId, id) === span;
}

function reportCount(
  name: string,
  count: number,
  other: string,
  list: readonly unknown[] | undefined,
  report: IssueReporter,
): void {
  if (list !== undefined && list.length !== count)
    report("got-counts", `${name} is ${count}, but ${other} has ${list.length} entries`);
}
