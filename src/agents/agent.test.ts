// What an agent gives whoever asks it, and what agents of different kinds have to do with each other: they share
// sessions, histories, and runs that were left.
import { describe, expect, it, vi } from "vitest";
import { collect, expectNothingLeft, failureOf, setFacade } from "../../test/agents/facade-stage.ts";
import { findRuleBreak } from "../../test/agents/find-rule-break.ts";
import { eventsOf, SESSION, setStage } from "../../test/agents/stage.ts";
import { openSession, sendCommand } from "../engine/index.ts";
import { createLog } from "../engine/sender.contract.ts";
import type { Log } from "../log/index.ts";
import type { Script, ScriptedRequest } from "../models/scripted-model.ts";
import { type CallbackPayload, MetricsCollector, Observation } from "../observe/index.ts";
import type { JsonObject } from "../protocol/index.ts";
import { agent, type AgentOptions } from "./agent.ts";

const PLAN = '{"nodes": [{"id": "sum", "task": "add", "needs": [], "operation": "generate"}]}';

/** A graph of one thought, which uses a tool. */
const sums: Script = ({ prompt }: ScriptedRequest) => {
  const last = prompt.at(-1);
  const asked =
    last?.role === "user" ? last.content.map((part) => (part.type === "text" ? part.text : "")).join("") : "";
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

  it.each<[unknown, string]>([
    [null, "the options of an agent"],
    ["openai", "the options of an agent"],
    [{ callbacks: {} }, "`callbacks`"],
    [{ callbacks: [{}] }, "`callbacks`"],
    [{ observers: [null] }, "`observers`"],
    [{ metrics: {} }, "`metrics`"],
    [{ tools: "x" }, "`tools`"],
    [{ retriever: {} }, "`retriever`"],
    [{ compression: "yes" }, "`compression`"],
    [{ systemInstructions: 5 }, "`systemInstructions`"],
    [{ log: {} }, "`log`"],
    [{ approve: "maybe" }, "`approve`"],
    [{ maxCalls: "x" }, "`maxCalls`"],
    [{ maxCalls: 0 }, "`maxCalls`"],
    [{ maxContextBytes: Number.NaN }, "`maxContextBytes`"],
    [{ memory: { maxSessions: 0 } }, "`memory.maxSessions`"],
    [{ onError: {} }, "`onError`"],
  ])("refuses options of the wrong form: %o", (wrong, name) => {
    const options = (
      typeof wrong === "object" && wrong !== null ? { model: "offline", ...wrong } : wrong
    ) as AgentOptions;
    let thrown: unknown;
    try {
      agent(options);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: "invalid_arguments" });
    expect((thrown as Error).message).toContain(name);
  });

  it("takes an empty key for none", async () => {
    vi.stubEnv("OPENAI_API_KEY", undefined);
    await using actor = agent({ provider: "openai", model: "gpt-5", apiKey: "" });
    expect(await failureOf(actor.run("x"))).toMatchObject({ code: "missing_key" });
    vi.unstubAllEnvs();
  });

  it("refuses what it does not know", () => {
    const wrong = { kind: "cot", model: "offline" } as unknown as AgentOptions;
    expect(() => agent(wrong)).toThrow('there is no agent of the kind "cot"');
    const formed = { kind: "tot", model: "offline", answer: { schema: {} } } as unknown as AgentOptions;
    expect(() => agent(formed)).toThrow("an answer with a form is for the kind react");
  });
});

