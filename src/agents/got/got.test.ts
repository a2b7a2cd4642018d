import { describe, expect, it } from "vitest";
import { findRuleViolation } from "../../../test/agents/find-rule-violation.ts";
import { eventsOf, createAgentFixture, type AgentFixture } from "../../../test/agents/agent-fixture.ts";
import { findRetryDelay } from "../../graph/retry.ts";
import type { ScriptedTurn } from "../../models/scripted-model.ts";
import type { StampedRecord } from "../../protocol/index.ts";
import { agent } from "../index.ts";
import type { GotOptions } from "./got-settings.ts";
import {
  describeWork,
  listNodes,
  playGot,
  readGotPrompt,
  rebuildGraph,
  type GotScript,
} from "../../../test/contracts/got-script.ts";
import { createRetryPolicy } from "./run-thoughts.ts";

const quick = { retryMs: 0, callOptions: { maxRetries: 0 } };
const broken: ScriptedTurn = { fault: { kind: "throw" } };

function createGotFixture(
  world: GotScript,
  options: GotOptions & { readonly tools?: readonly [] } = {},
): Promise<AgentFixture> {
  return createAgentFixture(playGot(world), { kind: "got", ...quick, ...options });
}

const DIAMOND = listNodes([
  { id: "top" },
  { id: "left", needs: ["top"] },
  { id: "right", needs: ["top"] },
  { id: "end", needs: ["right", "left"], operation: "aggregate" },
]);

function worked(fixture: AgentFixture): readonly string[] {
  return fixture.model.prompts.map((prompt) => {
    const { kind, id, known } = readGotPrompt(prompt);
    return `${kind} ${id}(${known.join(" ")})`;
  });
}

function replyOf(records: readonly StampedRecord[]): string {
  return eventsOf(records, "reply")[0]?.reply ?? "(none)";
}

