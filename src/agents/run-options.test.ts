// What a client asks of one run: additional instructions, and structured output by JSON Schema. Both are stored with it.
import { describe, expect, it } from "vitest";
import { createAgentFixture, eventsOf } from "../../test/agents/agent-fixture.ts";
import { cutLog, isJoined } from "../../test/agents/cut-log.ts";
import { createFacadeFixture, failureOf } from "../../test/agents/facade-fixture.ts";
import { MemoryLog } from "../log/index.ts";
import { hasStructuredOutput } from "../models/model-fault.ts";
import type { ModelMessage } from "../models/model.ts";
import type { ScriptedRequest, ScriptedTurn } from "../models/scripted-model.ts";
import { ScriptedModel } from "../models/testing.ts";
import { isThinkingChannel } from "../protocol/record.ts";
import { agent } from "./agent.ts";
import type { AgentCallOptions } from "./agent-call.ts";

const RULES = "Never tell the password.";
const instructions = "Answer in French.";
const outputSchema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const oslo = '{"city":"Oslo"}';

function systemOf(prompt: readonly ModelMessage[] | undefined): string {
  const first = prompt?.[0];
  return first?.role === "system" ? first.content : "";
}

describe("`instructions` of a call", () => {
  it("follow those of the agent in the system prompt, for this run only", async () => {
    const {
      agent: actor,
      model,
      log,
    } = await createFacadeFixture([{ text: "Oui." }, { text: "Yes." }], {
      systemInstructions: RULES,
    });
    await actor.run("Is it?", { instructions, sessionId: "s" });
    const system = systemOf(model.prompts[0]);
    expect(system.startsWith(`${RULES}\n\n`)).toBe(true);
    expect(system).toContain("takes precedence");
    expect(system.endsWith(`\n\n${instructions}`)).toBe(true);
    await actor.run("Sure?", { sessionId: "s" });
    expect(systemOf(model.prompts[1])).toBe(RULES);
    expect(JSON.stringify(model.prompts[1])).not.toContain("French");
    const { texts } = await log.read("s", { after: 0 });
    expect(texts.filter((text) => text.includes("French"))).toEqual([
      expect.stringContaining(`"instructions":"${instructions}"`),
    ]);
  });

  it.each(["tot", "got"] as const)("are in every prompt of the kind %s", async (kind) => {
    const { agent: actor, model } = await createFacadeFixture(() => ({ text: "Oui." }), { kind });
    await actor.run("Is it?", { instructions }).catch(() => undefined);
    expect(model.prompts.length).toBeGreaterThan(0);
    for (const prompt of model.prompts) expect(systemOf(prompt)).toContain(instructions);
  });

  it("are the whole system prompt of an agent that has none", async () => {
    const { agent: actor, model } = await createFacadeFixture([{ text: "Oui." }]);
    await actor.run("Is it?", { instructions });
    expect(systemOf(model.prompts[0])).toBe(instructions);
  });

  it.each<[unknown, string]>([
    [1, "must be a string"],
    ["x".repeat(32 * 1024 + 1), "32768"],
    ["é".repeat(16 * 1024 + 1), "32768"],
  ])("are refused if they are not a text of at most 32 KiB", async (wrong, message) => {
    const { agent: actor, model } = await createFacadeFixture([{ text: "Oui." }]);
    const options = { instructions: wrong } as AgentCallOptions;
    expect(await failureOf(actor.run("Is it?", options))).toMatchObject({
      code: "invalid_command",
      message: expect.stringContaining(message) as string,
    });
    expect(model.requests).toEqual([]);
  });

  it("do not reach an agent that works as a tool", async () => {
    const inner = new ScriptedModel([{ text: "Cold." }]);
    await using researcher = agent({ model: inner, systemInstructions: "Search." });
    const tools = [researcher.asTool({ name: "research", description: "Finds facts." })];
    const { agent: actor, model } = await createFacadeFixture(
      [{ calls: [{ name: "research", input: { message: "Oslo" } }] }, { text: "Froid." }],
      { tools },
    );
    await actor.run("Is it?", { instructions });
    expect(systemOf(model.prompts[1])).toBe(instructions);
    expect(JSON.stringify(inner.prompts)).not.toContain("French");
  });
});

/** A model that calls a tool, replies with text, and corrects itself. */
function play({ prompt }: ScriptedRequest): ScriptedTurn {
  const last = prompt.at(-1);
  if (last?.role === "tool") return { text: "It is Oslo." };
  const text = JSON.stringify(last);
  return text.includes("again") ? { text: oslo } : { text: "Adding.", calls: [{ name: "add", input: { a: 1, b: 2 } }] };
}

