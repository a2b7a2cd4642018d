// The graph of thoughts: the plan, what became of its nodes, and what was added on the way.
import { describe, expect, it } from "vitest";
import { ViewFeed } from "../../../test/view-feed.ts";

describe("the graph of thoughts", () => {
  it("follows the plan and its expansions", () => {
    const made = new ViewFeed().start();
    const plan = { type: "got_plan", node_count: 2, edge_count: 1, node_ids: ["a", "b"], edges: [["a", "b"]] } as const;
    made.put({ ...plan, labels: ["A", "B"] }).put({ type: "got_node_start", id: "a" });
    made.put({ type: "got_node_complete", id: "a", result_summary: "done" });
    made.put({ type: "got_expand", node_id: "a", nodes_added: 1, edges_added: 1, nodes: ["c"], edges: [["a", "c"]] });
    made.put({ type: "got_node_failed", id: "c", error: "no" });
    expect(made.turn.graph).toEqual({
      nodes: [
        { id: "a", label: "A", status: "complete", summary: "done", startedAt: 30, endedAt: 40 },
        { id: "b", label: "B", status: "planned" },
        { id: "c", status: "failed", error: "no", expandedFrom: "a", endedAt: 60 },
      ],
      edges: [
        ["a", "b"],
        ["a", "c"],
      ],
      expansions: [{ nodeId: "a", nodesAdded: 1, edgesAdded: 1, nodes: ["c"] }],
    });
  });

  it("makes nodes nobody planned, and takes each edge once", () => {
    const made = new ViewFeed().start().put({ type: "got_node_start", id: "x" }, { ts: null });
    const grow = { type: "got_expand", node_id: "y", nodes_added: 5, edges_added: 3 } as const;
    made.put({ ...grow, edges: [["y", "z"], ["y", "z"], ["broken"]] }).put(grow);
    expect(made.turn.graph).toEqual({
      nodes: [
        { id: "x", status: "running" },
        { id: "y", status: "planned" },
        { id: "z", status: "planned" },
      ],
      edges: [["y", "z"]],
      expansions: [
        { nodeId: "y", nodesAdded: 5, edgesAdded: 3, nodes: [] },
        { nodeId: "y", nodesAdded: 5, edgesAdded: 3, nodes: [] },
      ],
    });
  });
});
