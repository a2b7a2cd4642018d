// The public API of an agent, and agents of different kinds that share sessions, histories and dead runs.
import { describe, expect, it, vi } from "vitest";
import { collect, expectNothingLeft, failureOf, createFacadeFixture } from "../../test/agents/facade-fixture.ts";
import { findRuleViolation } from "../../test/agents/find-rule-violation.ts";
import { eventsOf, SESSION, createAgentFixture } from "../../test/agents/agent-fixture.ts";
import { openSession, sendCommand } from "../engine/index.ts";
import { createLog } from "../../test/contracts/sender.ts";
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
  it("write their kind into runs whose sender named no agent", async () => {
    const fixture = await createAgentFixture(sums, { kind: "got" });
    const body = { message: "Add one and two" };
    await sendCommand(fixture.log, { commandId: "c1", sessionId: SESSION, kind: "enqueue", body });
    await fixture.wait("reply");
    expect(kindsOf(await fixture.read())).toEqual(["got"]);
  });

  it("share questions and answers, and tool results as text if no tools are offered", async () => {
    const log = await createLog();
    const first = await createAgentFixture(
      [{ calls: [{ name: "add", input: { a: 1, b: 2 }, id: "call_1" }] }, { text: "It is 3." }],
      { log },
    );
    await (
      await first.ask("Add")
    ).ended;
    await first.session.close();
    const second = await createAgentFixture(sums, { log, kind: "got" });
    await (
      await second.ask("And again?")
    ).ended;
    for (const prompt of second.model.prompts) expect(findRuleViolation(prompt)).toBeUndefined();
    const [planning] = second.model.prompts;
    expect(JSON.stringify(planning)).toContain("returned: 3");
    expect(planning?.some(({ role }) => role === "tool")).toBe(false);
    await second.session.close();
    // A search keeps its tool calls to itself, also under a custom agent name.
    const third = await createAgentFixture([{ text: "Yes." }], { log });
    await (
      await third.ask("Sure?")
    ).ended;
    const [asked] = third.model.prompts;
    expect(asked?.filter(({ role }) => role === "tool")).toHaveLength(1);
    expect(JSON.stringify(asked)).toContain("3, as I said.");
  });

  /** A run that stops in the middle of a thought. */
  async function leave(log: Log, name?: string): Promise<void> {
    const stalled: Script = (_, turn) =>
      turn === 0 ? { text: PLAN } : { text: "…", fault: { kind: "stall", after: 1 } };
    const fixture = await createAgentFixture(stalled, { log, kind: "got" });
    const there = fixture.wait("got_node_start");
    await fixture.agent.answer(fixture.session, "Add", name === undefined ? {} : { agent: name });
    await there;
    await fixture.session.close({ run: "leave" });
  }

  it.each<[string, string | undefined, AgentOptions["kind"], string]>([
    ["resumes its own run", undefined, "got", "resumed"],
    ["resumes its own run under a custom name", "researcher", "got", "resumed"],
    ["does not resume a run of another kind", undefined, "react", "ended"],
  ])("%s", async (_, name, kind, outcome) => {
    const log = await createLog();
    await leave(log, name);
    const fixture = await createAgentFixture(sums, kind === "got" ? { log, kind } : { log });
    await fixture.session.idle();
    expect(fixture.session.recovered).toMatchObject([{ outcome }]);
    const end = eventsOf(await fixture.read(), "run_end")[0];
    expect(end).toMatchObject(
      outcome === "resumed" ? { status: "completed" } : { status: "error", code: "interrupted" },
    );
  });

  it.each<[unknown, string]>([
    [null, "The options"],
    ["openai", "The options"],
    [{ callbacks: {} }, "`callbacks`"],
    [{ callbacks: [{}] }, "`callbacks`"],
    [{ callbackWaitMs: -1 }, "`callbackWaitMs`"],
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
  ])("rejects options of the wrong type: %o", (wrong, name) => {
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

  it("treats an empty API key as none", async () => {
    vi.stubEnv("OPENAI_API_KEY", undefined);
    await using actor = agent({ provider: "openai", model: "gpt-5", apiKey: "" });
    expect(await failureOf(actor.run("x"))).toMatchObject({ code: "missing_key" });
    vi.unstubAllEnvs();
  });
});

