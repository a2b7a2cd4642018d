import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { outlineSpans, recordSpans, toMs } from "../../../test/observe/span-recorder.ts";
import { sessionArbitrary } from "../../../test/run-arbitrary.ts";
import { SAMPLES } from "../../../test/sampling.ts";
import type { AnyEvent, StampedRecord } from "../../protocol/index.ts";
import { createTraceObserver } from "../index.ts";

const RUN = { sessionId: "s", runId: "r" };

/** Records of one run, a tenth of a second apart. */
function stamp(...events: readonly AnyEvent[]): readonly StampedRecord[] {
  return events.map((event, index) => ({
    envelope: { session_id: "s", run_id: "r", node_id: "think-1", event_id: index + 1, ts: 1000 + index * 100 },
    event,
  }));
}

const START: AnyEvent = { type: "run_start", run_id: "r", agent: "react" };

describe("the spans of a run", () => {
  it("end once, have parents and never end before their start", async () => {
    const damage = fc.record({
      past: fc.nat({ max: 40 }),
      dropped: fc.uniqueArray(fc.nat({ max: 60 }), { maxLength: 12 }),
      swapped: fc.array(fc.nat({ max: 60 }), { maxLength: 6 }),
      repeated: fc.array(fc.nat({ max: 60 }), { maxLength: 6 }),
      timeless: fc.uniqueArray(fc.nat({ max: 60 }), { maxLength: 6 }),
      isUnfinished: fc.boolean(),
      captureContent: fc.boolean(),
      isWhole: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(sessionArbitrary, damage, async (session, how) => {
        const recorder = await recordSpans({ captureContent: how.captureContent, maxOpenSpans: 3 });
        const runs = Map.groupBy(session, ({ envelope }) => envelope.run_id ?? "");
        for (const [runId, whole] of runs) {
          const records = how.isWhole ? whole : hurt(whole, how);
          const observed = recorder.observer.openRun({ sessionId: "s", runId });
          for (const [index, record] of records.entries()) observed.take(record, index < how.past && !how.isWhole);
          observed.close(how.isUnfinished);
          observed.close(!how.isUnfinished);
          for (const record of records) observed.take(record, false);
        }
        const spans = recorder.readSpans();
        if (!how.isWhole) return;
        expect(spans.filter(({ name }) => name.startsWith("invoke_agent"))).toHaveLength(runs.size);
        const tools = session.filter(({ event }) => event.type === "tool_start").length;
        expect(spans.filter(({ name }) => name.startsWith("execute_tool"))).toHaveLength(tools);
        expect(spans.filter(({ attributes }) => attributes["loom.incomplete"] === true)).toEqual([]);
      }),
      { numRuns: SAMPLES.sessions },
    );
  });

  it("use the times of the log", async () => {
    const { observer, readSpans } = await recordSpans();
    const run = observer.openRun(RUN);
    for (const record of stamp(
      START,
      { type: "llm_start", llm_call_id: "l.0", model: "openai.chat/org/gpt", attempt: 0 },
      { type: "message_chunk", content: "a", id: "think" },
      { type: "message_chunk", content: "b", id: "think" },
      { type: "llm_end", llm_call_id: "l.0", finish_reason: "stop" },
      { type: "run_end", status: "completed" },
      { type: "reply", reply: "ab" },
    ))
      run.take(record, false);
    const [chat, root] = readSpans();
    expect(chat?.name).toBe("chat org/gpt");
    expect(chat?.attributes["gen_ai.provider.name"]).toBe("openai");
    expect(chat?.attributes["gen_ai.response.time_to_first_chunk"]).toBe(0.1);
    expect([chat, root].map((span) => span && [toMs(span.startTime), toMs(span.endTime)])).toEqual([
      [1100, 1400],
      [1000, 1500],
    ]);
  });

  it("end with the last attempt of a model call", async () => {
    const { observer, countOpen, readSpans } = await recordSpans();
    const run = observer.openRun(RUN);
    const records = stamp(
      START,
      { type: "llm_start", llm_call_id: "l.0", model: "m", attempt: 0 },
      { type: "llm_end", llm_call_id: "l.0", finish_reason: "error", error: "busy", error_code: "model_failed" },
      { type: "node_exit", id: "think", result: { Err: "busy" } },
    );
    for (const record of records) run.take(record, false);
    expect(countOpen()).toBe(1);
    run.close(true);
    expect(readSpans()[0]?.status).toEqual({ code: 2, message: "busy" });
    expect(readSpans()[0]?.attributes["error.type"]).toBe("model_failed");
    expect(toMs(readSpans()[0]?.endTime ?? [0, 0])).toBe(1200);
  });

  it("all end if a span processor throws", async () => {
    const ended: string[] = [];
    const processor = {
      onStart: () => undefined,
      onEnd({ name }: { readonly name: string }) {
        ended.push(name);
        if (!name.startsWith("invoke_agent")) throw new Error("processor");
      },
      forceFlush: async () => undefined,
      shutdown: async () => undefined,
    };
    const observer = await createTraceObserver({
      tracerProvider: new BasicTracerProvider({ spanProcessors: [processor] }),
    });
    const run = observer.openRun(RUN);
    for (const record of stamp(
      START,
      { type: "llm_start", llm_call_id: "l.0", model: "m" },
      { type: "llm_start", llm_call_id: "k.0", model: "m" },
      { type: "tool_start", call_id: "a", name: "a" },
      { type: "tool_start", call_id: "b", name: "b" },
    ))
      run.take(record, false);
    expect(() => run.close(true)).toThrow("processor");
    expect(ended.toSorted()).toEqual(["chat m", "chat m", "execute_tool a", "execute_tool b", "invoke_agent react"]);
  });

  it("are two if a tool starts twice with one id", async () => {
    const { observer, readSpans } = await recordSpans();
    const run = observer.openRun(RUN);
    const start: AnyEvent = { type: "tool_start", call_id: "c", name: "t" };
    const end: AnyEvent = { type: "tool_end", call_id: "c", name: "t", result: "", is_error: false };
    for (const record of stamp(START, start, start, end, end)) run.take(record, false);
    run.close(false);
    expect(readSpans().map(({ attributes }) => attributes["loom.incomplete"])).toEqual([true, undefined, undefined]);
  });

  it("are counted if there are too many", async () => {
    const { observer, readSpans } = await recordSpans({ maxOpenSpans: 2 });
    const run = observer.openRun(RUN);
    const starts = ["a", "b", "c"].map((id): AnyEvent => ({ type: "tool_start", call_id: id, name: "t" }));
    const event: AnyEvent = { type: "retrieval_complete", doc_count: 2, query: "secret question" };
    const events = Array.from({ length: 101 }, () => event);
    for (const record of stamp(START, ...starts, ...events)) run.take(record, false);
    run.close(true);
    const spans = readSpans();
    expect(outlineSpans(spans, "loom.incomplete", "loom.dropped.spans", "loom.dropped.events")).toEqual([
      ["execute_tool t", "invoke_agent react", "unset", true, undefined, undefined],
      ["execute_tool t", "invoke_agent react", "unset", true, undefined, undefined],
      ["invoke_agent react", undefined, "unset", undefined, 1, 1],
    ]);
    expect(spans[2]?.events).toHaveLength(100);
    expect(spans[2]?.events[0]).toMatchObject({
      name: "loom.retrieval",
      attributes: { "loom.retrieval.doc_count": 2 },
    });
  });

  it("record compression and tools that never ran", async () => {
    const { observer, readSpans } = await recordSpans();
    const run = observer.openRun(RUN);
    for (const record of stamp(
      START,
      { type: "compression_applied", before_tokens: 9, after_tokens: 3 },
      { type: "llm_start", llm_call_id: "l", model: "m" },
      { type: "llm_end", llm_call_id: "l", finish_reason: "tool_calls" },
      { type: "tool_end", call_id: "c", name: "t", result: "no", is_error: true, error_code: "rejected" },
      { type: "run_end", status: "cancelled", reason: "enough", code: "cancelled" },
    ))
      run.take(record, false);
    const [chat, root] = readSpans();
    expect(chat?.attributes["gen_ai.conversation.compacted"]).toBe(true);
    expect(root?.events.map(({ name }) => name)).toEqual(["loom.compression", "loom.tool.not_run"]);
    expect(root?.status.code).toBe(0);
  });

  it("include a `chat` for summaries, without output", async () => {
    const { observer, readSpans } = await recordSpans();
    const run = observer.openRun(RUN);
    const id = "think-1.summary.0";
    for (const record of stamp(
      START,
      { type: "llm_start", llm_call_id: id, model: "small", purpose: "summary" },
      { type: "llm_start", llm_call_id: "think-1.0", model: "big" },
      { type: "message_chunk", content: "x", id: "think" },
      { type: "usage", llm_call_id: id, prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
      { type: "llm_end", llm_call_id: id, finish_reason: "stop", purpose: "summary" },
      { type: "llm_end", llm_call_id: "think-1.0", finish_reason: "stop" },
      { type: "run_end", status: "cancelled", code: "cancelled" },
    ))
      run.take(record, false);
    const names = ["loom.llm.purpose", "gen_ai.request.model", "gen_ai.usage.input_tokens"] as const;
    const spans = readSpans();
    expect(spans.map(({ name, attributes }) => [name, ...names.map((each) => attributes[each])])).toEqual([
      ["chat small", "summary", "small", 7],
      ["chat big", undefined, "big", undefined],
      ["invoke_agent react", undefined, "big", 7],
    ]);
    expect(spans.map(({ attributes }) => attributes["gen_ai.request.stream"] ?? false)).toEqual([false, true, false]);
  });

  it("have validated limits", async () => {
    for (const limit of ["maxContentCharacters", "maxOpenSpans"])
      await expect(recordSpans({ [limit]: -1 })).rejects.toThrow(limit);
  });

  it("belong to the expected context, unless too many were expected since", async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    onTestFinished(() => context.disable());
    const { observer, provider, readSpans } = await recordSpans();
    const caller = provider.getTracer("caller").startSpan("request");
    context.with(trace.setSpan(context.active(), caller), () => {
      observer.expectRun?.({ sessionId: "s", runId: "r" });
      for (let other = 0; other < 999; other++) observer.expectRun?.({ sessionId: "s", runId: `other ${other}` });
      observer.expectRun?.({ sessionId: "s", runId: "r2" });
    });
    for (const runId of ["r", "r2"]) {
      const run = observer.openRun({ sessionId: "s", runId });
      for (const record of stamp(START)) run.take(record, false);
      run.close(false);
    }
    caller.end();
    expect(outlineSpans(readSpans(), "loom.run.id")).toEqual([
      ["invoke_agent react", undefined, "unset", "r"],
      ["invoke_agent react", "request", "unset", "r2"],
      ["request", undefined, "unset", undefined],
    ]);
  });

  it("are not created for records without a run", async () => {
    const { observer, started } = await recordSpans();
    const run = observer.openRun({ sessionId: "s", runId: undefined });
    for (const record of stamp({ type: "custom", value: 1 })) run.take(record, false);
    run.close(true);
    expect(started).toBe(0);
  });
});

describe("a trace observer", () => {
  it("uses a given provider or one registered later", async () => {
    const { provider } = await recordSpans();
    expect((await createTraceObserver({ tracerProvider: provider })).ignores?.has("values")).toBe(true);

    const early = await createTraceObserver();
    const exporter = new InMemorySpanExporter();
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
    onTestFinished(() => trace.disable());
    const run = early.openRun(RUN);
    for (const record of stamp(START)) run.take(record, false);
    run.close(false);
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(["invoke_agent react"]);
  });
});

interface Damage {
  readonly dropped: readonly number[];
  readonly swapped: readonly number[];
  readonly repeated: readonly number[];
  readonly timeless: readonly number[];
}

function hurt(records: readonly StampedRecord[], how: Damage): readonly StampedRecord[] {
  const { dropped, swapped, repeated, timeless } = how;
  const kept = records.filter((_, index) => !dropped.includes(index));
  for (const index of repeated) {
    const record = kept[index];
    if (record !== undefined) kept.splice(index, 0, record);
  }
  for (const index of swapped) {
    const [a, b] = [kept[index], kept[index + 1]];
    if (a !== undefined && b !== undefined) [kept[index], kept[index + 1]] = [b, a];
  }
  return kept.map((record, index) => {
    const { ts, ...envelope } = record.envelope;
    return timeless.includes(index) && ts !== undefined ? { ...record, envelope } : record;
  });
}
