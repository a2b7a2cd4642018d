import { describe, expect, it } from "vitest";
import { z } from "zod";
import { eventsOf, setStage } from "../../test/agents/stage.ts";
import { agent } from "./agent.ts";

const add = { name: "add", input: { a: 1, b: 1 } };

describe("rules for an agent's tools", () => {
  it("take tools from it: they are not offered, and a call of one is denied", async () => {
    const stage = await setStage([{ calls: [add] }, { text: "Hm." }], { toolRules: { add: "deny" } });
    await (
      await stage.ask("Go")
    ).ended;
    expect(stage.agent.toolNames).not.toContain("add");
    expect(stage.model.requests[0]?.tools?.map(({ name }) => name)).toEqual(stage.agent.toolNames);
    expect(stage.ran).toEqual([]);
    expect(eventsOf(await stage.read(), "tool_end")).toMatchObject([{ name: "add", error_code: "tool_denied" }]);
  });

  it("hold beside those of a run, which can only be stricter", async () => {
    const stage = await setStage([{ calls: [add] }, { text: "Hm." }], { toolRules: { "*": "ask" } });
    const asked = stage.wait("tool_approval");
    const run = await stage.agent.answer(stage.session, "Go", { toolRules: { add: "allow" }, actor: "token:x" });
    await asked;
    run.answerApproval({ callId: (await asked).call_id ?? "", decision: "rejected" });
    await run.ended;
    expect(stage.ran).toEqual([]);
    const [start] = eventsOf(await stage.read(), "run_start");
    expect(start).toMatchObject({ tool_rules: { add: "allow" }, actor: "token:x" });
  });

  it("that leave no tool leave no calls in what was said before", async () => {
    const stage = await setStage([{ calls: [add] }, { text: "2." }, { text: "Hm." }]);
    await (
      await stage.ask("Go")
    ).ended;
    await (
      await stage.agent.answer(stage.session, "And?", { toolRules: { "*": "deny" } })
    ).ended;
    const last = stage.model.requests.at(-1);
    expect(last?.tools ?? []).toEqual([]);
    expect(last?.prompt.map(({ role }) => role)).not.toContain("tool");
    expect(JSON.stringify(last?.prompt)).toContain("[add(");
  });

  it("leave it the tool its answer is given by", async () => {
    const stage = await setStage([{ calls: [{ name: "final_answer", input: { n: 2 } }] }], {
      toolRules: { "*": "deny" },
      answer: { schema: z.object({ n: z.number() }) },
    });
    expect(await (await stage.ask("Go")).ended).toMatchObject({ status: "completed" });
    expect(eventsOf(await stage.read(), "reply")).toMatchObject([{ reply: '{"n":2}' }]);
  });

  it("must be rules", () => {
    for (const toolRules of [{ add: "no" }, [], "deny"])
      expect(() => agent({ model: "offline", toolRules: toolRules as never })).toThrow(/toolRules/);
  });
});
