import { describe, expect, it } from "vitest";
import { eventsOf, setStage } from "../../../test/agents/stage.ts";
import type { AnyEvent, StampedRecord } from "../../protocol/index.ts";
import { agent } from "../index.ts";
import type { TotOptions } from "./tot.ts";
import { findThought, playTree, readPrompt, rebuildTree, type ScriptedTree } from "./tree-script.contract.ts";

const tree: ScriptedTree = {
  a: { score: 0.9, next: { a1: { score: 0.02 }, a2: { score: 0.01 } } },
  b: { score: 0.6, next: { b1: { score: 0.7, next: { b11: { score: 0.01 } } }, b2: { score: 0 } } },
  c: { score: 0.5, next: { c1: { score: 0.8, next: { c11: { score: 1, solved: true }, c12: { score: 0.3 } } } } },
  d: { score: 0 },
};

/** Nothing leads anywhere. */
const dead: ScriptedTree = {
  a: { score: 0.9, next: { a1: { score: 0 } } },
  b: { score: 0.5, next: { b1: { score: 0.4, next: { b11: { score: 0 } } } } },
};

const ROUND = ["think_expand", "think_evaluate", "observe"] as const;

async function search(options: TotOptions, world: ScriptedTree = tree) {
  const stage = await setStage((request) => playTree(world, request), { kind: "tot", tools: [], ...options });
  const run = await stage.ask("Which way?");
  const { status } = await run.ended;
  const records = await stage.read();
  const asked = stage.model.requests.map((request) => readPrompt(request));
  return { stage, status, records, asked, reply: eventsOf(records, "reply")[0]?.reply };
}

function nodesOf(records: readonly StampedRecord[]): readonly string[] {
  return eventsOf(records, "node_enter").flatMap(({ id, parent }) => (parent === undefined ? [id] : []));
}

function treeEvents(records: readonly StampedRecord[]): readonly AnyEvent[] {
  return records.flatMap(({ event }) => (event.type.startsWith("tot_") ? [event] : []));
}

