// Cases that the reject vectors do not cover: valid streams, incomplete streams, and streams beyond the memory limits.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LoomEvent } from "../events.generated.ts";
import { Verifier } from "./verifier.ts";

type Put = LoomEvent & { readonly at?: string };

/** Returns the broken rules in order. With `isFiltered`, frames before the second one are missing. */
function findBroken(events: readonly Put[], { start = true, isFiltered = false } = {}): string[] {
  const verifier = new Verifier();
  const all: readonly Put[] = start ? [{ type: "run_start" }, ...events] : events;
  return all.flatMap(({ at, ...event }, i) => {
    const envelope = { session_id: "s", run_id: "r", event_id: i + 1, ...(at === undefined ? {} : { node_id: at }) };
    const stamped = isFiltered && i === 1 ? { ...envelope, event_id: 5, prev_event_id: 1 } : envelope;
    return verifier
      .check({ envelope: stamped, event })
      .map(({ rule }) => rule)
      .filter((rule) => /^(?:tot|got|thought|span-parent|llm)/.test(rule));
  });
}

const plan: Put = { type: "got_plan", node_count: 2, edge_count: 1, node_ids: ["a", "b"], edges: [["a", "b"]] };
const enter = (at: string | undefined, id: string, parent?: string): Put => ({
  type: "node_enter",
  id,
  ...(at === undefined ? {} : { at }),
  ...(parent === undefined ? {} : { parent }),
});
const leave = (at: string | undefined, id: string): Put => ({
  type: "node_exit",
  id,
  result: { Err: "lost" },
  ...(at === undefined ? {} : { at }),
});
const done = (id: string): Put => ({ type: "got_node_complete", id, result_summary: "x" });
const begin = (at: string | undefined, id: string): Put => ({
  type: "got_node_start",
  id,
  ...(at === undefined ? {} : { at }),
});
const judge = (...ids: string[]): Put => ({ type: "tot_evaluate", chosen: 0, scores: ids.map(() => 1), ids });

const grown = (node_id: string, nodes: readonly string[]) =>
  ({ type: "got_expand", node_id, nodes_added: nodes.length, edges_added: 0, nodes }) as const;

function reaches(edges: readonly (readonly [string, string])[], from: string, to: string): boolean {
  const seen = new Set<string>();
  const open = [from];
  for (let id = open.pop(); id !== undefined; id = open.pop())
    for (const [source, target] of edges) {
      if (source !== id || seen.has(target)) continue;
      seen.add(target);
      open.push(target);
    }
  return seen.has(to);
}

