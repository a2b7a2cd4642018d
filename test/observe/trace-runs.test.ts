// Runs of agents as spans, with the real SDK: every span ends exactly once, however the run ends.
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { AlwaysOffSampler } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { readRecords } from "../contracts/sender.ts";
import { listNodes, playGot } from "../contracts/got-script.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { createEntry } from "../../src/log/entry.ts";
import type { ScriptedTurn } from "../../src/models/scripted-model.ts";
import { createTraceObserver } from "../../src/observe/index.ts";
import { SESSION, createAgentFixture } from "../agents/agent-fixture.ts";
import { outlineSpans, recordSpans, toMs } from "./span-recorder.ts";

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

const add = { name: "add", input: { a: 1, b: 2 }, id: "c1" };
const USAGE = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };

describe("a run as spans", () => {
  it("is an invoke_agent with a chat per model call and an execute_tool per tool", async () => {
    const recorder = await recordSpans({ agentName: "helper" });
    const script: ScriptedTurn[] = [
      { calls: [add], usage: USAGE },
      { text: "It is 3.", usage: USAGE },
    ];
    const fixture = await createAgentFixture(script, { observers: [recorder.observer] });
    const run = await fixture.agent.answer(fixture.session, "Add", { requestId: "req-1", source: "stream" });
    await run.ended;
    await fixture.session.idle();
    const spans = recorder.readSpans();
    expect(outlineSpans(spans)).toEqual([
      ["chat scripted", "invoke_agent helper", "unset"],
      ["execute_tool add", "invoke_agent helper", "unset"],
      ["chat scripted", "invoke_agent helper", "unset"],
      ["invoke_agent helper", undefined, "unset"],
    ]);
    const [chat, tool, , root] = spans;
    expect(root?.kind).toBe(0);
    expect(root?.attributes).toEqual({
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "helper",
      "gen_ai.conversation.id": SESSION,
      "gen_ai.provider.name": "scripted",
      "gen_ai.request.model": "scripted",
      "gen_ai.usage.input_tokens": 20,
      "gen_ai.usage.output_tokens": 10,
      "loom.run.id": run.runId,
      "loom.request.id": "req-1",
      "loom.run.source": "stream",
      "loom.run.status": "completed",
    });
    expect(chat?.kind).toBe(2);
    expect(chat?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.response.finish_reasons": ["tool_calls"],
      "gen_ai.response.model": "scripted",
      "gen_ai.request.stream": true,
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 5,
    });
    expect(chat?.attributes["gen_ai.response.time_to_first_chunk"]).toBeTypeOf("number");
    expect(tool?.attributes).toMatchObject({
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "add",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": "c1",
    });
    // Times are those of the log.
    const records = await readRecords(fixture.log, SESSION);
    const startedAt = records.find(({ event }) => event.type === "run_start")?.envelope.ts;
    const endedAt = records.find(({ event }) => event.type === "run_end")?.envelope.ts;
    expect(toMs(root?.startTime ?? [0, 0])).toBeCloseTo(startedAt ?? 0, 2);
    expect(toMs(root?.endTime ?? [0, 0])).toBeCloseTo(endedAt ?? 0, 2);
    // Spans contain no contents.
    expect(JSON.stringify(spans.map(({ attributes, events }) => [attributes, events]))).not.toMatch(/It is 3|"Add"/);
  });

  it("contains contents if enabled, cut and redacted", async () => {
    const recorder = await recordSpans({ captureContent: true, maxContentCharacters: 60 });
    const script: ScriptedTurn[] = [{ reasoning: "Well.", text: "Now: ", calls: [add] }, { text: "x".repeat(100) }];
    const fixture = await createAgentFixture(script, { observers: [recorder.observer] });
    await (
      await fixture.ask("The key is sk-abcdefghijklmnop, use it")
    ).ended;
    await fixture.session.idle();
    const [chat, tool, , root] = recorder.readSpans();
    const read = (value: unknown): unknown => JSON.parse(String(value));
    expect(read(root?.attributes["gen_ai.input.messages"])).toEqual([
      { role: "user", parts: [{ type: "text", content: "The key is [redacted], use it" }] },
    ]);
    expect(read(root?.attributes["gen_ai.output.messages"])).toEqual([
      { role: "assistant", parts: [{ type: "text", content: `${"x".repeat(60)}…` }] },
    ]);
    expect(read(chat?.attributes["gen_ai.output.messages"])).toEqual([
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "Well." },
          { type: "text", content: "Now: " },
          { type: "tool_call", id: "c1", name: "add", arguments: '{"a":1,"b":2}' },
        ],
        finish_reason: "tool_calls",
      },
    ]);
    expect(tool?.attributes["gen_ai.tool.call.arguments"]).toBe('{"a":1,"b":2}');
    expect(tool?.attributes["gen_ai.tool.call.result"]).toBe("3");
  });

  it("marks a failed tool and continues", async () => {
    const recorder = await recordSpans();
    const script: ScriptedTurn[] = [{ calls: [{ name: "fail", id: "c1" }] }, { text: "It failed." }];
    const fixture = await createAgentFixture(script, { observers: [recorder.observer], onError: () => undefined });
    await (
      await fixture.ask("Go")
    ).ended;
    await fixture.session.idle();
    const spans = recorder.readSpans();
    expect(outlineSpans(spans, "error.type", "loom.run.status")).toEqual([
      ["chat scripted", "invoke_agent react", "unset", undefined, undefined],
      ["execute_tool fail", "invoke_agent react", "error", "tool_failed", undefined],
      ["chat scripted", "invoke_agent react", "unset", undefined, undefined],
      ["invoke_agent react", undefined, "unset", undefined, "completed"],
    ]);
    expect(spans[1]?.status.message).toBe("tool_failed");
  });

  it("has one chat for a retried call, with the number of attempts", async () => {
    const recorder = await recordSpans();
    const busy: ScriptedTurn = {
      fault: { kind: "throw", error: Object.assign(new Error("busy"), { statusCode: 503 }) },
    };
    const script: ScriptedTurn[] = [busy, busy, { text: "There." }];
    const callOptions = { maxRetries: 3, retryMs: 1 };
    const fixture = await createAgentFixture(script, {
      observers: [recorder.observer],
      callOptions,
      onError: () => undefined,
    });
    await (
      await fixture.ask("Go")
    ).ended;
    await fixture.session.idle();
    const spans = recorder.readSpans();
    expect(outlineSpans(spans, "loom.llm.attempts")).toEqual([
      ["chat scripted", "invoke_agent react", "unset", 3],
      ["invoke_agent react", undefined, "unset", undefined],
    ]);
    expect(spans[0]?.events.map(({ name }) => name)).toEqual(["loom.retry", "loom.retry"]);
  });

  it("fails with its model", async () => {
    const recorder = await recordSpans();
    const script = () => ({ fault: { kind: "throw" as const, error: new Error("no: Bearer abcdefgh12345678") } });
    const callOptions = { maxRetries: 1, retryMs: 1 };
    const fixture = await createAgentFixture(script, {
      observers: [recorder.observer],
      callOptions,
      onError: () => undefined,
    });
    expect(await (await fixture.ask("Go")).ended).toMatchObject({ status: "error" });
    await fixture.session.idle();
    const spans = recorder.readSpans();
    expect(outlineSpans(spans).map(([name, , status]) => [name, status])).toEqual([
      ["chat scripted", "error"],
      ["invoke_agent react", "error"],
    ]);
    expect(spans[1]?.attributes["error.type"]).toBeTypeOf("string");
    expect(spans[1]?.events.map(({ name }) => name)).toEqual(["loom.error"]);
    expect(JSON.stringify(spans.map(({ status, events }) => [status, events]))).not.toContain("abcdefgh12345678");
  });

  it.each([
    ["a tool", { calls: [{ name: "wait", id: "c1" }] }, "tool_start", "execute_tool wait"],
    ["an answer", { text: "Half an answer", fault: { kind: "stall", after: 2 } }, "message_chunk", "chat scripted"],
  ] as const)("that is cancelled in %s is not an error", async (_, turn, until, cut) => {
    const recorder = await recordSpans();
    const fixture = await createAgentFixture([turn], { observers: [recorder.observer] });
    const there = fixture.wait(until);
    const run = await fixture.ask("Go");
    await there;
    await run.cancel("enough");
    await run.ended;
    await fixture.session.idle();
    const spans = recorder.readSpans();
    expect(outlineSpans(spans).filter(([, , status]) => status !== "unset")).toEqual([]);
    expect(spans.find(({ name }) => name === cut)?.attributes["loom.cancelled"]).toBe(true);
    expect(spans.at(-1)?.attributes["loom.run.status"]).toBe("cancelled");
  });

  it("waits for an approval before its tool starts, and records the wait", async () => {
    const recorder = await recordSpans();
    const script: ScriptedTurn[] = [{ calls: [{ name: "remove", input: { path: "a" }, id: "c1" }] }, { text: "Gone." }];
    const fixture = await createAgentFixture(script, { observers: [recorder.observer] });
    const asked = fixture.wait("tool_approval");
    const run = await fixture.ask("Go");
    await asked;
    expect(recorder.countOpen()).toBe(1);
    run.answerApproval({ callId: "c1", decision: "approved" });
    await run.ended;
    await fixture.session.idle();
    const spans = recorder.readSpans();
    const tool = spans.find(({ name }) => name === "execute_tool remove");
    expect(tool?.attributes["loom.approval.decision"]).toBe("approved");
    expect(tool?.attributes["loom.approval.wait_ms"]).toBeTypeOf("number");
    expect(spans.at(-1)?.events.map(({ name, attributes }) => [name, attributes?.["loom.approval.decision"]])).toEqual([
      ["loom.approval", "approved"],
    ]);
  });

  it("ends when its process releases it, and another process continues with a linked span", async () => {
    const recorder = await recordSpans();
    const script: ScriptedTurn[] = [{ calls: [{ name: "remove", input: { path: "a" }, id: "c1" }] }];
    const first = await createAgentFixture(script, { observers: [recorder.observer] });
    const asked = first.wait("tool_approval");
    const { runId } = await first.ask("Go");
    await asked;
    await first.session.close({ run: "leave" });
    await vi.waitUntil(() => recorder.countOpen() === 0);
    const [, left] = recorder.readSpans();
    expect(left?.attributes).toMatchObject({
      "loom.run.status": "left",
      "loom.approval.open": 1,
      "loom.run.id": runId,
    });

    const second = await createAgentFixture([{ text: "Gone." }], { observers: [recorder.observer], log: first.log });
    second.session.liveRun?.answerApproval({ callId: "c1", decision: "approved" });
    await second.session.idle();
    const spans = recorder.readSpans().slice(2);
    expect(outlineSpans(spans)).toEqual([
      ["execute_tool remove", "invoke_agent react", "unset"],
      ["chat scripted", "invoke_agent react", "unset"],
      ["invoke_agent react", undefined, "unset"],
    ]);
    const root = spans.at(-1);
    expect(root?.attributes).toMatchObject({ "loom.run.resumed": true, "loom.run.status": "completed" });
    expect(root?.links.map((link) => link.context.spanId)).toEqual([left?.spanContext().spanId]);
    expect(spans[0]?.attributes["loom.approval.wait_ms"]).toBeTypeOf("number");
  });

  it("ends with its session, including all spans", async () => {
    const recorder = await recordSpans();
    const fixture = await createAgentFixture([{ calls: [{ name: "wait", id: "c1" }] }], {
      observers: [recorder.observer],
    });
    const there = fixture.wait("tool_start");
    await fixture.ask("Go");
    await there;
    await fixture.session.close();
    expect(recorder.readSpans().map(({ name, status }) => [name, status.code])).toEqual([
      ["chat scripted", 0],
      ["execute_tool wait", 2],
      ["invoke_agent react", 2],
    ]);
  });

  it("ends if another process takes over its session", async () => {
    const recorder = await recordSpans();
    const script: ScriptedTurn[] = [{ calls: [{ name: "remove", input: { path: "a" }, id: "c1" }] }];
    const fixture = await createAgentFixture(script, { observers: [recorder.observer], onError: () => undefined });
    const asked = fixture.wait("tool_approval");
    const run = await fixture.ask("Go");
    await asked;
    await fixture.log.acquire(SESSION, { holder: "another process", ttlMs: 60_000, takeover: true });
    run.answerApproval({ callId: "c1", decision: "approved" });
    await vi.waitUntil(() => recorder.countOpen() === 0);
    expect(recorder.readSpans().at(-1)?.attributes["loom.run.status"]).toBe("left");
  });

  it("is cancelled if its reader stops early, but not if a reader of the log stops", async () => {
    const recorder = await recordSpans();
    const fixture = await createAgentFixture(
      [{ text: "One. ", fault: { kind: "stall", after: 1 } }, { text: "Two." }],
      {
        observers: [recorder.observer],
      },
    );
    for await (const { type } of fixture.agent.stream("Go")) if (type === "text_delta") break;
    await vi.waitUntil(() => recorder.countOpen() === 0);
    expect(recorder.readSpans().at(-1)?.attributes["loom.run.status"]).toBe("cancelled");

    const run = await fixture.ask("Go");
    // A reader of the log comes and goes.
    fixture.log.watch(SESSION, () => undefined)();
    await run.ended;
    await fixture.session.idle();
    expect(recorder.readSpans().at(-1)?.attributes["loom.run.status"]).toBe("completed");
  });

  it("continues after a crash without new spans for past records", async () => {
    const before = await recordSpans();
    const script: ScriptedTurn[] = [{ text: "First. ", calls: [add] }, { text: "It is 3." }];
    const first = await createAgentFixture(script, { observers: [before.observer] });
    await (
      await first.ask("Add")
    ).ended;
    const records = await readRecords(first.log, SESSION);
    // Cut after the end of the tool, before the model is called again.
    const cut = records.findIndex(({ event }) => event.type === "tool_end") + 1;
    const log = new MemoryLog();
    await log.createSession(SESSION, { entries: records.slice(0, cut).map((record) => createEntry(record)) });
    const after = await recordSpans();
    const second = await createAgentFixture([{ text: "It is 3." }], { observers: [after.observer], log });
    await second.session.idle();
    const spans = after.readSpans();
    expect(spans.filter(({ name }) => name.startsWith("execute_tool"))).toEqual([]);
    expect(spans.filter(({ name }) => name.startsWith("invoke_agent"))).toHaveLength(1);
    expect(spans.at(-1)?.attributes["loom.run.resumed"]).toBe(true);
  });

  it("keeps parallel calls apart", async () => {
    const recorder = await recordSpans();
    const plan = listNodes([{ id: "a" }, { id: "b" }, { id: "c", needs: ["a", "b"] }]);
    const script = playGot({ plan });
    const fixture = await createAgentFixture(script, { kind: "got", observers: [recorder.observer] });
    expect(await (await fixture.ask("Think")).ended).toMatchObject({ status: "completed" });
    await fixture.session.idle();
    const spans = recorder.readSpans();
    const chats = spans.filter(({ name }) => name === "chat scripted");
    expect(chats).toHaveLength(fixture.model.requests.length);
    for (const { attributes } of chats) expect(attributes["gen_ai.usage.input_tokens"]).toBeGreaterThan(0);
    const sum = chats.reduce((all, { attributes }) => all + Number(attributes["gen_ai.usage.input_tokens"]), 0);
    expect(spans.at(-1)?.attributes["gen_ai.usage.input_tokens"]).toBe(sum);
  });

  it("is a child of the caller's span", async () => {
    const recorder = await recordSpans();
    const fixture = await createAgentFixture([{ text: "Yes." }], { observers: [recorder.observer] });
    const caller = recorder.provider.getTracer("caller").startSpan("request");
    const run = await context.with(trace.setSpan(context.active(), caller), () => fixture.ask("Go"));
    await run.ended;
    await fixture.session.idle();
    caller.end();
    const root = recorder.readSpans().find(({ name }) => name.startsWith("invoke_agent"));
    expect(root?.parentSpanContext?.spanId).toBe(caller.spanContext().spanId);
  });

  it("finds the caller's span in the run context if another process started it", async () => {
    const recorder = await recordSpans();
    const fixture = await createAgentFixture([{ text: "Yes." }], { observers: [recorder.observer] });
    const traceparent = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;
    await (
      await fixture.agent.answer(fixture.session, "Go", { context: { traceparent } })
    ).ended;
    await fixture.session.idle();
    const root = recorder.readSpans().at(-1);
    expect(root?.spanContext().traceId).toBe("ab".repeat(16));
    expect(root?.parentSpanContext?.spanId).toBe("cd".repeat(8));
  });
});

describe("without a consumer of spans", () => {
  it("starts one span for a run that is not sampled", async () => {
    const recorder = await recordSpans({}, new AlwaysOffSampler());
    const script: ScriptedTurn[] = [{ calls: [add] }, { text: "It is 3." }];
    const fixture = await createAgentFixture(script, { observers: [recorder.observer] });
    await (
      await fixture.ask("Go")
    ).ended;
    await fixture.session.idle();
    expect(recorder.started).toBe(1);
    expect(recorder.readSpans()).toEqual([]);
  });

  it("ignores records without an SDK", async () => {
    const observer = await createTraceObserver();
    const run = observer.openRun({ sessionId: SESSION, runId: "r" });
    const envelope = { session_id: SESSION, run_id: "r", event_id: 1, ts: 1 };
    run.take({ envelope, event: { type: "run_start", run_id: "r" } }, false);
    const untouchable = new Proxy(envelope, {
      get: () => {
        throw new Error("looked at");
      },
    });
    const record = { envelope: untouchable, event: { type: "llm_start", llm_call_id: "l" } } as const;
    expect(() => run.take(record, false)).not.toThrow();
    run.close(false);
  });
});
