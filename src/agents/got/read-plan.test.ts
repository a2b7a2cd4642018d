import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SAMPLES } from "../../../test/sampling.ts";
import type { Json } from "../../protocol/index.ts";
import { listEdges, listFinalNodes } from "./plan.ts";
import { readPlan } from "./read-plan.ts";

const say = (nodes: Json): string => `Let me see.\n${JSON.stringify({ nodes })}`;
const node = (id: Json, needs: Json = [], more: { readonly [name: string]: Json } = {}): Json => ({
  id,
  task: `do ${JSON.stringify(id)}`,
  needs,
  ...more,
});

function faultOf(text: string, maxNodes = 50): string {
  const outcome = readPlan(text, maxNodes);
  return typeof outcome === "string" ? outcome : "(none)";
}

describe("readPlan", () => {
  it("finds the plan in the surrounding text", () => {
    const text = `{"nodes": "no"} Thinking…\n\`\`\`json\n${JSON.stringify({ nodes: [node("a"), node("b", ["a"])] })}\n\`\`\``;
    expect(readPlan(text, 50)).toEqual({
      nodes: [
        { id: "a", task: `do "a"`, needs: [], operation: "generate" },
        { id: "b", task: `do "b"`, needs: ["a"], operation: "generate" },
      ],
    });
  });

  it("orders nodes after those they need", () => {
    const outcome = readPlan(say([node("c", ["b", "a"]), node("b", ["a"]), node("a")]), 3);
    expect(typeof outcome !== "string" && outcome.nodes.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  it("accepts any script and tolerates sloppy formatting", () => {
    const outcome = readPlan(
      say([
        { id: "收集", task: " 收集资料 ", operation: null, needs: null },
        node("改进", ["收集"], { operation: " Refine" }),
      ]),
      50,
    );
    expect(outcome).toMatchObject({ nodes: [{ task: "收集资料", needs: [] }, { operation: "refine" }] });
  });

  it("prefixes the ids of a plan inside a node", () => {
    const outcome = readPlan(say([node("a"), node("b", ["a"])]), 50, { inside: "x.y" });
    expect(typeof outcome !== "string" && outcome.nodes.map(({ id, needs }) => [id, needs])).toEqual([
      ["x.y.a", []],
      ["x.y.b", ["x.y.a"]],
    ]);
  });

  const long = "x".repeat(100_000);
  it.each<readonly [what: string, text: string, fault: RegExp]>([
    ["prose", "First I would look at the data.", /no JSON object/],
    ["nothing", "", /no JSON object/],
    ["truncated JSON", '{"nodes": [{"id": "a"', /no JSON object/],
    ["NaN", '{"nodes": NaN}', /no array "nodes"/],
    ["no nodes", '{"words": []}', /no array "nodes"/],
    ["an object of nodes", '{"nodes": {"length": 3}}', /no array "nodes"/],
    ["an empty array", say([]), /no nodes/],
    ["a word for a node", say(["a"]), /node 1 is not an object/],
    ["null for a node", say([null]), /node 1 is not an object/],
    ["an id that is an object", say([node({ a: 1 })]), /has the id \(not a string\)/],
    ["an id of control characters", say([node("\u0000\u202e")]), /1 to 40 letters/],
    ["an empty id", say([node("")]), /1 to 40 letters/],
    ["an overlong id", say([node(long)]), /^.{0,200}$/],
    ["a reserved id", say([node("execute_graph")]), /reserved/],
    ["the id __proto__", '{"nodes": [{"id": "__proto__", "task": "x"}]}', /reserved/],
    ["a duplicate id", say([node("a"), node("b", ["a"]), node("a")]), /two nodes have the id "a"/],
    ["no task", say([{ id: "a" }]), /\(a\) has no task/],
    ["a blank task", say([node("a", [], { task: " \n" })]), /\(a\) has no task/],
    ["needs that is not a list", say([node("a", { b: 1 })]), /not an array of ids/],
    ["needs with other values than ids", say([node("a", [true])]), /not an array of ids/],
    ["two ids that are alike", say([node("a b"), node("c", ["a b"]), node("a_b")]), /two nodes have the id "a_b"/],
    ["a need that does not exist", say([node("a", ["z"])]), /needs "z", which does not exist/],
    ["a cycle", say([node("s"), node("a", ["s", "c"]), node("b", ["a"]), node("c", ["b"])]), /cycle/],
  ])("rejects %s", (_, text, fault) => {
    expect(faultOf(text)).toMatch(fault);
    expect(faultOf(text).length).toBeLessThan(300);
  });

  it.each<readonly [what: string, text: string, expected: readonly string[]]>([
    ["an unknown operation", say([node("a", [], { operation: "guess" })]), ["generate a"]],
    ["an operation that is an array", say([node("a", [], { operation: ["score"] })]), ["generate a"]],
    ["another word", say([node("a"), node("b", ["a"], { operation: "Summarize" })]), ["generate a", "aggregate b a"]],
    ["nothing to score", say([node("a", [], { operation: "score" })]), ["generate a"]],
    ["nothing to refine", say([node("a", [], { operation: "refine" })]), ["generate a"]],
    ["a node that needs itself", say([node("a"), node("b", ["b", "a"])]), ["generate a", "generate b a"]],
    ["the same need twice", say([node("a"), node("b", ["a", "a"])]), ["generate a", "generate b a"]],
    [
      "too many needs",
      say([
        node("a"),
        node(
          "b",
          Array.from({ length: 50_000 }, () => "a"),
        ),
      ]),
      ["generate a", "generate b a"],
    ],
    ["two graphs", say([node("a"), node("b"), node("c", ["b"])]), ["generate a", "generate b", "generate c b"]],
    ["a dictionary", say({ a: { task: "x" }, b: { task: "y", depends_on: "a" } }), ["generate a", "generate b a"]],
    [
      "a dictionary without a name",
      '{"a": {"task": "x"}, "b": {"task": "y", "needs": ["a"]}}',
      ["generate a", "generate b a"],
    ],
    ["a dictionary of texts", '{"plan": {"a": "do x", "b": "do y"}}', ["generate a", "generate b"]],
    ["a list of texts", say(["do x", "do y", "do z"]), ["generate 1", "generate 2 1", "generate 3 1 2"]],
    ["a numbered list", "My plan:\n1. Do x\n   in full\n2) **Do y**\n", ["generate 1", "generate 2 1"]],
    [
      "a numbered list with needs",
      "1. Do x\n2. Do y\n3. Join them (needs 1 and step 2)",
      ["generate 1", "generate 2", "generate 3 1 2"],
    ],
    ["a Chinese list", "1、收集资料\n2、写报告（依赖 1）", ["generate 1", "generate 2 1"]],
  ])("repairs %s", (_, text, expected) => {
    const outcome = readPlan(text, 50);
    expect(
      typeof outcome !== "string"
        ? outcome.nodes.map(({ operation, id, needs }) => [operation, id, ...needs].join(" "))
        : outcome,
    ).toEqual(expected);
  });

  it("rejects ten thousand nodes before traversing them, and reads any other input", () => {
    const many = Array.from({ length: 10_000 }, (_, index) => ({ id: `n${index}`, task: "x" }));
    expect(faultOf(say(many))).toBe("it has 10000 nodes, but at most 50 are allowed");
    const dense = Array.from({ length: 250 }, (_, index) =>
      node(
        `n${index}`,
        Array.from({ length: index }, (_none, other) => `n${other}`),
      ),
    );
    expect(faultOf(say(dense), 2000)).toBe("(none)");
    const wordy = Array.from({ length: 90 }, (_, index) =>
      node(
        `${index}${"汉".repeat(36)}`,
        Array.from({ length: index }, (_none, other) => `${other}${"汉".repeat(36)}`),
      ),
    );
    expect(faultOf(say(wordy), 2000)).toMatch(/too large/);
    expect(faultOf("{".repeat(1_000_000))).toMatch(/no JSON/);
    expect(faultOf('{"nodes":['.repeat(100_000))).toMatch(/no JSON/);
  });

  it("limits the length of tasks without splitting characters", () => {
    const outcome = readPlan(say([{ id: "a", task: `x${"😀".repeat(5000)}` }]), 50);
    const task = typeof outcome === "string" ? "" : (outcome.nodes[0]?.task ?? "");
    expect(task).toHaveLength(2000);
    expect(task.isWellFormed()).toBe(true);
  });

  it("agrees with a simple search about validity", () => {
    const edges = fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 12 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), edges, (count, drawn) => {
        const ids = Array.from({ length: count }, (_, index) => `n${index}`);
        const needs = ids.map((_, index) => [
          ...new Set(
            drawn.flatMap(([from, to]) => (to % count === index && from % count !== index ? [from % count] : [])),
          ),
        ]);
        const outcome = readPlan(
          say(ids.map((id, index) => node(id, needs[index]?.map((need) => `n${need}`) ?? []))),
          8,
        );
        expect(typeof outcome !== "string").toBe(!hasCycle(needs));
        if (typeof outcome === "string") return;
        const { nodes } = outcome;
        expect(nodes.map(({ id }) => id).toSorted()).toEqual(ids);
        expect(listEdges(nodes)).toHaveLength(needs.flat().length);
        for (const [index, { needs: wanted }] of nodes.entries()) {
          const before = new Set(nodes.slice(0, index).map(({ id }) => id));
          expect(wanted.every((need) => before.has(need))).toBe(true);
        }
        expect(listFinalNodes(nodes, () => true).length).toBeGreaterThan(0);
      }),
      { numRuns: SAMPLES.sessions * 4, seed: 6 },
    );
  });

  it("returns a plan or a fault for any text", () => {
    const pieces = fc.array(fc.oneof(fc.json(), fc.string(), fc.constantFrom("{", "}", '"', '{"nodes":[', "]}")));
    fc.assert(
      fc.property(pieces, (list) => {
        const outcome = readPlan(list.join(""), 50);
        expect(typeof outcome !== "string" || outcome.length < 300).toBe(true);
      }),
      { numRuns: SAMPLES.sessions * 2, seed: 6 },
    );
  });
});

function hasCycle(needs: readonly (readonly number[])[]): boolean {
  const reach = (from: number, seen: ReadonlySet<number>): boolean =>
    seen.has(from) || (needs[from] ?? []).some((need) => reach(need, new Set([...seen, from])));
  return needs.some((_, index) => reach(index, new Set()));
}
