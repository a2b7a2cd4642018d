import { describe, expect, it } from "vitest";
import { findRuleBreak } from "../../../test/agents/find-rule-break.ts";
import { eventsOf, setStage, type Stage } from "../../../test/agents/stage.ts";
import { findRetryDelay } from "../../graph/retry.ts";
import type { ScriptedTurn } from "../../models/scripted-model.ts";
import type { StampedRecord } from "../../protocol/index.ts";
import { agent } from "../index.ts";
import type { GotOptions } from "./got.ts";
import { describeWork, listNodes, playGot, readAsked, rebuildGraph, type World } from "./play-got.contract.ts";
import { createRetryPolicy } from "./run-thoughts.ts";

const quick = { retryMs: 0, callOptions: { maxRetries: 0 } };
const broken: ScriptedTurn = { fault: { kind: "throw" } };

function stageGot(world: World, options: GotOptions & { readonly tools?: readonly [] } = {}): Promise<Stage> {
  return setStage(playGot(world), { kind: "got", ...quick, ...options });
}

const DIAMOND = listNodes([
  { id: "top" },
  { id: "left", needs: ["top"] },
  { id: "right", needs: ["top"] },
  { id: "end", needs: ["right", "left"], operation: "aggregate" },
]);

function worked(stage: Stage): readonly string[] {
  return stage.model.prompts.map((prompt) => {
    const { kind, id, known } = readAsked(prompt);
    return `${kind} ${id}(${known.join(" ")})`;
  });
}

function replyOf(records: readonly StampedRecord[]): string {
  return eventsOf(records, "reply")[0]?.reply ?? "(none)";
}