describe("rules of thoughts", () => {
  it("allow a node to start again after its node run ended, and to complete once", () => {
    const twice = [
      plan,
      enter("1", "a"),
      begin("1", "a"),
      leave("1", "a"),
      enter("2", "a"),
      begin("2", "a"),
      done("a"),
    ];
    expect(findBroken(twice)).toEqual([]);
    // The same node_id, reused.
    expect(
      findBroken([plan, enter("1", "a"), begin("1", "a"), leave("1", "a"), enter("1", "a"), begin("1", "a")]),
    ).toEqual([]);
    expect(findBroken([...twice, begin("2", "a")])).toEqual(["got-node-order"]);
  });

  it("match node runs without an ID by name", () => {
    const bare = [enter(undefined, "a"), begin(undefined, "a")];
    expect(findBroken([plan, ...bare, leave(undefined, "a"), ...bare])).toEqual([]);
    expect(findBroken([plan, ...bare, begin(undefined, "a")])).toEqual(["got-node-order"]);
    expect(findBroken([plan, begin(undefined, "a"), begin(undefined, "a")])).toEqual([]);
    // If the frame has no ID, its parent had none either.
    expect(findBroken([enter(undefined, "a"), enter(undefined, "b", "1")])).toEqual([]);
  });

  it("allow a failed node to start again and a skipped node to fail without starting", () => {
    const failed: Put = { type: "got_node_failed", id: "a", error: "no" };
    const skipped: Put = { type: "got_node_failed", id: "b", error: "a has no result", skipped: true };
    expect(findBroken([plan, begin(undefined, "a"), failed, begin(undefined, "a"), failed, skipped])).toEqual([]);
    expect(findBroken([plan, skipped, skipped])).toEqual(["got-node-order"]);
  });

  it("allow nodes inside a running node, which must be known", () => {
    const inside: Put = { ...plan, node_count: 1, node_ids: ["a.1"], edges: [["a", "a.1"]], parent: "a" };
    expect(findBroken([plan, begin(undefined, "a"), inside, begin(undefined, "a.1"), done("a.1"), done("a")])).toEqual(
      [],
    );
    expect(findBroken([plan, { ...inside, parent: "z" }])).toEqual(["got-node-unknown"]);
  });

  it("require one operation per node and one score per compared node", () => {
    const grow = { type: "got_expand", node_id: "a", nodes_added: 1, edges_added: 0, nodes: ["c"] } as const;
    const done = { type: "got_node_complete", id: "a", result_summary: "x" } as const;
    const good: readonly Put[] = [
      { ...plan, operations: ["generate", "score"] },
      { ...grow, operations: ["refine"] },
      begin(undefined, "a"),
      { ...done, scored: ["b", "c"], scores: [0, 1] },
    ];
    expect(findBroken(good)).toEqual([]);
    const bad: readonly Put[] = [
      { ...plan, operations: ["generate"] },
      { ...grow, operations: [] },
      begin(undefined, "a"),
      { ...done, scored: ["b"], scores: [0, 1] },
    ];
    expect(findBroken(bad)).toEqual(["thought-ids", "thought-ids", "thought-ids"]);
  });

  it("know the thoughts of expansions with IDs, and check nothing after one without", () => {
    const grow = (more: object): Put => ({ type: "tot_expand", candidates: ["x"], ...more });
    const back = (from: string, to: string, to_depth: number): Put => ({
      type: "tot_backtrack",
      reason: "no",
      to_depth,
      from,
      to,
    });
    expect(findBroken([grow({ ids: ["1"], parent: "top" }), judge("1"), back("1", "top", 0)])).toEqual([]);
    expect(findBroken([grow({ ids: ["1"] }), back("1", "from the middle", 0)])).toEqual([]);
    expect(findBroken([grow({ ids: ["1"] }), judge("1", "2", "3")])).toEqual(["tot-thought-unknown"]);
    expect(findBroken([grow({}), judge("2"), back("3", "4", 2)])).toEqual([]);
  });

  it("do not check what a filter removed or what came before the stream", () => {
    const inner = enter("2", "b", "1");
    expect(findBroken([judge("1"), inner])).toEqual(["tot-thought-unknown", "span-parent"]);
    expect(findBroken([judge("1"), inner], { start: false })).toEqual([]);
    expect(findBroken([judge("1"), inner], { isFiltered: true })).toEqual([]);
    expect(findBroken([enter("1", "a"), inner])).toEqual([]);
    const rest: Put[] = [
      done("a"),
      { type: "llm_end", llm_call_id: "m" },
      begin(undefined, "b"),
      { type: "reply", reply: "" },
    ];
    expect(findBroken([plan, ...rest])).toEqual(["got-node-order", "llm-order", "got-node-unended"]);
    expect(findBroken([plan, ...rest], { start: false })).toEqual([]);
    expect(findBroken([plan, ...rest], { isFiltered: true })).toEqual([]);
  });

  it("add a second plan to the graph, with replanned nodes as new ones", () => {
    const again: Put = { type: "got_plan", node_count: 2, edge_count: 1, node_ids: ["a", "c"], edges: [["b", "a"]] };
    const first = [plan, begin(undefined, "a"), done("a"), begin(undefined, "b")];
    expect(findBroken([...first, again, done("b"), begin(undefined, "a"), done("a")])).toEqual([]);
    expect(findBroken([...first, again, begin(undefined, "a")])).toEqual(["got-node-needs"]);
    expect(findBroken([plan, begin(undefined, "a"), done("a"), plan, done("a")])).toEqual(["got-node-order"]);
  });

  it("allow nodes inside another to start before it completes", () => {
    const expand: Put = { ...grown("a", ["a.1"]), edges: [["a", "a.1"]], edges_added: 1 };
    expect(findBroken([plan, begin(undefined, "a"), expand, begin(undefined, "a.1"), done("a.1"), done("a")])).toEqual(
      [],
    );
  });

  it("find every cycle when it is closed", () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const edge = fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names));
    fc.assert(
      fc.property(fc.array(fc.array(edge, { maxLength: 4 }), { maxLength: 8 }), (steps) => {
        const all: (readonly [string, string])[] = [];
        const known = new Set<string>();
        const expected: string[] = [];
        const events = steps.map((edges): Put => {
          all.push(...edges);
          if (expected.length === 0 && names.some((name) => reaches(all, name, name))) expected.push("got-cycle");
          const nodes = [...new Set(edges.flat())].filter((id) => !known.has(id));
          for (const id of nodes) known.add(id);
          return { ...grown("top", nodes), edges, edges_added: edges.length };
        });
        const top: Put = { type: "got_plan", node_count: 1, edge_count: 0, node_ids: ["top"] };
        expect(findBroken([top, ...events])).toEqual(expected);
      }),
    );
  });

  it("do not check evicted nodes", () => {
    const ids = Array.from({ length: 10_001 }, (_, n) => `t${n}`);
    const grow: Put = { type: "tot_expand", candidates: ids, ids };
    expect(findBroken([{ ...grow, candidates: ids.slice(1), ids: ids.slice(1) }, judge("t0")])).toEqual([
      "tot-thought-unknown",
    ]);
    expect(findBroken([grow, judge("t0")])).toEqual([]);
    const tail: Put[] = ids.flatMap((id) => [begin(undefined, id)]);
    expect(findBroken([...tail, done("t0")])).toEqual([]);
  });

  it("do not store IDs that are too long", () => {
    const long = "x".repeat(1001);
    const grow = (id: string): Put => ({ type: "tot_expand", candidates: ["x"], ids: [id] });
    expect(findBroken([grow(long), judge(long), judge("other")])).toEqual(["thought-id-length", "thought-id-length"]);
    const planned: Put = { type: "got_plan", node_count: 1, edge_count: 0, node_ids: [long] };
    expect(findBroken([plan, planned, begin(undefined, "c"), begin(undefined, long)])).toEqual([
      "thought-id-length",
      "thought-id-length",
    ]);
  });
});
