import { expect, it } from "vitest";
import { findThoughts } from "./canvas-search.tsx";
import { indexTree, listDepthFirst } from "./tree-index.ts";

const TEXTS = [
  { id: "a", text: "Build a Bridge" },
  { id: "b", text: "Cross by ferry, not by bridge" },
  { id: "c", text: "乘坐渡轮" },
  { id: "d", text: "ＦＥＲＲＹ for trams" },
];

it("finds thoughts with all words of a query, in order", () => {
  expect(findThoughts(TEXTS, "bridge")).toEqual(["a", "b"]);
  expect(findThoughts(TEXTS, " BRIDGE ferry ")).toEqual(["b"]);
  expect(findThoughts(TEXTS, "渡轮")).toEqual(["c"]);
  expect(findThoughts(TEXTS, "ferry")).toEqual(["b", "d"]);
  expect(findThoughts(TEXTS, "tunnel")).toEqual([]);
  expect(findThoughts(TEXTS, "  ")).toEqual([]);
});

it("visits thoughts from top to bottom", () => {
  const parents = { a: undefined, b: undefined, a1: "a", b1: "b", a2: "a", a1x: "a1" };
  const index = indexTree(
    Object.entries(parents).map(([id, parent]) => ({
      id,
      text: id,
      depth: 1,
      status: "kept",
      ...(parent === undefined ? {} : { parent }),
    })),
  );
  expect(listDepthFirst(index).map((at) => index.thoughts[at]?.id)).toEqual(["a", "a1", "a1x", "a2", "b", "b1"]);
});