describe("a graph of thoughts", () => {
  it("is planned, worked on in its order, each node with what it needs, and answered", async () => {
    const stage = await stageGot({ plan: DIAMOND });
    const run = await stage.ask("Why?");
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(worked(stage)).toEqual([
      "plan ()",
      "work top()",
      "work left(top)",
      "work right(top)",
      "work end(right left)",
      "answer (end)",
    ]);
    const records = await stage.read();
    expect(eventsOf(records, "got_plan")).toEqual([
      {
        type: "got_plan",
        node_count: 4,
        edge_count: 4,
        node_ids: ["top", "left", "right", "end"],
        edges: [
          ["top", "left"],
          ["top", "right"],
          ["right", "end"],
          ["left", "end"],
        ],
        labels: ["do top", "do left", "do right", "do end"],
        operations: ["generate", "generate", "generate", "aggregate"],
      },
    ]);
    expect(rebuildGraph(records).completed).toEqual(["top", "left", "right", "end"]);
    expect(eventsOf(records, "got_node_complete").at(-1)?.result_summary).toBe("end[right left]");
    expect(replyOf(records)).toBe("From end.");
    for (const prompt of stage.model.prompts) expect(findRuleBreak(prompt)).toBeUndefined();
  });

  it("keeps all that a node says within its span, beside the others', and off the answer", async () => {
    const stage = await stageGot({
      plan: DIAMOND,
      work: (asked) => ({ ...describeWork(asked), reasoning: "Let me think about it.", chunk: 4 }),
    });
    await (
      await stage.ask("Why?")
    ).ended;
    const records = await stage.read();
    const enters = new Map(
      records.flatMap(({ envelope, event }) =>
        event.type === "node_enter" ? [[envelope.node_id, event as { id: string; parent?: string }]] : [],
      ),
    );
    const execute = [...enters].find(([, { id }]) => id === "execute_graph")?.[0];
    for (const id of ["top", "left", "right", "end"]) {
      const [nodeId, enter] = [...enters].find(([, entered]) => entered.id === id) ?? [];
      expect(enter?.parent).toBe(execute);
      const own = records.filter(({ envelope }) => envelope.node_id === nodeId).map(({ event }) => event.type);
      expect(own.slice(0, 3)).toEqual(["node_enter", "got_node_start", "llm_start"]);
      expect(own).toContain("reasoning_chunk");
      expect(own.slice(-3)).toEqual(["got_node_complete", "updates", "node_exit"]);
    }
    const nodeIds = records.map(({ envelope }) => envelope.node_id ?? "");
    const turns = nodeIds.filter((id, index) => /left|right/.test(id) && nodeIds[index - 1] !== id);
    expect(turns.length).toBeGreaterThan(4);
    const said = eventsOf(records, "message_chunk").filter(({ channel }) => channel !== "thought");
    expect(said.every(({ id }) => id === "answer")).toBe(true);
    const calls = eventsOf(records, "llm_start").map(({ llm_call_id }) => llm_call_id);
    expect(new Set(calls).size).toBe(calls.length);
  });

  it("works on so many nodes at once as it may, and no more", async () => {
    const spread = Array.from({ length: 16 }, (_, index) => ({ id: `n${index}` }));
    const plan = listNodes([...spread, { id: "end", needs: spread.map(({ id }) => id), operation: "aggregate" }]);
    let going = 0;
    let most = 0;
    let full = Promise.withResolvers<void>();
    const stage = await stageGot({
      plan,
      work: async (asked) => {
        most = Math.max(most, ++going);
        // Nobody goes on before eight are there: they overlap, or this never ends.
        if (going === 8) {
          full.resolve();
          full = Promise.withResolvers();
        } else if (asked.id !== "end") await full.promise;
        queueMicrotask(() => going--);
        return describeWork(asked);
      },
    });
    expect(await (await stage.ask("Why?")).ended).toMatchObject({ status: "completed" });
    expect(most).toBe(8);
    await stage.read();
  });

  it("goes on without a node that fails, skips those that need it, and says what is missing", async () => {
    const plan = listNodes([
      { id: "good" },
      { id: "bad" },
      { id: "behind", needs: ["bad", "good"] },
      { id: "far", needs: ["behind"] },
      { id: "other", needs: ["good"] },
    ]);
    const stage = await stageGot({ plan, work: (asked) => (asked.id === "bad" ? broken : describeWork(asked)) });
    expect(await (await stage.ask("Why?")).ended).toMatchObject({ status: "completed" });
    const records = await stage.read();
    const { completed, failed, skipped, order } = rebuildGraph(records);
    expect([completed, failed, skipped]).toEqual([["good", "other"], ["bad"], ["behind", "far"]]);
    // Tried twice, in a span each.
    expect(order.filter((step) => step === "+bad")).toHaveLength(2);
    expect(eventsOf(records, "node_exit").filter(({ id, result }) => id === "bad" && result !== "Ok")).toHaveLength(2);
    const told = eventsOf(records, "got_node_failed");
    expect(told.map(({ id, error }) => [id, error])).toEqual([
      ["bad", told[0]?.error],
      ["behind", "skipped: needs bad, which failed"],
      ["far", "skipped: needs behind, which was skipped"],
    ]);
    expect(worked(stage).at(-1)).toBe("answer (other)");
    const asked = JSON.stringify(stage.model.prompts.at(-1));
    expect(asked).toContain("- behind (do behind): skipped: needs bad, which failed");
    expect(replyOf(records)).toBe("From other.\n\n(Missing, because it could not be worked out: bad, behind, far.)");
  });

  it("says what is missing in Chinese where it was asked in Chinese", async () => {
    const plan = listNodes([{ id: "甲" }, { id: "乙" }, { id: "丙", needs: ["甲", "乙"] }]);
    const stage = await stageGot({ plan, work: (asked) => (asked.id === "乙" ? broken : describeWork(asked)) });
    await (
      await stage.ask("为什么？")
    ).ended;
    expect(replyOf(await stage.read())).toBe("From 甲.\n\n（缺少以下部分，因为未能得出结果：乙、丙。）");
  });

  it("fails by name where no node has a result", async () => {
    const stage = await stageGot({ plan: DIAMOND, work: () => broken });
    expect(await (await stage.ask("Why?")).ended).toMatchObject({
      status: "error",
      code: "node_failed",
    });
    expect(eventsOf(await stage.read(), "run_end")[0]?.reason).toContain("top: ");
    const { failed, skipped } = rebuildGraph(await stage.read());
    expect([failed, skipped]).toEqual([["top"], ["left", "right", "end"]]);
    // And the conversation goes on.
    expect(await (await stage.ask("Why?")).ended).toMatchObject({ status: "error" });
  });

  it("tries a node again, and keeps what it comes to then", async () => {
    let tries = 0;
    const stage = await stageGot(
      {
        plan: DIAMOND,
        work: (asked) => {
          if (asked.id !== "left" || ++tries === 3) return describeWork(asked);
          return tries === 1 ? broken : { text: " \n" };
        },
      },
      { attempts: 3 },
    );
    expect(await (await stage.ask("Why?")).ended).toMatchObject({ status: "completed" });
    const records = await stage.read();
    expect(rebuildGraph(records).failed).toEqual([]);
    expect(replyOf(records)).toBe("From end.");
    const exits = eventsOf(records, "node_exit").filter(({ id }) => id === "left");
    expect(exits.slice(1)).toMatchObject([{ result: { Err: "the model gave no result" } }, { result: "Ok" }]);
    expect(exits).toHaveLength(3);
  });

  it("scores what a node needs, and keeps the best", async () => {
    const plan = listNodes([
      { id: "a" },
      { id: "b" },
      { id: "c" },
      { id: "best", needs: ["a", "b", "c"], operation: "score" },
      { id: "better", needs: ["best"], operation: "refine" },
    ]);
    const scores = { a: 0.2, b: 0.9, c: 0.9 };
    const stage = await stageGot({ plan, scores: () => ({ scores }) });
    await (
      await stage.ask("Why?")
    ).ended;
    const records = await stage.read();
    expect(eventsOf(records, "got_node_complete").find(({ id }) => id === "best")).toEqual({
      type: "got_node_complete",
      id: "best",
      result_summary: "kept b (a 0.2, b 0.9, c 0.9)",
      scored: ["a", "b", "c"],
      scores: [0.2, 0.9, 0.9],
    });
    const refine = stage.model.prompts.find((prompt) => readAsked(prompt).id === "better") ?? [];
    expect(readAsked(refine).text).toContain("Result of best (do best):\nb[]");
    expect(readAsked(refine).text).toContain("Improve the result above");
  });

  it("asks for scores once more, and then keeps the first and says so", async () => {
    const plan = listNodes([{ id: "a" }, { id: "b" }, { id: "best", needs: ["a", "b"], operation: "score" }]);
    const bad = ["I like b.", { scores: { a: "NaN", b: 1 } }] as const;
    const stage = await stageGot({ plan, scores: ({ turn }) => bad[turn] ?? null });
    await (
      await stage.ask("Why?")
    ).ended;
    const records = await stage.read();
    const errors = eventsOf(records, "error");
    expect(errors).toMatchObject([{ code: "model_output_invalid", recoverable: true }]);
    expect(errors[0]?.message).toContain("best (a has no score");
    expect(eventsOf(records, "got_node_complete").at(-1)).toMatchObject({ id: "best", result_summary: "a[]" });
    expect(stage.model.prompts.filter((prompt) => readAsked(prompt).kind === "score")).toHaveLength(2);
  });

  it("takes the second word on scores", async () => {
    const plan = listNodes([{ id: "a" }, { id: "b" }, { id: "best", needs: ["a", "b"], operation: "score" }]);
    const said = [{ scores: { a: 7, b: 1 } }, { scores: { a: 0, b: 1 } }] as const;
    const stage = await stageGot({ plan, scores: ({ turn }) => said[turn] ?? null });
    await (
      await stage.ask("Why?")
    ).ended;
    const records = await stage.read();
    expect(eventsOf(records, "error")).toEqual([]);
    expect(eventsOf(records, "got_node_complete").at(-1)?.result_summary).toBe("kept b (a 0, b 1)");
  });

  it("remembers results in the state, and the conversation after it", async () => {
    const stage = await stageGot({ plan: DIAMOND }, { tools: [] });
    await (
      await stage.ask("Why?")
    ).ended;
    const updates = eventsOf(await stage.read(), "updates").find(
      ({ id, delta }) => id === "execute_graph" && delta === true,
    );
    expect(updates?.state).toMatchObject({
      results: { merge: { end: "end[right left]", top: "top[]", left: "left[top]", right: "right[top]" } },
      missing: { set: [] },
    });
    await (
      await stage.ask("And then?")
    ).ended;
    expect(stage.model.prompts.at(-1)?.slice(0, 2)).toEqual([
      { role: "user", content: [{ type: "text", text: "Why?" }] },
      { role: "assistant", content: [{ type: "text", text: "From end." }] },
    ]);
  });

  it("answers with its results where the model says nothing, and tells of a text that was cut", async () => {
    const stage = await stageGot({
      plan: DIAMOND,
      answer: () => ({ text: "" }),
      work: (asked) => ({ ...describeWork(asked), ...(asked.id === "end" ? { finishReason: "length" } : {}) }),
    });
    await (
      await stage.ask("Why?")
    ).ended;
    const records = await stage.read();
    expect(replyOf(records)).toBe("end[right left]");
    expect(eventsOf(records, "error")).toMatchObject([{ code: "model_failed", recoverable: true }]);
  });

  it.each<readonly [GotOptions, string]>([
    [{ maxNodes: 0 }, "`maxNodes` must be a whole number from 1 to 2000, not 0"],
    [{ maxTotalNodes: Number.NaN }, "`maxTotalNodes` must be"],
    [{ maxDepth: 99 }, "`maxDepth` must be a whole number from 0 to 5"],
    [{ concurrency: 1.5 }, "`concurrency` must be"],
    [{ attempts: Infinity }, "`attempts` must be"],
    [{ retryMs: -1 }, "`retryMs` must be"],
    [{ maxIterations: "3" as unknown as number }, "`maxIterations` must be"],
    [{ maxCharacters: 10 ** 9 }, "`maxCharacters` must be"],
    [{ adaptive: "yes" as unknown as boolean }, "`adaptive` must be"],
  ])("refuses options that make no sense: %o", (options, message) => {
    expect(() => agent({ kind: "got", provider: "offline", ...options })).toThrow(message);
  });
});

describe("the pauses between tries", () => {
  it.each([
    [500, [500, 1000, 2000, 4000]],
    [20_000, [20_000, 40_000, 80_000, 160_000]],
    [60_000, [60_000, 120_000, 240_000, 480_000, 600_000, 600_000]],
    [0, [0, 0, 0]],
  ])("of %d are each twice the one before, up to ten minutes", (retryMs, pauses) => {
    const policy = createRetryPolicy({ attempts: pauses.length + 1, retryMs });
    const found = pauses.map((_, index) => findRetryDelay(policy, index + 1, new Error("no")));
    expect(found).toEqual(pauses);
    expect(findRetryDelay(policy, pauses.length + 1, new Error("no"))).toBeUndefined();
  });
});
