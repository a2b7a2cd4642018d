// A list of models: the next one is called if a model fails before its first token, and the log says so.
import { describe, expect, it } from "vitest";
import { failureOf } from "../../test/agents/facade-fixture.ts";
import type { ScriptedTurn } from "../models/scripted-model.ts";
import { ScriptedModel } from "../models/testing.ts";
import { agent, type AgentOptions } from "./agent.ts";
import type { AgentEvent } from "./agent-event.ts";

class NamedModel extends ScriptedModel {
  override readonly modelId: string;
  constructor(name: string, turns: readonly ScriptedTurn[]) {
    super(turns);
    this.modelId = name;
  }
}

async function ask(options: AgentOptions & { readonly model: AgentOptions["model"] }): Promise<readonly AgentEvent[]> {
  await using actor = agent(options);
  const events: AgentEvent[] = [];
  for await (const event of actor.events("Hello")) events.push(event);
  return events;
}

const overloaded = Object.assign(new Error("Overloaded"), { statusCode: 529 });
const refused = Object.assign(new Error("No"), { statusCode: 403 });

describe("a list of models", () => {
  it.each<[string, ScriptedTurn, string]>([
    ["is overloaded", { fault: { kind: "throw", error: overloaded } }, "model_unavailable"],
    ["refuses the request", { fault: { kind: "throw", error: refused } }, "model_failed"],
    ["times out", { fault: { kind: "stall" } }, "model_timeout"],
    ["breaks off before its first token", { fault: { kind: "break" } }, "model_stream_cut"],
    ["refuses to answer", { finishReason: "content_filter" }, "model_failed"],
  ])("continues with the next if one %s, and records the switch", async (_, turn, code) => {
    const first = new NamedModel("first", [turn, turn]);
    const second = new NamedModel("second", [{ text: "Hi" }]);
    const events = await ask({ model: [first, second], callOptions: { idleTimeoutMs: 40, connectTimeoutMs: 40 } });
    const calls = events.filter(({ type }) => ["llm_start", "llm_end", "error"].includes(type));
    expect(calls).toMatchObject([
      { type: "llm_start", model: expect.stringContaining("first") as string, attempt: 0 },
      { type: "llm_end", model: expect.stringContaining("first") as string, error_code: code },
      { type: "error", code, recoverable: true, message: expect.stringMatching(/continuing with .*second/) as string },
      { type: "llm_start", model: expect.stringContaining("second") as string, attempt: 1 },
      { type: "llm_end", model: expect.stringContaining("second") as string, finish_reason: "stop" },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "reply", reply: "Hi" });
    expect(first.requests).toHaveLength(1);
  });

  it.each([
    ["error", "model_failed"],
    ["stall", "model_timeout"],
  ] as const)("does not switch after text was sent: %s", async (kind, code) => {
    const first = new NamedModel("first", [{ text: "Half an answer", fault: { kind, after: 2 } }]);
    const second = new NamedModel("second", [{ text: "Hi" }]);
    await using actor = agent({ model: [first, second], callOptions: { idleTimeoutMs: 40 } });
    expect(await failureOf(actor.run("Hello"))).toMatchObject({ code });
    expect(second.requests).toEqual([]);
  });

  it("fails with the error of the last, after its retries", async () => {
    const fails = (): ScriptedTurn => ({ fault: { kind: "throw", error: overloaded } });
    const first = new NamedModel("first", [fails()]);
    const second = new NamedModel("second", [fails(), fails()]);
    await using actor = agent({ model: [first, second], callOptions: { retryMs: 1 } });
    expect(await failureOf(actor.run("Hello"))).toMatchObject({ code: "model_failed" });
    expect(first.requests).toHaveLength(1);
    expect(second.requests.length).toBeGreaterThan(1);
  });

  it("names each provider, and has 1 to 10 entries", () => {
    const make = (options: object) => () => agent(options);
    expect(make({ model: [] })).toThrow("1 to 10");
    expect(make({ model: Array.from({ length: 11 }, () => "offline") })).toThrow("1 to 10");
    expect(make({ model: ["offline"], provider: "openai" })).toThrow("names its own provider");
  });
});