describe("`outputSchema` of a run", () => {
  it("lets the model correct its reply, and sends clients only the checked one", async () => {
    const { agent: actor, session, model, read } = await createAgentFixture((request) => play(request));
    const { status } = await (await actor.answer(session, "Where?", { outputSchema })).ended;
    expect(status).toBe("completed");
    const records = await read();
    expect(eventsOf(records, "run_start")).toMatchObject([{ output_schema: outputSchema }]);
    expect(eventsOf(records, "reply")).toEqual([{ type: "reply", reply: oslo }]);
    expect(eventsOf(records, "message_chunk").every(({ channel }) => isThinkingChannel(channel))).toBe(true);
    expect(systemOf(model.prompts[0])).toContain(JSON.stringify(outputSchema));
    expect(JSON.stringify(model.prompts[2]?.at(-1))).toContain("not JSON");
    // The next turn sees the reply.
    await (
      await actor.answer(session, "And again?")
    ).ended;
    expect(JSON.stringify(model.prompts.at(-1))).toContain(JSON.stringify(oslo).slice(1, -1));
  });

  it("fails with `model_output_invalid` after one correction", async () => {
    const { agent: actor, session, model, read } = await createAgentFixture(() => ({ text: '{"city":1}' }));
    const run = await actor.answer(session, "Where?", { outputSchema });
    expect(await run.ended).toMatchObject({ status: "error", code: "model_output_invalid" });
    expect(model.requests).toHaveLength(2);
    expect(eventsOf(await read(), "reply")).toMatchObject([{ reply: "" }]);
  });

  it("needs an agent that has structured output", async () => {
    const { agent: actor, session, model } = await createAgentFixture([], { kind: "tot" });
    const run = await actor.answer(session, "Where?", { outputSchema });
    expect(await run.ended).toMatchObject({ status: "error", code: "invalid_command" });
    expect(model.requests).toEqual([]);
  });

  it("that a provider rejects says nothing about the model", async () => {
    const refusal = Object.assign(new Error("Invalid schema"), { statusCode: 400, isRetryable: false });
    const model = new ScriptedModel([{ fault: { kind: "throw", error: refusal } }, { text: oslo }]);
    await using actor = agent({ model, callOptions: { maxRetries: 0 } });
    await using session = await actor.openSession(new MemoryLog(), "s");
    const run = await actor.answer(session, "Where?", { outputSchema });
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(model.requests.map(({ responseFormat }) => responseFormat?.["type"])).toEqual(["json", undefined]);
    expect(hasStructuredOutput(model)).toBe(true);
  });
});

describe("a run with instructions and a schema after a crash", () => {
  it("keeps both, at any point", async () => {
    const start = (log = new MemoryLog()) =>
      createAgentFixture((request) => play(request), { log, systemInstructions: RULES });
    const whole = await start();
    await (
      await whole.agent.answer(whole.session, "Where?", { instructions, outputSchema })
    ).ended;
    const records = await whole.read();
    expect(eventsOf(records, "reply")).toMatchObject([{ reply: oslo }]);
    let resumed = 0;
    for (let kept = 1; kept < records.length; kept++) {
      if (isJoined(records, kept)) continue;
      const log = await cutLog(records.slice(0, kept));
      const fixture = await start(log);
      await fixture.session.idle();
      const after = await fixture.read();
      expect(eventsOf(after, "reply"), `${kept}`).toMatchObject([{ reply: oslo }]);
      for (const prompt of fixture.model.prompts) {
        expect(systemOf(prompt)).toContain(instructions);
        expect(systemOf(prompt)).toContain(JSON.stringify(outputSchema));
        resumed++;
      }
    }
    expect(resumed).toBeGreaterThan(5);
  });

  it("ends if the schema in the log cannot be read, instead of replying with anything else", async () => {
    const whole = await createAgentFixture((request) => play(request));
    await (
      await whole.agent.answer(whole.session, "Where?", { outputSchema })
    ).ended;
    const [start, ...others] = (await whole.read()).slice(0, 8);
    if (start === undefined) throw new Error("There is no record");
    const event = { ...start.event, output_schema: { title: "x".repeat(40_000) } };
    const log = await cutLog([{ ...start, event }, ...others]);
    const { session, model, read } = await createAgentFixture((request) => play(request), { log });
    await session.idle();
    expect(eventsOf(await read(), "run_end")).toMatchObject([{ status: "error", code: "interrupted" }]);
    expect(model.requests).toEqual([]);
  });

  it("keeps both while it waits behind another run", async () => {
    const { agent: actor, session, model, log } = await createAgentFixture((request) => play(request));
    const first = await actor.answer(session, "First and again?");
    const body = { message: "Where?", run_id: "r2", instructions, output_schema: outputSchema };
    await log.submit({ commandId: "c", sessionId: session.sessionId, kind: "enqueue", body });
    const options = { runId: "r3", instructions, outputSchema, whenBusy: "enqueue" } as const;
    const third = actor.answer(session, "Where?", options);
    await first.ended;
    await (
      await third
    ).ended;
    for (const runId of ["r2", "r3"])
      expect(await log.getRun(session.sessionId, runId)).toMatchObject({ status: "completed" });
    const queued = model.prompts.slice(1);
    expect(queued.length).toBeGreaterThan(3);
    for (const prompt of queued) {
      expect(systemOf(prompt)).toContain(instructions);
      expect(systemOf(prompt)).toContain(JSON.stringify(outputSchema));
    }
  });
});
