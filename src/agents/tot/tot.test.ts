import { describe, expect, it } from "vitest";
import { eventsOf, createAgentFixture } from "../../../test/agents/agent-fixture.ts";
import type { AnyEvent, StampedRecord } from "../../protocol/index.ts";
import { agent } from "../index.ts";
import type { TotOptions } from "./tot-settings.ts";
import {
  findThought,
  playTree,
  readPrompt,
  rebuildTree,
  type ScriptedTree,
} from "../../../test/contracts/tree-script.ts";

const tree: ScriptedTree = {
  a: { score: 0.9, next: { a1: { score: 0.02 }, a2: { score: 0.01 } } },
  b: { score: 0.6, next: { b1: { score: 0.7, next: { b11: { score: 0.01 } } }, b2: { score: 0 } } },
  c: { score: 0.5, next: { c1: { score: 0.8, next: { c11: { score: 1, solved: true }, c12: { score: 0.3 } } } } },
  d: { score: 0 },
};

/** Every branch is a dead end. */
const dead: ScriptedTree = {
  a: { score: 0.9, next: { a1: { score: 0 } } },
  b: { score: 0.5, next: { b1: { score: 0.4, next: { b11: { score: 0 } } } } },
};

const ROUND = ["think_expand", "think_evaluate", "observe"] as const;

async function search(options: TotOptions, world: ScriptedTree = tree) {
  const fixture = await createAgentFixture((request) => playTree(world, request), {
    kind: "tot",
    tools: [],
    ...options,
  });
  const run = await fixture.ask("Which way?");
  const { status } = await run.ended;
  const records = await fixture.read();
  const asked = fixture.model.requests.map((request) => readPrompt(request));
  return { fixture, status, records, asked, reply: eventsOf(records, "reply")[0]?.reply };
}

function nodesOf(records: readonly StampedRecord[]): readonly string[] {
  return eventsOf(records, "node_enter").flatMap(({ id, parent }) => (parent === undefined ? [id] : []));
}

function treeEvents(records: readonly StampedRecord[]): readonly AnyEvent[] {
  return records.flatMap(({ event }) => (event.type.startsWith("tot_") ? [event] : []));
}

/** The tree rebuilt from events has the texts and scores of the model. */
function expectRebuilt(records: readonly StampedRecord[], world: ScriptedTree): void {
  const { thoughts } = rebuildTree(records);
  for (const [id, { parent, depth, score }] of thoughts) {
    const names = id.split(".").map((_, index, all) => all.slice(0, index + 1).join("."));
    const steps = names.map((name) => thoughts.get(name)?.text ?? "");
    expect([id, score]).toEqual([id, findThought(world, steps).score]);
    expect([id, parent, depth]).toEqual([id, names.at(-2), names.length]);
  }
}