describe("run and stream", () => {
  const adds: Script = [
    { calls: [{ name: "add", input: { a: 1, b: 2 }, id: "c1" }] },
    { text: "It is 3.", usage: { promptTokens: 20, completionTokens: 4, totalTokens: 24 } },
  ];

  it("return the answer and its usage", async () => {
    const { agent: actor, log } = await createFacadeFixture(adds);
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

  it("return the sources", async () => {
    const retriever = { name: "library", retrieve: async () => [{ title: "Bread", content: "Flour, water, salt." }] };
    const { agent: actor } = await createFacadeFixture([{ text: "Flour [1]." }], { retriever });
    expect((await actor.run("Bread?")).sources).toMatchObject([{ title: "Bread", ref: 1 }]);
  });

  it.each([
    [[{ fault: { kind: "throw" } }], "model_failed", "llm_generate_with_tools"],
    [[{ text: "Half", fault: { kind: "cut", after: 1 } }], "model_stream_cut", "llm_generate_with_tools"],
  ] as [Script, string, string][])("reject with the code of a failed run", async (script, code, stage) => {
    const { agent: actor, log } = await createFacadeFixture(script, { callOptions: { maxRetries: 0 } });
    const error = await failureOf(actor.run("Hello", { requestId: "r1", sessionId: "s" }));
    const [run] = await log.listRuns("s");
    const details = { request_id: "r1", session_id: "s", run_id: run?.runId, stage };
    expect(error).toMatchObject({ code, details });
    await expectNothingLeft(log);
  });

  it("report the reason of a cancel by another client", async () => {
    const { promise: until } = Promise.withResolvers<void>();
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const { agent: actor, log } = await createFacadeFixture(() => {
      resolve();
      return { text: "…", until };
    });
    const pending = failureOf(actor.run("Hello", { sessionId: "s" }));
    await asked;
    await sendCommand(log, { commandId: "k", sessionId: "s", kind: "cancel", body: { reason: "the user left" } });
    expect(await pending).toMatchObject({ code: "cancelled", message: "the user left" });
  });

  it.each<[unknown, object, string]>([
    [7, {}, "invalid_command"],
    ["x", { requestId: "" }, "`requestId` must be a string of 1 to"],
    ["x", { requestId: "r".repeat(300) }, "`requestId`"],
    ["x", { requestId: "\ud800" }, "unpaired surrogates"],
    ["x", { context: [1] }, "`context` must be an object, not an array"],
    ["x", { context: "text" }, "`context`"],
    ["x", { context: () => 1 }, "`context`"],
    ["x", { context: { big: "x".repeat(20_000) } }, "invalid_command"],
    ["x", { context: { count: 1n } }, "invalid_command"],
    [" ", {}, "invalid_command"],
    ["x", null as unknown as object, "The options must be an object, not null"],
    ["x", 5 as unknown as object, "The options must be an object, not 5"],
    ["x", { signal: {} }, "`signal` must be an AbortSignal"],
    ["x", { signal: "x" }, '`signal` must be an AbortSignal, not "x"'],
    ["x", { sessionId: 5 }, "`sessionId` must be a string, not 5"],
    ["x", { whenBusy: "foo" }, '`whenBusy` must be enqueue, reject or interrupt, not "foo"'],
    ["x", { approve: 5 }, '`approve` must be "wait" or a function, not 5'],
    ["x", { onInterruption: "go" }, '`onInterruption` must be resume or fail, not "go"'],
  ])("reject an invalid message or option: %o %o", async (message, options, reason) => {
    const { agent: actor, log } = await createFacadeFixture([{ text: "x" }]);
    const error = await failureOf(actor.run(message as string, options));
    const isOption = reason !== "invalid_command";
    expect(error.code).toBe(isOption ? "invalid_arguments" : "invalid_command");
    if (isOption) expect(error.message).toContain(reason);
    await actor.close();
    await expectNothingLeft(log);
  });

  it("report the ids of a rejected call", async () => {
    const { agent: actor, log } = await createFacadeFixture([]);
    const options = { sessionId: "s", requestId: "r1" };
    const ids = { session_id: "s", request_id: "r1" };
    expect(await failureOf(actor.run("x", { ...options, whenBusy: "foo" as "reject" }))).toMatchObject({
      details: ids,
    });
    const session = await actor.openSession(log, "s");
    const held = await failureOf(actor.run("x", { ...options, whenBusy: "reject" }));
    expect(held).toMatchObject({ code: "lease_held", details: ids });
    expect(held.message).toContain("close it in the other agent");
    await session.close();
    await actor.close();
    expect(await failureOf(actor.run("x", options))).toMatchObject({ code: "session_closed", details: ids });
    expect(await failureOf(actor.openSession(log, "s"))).toMatchObject({ code: "session_closed" });
    await using other = await openSession(log, "s");
    expect(await failureOf(actor.answer(other, "x"))).toMatchObject({ code: "session_closed" });
  });

  it("return errors that did not end the run", async () => {
    const adding: Script = ({ toolChoice }) =>
      toolChoice?.type === "none" ? { text: "3." } : { calls: [{ name: "add", input: { a: 1, b: 2 } }] };
    const { agent: actor } = await createFacadeFixture(adding, { maxIterations: 1 });
    const { errors } = await actor.run("Add");
    expect(errors).toMatchObject([{ code: "iteration_limit", stage: "iteration_limit" }]);
    expect((await (await createFacadeFixture([{ text: "x" }])).agent.run("x")).errors).toEqual([]);
  });

  it("return the provider's error as the cause, with the stage", async () => {
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
    const { agent: actor } = await createFacadeFixture([], { model: model as never, callOptions: { maxRetries: 0 } });
    expect(await failureOf(actor.run("x"))).toMatchObject({
      code: "model_failed",
      cause: { name: "TypeError", message: "boom" },
    });
    await using keyless = agent({ model: "unknown/m" });
    const details = { stage: "llm_generate", request_id: "r1" };
    expect(await failureOf(keyless.run("x", { requestId: "r1" }))).toMatchObject({ code: "unknown_model", details });
    const { events } = await collect(keyless.stream("x"));
    expect(events.at(-2)).toMatchObject({ type: "error", stage: "llm_stream" });
  });

  it("accept a context with an interface type and drop undefined values", async () => {
    interface Caller {
      readonly tenant: string;
      readonly user?: string | undefined;
    }
    const caller: Caller = { tenant: "t1", user: undefined };
    const { agent: actor, log } = await createFacadeFixture([{ text: "x" }]);
    await actor.run("x", { sessionId: "s", context: caller });
    const { records } = await log.read("s", { after: 0 });
    expect(records[0]?.event).toMatchObject({ context: { tenant: "t1" } });
  });

  it("flush for the given time and reject an invalid one", async () => {
    const { agent: actor } = await createFacadeFixture([{ text: "x" }], { callbacks: [{ onEvent: () => undefined }] });
    await actor.run("x");
    for (const ms of [Number.POSITIVE_INFINITY, 2 ** 40]) expect(await actor.flush(ms)).toBe(true);
    expect([true, false]).toContain(await actor.flush(0));
    for (const ms of [-1, Number.NaN, "5" as unknown as number]) {
      expect(await failureOf(actor.flush(ms))).toMatchObject({ code: "invalid_arguments" });
      expect(await failureOf(actor.close({ flushMs: ms }))).toMatchObject({ code: "invalid_arguments" });
    }
    await actor.close({ flushMs: Number.POSITIVE_INFINITY });
  });

  it("flush without waiting for records read from a log", async () => {
    const idle = vi.spyOn(Observation.prototype, "idle").mockReturnValue(new Promise(() => undefined));
    const { agent: actor } = await createFacadeFixture([{ text: "x" }]);
    expect(await actor.flush(1)).toBe(false);
    idle.mockRestore();
    expect(await actor.flush()).toBe(true);
  });

  it("count the events that callbacks did not receive", async () => {
    const callbackOptions = { maxBacklog: 1, onError: () => undefined };
    const callbacks = [{ onEvent: () => new Promise(() => undefined) }];
    const options = { callbacks, callbackOptions, callbackWaitMs: 0 };
    const { agent: actor } = await createFacadeFixture([{ text: "x" }], options);
    expect(actor.callbacksDropped).toBe(0);
    await actor.run("x");
    await actor.run("x").catch(() => undefined);
    expect(actor.callbacksDropped).toBeGreaterThan(0);
    await actor.close({ flushMs: 1 });
  });

  it("give callbacks the same events, with the request id and the context", async () => {
    const received = { execute: [] as CallbackPayload[], stream: [] as CallbackPayload[] };
    const callbacks = [
      { onEvent: (_: string, payload: CallbackPayload) => void received[payload.source].push(payload) },
    ];
    const { agent: actor } = await createFacadeFixture((_, turn) => (adds as readonly object[])[turn % 2] ?? {}, {
      callbacks,
    });
    const context: JsonObject = { tenant: "t1", deep: { list: [1, null, "x"] } };
    await actor.run("Add", { requestId: "r1", context });
    await collect(actor.stream("Add", { requestId: "r1", context }));
    expect(await actor.flush()).toBe(true);
    const plain = (payloads: readonly CallbackPayload[]) =>
      payloads.map(({ ts: _ts, source: _source, ...rest }) => rest);
    expect(plain(received.execute)).toEqual(plain(received.stream));
    expect(received.execute.map(({ type }) => type)).toEqual([
      "request_start",
      "tool_calls_start",
      "tool_result",
      "agent_finish",
    ]);
    for (const payload of received.stream) expect(payload).toMatchObject({ request_id: "r1", context });
  });

  it("copy the context when they are called", async () => {
    const seen: unknown[] = [];
    const callbacks = [{ onEvent: (_: string, { context }: CallbackPayload) => void seen.push(context) }];
    const { agent: actor } = await createFacadeFixture([{ text: "x" }, { text: "y" }], { callbacks });
    const context = { step: 1 };
    const pending = [actor.run("a", { sessionId: "s" }), actor.run("b", { sessionId: "s", context })];
    context.step = 2;
    await Promise.all(pending);
    await actor.flush();
    expect(seen).toEqual([undefined, undefined, { step: 1 }, { step: 1 }]);
  });

  it("observe a run once, however its session was opened", async () => {
    const seen: string[] = [];
    const callbacks = [{ onEvent: (type: string) => void seen.push(type) }];
    const { agent: actor, log } = await createFacadeFixture(() => ({ text: "Hello." }), { callbacks });
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

  it("use the given metrics collector", async () => {
    const metrics = new MetricsCollector();
    const { agent: one } = await createFacadeFixture([{ text: "x" }], { metrics });
    const { agent: two } = await createFacadeFixture(adds, { metrics });
    await Promise.all([one.run("a"), two.run("b")]);
    expect(one.metrics).toBe(metrics);
    expect(metrics.summary()).toMatchObject({ runs: { completed: 2 }, tools: { calls: 1 } });
  });

  it("settle after callbacks have handled the events of the run, also if it fails", async () => {
    const seen: string[] = [];
    const callbacks = [
      {
        onEvent: async (type: string) => {
          await new Promise(setImmediate);
          seen.push(type);
        },
      },
    ];
    const script = [{ text: "x" }, { fault: { kind: "throw" } }] as const;
    const { agent: actor } = await createFacadeFixture(script, { callbacks, callOptions: { maxRetries: 0 } });
    await actor.run("a");
    expect(seen.splice(0)).toEqual(["request_start", "agent_finish"]);
    await failureOf(actor.run("b"));
    expect(seen).toEqual(["request_start", "error"]);
  });

  it("settle although other runs keep callbacks busy, and inside a callback", async () => {
    const seen: string[] = [];
    const onEvent = async (type: string, { request_id }: CallbackPayload) => {
      seen.push(`${request_id} ${type}`);
      if (request_id !== "inner" && type === "agent_finish") await actor.run("b", { requestId: "inner" });
    };
    const { agent: actor } = await createFacadeFixture(() => ({ text: "x" }), {
      callbacks: [{ onEvent }],
      callbackWaitMs: Number.POSITIVE_INFINITY,
    });
    await actor.run("a", { requestId: "outer" });
    await actor.flush();
    expect(seen).toEqual(["outer request_start", "outer agent_finish", "inner request_start", "inner agent_finish"]);
  });

  it("do not wait for a callback that hangs longer than callbackWaitMs", async () => {
    const callbacks = [{ onEvent: () => new Promise(() => undefined) }];
    const options = { callbacks, onError: () => undefined, callbackWaitMs: 5 };
    const { agent: actor } = await createFacadeFixture([{ text: "x" }], options);
    expect(await actor.run("a")).toMatchObject({ reply: "x" });
    expect(await actor.flush(1)).toBe(false);
    await actor.close({ flushMs: 1 });
  });

  it("report errors of callbacks to onError", async () => {
    const onError = vi.fn<(error: unknown) => void>();
    const broken = () => {
      throw new Error("the callback broke");
    };
    const { agent: actor } = await createFacadeFixture([{ text: "x" }], { callbacks: [{ onEvent: broken }], onError });
    expect(await actor.run("a")).toMatchObject({ reply: "x" });
    await actor.flush();
    expect(onError.mock.calls[0]?.[0]).toMatchObject({ code: "callback_failed" });
  });

  it("are cancelled by close, and rejected after it", async () => {
    const { promise: until } = Promise.withResolvers<void>();
    const seen: string[] = [];
    const callbacks = [{ onEvent: (type: string) => void seen.push(type) }];
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const script: Script = (_, turn) => {
      if (turn === 1) resolve();
      return { text: "x", until };
    };
    const { agent: actor, log } = await createFacadeFixture(script, { callbacks });
    const pending = failureOf(actor.run("a", { sessionId: "s" }));
    const queued = failureOf(actor.run("b", { sessionId: "s" }));
    const streamed = collect(actor.stream("c"));
    // The first and the third call are waiting for the model.
    await asked;
    await Promise.all([actor.close(), actor.close()]);
    expect(await pending).toMatchObject({ code: "cancelled", message: "The agent was closed" });
    expect(await queued).toMatchObject({ code: "cancelled" });
    expect((await streamed).events.at(-1)).toMatchObject({ type: "agent_finish", status: "cancelled" });
    expect(await failureOf(actor.run("d"))).toMatchObject({ code: "session_closed" });
    expect(seen.filter((type) => type === "error").length).toBeGreaterThanOrEqual(2);
    expect(seen).not.toContain("agent_finish");
    await expectNothingLeft(log);
  });
});

describe("metrics", () => {
  it("stay empty if they are turned off", async () => {
    const counts = [undefined, false as const].map(async (metrics) => {
      await using actor = agent({ provider: "offline", ...(metrics === undefined ? {} : { metrics }) });
      await actor.run("Hello");
      return actor.metrics.summary().runs.completed;
    });
    expect(await Promise.all(counts)).toEqual([1, 0]);
  });
});
