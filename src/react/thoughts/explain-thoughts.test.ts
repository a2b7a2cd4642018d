import { describe, expect, it } from "vitest";
import type { ThoughtView } from "../../client/view.ts";
import { countNewest, explainAbandoned, findBestScore, listChain, summariseTree } from "./explain-thoughts.ts";
import { indexTree } from "./tree-index.ts";

const think = (id: string, status: ThoughtView["status"], more: Partial<ThoughtView> = {}): ThoughtView => ({
  id,
  text: id,
  depth: id.split(".").length,
  status,
  ...(id.includes(".") ? { parent: id.slice(0, id.lastIndexOf(".")) } : {}),
  ...more,
});

const TREE = {
  thoughts: [
    think("1", "abandoned", { score: 0.8 }),
    think("2", "kept", { score: 0.6 }),
    think("1.1", "abandoned", { score: 0.3 }),
    think("1.2", "pruned", { score: 0.1 }),
    think("2.1", "kept", { score: 0.7 }),
    think("2.2", "open"),
  ],
  path: ["2", "2.1"],
  chosen: "2.1",
  backtracks: [{ reason: "dead end", toDepth: 0, from: "1.1", to: "2" }],
};

describe("explanations of thoughts", () => {
  it("give every thought abandoned by one backtrack its reason", () => {
    const reasons = explainAbandoned(indexTree(TREE.thoughts), TREE);
    expect([...reasons]).toEqual([
      [2, "dead end"],
      [0, "dead end"],
    ]);
    const translated = explainAbandoned(indexTree(TREE.thoughts), TREE, ({ toDepth }) => `to ${toDepth}`);
    expect([...translated.values()]).toEqual(["to 0", "to 0"]);
  });

  it("use the depth if the backtrack names no thought, and the latest of several reasons", () => {
    const backtracks = [
      { reason: "too high", toDepth: 5 },
      { reason: "first", toDepth: 0 },
      { reason: "second", toDepth: 1 },
    ];
    const reasons = explainAbandoned(indexTree(TREE.thoughts), { backtracks });
    expect(reasons.get(0)).toBe("first");
    expect(reasons.get(2)).toBe("second");
  });

  it("summarize the tree, compare siblings and list ancestors", () => {
    const index = indexTree(TREE.thoughts);
    expect(summariseTree(TREE)).toEqual({ count: 6, depth: 2, best: 0.8, backtracks: 1 });
    expect(summariseTree({ thoughts: [], path: [], backtracks: [] }).best).toBeUndefined();
    expect([findBestScore(index, 3), findBestScore(index, 1), findBestScore(index, 5)]).toEqual([0.3, 0.8, 0.7]);
    expect(countNewest(index)).toBe(2);
    expect(listChain(index, 4)).toEqual({ places: [1], isCut: false });
    expect(listChain(indexTree(["1", "1.1", "1.1.1", "1.1.1.1"].map((id) => think(id, "kept"))), 3, 2)).toEqual({
      places: [1, 2],
      isCut: true,
    });
  });
});
