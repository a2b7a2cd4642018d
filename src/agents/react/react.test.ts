import { describe, expect, it } from "vitest";
import { z } from "zod";
import { findRuleViolation } from "../../../test/agents/find-rule-violation.ts";
import { answerOf, eventsOf, createAgentFixture } from "../../../test/agents/agent-fixture.ts";
import { startProviderServer } from "../../../test/models/provider-server.ts";
import { createStreamCheck, DIALECT_NAMES, DIALECTS } from "../../dialects/index.ts";
import { createLog } from "../../../test/contracts/sender.ts";
import { openStream } from "../../log/index.ts";
import type { ScriptedCall } from "../../models/scripted-model.ts";
import { ScriptedModel } from "../../models/testing.ts";
import { LoomError } from "../../protocol/index.ts";
import { defineTool } from "../../tools/define-tool.ts";
import { agent } from "../agent.ts";

const add = (a: number, b: number, id?: string): ScriptedCall => ({
  name: "add",
  input: { a, b },
  ...(id === undefined ? {} : { id }),
});
const remove = (path: string, id: string): ScriptedCall => ({ name: "remove", input: { path }, id });

describe("a ReAct agent", () => {
  it("streams the model's text and replies with it", async () => {
    const fixture = await createAgentFixture([{ reasoning: "Easy.", text: "Hello there." }]);
    const run = await fixture.ask("Hi");
    expect(await run.ended).toMatchObject({ status: "completed" });
    const records = await fixture.read();
    expect(answerOf(records)).toBe("Hello there.");
    expect(eventsOf(records, "reply")).toEqual([{ type: "reply", reply: "Hello there." }]);
    expect(records.at(-1)?.envelope.node_id).toBe("run-think-1");
    expect(
      eventsOf(records, "reasoning_chunk")
        .map(({ content }) => content)
        .join(""),
    ).toBe("Easy.");
    expect(eventsOf(records, "run_start")[0]).toMatchObject({ agent: "react", message: "Hi" });
    expect(eventsOf(records, "llm_end")).toMatchObject([{ finish_reason: "stop", model: "scripted/scripted" }]);
    expect(eventsOf(records, "usage")).toHaveLength(1);
  });

  it("runs tools in parallel and gives the results to the model", async () => {
    const fixture = await createAgentFixture([
      { text: "Let me see. ", calls: [add(1, 2, "x"), add(3, 4, "y")] },
      { text: "3 and 7." },
    ]);
    await (
      await fixture.ask("Add")
    ).ended;
    const records = await fixture.read();
    expect(eventsOf(records, "node_enter").map(({ id }) => id)).toEqual(["think", "act", "observe", "think"]);
    expect(eventsOf(records, "reply")[0]?.reply).toBe("3 and 7.");
    const starts = records.findIndex(({ event }) => event.type === "tool_end");
    expect(eventsOf(records.slice(0, starts), "tool_start")).toHaveLength(2);
    expect(fixture.model.prompts[1]?.slice(1)).toEqual([
      {
        role: "assistant",
        content: [
          { type: "text", text: "Let me see. " },
          { type: "tool-call", toolCallId: "x", toolName: "add", input: { a: 1, b: 2 } },
          { type: "tool-call", toolCallId: "y", toolName: "add", input: { a: 3, b: 4 } },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "x", toolName: "add", output: { type: "text", value: "3" } },
          { type: "tool-result", toolCallId: "y", toolName: "add", output: { type: "text", value: "7" } },
        ],
      },
    ]);
  });

  it("follows the rules of every dialect", async () => {
    const fixture = await createAgentFixture([
      { reasoning: "Hm", text: "One. ", calls: [add(1, 2), remove("a", "r"), { name: "fail" }, { name: "missing" }] },
      { text: "Two. ", calls: [{ name: "add", input: '{"a": 1,' }] },
      { text: "Three." },
    ]);
    const asked = fixture.wait("tool_approval");
    const run = await fixture.ask("Go");
    await asked;
    run.answerApproval({ callId: "r", decision: "rejected", reason: "no" });
    await run.ended;
    for (const dialect of DIALECT_NAMES) {
      const check = createStreamCheck(DIALECTS[dialect]);
      const issues: unknown[] = [];
      for await (const frames of openStream(fixture.log, fixture.session.sessionId, { dialect, modes: "all" }))
        for (const { text } of frames) issues.push(...check.check(text).issues);
      expect([dialect, ...issues, ...check.end()]).toEqual([dialect]);
    }
  });

  it("remembers earlier turns from the log", async () => {
    const fixture = await createAgentFixture(
      [{ calls: [add(1, 2, "x")] }, { text: "3." }, { text: "You said: add." }],
      {
        systemInstructions: "Be brief.",
      },
    );
    await (
      await fixture.ask("Add 1 and 2")
    ).ended;
    await (
      await fixture.ask("What did I say?")
    ).ended;
    const prompt = fixture.model.prompts[2] ?? [];
    expect(prompt.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "assistant", "user"]);
    expect(findRuleViolation(prompt)).toBeUndefined();

    // Another process has only the log.
    await fixture.session.close();
    const other = await createAgentFixture([{ text: "Again: add." }], {
      log: fixture.log,
      systemInstructions: "Be brief.",
    });
    await (
      await other.ask("And again?")
    ).ended;
    expect(other.model.prompts[0]?.slice(0, -2)).toEqual(prompt);
  });

  it("drops the oldest turns if they do not fit", async () => {
    const fixture = await createAgentFixture(() => ({ text: "ok" }), { history: { maxRuns: 2 } });
    for (const message of ["a", "b", "c", "d"]) await (await fixture.ask(message)).ended;
    const said = fixture.model.prompts.at(-1)?.flatMap(({ role, content }) => (role === "user" ? content : []));
    expect(said).toEqual(["b", "c", "d"].map((text) => ({ type: "text", text })));
  });

  it("makes call ids unique if the model repeats them", async () => {
    const fixture = await createAgentFixture([
      { calls: [add(1, 1, "c")] },
      { calls: [add(2, 2, "c")] },
      { text: "Done." },
    ]);
    const run = await fixture.ask("Twice");
    expect(await run.ended).toMatchObject({ status: "completed" });
    const records = await fixture.read();
    const ends = eventsOf(records, "tool_end");
    expect(ends.map(({ result }) => result)).toEqual(["2", "4"]);
    expect(new Set(ends.map(({ call_id }) => call_id)).size).toBe(2);
    expect(findRuleViolation(fixture.model.prompts[2] ?? [])).toBeUndefined();
  });

  it("lets the model correct its arguments", async () => {
    const fixture = await createAgentFixture([
      { calls: [{ name: "add", input: '{"a": 1, "b"', id: "bad" }] },
      { calls: [{ name: "add", input: { a: "x", b: 2 }, id: "wrong" }] },
      { calls: [add(1, 2, "good")] },
      { text: "3" },
    ]);
    await (
      await fixture.ask("Add")
    ).ended;
    const records = await fixture.read();
    expect(fixture.ran).toEqual([["add", { a: 1, b: 2 }]]);
    expect(eventsOf(records, "tool_end").map(({ error_code }) => error_code)).toEqual([
      "invalid_arguments",
      "invalid_arguments",
      undefined,
    ]);
    expect(eventsOf(records, "tool_call")[0]).toMatchObject({ arguments: {}, raw_arguments: '{"a": 1, "b"' });
    expect(JSON.stringify(fixture.model.prompts[2]?.at(-1))).toContain("a");
  });

  it("continues after a failed tool and reports it", async () => {
    const fixture = await createAgentFixture([{ calls: [{ name: "fail" }, add(1, 2)] }, { text: "One failed." }]);
    const run = await fixture.ask("Go");
    expect(await run.ended).toMatchObject({ status: "completed" });
    const records = await fixture.read();
    expect(eventsOf(records, "error")).toMatchObject([{ stage: "tool_execute", code: "tool_failed" }]);
    expect(
      eventsOf(records, "tool_end")
        .map(({ name, is_error }) => `${name} ${is_error}`)
        .toSorted(),
    ).toEqual(["add false", "fail true"]);
  });

  it("answers with what it has after its last round", async () => {
    const script = Array.from({ length: 2 }, (_, index) => ({ calls: [add(index, 1)] }));
    const fixture = await createAgentFixture([...script, { text: "I know this much." }], { maxIterations: 2 });
    const run = await fixture.ask("Go on for ever");
    expect(await run.ended).toMatchObject({ status: "completed" });
    const records = await fixture.read();
    expect(eventsOf(records, "error")).toMatchObject([{ stage: "iteration_limit", code: "iteration_limit" }]);
    expect(eventsOf(records, "reply")[0]?.reply).toBe("I know this much.");
    expect(fixture.model.requests[2]?.toolChoice).toEqual({ type: "none" });
  });

  it("replies even if the model only calls tools", async () => {
    const fixture = await createAgentFixture(
      (_, turn) => ({ ...(turn === 0 ? { text: "Let me see. " } : {}), calls: [add(1, 1)] }),
      {
        maxIterations: 3,
      },
    );
    const run = await fixture.ask("Go on for ever");
    expect(await run.ended).toMatchObject({ status: "completed" });
    const records = await fixture.read();
    expect(eventsOf(records, "reply")[0]?.reply).toContain("3 rounds");
    // Not of the node run that streamed other text.
    expect(records.at(-1)?.envelope.node_id).toBe("run-think-10");
    expect(fixture.ran).toHaveLength(3);
  });

  it("reports an answer that the provider cut off", async () => {
    const fixture = await createAgentFixture([{ text: "Once upon a", finishReason: "length" }]);
    await (
      await fixture.ask("Tell me")
    ).ended;
    expect(eventsOf(await fixture.read(), "error")[0]?.message).toContain("limit of output tokens");
  });

  it.each([
    ["cut", "model_stream_cut"],
    ["error", "model_failed"],
  ] as const)("ends the run if the model's stream fails: %s", async (kind, code) => {
    const fixture = await createAgentFixture([
      { text: "Half an answer", fault: { kind, after: 2 } },
      { text: "Better now." },
    ]);
    const run = await fixture.ask("Hi");
    expect(await run.ended).toMatchObject({ status: "error", code: expect.stringMatching(/^model_/) as string });
    const records = await fixture.read();
    expect(eventsOf(records, "error")).toMatchObject([{ stage: "llm_stream" }]);
    expect([code, "model_failed"]).toContain(eventsOf(records, "error")[0]?.code);
    expect(answerOf(records)).toBe("Half an ");
    expect(eventsOf(records, "llm_end")).toMatchObject([{ finish_reason: "error" }]);

    // The partial answer is part of the conversation, and the next turn works.
    expect(await (await fixture.ask("Again")).ended).toMatchObject({ status: "completed" });
    expect(findRuleViolation(fixture.model.prompts[1] ?? [])).toBeUndefined();
  });

  it("uses the stage of 002 on the execute path", async () => {
    const fixture = await createAgentFixture([{ fault: { kind: "throw" } }]);
    const run = await fixture.agent.answer(fixture.session, "Hi", { source: "execute" });
    await run.ended;
    expect(eventsOf(await fixture.read(), "error")).toMatchObject([{ stage: "llm_generate_with_tools" }]);
  });

  it("shows only the id of an unknown error", async () => {
    const told: [unknown, string][] = [];
    const fixture = await createAgentFixture([{ text: "x" }], { onError: (error, id) => void told.push([error, id]) });
    const run = await fixture.session.startRun({ message: "Hi" });
    const broken = new Error("secret of the program");
    const log = new Proxy(fixture.log, {
      get: (target, key) => {
        if (key === "listRuns") return () => Promise.reject(broken);
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    await fixture.agent.executeRun(log, run);
    const [error] = eventsOf(await fixture.read(), "error");
    expect(error).toEqual({
      type: "error",
      message: "The run failed unexpectedly",
      code: "run_failed",
      details: { error_id: told[0]?.[1] },
    });
    expect(told[0]?.[0]).toBe(broken);
  });

  it("continues if its tools return more than a record can hold", async () => {
    const flood = defineTool({
      name: "flood",
      description: "Gives a lot.",
      input: z.object({}),
      execute: () => "汉".repeat(100_000),
    });
    const calls = Array.from({ length: 8 }, () => ({ name: "flood" }));
    const fixture = await createAgentFixture([{ calls }, { text: "That was a lot." }], { tools: [flood] });
    const run = await fixture.ask("Go");
    expect(await run.ended).toMatchObject({ status: "completed" });
    await fixture.read();
    expect(JSON.stringify(fixture.model.prompts[1]?.at(-1))).toContain("[cut off: ");
  });

  it("accepts a long answer in one delta", async () => {
    const text = "0123456789".repeat(50_000);
    const fixture = await createAgentFixture([{ text, chunk: text.length }]);
    const run = await fixture.ask("Go");
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(answerOf(await fixture.read())).toBe(text);
  });

  it("reports an answer that is too long before its end", async () => {
    const fixture = await createAgentFixture([{ text: "0123456789".repeat(100_000), chunk: 50_000 }]);
    const run = await fixture.ask("Go");
    expect(await run.ended).toMatchObject({ status: "error", code: "model_output_too_large" });
    await fixture.read();
  });

  it("keeps blank texts out of the conversation and rejects blank messages", async () => {
    const fixture = await createAgentFixture(
      [{ text: " \n", calls: [add(1, 2)] }, { text: "3." }, { text: "Still here." }],
      {
        systemInstructions: " ",
      },
    );
    await (
      await fixture.ask("Add")
    ).ended;
    expect(await (await fixture.ask("  ")).ended).toMatchObject({ status: "error", code: "invalid_command" });
    expect(await (await fixture.ask("Hello?")).ended).toMatchObject({ status: "completed" });
    for (const prompt of fixture.model.prompts) expect(findRuleViolation(prompt)).toBeUndefined();
    expect(fixture.model.prompts.at(-1)?.[0]?.role).toBe("user");
  });

  it("accepts any id and name from a model", async () => {
    const fixture = await createAgentFixture([
      {
        calls: [
          { id: "constructor", name: "add", input: { a: 1, b: 2 } },
          { id: "__proto__", name: "toString" },
        ],
      },
      { text: "3" },
    ]);
    expect(await (await fixture.ask("Add")).ended).toMatchObject({ status: "completed" });
    expect(fixture.ran).toHaveLength(1);
    await fixture.read();
  });

  it("uses the given provider and base URL", async () => {
    const server = await startProviderServer();
    server.script = () => ({ text: "Hi." });
    const actor = agent({ model: "openai/gpt-4.1", baseURL: server.url, apiKey: server.key });
    const session = await actor.openSession(await createLog(), "s");
    expect(await (await actor.answer(session, "Hi")).ended).toMatchObject({ status: "completed" });
    expect(server.requests).toHaveLength(1);
    await session.close();
    await server.close();
    expect(() => agent({ model: new ScriptedModel([]), apiKey: "k" })).toThrow("its own provider");
  });

  it("throws immediately without a model", () => {
    expect(() => agent({ tools: [] })).toThrow(LoomError);
  });
});

describe("structured output", () => {
  const answer = { schema: z.object({ sum: z.number() }) };

  it("is the reply of every run, after any tools", async () => {
    const fixture = await createAgentFixture([{ calls: [add(1, 2)] }, { text: '{"sum": 3}' }], { answer });
    const run = await fixture.ask("Add");
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(JSON.stringify(fixture.model.prompts[0]?.[0])).toContain("matches this JSON Schema");
    const records = await fixture.read();
    expect(eventsOf(records, "reply")[0]?.reply).toBe('{"sum":3}');
    // A reply that must be checked is not sent as text.
    expect(eventsOf(records, "message_chunk").every(({ channel }) => channel === "thought")).toBe(true);
  });

  it("is the output of the schema, which the model receives", async () => {
    const schema = z.object({ n: z.coerce.number(), kind: z.string().default("plain") });
    const fixture = await createAgentFixture([{ text: '{"n": "5", "junk": 1}' }], {
      answer: { schema, inputSchema: { type: "object" }, description: "Count the words." },
    });
    await (
      await fixture.ask("Count")
    ).ended;
    expect(eventsOf(await fixture.read(), "reply")[0]?.reply).toBe('{"n":5,"kind":"plain"}');
    expect(JSON.stringify(fixture.model.prompts[0]?.[0])).toContain("Count the words.");
  });

  it("may be large", async () => {
    const list = Array.from({ length: 500 }, (_, index) => `${index}`.padEnd(1000, "x"));
    const fixture = await createAgentFixture([{ text: JSON.stringify({ list }), chunk: 50_000 }], {
      answer: { schema: z.object({ list: z.array(z.string()) }) },
    });
    const run = await fixture.ask("List");
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(JSON.parse(eventsOf(await fixture.read(), "reply")[0]?.reply ?? "")).toEqual({ list });
  });

  it("is requested again if the reply does not match", async () => {
    const fixture = await createAgentFixture([{ text: '{"sum": "three"}' }, { text: '{"sum": 3}' }], { answer });
    const run = await fixture.ask("Add");
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(JSON.stringify(fixture.model.prompts[1]?.at(-1))).toContain("does not match the schema");
    expect(eventsOf(await fixture.read(), "reply")[0]?.reply).toBe('{"sum":3}');
  });

  it("fails if the model never gives it", async () => {
    const fixture = await createAgentFixture(() => ({ text: "No." }), { answer });
    const run = await fixture.ask("Add");
    expect(await run.ended).toMatchObject({ status: "error", code: "model_output_invalid" });
    expect(fixture.model.requests).toHaveLength(2);
  });

  it("of a request replaces that of the agent", async () => {
    const fixture = await createAgentFixture([{ text: '{"city": "Oslo"}' }], { answer });
    const outputSchema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    await (
      await fixture.agent.answer(fixture.session, "Where?", { outputSchema })
    ).ended;
    expect(eventsOf(await fixture.read(), "reply")[0]?.reply).toBe('{"city":"Oslo"}');
  });

  it("needs a schema that can be used", () => {
    const opaque = { "~standard": { version: 1, vendor: "own", validate: () => ({ value: 1 }) } } as const;
    for (const [wrong, option] of [
      [{}, "answer.schema"],
      [{ schema: 5 }, "answer.schema"],
      [{ schema: opaque }, "answer.inputSchema"],
    ] as const)
      expect(() => agent({ model: "offline", answer: wrong as { schema: typeof opaque } })).toThrow(
        expect.objectContaining({ code: "invalid_arguments", details: { option } }),
      );
  });
});
