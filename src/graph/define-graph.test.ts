import { describe, expect, expectTypeOf, it } from "vitest";
import { defineGraph, fanOut, subgraph } from "./define-graph.ts";
import { append, type Channels, custom, END, merge, replace, type StateOf, type WritesOf } from "./graph.ts";
import { invokeGraph } from "./run-graph.ts";

const channels = {
  count: replace(0),
  names: append<string>(),
  marks: merge<boolean>(),
  top: custom<number, { readonly score: number }>(0, (value, { score }) => Math.max(value, score)),
};

describe("defineGraph", () => {
  it("derives the types of state, writes and names from channels and nodes", () => {
    type C = typeof channels;
    expectTypeOf<StateOf<C>>().toEqualTypeOf<{
      readonly count: number;
      readonly names: readonly string[];
      readonly marks: { readonly [key: string]: boolean };
      readonly top: number;
    }>();
    expectTypeOf<WritesOf<C>["top"]>().toEqualTypeOf<{ readonly score: number } | undefined>();
    const child = defineGraph({
      name: "child",
      channels: { text: replace("") },
      nodes: { shout: ({ text }) => ({ text: text.toUpperCase() }) },
      start: "shout",
    });
    const graph = defineGraph({
      name: "typed",
      channels,
      nodes: {
        first: (state, node) => {
          expectTypeOf(state).toEqualTypeOf<StateOf<C>>();
          expectTypeOf(node.task).toBeNumber();
          return { names: ["a"], top: { score: 1 } };
        },
        second: { run: async (state) => ({ count: state.count + 1 }), timeoutMs: 1000 },
        third: subgraph(child, {
          input: (state: StateOf<C>) => ({ text: state.names.join(" ") }),
          output: (inner) => {
            expectTypeOf(inner.text).toBeString();
            return { names: [inner.text] };
          },
        }),
      },
      edges: { first: (state) => (state.count > 0 ? END : fanOut("second", [1, 2])), second: ["third"] },
      start: "first",
    });
    expectTypeOf(invokeGraph(graph, { names: ["x"] })).resolves.toEqualTypeOf<StateOf<C>>();
    // @ts-expect-error -- unknown channel
    void (() => invokeGraph(graph, { other: 1 }));
    // @ts-expect-error -- the channel needs a list
    void (() => invokeGraph(graph, { names: "x" }));
    // @ts-expect-error -- the subgraph returns another type
    void (() => defineGraph({ ...base, nodes: { a: subgraph(child, { output: () => ({ count: "one" }) }) } }));
    const base = { name: "wrong", channels, start: "a" } as const;
    const wrong = [
      // @ts-expect-error -- unknown node
      () => defineGraph({ ...base, nodes: { a: () => ({}) }, edges: { a: "b" } }),
      // @ts-expect-error -- unknown node
      () => defineGraph({ ...base, nodes: { a: () => ({}) }, edges: { b: "a" } }),
      // @ts-expect-error -- unknown start node
      () => defineGraph({ ...base, nodes: { b: () => ({}) } }),
      // @ts-expect-error -- the write has another type
      () => defineGraph({ ...base, nodes: { a: () => ({ count: "one" }) } }),
      // @ts-expect-error -- unknown node to fan out to
      () => defineGraph({ ...base, nodes: { a: () => ({}) }, edges: { a: () => fanOut("b", []) } }),
      // @ts-expect-error -- unknown node for an empty fan-out
      () => defineGraph({ ...base, nodes: { a: () => ({}) }, edges: { a: () => fanOut("a", [], { otherwise: "b" }) } }),
    ];
    expect(wrong).toHaveLength(6);
  });

  it("accepts node names that are properties of Object.prototype", async () => {
    const nodes = { ["constructor" as string]: () => ({ count: 1 }), toString: () => ({ count: 2 }) };
    const graph = defineGraph({ name: "g", channels, nodes, edges: { toString: "constructor" }, start: "toString" });
    expect(await invokeGraph(graph)).toMatchObject({ count: 1 });
  });

  it.each([
    [[], 0],
    [[2, 3], 13],
  ])("fans out over %j, or follows `otherwise`", async (items, sum) => {
    const graph = defineGraph({
      name: "g",
      channels: { squares: append<number>(), sum: replace(-1) },
      nodes: {
        plan: () => undefined,
        square: (_, { input }) => ({ squares: [Number(input) ** 2] }),
        add: ({ squares }) => ({ sum: squares.reduce((a, b) => a + b, 0) }),
      },
      edges: { plan: () => fanOut("square", items, { otherwise: "add" }), square: "add" },
      start: "plan",
    });
    expect(await invokeGraph(graph)).toMatchObject({ sum });
  });

  const node = () => undefined;
  const fine = { name: "g", channels: {}, nodes: { a: node }, start: "a" } as const;
  let deep = defineGraph(fine);
  for (let depth = 2; depth <= 8; depth++) deep = defineGraph({ ...fine, nodes: { a: subgraph(deep) } });
  const invalid: [path: string, change: object][] = [
    ["name", { name: "" }],
    ["channels.__proto__", { channels: JSON.parse('{"__proto__": {"kind": "replace", "initial": 0}}') as Channels }],
    ["channels.c", { channels: { c: { kind: "append", initial: {} } } }],
    ["channels.c", { channels: { c: { kind: "merge", initial: [] } } }],
    ["channels.c", { channels: { c: { kind: "custom", initial: 0 } } }],
    ["channels.c", { channels: { c: { kind: "other", initial: 0 } } }],
    ["channels.c", { channels: { c: replace(new Date()) } }],
    ["nodes", { nodes: {} }],
    ["nodes.__end__", { nodes: { a: node, [END]: node } }],
    ["nodes.a:b", { nodes: { a: node, "a:b": node } }],
    ["nodes.b", { nodes: { a: node, b: 7 } }],
    ["nodes.b", { nodes: { a: node, b: {} } }],
    ["nodes.b.timeoutMs", { nodes: { a: node, b: { run: node, timeoutMs: 0 } } }],
    ["nodes.b.retry.attempts", { nodes: { a: node, b: { run: node, retry: { attempts: 0 } } } }],
    ["nodes.b.retry.delayMs", { nodes: { a: node, b: { run: node, retry: { attempts: 2, delayMs: -1 } } } }],
    ["nodes.b.retry.factor", { nodes: { a: node, b: { run: node, retry: { attempts: 2, factor: Number.NaN } } } }],
    ["nodes", { nodes: { a: subgraph(deep) } }],
    ["edges.b", { edges: { b: "a" } }],
    ["edges.a", { edges: { a: "b" } }],
    ["edges.a", { edges: { a: [END, { node: "b" }] } }],
    ["start", { start: "b" }],
    ["maxSteps", { maxSteps: 0 }],
    ["maxTasks", { maxTasks: 1.5 }],
    ["concurrency", { concurrency: 0 }],
    ["graceMs", { graceMs: -1 }],
  ];
  it.each(invalid)("rejects an invalid %s", (path, change) => {
    const define = (): unknown => defineGraph({ ...fine, ...change });
    expect(define).toThrow(expect.objectContaining({ code: "graph_invalid", details: { path } }));
  });
});
