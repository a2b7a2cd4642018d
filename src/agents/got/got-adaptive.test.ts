import { describe, expect, it } from "vitest";
import { eventsOf, setStage, type Stage } from "../../../test/agents/stage.ts";
import type { Json, StampedRecord } from "../../protocol/index.ts";
import type { GotOptions } from "./got.ts";
import { describeWork, listNodes, playGot, readAsked, rebuildGraph, type World } from "./play-got.contract.ts";

const PLAN = listNodes([
  { id: "base" },
  { id: "hard", needs: ["base"] },
  { id: "end", needs: ["hard"], operation: "refine" },
]);
const TWO_ENDS = listNodes([{ id: "x" }, { id: "y", needs: ["x"] }, { id: "z", needs: ["x"] }]);

function stageGot(world: Partial<World>, options: GotOptions = {}): Promise<Stage> {
  return setStage(playGot({ plan: PLAN, ...world }), {
    kind: "got",
    adaptive: true,
    retryMs: 0,
    callOptions: { maxRetries: 0 },
    ...options,
  });
}

async function runStage(stage: Stage): Promise<readonly StampedRecord[]> {
  await (
    await stage.ask("Why?")
  ).ended;
  return stage.read();
}

function shownTo(stage: Stage, id: string): readonly string[] | undefined {
  return stage.model.prompts.map(readAsked).find((asked) => asked.kind === "work" && asked.id === id)?.known;
}

