// Tools that the client carries out: those of the agent without `execute`, and those that a run brings with it.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { answerOf, createAgentFixture, eventsOf } from "../../test/agents/agent-fixture.ts";
import { cutLog, isJoined } from "../../test/agents/cut-log.ts";
import { createTools } from "../../test/agents/counted-tools.ts";
import { createFacadeFixture, expectNothingLeft } from "../../test/agents/facade-fixture.ts";
import { sendCommand } from "../engine/send-command.ts";
import type { Session } from "../engine/index.ts";
import { MemoryLog } from "../log/index.ts";
import type { ScriptedRequest, ScriptedTurn } from "../models/scripted-model.ts";
import { ScriptedModel } from "../models/testing.ts";
import type { Json, JsonObject } from "../protocol/index.ts";
import { defineTool } from "../tools/define-tool.ts";
import { agent } from "./agent.ts";
import type { AgentEvent } from "./agent-event.ts";
import type { AgentCallOptions } from "./agent-call.ts";

const locate = defineTool({
  name: "locate",
  description: "Returns the position of the user.",
  input: z.object({ precise: z.boolean() }),
});
const confirm = {
  name: "confirm",
  description: "Asks the user.",
  inputSchema: { type: "object", properties: { question: { type: "string" } }, required: ["question"] },
};
const asks = (input: JsonObject | string): ScriptedTurn => ({ calls: [{ name: "confirm", input, id: "c1" }] });
const script = [asks({ question: "Go?" }), { text: "Good." }];

async function collect(
  stream: AsyncIterable<AgentEvent>,
  output: Json | undefined = "yes",
): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.type === "tool_start") await event.answer?.(output);
  }
  return events;
}

const find = (events: readonly AgentEvent[], type: AgentEvent["type"]) => events.find((event) => event.type === type);

