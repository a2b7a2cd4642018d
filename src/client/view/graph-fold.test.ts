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

  it("creates unplanned nodes, and adds each edge once", () => {
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

  it("records what an expansion added, and tells skipped from failed nodes", () => {
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

  it("shows the operation and the scores of a node", () => {
    const made = new ViewFeed().start();
    const operations = ["generate", "score"];
    made.put({ type: "got_plan", node_count: 2, edge_count: 0, node_ids: ["a", "b"], operations });
    made.put({
      type: "got_expand",
      node_id: "a",
      nodes_added: 1,
      edges_added: 0,
      nodes: ["a.1"],
      operations: ["refine"],
    });
    made.put({ type: "got_node_start", id: "b" });
    const done = { type: "got_node_complete", id: "b", result_summary: "kept a" } as const;
    made.put({ ...done, scored: ["a", "a.1"], scores: [0.5] });
    expect(made.turn.graph?.nodes).toMatchObject([
      { id: "a", operation: "generate" },
      // Missing scores are not invented.
      { id: "b", operation: "score", scores: [{ id: "a", score: 0.5 }] },
      { id: "a.1", operation: "refine" },
    ]);
  });

  it("resets a node that starts again", () => {
    const made = new ViewFeed().start();
    made.put({ type: "got_plan", node_count: 1, edge_count: 0, node_ids: ["a"], labels: ["A"] });
    made.put({ type: "got_node_start", id: "a" }).put({ type: "got_node_failed", id: "a", error: "no" });
    made.put({ type: "got_node_start", id: "a" });
    expect(made.turn.graph?.nodes).toEqual([{ id: "a", label: "A", status: "running", startedAt: 50 }]);
    made.put({ type: "run_end", status: "cancelled" });
    expect(made.turn.graph?.nodes).toMatchObject([{ status: "interrupted" }]);
  });

  it("adds a second plan to the first, and replaces nodes planned again", () => {
    const made = new ViewFeed().start();
    const plan = (...ids: string[]) =>
      made.put({ type: "got_plan", node_count: ids.length, edge_count: 0, node_ids: ids });
    plan("a", "b").put({ type: "got_node_start", id: "a" }).put({ type: "got_node_start", id: "b" });
    made.put({ type: "got_node_complete", id: "a", result_summary: "done" });
    plan("a", "b", "c");
    expect(made.turn.graph?.nodes).toEqual([
      { id: "a", status: "planned" },
      { id: "b", status: "running", startedAt: 40 },
      { id: "c", status: "planned" },
    ]);
  });

  it("shows nodes planned inside a node like those of an expansion", () => {
    const made = new ViewFeed().start();
    made.put({ type: "got_plan", node_count: 1, edge_count: 0, node_ids: ["a"] });
    const edges = [["a", "a.1"]];
    made.put({ type: "got_plan", node_count: 1, edge_count: 1, node_ids: ["a.1"], edges, parent: "a" });
    expect(made.turn.graph).toEqual({
      nodes: [
        { id: "a", status: "planned" },
        { id: "a.1", status: "planned", expandedFrom: "a" },
      ],
      edges,
      expansions: [{ nodeId: "a", nodesAdded: 1, edgesAdded: 1, nodes: ["a.1"] }],
    });
  });

  it("cuts long texts, ignores long IDs, and limits the lists of all expansions", () => {
    const long = "x".repeat(1001);
    const made = new ViewFeed({ maxText: 10, maxItems: 3 }).start();
    const plan = { type: "got_plan", node_count: 1, edge_count: 1, node_ids: ["a"] } as const;
    made
      .put({ ...plan, labels: [long] })
      .put({ ...plan, node_ids: [long] })
      .put({ ...plan, edges: [["a", long]] });
    made.put({ type: "got_node_start", id: long }).put({ type: "got_node_failed", id: "a", error: long });
    made.put({ type: "got_node_complete", id: "a", result_summary: long });
    for (let n = 0; n < 2; n++)
      made.put({ type: "got_expand", node_id: "a", nodes_added: 2, edges_added: 0, nodes: ["b", "c"] });
    made.put({ type: "got_expand", node_id: long, nodes_added: 0, edges_added: 0, nodes: [] });
    const { graph, omitted } = made.turn;
    expect(graph?.nodes.map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(graph?.expansions.map(({ nodes }) => nodes)).toEqual([["b", "c"], ["b"]]);
    expect(JSON.stringify(graph)).not.toContain("x".repeat(11));
    expect(omitted).toBe(8);
  });
});
