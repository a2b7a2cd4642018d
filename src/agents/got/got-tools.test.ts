import { describe, expect, it } from "vitest";
import { findRuleViolation } from "../../../test/agents/find-rule-violation.ts";
import { eventsOf, SESSION, createAgentFixture, type AgentFixture } from "../../../test/agents/agent-fixture.ts";
import { sendCommand } from "../../engine/index.ts";
import type { ScriptedTurn } from "../../models/scripted-model.ts";
import type { EventType } from "../../protocol/index.ts";
import type { GotOptions } from "./got-settings.ts";
import {
  describeWork,
  listNodes,
  playGot,
  readGotPrompt,
  rebuildGraph,
  type GotScript,
} from "../../../test/contracts/got-script.ts";

const PAIR = listNodes([{ id: "a" }, { id: "b" }, { id: "end", needs: ["a", "b"], operation: "aggregate" }]);
const never = new Promise<void>(() => undefined);

function createGotFixture(
  work: NonNullable<GotScript["work"]>,
  options: GotOptions = {},
  plan = PAIR,
): Promise<AgentFixture> {
  return createAgentFixture(playGot({ plan, work }), {
    kind: "got",
    retryMs: 0,
    callOptions: { maxRetries: 0 },
    ...options,
  });
}

describe("tools within thoughts", () => {
  it("run in rounds, and their results stay in the thought", async () => {
    const fixture = await createGotFixture((asked) => {
      if (asked.id !== "a" || asked.turn > 1) return describeWork(asked);
      return { text: "Let me add.", calls: [{ name: "add", input: { a: asked.turn, b: 2 } }] };
    });
    expect(await (await fixture.ask("Go")).ended).toMatchObject({ status: "completed" });
    expect(fixture.ran).toEqual([
      ["add", { a: 0, b: 2 }],
      ["add", { a: 1, b: 2 }],
    ]);
    const records = await fixture.read();
    const [start] = records.filter(({ event }) => event.type === "tool_start");
    expect(start?.envelope.node_id).toMatch(/^run-a-\d+$/);
    const last = fixture.model.prompts.findLast((prompt) => readGotPrompt(prompt).id === "a") ?? [];
    expect(last.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool"]);
    expect(findRuleViolation(last)).toBeUndefined();
    const others = fixture.model.prompts.filter((prompt) => readGotPrompt(prompt).id !== "a");
    expect(others.every((prompt) => prompt.every(({ role }) => role === "user"))).toBe(true);
    expect(eventsOf(records, "got_node_complete").map(({ result_summary }) => result_summary)).toContain("a[]");
  });

  it("are withheld after the last round", async () => {
    const call: ScriptedTurn = { calls: [{ name: "add", input: { a: 1, b: 1 } }] };
    const fixture = await createGotFixture(
      (asked, { toolChoice }) => {
        if (asked.id !== "a") return describeWork(asked);
        // The model calls tools until the end.
        return toolChoice?.type === "none" ? { text: "Two.", ...call } : call;
      },
      { maxIterations: 3 },
    );
    expect(await (await fixture.ask("Go")).ended).toMatchObject({ status: "completed" });
    expect(fixture.ran).toHaveLength(3);
    const records = await fixture.read();
    expect(eventsOf(records, "error")).toMatchObject([{ code: "iteration_limit", recoverable: true }]);
    expect(eventsOf(records, "got_node_complete").find(({ id }) => id === "a")?.result_summary).toBe("Two.");
    expect(eventsOf(records, "tool_end").filter(({ error_code }) => error_code === "interrupted")).toHaveLength(1);
  });

  it("are not repeated in another attempt, nor are the answers that called them", async () => {
    let fails = true;
    const fixture = await createGotFixture((asked) => {
      if (asked.id !== "a") return describeWork(asked);
      if (asked.turn === 0) return { calls: [{ name: "add", input: { a: 1, b: 1 } }] };
      if (!fails) return describeWork(asked);
      fails = false;
      // The model makes a call and breaks off.
      return {
        calls: [{ name: "add", input: { a: 2, b: 2 }, id: "half" }],
        text: "Then",
        fault: { kind: "cut", after: 1 },
      };
    });
    expect(await (await fixture.ask("Go")).ended).toMatchObject({ status: "completed" });
    expect(fixture.ran).toEqual([["add", { a: 1, b: 1 }]]);
    const turns = fixture.model.prompts.map(readGotPrompt).filter(({ id }) => id === "a");
    expect(turns.map(({ turn }) => turn)).toEqual([0, 1, 1]);
    const { order, failed } = rebuildGraph(await fixture.read());
    expect(order.filter((step) => step === "+a")).toHaveLength(2);
    expect(failed).toEqual([]);
  });

  it("request approval in two thoughts at once, in any order, while a third continues", async () => {
    const plan = listNodes([{ id: "a" }, { id: "b" }, { id: "c" }, { id: "end", needs: ["a", "b", "c"] }]);
    const fixture = await createGotFixture(
      (asked) => {
        if (!["a", "b"].includes(asked.id) || asked.turn > 0) return describeWork(asked);
        return { calls: [{ name: "remove", input: { path: asked.id }, id: `remove-${asked.id}` }] };
      },
      {},
      plan,
    );
    const asked = Promise.all(
      ["remove-a", "remove-b"].map((id) => fixture.wait("tool_approval", ({ call_id }) => call_id === id)),
    );
    const third = fixture.wait("got_node_complete", ({ id }) => id === "c");
    const run = await fixture.ask("Go");
    await Promise.all([asked, third]);
    const second = fixture.wait("got_node_complete", ({ id }) => id === "b");
    run.answerApproval({ callId: "remove-b", decision: "approved" });
    await second;
    run.answerApproval({ callId: "remove-a", decision: "rejected", reason: "no" });
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(fixture.ran).toEqual([["remove", { path: "b" }]]);
    const { completed } = rebuildGraph(await fixture.read());
    expect(completed).toEqual(["c", "b", "a", "end"]);
  });

  it("release the slot during approval, once for any number of requests", async () => {
    const ids = ["b", "c", "d", "e"];
    const plan = listNodes([{ id: "a" }, ...ids.map((id) => ({ id, needs: ["a"] }))]);
    let working = 0;
    let most = 0;
    const fixture = await createGotFixture(
      async (asked) => {
        if (asked.id === "b" && asked.turn === 0)
          return { calls: [1, 2].map((n) => ({ name: "remove", input: { path: `${n}` }, id: `remove-${n}` })) };
        most = Math.max(most, ++working);
        await new Promise(setImmediate);
        working--;
        return describeWork(asked);
      },
      { concurrency: 1 },
      plan,
    );
    const others = Promise.all(
      ["c", "d", "e"].map((id) => fixture.wait("got_node_complete", (done) => done.id === id)),
    );
    const run = await fixture.ask("Go");
    await others;
    expect(run.work.waiting.map(({ callId }) => callId)).toEqual(["remove-1", "remove-2"]);
    const second = fixture.wait("tool_end", ({ call_id }) => call_id === "remove-2");
    run.answerApproval({ callId: "remove-2", decision: "approved" });
    await second;
    run.answerApproval({ callId: "remove-1", decision: "approved" });
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(rebuildGraph(await fixture.read()).completed).toEqual(["a", "c", "d", "e", "b"]);
    expect(most).toBe(1);
  });

  it("survive a restart while two thoughts wait for approval", async () => {
    const work: NonNullable<GotScript["work"]> = (asked) => {
      if (asked.id === "end" || asked.turn > 0) return describeWork(asked);
      return { calls: [{ name: "remove", input: { path: asked.id }, id: `remove-${asked.id}` }] };
    };
    const first = await createGotFixture(work);
    const asked = Promise.all(
      ["remove-a", "remove-b"].map((id) => first.wait("tool_approval", ({ call_id }) => call_id === id)),
    );
    const { runId } = await first.ask("Go");
    await asked;
    await first.session.close({ run: "leave" });
    const body = { run_id: runId, call_id: "remove-a", decision: "approved" };
    await sendCommand(first.log, { commandId: "yes", sessionId: SESSION, kind: "approve", body });

    const options = { kind: "got", retryMs: 0, log: first.log } as const;
    const second = await createAgentFixture(playGot({ plan: PAIR, work }), options);
    second.session.liveRun?.answerApproval({ callId: "remove-b", decision: "approved" });
    await second.session.idle();
    expect(second.ran).toHaveLength(2);
    const records = await second.read();
    expect(eventsOf(records, "tool_approval")).toHaveLength(2);
    expect(eventsOf(records, "reply")).toMatchObject([{ reply: "From end." }]);
    expect(
      second.model.prompts.map(readGotPrompt).filter(({ kind, turn }) => kind === "work" && turn === 0),
    ).toHaveLength(1);
  });
});

const PHASES: readonly [name: string, turn: ScriptedTurn, until: EventType][] = [
  ["before the first output", { until: never }, "got_node_start"],
  ["in the middle of a thought", { text: "Half a thought", chunk: 4, fault: { kind: "stall", after: 2 } }, "llm_start"],
  ["in a tool", { calls: [{ name: "wait" }] }, "tool_start"],
  ["while waiting for approval", { calls: [{ name: "remove", input: { path: "a" } }] }, "tool_approval"],
];

describe("cancelling a graph of thoughts", () => {
  it.each(PHASES)("%s closes the started node, and the next turn works", async (_, turn, until) => {
    let isOver = false;
    const fixture = await createGotFixture((asked) => (asked.id === "b" && !isOver ? turn : describeWork(asked)));
    const there = Promise.all([fixture.wait(until), fixture.wait("got_node_complete", ({ id }) => id === "a")]);
    const run = await fixture.ask("Go");
    await there;
    await run.cancel("enough");
    expect(await run.ended).toMatchObject({ status: "cancelled", reason: "enough" });
    const { failed, skipped, completed } = rebuildGraph(await fixture.read());
    expect([failed, skipped, completed]).toEqual([["b"], [], ["a"]]);
    isOver = true;
    expect(await (await fixture.ask("Again")).ended).toMatchObject({ status: "completed" });
    expect(findRuleViolation(fixture.model.prompts.at(-1) ?? [])).toBeUndefined();
    await fixture.read();
  });

  // The pause is longer than a test may take.
  it("ends the pause before a retry immediately", async () => {
    const fixture = await createGotFixture(({ id }) => (id === "a" ? { fault: { kind: "throw" } } : { text: id }), {
      retryMs: 60_000,
    });
    const tried = fixture.wait("node_exit", ({ id }) => id === "a");
    const run = await fixture.ask("Go");
    await tried;
    await run.cancel();
    expect(await run.ended).toMatchObject({ status: "cancelled" });
    await fixture.session.idle();
    await fixture.read();
  });
});
