// What agents of different kinds have to do with each other: they share sessions, histories, and runs that were left.
import { describe, expect, it } from "vitest";
import { findRuleBreak } from "../../test/agents/find-rule-break.ts";
import { eventsOf, SESSION, setStage } from "../../test/agents/stage.ts";
import { sendCommand } from "../engine/index.ts";
import { createLog } from "../engine/sender.contract.ts";
import type { Log } from "../log/index.ts";
import type { Script, ScriptedRequest } from "../models/scripted-model.ts";
import { agent, type AgentOptions } from "./agent.ts";

const PLAN = '{"nodes": [{"id": "sum", "task": "add", "needs": [], "operation": "generate"}]}';

/** A graph of one thought, which uses a tool. */
const sums: Script = ({ prompt }: ScriptedRequest) => {
  const last = prompt.at(-1);
  const asked = last?.role === "user" ? last.content.map(({ text }) => text).join("") : "";
  if (asked.includes('{"nodes"')) return { text: PLAN };
  if (last?.role === "tool") return { text: "The sum is 3." };
  if (asked.includes("Write the final answer")) return { text: "3, as I said." };
  if (asked.includes("Task sum")) return { calls: [{ name: "add", input: { a: 1, b: 2 }, id: "call_add" }] };
  return { text: "Yes." };
};

function kindsOf(records: Parameters<typeof eventsOf>[0]): readonly unknown[] {
  return eventsOf(records, "run_start").map(({ agent: name }) => name);
}

describe("agents of several kinds", () => {
  it("name themselves in runs that were sent by somebody who did not", async () => {
    const stage = await setStage(sums, { kind: "got" });
    const body = { message: "Add one and two" };
    await sendCommand(stage.log, { commandId: "c1", sessionId: SESSION, kind: "enqueue", body });
    await stage.wait("reply");
    expect(kindsOf(await stage.read())).toEqual(["got"]);
  });

  it("remember questions and answers of each other, and what tools gave as words where no tools are offered", async () => {
    const log = await createLog();
    const first = await setStage(
      [{ calls: [{ name: "add", input: { a: 1, b: 2 }, id: "call_1" }] }, { text: "It is 3." }],
      { log },
    );
    await (
      await first.ask("Add")
    ).ended;
    await first.session.close();
    const second = await setStage(sums, { log, kind: "got" });
    await (
      await second.ask("And again?")
    ).ended;
    for (const prompt of second.model.prompts) expect(findRuleBreak(prompt)).toBeUndefined();
    const [planning] = second.model.prompts;
    expect(JSON.stringify(planning)).toContain("gave: 3");
    expect(planning?.some(({ role }) => role === "tool")).toBe(false);
    await second.session.close();
    // Whatever the search was called, its tools are its own.
    const third = await setStage([{ text: "Yes." }], { log });
    await (
      await third.ask("Sure?")
    ).ended;
    const [asked] = third.model.prompts;
    expect(asked?.filter(({ role }) => role === "tool")).toHaveLength(1);
    expect(JSON.stringify(asked)).toContain("3, as I said.");
  });

  /** A run that is left in the middle of a thought. */
  async function leave(log: Log, name?: string): Promise<void> {
    const stalled: Script = (_, turn) =>
      turn === 0 ? { text: PLAN } : { text: "…", fault: { kind: "stall", after: 1 } };
    const stage = await setStage(stalled, { log, kind: "got" });
    const there = stage.wait("got_node_start");
    await stage.agent.answer(stage.session, "Add", name === undefined ? {} : { agent: name });
    await there;
    await stage.session.close({ run: "leave" });
  }

  it.each<[string, string | undefined, AgentOptions["kind"], string]>([
    ["goes on with its own", undefined, "got", "resumed"],
    ["goes on with its own under the name somebody gave it", "researcher", "got", "resumed"],
    ["does not go on with another's", undefined, "react", "ended"],
  ])("%s", async (_, name, kind, outcome) => {
    const log = await createLog();
    await leave(log, name);
    const stage = await setStage(sums, kind === "got" ? { log, kind } : { log });
    await stage.session.idle();
    expect(stage.session.recovered).toMatchObject([{ outcome }]);
    const end = eventsOf(await stage.read(), "run_end")[0];
    expect(end).toMatchObject(
      outcome === "resumed" ? { status: "completed" } : { status: "error", code: "interrupted" },
    );
  });

  it("refuses what it does not know", () => {
    const wrong = { kind: "cot", model: "offline" } as unknown as AgentOptions;
    expect(() => agent(wrong)).toThrow('there is no agent of the kind "cot"');
    const formed = { kind: "tot", model: "offline", answer: { schema: {} } } as unknown as AgentOptions;
    expect(() => agent(formed)).toThrow("an answer with a form is for the kind react");
  });
});
