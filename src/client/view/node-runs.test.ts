// Node runs: nesting, repeated names, and frames without a node_id.
import { describe, expect, it } from "vitest";
import { ViewFeed } from "../../../test/view-feed.ts";

describe("node runs", () => {
  it("have times and a result", () => {
    const made = new ViewFeed().start().put({ type: "node_enter", id: "think" }, { node: "run-think-1" });
    made.put({ type: "updates", id: "think", state: { n: 1 } }, { node: "run-think-1" });
    made.put({ type: "node_exit", id: "think", result: "Ok" }, { node: "run-think-1" });
    made.enter("act").put({ type: "node_exit", id: "act", result: { Err: "no" } }, { node: "act" });
    expect(made.turn.nodes).toEqual([
      {
        key: "run-think-1",
        nodeId: "run-think-1",
        name: "think",
        status: "ok",
        startedAt: 20,
        endedAt: 40,
        updates: { n: 1 },
      },
      { key: "act", nodeId: "act", name: "act", status: "failed", error: "no", startedAt: 50, endedAt: 60 },
    ]);
  });

  it("nest in the innermost open one", () => {
    const made = new ViewFeed()
      .start()
      .enter("a")
      .enter("b")
      .enter("c")
      .exit("c")
      .exit("b")
      .enter("d")
      .exit("a")
      .enter("e");
    expect(made.turn.nodes.map(({ key, parentKey }) => `${parentKey ?? ""}>${key}`)).toEqual([
      ">a",
      "a>b",
      "b>c",
      "a>d",
      "d>e",
    ]);
  });

  it("are side by side if they are nodes of the graph", () => {
    const made = new ViewFeed().start().enter("execute");
    made.put({ type: "got_plan", node_count: 2, edge_count: 0, node_ids: ["a", "b"], edges: [] });
    made.enter("a").enter("inner").enter("b").enter("deep");
    made.put({ type: "got_expand", node_id: "b", nodes_added: 3, edges_added: 0, nodes: ["b1", "b2", "b3"] });
    made.enter("b1").enter("b2").exit("b").enter("b3").exit("execute").enter("a");
    expect(made.turn.nodes.map(({ name, parentKey }) => `${parentKey ?? ""}>${name}`)).toEqual([
      ">execute",
      "execute>a",
      "a>inner",
      "execute>b",
      "b>deep",
      "b>b1",
      "b>b2",
      "execute>b3",
      ">a",
    ]);
  });

  it("are inside the parent they name", () => {
    const made = new ViewFeed().start().enter("execute");
    const enter = (id: string, parent: string) => made.put({ type: "node_enter", id, parent }, { node: id });
    enter("a", "execute");
    enter("b", "execute");
    enter("a.try", "a");
    enter("lost", "unknown");
    made.exit("b").enter("b");
    enter("b.try", "b");
    expect(made.turn.nodes.map(({ key, parentKey }) => `${parentKey ?? ""}>${key}`)).toEqual([
      ">execute",
      "execute>a",
      "execute>b",
      "a>a.try",
      "a.try>lost",
      "lost>b#2",
      "b#2>b.try",
    ]);
  });

  it("may repeat their node_id", () => {
    const made = new ViewFeed().start().enter("a").exit("a").enter("a").writeText("x", "a").enter("a#2").enter("a");
    expect(made.turn.nodes.map(({ key, nodeId }) => [key, nodeId])).toEqual([
      ["a", "a"],
      ["a#2", "a"],
      ["a#2#2", "a#2"],
      ["a#3", "a"],
    ]);
    expect(made.message.parts[0]?.nodeKey).toBe("a#2");
  });

  it("are matched by name if frames carry no node_id", () => {
    const made = new ViewFeed().start();
    const enter = (id: string) => made.put({ type: "node_enter", id });
    const exit = (id: string) => made.put({ type: "node_exit", id, result: "Ok" });
    enter("a");
    enter("b");
    made.put({ type: "message_chunk", id: "a", content: "A" }).put({ type: "image", url: "u" });
    made.put({ type: "message_chunk", id: "b", content: "B" }).put({ type: "message_chunk", id: "a", content: "A" });
    made.put({ type: "updates", id: "a", state: 1 });
    exit("b");
    made.put({ type: "image", url: "u" });
    exit("a");
    enter("a");
    expect(made.message.parts).toMatchObject([
      { text: "AA", nodeKey: "a", isComplete: true },
      { type: "image", nodeKey: "b" },
      { text: "B", nodeKey: "b", isComplete: true },
      { type: "image", nodeKey: "a" },
    ]);
    expect(made.turn.nodes).toMatchObject([
      { key: "a", status: "ok", updates: 1 },
      { key: "b", parentKey: "a", status: "ok" },
      { key: "a#2", status: "running" },
    ]);
    expect(made.turn.nodes[0]).not.toHaveProperty("nodeId");
  });

  it("keep their texts apart even if unknown", () => {
    const made = new ViewFeed()
      .writeText("A", "a")
      .writeText("B", "b")
      .writeText("A", "a")
      .exit("a")
      .writeText("A", "a");
    expect(made.outline).toEqual(["text:AA", "text:B", "text:A"]);
    expect([made.turn.nodes, made.turn.isPartial]).toEqual([[], true]);
    made.put({ type: "updates", id: "a", state: 1 }, { node: "a" });
    expect(made.turn.others).toEqual([{ type: "updates", id: "a", state: 1 }]);
  });

  it("accept names of Object.prototype members", () => {
    const made = new ViewFeed().start();
    for (const node of ["__proto__", "constructor"]) made.enter(node).writeText(node, node).exit(node);
    expect(made.turn.nodes).toMatchObject([
      { key: "__proto__", status: "ok" },
      { key: "constructor", status: "ok" },
    ]);
    expect(made.message.mainContent).toBe("__proto__constructor");
  });
});