describe("a tree of thoughts in breadth", () => {
  it("searches level by level until a thought solves the question", async () => {
    const { status, records, asked, reply } = await search({});
    expect([status, reply]).toEqual(["completed", "solved: c > c1 > c11"]);
    expect(nodesOf(records)).toEqual([...ROUND, ...ROUND, ...ROUND, "answer"]);
    expect(asked.filter(({ kind }) => kind === "propose").map(({ steps }) => steps.join())).toEqual([
      "",
      "a",
      "b",
      "c",
      "c,c1",
      "b,b1",
    ]);
    expectRebuilt(records, tree);
    const { path, thoughts } = rebuildTree(records);
    expect(path).toEqual(["3", "3.1", "3.1.1"]);
    expect(
      [...thoughts]
        .filter(([, { status }]) => status === "pruned")
        .map(([id]) => id)
        .toSorted(),
    ).toEqual(["1.1", "1.2", "2.1.1", "2.2", "4"]);
  });

  it("streams thoughts on the channel thought and the answer on the channel answer", async () => {
    const { records } = await search({});
    const chunks = records.flatMap(({ event, envelope }) =>
      event.type === "message_chunk" ? [{ ...event, node: envelope.node_id }] : [],
    ) as readonly { readonly content: string; readonly channel?: string; readonly node?: string }[];
    const answer = chunks.filter(({ channel }) => channel === undefined || channel === "answer");
    expect(answer.map(({ content }) => content).join("")).toBe("solved: c > c1 > c11");
    expect(new Set(answer.map(({ node }) => node))).toEqual(new Set([expect.stringContaining("run-answer-")]));
    expect(chunks.length).toBeGreaterThan(answer.length);
  });

  it("gives every call a separate node run, except a single one", async () => {
    const { records } = await search({});
    const [first, second] = records.flatMap(({ event, envelope }) =>
      event.type === "llm_start" ? [envelope.node_id ?? ""] : [],
    );
    expect(first).toMatch(/^run-think_expand-/u);
    expect(second).toMatch(/^run-value-/u);
    const calls = records.filter(({ event }) => event.type === "llm_start").map(({ envelope }) => envelope.node_id);
    expect(new Set(calls).size).toBe(calls.length);
    const nested = eventsOf(records, "node_enter").filter(({ parent }) => parent !== undefined);
    expect(new Set(nested.map(({ id }) => id))).toEqual(new Set(["value", "propose"]));
  });

  it("backtracks to spares and reports it", async () => {
    const { records, reply } = await search({ beam: 1 });
    expect(reply).toBe("solved: c > c1 > c11");
    expect(treeEvents(records)).toMatchObject([
      { type: "tot_expand", depth: 1, ids: ["1", "2", "3", "4"] },
      { type: "tot_evaluate", chosen: 0, kept: ["1"], depth: 1, scores: [0.9, 0.6, 0.5, 0] },
      { type: "tot_expand", parent: "1", depth: 2 },
      { type: "tot_evaluate", kept: [], depth: 2 },
      {
        type: "tot_backtrack",
        from: "1",
        to: "2",
        to_depth: 1,
        reason: "every next step is a dead end",
        code: "dead_end",
        kept: ["2"],
      },
      { type: "tot_expand", parent: "2" },
      { type: "tot_evaluate", kept: ["2.1"] },
      { type: "tot_expand", parent: "2.1" },
      { type: "tot_evaluate", kept: [] },
      { type: "tot_backtrack", from: "2.1", to: "3", to_depth: 1, kept: ["3"] },
      { type: "tot_expand", parent: "3" },
      { type: "tot_evaluate", kept: ["3.1"] },
      { type: "tot_expand", parent: "3.1" },
      { type: "tot_evaluate", chosen: 0, kept: ["3.1.1"] },
    ]);
    const { thoughts, path } = rebuildTree(records);
    expect(path).toEqual(["3", "3.1", "3.1.1"]);
    const abandoned = [...thoughts].filter(([, { status }]) => status === "abandoned");
    expect(abandoned.map(([id]) => id)).toEqual(["1", "2", "2.1"]);
  });

  it("reports every branch it abandons", async () => {
    const wide: ScriptedTree = {
      a: { score: 0.9, next: { a1: { score: 0 } } },
      b: { score: 0.8 },
      c: { score: 0.7, next: { c1: { score: 1, solved: true } } },
    };
    const { records } = await search({ beam: 2 }, wide);
    expect(eventsOf(records, "tot_backtrack")).toMatchObject([
      { from: "1", to: "3", reason: "every next step is a dead end" },
      { from: "2", to: "3", reason: "no next step was found", code: "no_next_step" },
    ]);
  });

  it("answers with the best of the last level if none solves the question", async () => {
    const { status, reply, records } = await search({ maxDepth: 2 });
    expect([status, reply]).toEqual(["completed", "unsolved: c > c1"]);
    expect(eventsOf(records, "error")).toEqual([]);
    expect(eventsOf(records, "tot_backtrack")).toEqual([]);
  });

  it("reports that there is no answer if every branch is a dead end", async () => {
    const { status, reply, records } = await search({}, dead);
    expect([status, reply]).toEqual(["completed", "dead: "]);
    expect(eventsOf(records, "error")).toEqual([]);
  });

  it("reports that there is no answer if there is no first thought", async () => {
    const { status, reply, records } = await search({}, {});
    expect([status, reply]).toEqual(["completed", "dead: "]);
    expect(nodesOf(records)).toEqual(["think_expand", "think_evaluate", "observe", "answer"]);
  });
});