describe("an agent that is asked", () => {
  const adds: Script = [
    { calls: [{ name: "add", input: { a: 1, b: 2 }, id: "c1" }] },
    { text: "It is 3.", usage: { promptTokens: 20, completionTokens: 4, totalTokens: 24 } },
  ];

  it("gives the answer and what it took", async () => {
    const { agent: actor, log } = await setFacade(adds);
    const result = await actor.run("Add", { requestId: "r1", sessionId: "s" });
    expect(result).toMatchObject({
      reply: "It is 3.",
      status: "completed",
      sessionId: "s",
      requestId: "r1",
      toolCalls: 1,
    });
    expect(result.usage.totalTokens).toBeGreaterThanOrEqual(24);
    expect(result.sources).toBeUndefined();
    expect((await log.getRun("s", result.runId))?.requestId).toBe("r1");
    await expectNothingLeft(log);
  });

  it("gives the sources it was shown", async () => {
    const retriever = { name: "library", retrieve: async () => [{ title: "Bread", content: "Flour, water, salt." }] };
    const { agent: actor } = await setFacade([{ text: "Flour [1]." }], { retriever });
    expect((await actor.run("Bread?")).sources).toMatchObject([{ title: "Bread", ref: 1 }]);
  });

  it.each([
    [[{ fault: { kind: "throw" } }], "model_failed", "llm_generate_with_tools"],
    [[{ text: "Half", fault: { kind: "cut", after: 1 } }], "model_stream_cut", "llm_generate_with_tools"],
  ] as [Script, string, string][])("rejects with the code of the run that failed", async (script, code, stage) => {
    const { agent: actor, log } = await setFacade(script, { callOptions: { maxRetries: 0 } });
    const error = await failureOf(actor.run("Hello", { requestId: "r1", sessionId: "s" }));
    const [run] = await log.listRuns("s");
    const details = { request_id: "r1", session_id: "s", run_id: run?.runId, stage };
    expect(error).toMatchObject({ code, details });
    await expectNothingLeft(log);
  });

  it("says who cancelled a run that the caller did not", async () => {
    const { promise: until } = Promise.withResolvers<void>();
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const { agent: actor, log } = await setFacade(() => {
      resolve();
      return { text: "…", until };
    });
    const going = failureOf(actor.run("Hello", { sessionId: "s" }));
    await asked;
    await sendCommand(log, { commandId: "k", sessionId: "s", kind: "cancel", body: { reason: "the user left" } });
    expect(await going).toMatchObject({ code: "cancelled", message: "the user left" });
  });

  it.each<[unknown, object]>([
    [7, {}],
    ["x", { requestId: "" }],
    ["x", { requestId: "r".repeat(300) }],
    ["x", { requestId: "\ud800" }],
    ["x", { context: [1] }],
    ["x", { context: "text" }],
    ["x", { context: () => 1 }],
    ["x", { context: { big: "x".repeat(20_000) } }],
    ["x", { context: { count: 1n } }],
    [" ", {}],
    ["x", null as unknown as object],
    ["x", 5 as unknown as object],
    ["x", { signal: {} }],
    ["x", { signal: "x" }],
    ["x", { sessionId: 5 }],
    ["x", { whenBusy: "foo" }],
    ["x", { approve: 5 }],
  ])("refuses what is not a question: %o %o", async (message, options) => {
    const { agent: actor, log } = await setFacade([{ text: "x" }]);
    const error = await failureOf(actor.run(message as string, options));
    expect(error.code).toBe("invalid_command");
    await actor.close();
    await expectNothingLeft(log);
  });

  it("says which call it refuses, as far as it can know", async () => {
    const { agent: actor, log } = await setFacade([]);
    const options = { sessionId: "s", requestId: "r1" };
    const ids = { session_id: "s", request_id: "r1" };
    expect(await failureOf(actor.run("x", { ...options, whenBusy: "foo" as "reject" }))).toMatchObject({
      details: ids,
    });
    const session = await actor.openSession(log, "s");
    const held = await failureOf(actor.run("x", options));
    expect(held).toMatchObject({ code: "lease_held", details: ids });
    expect(held.message).toContain("has to close it first");
    await session.close();
    await actor.close();
    expect(await failureOf(actor.run("x", options))).toMatchObject({ code: "session_closed", details: ids });
    expect(await failureOf(actor.openSession(log, "s"))).toMatchObject({ code: "session_closed" });
    await using other = await openSession(log, "s");
    expect(await failureOf(actor.answer(other, "x"))).toMatchObject({ code: "session_closed" });
  });

  it("says what went wrong on the way to a good end", async () => {
    const adding: Script = ({ toolChoice }) =>
      toolChoice?.type === "none" ? { text: "3." } : { calls: [{ name: "add", input: { a: 1, b: 2 } }] };
    const { agent: actor } = await setFacade(adding, { maxIterations: 1 });
    const { errors } = await actor.run("Add");
    expect(errors).toMatchObject([{ code: "iteration_limit", stage: "iteration_limit" }]);
    expect((await (await setFacade([{ text: "x" }])).agent.run("x")).errors).toEqual([]);
  });

  it("gives the provider's error as the cause, and the stage of a model that cannot be had", async () => {
    const broken = new TypeError("boom");
    const model = {
      specificationVersion: "v3",
      provider: "p",
      modelId: "m",
      supportedUrls: {},
      doStream: () => {
        throw broken;
      },
    };
    const { agent: actor } = await setFacade([], { model: model as never, callOptions: { maxRetries: 0 } });
    expect(await failureOf(actor.run("x"))).toMatchObject({
      code: "model_failed",
      cause: { name: "TypeError", message: "boom" },
    });
    await using keyless = agent({ model: "nobody/m" });
    const details = { stage: "llm_generate", request_id: "r1" };
    expect(await failureOf(keyless.run("x", { requestId: "r1" }))).toMatchObject({ code: "unknown_model", details });
    const { events } = await collect(keyless.stream("x"));
    expect(events.at(-2)).toMatchObject({ type: "error", stage: "llm_stream" });
  });

  it("takes a context that has a type of its own, without what is undefined", async () => {
    interface Caller {
      readonly tenant: string;
      readonly user?: string | undefined;
    }
    const caller: Caller = { tenant: "t1", user: undefined };
    const { agent: actor, log } = await setFacade([{ text: "x" }]);
    await actor.run("x", { sessionId: "s", context: caller });
    const { records } = await log.read("s", { after: 0 });
    expect(records[0]?.event).toMatchObject({ context: { tenant: "t1" } });
  });

  it("waits for callbacks as long as it is told to, if that is a time", async () => {
    const { agent: actor } = await setFacade([{ text: "x" }], { callbacks: [{ onEvent: () => undefined }] });
    await actor.run("x");
    for (const ms of [Number.POSITIVE_INFINITY, 2 ** 40]) expect(await actor.flush(ms)).toBe(true);
    expect([true, false]).toContain(await actor.flush(0));
    for (const ms of [-1, Number.NaN, "5" as unknown as number]) {
      expect(await failureOf(actor.flush(ms))).toMatchObject({ code: "invalid_arguments" });
      expect(await failureOf(actor.close({ flushMs: ms }))).toMatchObject({ code: "invalid_arguments" });
    }
    await actor.close({ flushMs: Number.POSITIVE_INFINITY });
  });

  it("does not wait longer for what is read from a log", async () => {
    const idle = vi.spyOn(Observation.prototype, "idle").mockReturnValue(new Promise(() => undefined));
    const { agent: actor } = await setFacade([{ text: "x" }]);
    expect(await actor.flush(1)).toBe(false);
    idle.mockRestore();
    expect(await actor.flush()).toBe(true);
  });

  it("says how many events callbacks were not told", async () => {
    const callbackOptions = { maxBacklog: 1, onError: () => undefined };
    const callbacks = [{ onEvent: () => new Promise(() => undefined) }];
    const { agent: actor } = await setFacade([{ text: "x" }], { callbacks, callbackOptions });
    expect(actor.callbacksDropped).toBe(0);
    await actor.run("x");
    await actor.run("x").catch(() => undefined);
    expect(actor.callbacksDropped).toBeGreaterThan(0);
    await actor.close({ flushMs: 1 });
  });

  it("tells callbacks the same on both paths, with the caller's id and context", async () => {
    const told = { execute: [] as CallbackPayload[], stream: [] as CallbackPayload[] };
    const callbacks = [{ onEvent: (_: string, payload: CallbackPayload) => void told[payload.source].push(payload) }];
    const { agent: actor } = await setFacade((_, turn) => (adds as readonly object[])[turn % 2] ?? {}, { callbacks });
    const context: JsonObject = { tenant: "t1", deep: { list: [1, null, "x"] } };
    await actor.run("Add", { requestId: "r1", context });
    await collect(actor.stream("Add", { requestId: "r1", context }));
    expect(await actor.flush()).toBe(true);
    const plain = (payloads: readonly CallbackPayload[]) =>
      payloads.map(({ ts: _ts, source: _source, ...rest }) => rest);
    expect(plain(told.execute)).toEqual(plain(told.stream));
    expect(told.execute.map(({ type }) => type)).toEqual([
      "request_start",
      "tool_calls_start",
      "tool_result",
      "agent_finish",
    ]);
    for (const payload of told.stream) expect(payload).toMatchObject({ request_id: "r1", context });
  });

  it("keeps the context as it was when it was given", async () => {
    const seen: unknown[] = [];
    const callbacks = [{ onEvent: (_: string, { context }: CallbackPayload) => void seen.push(context) }];
    const { agent: actor } = await setFacade([{ text: "x" }, { text: "y" }], { callbacks });
    const context = { step: 1 };
    const going = [actor.run("a", { sessionId: "s" }), actor.run("b", { sessionId: "s", context })];
    context.step = 2;
    await Promise.all(going);
    await actor.flush();
    expect(seen).toEqual([undefined, undefined, { step: 1 }, { step: 1 }]);
  });

  it("is observed once, however its session was opened", async () => {
    const seen: string[] = [];
    const callbacks = [{ onEvent: (type: string) => void seen.push(type) }];
    const { agent: actor, log } = await setFacade(() => ({ text: "Hello." }), { callbacks });
    for (const open of [() => actor.openSession(log, "s1"), () => openSession(log, "s2")]) {
      await using session = await open();
      await (
        await actor.answer(session, "Hello")
      ).ended;
    }
    await actor.flush();
    expect(seen).toEqual(["request_start", "agent_finish", "request_start", "agent_finish"]);
    expect(actor.metrics.summary().runs).toMatchObject({ started: 2, completed: 2 });
  });

  it("counts in the collector it was given", async () => {
    const metrics = new MetricsCollector();
    const { agent: one } = await setFacade([{ text: "x" }], { metrics });
    const { agent: two } = await setFacade(adds, { metrics });
    await Promise.all([one.run("a"), two.run("b")]);
    expect(one.metrics).toBe(metrics);
    expect(metrics.summary()).toMatchObject({ runs: { completed: 2 }, tools: { calls: 1 } });
  });

  it("does not wait for a callback that hangs", async () => {
    const callbacks = [{ onEvent: () => new Promise(() => undefined) }];
    const { agent: actor } = await setFacade([{ text: "x" }], { callbacks, onError: () => undefined });
    expect(await actor.run("a")).toMatchObject({ reply: "x" });
    expect(await actor.flush(1)).toBe(false);
    await actor.close({ flushMs: 1 });
  });

  it("tells its owner what callbacks throw", async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const broken = () => {
      throw new Error("the callback broke");
    };
    const { agent: actor } = await setFacade([{ text: "x" }], { callbacks: [{ onEvent: broken }], onError });
    expect(await actor.run("a")).toMatchObject({ reply: "x" });
    await actor.flush();
    expect(onError.mock.calls[0]?.[0]).toMatchObject({ code: "callback_failed" });
  });

  it("that is closed ends what is going, and takes no more", async () => {
    const { promise: until } = Promise.withResolvers<void>();
    const seen: string[] = [];
    const callbacks = [{ onEvent: (type: string) => void seen.push(type) }];
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const script: Script = (_, turn) => {
      if (turn === 1) resolve();
      return { text: "x", until };
    };
    const { agent: actor, log } = await setFacade(script, { callbacks });
    const going = failureOf(actor.run("a", { sessionId: "s" }));
    const queued = failureOf(actor.run("b", { sessionId: "s" }));
    const streamed = collect(actor.stream("c"));
    // The first and the third are at the model.
    await asked;
    await Promise.all([actor.close(), actor.close()]);
    expect(await going).toMatchObject({ code: "cancelled", message: "the agent was closed" });
    expect(await queued).toMatchObject({ code: "cancelled" });
    expect((await streamed).events.at(-1)).toMatchObject({ type: "agent_finish", status: "cancelled" });
    expect(await failureOf(actor.run("d"))).toMatchObject({ code: "session_closed" });
    expect(seen.filter((type) => type === "agent_finish").length).toBeGreaterThanOrEqual(2);
    await expectNothingLeft(log);
  });
});

describe("metrics", () => {
  it("count nothing where nobody wants them to", async () => {
    const counts = [undefined, false as const].map(async (metrics) => {
      await using actor = agent({ provider: "offline", ...(metrics === undefined ? {} : { metrics }) });
      await actor.run("Hello");
      return actor.metrics.summary().runs.completed;
    });
    expect(await Promise.all(counts)).toEqual([1, 0]);
  });
});
