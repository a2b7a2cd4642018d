// Elements that the conversation shows for a frame.
import { describe, expect, it } from "vitest";
import type { TurnView } from "loom-agent/client";
import { findShownTarget } from "./run-index.ts";

const turn = {
  nodes: [
    { key: "a", name: "think", status: "ok" },
    { key: "d", name: "answer", status: "running" },
  ],
  messages: [{ parts: [{ type: "error", key: "1", nodeKey: "a", message: "x" }] }],
} as unknown as TurnView;

describe("findShownTarget", () => {
  it("maps a node run to its graph node, part or run", () => {
    const target = { turn: "page", kind: "node", key: "a" } as const;
    expect(findShownTarget(turn, target)).toEqual({ turn: "page", kind: "part", key: "1" });
    expect(findShownTarget(turn, { ...target, key: "d" })).toEqual({ turn: "page", kind: "turn", key: "" });
    const graph = { nodes: [{ id: "think", status: "running" }], edges: [], expansions: [] } as const;
    expect(findShownTarget({ ...turn, graph }, target)).toEqual({ turn: "page", kind: "graph-node", key: "think" });
    expect(findShownTarget(turn, { ...target, kind: "thought" })).toEqual({ ...target, kind: "thought" });
  });
});
