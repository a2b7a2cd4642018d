// However a search ends, its events show the path that the answer was made from.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventsOf, SESSION, createAgentFixture } from "./agent-fixture.ts";
import { RECEIVER_LIMITS } from "../../src/client/limits.ts";
import { SessionFold } from "../../src/client/view/session-fold.ts";
import { LONG } from "../sampling.ts";
import type { StampedRecord } from "../../src/protocol/index.ts";
import type { TotOptions } from "../../src/agents/tot/tot-settings.ts";
import {
  playTree,
  readPrompt,
  rebuildTree,
  type ScriptedThought,
  type ScriptedTree,
} from "../contracts/tree-script.ts";

async function search(world: ScriptedTree, options: TotOptions) {
  const fixture = await createAgentFixture((request) => playTree(world, request), {
    kind: "tot",
    tools: [],
    ...options,
  });
  expect((await (await fixture.ask("Which way?")).ended).status).toBe("completed");
  const records = await fixture.read();
  const answered = readPrompt(fixture.model.requests.at(-1)!);
  await fixture.session.close();
  return { records, answered, reply: eventsOf(records, "reply")[0]?.reply ?? "", tree: showTree(records) };
}

function showTree(records: readonly StampedRecord[]) {
  const fold = new SessionFold(SESSION, RECEIVER_LIMITS);
  for (const record of records) fold.apply(record, true);
  return fold.snapshot().turns[0]?.tree;
}

function growTree(depth: number): fc.Arbitrary<ScriptedTree> {
  const next = depth > 1 ? growTree(depth - 1) : fc.constant({});
  const score = fc.constantFrom(0, 0.01, 0.2, 0.4, 0.4, 0.6, 0.9);
  const thought: fc.Arbitrary<ScriptedThought> = fc.record({ score, solved: fc.nat(30).map((n) => n === 0), next });
  return fc
    .array(thought, { maxLength: 3 })
    .map((list) => Object.fromEntries(list.map((one, index) => [`step ${depth}${"abc"[index]}`, one])));
}

describe("the path of a search", () => {
  it("is the one of the answer, and a dead search keeps no branch", async () => {
    const options = fc.record({
      strategy: fc.constantFrom("breadth" as const, "depth" as const),
      generate: fc.constantFrom("propose" as const, "propose" as const, "sample" as const),
      evaluate: fc.constantFrom("value" as const, "value" as const, "vote" as const),
      beam: fc.integer({ min: 1, max: 3 }),
      maxDepth: fc.constantFrom(2, 3, 6, 6, 6),
      maxBacktracks: fc.constantFrom(0, 1, 100, 100),
      maxThoughts: fc.constantFrom(4, 9, 1000, 1000),
    });
    const outcomes = new Set<string>();
    await fc.assert(
      fc.asyncProperty(growTree(3), options, async (world, given) => {
        const { records, answered, reply, tree } = await search(world, given);
        // Fails unless each evaluation has a score for each candidate of the expansion before it.
        const { thoughts, path } = rebuildTree(records);
        for (const { id, score } of tree?.thoughts ?? []) expect([id, score]).toEqual([id, thoughts.get(id)?.score]);
        expect(tree?.path ?? []).toEqual(path);
        expect(path.map((id) => thoughts.get(id)?.text)).toEqual(answered.steps);
        for (const id of path) expect([id, thoughts.get(id)?.status]).toEqual([id, "kept"]);
        for (const { id, status } of tree?.thoughts ?? []) expect([id, status]).toEqual([id, thoughts.get(id)?.status]);
        const [outcome = ""] = reply.split(":");
        outcomes.add(outcome);
        if (outcome !== "dead") return;
        const alive = [...thoughts].filter(([, { status }]) => status === "kept" || status === "open");
        expect(alive).toEqual([]);
        expect(eventsOf(records, "error")).toEqual([]);
      }),
      { numRuns: LONG ? 1000 : 100 },
    );
    expect([...outcomes].toSorted()).toEqual(["dead", "solved", "unsolved"]);
  }, 300_000);

  it("is that of the best thought, not the last, after a complete depth search", async () => {
    const world: ScriptedTree = {
      a: { score: 0.9, next: { a1: { score: 0.9 } } },
      b: { score: 0.5, next: { b1: { score: 0.4 } } },
    };
    const { reply, records, tree } = await search(world, { strategy: "depth", maxDepth: 2 });
    expect(reply).toBe("unsolved: a > a1");
    expect(eventsOf(records, "tot_backtrack").slice(-2)).toMatchObject([
      { from: "2.1", to_depth: 0 },
      { from: "2.1", to: "1.1", to_depth: 2, kept: ["1", "1.1"], code: "best_so_far" },
    ]);
    expect(tree?.thoughts.map(({ status }) => status)).toEqual(["kept", "abandoned", "kept", "abandoned"]);
  });

  it.each<[string, ScriptedTree, readonly string[]]>([
    [
      "a branch that ended while another of its level continued",
      { a: { score: 0.9, next: { a1: { score: 0.9 } } }, b: { score: 0.8, next: { b1: { score: 0 } } } },
      ["2", "1.1"],
    ],
    [
      "a branch whose steps were all abandoned for a spare of another",
      {
        a: { score: 0.9, next: { a1: { score: 0.9 }, a2: { score: 0.8 } } },
        b: { score: 0.8, next: { b1: { score: 0.5 } } },
      },
      ["1.1", "1.2", "1", "2.1"],
    ],
  ])("is empty when everything is dead, and every branch is abandoned: %s", async (_, world, left) => {
    const { reply, records, tree } = await search(world, { beam: 2 });
    expect([reply, tree?.path]).toEqual(["dead: ", []]);
    expect(eventsOf(records, "tot_backtrack").map(({ from }) => from)).toEqual(left);
    expect(tree?.thoughts.filter(({ status }) => status === "kept")).toEqual([]);
  });
});