/** The tree that a receiver has holds what the model said, and the scores it gave. */
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
  it("goes level by level until a thought solves the question", async () => {
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

  it("says what it thinks on the channel of thoughts, and the answer on that of answers", async () => {
    const { records } = await search({});
    const chunks = records.flatMap(({ event, envelope }) =>
      event.type === "message_chunk" ? [{ ...event, node: envelope.node_id }] : [],
    ) as readonly { readonly content: string; readonly channel?: string; readonly node?: string }[];
    const answer = chunks.filter(({ channel }) => channel !== "thought");
    expect(answer.map(({ content }) => content).join("")).toBe("solved: c > c1 > c11");
    expect(new Set(answer.map(({ node }) => node))).toEqual(new Set([expect.stringContaining("run-answer-")]));
    expect(chunks.length).toBeGreaterThan(answer.length);
  });

  it("gives every call a node run of its own, but one that is alone", async () => {
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

  it("goes back to what was left out for want of room, and says so", async () => {
    const { records, reply } = await search({ beam: 1 });
    expect(reply).toBe("solved: c > c1 > c11");
    expect(treeEvents(records)).toMatchObject([
      { type: "tot_expand", depth: 1, ids: ["1", "2", "3", "4"] },
      { type: "tot_evaluate", chosen: 0, kept: ["1"], depth: 1, scores: [0.9, 0.6, 0.5, 0] },
      { type: "tot_expand", parent: "1", depth: 2 },
      { type: "tot_evaluate", kept: [], depth: 2 },
      { type: "tot_backtrack", from: "1", to: "2", to_depth: 1, reason: "every next step is a dead end" },
      { type: "tot_evaluate", chosen: 1, ids: ["1", "2", "3", "4"], scores: [0.9, 0.6, 0.5, 0], kept: ["2"], depth: 1 },
      { type: "tot_expand", parent: "2" },
      { type: "tot_evaluate", kept: ["2.1"] },
      { type: "tot_expand", parent: "2.1" },
      { type: "tot_evaluate", kept: [] },
      { type: "tot_backtrack", from: "2.1", to: "3", to_depth: 1 },
      { type: "tot_evaluate", chosen: 2, scores: [0.9, 0.6, 0.5, 0], kept: ["3"] },
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

  it("names every branch it gives up", async () => {
    const wide: ScriptedTree = {
      a: { score: 0.9, next: { a1: { score: 0 } } },
      b: { score: 0.8 },
      c: { score: 0.7, next: { c1: { score: 1, solved: true } } },
    };
    const { records } = await search({ beam: 2 }, wide);
    expect(eventsOf(records, "tot_backtrack")).toMatchObject([
      { from: "1", to: "3", reason: "every next step is a dead end" },
      { from: "2", to: "3", reason: "no next step was found" },
    ]);
  });

  it("answers with the best of the last level where none solves the question", async () => {
    const { status, reply, records } = await search({ maxDepth: 2 });
    expect([status, reply]).toEqual(["completed", "unsolved: c > c1"]);
    expect(eventsOf(records, "error")).toEqual([]);
    expect(eventsOf(records, "tot_backtrack")).toEqual([]);
  });

  it("says that there is no answer where every branch is a dead end", async () => {
    const { status, reply, records } = await search({}, dead);
    expect([status, reply]).toEqual(["completed", "dead: "]);
    expect(eventsOf(records, "error")).toEqual([]);
  });

  it("says so where there is no first thought", async () => {
    const { status, reply, records } = await search({}, {});
    expect([status, reply]).toEqual(["completed", "dead: "]);
    expect(nodesOf(records)).toEqual(["think_expand", "think_evaluate", "observe", "answer"]);
  });
});

describe("a tree of thoughts in depth", () => {
  it("goes on with the best, and back to the next best not yet tried", async () => {
    const { status, records, reply } = await search({ strategy: "depth", threshold: 0.3 });
    expect([status, reply]).toEqual(["completed", "solved: c > c1 > c11"]);
    expect(treeEvents(records)).toMatchObject([
      { type: "tot_expand", ids: ["1", "2", "3", "4"] },
      { type: "tot_evaluate", chosen: 0, kept: ["1", "2", "3"] },
      { type: "tot_expand", parent: "1" },
      { type: "tot_evaluate", kept: [] },
      { type: "tot_backtrack", from: "1", to: "2", to_depth: 1 },
      { type: "tot_evaluate", chosen: 1, ids: ["1", "2", "3", "4"], kept: ["2", "3"] },
      { type: "tot_expand", parent: "2" },
      { type: "tot_evaluate", kept: ["2.1"] },
      { type: "tot_expand", parent: "2.1" },
      { type: "tot_evaluate", kept: [] },
      { type: "tot_backtrack", from: "2.1", to: "3", to_depth: 1 },
      { type: "tot_evaluate", chosen: 2, scores: [0.9, 0.6, 0.5, 0], kept: ["3"] },
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

  it("prunes what is below the threshold without trying it", async () => {
    const { asked, reply } = await search({ strategy: "depth", threshold: 0.65 });
    expect(reply).toBe("dead: ");
    const tried = asked.filter(({ kind }) => kind === "propose").map(({ steps }) => steps.join());
    expect(tried).toEqual(["", "a"]);
  });

  it("takes a thought of the last level that solves nothing for a dead end, and answers with the best of them", async () => {
    const { records, reply } = await search({ strategy: "depth", maxDepth: 2 });
    expect(reply).toBe("unsolved: c > c1");
    expect(eventsOf(records, "tot_backtrack").at(-1)).toMatchObject({
      from: "2.1",
      to: "3",
      reason: "the steps are used up and the question is not answered",
    });
  });

  it("is over when all was tried", async () => {
    const { status, reply } = await search({ strategy: "depth" }, dead);
    expect([status, reply]).toEqual(["completed", "dead: "]);
  });
});

describe("generators and evaluators", () => {
  it("samples each candidate by a call of its own, with another seed, and takes twins for one", async () => {
    const { stage, records, reply } = await search({ generate: "sample", candidates: 6 });
    expect(reply).toBe("solved: c > c1 > c11");
    const [first] = eventsOf(records, "tot_expand");
    expect(first?.candidates).toEqual(["a", "b", "c", "d"]);
    const seeds = stage.model.requests.slice(0, 6).map(({ seed }) => seed);
    expect(new Set(seeds)).toEqual(new Set([0, 1, 2, 3, 4, 5]));
    const samples = eventsOf(records, "node_enter").filter(({ id }) => id === "sample");
    expect(samples.length).toBeGreaterThan(6);
    expectRebuilt(records, tree);
  });

  it("counts on from the seed that was given", async () => {
    const stage = await setStage((request) => playTree(tree, request), {
      kind: "tot",
      tools: [],
      generate: "sample",
      candidates: 2,
      settings: { seed: 40 },
    });
    await (
      await stage.ask("Which way?")
    ).ended;
    expect(stage.model.requests.slice(0, 2).map(({ seed }) => seed)).toEqual([40, 41]);
  });

  it("averages several values of one thought", async () => {
    const scores = [0.2, 0.6, 1];
    const stage = await setStage(
      (request) => {
        const { kind } = readPrompt(request);
        if (kind === "propose") return { text: "only" };
        if (kind === "value") return { text: JSON.stringify({ score: scores[request.seed ?? 0], solved: true }) };
        return { text: "done" };
      },
      { kind: "tot", tools: [], evaluations: 3 },
    );
    await (
      await stage.ask("Which way?")
    ).ended;
    expect(eventsOf(await stage.read(), "tot_evaluate")[0]?.scores).toEqual([expect.closeTo(0.6)]);
  });

  it("needs more than half of the judgements to be sure of a solution", async () => {
    for (const [sure, expected] of [
      [1, 8],
      [2, 1],
    ] as const) {
      const stage = await setStage(
        (request) => {
          const { kind } = readPrompt(request);
          if (kind === "propose") return { text: "only" };
          if (kind === "value") return { text: JSON.stringify({ score: 0.5, solved: (request.seed ?? 0) < sure }) };
          return { text: "done" };
        },
        { kind: "tot", tools: [], evaluations: 3 },
      );
      await (
        await stage.ask("Which way?")
      ).ended;
      expect(eventsOf(await stage.read(), "tot_evaluate")).toHaveLength(expected);
    }
  });

  it("lets the thoughts of a level be compared, and scores them by their share of the votes", async () => {
    const { asked, records, reply } = await search({ evaluate: "vote", beam: 1 });
    // What nobody voted for is no dead end: the search comes back to it.
    expect(reply).toBe("solved: c > c1 > c11");
    expect(asked.filter(({ kind }) => kind === "vote")[0]?.candidates).toEqual([["a"], ["b"], ["c"], ["d"]]);
    expect(eventsOf(records, "tot_evaluate")[0]).toMatchObject({ chosen: 0, scores: [1, 0, 0, 0], kept: ["1"] });
    const shown = asked.filter(({ kind }) => kind === "vote").map(({ candidates }) => candidates.map(String).join(" "));
    expect([...new Set(shown)]).toEqual(["a b c d", "a,a1 a,a2", "b,b1 b,b2", "b,b1,b11", "c,c1", "c,c1,c11 c,c1,c12"]);
  });

  it("counts votes that differ", async () => {
    const stage = await setStage(
      (request) => {
        const { kind } = readPrompt(request);
        if (kind === "propose") return { text: "x\ny\nz" };
        if (kind === "vote") return { text: `{"best": ${(request.seed ?? 0) < 3 ? 3 : 1}, "solved": true}` };
        return { text: "done" };
      },
      { kind: "tot", tools: [], evaluate: "vote", evaluations: 4 },
    );
    await (
      await stage.ask("Which way?")
    ).ended;
    const records = await stage.read();
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
  ])("refuse a wrong %s by name", (name, options) => {
    const make = (): unknown => agent({ provider: "offline", kind: "tot", ...options });
    expect(make).toThrow(expect.objectContaining({ code: "graph_invalid" }));
    expect(make).toThrow(`\`${name}\``);
  });
});
