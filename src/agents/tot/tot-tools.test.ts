// Tools inside thoughts: only continued thoughts use them, and their results become part of the steps.
import { describe, expect, it } from "vitest";
import { eventsOf, createAgentFixture } from "../../../test/agents/agent-fixture.ts";
import { playTree, readPrompt, type ScriptedTree } from "../../../test/contracts/tree-script.ts";
import { LONG } from "../../../test/sampling.ts";

const world: ScriptedTree = {
  sum: {
    score: 0.9,
    calls: [{ id: "c-sum", name: "add", input: { a: 1, b: 2 } }],
    next: { done: { score: 1, solved: true } },
  },
  guess: { score: 0.01, calls: [{ id: "c-guess", name: "add", input: { a: 5, b: 5 } }] },
  wait: {
    score: 0.6,
    calls: [{ id: "c-wait", name: "remove", input: { path: "x" } }],
    next: { later: { score: 0.4 } },
  },
};

describe("tools of a thought", () => {
  it("run if the thought is continued, and their results are shown with it", async () => {
    const fixture = await createAgentFixture((request) => playTree(world, request), {
      kind: "tot",
      generate: "sample",
      candidates: 3,
      beam: 1,
    });
    const { status } = await (await fixture.ask("1 + 2?")).ended;
    const records = await fixture.read();
    expect(status).toBe("completed");
    expect(fixture.ran).toEqual([["add", { a: 1, b: 2 }]]);
    expect(eventsOf(records, "tool_end")).toMatchObject([
      { call_id: "c-guess", is_error: true, result: "the thought was discarded before it started" },
      { call_id: "c-sum", result: "3", is_error: false },
      { call_id: "c-wait", is_error: true, result: "the search ended before it started" },
    ]);
    const enders = records.filter(({ event }) => event.type === "tool_end").map(({ envelope }) => envelope.node_id);
    expect(enders).toEqual([
      expect.stringMatching(/^run-think_evaluate-/),
      expect.stringMatching(/^run-(?:act|add)/),
      expect.stringMatching(/^run-answer-/),
    ]);
    expect(eventsOf(records, "tool_start").map(({ call_id }) => call_id)).toEqual(["c-sum"]);
    const nodes = eventsOf(records, "node_enter").flatMap(({ id, parent }) => (parent === undefined ? [id] : []));
    expect(nodes.slice(0, 5)).toEqual(["think_expand", "think_evaluate", "act", "observe", "think_expand"]);
    const asked = fixture.model.requests.map((request) => readPrompt(request));
    const judged = asked.find(({ kind, steps }) => kind === "value" && steps.join() === "sum");
    expect(judged?.text).toContain('1. sum\n   Action: add({"a":1,"b":2})\n');
    expect(asked.at(-1)?.text).toContain('1. sum\n   Action: add({"a":1,"b":2})\n   Observation: 3\n2. done');
    // Tools are offered only where thoughts are generated.
    for (const [index, { kind }] of asked.entries())
      expect(fixture.model.requests[index]?.tools?.length ?? 0).toBe(kind === "sample" ? 4 : 0);
  });

  it("belong to the line before them, or become thoughts", async () => {
    const fixture = await createAgentFixture(
      (request) => {
        const { kind, steps } = readPrompt(request);
        if (kind === "answer") return { text: "Done." };
        if (kind === "value")
          return { text: `{"score": ${steps.length === 1 ? 0.8 : 1}, "solved": ${steps.length > 1}}` };
        if (steps.length > 0) return { text: "that is it" };
        const input = { a: 1, b: 2 };
        return {
          text: "- think about it\n- add them up",
          calls: [
            { id: "c1", name: "add", input },
            { id: "c2", name: "add", input: { a: 3, b: 4 } },
            { id: "c3", name: "add", input: { a: 3, b: 4 } },
            { id: "c4", name: "add", input: '{"a":' },
            { id: "c5", name: "fail" },
          ],
        };
      },
      { kind: "tot", candidates: 4 },
    );
    await (
      await fixture.ask("1 + 2?")
    ).ended;
    const records = await fixture.read();
    expect(eventsOf(records, "tot_expand")[0]?.candidates).toEqual([
      "think about it",
      "add them up",
      'add({"a":3,"b":4})',
      'add({"a":)',
    ]);
    expect(fixture.ran).toEqual([
      ["add", { a: 1, b: 2 }],
      ["add", { a: 3, b: 4 }],
    ]);
    const ends = new Map(eventsOf(records, "tool_end").map((end) => [end.call_id, end]));
    expect(ends.get("c1")).toMatchObject({ result: "3" });
    expect(ends.get("c2")).toMatchObject({ result: "7" });
    for (const id of ["c3", "c5"])
      expect(ends.get(id)).toMatchObject({ result: "the call was left out before it started" });
    expect(ends.get("c4")).toMatchObject({ is_error: true, error_code: "invalid_arguments" });
    const steps = fixture.model.requests.map((request) => readPrompt(request).text);
    expect(steps.some((text) => text.includes("Observation: Error: "))).toBe(true);
  });

  it("wait for approval, and a rejection is an observation", async () => {
    const only: ScriptedTree = { wait: world["wait"] ?? { score: 1 } };
    for (const [decision, seen] of [
      ["approved", "removed x"],
      ["rejected", "I need it"],
    ] as const) {
      const fixture = await createAgentFixture((request) => playTree(only, request), {
        kind: "tot",
        generate: "sample",
        candidates: 1,
      });
      const asked = fixture.wait("tool_approval");
      const run = await fixture.ask("Remove it");
      await asked;
      run.answerApproval({ callId: "c-wait", decision, ...(decision === "rejected" ? { reason: "I need it" } : {}) });
      expect((await run.ended).status).toBe("completed");
      await fixture.read();
      expect(fixture.ran).toHaveLength(decision === "approved" ? 1 : 0);
      const next = fixture.model.requests.map((request) => readPrompt(request)).filter(({ steps }) => steps.length > 0);
      expect(next.at(-1)?.text).toContain(seen);
    }
  });

  it("run when the search backtracks to the thought", async () => {
    const back: ScriptedTree = {
      first: { score: 0.9, next: { nothing: { score: 0 } } },
      second: {
        score: 0.5,
        calls: [{ id: "c-second", name: "add", input: { a: 2, b: 2 } }],
        next: { done: { score: 1, solved: true } },
      },
    };
    for (const strategy of ["breadth", "depth"] as const) {
      const fixture = await createAgentFixture((request) => playTree(back, request), {
        kind: "tot",
        generate: "sample",
        candidates: 2,
        beam: 1,
        strategy,
      });
      await (
        await fixture.ask("2 + 2?")
      ).ended;
      const records = await fixture.read();
      expect(fixture.ran).toEqual([["add", { a: 2, b: 2 }]]);
      const nodes = eventsOf(records, "node_enter").flatMap(({ id, parent }) => (parent === undefined ? [id] : []));
      const at = nodes.indexOf("backtrack");
      expect(nodes.slice(at, at + 4)).toEqual(["backtrack", "act", "observe", "think_expand"]);
      expect(eventsOf(records, "reply")[0]?.reply).toBe("solved: second > done");
    }
  });

  it.runIf(LONG)("run only for the first thought of the last level, and thousands of others are closed", async () => {
    const fixture = await createAgentFixture(
      (request) => {
        const { kind } = readPrompt(request);
        if (kind !== "sample") return { text: kind === "answer" ? "Done." : '{"score": 0.5}' };
        const calls = Array.from({ length: 8 }, (_, b) => ({ name: "add", input: { a: request.seed ?? 0, b } }));
        return { text: `step ${request.seed}`, calls };
      },
      { kind: "tot", generate: "sample", candidates: 200, maxDepth: 1 },
    );
    expect((await (await fixture.ask("Go")).ended).status).toBe("completed");
    const records = await fixture.read();
    expect(fixture.ran).toHaveLength(8);
    expect(eventsOf(records, "tool_end")).toHaveLength(1600);
  });

  it("return no more than a record can hold", async () => {
    const calls = Array.from({ length: 40 }, (_, index) => ({
      id: `c${index}`,
      name: "add",
      input: { a: 1, b: index },
    }));
    const fixture = await createAgentFixture(
      (request) => {
        const { kind } = readPrompt(request);
        if (kind === "sample") return { text: "all at once", calls };
        return { text: kind === "answer" ? "Done." : '{"score": 1, "solved": true}' };
      },
      { kind: "tot", generate: "sample", candidates: 1 },
    );
    await (
      await fixture.ask("Go")
    ).ended;
    const records = await fixture.read();
    expect(fixture.ran).toHaveLength(8);
    expect(eventsOf(records, "tool_end").filter(({ is_error }) => is_error)).toHaveLength(32);
  });
});
