import { describe, expect, it } from "vitest";
import { findRuleViolation } from "../../../test/agents/find-rule-violation.ts";
import {
  answerOf,
  eventsOf,
  SESSION,
  createAgentFixture,
  type AgentFixture,
} from "../../../test/agents/agent-fixture.ts";
import { type Run, sendCommand } from "../../engine/index.ts";
import type { ScriptedTurn } from "../../models/scripted-model.ts";
import type { EventType } from "../../protocol/index.ts";

const never = new Promise<void>(() => undefined);

/** Points at which a run is cancelled: the model's script, and the event to wait for. */
const PHASES: readonly [name: string, turn: ScriptedTurn, until: EventType][] = [
  ["before the first token", { until: never, text: "late" }, "llm_start"],
  ["in the middle of an answer", { text: "Half an answer", fault: { kind: "stall", after: 2 } }, "message_chunk"],
  [
    "in the middle of reasoning",
    { reasoning: "Half a thought", fault: { kind: "stall", after: 2 } },
    "reasoning_chunk",
  ],
  [
    "in the middle of a call's arguments",
    { calls: [{ name: "add", input: { a: 1, b: 2 } }], fault: { kind: "stall", after: 2 } },
    "tool_call_chunk",
  ],
  ["in a tool", { text: "Wait. ", calls: [{ name: "wait" }, { name: "add", input: { a: 1, b: 2 } }] }, "tool_start"],
  ["while waiting for approval", { calls: [{ name: "remove", input: { path: "a" } }] }, "tool_approval"],
];

/** `llm_start` is durable before the model is called, and a run that is cancelled in between does not call it. */
async function waitForModel({ model }: AgentFixture): Promise<void> {
  await expect.poll(() => model.requests.length, { interval: 1 }).toBe(1);
}

async function cancel(run: Run, fixture: AgentFixture): Promise<void> {
  const body = { run_id: run.runId, reason: "enough" };
  const { outcome } = await sendCommand(fixture.log, { commandId: "stop", sessionId: SESSION, kind: "cancel", body });
  expect(outcome?.code).toBe("done");
}

describe("cancelling an agent", () => {
  it.each(PHASES)("%s closes everything, and the next turn works", async (_, turn, until) => {
    const fixture = await createAgentFixture([turn, { text: "Here I am." }]);
    const there = fixture.wait(until);
    const run = await fixture.ask("Go");
    await there;
    await waitForModel(fixture);
    await cancel(run, fixture);
    expect(await run.ended).toMatchObject({ status: "cancelled", reason: "enough" });
    const records = await fixture.read();
    expect(eventsOf(records, "node_enter")).toHaveLength(eventsOf(records, "node_exit").length);
    expect(eventsOf(records, "llm_start")).toHaveLength(eventsOf(records, "llm_end").length);
    const said = answerOf(records);
    expect(eventsOf(records, "reply")).toMatchObject([{ reply: said }]);
    if (turn.text !== undefined && turn.until === undefined) expect(said.length).toBeGreaterThan(0);

    const next = await fixture.ask("Are you there?");
    expect(await next.ended).toMatchObject({ status: "completed" });
    const prompt = fixture.model.prompts.at(-1) ?? [];
    expect(findRuleViolation(prompt)).toBeUndefined();
    expect(prompt.at(-1)?.role).toBe("user");
    expect(prompt.at(-1)?.content.at(-1)).toEqual({ type: "text", text: "Are you there?" });
    // The model remembers what the user has seen.
    expect(JSON.stringify(prompt)).toContain(JSON.stringify(said).slice(1, -1));
    await fixture.read();
  });

  it("before it has started makes no model call", async () => {
    const fixture = await createAgentFixture([{ text: "Here I am." }]);
    void sendCommand(fixture.log, {
      commandId: "early",
      sessionId: SESSION,
      kind: "cancel",
      body: { request_id: "r1" },
      // The command has its outcome when the run starts.
    }).catch(() => undefined);
    await fixture.session.idle();
    const run = await fixture.agent.answer(fixture.session, "Go", { requestId: "r1" });
    expect(await run.ended).toMatchObject({ status: "cancelled" });
    expect(fixture.model.requests).toEqual([]);
    expect(await (await fixture.ask("Now")).ended).toMatchObject({ status: "completed" });
  });

  it("by the caller's signal has the same effect", async () => {
    const fixture = await createAgentFixture([{ until: never }]);
    const stop = new AbortController();
    const there = fixture.wait("llm_start");
    const run = await fixture.agent.answer(fixture.session, "Go", { signal: stop.signal });
    await there;
    stop.abort();
    expect(await run.ended).toMatchObject({ status: "cancelled" });
    await expect(fixture.agent.answer(fixture.session, "Go", { signal: stop.signal })).rejects.toThrow("aborted");
    expect(await fixture.session.log.listRuns(fixture.session.sessionId)).toHaveLength(1);
  });

  it("aborts the model's connection", async () => {
    const fixture = await createAgentFixture([{ until: never }]);
    const there = fixture.wait("llm_start");
    const run = await fixture.ask("Go");
    await there;
    await waitForModel(fixture);
    await cancel(run, fixture);
    await run.ended;
    expect(fixture.model.requests[0]?.abortSignal?.aborted).toBe(true);
  });
});
