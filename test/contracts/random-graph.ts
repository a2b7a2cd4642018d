/**
 * Random graphs, for tests of merging and resuming: serial, parallel, conditional, with loops, fan-outs, subgraphs,
 * questions, tool calls, answers and failures. The writes of a node depend only on the state and its input, so all runs
 * of a graph end in the same state, in any interleaving of its nodes.
 */
import fc from "fast-check";
import type { Run } from "../../src/engine/index.ts";
import type { Json } from "../../src/protocol/index.ts";
import { defineGraph, fanOut, subgraph } from "../../src/graph/define-graph.ts";
import {
  append,
  custom,
  END,
  type Graph,
  merge,
  type NodeContext,
  replace,
  type StateOf,
} from "../../src/graph/graph.ts";

export const CHANNELS = {
  list: append<string>(),
  /** Depends on every write and on their order. */
  text: custom<string, string>("", (value, write) => `(${value}${write})`.slice(-200)),
  last: replace(""),
  counts: merge<number>(),
};

type RandomState = StateOf<typeof CHANNELS>;

type EdgeSpec =
  | { readonly kind: "static"; readonly to: readonly number[] }
  | { readonly kind: "choice"; readonly to: readonly number[] }
  | { readonly kind: "loop"; readonly to: number; readonly until: number }
  | { readonly kind: "fan"; readonly to: number; readonly width: number };

interface NodeSpec {
  /** Event loop turns that the node takes. */
  readonly turns: number;
  readonly writes: readonly ("text" | "last" | "counts")[];
  readonly acts: "nothing" | "asks" | "calls" | "answers" | "fails once" | "parts" | "parts, fails once";
  readonly child: GraphSpec | undefined;
  readonly edge: EdgeSpec;
}

export interface GraphSpec {
  readonly nodes: readonly NodeSpec[];
  readonly start: readonly number[];
}

/** What the nodes did, for assertions. */
export interface GraphProbe {
  /** Number of calls of nodes that are not subgraphs. */
  calls: number;
  run?: Run;
  /** Parts that were worked on: the node's path and the part's key. */
  readonly parts: string[];
  /** Paths of nodes that have failed once in this process. */
  readonly failed: Set<string>;
}

export function createProbe(): GraphProbe {
  return { calls: 0, parts: [], failed: new Set() };
}

/** Maximum list length at which an edge leads back: a loop that fans out grows fast. */
const MAX_LIST = 8;

export function graphSpecs(depth = 2): fc.Arbitrary<GraphSpec> {
  return fc.integer({ min: 1, max: depth === 2 ? 4 : 2 }).chain((size) => {
    const target = fc.nat({ max: size - 1 });
    const targets = fc.array(target, { minLength: 1, maxLength: 3 });
    const edge: fc.Arbitrary<EdgeSpec> = fc.oneof(
      fc.record({ kind: fc.constant("static" as const), to: targets }),
      fc.record({ kind: fc.constant("choice" as const), to: targets }),
      fc.record({ kind: fc.constant("loop" as const), to: target, until: fc.integer({ min: 4, max: MAX_LIST }) }),
      fc.record({ kind: fc.constant("fan" as const), to: target, width: fc.integer({ min: 0, max: 3 }) }),
    );
    const child = depth === 0 ? fc.constant(undefined) : fc.option(graphSpecs(depth - 1), { nil: undefined, freq: 6 });
    const node: fc.Arbitrary<NodeSpec> = fc.record({
      turns: fc.nat({ max: 3 }),
      writes: fc.subarray(["text", "last", "counts"] as const),
      acts: fc.constantFrom(
        "nothing",
        "nothing",
        "asks",
        "calls",
        "answers",
        "fails once",
        "parts",
        "parts, fails once",
      ),
      child,
      edge,
    });
    return fc.record({ nodes: fc.array(node, { minLength: size, maxLength: size }), start: targets });
  });
}

