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

  it("names what was added, and tells what was skipped from what failed", () => {
    const made = new ViewFeed().start();
    made.put({ type: "got_plan", node_count: 1, edge_count: 0, node_ids: ["a"], labels: ["A"] });
    const grow = { type: "got_expand", node_id: "a", nodes_added: 3, edges_added: 0 } as const;
    made.put({ ...grow, nodes: ["a", "a.1", "a.2"], labels: ["again", "One", "Two"] });
    made.put({ type: "got_node_failed", id: "a.1", error: "no" });
    made.put({ type: "got_node_failed", id: "a.2", error: "a.1 has no result", skipped: true });
    expect(made.turn.graph?.nodes).toEqual([
      { id: "a", label: "A", status: "planned" },
      { id: "a.1", label: "One", status: "failed", error: "no", expandedFrom: "a", endedAt: 40 },
      { id: "a.2", label: "Two", status: "skipped", error: "a.1 has no result", expandedFrom: "a", endedAt: 50 },
    ]);
  });

  it("forgets what became of a node that begins again", () => {
    const made = new ViewFeed().start();
    made.put({ type: "got_plan", node_count: 1, edge_count: 0, node_ids: ["a"], labels: ["A"] });
    made.put({ type: "got_node_start", id: "a" }).put({ type: "got_node_failed", id: "a", error: "no" });
    made.put({ type: "got_node_start", id: "a" });
    expect(made.turn.graph?.nodes).toEqual([{ id: "a", label: "A", status: "running", startedAt: 50 }]);
    made.put({ type: "run_end", status: "cancelled" });
    expect(made.turn.graph?.nodes).toMatchObject([{ status: "interrupted" }]);
  });
});
