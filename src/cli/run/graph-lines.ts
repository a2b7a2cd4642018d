/**
 * Formats a graph of thoughts as lines: the plan, then each node as it starts, completes, fails or is skipped. Added
 * nodes are indented below the node that added them. Memory is bounded.
 */
import type { EventOf } from "../../protocol/index.ts";
import { BoundedMap } from "../../protocol/bounded-map.ts";
import { plural } from "../fit-text.ts";
import { formatDuration, type Note } from "./format-note.ts";

const MAX_NODES = 10_000;
const MAX_TEXT = 300;
/** Nodes shown of one plan, and dependencies shown of one node. */
const SHOWN_NODES = 15;
const SHOWN_NEEDS = 4;

interface ShownNode {
  readonly label: string;
  /** Nesting depth of the expansion it belongs to. */
  readonly level: number;
  readonly status: "planned" | "running" | "ended";
  readonly startedAt?: number | undefined;
}

type GraphLineEvent = EventOf<"got_plan" | "got_node_start" | "got_node_complete" | "got_node_failed" | "got_expand">;
type Edges = readonly (readonly string[])[];

const UNKNOWN_NODE: ShownNode = { label: "", level: 0, status: "planned" };

export class GraphLines {
  readonly #nodes = new BoundedMap<ShownNode>(MAX_NODES);
  #running = 0;
  #ended = 0;

  describe(event: GraphLineEvent, ts: number | undefined): readonly Note[] {
    switch (event.type) {
      case "got_plan": {
        const { node_ids: ids, node_count, parent, edges, labels } = event;
        if (parent !== undefined) return this.#addInside(parent, node_count, ids, labels, edges);
        const title: Note = { style: "cyan", sign: "◆", name: "plan", text: plural(ids.length, "task") };
        return [title, ...this.#add(ids, labels, edges, 0)];
      }
      case "got_expand": {
        const { node_id, nodes_added, nodes = [], edges, labels } = event;
        return this.#addInside(node_id, nodes_added, nodes, labels, edges);
      }
      case "got_node_start": {
        const { level, label } = this.#change(event.id, "running", ts);
        return [{ indent: level, style: "cyan", sign: "▶", ...nameNode(event.id, label) }];
      }
      case "got_node_complete": {
        const { level, startedAt } = this.#change(event.id, "ended");
        const end = ts === undefined || startedAt === undefined ? "" : `(${formatDuration(ts - startedAt)})`;
        // A summary that is a Markdown heading is shown without its mark.
        const summary = event.result_summary.replace(/^#{1,6} +/, "");
        return [{ indent: level, style: "green", sign: "✓", ...nameNode(event.id, summary), end }];
      }
      default: {
        const { level } = this.#change(event.id, "ended");
        const [sign, style] = event.skipped === true ? (["–", "dim"] as const) : (["✗", "red"] as const);
        return [{ indent: level, style, sign, ...nameNode(event.id, event.error) }];
      }
    }
  }

  /** Notes that an attempt at a node failed and will be retried. Returns no note if the node is not running. */
  describeFailedAttempt(id: string, reason: string): readonly Note[] {
    if (this.#nodes.get(id)?.status !== "running") return [];
    const { level } = this.#change(id, "planned");
    return [{ indent: level, style: "yellow", sign: "↻", ...nameNode(id, `attempt failed: ${reason}`) }];
  }

  /** Nesting depth of a node. */
  findLevel(id: string): number {
    return (this.#nodes.get(id) ?? UNKNOWN_NODE).level;
  }

  /** Progress in a few words. */
  get summary(): string {
    return `${this.#ended} of ${plural(this.#nodes.size, "task")} finished, ${this.#running} running`;
  }

  #change(id: string, status: ShownNode["status"], startedAt?: number): ShownNode {
    const before = this.#nodes.get(id) ?? UNKNOWN_NODE;
    this.#running += Number(status === "running") - Number(before.status === "running");
    this.#ended += Number(status === "ended") - Number(before.status === "ended");
    const node = { ...before, status, startedAt: startedAt ?? before.startedAt };
    this.#nodes.set(id, node);
    return node;
  }

  #addInside(
    id: string,
    count: number,
    nodes: readonly string[],
    labels: readonly string[] | undefined,
    edges: Edges | undefined,
  ): readonly Note[] {
    const level = this.findLevel(id) + 1;
    const title: Note = { indent: level, style: "cyan", sign: "+", name: plural(count, "task"), text: `in ${id}` };
    // Edges from the node itself are implied.
    const inner = edges?.filter(([from]) => from !== id);
    return [title, ...this.#add(nodes, labels, inner, level, `${id}.`)];
  }

  #add(
    ids: readonly string[],
    labels: readonly string[] = [],
    edges: Edges = [],
    level: number,
    prefix = "",
  ): readonly Note[] {
    for (const [i, id] of ids.entries()) {
      // A finished node that is planned again starts over.
      const before = this.#nodes.get(id)?.status;
      if (before === "ended") this.#ended--;
      if (before === undefined || before === "ended")
        this.#nodes.set(id, { label: (labels[i] ?? "").slice(0, MAX_TEXT), level, status: "planned" });
    }
    const shown = ids.length > SHOWN_NODES ? ids.slice(0, SHOWN_NODES - 1) : ids;
    const needs = listNeeds(shown, edges);
    const dropPrefix = (id: string): string => (id.startsWith(prefix) ? id.slice(prefix.length) : id);
    const notes = shown.map((id, i): Note => {
      const end = describeNeeds((needs.get(id) ?? []).map(dropPrefix));
      return { indent: level + 1, style: "dim", sign: "◦", ...nameNode(dropPrefix(id), labels[i] ?? ""), end };
    });
    const more = ids.length - shown.length;
    if (more > 0) notes.push({ indent: level + 1, style: "dim", sign: "…", name: "", text: `${more} more` });
    return notes;
  }
}

function nameNode(id: string, text: string): Pick<Note, "name" | "text"> {
  return { name: text === "" ? id : `${id}:`, text };
}

function listNeeds(ids: readonly string[], edges: Edges): ReadonlyMap<string, readonly string[]> {
  const needs = new Map(ids.map((id) => [id, [] as string[]]));
  for (const [from, to] of edges) if (from !== undefined && to !== undefined) needs.get(to)?.push(from);
  return needs;
}

function describeNeeds(needs: readonly string[]): string {
  if (needs.length === 0) return "";
  const more = needs.length - SHOWN_NEEDS;
  return `← ${needs.slice(0, SHOWN_NEEDS).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