describe("a tool that the client carries out", () => {
  it("is offered to the model with the tools of the agent, and its result goes to the model", async () => {
    const { agent: actor, model, log } = await createFacadeFixture(script, { tools: [locate] });
    const events = await collect(actor.events("Hi", { clientTools: [confirm] }), { choice: "yes" });
    expect(model.requests[0]?.tools).toMatchObject([
      { name: "locate" },
      { name: "confirm", description: "Asks the user.", inputSchema: confirm.inputSchema },
    ]);
    expect(find(events, "tool_start")).toMatchObject({ executor: "client", name: "confirm" });
    expect(find(events, "tool_end")).toMatchObject({ output: { choice: "yes" }, is_error: false });
    expect(JSON.stringify(model.requests[1]?.prompt.at(-1))).toContain("choice");
    expect(find(events, "reply")).toMatchObject({ reply: "Good." });
    await expectNothingLeft(log);
  });

  it("may be a tool of the agent without `execute`", async () => {
    const { agent: actor } = await createFacadeFixture(
      [{ calls: [{ name: "locate", input: { precise: true } }] }, { text: "Lisbon it is." }],
      { tools: [locate] },
    );
    const events = await collect(actor.events("Where am I?"), "Lisbon");
    expect(find(events, "tool_end")).toMatchObject({ name: "locate", result: "Lisbon" });
  });

  it("may be a tool of an agent that works as a tool, which does not get the tools of the client", async () => {
    const model = new ScriptedModel([
      { calls: [{ name: "locate", input: { precise: true }, id: "inner" }] },
      { text: "In Lisbon." },
    ]);
    await using inner = agent({ model, tools: [locate] });
    const { agent: actor, log } = await createFacadeFixture(
      [{ calls: [{ name: "ask", input: { message: "Where?" } }] }, { text: "Lisbon it is." }],
      { tools: [inner.asTool({ name: "ask", description: "Asks." })] },
    );
    const events = await collect(actor.events("Where am I?", { clientTools: [confirm] }), "Lisbon");
    expect(find(events, "tool_end")).toMatchObject({ name: "locate", call_id: "inner", result: "Lisbon" });
    expect(find(events, "reply")).toMatchObject({ reply: "Lisbon it is." });
    expect(model.requests[0]?.tools).toMatchObject([{ name: "locate" }]);
    await expectNothingLeft(log);
  });

  it.each<[string, JsonObject | string, AgentCallOptions["clientTools"]]>([
    ["a declared tool", { question: 1 }, [confirm]],
    ["malformed JSON", "{", [confirm]],
    ["a tool of another schema dialect", "[]", [{ name: "confirm", inputSchema: { $ref: "#/x" } }]],
  ])("is not handed over with invalid arguments: %s", async (_name, input, clientTools = []) => {
    const { agent: actor } = await createFacadeFixture([asks(input), { text: "Sorry." }]);
    const events = await collect(actor.events("Hi", { clientTools }));
    expect(find(events, "tool_start")).toBeUndefined();
    expect(find(events, "tool_end")).toMatchObject({ error_code: "invalid_arguments" });
  });

  it("accepts arguments of a schema that it cannot check, which the client checks", async () => {
    const { agent: actor } = await createFacadeFixture(script);
    const inputSchema = { $schema: "x", anyOf: [{ required: ["a"] }] };
    const events = await collect(actor.events("Hi", { clientTools: [{ name: "confirm", inputSchema }] }));
    expect(find(events, "tool_end")).toMatchObject({ result: "yes", is_error: false });
  });

  it("is denied by the rules of the agent, and asks for approval first where they say so", async () => {
    const denied = await createFacadeFixture(script, { toolRules: { confirm: "deny" } });
    const events = await collect(denied.agent.events("Hi", { clientTools: [confirm] }));
    expect(find(events, "tool_end")).toMatchObject({ error_code: "tool_denied" });
    expect(JSON.stringify(denied.model.requests[0]?.tools)).not.toContain("confirm");
    const asking = await createFacadeFixture(script, { toolRules: { "*": "ask" }, approve: () => true });
    const types = (await collect(asking.agent.events("Hi", { clientTools: [confirm] }))).map(({ type }) => type);
    expect(types.indexOf("tool_approval_result")).toBeGreaterThan(0);
    expect(types.indexOf("tool_start")).toBeGreaterThan(types.indexOf("tool_approval_result"));
  });

  it("must not have the name of a tool of the agent", async () => {
    const { agent: actor, log } = await createFacadeFixture(script, { tools: [locate], log: new MemoryLog() });
    await expect(actor.run("Hi", { clientTools: [{ name: "locate" }] })).rejects.toMatchObject({
      code: "invalid_command",
      message: expect.stringContaining("locate") as string,
    });
    await expectNothingLeft(log);
  });

  it("is refused where no client can answer", async () => {
    const model = new ScriptedModel([{ calls: [{ name: "locate", input: { precise: true } }] }, { text: "Then not." }]);
    await using alone = agent({ model, tools: [locate] });
    expect(await alone.run("Where am I?")).toMatchObject({ reply: "Then not." });
    expect(JSON.stringify(model.requests[1]?.prompt)).toContain("No client can carry out this call here");
    await expect(alone.run("Hi", { clientTools: [confirm] })).rejects.toMatchObject({ code: "invalid_command" });
  });

  it("refuses options that are not valid", async () => {
    const { agent: actor } = await createFacadeFixture(script);
    const circular: { self?: unknown } = {};
    circular.self = circular;
    const wrong: readonly (readonly [unknown, string])[] = [
      ["confirm", "invalid_command"],
      [["confirm"], "invalid_command"],
      [[{ name: "a b" }], "invalid_command"],
      [[confirm, confirm], "invalid_command"],
      [[{ name: "a", parameters: {} }], "invalid_arguments"],
      [[{ name: "a", inputSchema: circular }], "invalid_command"],
    ];
    for (const [clientTools, code] of wrong)
      await expect(
        collect(actor.events("Hi", { clientTools: clientTools as NonNullable<AgentCallOptions["clientTools"]> })),
      ).rejects.toMatchObject({ code });
    const [event] = (await collect(actor.events("Hi", { clientTools: [confirm] }))).filter(
      ({ type }) => type === "tool_start",
    );
    if (event?.type !== "tool_start") throw new Error("No call was started");
    await expect(event.answer?.("again")).rejects.toMatchObject({ code: "run_ended" });
    await expect(event.answer?.("x", { error: true } as object)).rejects.toMatchObject({ code: "invalid_arguments" });
    expect(JSON.stringify(event)).not.toContain("answer");
  });

  it("is answered through the log while `run` waits", async () => {
    const log = new MemoryLog();
    const { agent: actor } = await createFacadeFixture(script, { log });
    const running = actor.run("Hi", { sessionId: "s", clientTools: [confirm] });
    await expect
      .poll(
        async () => {
          const [live] = await log.listRuns("s", { limit: 1 }).catch(() => []);
          const body = { run_id: live?.runId ?? "", call_id: "c1", output: "yes" };
          const command = { commandId: crypto.randomUUID(), sessionId: "s", kind: "tool_result", body } as const;
          return live === undefined ? "" : (await sendCommand(log, command)).outcome?.code;
        },
        { timeout: 30_000 },
      )
      .toBe("done");
    expect(await running).toMatchObject({ reply: "Good." });
  });
});