describe("an adaptive graph of thoughts", () => {
  it("makes a graph of a node that is complex, and combines its ends", async () => {
    const stage = await stageGot({ expansions: { hard: TWO_ENDS } });
    const records = await runStage(stage);
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
    // The first of them are given what the node was given; the node itself has what its ends have come to.
    expect(shownTo(stage, "hard.x")).toEqual(["base"]);
    expect(shownTo(stage, "hard.y")).toEqual(["hard.x"]);
    expect(shownTo(stage, "hard")).toEqual(["hard.y", "hard.z"]);
    expect(eventsOf(records, "reply")[0]?.reply).toBe("From end.");
  });

  it("puts what is inside of a node into spans inside of its span", async () => {
    const records = await runStage(
      await stageGot({ expansions: { hard: TWO_ENDS, "hard.y": listNodes([{ id: "deep" }]) } }),
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

  it("takes the one end of a graph as it is", async () => {
    const stage = await stageGot({ expansions: { hard: listNodes([{ id: "x" }, { id: "y", needs: ["x"] }]) } });
    const records = await runStage(stage);
    expect(shownTo(stage, "hard")).toBeUndefined();
    expect(eventsOf(records, "got_node_complete").find(({ id }) => id === "hard")?.result_summary).toBe(
      "hard.y[hard.x]",
    );
  });

  it("needs one place for any depth", async () => {
    const inner = listNodes([{ id: "x" }, { id: "y" }, { id: "z", needs: ["x", "y"] }]);
    const expansions = { hard: inner, "hard.x": inner, "hard.x.z": inner, base: inner };
    const stage = await stageGot({ expansions }, { concurrency: 1, maxDepth: 3 });
    const { completed, nodes } = rebuildGraph(await runStage(stage));
    expect(nodes).toHaveLength(15);
    expect(completed.toSorted()).toEqual(nodes.toSorted());
  });

  it("goes no deeper and grows no larger than it may", async () => {
    // Everything is complex, and becomes three nodes that are.
    const all = new Proxy<{ [id: string]: Json }>(
      {},
      {
        get: () => TWO_ENDS,
        getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true, value: TWO_ENDS }),
      },
    );
    const deep = rebuildGraph(await runStage(await stageGot({ expansions: all }, { maxDepth: 1 })));
    expect(deep.nodes).toHaveLength(3 + 2 * 3);
    const large = await stageGot({ expansions: all }, { maxDepth: 5, maxTotalNodes: 20 });
    const records = await runStage(large);
    const { nodes, completed } = rebuildGraph(records);
    expect(nodes.length).toBeLessThanOrEqual(20);
    expect(nodes.length).toBeGreaterThan(15);
    expect(completed).toHaveLength(nodes.length);
    expect(eventsOf(records, "run_end")).toMatchObject([{ status: "completed" }]);
    expect(rebuildGraph(await runStage(await stageGot({ expansions: all }, { maxDepth: 0 }))).nodes).toHaveLength(3);
    expect(rebuildGraph(await runStage(await stageGot({ expansions: all }, { adaptive: false }))).nodes).toHaveLength(
      3,
    );
  });

  it("gives the room that is left to one of those that ask for it at once", async () => {
    const wide = ["a", "b", "c", "d"].map((id) => ({ id }));
    const plan = listNodes([...wide, { id: "end", needs: ["a", "b", "c", "d"], operation: "aggregate" }]);
    const expansions = { a: TWO_ENDS, b: TWO_ENDS, c: TWO_ENDS, d: TWO_ENDS };
    const { nodes, completed } = rebuildGraph(
      await runStage(await stageGot({ plan, expansions }, { maxTotalNodes: 9 })),
    );
    expect(nodes).toHaveLength(8);
    expect(completed).toHaveLength(8);
  });

  it("asks for no graph where there is room for one node only", async () => {
    const stage = await stageGot({ expansions: { base: TWO_ENDS } }, { maxTotalNodes: 4 });
    expect(rebuildGraph(await runStage(stage)).nodes).toHaveLength(3);
    expect(stage.model.prompts.map((prompt) => readAsked(prompt).kind)).toEqual([
      "plan",
      "work",
      "work",
      "work",
      "answer",
    ]);
  });

  it("combines what is left where something inside fails, and names what is missing", async () => {
    const stage = await stageGot({
      expansions: {
        hard: listNodes([{ id: "x" }, { id: "y", needs: ["x"] }, { id: "z", needs: ["x"] }, { id: "w", needs: ["y"] }]),
      },
      work: (asked) => (asked.id === "hard.y" ? { fault: { kind: "throw" } } : describeWork(asked)),
    });
    const records = await runStage(stage);
    const { failed, skipped, completed } = rebuildGraph(records);
    expect([failed, skipped]).toEqual([["hard.y"], ["hard.w"]]);
    expect(completed).toContain("hard");
    expect(eventsOf(records, "reply")[0]?.reply).toContain("hard.y, hard.w.");
  });

  it("fails a node of which nothing is left inside, without trying it again", async () => {
    const stage = await stageGot({
      expansions: { hard: TWO_ENDS },
      work: (asked) => (asked.id === "hard.x" ? { fault: { kind: "throw" } } : describeWork(asked)),
    });
    const records = await runStage(stage);
    const { failed, skipped, order } = rebuildGraph(records);
    expect(failed).toEqual(["hard.x", "hard"]);
    expect(skipped).toEqual(["hard.y", "hard.z", "end"]);
    expect(order.filter((step) => step === "+hard")).toHaveLength(1);
    expect(order.filter((step) => step === "+hard.x")).toHaveLength(2);
    expect(eventsOf(records, "reply")[0]?.reply).toContain("hard, hard.x, hard.y, hard.z, end.");
  });

  it("does not do again what is inside of a node that is tried again", async () => {
    let fails = true;
    const stage = await stageGot({
      expansions: { hard: TWO_ENDS },
      work: (asked) => {
        if (asked.id !== "hard" || !fails) return describeWork(asked);
        fails = false;
        return { fault: { kind: "throw" } };
      },
    });
    const { order, completed, nodes } = rebuildGraph(await runStage(stage));
    expect(completed).toHaveLength(nodes.length);
    expect(order.filter((step) => step.startsWith("+hard"))).toEqual([
      "+hard",
      "+hard.x",
      "+hard.y",
      "+hard.z",
      "+hard",
    ]);
    expect(stage.model.prompts.filter((prompt) => readAsked(prompt).kind === "expand")).toHaveLength(1);
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
    ["an id that leads out of the node", listNodes([{ id: "x" }, { id: "y", needs: ["base"] }])],
  ])("works on a node as it is where its plan is %s twice", async (_, plan) => {
    const stage = await stageGot({ expansions: { hard: plan } });
    const records = await runStage(stage);
    expect(eventsOf(records, "got_expand")).toEqual([]);
    expect(eventsOf(records, "error")).toMatchObject([{ code: "model_output_invalid", recoverable: true }]);
    expect(stage.model.prompts.filter((prompt) => readAsked(prompt).kind === "expand")).toHaveLength(2);
    expect(rebuildGraph(records).completed).toEqual(["base", "hard", "end"]);
    expect(shownTo(stage, "hard")).toEqual(["base"]);
  });
});
