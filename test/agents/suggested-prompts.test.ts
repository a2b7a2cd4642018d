// The prompts that the page suggests work with the offline model: each shows its feature, in both languages.
import { describe, expect, it } from "vitest";
import { agent, type AgentOptions } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { OfflineModel } from "../../src/models/index.ts";
import type { AnyEvent } from "../../src/protocol/index.ts";
import { createBuiltinTools } from "../../src/tools/index.ts";
import { SUGGESTED_PROMPTS } from "./suggested-prompts.ts";

/** All events of a run; approval requests are approved. */
async function play(kind: AgentOptions, message: string): Promise<readonly AnyEvent[]> {
  const log = new MemoryLog();
  const options = { ...kind, model: new OfflineModel(), tools: createBuiltinTools(), log, approve: () => true };
  const one = agent(options);
  await one.run(message, { sessionId: "s" });
  await one.close();
  const events: AnyEvent[] = [];
  for (let after = 0; ;) {
    const { records } = await log.read("s", { after });
    if (records.length === 0) return events;
    events.push(...records.map(({ event }) => event));
    after = records.at(-1)?.envelope.event_id ?? after;
  }
}

const count = (events: readonly AnyEvent[], type: string): number =>
  events.filter((event) => event.type === type).length;

describe("a suggested prompt", () => {
  it.each(Object.values(SUGGESTED_PROMPTS.plan))(
    "shows reasoning, tools, a to-do list and a chart: %s",
    async (message) => {
      const events = await play({}, message);
      expect(count(events, "reasoning_chunk")).toBeGreaterThan(3);
      expect(count(events, "todo_list")).toBe(1);
      expect(events.find(({ type }) => type === "data")).toMatchObject({ data_type: "chart" });
      expect(JSON.stringify(events.find(({ type }) => type === "data"))).toMatch(/"name":"(?:budget|预算)"/);
      expect(count(events, "tool_end")).toBe(3);
      expect(JSON.stringify(events)).toContain("8+20+12 = 40");
    },
  );

  it.each(Object.values(SUGGESTED_PROMPTS.tree))(
    "backtracks from dead ends and finds a solution: %s",
    async (message) => {
      const events = await play({ kind: "tot" }, message);
      expect(count(events, "tot_expand")).toBeGreaterThan(3);
      expect(count(events, "tot_backtrack")).toBe(5);
      expect(JSON.stringify(events)).toContain("5 * (5 - 1 / 5) = 24");
    },
  );

  it.each(Object.values(SUGGESTED_PROMPTS.graph))("plans a graph: %s", async (message) => {
    const events = await play({ kind: "got" }, message);
    expect(events.find(({ type }) => type === "got_plan")).toMatchObject({ node_count: 5, edge_count: 4 });
    expect(count(events, "got_node_complete")).toBe(5);
  });

  it.each(Object.values(SUGGESTED_PROMPTS.expansion))("expands a task: %s", async (message) => {
    const events = await play({ kind: "got", adaptive: true }, message);
    expect(count(events, "got_expand")).toBeGreaterThan(0);
  });

  it.each(Object.values(SUGGESTED_PROMPTS.approval))("asks for approval: %s", async (message) => {
    const events = await play({}, message);
    expect(count(events, "tool_approval")).toBe(1);
    expect(JSON.stringify(events)).toContain("7006652");
  });
});
