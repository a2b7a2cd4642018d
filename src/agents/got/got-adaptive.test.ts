import { describe, expect, it } from "vitest";
import { eventsOf, createAgentFixture, SESSION, type AgentFixture } from "../../../test/agents/agent-fixture.ts";
import type { Json, StampedRecord } from "../../protocol/index.ts";
import type { GotOptions } from "./got-settings.ts";
import {
  describeWork,
  listNodes,
  playGot,
  readGotPrompt,
  rebuildGraph,
  type GotScript,
} from "../../../test/contracts/got-script.ts";

const PLAN = listNodes([
  { id: "base" },
  { id: "hard", needs: ["base"] },
  { id: "end", needs: ["hard"], operation: "refine" },
]);
const TWO_ENDS = listNodes([{ id: "x" }, { id: "y", needs: ["x"] }, { id: "z", needs: ["x"] }]);

function createGotFixture(world: Partial<GotScript>, options: GotOptions = {}): Promise<AgentFixture> {
  return createAgentFixture(playGot({ plan: PLAN, ...world }), {
    kind: "got",
    adaptive: true,
    retryMs: 0,
    callOptions: { maxRetries: 0 },
    ...options,
  });
}

async function runFixture(fixture: AgentFixture): Promise<readonly StampedRecord[]> {
  await (
    await fixture.ask("Why?")
  ).ended;
  return fixture.read();
}

function shownTo(fixture: AgentFixture, id: string): readonly string[] | undefined {
  return fixture.model.prompts.map(readGotPrompt).find((asked) => asked.kind === "work" && asked.id === id)?.known;
}

it("names its runs agot", async () => {
  const world = { plan: listNodes([{ id: "a" }]) };
  const fixture = await createAgentFixture(playGot(world), { kind: "got", adaptive: true, tools: [] });
  expect((await (await fixture.ask("Why?")).ended).status).toBe("completed");
  expect(eventsOf(await fixture.read(), "run_start")[0]?.agent).toBe("agot");
  expect((await fixture.log.listRuns(SESSION, { limit: 1 }))[0]?.agent).toBe("agot");
});

