// Where the page shows what a frame is about.
import type { TurnView } from "loom-agent/client";
import { describe, expect, it } from "vitest";
import { findShownPlace } from "./find-shown-place.ts";

const turn = {
  nodes: [
    { key: "a", name: "think", status: "ok" },
    { key: "d", name: "answer", status: "running" },
  ],
  messages: [{ parts: [{ type: "error", key: "1", nodeKey: "a", message: "x" }] }],
} as unknown as TurnView;

describe("what a frame is about", () => {
  it("points to where the page shows a node run", () => {
    const place = { turn: "page", kind: "node", key: "a" } as const;
    expect(findShownPlace(turn, place)).toEqual({ turn: "page", kind: "part", key: "1" });
    expect(findShownPlace(turn, { ...place, key: "d" })).toEqual({ turn: "page", kind: "turn", key: "" });
    const graph = { nodes: [{ id: "think", status: "running" }], edges: [], expansions: [] } as const;
    expect(findShownPlace({ ...turn, graph }, place)).toEqual({ turn: "page", kind: "graph-node", key: "think" });
    expect(findShownPlace(turn, { ...place, kind: "thought" })).toEqual({ ...place, kind: "thought" });
  });
});
