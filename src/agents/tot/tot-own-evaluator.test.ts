// A tree search whose program rates thoughts and recognises solutions itself.
import { describe, expect, it } from "vitest";
import { createAgentFixture, eventsOf } from "../../../test/agents/agent-fixture.ts";
import type { ThoughtToRate, TotOptions } from "./tot-settings.ts";
import { playTree, readPrompt, type ScriptedTree } from "../../../test/contracts/tree-script.ts";

/** The model prefers `a`, and takes `b` for a solution. */
const world: ScriptedTree = {
  a: { score: 0.9, next: { a1: { score: 0.9 } } },
  b: { score: 1, solved: true, next: { b1: { score: 0.1 }, b2: { score: 0.2 } } },
};

async function search(options: TotOptions) {
  const fixture = await createAgentFixture((request) => playTree(world, request), {
    kind: "tot",
    tools: [],
    ...options,
  });
  const run = await fixture.ask("Which way?");
  const { status } = await run.ended;
  const records = await fixture.read();
  const asked = fixture.model.requests.map((request) => readPrompt(request).kind);
  return { status, records, asked };
}

describe("an own evaluator", () => {
  it("rates each thought once, without the model, until its test finds a solution", async () => {
    const seen: string[] = [];
    const path = ({ question, steps }: ThoughtToRate): string => `${question} ${steps.join(" > ")}`;
    const { status, asked, records } = await search({
      beam: 1,
      evaluate: (thought) => {
        seen.push(path(thought));
        return thought.steps[0] === "b" ? 0.8 : 0.3;
      },
      isSolved: async ({ steps }) => steps.at(-1) === "b2",
    });
    expect(status).toBe("completed");
    expect(seen).toEqual(["Which way? a", "Which way? b", "Which way? b > b1", "Which way? b > b2"]);
    expect(asked.filter((kind) => kind !== "propose")).toEqual(["answer"]);
    expect(eventsOf(records, "tot_evaluate").map(({ scores, chosen }) => [scores, chosen])).toEqual([
      [[0.3, 0.8], 1],
      [[0.8, 0.8], 1],
    ]);
  });

  it("works with the ratings of the model too: the test decides what is solved", async () => {
    const tested: string[] = [];
    const isSolved = ({ steps }: ThoughtToRate): boolean => {
      tested.push(steps.join());
      return steps.at(-1) === "a1";
    };
    for (const evaluate of ["value", "vote"] as const) {
      tested.length = 0;
      const { records } = await search({ evaluate, isSolved, maxDepth: 2 });
      expect([evaluate, ...tested.toSorted()]).toEqual([evaluate, "a", "a,a1", "b", "b,b1", "b,b2"]);
      expect(eventsOf(records, "tot_evaluate").length).toBe(2);
    }
  });

  it.each([
    [{ evaluate: () => 2 }, "`evaluate` must return a number from 0 to 1, not 2"],
    [{ isSolved: () => "yes" as unknown as boolean }, '`isSolved` must return true or false, not "yes"'],
  ])("ends the run if it returns something else", async (options, message) => {
    const { status, records } = await search(options);
    expect([status, eventsOf(records, "error").map((error) => error.message)]).toEqual(["error", [message]]);
  });
});