describe("an adaptive graph of thoughts", () => {
  it("expands a complex node and combines its final results", async () => {
    const fixture = await createGotFixture({ expansions: { hard: TWO_ENDS } });
    const records = await runFixture(fixture);
    expect(eventsOf(records, "got_expand")).toEqual([
      {
        type: "got_expand",
        node_id: "hard",
        nodes_added: 3,
        edges_added: 3,
        nodes: ["hard.x", "hard.y", "hard.z"],
        edges: [
          ["hard", "hard.x"],
          ["hard.x", "hard.y"],
          ["hard.x", "hard.z"],
        ],
        labels: ["do x", "do y", "do z"],
        operations: ["generate", "generate", "generate"],
      },
    ]);
    expect(rebuildGraph(records).order).toEqual([
      "+base",
      "-base",
      "+hard",
      "+hard.x",
      "-hard.x",
      "+hard.y",
      "+hard.z",
      "-hard.y",
      "-hard.z",
      "-hard",
      "+end",
      "-end",
    ]);
    // The first nodes receive what the expanded node needs; its result combines their final results.
    expect(shownTo(fixture, "hard.x")).toEqual(["base"]);
    expect(shownTo(fixture, "hard.y")).toEqual(["hard.x"]);
    expect(shownTo(fixture, "hard")).toEqual(["hard.y", "hard.z"]);
    expect(eventsOf(records, "reply")[0]?.reply).toBe("From end.");
  });

  it("nests the spans of an expansion in the span of its node", async () => {
    const records = await runFixture(
      await createGotFixture({ expansions: { hard: TWO_ENDS, "hard.y": listNodes([{ id: "deep" }]) } }),
    );
    const spans = new Map<string, { readonly nodeId: string; readonly parent: string }>();
    for (const { envelope, event } of records)
      if (event.type === "node_enter") {
        const { id, parent = "" } = event as { id: string; parent?: string };
        spans.set(id, { nodeId: envelope.node_id ?? "", parent });
      }
    expect(spans.get("hard.x")?.parent).toBe(spans.get("hard")?.nodeId);
    expect(spans.get("hard.y.deep")?.parent).toBe(spans.get("hard.y")?.nodeId);
    const at = (type: string, id: string): number =>
      records.findIndex(({ event }) => event.type === type && (event as { id?: string }).id === id);
    expect(at("node_exit", "hard.y.deep")).toBeLessThan(at("node_exit", "hard.y"));
  });

  it("uses a single final result as it is", async () => {
    const fixture = await createGotFixture({
      expansions: { hard: listNodes([{ id: "x" }, { id: "y", needs: ["x"] }]) },
    });
    const records = await runFixture(fixture);
    expect(shownTo(fixture, "hard")).toBeUndefined();
    expect(eventsOf(records, "got_node_complete").find(({ id }) => id === "hard")?.result_summary).toBe(
      "hard.y[hard.x]",
    );
  });

  it("needs one slot for any depth", async () => {
    const inner = listNodes([{ id: "x" }, { id: "y" }, { id: "z", needs: ["x", "y"] }]);
    const expansions = { hard: inner, "hard.x": inner, "hard.x.z": inner, base: inner };
    const fixture = await createGotFixture({ expansions }, { concurrency: 1, maxDepth: 3 });
    const { completed, nodes } = rebuildGraph(await runFixture(fixture));
    expect(nodes).toHaveLength(15);
    expect(completed.toSorted()).toEqual(nodes.toSorted());
  });

  it("respects maxDepth and maxTotalNodes", async () => {
    // Everything is complex and becomes three complex nodes.
    const all = new Proxy<{ [id: string]: Json }>(
      {},
      {
        get: () => TWO_ENDS,
        getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true, value: TWO_ENDS }),
      },
    );
    const deep = rebuildGraph(await runFixture(await createGotFixture({ expansions: all }, { maxDepth: 1 })));
    expect(deep.nodes).toHaveLength(3 + 2 * 3);
    const large = await createGotFixture({ expansions: all }, { maxDepth: 5, maxTotalNodes: 20 });
    const records = await runFixture(large);
    const { nodes, completed } = rebuildGraph(records);
    expect(nodes.length).toBeLessThanOrEqual(20);
    expect(nodes.length).toBeGreaterThan(15);
    expect(completed).toHaveLength(nodes.length);
    expect(eventsOf(records, "run_end")).toMatchObject([{ status: "completed" }]);
    expect(
      rebuildGraph(await runFixture(await createGotFixture({ expansions: all }, { maxDepth: 0 }))).nodes,
    ).toHaveLength(3);
    expect(
      rebuildGraph(await runFixture(await createGotFixture({ expansions: all }, { adaptive: false }))).nodes,
    ).toHaveLength(3);
  });

  it("asks again if the model does not say whether a node is complex, and then does not expand it", async () => {
    for (const [answers, expanded] of [
      [["Perhaps.", '{"complex": true}'], ["hard"]],
      [["Perhaps.", "Who knows?"], []],
    ] as const) {
      const world = playGot({ plan: PLAN, expansions: { hard: TWO_ENDS } });
      let asked = 0;
      const fixture = await createAgentFixture(
        (request) => {
          const { kind, id } = readGotPrompt(request.prompt);
          return kind === "complex" && id === "hard" ? { text: answers[asked++] ?? "" } : world(request);
        },
        { kind: "got", adaptive: true, retryMs: 0 },
      );
      const records = await runFixture(fixture);
      expect(asked).toBe(2);
      expect(eventsOf(records, "got_expand").map(({ node_id }) => node_id)).toEqual(expanded);
      const warnings = eventsOf(records, "error").filter(({ message }) => message.includes("whether hard is complex"));
      expect(warnings).toHaveLength(expanded.length === 0 ? 1 : 0);
    }
  });

  it("gives the remaining nodes to one of several concurrent expansions", async () => {
    const wide = ["a", "b", "c", "d"].map((id) => ({ id }));
    const plan = listNodes([...wide, { id: "end", needs: ["a", "b", "c", "d"], operation: "aggregate" }]);
    const expansions = { a: TWO_ENDS, b: TWO_ENDS, c: TWO_ENDS, d: TWO_ENDS };
    const { nodes, completed } = rebuildGraph(
      await runFixture(await createGotFixture({ plan, expansions }, { maxTotalNodes: 9 })),
    );
    expect(nodes).toHaveLength(8);
    expect(completed).toHaveLength(8);
  });

  it("requests no plan if only one node is left", async () => {
    const fixture = await createGotFixture({ expansions: { base: TWO_ENDS } }, { maxTotalNodes: 4 });
    expect(rebuildGraph(await runFixture(fixture)).nodes).toHaveLength(3);
    expect(fixture.model.prompts.map((prompt) => readGotPrompt(prompt).kind)).toEqual([
      "plan",
      "work",
      "work",
      "work",
      "answer",
    ]);
  });

  it("combines the remaining results if an inner node fails, and lists what is missing", async () => {
    const fixture = await createGotFixture({
      expansions: {
        hard: listNodes([{ id: "x" }, { id: "y", needs: ["x"] }, { id: "z", needs: ["x"] }, { id: "w", needs: ["y"] }]),
      },
      work: (asked) => (asked.id === "hard.y" ? { fault: { kind: "throw" } } : describeWork(asked)),
    });
    const records = await runFixture(fixture);
    const { failed, skipped, completed } = rebuildGraph(records);
    expect([failed, skipped]).toEqual([["hard.y"], ["hard.w"]]);
    expect(completed).toContain("hard");
    expect(eventsOf(records, "reply")[0]?.reply).toContain("hard.y, hard.w.");
  });

  it("fails a node without inner results, and does not retry it", async () => {
    const fixture = await createGotFixture({
      expansions: { hard: TWO_ENDS },
      work: (asked) => (asked.id === "hard.x" ? { fault: { kind: "throw" } } : describeWork(asked)),
    });
    const records = await runFixture(fixture);
    const { failed, skipped, order } = rebuildGraph(records);
    expect(failed).toEqual(["hard.x", "hard"]);
    expect(skipped).toEqual(["hard.y", "hard.z", "end"]);
    expect(order.filter((step) => step === "+hard")).toHaveLength(1);
    expect(order.filter((step) => step === "+hard.x")).toHaveLength(2);
    expect(eventsOf(records, "reply")[0]?.reply).toContain("hard, hard.x, hard.y, hard.z, end.");
  });

  it("does not repeat inner nodes when the outer node is retried", async () => {
    let fails = true;
    const fixture = await createGotFixture({
      expansions: { hard: TWO_ENDS },
      work: (asked) => {
        if (asked.id !== "hard" || !fails) return describeWork(asked);
        fails = false;
        return { fault: { kind: "throw" } };
      },
    });
    const { order, completed, nodes } = rebuildGraph(await runFixture(fixture));
    expect(completed).toHaveLength(nodes.length);
    expect(order.filter((step) => step.startsWith("+hard"))).toEqual([
      "+hard",
      "+hard.x",
      "+hard.y",
      "+hard.z",
      "+hard",
    ]);
    expect(fixture.model.prompts.filter((prompt) => readGotPrompt(prompt).kind === "expand")).toHaveLength(1);
  });

  it.each<readonly [string, Json]>([
    ["prose", "I would split it in three."],
    [
      "a cycle",
      listNodes([
        { id: "x", needs: ["y"] },
        { id: "y", needs: ["x"] },
      ]),
    ],
    ["too many nodes", listNodes(Array.from({ length: 10_000 }, (_, index) => ({ id: `n${index}` })))],
    ["an id outside the node", listNodes([{ id: "x" }, { id: "y", needs: ["base"] }])],
  ])("does not expand a node if its plan is %s twice", async (_, plan) => {
    const fixture = await createGotFixture({ expansions: { hard: plan } });
    const records = await runFixture(fixture);
    expect(eventsOf(records, "got_expand")).toEqual([]);
    expect(eventsOf(records, "error")).toMatchObject([{ code: "model_output_invalid", recoverable: true }]);
    expect(fixture.model.prompts.filter((prompt) => readGotPrompt(prompt).kind === "expand")).toHaveLength(2);
    expect(rebuildGraph(records).completed).toEqual(["base", "hard", "end"]);
    expect(shownTo(fixture, "hard")).toEqual(["base"]);
  });
});
