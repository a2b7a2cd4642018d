// Random graphs with random failures and delays: the execution and the events match the plan.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventsOf, createAgentFixture } from "../../../test/agents/agent-fixture.ts";
import { SAMPLES } from "../../../test/sampling.ts";
import { MemoryLog } from "../../log/index.ts";
import type { Json } from "../../protocol/index.ts";
import {
  describeWork,
  type ListedNode,
  listNodes,
  playGot,
  readGotPrompt,
  rebuildGraph,
} from "../../../test/contracts/got-script.ts";

interface Drawn {
  readonly picks: readonly number[];
  readonly turns: number;
  readonly fails: boolean;
  readonly inner: readonly Drawn[];
}

const { node } = fc.letrec<{ node: Drawn }>((tie) => ({
  node: fc.record({
    picks: fc.array(fc.nat(100), { minLength: 1, maxLength: 3 }),
    turns: fc.nat(12),
    fails: fc.nat(5).map((n) => n === 0),
    inner: fc.oneof(
      { depthSize: "small", withCrossShrink: true, maxDepth: 2 },
      fc.constant([]),
      fc.array(tie("node"), { minLength: 1, maxLength: 4 }),
    ),
  }),
}));
const graphs = fc.array(node, { minLength: 1, maxLength: 9 });

/** A node of the whole graph, with its expected outcome. */
interface Expected {
  readonly needs: readonly string[];
  readonly drawn: Drawn;
  end: "completed" | "failed" | "skipped" | "never";
}

/** Computes the expected outcome sequentially. */
function foresee(list: readonly Drawn[], depth: number, prefix: string, all: Map<string, Expected>): readonly string[] {
  const names = list.map((_, index) => `${prefix}n${index}`);
  const lost = new Set<string>();
  for (const [index, drawn] of list.entries()) {
    const id = names[index] ?? "";
    // All are connected to the first.
    const needs = index === 0 ? [] : [...new Set(drawn.picks.map((pick) => names[pick % index] ?? ""))];
    const expected: Expected = { needs, drawn, end: "completed" };
    all.set(id, expected);
    if (needs.some((need) => lost.has(need))) expected.end = "skipped";
    else if (drawn.inner.length === 0 || depth === 0) expected.end = drawn.fails ? "failed" : "completed";
    else {
      const ends = foresee(drawn.inner, depth - 1, `${id}.`, all);
      // Several final results are combined by another call of the node.
      expected.end = ends.length === 0 || (ends.length > 1 && drawn.fails) ? "failed" : "completed";
    }
    if (expected.end !== "completed") lost.add(id);
  }
  const done = names.filter((name) => !lost.has(name));
  const used = new Set(done.flatMap((name) => all.get(name)?.needs ?? []));
  return done.filter((name) => !used.has(name));
}

function toPlan(all: ReadonlyMap<string, Expected>, prefix: string): Json {
  const own = [...all].filter(([id]) => id.startsWith(prefix) && !id.slice(prefix.length).includes("."));
  const short = (id: string): string => id.slice(prefix.length);
  return listNodes(own.map(([id, { needs }]): ListedNode => ({ id: short(id), needs: needs.map(short) })));
}

async function takeTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

