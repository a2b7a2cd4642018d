import { describe, expect, it } from "vitest";
import { z } from "zod";
import { findRuleBreak } from "../../../test/agents/find-rule-break.ts";
import { answerOf, eventsOf, setStage } from "../../../test/agents/stage.ts";
import { startProviderServer } from "../../../test/models/provider-server.ts";
import { createStreamCheck, DIALECT_NAMES, DIALECTS } from "../../dialects/index.ts";
import { createLog } from "../../engine/sender.contract.ts";
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
  it("streams what the model says, and replies with it", async () => {
    const stage = await setStage([{ reasoning: "Easy.", text: "Hello there." }]);
    const run = await stage.ask("Hi");
    expect(await run.ended).toMatchObject({ status: "completed" });
    const records = await stage.read();
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

  it("calls tools side by side and tells the model what they gave", async () => {
    const stage = await setStage([
      { text: "Let me see. ", calls: [add(1, 2, "x"), add(3, 4, "y")] },
      { text: "3 and 7." },
    ]);
    await (
      await stage.ask("Add")
    ).ended;
    const records = await stage.read();
    expect(eventsOf(records, "node_enter").map(({ id }) => id)).toEqual(["think", "act", "observe", "think"]);
    expect(eventsOf(records, "reply")[0]?.reply).toBe("3 and 7.");
    const starts = records.findIndex(({ event }) => event.type === "tool_end");
    expect(eventsOf(records.slice(0, starts), "tool_start")).toHaveLength(2);
    expect(stage.model.prompts[1]?.slice(1)).toEqual([
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

  it("breaks no rule of any dialect", async () => {
    const stage = await setStage([
      { reasoning: "Hm", text: "One. ", calls: [add(1, 2), remove("a", "r"), { name: "fail" }, { name: "nobody" }] },
      { text: "Two. ", calls: [{ name: "add", input: '{"a": 1,' }] },
      { text: "Three." },
    ]);
    const asked = stage.wait("tool_approval");
    const run = await stage.ask("Go");
    await asked;
    run.answerApproval({ callId: "r", decision: "rejected", reason: "no" });
    await run.ended;
    for (const dialect of DIALECT_NAMES) {
      const check = createStreamCheck(DIALECTS[dialect]);
      const issues: unknown[] = [];
      for await (const frames of openStream(stage.log, stage.session.sessionId, { dialect, modes: "all" }))
        for (const { text } of frames) issues.push(...check.check(text).issues);
      expect([dialect, ...issues, ...check.end()]).toEqual([dialect]);
    }
  });

  it("remembers the turns before, from the log", async () => {
    const stage = await setStage([{ calls: [add(1, 2, "x")] }, { text: "3." }, { text: "You said: add." }], {
      systemInstructions: "Be brief.",
    });
    await (
      await stage.ask("Add 1 and 2")
    ).ended;
    await (
      await stage.ask("What did I say?")
    ).ended;
    const prompt = stage.model.prompts[2] ?? [];
    expect(prompt.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "assistant", "user"]);
    expect(findRuleBreak(prompt)).toBeUndefined();

    // Another process has only the log.
    await stage.session.close();
    const other = await setStage([{ text: "Again: add." }], { log: stage.log, systemInstructions: "Be brief." });
    await (
      await other.ask("And again?")
    ).ended;
    expect(other.model.prompts[0]?.slice(0, -2)).toEqual(prompt);
  });

  it("forgets the oldest turns where they do not fit", async () => {
    const stage = await setStage(() => ({ text: "ok" }), { history: { maxRuns: 2 } });
    for (const message of ["a", "b", "c", "d"]) await (await stage.ask(message)).ended;
    const said = stage.model.prompts.at(-1)?.flatMap(({ role, content }) => (role === "user" ? content : []));
    expect(said).toEqual(["b", "c", "d"].map((text) => ({ type: "text", text })));
  });

  it("gives calls ids of their own where the model repeats itself", async () => {
    const stage = await setStage([{ calls: [add(1, 1, "c")] }, { calls: [add(2, 2, "c")] }, { text: "Done." }]);
    const run = await stage.ask("Twice");
    expect(await run.ended).toMatchObject({ status: "completed" });
    const records = await stage.read();
    const ends = eventsOf(records, "tool_end");
    expect(ends.map(({ result }) => result)).toEqual(["2", "4"]);
    expect(new Set(ends.map(({ call_id }) => call_id)).size).toBe(2);
    expect(findRuleBreak(stage.model.prompts[2] ?? [])).toBeUndefined();
  });

  it("lets the model put its arguments right", async () => {
    const stage = await setStage([
      { calls: [{ name: "add", input: '{"a": 1, "b"', id: "bad" }] },
      { calls: [{ name: "add", input: { a: "x", b: 2 }, id: "wrong" }] },
      { calls: [add(1, 2, "good")] },
      { text: "3" },
    ]);
    await (
      await stage.ask("Add")
    ).ended;
    const records = await stage.read();
    expect(stage.ran).toEqual([["add", { a: 1, b: 2 }]]);
    expect(eventsOf(records, "tool_end").map(({ error_code }) => error_code)).toEqual([
      "invalid_arguments",
      "invalid_arguments",
      undefined,
    ]);
    expect(eventsOf(records, "tool_call")[0]).toMatchObject({ arguments: {}, raw_arguments: '{"a": 1, "b"' });
    expect(JSON.stringify(stage.model.prompts[2]?.at(-1))).toContain("a");
  });

  it("goes on when a tool fails, and says so", async () => {
    const stage = await setStage([{ calls: [{ name: "fail" }, add(1, 2)] }, { text: "One failed." }]);
    const run = await stage.ask("Go");
    expect(await run.ended).toMatchObject({ status: "completed" });
    const records = await stage.read();
    expect(eventsOf(records, "error")).toMatchObject([{ stage: "tool_execute", code: "tool_failed" }]);
    expect(
      eventsOf(records, "tool_end")
        .map(({ name, is_error }) => `${name} ${is_error}`)
        .toSorted(),
    ).toEqual(["add false", "fail true"]);
  });

  it("answers with what it has when its rounds are used up", async () => {
    const script = Array.from({ length: 2 }, (_, index) => ({ calls: [add(index, 1)] }));
    const stage = await setStage([...script, { text: "I know this much." }], { maxIterations: 2 });
    const run = await stage.ask("Go on for ever");
    expect(await run.ended).toMatchObject({ status: "completed" });
    const records = await stage.read();
    expect(eventsOf(records, "error")).toMatchObject([{ stage: "iteration_limit", code: "iteration_limit" }]);
    expect(eventsOf(records, "reply")[0]?.reply).toBe("I know this much.");
    expect(stage.model.requests[2]?.toolChoice).toEqual({ type: "none" });
  });

  it("is never silent, though the model calls tools to the last", async () => {
    const stage = await setStage(
      (_, turn) => ({ ...(turn === 0 ? { text: "Let me see. " } : {}), calls: [add(1, 1)] }),
      {
        maxIterations: 3,
      },
    );
    const run = await stage.ask("Go on for ever");
    expect(await run.ended).toMatchObject({ status: "completed" });
    const records = await stage.read();
    expect(eventsOf(records, "reply")[0]?.reply).toContain("3 rounds");
    // Not of the node run that has said something else.
    expect(records.at(-1)?.envelope.node_id).toBe("run-think-10");
    expect(stage.ran).toHaveLength(3);
  });

  it("says when an answer was cut by the provider", async () => {
    const stage = await setStage([{ text: "Once upon a", finishReason: "length" }]);
    await (
      await stage.ask("Tell me")
    ).ended;
    expect(eventsOf(await stage.read(), "error")[0]?.message).toContain("limit of output tokens");
  });

  it.each([
    ["cut", "model_stream_cut"],
    ["error", "model_failed"],
  ] as const)("ends the run when the model's stream fails: %s", async (kind, code) => {
    const stage = await setStage([{ text: "Half an answer", fault: { kind, after: 2 } }, { text: "Better now." }]);
    const run = await stage.ask("Hi");
    expect(await run.ended).toMatchObject({ status: "error", code: expect.stringMatching(/^model_/) as string });
    const records = await stage.read();
    expect(eventsOf(records, "error")).toMatchObject([{ stage: "llm_stream" }]);
    expect([code, "model_failed"]).toContain(eventsOf(records, "error")[0]?.code);
    expect(answerOf(records)).toBe("Half an ");
    expect(eventsOf(records, "llm_end")).toMatchObject([{ finish_reason: "error" }]);

    // What it had said is part of the conversation, and the next turn works.
    expect(await (await stage.ask("Again")).ended).toMatchObject({ status: "completed" });
    expect(findRuleBreak(stage.model.prompts[1] ?? [])).toBeUndefined();
  });

  it("names the stage of 002 on the execute path", async () => {
    const stage = await setStage([{ fault: { kind: "throw" } }]);
    const run = await stage.agent.answer(stage.session, "Hi", { source: "execute" });
    await run.ended;
    expect(eventsOf(await stage.read(), "error")).toMatchObject([{ stage: "llm_generate_with_tools" }]);
  });

  it("shows nothing of an error that is not ours but its id", async () => {
    const told: [unknown, string][] = [];
    const stage = await setStage([{ text: "x" }], { onError: (error, id) => void told.push([error, id]) });
    const run = await stage.session.startRun({ message: "Hi" });
    const broken = new Error("secret of the program");
    const log = new Proxy(stage.log, {
      get: (target, key) => {
        if (key === "listRuns") return () => Promise.reject(broken);
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    await stage.agent.carryOut(log, run);
    const [error] = eventsOf(await stage.read(), "error");
    expect(error).toEqual({
      type: "error",
      message: "the run failed unexpectedly",
      code: "run_failed",
      details: { error_id: told[0]?.[1] },
    });
    expect(told[0]?.[0]).toBe(broken);
  });

  it("goes on though its tools give more than a record can hold", async () => {
    const flood = defineTool({
      name: "flood",
      description: "Gives a lot.",
      input: z.object({}),
      execute: () => "汉".repeat(100_000),
    });
    const calls = Array.from({ length: 8 }, () => ({ name: "flood" }));
    const stage = await setStage([{ calls }, { text: "That was a lot." }], { tools: [flood] });
    const run = await stage.ask("Go");
    expect(await run.ended).toMatchObject({ status: "completed" });
    await stage.read();
    expect(JSON.stringify(stage.model.prompts[1]?.at(-1))).toContain("[cut: ");
  });

  it("takes an answer that comes at once, however long", async () => {
    const text = "0123456789".repeat(50_000);
    const stage = await setStage([{ text, chunk: text.length }]);
    const run = await stage.ask("Go");
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(answerOf(await stage.read())).toBe(text);
  });

  it("says that an answer is too long, rather than lose it at the end", async () => {
    const stage = await setStage([{ text: "0123456789".repeat(100_000), chunk: 50_000 }]);
    const run = await stage.ask("Go");
    expect(await run.ended).toMatchObject({ status: "error", code: "model_output_too_large" });
    await stage.read();
  });

  it("keeps blank texts out of the conversation, and answers none", async () => {
    const stage = await setStage([{ text: " \n", calls: [add(1, 2)] }, { text: "3." }, { text: "Still here." }], {
      systemInstructions: " ",
    });
    await (
      await stage.ask("Add")
    ).ended;
    expect(await (await stage.ask("  ")).ended).toMatchObject({ status: "error", code: "invalid_command" });
    expect(await (await stage.ask("Hello?")).ended).toMatchObject({ status: "completed" });
    for (const prompt of stage.model.prompts) expect(findRuleBreak(prompt)).toBeUndefined();
    expect(stage.model.prompts.at(-1)?.[0]?.role).toBe("user");
  });

  it("takes any id and name a model makes up", async () => {
    const stage = await setStage([
      {
        calls: [
          { id: "constructor", name: "add", input: { a: 1, b: 2 } },
          { id: "__proto__", name: "toString" },
        ],
      },
      { text: "3" },
    ]);
    expect(await (await stage.ask("Add")).ended).toMatchObject({ status: "completed" });
    expect(stage.ran).toHaveLength(1);
    await stage.read();
  });

  it("is where it was told to be", async () => {
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

  it("says at once that it has no model", () => {
    expect(() => agent({ tools: [] })).toThrow(LoomError);
  });
});

describe("an answer that has a form", () => {
  const answer = { schema: z.object({ sum: z.number() }) };

  it("is the arguments of the tool that gives it", async () => {
    const stage = await setStage([{ calls: [add(1, 2)] }, { calls: [{ name: "final_answer", input: { sum: 3 } }] }], {
      answer,
    });
    const run = await stage.ask("Add");
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(eventsOf(await stage.read(), "reply")[0]?.reply).toBe('{"sum":3}');
  });

  it("is what the schema makes of it", async () => {
    const schema = z.object({ n: z.coerce.number(), kind: z.string().default("plain") });
    const stage = await setStage([{ calls: [{ name: "final_answer", input: { n: "5", junk: 1 } }] }], {
      answer: { schema, inputSchema: { type: "object" } },
    });
    await (
      await stage.ask("Count")
    ).ended;
    expect(eventsOf(await stage.read(), "reply")[0]?.reply).toBe('{"n":5,"kind":"plain"}');
  });

  it("may be large", async () => {
    const list = Array.from({ length: 500 }, (_, index) => `${index}`.padEnd(1000, "x"));
    const stage = await setStage([{ calls: [{ name: "final_answer", input: { list } }], chunk: 50_000 }], {
      answer: { schema: z.object({ list: z.array(z.string()) }) },
    });
    const run = await stage.ask("List");
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(JSON.parse(eventsOf(await stage.read(), "reply")[0]?.reply ?? "")).toEqual({ list });
  });

  it("is asked for again where the model answers without it, or wrongly", async () => {
    const stage = await setStage(
      [
        { text: "It is 3." },
        { calls: [{ name: "final_answer", input: { sum: "three" } }] },
        { calls: [{ name: "final_answer", input: { sum: 3 } }] },
      ],
      { answer },
    );
    const run = await stage.ask("Add");
    expect(await run.ended).toMatchObject({ status: "completed" });
    expect(stage.model.requests[1]?.toolChoice).toEqual({ type: "tool", toolName: "final_answer" });
    expect(stage.model.prompts[1]?.at(-1)?.role).toBe("user");
    const records = await stage.read();
    // What the model said beside it is no answer, and the reply is of the node run that gave it.
    expect(eventsOf(records, "message_chunk").every(({ channel }) => channel === "thought")).toBe(true);
    expect(records.at(-1)?.envelope.node_id).toMatch(/^run-act-/);
    expect(eventsOf(await stage.read(), "reply")[0]?.reply).toBe('{"sum":3}');
  });

  it("is given up on when the model never gives it", async () => {
    const stage = await setStage(() => ({ text: "No." }), { answer, maxIterations: 2 });
    const run = await stage.ask("Add");
    expect(await run.ended).toMatchObject({ status: "error", code: "iteration_limit" });
    expect(stage.model.requests.length).toBeLessThan(8);
    // Said once, however often it was asked for; the other is the end of the run.
    expect(eventsOf(await stage.read(), "error").map(({ code }) => code)).toEqual([
      "iteration_limit",
      "iteration_limit",
    ]);
  });
});