/** Answers every call that waits for the client, after the run has written something: after a crash, it waits again. */
function answerAll(session: Session): void {
  const answer = (): void => {
    const run = session.liveRun;
    for (const { callId = "" } of run?.work.delegated ?? []) run?.answerCall({ callId, output: `result of ${callId}` });
  };
  session.onCommit(() => void setTimeout(answer, 1));
}

function play({ prompt }: ScriptedRequest): ScriptedTurn {
  const round = prompt.filter(({ role }) => role === "assistant").length;
  const turns: readonly ScriptedTurn[] = [
    {
      calls: [
        { name: "locate", input: { precise: true }, id: "c1" },
        { name: "confirm", input: { question: "?" }, id: "c2" },
        { name: "add", input: { a: 1, b: 2 }, id: "c3" },
      ],
    },
    { text: "All is done." },
  ];
  return turns[round] ?? { text: "?" };
}

describe("an agent after a crash", () => {
  it("hands each call to the client once and uses each result once, at any point", async () => {
    const start = async (log = new MemoryLog()) => {
      const { tools } = createTools();
      const fixture = await createAgentFixture((request) => play(request), { log, tools: [...tools, locate] });
      answerAll(fixture.session);
      return fixture;
    };
    const whole = await start();
    await (
      await whole.agent.answer(whole.session, "Go", { clientTools: [confirm] })
    ).ended;
    const records = await whole.read();
    expect(eventsOf(records, "reply")[0]?.reply).toBe("All is done.");
    let waited = 0;
    for (let kept = 1; kept < records.length; kept++) {
      if (isJoined(records, kept)) continue;
      const log = await cutLog(records.slice(0, kept));
      const fixture = await start(log);
      await fixture.session.idle();
      const after = await fixture.read();
      if (eventsOf(records.slice(0, kept), "tool_start").length > eventsOf(records.slice(0, kept), "tool_end").length)
        waited++;
      const starts = eventsOf(after, "tool_start").filter(({ executor }) => executor === "client");
      // A call that the crash left without `tool_start` may be made again by the model, under another ID.
      expect(new Set(starts.map(({ call_id }) => call_id)).size, `${kept}`).toBe(starts.length);
      const ends = eventsOf(after, "tool_end").filter(({ is_error }) => !is_error);
      expect(new Set(ends.map(({ call_id }) => call_id)).size, `${kept}`).toBe(ends.length);
      for (const { call_id } of starts)
        expect(ends.filter((end) => end.call_id === call_id)[0]?.result, `${kept}`).toBe(`result of ${call_id}`);
      expect(answerOf(after), `${kept}`).toBe("All is done.");
    }
    expect(waited).toBeGreaterThan(2);
  });
});
