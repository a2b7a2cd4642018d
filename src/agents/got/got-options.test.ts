// Options from the papers: several results per task of which the best are kept, improvement until the score is good,
// and planning layer by layer. Every added node is in the events, and a restart repeats nothing.
import { describe, expect, it } from "vitest";
import { createAgentFixture, eventsOf, SESSION } from "../../../test/agents/agent-fixture.ts";
import { OfflineModel } from "../../models/offline-model.ts";
import type { GotOptions } from "./got-settings.ts";
import {
  cutLog,
  type GotScript,
  listNodes,
  playGot,
  readGotPrompt,
  rebuildGraph,
} from "../../../test/contracts/got-script.ts";

const ONE = listNodes([{ id: "text" }]);

async function run(world: GotScript, options: GotOptions) {
  const fixture = await createAgentFixture(playGot(world), { kind: "got", tools: [], retryMs: 0, ...options });
  expect(await (await fixture.ask("Why?")).ended).toMatchObject({ status: "completed" });
  const records = await fixture.read();
  const results = eventsOf(records, "got_node_complete").map(({ id, result_summary }) => [id, result_summary] as const);
  return { fixture, records, graph: rebuildGraph(records), results: Object.fromEntries(results) };
}

/** Rates each result by the last digit of its ID. */
const byDigit: GotScript["scores"] = ({ known }) => ({
  scores: Object.fromEntries(known.map((id) => [id, Number(/\d/.exec(id)?.[0] ?? 0) / 10])),
});