describe("a graph of thoughts", () => {
  it("is planned, executed in order with the needed results, and answered", async () => {
    const fixture = await createGotFixture({ plan: DIAMOND });
    const run = await fixture.ask("Why?");
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(worked(fixture)).toEqual([
      "plan ()",
      "work top()",
      "work left(top)",
      "work right(top)",
      "work end(right left)",
      "answer (end)",
    ]);
    const records = await fixture.read();
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
    for (const prompt of fixture.model.prompts) expect(findRuleViolation(prompt)).toBeUndefined();
  });

  it("keeps the output of a node in its span and out of the answer", async () => {
    const fixture = await createGotFixture({
      plan: DIAMOND,
      work: (asked) => ({ ...describeWork(asked), reasoning: "Let me think about it.", chunk: 4 }),
    });
    await (
      await fixture.ask("Why?")
    ).ended;
    const records = await fixture.read();
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
    const said = eventsOf(records, "message_chunk").filter(
      ({ channel }) => channel === undefined || channel === "answer",
    );
    expect(said.every(({ id }) => id === "answer")).toBe(true);
    const calls = eventsOf(records, "llm_start").map(({ llm_call_id }) => llm_call_id);
    expect(new Set(calls).size).toBe(calls.length);
  });

  it("runs as many nodes in parallel as allowed", async () => {
    const spread = Array.from({ length: 16 }, (_, index) => ({ id: `n${index}` }));
    const plan = listNodes([...spread, { id: "end", needs: spread.map(({ id }) => id), operation: "aggregate" }]);
    let running = 0;
    let most = 0;
    let full = Promise.withResolvers<void>();
    const fixture = await createGotFixture({
      plan,
      work: async (asked) => {
        most = Math.max(most, ++running);
        // No node continues before eight have started, so they must overlap.
        if (running === 8) {
          full.resolve();
          full = Promise.withResolvers();
        } else if (asked.id !== "end") await full.promise;
        queueMicrotask(() => running--);
        return describeWork(asked);
      },
    });
    expect(await (await fixture.ask("Why?")).ended).toMatchObject({ status: "completed" });
    expect(most).toBe(8);
    await fixture.read();
  });

  it("continues without a failed node, skips its dependants and lists what is missing", async () => {
    const plan = listNodes([
      { id: "good" },
      { id: "bad" },
      { id: "behind", needs: ["bad", "good"] },
      { id: "far", needs: ["behind"] },
      { id: "other", needs: ["good"] },
    ]);
    const fixture = await createGotFixture({
      plan,
      work: (asked) => (asked.id === "bad" ? broken : describeWork(asked)),
    });
    expect(await (await fixture.ask("Why?")).ended).toMatchObject({ status: "completed" });
    const records = await fixture.read();
    const { completed, failed, skipped, order } = rebuildGraph(records);
    expect([completed, failed, skipped]).toEqual([["good", "other"], ["bad"], ["behind", "far"]]);
    // Tried twice, each time in a separate span.
    expect(order.filter((step) => step === "+bad")).toHaveLength(2);
    expect(eventsOf(records, "node_exit").filter(({ id, result }) => id === "bad" && result !== "Ok")).toHaveLength(2);
    const told = eventsOf(records, "got_node_failed");
    expect(told.map(({ id, error }) => [id, error])).toEqual([
      ["bad", told[0]?.error],
      ["bad", told[0]?.error],
      ["behind", "skipped: needs bad, which failed"],
      ["far", "skipped: needs behind, which was skipped"],
    ]);
    expect(worked(fixture).at(-1)).toBe("answer (other)");
    const asked = JSON.stringify(fixture.model.prompts.at(-1));
    expect(asked).toContain("- behind (do behind): skipped: needs bad, which failed");
    expect(replyOf(records)).toBe("From other.\n\n(No result for: bad, behind, far.)");
  });

  it("lists what is missing in Chinese for a Chinese question", async () => {
    const plan = listNodes([{ id: "甲" }, { id: "乙" }, { id: "丙", needs: ["甲", "乙"] }]);
    const fixture = await createGotFixture({
      plan,
      work: (asked) => (asked.id === "乙" ? broken : describeWork(asked)),
    });
    await (
      await fixture.ask("为什么？")
    ).ended;
    expect(replyOf(await fixture.read())).toBe("From 甲.\n\n（以下部分未能得出结果：乙、丙。）");
  });

  it("fails with a code if no node has a result", async () => {
    const fixture = await createGotFixture({ plan: DIAMOND, work: () => broken });
    expect(await (await fixture.ask("Why?")).ended).toMatchObject({
      status: "error",
      code: "node_failed",
    });
    expect(eventsOf(await fixture.read(), "run_end")[0]?.reason).toContain("top: ");
    const { failed, skipped } = rebuildGraph(await fixture.read());
    expect([failed, skipped]).toEqual([["top"], ["left", "right", "end"]]);
    // The conversation continues.
    expect(await (await fixture.ask("Why?")).ended).toMatchObject({ status: "error" });
  });

  it("closes every started node when the run is cancelled", async () => {
    const started = Promise.withResolvers<void>();
    let running = 0;
    const fixture = await createGotFixture({
      plan: DIAMOND,
      work: (asked) => {
        if (asked.id === "top") return describeWork(asked);
        if (++running === 2) started.resolve();
        return new Promise<never>(() => undefined);
      },
    });
    const run = await fixture.ask("Why?");
    await started.promise;
    await run.cancel();
    const records = await fixture.read();
    const failed = eventsOf(records, "got_node_failed");
    expect(failed.map(({ id }) => id).toSorted()).toEqual(["left", "right"]);
    expect(failed.every(({ error, skipped }) => error === "cancelled" && skipped === undefined)).toBe(true);
    // Inside their node runs, which end afterwards.
    const types = records.flatMap(({ envelope, event }) =>
      envelope.node_id?.startsWith("run-left-") === true ? [event.type] : [],
    );
    expect(types.slice(-2)).toEqual(["got_node_failed", "node_exit"]);
    expect(eventsOf(records, "run_end")).toMatchObject([{ status: "cancelled" }]);
  });

  it("retries a node and uses the second result", async () => {
    let tries = 0;
    const fixture = await createGotFixture(
      {
        plan: DIAMOND,
        work: (asked) => {
          if (asked.id !== "left" || ++tries === 3) return describeWork(asked);
          return tries === 1 ? broken : { text: " \n" };
        },
      },
      { attempts: 3 },
    );
    expect(await (await fixture.ask("Why?")).ended).toMatchObject({ status: "completed" });
    const records = await fixture.read();
    // Each failed attempt ends before the next one starts.
    const attempts = records.flatMap(({ event }) =>
      event.type.startsWith("got_node_") && (event as { readonly id?: string }).id === "left" ? [event] : [],
    );
    expect(attempts.map(({ type }) => type.slice("got_node_".length))).toEqual(
      "start failed start failed start complete".split(" "),
    );
    expect(attempts[3]).toMatchObject({ error: "The model gave an empty result" });
    expect(replyOf(records)).toBe("From end.");
    const exits = eventsOf(records, "node_exit").filter(({ id }) => id === "left");
    expect(exits.slice(1)).toMatchObject([{ result: { Err: "The model gave an empty result" } }, { result: "Ok" }]);
    expect(exits).toHaveLength(3);
  });

  it("scores the results a node needs and keeps the best", async () => {
    const plan = listNodes([
      { id: "a" },
      { id: "b" },
      { id: "c" },
      { id: "best", needs: ["a", "b", "c"], operation: "score" },
      { id: "better", needs: ["best"], operation: "refine" },
    ]);
    const scores = { a: 0.2, b: 0.9, c: 0.9 };
    const fixture = await createGotFixture({ plan, scores: () => ({ scores }) });
    await (
      await fixture.ask("Why?")
    ).ended;
    const records = await fixture.read();
    expect(eventsOf(records, "got_node_complete").find(({ id }) => id === "best")).toEqual({
      type: "got_node_complete",
      id: "best",
      result_summary: "kept b (a 0.2, b 0.9, c 0.9)",
      scored: ["a", "b", "c"],
      scores: [0.2, 0.9, 0.9],
    });
    const refine = fixture.model.prompts.find((prompt) => readGotPrompt(prompt).id === "better") ?? [];
    expect(readGotPrompt(refine).text).toContain("Result of best (do best):\nb[]");
    expect(readGotPrompt(refine).text).toContain("Improve the result above");
  });

  it("requests scores once more, then keeps the first result with a warning", async () => {
    const plan = listNodes([{ id: "a" }, { id: "b" }, { id: "best", needs: ["a", "b"], operation: "score" }]);
    const bad = ["I like b.", { scores: { a: "NaN", b: 1 } }] as const;
    const fixture = await createGotFixture({ plan, scores: ({ turn }) => bad[turn] ?? null });
    await (
      await fixture.ask("Why?")
    ).ended;
    const records = await fixture.read();
    const errors = eventsOf(records, "error");
    expect(errors).toMatchObject([{ code: "model_output_invalid", recoverable: true }]);
    expect(errors[0]?.message).toContain("best (a has no score");
    expect(eventsOf(records, "got_node_complete").at(-1)).toMatchObject({ id: "best", result_summary: "a[]" });
    expect(fixture.model.prompts.filter((prompt) => readGotPrompt(prompt).kind === "score")).toHaveLength(2);
  });

  it("uses the scores of the second answer", async () => {
    const plan = listNodes([{ id: "a" }, { id: "b" }, { id: "best", needs: ["a", "b"], operation: "score" }]);
    const said = [{ scores: { a: 700, b: 1 } }, { scores: { a: 0, b: 1 } }] as const;
    const fixture = await createGotFixture({ plan, scores: ({ turn }) => said[turn] ?? null });
    await (
      await fixture.ask("Why?")
    ).ended;
    const records = await fixture.read();
    expect(eventsOf(records, "error")).toEqual([]);
    expect(eventsOf(records, "got_node_complete").at(-1)?.result_summary).toBe("kept b (a 0, b 1)");
  });

  it("stores results in the state, and the answer in the conversation", async () => {
    const fixture = await createGotFixture({ plan: DIAMOND }, { tools: [] });
    await (
      await fixture.ask("Why?")
    ).ended;
    const updates = eventsOf(await fixture.read(), "updates").find(
      ({ id, delta }) => id === "execute_graph" && delta === true,
    );
    expect(updates?.state).toMatchObject({
      results: { merge: { end: "end[right left]", top: "top[]", left: "left[top]", right: "right[top]" } },
      missing: { set: [] },
    });
    await (
      await fixture.ask("And then?")
    ).ended;
    expect(fixture.model.prompts.at(-1)?.slice(0, 2)).toEqual([
      { role: "user", content: [{ type: "text", text: "Why?" }] },
      { role: "assistant", content: [{ type: "text", text: "From end." }] },
    ]);
  });

  it("answers with its results if the model returns nothing, and reports that and a cut text", async () => {
    const fixture = await createGotFixture({
      plan: DIAMOND,
      answer: () => ({ text: "" }),
      work: (asked) => ({ ...describeWork(asked), ...(asked.id === "end" ? { finishReason: "length" } : {}) }),
    });
    await (
      await fixture.ask("Why?")
    ).ended;
    const records = await fixture.read();
    expect(replyOf(records)).toBe("end[right left]");
    expect(eventsOf(records, "error")).toMatchObject([
      { code: "model_output_cut", recoverable: true },
      { code: "model_empty", recoverable: true },
    ]);
  });

  it.each<readonly [GotOptions, string]>([
    [{ maxNodes: 0 }, "`maxNodes` must be an integer from 1 to 2000, not 0"],
    [{ maxTotalNodes: Number.NaN }, "`maxTotalNodes` must be"],
    [{ maxDepth: 99 }, "`maxDepth` must be an integer from 0 to 5"],
    [{ concurrency: 1.5 }, "`concurrency` must be"],
    [{ attempts: Infinity }, "`attempts` must be"],
    [{ retryMs: -1 }, "`retryMs` must be"],
    [{ maxIterations: "3" as unknown as number }, "`maxIterations` must be"],
    [{ maxCharacters: 10 ** 9 }, "`maxCharacters` must be"],
    [{ adaptive: "yes" as unknown as boolean }, "`adaptive` must be"],
  ])("rejects invalid options: %o", (options, message) => {
    expect(() => agent({ kind: "got", provider: "offline", ...options })).toThrow(message);
  });
});

describe("the pauses between attempts", () => {
  it.each([
    [500, [500, 1000, 2000, 4000]],
    [20_000, [20_000, 40_000, 80_000, 160_000]],
    [60_000, [60_000, 120_000, 240_000, 480_000, 600_000, 600_000]],
    [0, [0, 0, 0]],
  ])("of %d double each time, up to ten minutes", (retryMs, pauses) => {
    const policy = createRetryPolicy({ attempts: pauses.length + 1, retryMs });
    const found = pauses.map((_, index) => findRetryDelay(policy, index + 1, new Error("no")));
    expect(found).toEqual(pauses);
    expect(findRetryDelay(policy, pauses.length + 1, new Error("no"))).toBeUndefined();
  });
});