export function buildGraph({ nodes, start }: GraphSpec, probe: GraphProbe): Graph<typeof CHANNELS> {
  const name = (index: number): string => `${nodes[index]?.child === undefined ? "node" : "graph"}${index}`;
  return defineGraph({
    name: "random",
    channels: CHANNELS,
    nodes: Object.fromEntries(nodes.map((spec, index) => [name(index), buildNode(spec, name(index), probe)])),
    edges: Object.fromEntries(nodes.map(({ edge }, index) => [name(index), buildEdge(edge, index, name)])),
    start: start.map(name),
    maxSteps: 200,
    graceMs: 50,
  });
}

function buildNode({ turns, writes, acts, child }: NodeSpec, name: string, probe: GraphProbe) {
  if (child !== undefined)
    return subgraph(buildGraph(child, probe), {
      input: (state: RandomState) => ({ list: [`into ${name} at ${state.list.length}`] }),
      output: ({ list, text }) => ({ list: list.slice(-3), text, counts: { [name]: list.length } }),
    });
  const run = async (state: RandomState, node: NodeContext) => {
    probe.calls++;
    for (let turn = 0; turn < turns; turn++) await nextTurn();
    let heard: Json = null;
    if (acts === "asks") heard = (await node.interrupt({ at: node.path })).value;
    if (acts === "calls") await callTool(node, probe);
    if (acts === "answers") void node.span.write(`${node.path}; `);
    if (acts.startsWith("parts")) heard = await workInParts(node, probe);
    if (acts.endsWith("fails once") && !probe.failed.has(node.path)) {
      probe.failed.add(node.path);
      throw new Error("the first try");
    }
    const mark = `${name}(${JSON.stringify(node.input ?? heard)})@${state.list.length}`;
    return {
      list: [mark],
      ...(writes.includes("text") ? { text: mark } : {}),
      ...(writes.includes("last") ? { last: mark } : {}),
      ...(writes.includes("counts") ? { counts: { [name]: (state.counts[name] ?? 0) + 1 } } : {}),
    };
  };
  return { run, retry: { attempts: 2, delayMs: 0 } };
}

/**
 * Runs three parts in parallel: a plain one, one with a node run and a nested part, and one that fails and recovers.
 */
async function workInParts(node: NodeContext, probe: GraphProbe): Promise<Json> {
  const work = async (key: string): Promise<string> => {
    await nextTurn();
    probe.parts.push(`${node.path} ${key}`);
    return key;
  };
  return Promise.all([
    node.once("a", async (part) => {
      part.emitWithResult({ type: "custom", value: `${node.path} a` });
      return work("a");
    }),
    node.once("b", async ({ once }) => [await once("c", () => work("c")), await work("b")], { name: "part" }),
    node.once<Json>(
      "d",
      async () => {
        throw new Error(await work("d"));
      },
      { name: "part", recover: (error) => (error as Error).message },
    ),
  ]);
}

/** Makes a tool call unless it was made before, like an agent. */
async function callTool({ span, endedCalls, path }: NodeContext, { run }: GraphProbe): Promise<void> {
  const call = { call_id: `call-${path}`, name: "tool" };
  if (endedCalls.has(call.call_id)) return;
  const state = run?.work.findCall(call.call_id)?.state;
  if (state === undefined) void span.emit({ type: "tool_call", ...call, arguments: {} });
  // Rejected if the call has ended.
  await span.emit({ type: "tool_start", ...call });
  void span.emit({ type: "tool_end", ...call, result: "done", is_error: false });
}

/** Edges lead forward, or back while the list is short. Every node lengthens the list. */
function buildEdge(edge: EdgeSpec, from: number, name: (index: number) => string) {
  const isOpen = (state: RandomState, to: number): boolean => to > from || state.list.length < MAX_LIST;
  switch (edge.kind) {
    case "static":
      return edge.to.flatMap((to) => (to > from ? [name(to)] : []));
    case "choice":
      return ({ list, ...state }: RandomState) => {
        const to = edge.to[list.length % edge.to.length] ?? 0;
        return isOpen({ list, ...state }, to) ? name(to) : END;
      };
    case "loop":
      return ({ list }: RandomState) => (list.length < edge.until ? name(edge.to) : END);
    case "fan":
      return (state: RandomState) =>
        isOpen(state, edge.to)
          ? fanOut(
              name(edge.to),
              Array.from({ length: edge.width }, (_, item) => item),
            )
          : [];
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