async function check(list: readonly Drawn[], adaptive: boolean, concurrency: number, maxDepth: number): Promise<void> {
  const all = new Map<string, Expected>();
  const ends = foresee(list, adaptive ? maxDepth : 0, "", all);
  const grown = [...all].filter(([id]) => [...all.keys()].some((other) => other.startsWith(`${id}.`)));
  const begun: string[] = [];
  let running = 0;
  let most = 0;
  const fixture = await createAgentFixture(
    playGot({
      plan: toPlan(all, ""),
      expansions: Object.fromEntries(grown.map(([id]) => [id, toPlan(all, `${id}.`)])),
      work: async (asked) => {
        begun.push(asked.id);
        const { turns, fails } = all.get(asked.id)?.drawn ?? { turns: 0, fails: false };
        most = Math.max(most, ++running);
        await takeTurns(turns);
        running--;
        return fails ? { fault: { kind: "throw" } } : { ...describeWork(asked), chunk: 100 };
      },
    }),
    {
      log: new MemoryLog(),
      tools: [],
      kind: "got",
      adaptive,
      concurrency,
      maxDepth,
      attempts: 1,
      callOptions: { maxRetries: 0 },
    },
  );
  const run = await fixture.ask("Why?");
  const { status, code } = await run.ended;
  expect([status, code]).toEqual(ends.length === 0 ? ["error", "node_failed"] : ["completed", undefined]);
  const records = await fixture.read();
  const graph = rebuildGraph(records);

  // The events describe the expected graph, without what was never planned.
  expect(graph.nodes.toSorted()).toEqual([...all.keys()].toSorted());
  const edges = [...all].flatMap(([id, { needs }]) => {
    const around = id.slice(0, Math.max(0, id.lastIndexOf(".")));
    return needs.length === 0 && around !== "" ? [`${around}→${id}`] : needs.map((need) => `${need}→${id}`);
  });
  expect(graph.edges.toSorted()).toEqual(edges.toSorted());
  const plans = eventsOf(records, "got_plan");
  const expansions = eventsOf(records, "got_expand");
  expect(expansions.length === 0 || adaptive).toBe(true);
  const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);
  expect([...plans.map((one) => one.node_count), ...expansions.map((one) => one.nodes_added)]).toSatisfy(
    (counts: number[]) => sum(counts) === graph.completed.length + graph.failed.length + graph.skipped.length,
  );
  expect(sum([...plans.map((one) => one.edge_count), ...expansions.map((one) => one.edges_added)])).toBe(edges.length);
  for (const end of ["completed", "failed", "skipped"] as const)
    expect([end, graph[end].toSorted()]).toEqual([
      end,
      [...all].flatMap(([id, it]) => (it.end === end ? [id] : [])).toSorted(),
    ]);

  // Each node ran at most once, after the nodes it needs, with their results in order.
  expect(new Set(begun).size).toBe(begun.length);
  expect(graph.order.length).toBe(new Set(graph.order).size);
  for (const [id, { needs, end }] of all) {
    const start = graph.order.indexOf(`+${id}`);
    expect([id, start >= 0]).toEqual([id, end !== "skipped"]);
    if (start >= 0) for (const need of needs) expect(graph.order.indexOf(`-${need}`)).toBeLessThan(start);
  }
  for (const prompt of fixture.model.prompts) {
    const { kind, id, known } = readGotPrompt(prompt);
    if (kind === "work" && !grown.some(([name]) => name === id) && (all.get(id)?.needs.length ?? 0) > 0)
      expect(known).toEqual(all.get(id)?.needs);
    if (kind === "answer") expect(known).toEqual(ends);
  }
  expect(most).toBeLessThanOrEqual(concurrency);
  if (ends.length > 0) {
    const missing = [...all].flatMap(([id, it]) => (it.end === "completed" ? [] : [id]));
    const reply = eventsOf(records, "reply")[0]?.reply ?? "";
    for (const id of missing.slice(0, 3)) expect(reply).toContain(id);
    expect(reply.includes("No result for")).toBe(missing.length > 0);
  }
  await fixture.session.close();
}

describe("random graphs of thoughts", () => {
  it("run as planned and are reported as they ran", async () => {
    await fc.assert(
      fc.asyncProperty(graphs, fc.integer({ min: 1, max: 4 }), (list, concurrency) =>
        check(list, false, concurrency, 0),
      ),
      { numRuns: SAMPLES.sessions / 2, seed: 24 },
    );
  });

  it("run as planned with expansions", async () => {
    await fc.assert(
      fc.asyncProperty(graphs, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 3 }), (list, slots, depth) =>
        check(list, true, slots, depth),
      ),
      { numRuns: SAMPLES.sessions / 5, seed: 24 },
    );
  });
});