describe("a tree of thoughts in depth", () => {
  it("continues with the best and backtracks to the next best untried one", async () => {
    const { status, records, reply } = await search({ strategy: "depth", threshold: 0.3 });
    expect([status, reply]).toEqual(["completed", "solved: c > c1 > c11"]);
    expect(treeEvents(records)).toMatchObject([
      { type: "tot_expand", ids: ["1", "2", "3", "4"] },
      { type: "tot_evaluate", chosen: 0, kept: ["1", "2", "3"] },
      { type: "tot_expand", parent: "1" },
      { type: "tot_evaluate", kept: [] },
      { type: "tot_backtrack", from: "1", to: "2", to_depth: 1, kept: ["2"] },
      { type: "tot_expand", parent: "2" },
      { type: "tot_evaluate", kept: ["2.1"] },
      { type: "tot_expand", parent: "2.1" },
      { type: "tot_evaluate", kept: [] },
      { type: "tot_backtrack", from: "2.1", to: "3", to_depth: 1, kept: ["3"] },
      { type: "tot_expand", parent: "3" },
      { type: "tot_evaluate", kept: ["3.1"] },
      { type: "tot_expand", parent: "3.1" },
      { type: "tot_evaluate", chosen: 0, kept: ["3.1.1", "3.1.2"] },
    ]);
    expectRebuilt(records, tree);
    const { thoughts, path } = rebuildTree(records);
    expect(path).toEqual(["3", "3.1", "3.1.1"]);
    expect([...thoughts].filter(([, { status }]) => status === "abandoned").map(([id]) => id)).toEqual([
      "1",
      "2",
      "2.1",
    ]);
    expect(nodesOf(records).filter((id) => id === "backtrack")).toHaveLength(2);
  });

  it("prunes thoughts below the threshold without trying them", async () => {
    const { asked, reply } = await search({ strategy: "depth", threshold: 0.65 });
    expect(reply).toBe("dead: ");
    const tried = asked.filter(({ kind }) => kind === "propose").map(({ steps }) => steps.join());
    expect(tried).toEqual(["", "a"]);
  });

  it("treats unsolved thoughts of the last level as dead ends and answers with the best", async () => {
    const { records, reply } = await search({ strategy: "depth", maxDepth: 2 });
    expect(reply).toBe("unsolved: c > c1");
    expect(eventsOf(records, "tot_backtrack").at(-1)).toMatchObject({
      from: "2.1",
      to: "3",
      reason: "the maximum depth is reached without an answer",
    });
  });

  it("ends when everything was tried", async () => {
    const { status, reply } = await search({ strategy: "depth" }, dead);
    expect([status, reply]).toEqual(["completed", "dead: "]);
  });
});

