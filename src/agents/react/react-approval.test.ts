import { describe, expect, it } from "vitest";
import { findRuleViolation } from "../../../test/agents/find-rule-violation.ts";
import { eventsOf, SESSION, createAgentFixture, waitForEvent } from "../../../test/agents/agent-fixture.ts";
import { sendCommand } from "../../engine/index.ts";
import type { ScriptedCall } from "../../models/scripted-model.ts";

const remove = (path: string, id: string): ScriptedCall => ({ name: "remove", input: { path }, id });

describe("approval of an agent's calls", () => {
  it("waits for each call separately, in any order, while others run", async () => {
    const fixture = await createAgentFixture([
      { calls: [remove("a", "ra"), { name: "add", input: { a: 1, b: 1 } }, remove("b", "rb")] },
      { text: "Done." },
    ]);
    const asked = fixture.wait("tool_approval", ({ call_id }) => call_id === "rb");
    const added = fixture.wait("tool_end");
    const run = await fixture.ask("Go");
    await asked;
    expect(await added).toMatchObject({ name: "add", result: "2" });
    const first = fixture.wait("tool_end");
    run.answerApproval({ callId: "rb", decision: "approved" });
    expect(await first).toMatchObject({ call_id: "rb", result: "removed b" });
    run.answerApproval({ callId: "ra", decision: "approved", arguments: { path: "c" } });
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(fixture.ran).toEqual([
      ["add", { a: 1, b: 1 }],
      ["remove", { path: "b" }],
      ["remove", { path: "c" }],
    ]);
    await fixture.read();
    // The results are in call order.
    const results = fixture.model.prompts[1]?.at(-1);
    expect(results?.role === "tool" && results.content.map(({ toolCallId }) => toolCallId)).toEqual([
      "ra",
      expect.any(String),
      "rb",
    ]);
  });

  it("tells the model why a call was rejected", async () => {
    const fixture = await createAgentFixture([{ calls: [remove("a", "ra")] }, { text: "I leave it." }]);
    const asked = fixture.wait("tool_approval");
    const run = await fixture.ask("Go");
    await asked;
    run.answerApproval({ callId: "ra", decision: "rejected", reason: "I still need it" });
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(fixture.ran).toEqual([]);
    expect(JSON.stringify(fixture.model.prompts[1]?.at(-1))).toContain("I still need it");
    expect(eventsOf(await fixture.read(), "tool_end")).toMatchObject([{ is_error: true, error_code: "tool_rejected" }]);
  });

  it("validates edited arguments", async () => {
    const fixture = await createAgentFixture([{ calls: [remove("a", "ra")] }, { text: "Hm." }]);
    const asked = fixture.wait("tool_approval");
    const run = await fixture.ask("Go");
    await asked;
    run.answerApproval({ callId: "ra", decision: "approved", arguments: { path: 7 } });
    await run.ended;
    expect(fixture.ran).toEqual([]);
    expect(eventsOf(await fixture.read(), "tool_end")).toMatchObject([{ error_code: "invalid_arguments" }]);
  });

  it("rejects a call whose request expires", async () => {
    let now = 1_000_000;
    const fixture = await createAgentFixture([{ calls: [remove("a", "ra")] }, { text: "Not approved." }], {
      session: { now: () => now },
    });
    const asked = fixture.wait("tool_approval");
    const run = await fixture.ask("Go");
    await asked;
    now += 2 * 60 * 60 * 1000;
    run.expireCalls();
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(fixture.ran).toEqual([]);
    expect(eventsOf(await fixture.read(), "tool_end")).toMatchObject([{ error_code: "approval_expired" }]);
  });

  it("waits for an agent that has the tool", async () => {
    const first = await createAgentFixture([{ calls: [remove("a", "ra")] }]);
    const asked = first.wait("tool_approval");
    const { runId } = await first.ask("Go");
    await asked;
    await first.session.close({ run: "leave" });

    const poor = await createAgentFixture([], { log: first.log, tools: [] });
    expect(poor.session.recovered).toEqual([{ runId, outcome: "waiting" }]);
    await poor.session.close({ run: "leave" });

    const second = await createAgentFixture([{ text: "It is gone." }], { log: first.log });
    second.session.liveRun?.answerApproval({ callId: "ra", decision: "approved" });
    await second.session.idle();
    expect(second.ran).toEqual([["remove", { path: "a" }]]);
    expect(eventsOf(await second.read(), "reply")[0]?.reply).toBe("It is gone.");
  });

  it.each(["before", "after"])("survives a restart, answered %s it", async (when) => {
    const first = await createAgentFixture([
      { text: "One moment. ", calls: [remove("a", "ra"), { name: "add", input: { a: 1, b: 1 } }] },
    ]);
    const added = first.wait("tool_end");
    const asked = first.wait("tool_approval");
    const { runId } = await first.ask("Go");
    await Promise.all([asked, added]);
    await first.session.close({ run: "leave" });

    const body = { run_id: runId, call_id: "ra", decision: "approved" } as const;
    const answer = () => sendCommand(first.log, { commandId: "yes", sessionId: SESSION, kind: "approve", body });
    if (when === "before") expect(await answer()).toMatchObject({ outcome: { code: "done" } });
    const second = await createAgentFixture([{ text: "It is gone." }], { log: first.log });
    expect(second.session.recovered).toEqual([{ runId, outcome: "resumed" }]);
    if (when === "after") expect(await answer()).toMatchObject({ outcome: { code: "done" } });
    const run = second.session.liveRun;
    expect(await (run?.ended ?? waitForEvent(second.session, "run_end"))).toMatchObject({ status: "completed" });

    expect(second.ran).toEqual([["remove", { path: "a" }]]);
    const records = await second.read();
    expect(eventsOf(records, "tool_approval")).toHaveLength(1);
    expect(eventsOf(records, "tool_end").map(({ name, is_error }) => [name, is_error])).toEqual([
      ["add", false],
      ["remove", false],
    ]);
    expect(eventsOf(records, "reply")[0]?.reply).toBe("It is gone.");
    expect(findRuleViolation(second.model.prompts[0] ?? [])).toBeUndefined();
    expect(JSON.stringify(second.model.prompts[0])).toContain('"value":"2"');
  });
});