describe("branches", () => {
  it("are nodes of the graph, of which the best are kept", async () => {
    const { graph, results, records } = await run({ plan: ONE, scores: byDigit }, { branches: 3, keepBest: 2 });
    // An expansion belongs to the adaptive form.
    expect(eventsOf(records, "got_expand")).toEqual([]);
    expect(
      eventsOf(records, "got_plan").map(({ parent, node_count, edge_count }) => [parent, node_count, edge_count]),
    ).toEqual([
      [undefined, 1, 0],
      ["text", 3, 3],
      ["text", 1, 3],
    ]);
    expect(graph.nodes).toEqual(["text", "text.try1", "text.try2", "text.try3", "text.best0"]);
    expect(graph.edges).toEqual([
      "text→text.try1",
      "text→text.try2",
      "text→text.try3",
      "text.try1→text.best0",
      "text.try2→text.best0",
      "text.try3→text.best0",
    ]);
    expect(graph.completed.toSorted()).toEqual(graph.nodes.toSorted());
    expect(results["text.best0"]).toMatch(/^kept text\.try3, text\.try2 \(/);
    const kept = eventsOf(records, "updates").find(({ delta, id }) => delta === true && id === "execute_graph")?.state;
    expect(kept).toMatchObject({ results: { merge: { text: "text.try3[]\n\ntext.try2[]" } } });
  });

  it("that fail are left out", async () => {
    const { graph, results } = await run(
      {
        plan: ONE,
        scores: byDigit,
        work: ({ id, known }) => (id === "text.try2" ? { text: " " } : { text: `${id}[${known.join(" ")}]` }),
      },
      { branches: 2, attempts: 1 },
    );
    expect(graph.failed).toEqual(["text.try2"]);
    expect(results["text"]).toBe("text.try1[]");
  });

  it("respect the limit of nodes", async () => {
    const { graph } = await run({ plan: ONE }, { branches: 3, maxTotalNodes: 2 });
    expect(graph.nodes).toEqual(["text"]);
  });
});

describe("improvements", () => {
  const improving: GotScript = {
    plan: ONE,
    scores: ({ known }) => ({
      scores: Object.fromEntries(
        known.map((id) => {
          const round = Number(/better(\d)/.exec(id)?.[1] ?? /best(\d)/.exec(id)?.[1] ?? 0);
          return [id, [0.2, 0.5, 0.9][round] ?? 0];
        }),
      ),
    }),
  };

  it("are repeated until the score is good enough", async () => {
    const { graph, results } = await run(improving, { improvements: 5, goodScore: 0.8 });
    expect(graph.nodes).toEqual("text text.try1 text.best0 text.better1 text.best1 text.better2 text.best2".split(" "));
    expect(graph.edges).toContain("text.best0→text.better1");
    expect(results["text"]).toBe("text.better2[text.best1]");
  });

  it("end after their number, and are not made for a good result", async () => {
    expect((await run(improving, { improvements: 1 })).graph.nodes.at(-1)).toBe("text.best1");
    expect((await run(improving, { improvements: 5, goodScore: 0.1 })).graph.nodes.at(-1)).toBe("text.best0");
  });
});

describe("layers", () => {
  const layered: GotScript = {
    plan: listNodes([{ id: "a" }, { id: "b" }]),
    layers: [
      listNodes([{ id: "c", needs: ["a", "b"], operation: "aggregate" }]),
      listNodes([{ id: "d", needs: ["c"], operation: "refine" }]),
    ],
  };

  it("are planned from the results of the layers before, until the results are enough", async () => {
    const { fixture, graph, records } = await run(layered, { maxLayers: 9 });
    expect(eventsOf(records, "got_plan").map(({ node_ids }) => node_ids)).toEqual([["a", "b"], ["c"], ["d"]]);
    expect(graph.edges).toEqual(["a→c", "b→c", "c→d"]);
    expect(graph.completed).toEqual(["a", "b", "c", "d"]);
    expect(eventsOf(records, "reply")[0]?.reply).toBe("From d.");
    const prompts = fixture.model.prompts.map(readGotPrompt);
    expect(prompts[0]?.text).toContain("Plan only the first layer");
    expect(prompts.filter(({ kind }) => kind === "layer").map(({ known }) => known)).toEqual([
      ["a", "b"],
      ["a", "b", "c"],
      ["a", "b", "c", "d"],
    ]);
  });

  it("are limited", async () => {
    expect((await run(layered, { maxLayers: 2 })).graph.nodes).toEqual(["a", "b", "c"]);
  });

  it("may not need nodes without a result", async () => {
    const { records } = await run({ ...layered, layers: [listNodes([{ id: "c", needs: ["z"] }])] }, { maxLayers: 3 });
    expect(eventsOf(records, "error")[0]?.message).toContain('node "c" needs "z", which does not exist');
    expect(eventsOf(records, "reply")[0]?.reply).toBe("From a, b.");
  });

  it("combine with branches, and a restart at any point leads to the same graph", { timeout: 60_000 }, async () => {
    const options = { kind: "got", tools: [], retryMs: 0, maxLayers: 3, branches: 2, improvements: 1 } as const;
    const world: GotScript = { ...layered, scores: byDigit };
    const whole = await createAgentFixture(playGot(world), options);
    await (
      await whole.ask("Why?")
    ).ended;
    const records = await whole.read();
    const expected = rebuildGraph(records);
    const sorted = (list: readonly string[]): readonly string[] => list.toSorted();
    // Records of one append are not separated by a crash.
    const cuts = records.flatMap(({ event }, index) =>
      event.type === "got_node_start" || event.type === "usage" ? [index + 1] : [],
    );
    for (const length of cuts.filter((_, index) => index % 3 === 0)) {
      const fixture = await createAgentFixture(playGot(world), {
        ...options,
        log: await cutLog(SESSION, records.slice(0, length)),
      });
      await fixture.session.idle();
      const after = rebuildGraph(await fixture.read());
      const end = eventsOf(await fixture.read(), "run_end")[0]?.status;
      if (end === "completed")
        expect([length, sorted(after.nodes), sorted(after.completed)]).toEqual([
          length,
          sorted(expected.nodes),
          sorted(expected.completed),
        ]);
      await fixture.session.close();
    }
  });

  it("can be played by the offline model", async () => {
    const options = { kind: "got", model: new OfflineModel(), maxLayers: 4, branches: 2, improvements: 1 } as const;
    const fixture = await createAgentFixture([], options);
    await (
      await fixture.ask("Compare tea and coffee")
    ).ended;
    const records = await fixture.read();
    const plans = eventsOf(records, "got_plan");
    expect(plans.length).toBeGreaterThan(1);
    expect(plans[0]?.edges).toEqual([]);
    expect(plans.filter(({ parent }) => parent !== undefined).length).toBeGreaterThan(2);
    expect(eventsOf(records, "got_expand")).toEqual([]);
    expect(eventsOf(records, "error")).toEqual([]);
    expect(eventsOf(records, "reply")[0]?.reply).toMatch(/tea/i);
  });
});