describe("generators and evaluators", () => {
  it("samples each candidate in a separate call with another seed, and merges duplicates", async () => {
    const { fixture, records, reply } = await search({ generate: "sample", candidates: 6 });
    expect(reply).toBe("solved: c > c1 > c11");
    const [first] = eventsOf(records, "tot_expand");
    expect(first?.candidates).toEqual(["a", "b", "c", "d"]);
    const seeds = fixture.model.requests.slice(0, 6).map(({ seed }) => seed);
    expect(new Set(seeds)).toEqual(new Set([0, 1, 2, 3, 4, 5]));
    const samples = eventsOf(records, "node_enter").filter(({ id }) => id === "sample");
    expect(samples.length).toBeGreaterThan(6);
    expectRebuilt(records, tree);
  });

  it("counts on from the given seed", async () => {
    const fixture = await createAgentFixture((request) => playTree(tree, request), {
      kind: "tot",
      tools: [],
      generate: "sample",
      candidates: 2,
      settings: { seed: 40 },
    });
    await (
      await fixture.ask("Which way?")
    ).ended;
    expect(fixture.model.requests.slice(0, 2).map(({ seed }) => seed)).toEqual([40, 41]);
  });

  it("averages several values of one thought", async () => {
    const scores = [0.2, 0.6, 1];
    const fixture = await createAgentFixture(
      (request) => {
        const { kind } = readPrompt(request);
        if (kind === "propose") return { text: "only" };
        if (kind === "value") return { text: JSON.stringify({ score: scores[request.seed ?? 0], solved: true }) };
        return { text: "done" };
      },
      { kind: "tot", tools: [], evaluations: 3 },
    );
    await (
      await fixture.ask("Which way?")
    ).ended;
    expect(eventsOf(await fixture.read(), "tot_evaluate")[0]?.scores).toEqual([expect.closeTo(0.6)]);
  });

  it("needs more than half of the ratings for a solution", async () => {
    for (const [sure, expected] of [
      [1, 8],
      [2, 1],
    ] as const) {
      const fixture = await createAgentFixture(
        (request) => {
          const { kind } = readPrompt(request);
          if (kind === "propose") return { text: "only" };
          if (kind === "value") return { text: JSON.stringify({ score: 0.5, solved: (request.seed ?? 0) < sure }) };
          return { text: "done" };
        },
        { kind: "tot", tools: [], evaluations: 3 },
      );
      await (
        await fixture.ask("Which way?")
      ).ended;
      expect(eventsOf(await fixture.read(), "tot_evaluate")).toHaveLength(expected);
    }
  });

  it("compares the thoughts of a level and scores them by their share of votes", async () => {
    const { asked, records, reply } = await search({ evaluate: "vote", beam: 1 });
    // Thoughts without votes are not dead ends; the search backtracks to them.
    expect(reply).toBe("solved: c > c1 > c11");
    expect(asked.filter(({ kind }) => kind === "vote")[0]?.candidates).toEqual([["a"], ["b"], ["c"], ["d"]]);
    expect(eventsOf(records, "tot_evaluate")[0]).toMatchObject({ chosen: 0, scores: [1, 0, 0, 0], kept: ["1"] });
    const shown = asked.filter(({ kind }) => kind === "vote").map(({ candidates }) => candidates.map(String).join(" "));
    expect([...new Set(shown)]).toEqual(["a b c d", "a,a1 a,a2", "b,b1 b,b2", "b,b1,b11", "c,c1", "c,c1,c11 c,c1,c12"]);
  });

  it("counts votes that differ", async () => {
    const fixture = await createAgentFixture(
      (request) => {
        const { kind } = readPrompt(request);
        if (kind === "propose") return { text: "x\ny\nz" };
        if (kind === "vote") return { text: `{"best": ${(request.seed ?? 0) < 3 ? 3 : 1}, "solved": true}` };
        return { text: "done" };
      },
      { kind: "tot", tools: [], evaluate: "vote", evaluations: 4 },
    );
    await (
      await fixture.ask("Which way?")
    ).ended;
    const records = await fixture.read();
    expect(eventsOf(records, "tot_evaluate")).toEqual([
      {
        type: "tot_evaluate",
        chosen: 2,
        scores: [0.25, 0, 0.75],
        ids: ["1", "2", "3"],
        kept: ["3", "1", "2"],
        depth: 1,
      },
    ]);
  });
});

describe("the options of a search", () => {
  it.each<[string, object]>([
    ["strategy", { strategy: "best" }],
    ["generate", { generate: "dream" }],
    ["evaluate", { evaluate: "guess" }],
    ["beam", { beam: 0 }],
    ["beam", { beam: 1.5 }],
    ["threshold", { threshold: 2 }],
    ["threshold", { threshold: Number.NaN }],
    ["candidates", { candidates: -1 }],
    ["candidates", { beam: 100, candidates: 100 }],
    ["maxDepth", { strategy: "depth", candidates: 2000, maxDepth: 100 }],
    ["evaluations", { evaluations: 0 }],
    ["maxDepth", { maxDepth: 0 }],
    ["maxDepth", { maxDepth: Number.POSITIVE_INFINITY }],
    ["maxBacktracks", { maxBacktracks: -1 }],
    ["maxThoughts", { maxThoughts: 0 }],
    ["maxTokens", { maxTokens: 0 }],
    ["maxMs", { maxMs: Number.NaN }],
    ["concurrency", { concurrency: 0 }],
  ])("reject an invalid %s", (name, options) => {
    const make = (): unknown => agent({ provider: "offline", kind: "tot", ...options });
    expect(make).toThrow(expect.objectContaining({ code: "invalid_arguments" }));
    expect(make).toThrow(`\`${name}\``);
  });
});
