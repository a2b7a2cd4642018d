import { describe, expect, it } from "vitest";
import { findRuleBreak } from "../../../test/agents/find-rule-break.ts";
import { answerOf, eventsOf, SESSION, setStage, type Stage } from "../../../test/agents/stage.ts";
import { type Run, sendCommand } from "../../engine/index.ts";
import type { ScriptedTurn } from "../../models/scripted-model.ts";
import type { EventType } from "../../protocol/index.ts";

const never = new Promise<void>(() => undefined);

/** Where a run is when it is cancelled: what the model plays, and what to wait for. */
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
  ["while the user is asked", { calls: [{ name: "remove", input: { path: "a" } }] }, "tool_approval"],
];

async function cancel(run: Run, stage: Stage): Promise<void> {
  const body = { run_id: run.runId, reason: "enough" };
  const { outcome } = await sendCommand(stage.log, { commandId: "stop", sessionId: SESSION, kind: "cancel", body });
  expect(outcome?.code).toBe("done");
}

describe("cancelling an agent", () => {
  it.each(PHASES)("%s closes all that is open, and the next turn works", async (_, turn, until) => {
    const stage = await setStage([turn, { text: "Here I am." }]);
    const there = stage.wait(until);
    const run = await stage.ask("Go");
    await there;
    await cancel(run, stage);
    expect(await run.ended).toMatchObject({ status: "cancelled", reason: "enough" });
    const records = await stage.read();
    expect(eventsOf(records, "reply")).toEqual([]);
    expect(eventsOf(records, "node_enter")).toHaveLength(eventsOf(records, "node_exit").length);
    expect(eventsOf(records, "llm_start")).toHaveLength(eventsOf(records, "llm_end").length);
    const said = answerOf(records);
    if (turn.text !== undefined && turn.until === undefined) expect(said.length).toBeGreaterThan(0);

    const next = await stage.ask("Are you there?");
    expect(await next.ended).toMatchObject({ status: "completed" });
    const prompt = stage.model.prompts.at(-1) ?? [];
    expect(findRuleBreak(prompt)).toBeUndefined();
    expect(prompt.at(-1)?.role).toBe("user");
    expect(prompt.at(-1)?.content.at(-1)).toEqual({ type: "text", text: "Are you there?" });
    // What the user has seen is what the model remembers.
    expect(JSON.stringify(prompt)).toContain(JSON.stringify(said).slice(1, -1));
    await stage.read();
  });

  it("before it has begun leaves no trace of the model", async () => {
    const stage = await setStage([{ text: "Here I am." }]);
    void sendCommand(stage.log, {
      commandId: "early",
      sessionId: SESSION,
      kind: "cancel",
      body: { request_id: "r1" },
      // The answer comes with the run.
    }).catch(() => undefined);
    await stage.session.idle();
    const run = await stage.agent.answer(stage.session, "Go", { requestId: "r1" });
    expect(await run.ended).toMatchObject({ status: "cancelled" });
    expect(stage.model.requests).toEqual([]);
    expect(await (await stage.ask("Now")).ended).toMatchObject({ status: "completed" });
  });

  it("by the caller's signal is the same", async () => {
    const stage = await setStage([{ until: never }]);
    const stop = new AbortController();
    const there = stage.wait("llm_start");
    const run = await stage.agent.answer(stage.session, "Go", { signal: stop.signal });
    await there;
    stop.abort();
    expect(await run.ended).toMatchObject({ status: "cancelled" });
    await expect(stage.agent.answer(stage.session, "Go", { signal: stop.signal })).rejects.toThrow("aborted");
    expect(await stage.session.runs()).toHaveLength(1);
  });

  it("tells the model's connection", async () => {
    const stage = await setStage([{ until: never }]);
    const there = stage.wait("llm_start");
    const run = await stage.ask("Go");
    await there;
    await cancel(run, stage);
    await run.ended;
    expect(stage.model.requests[0]?.abortSignal?.aborted).toBe(true);
  });
});
