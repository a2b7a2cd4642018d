// The tree of thoughts, with and without the fields that make it easy.
import { describe, expect, it } from "vitest";
import { ViewFeed } from "../../../test/view-feed.ts";

describe("the tree of thoughts", () => {
  it("is built from ids and parents", () => {
    const made = new ViewFeed().start();
    made.put({ type: "tot_expand", candidates: ["x", "y"], ids: ["1", "2"], depth: 1 });
    made.put({ type: "tot_evaluate", chosen: 1, scores: [0.1, 0.9], ids: ["1", "2"], kept: ["1", "2"] });
    made.put({ type: "tot_expand", candidates: ["z"], ids: ["3"], parent: "2" });
    expect(made.turn.tree).toEqual({
      thoughts: [
        { id: "1", text: "x", depth: 1, status: "kept", score: 0.1 },
        { id: "2", text: "y", depth: 1, status: "kept", score: 0.9 },
        { id: "3", text: "z", parent: "2", depth: 2, status: "open" },
      ],
      chosen: "2",
      backtracks: [],
    });
    made.put({ type: "tot_backtrack", reason: "dead end", to_depth: 1, from: "3", to: "2" });
    expect(made.turn.tree).toMatchObject({
      thoughts: [{}, {}, { status: "abandoned" }],
      backtracks: [{ reason: "dead end", toDepth: 1, from: "3", to: "2" }],
    });
  });

  it("makes up what is missing from the order of events", () => {
    const made = new ViewFeed().start();
    made.put({ type: "tot_expand", candidates: ["x", "y"] }).put({ type: "tot_evaluate", chosen: 0, scores: [3, 1] });
    made.put({ type: "tot_expand", candidates: ["z"] }).put({ type: "tot_evaluate", chosen: 0, scores: [2] });
    made.put({ type: "tot_backtrack", reason: "no", to_depth: 0 }).put({ type: "tot_expand", candidates: ["w"] });
    expect(made.turn.tree?.thoughts).toEqual([
      { id: "d1.0", text: "x", depth: 1, status: "kept", score: 3 },
      { id: "d1.1", text: "y", depth: 1, status: "pruned", score: 1 },
      { id: "d2.0", text: "z", depth: 2, status: "abandoned", score: 2 },
      { id: "d1.2", text: "w", depth: 1, status: "open" },
    ]);
  });

  it("takes scores without ids for the last thoughts that were not abandoned", () => {
    const made = new ViewFeed().start().put({ type: "tot_expand", candidates: ["x", "y", "z"] });
    const judge = (...scores: number[]) => made.put({ type: "tot_evaluate", chosen: 0, scores }).turn.tree;
    judge(7, 6, 4);
    made.put({ type: "tot_backtrack", reason: "no", to_depth: 0 });
    expect(judge(8, 5)).toMatchObject({
      thoughts: [
        { score: 7, status: "abandoned" },
        { score: 8, status: "kept" },
        { score: 5, status: "pruned" },
      ],
      chosen: "d1.1",
    });
    const { thoughts } = made.turn.tree ?? {};
    expect(judge(1)).not.toHaveProperty("chosen");
    expect(made.turn.tree?.thoughts).toBe(thoughts);
    expect(judge(3, 2, 1)).toMatchObject({ thoughts: [{ score: 3 }, { score: 2 }, { score: 1 }], chosen: "d1.0" });
  });

  it("keeps thoughts that nothing was said about", () => {
    const made = new ViewFeed().start().put({ type: "tot_expand", candidates: ["x", "y"], ids: ["1", "2"] });
    const [first, second] = made.turn.tree?.thoughts ?? [];
    made.put({ type: "tot_evaluate", chosen: 7, scores: [5], ids: ["2", "unknown"] });
    expect(made.turn.tree?.thoughts[0]).toBe(first);
    expect(made.turn.tree?.thoughts[1]).toEqual({ ...second, score: 5, status: "pruned" });
    expect(made.turn.tree).not.toHaveProperty("chosen");
  });
});
