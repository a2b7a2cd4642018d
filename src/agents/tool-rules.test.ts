import { describe, expect, it } from "vitest";
import { eventsOf, createAgentFixture } from "../../test/agents/agent-fixture.ts";
import { agent } from "./agent.ts";

const add = { name: "add", input: { a: 1, b: 1 } };

describe("tool rules of an agent", () => {
  it("remove denied tools from the offer and deny their calls", async () => {
    const fixture = await createAgentFixture([{ calls: [add] }, { text: "Hm." }], { toolRules: { add: "deny" } });
    await (
      await fixture.ask("Go")
    ).ended;
    expect(fixture.agent.toolNames).not.toContain("add");
    expect(fixture.model.requests[0]?.tools?.map(({ name }) => name)).toEqual(fixture.agent.toolNames);
    expect(fixture.ran).toEqual([]);
    expect(eventsOf(await fixture.read(), "tool_end")).toMatchObject([{ name: "add", error_code: "tool_denied" }]);
  });

  it("combine with those of a run, which can only be stricter", async () => {
    const fixture = await createAgentFixture([{ calls: [add] }, { text: "Hm." }], { toolRules: { "*": "ask" } });
    const asked = fixture.wait("tool_approval");
    const run = await fixture.agent.answer(fixture.session, "Go", { toolRules: { add: "allow" }, actor: "token:x" });
    await asked;
    run.answerApproval({ callId: (await asked).call_id ?? "", decision: "rejected" });
    await run.ended;
    expect(fixture.ran).toEqual([]);
    const [start] = eventsOf(await fixture.read(), "run_start");
    expect(start).toMatchObject({ tool_rules: { add: "allow" }, actor: "token:x" });
  });

  it("that deny all tools remove calls from the history", async () => {
    const fixture = await createAgentFixture([{ calls: [add] }, { text: "2." }, { text: "Hm." }]);
    await (
      await fixture.ask("Go")
    ).ended;
    await (
      await fixture.agent.answer(fixture.session, "And?", { toolRules: { "*": "deny" } })
    ).ended;
    const last = fixture.model.requests.at(-1);
    expect(last?.tools ?? []).toEqual([]);
    expect(last?.prompt.map(({ role }) => role)).not.toContain("tool");
    expect(JSON.stringify(last?.prompt)).toContain("[add(");
  });

  it("reject an invalid value", () => {
    for (const toolRules of [{ add: "no" }, [], "deny"])
      expect(() => agent({ model: "offline", toolRules: toolRules as never })).toThrow(/toolRules/);
  });
});
