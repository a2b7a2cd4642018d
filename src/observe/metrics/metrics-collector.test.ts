import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sessionArbitrary } from "../../../test/run-arbitrary.ts";
import { SAMPLES } from "../../../test/sampling.ts";
import { writeRecords } from "../../../test/log-sessions.ts";
import { MemoryLog } from "../../log/index.ts";
import type { AnyEvent, StampedRecord } from "../../protocol/index.ts";
import { replayObservers } from "../replay.ts";
import { MetricsCollector, type MetricsCollectorOptions } from "./metrics-collector.ts";
import type { MetricsSummary } from "./metrics-summary.ts";

type TimedEvent = AnyEvent & { readonly at?: number; readonly node?: string };

/** Events of one run; `at` is in milliseconds. */
function record(events: readonly TimedEvent[]): StampedRecord[] {
  return events.map(({ at, node, ...event }, index) => ({
    envelope: {
      session_id: "s",
      run_id: "run-1",
      event_id: index + 1,
      ...(at === undefined ? {} : { ts: at }),
      ...(node === undefined ? {} : { node_id: node }),
    },
    event: event as AnyEvent,
  }));
}

/** Feeds all runs; the first `past` records are passed as past. */
function feed(metrics: MetricsCollector, records: readonly StampedRecord[], past = 0): MetricsCollector {
  const runs = new Map<string | undefined, ReturnType<MetricsCollector["openRun"]>>();
  for (const [index, each] of records.entries()) {
    const { session_id: sessionId, run_id: runId } = each.envelope;
    const run = runs.get(runId) ?? metrics.openRun({ sessionId, runId });
    runs.set(runId, run);
    run.take(each, index < past);
  }
  for (const run of runs.values()) run.close(false);
  return metrics;
}

function measure(events: readonly TimedEvent[], options?: MetricsCollectorOptions): MetricsSummary {
  return feed(new MetricsCollector(options), record(events)).summary();
}

const call = (id: string, at: number, node = "n1"): TimedEvent => ({
  type: "llm_start",
  llm_call_id: id,
  model: "m1",
  at,
  node,
});
const say = (content: string, at: number, node = "n1"): TimedEvent => ({
  type: "message_chunk",
  content,
  id: "think",
  at,
  node,
});

const STORY: readonly TimedEvent[] = [
  { type: "run_start", agent: "react", at: 1000 },
  { type: "retrieval_complete", doc_count: 3, at: 1010 },
  { type: "compression_applied", before_tokens: 6200, after_tokens: 3900, at: 1020 },
  call("n1.0", 1100),
  { type: "reasoning_chunk", content: "hm", at: 1150, node: "n1" },
  { type: "tool_call", call_id: "c1", name: "calculator", arguments: {}, at: 1190, node: "n1" },
  { type: "tool_call", call_id: "c2", name: "delete_file", arguments: {}, at: 1190, node: "n1" },
  { type: "usage", prompt_tokens: 10, completion_tokens: 5, total_tokens: 17, llm_call_id: "n1.0", at: 1200 },
  { type: "llm_end", llm_call_id: "n1.0", model: "m1", finish_reason: "tool_calls", duration_ms: 100, at: 1200 },
  { type: "tool_start", call_id: "c1", name: "calculator", at: 1210 },
  { type: "tool_end", call_id: "c1", name: "calculator", result: "56", is_error: false, at: 1215 },
  { type: "tool_approval", call_id: "c2", name: "delete_file", arguments: {}, at: 1220 },
  { type: "tool_approval_result", call_id: "c2", decision: "rejected", at: 31_220 },
  { type: "tool_end", call_id: "c2", name: "delete_file", result: "no", is_error: true, at: 31_230 },
  { type: "error", message: "slow down", stage: "llm_stream", code: "model_failed", at: 31_240 },
  call("n2.0", 31_300, "n2"),
  say("It ", 31_320, "n2"),
  say("is 56.", 31_400, "n2"),
  { type: "llm_end", llm_call_id: "n2.0", finish_reason: "stop", at: 31_400 },
  { type: "run_end", status: "completed", at: 31_500 },
  { type: "reply", reply: "It is 56.", at: 31_500 },
];

describe("a summary", () => {
  it("contains what a run did", () => {
    const { runs, llm, tools, approvals, ...rest } = measure(STORY);
    expect(runs).toMatchObject({ started: 1, completed: 1, error: 0, cancelled: 0 });
    expect([runs.duration.sumMs, runs.timeToFirstAnswer.sumMs]).toEqual([30_500, 30_320]);
    expect(llm).toMatchObject({ calls: 2, failed: 0, tokens: { prompt: 10, completion: 5, total: 17 } });
    expect(llm.duration).toMatchObject({ count: 2, sumMs: 200 });
    expect(llm.timeToFirstToken).toMatchObject({ count: 2, minMs: 20, maxMs: 50 });
    expect(Object.keys(llm.byModel)).toEqual(["m1"]);
    expect(tools).toMatchObject({ calls: 2, failed: 1, duration: { count: 1, sumMs: 5 } });
    expect(tools.byTool["delete_file"]).toMatchObject({ calls: 1, failed: 1, duration: { count: 0 } });
    expect(approvals).toMatchObject({ asked: 1, rejected: 1, approved: 0, wait: { sumMs: 30_000 } });
    expect(rest).toMatchObject({
      iterations: 2,
      errors: { total: 1, byStage: { llm_stream: 1 }, byCode: { model_failed: 1 } },
      retrievals: { total: 1, documents: 3 },
      compressions: { total: 1, savedTokens: 2300 },
      untracked: 0,
    });
  });

  it("survives JSON", () => {
    const summary = measure(STORY);
    expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
  });

  it("is empty after a reset, and running runs are counted from there on", () => {
    const metrics = new MetricsCollector();
    const run = metrics.openRun({ sessionId: "s", runId: "run-1" });
    const records = record(STORY);
    for (const each of records.slice(0, 4)) run.take(each, false);
    metrics.reset();
    expect(metrics.summary()).toEqual(new MetricsCollector().summary());
    for (const each of records.slice(4)) run.take(each, false);
    expect(metrics.summary().runs).toMatchObject({ started: 0, completed: 1, duration: { sumMs: 30_500 } });
  });

  it("counts runs of the node `think` as iterations if model calls are not recorded", () => {
    const exit: TimedEvent = { type: "node_exit", id: "think", result: "Ok" };
    expect(measure([exit, exit]).iterations).toBe(2);
    expect(measure([call("a", 1), exit, { type: "llm_end", llm_call_id: "a" }]).iterations).toBe(1);
  });

  it("counts a summary as a model call but not as an iteration", () => {
    const summary: TimedEvent = { type: "llm_start", llm_call_id: "n1.summary.0", model: "small", purpose: "summary" };
    const { llm, iterations } = measure([
      call("n1.0", 0),
      { ...summary, at: 5, node: "n1" },
      say("x", 10),
      { type: "usage", prompt_tokens: 9, completion_tokens: 1, total_tokens: 10, llm_call_id: "n1.summary.0" },
      { type: "llm_end", llm_call_id: "n1.summary.0", finish_reason: "stop", purpose: "summary", at: 50 },
      { type: "llm_end", llm_call_id: "n1.0", finish_reason: "stop", at: 60 },
      { type: "llm_end", llm_call_id: "n1.summary.1", model: "small", finish_reason: "stop", purpose: "summary" },
    ]);
    expect(iterations).toBe(1);
    expect(llm).toMatchObject({ calls: 3, failed: 0, timeToFirstToken: { count: 1, sumMs: 10 } });
    expect(llm.byModel["small"]).toMatchObject({ calls: 2, tokens: { total: 10 }, duration: { count: 1, sumMs: 45 } });
  });

  it("omits a tool call whose arguments were cut off", () => {
    const chunk: TimedEvent = { type: "tool_call_chunk", call_id: "c1", name: "add", arguments_delta: "{" };
    const end: TimedEvent = { type: "tool_end", call_id: "c1", name: "add", result: "no", is_error: true };
    expect(measure([chunk, end]).tools).toMatchObject({ calls: 0, failed: 0 });
    const made: TimedEvent = { type: "tool_call", call_id: "c1", name: "add", arguments: {} };
    expect(measure([chunk, made, chunk, end, end]).tools).toMatchObject({ calls: 1, failed: 1 });
  });
});

describe("the time to the first token", () => {
  it("belongs to the node run of the call", () => {
    const { llm } = measure([call("a", 0, "n1"), call("b", 10, "n2"), say("x", 30, "n2"), say("y", 100, "n1")]);
    expect(llm.timeToFirstToken).toMatchObject({ count: 2, minMs: 20, maxMs: 100 });
  });

  it("is not measured if two calls are open in one node run", () => {
    const { llm } = measure([call("a", 0), call("b", 1), say("x", 2)]);
    expect(llm.timeToFirstToken.count).toBe(0);
    const later = measure([call("a", 0), say("x", 2), call("b", 3), say("y", 4)]);
    expect(later.llm.timeToFirstToken).toMatchObject({ count: 1, sumMs: 2 });
  });

  it("of a failed attempt does not use output of the next one", () => {
    const failed: TimedEvent = {
      type: "llm_end",
      llm_call_id: "a.0",
      finish_reason: "error",
      error: "no",
      at: 50,
      node: "n1",
    };
    const { llm } = measure([call("a.0", 0), failed, call("a.1", 100), say("x", 130)]);
    expect(llm).toMatchObject({ calls: 2, failed: 1, timeToFirstToken: { count: 1, sumMs: 30 } });
  });

  it("of an answer ignores thoughts", () => {
    const thought = { ...say("x", 10), channel: "thought" };
    const { runs } = measure([{ type: "run_start", at: 0 }, thought, say("y", 40)]);
    expect(runs.timeToFirstAnswer).toMatchObject({ count: 1, sumMs: 40 });
  });
});

describe("unusual records", () => {
  it("count a call once if parts of it are missing or repeated", () => {
    const end: TimedEvent = { type: "llm_end", llm_call_id: "a", model: "m1", duration_ms: 5 };
    expect(measure([end, end]).llm).toMatchObject({ calls: 1, duration: { count: 1 } });
    expect(measure([call("a", 0), call("a", 1)]).llm).toMatchObject({ calls: 1, duration: { count: 0 } });
    const done: TimedEvent = { type: "tool_end", call_id: "c", name: "t", result: "", is_error: false };
    expect(measure([done, done]).tools).toMatchObject({ calls: 1, failed: 0, duration: { count: 0 } });
    const ended: TimedEvent = { type: "run_end", status: "error" };
    expect(measure([ended, ended]).runs).toMatchObject({ error: 1 });
  });

  it("list the names of which only a failure or output is counted", () => {
    const usage: TimedEvent = {
      type: "usage",
      llm_call_id: "a",
      prompt_tokens: 3,
      completion_tokens: 4,
      total_tokens: 7,
    };
    const failed: TimedEvent = { type: "llm_end", llm_call_id: "a", finish_reason: "error" };
    const tool: TimedEvent = { type: "tool_call", call_id: "c", name: "t", arguments: {} };
    const wrong: TimedEvent = { type: "tool_end", call_id: "c", name: "t", result: "", is_error: true };
    // Without times, there are no durations.
    const start: TimedEvent = { type: "llm_start", llm_call_id: "a", model: "m1" };
    const records = record([start, tool, failed, wrong]);
    const { llm, tools } = feed(new MetricsCollector(), records, 2).summary();
    expect(llm.byModel).toMatchObject({ m1: { calls: 0, failed: 1 } });
    expect(tools.byTool).toMatchObject({ t: { calls: 0, failed: 1 } });
    const spoken = feed(new MetricsCollector(), record([call("a", 0), say("x", 5)]), 1).summary();
    expect(spoken.llm.byModel).toMatchObject({ m1: { timeToFirstToken: { count: 1 } } });
    const used = feed(new MetricsCollector(), record([call("a", 0), usage]), 1).summary();
    expect(used.llm.byModel).toMatchObject({ m1: { tokens: { total: 7 } } });
  });

  it("count a tool that starts again after its end once", () => {
    const start: TimedEvent = { type: "tool_start", call_id: "c", name: "t", at: 0 };
    const end: TimedEvent = { type: "tool_end", call_id: "c", name: "t", result: "", is_error: true, at: 5 };
    expect(measure([start, end, start, end]).tools).toMatchObject({ calls: 1, failed: 1, duration: { count: 1 } });
  });

  it("count a call without a start that makes another one forgotten", () => {
    const end: TimedEvent = { type: "llm_end", llm_call_id: "b", model: "m1", duration_ms: 5 };
    const tool = (id: string): TimedEvent => ({ type: "tool_start", call_id: id, name: "t" });
    const { llm, tools } = measure([call("a", 0), end, tool("c"), tool("d")], { maxOpenCalls: 1 });
    expect([llm.calls, tools.calls]).toEqual([2, 2]);
  });

  it("match calls without an id by name", () => {
    const start = (at: number): TimedEvent => ({ type: "tool_start", name: "t", at });
    const end = (at: number): TimedEvent => ({ type: "tool_end", name: "t", result: "", is_error: false, at });
    const asked: TimedEvent = { type: "tool_call", name: "t", arguments: {} };
    const { tools } = measure([asked, start(0), end(5), asked, start(10), end(30)]);
    expect(tools).toMatchObject({ calls: 2, duration: { count: 2, sumMs: 25 } });
  });

  const strange = fc.oneof(
    fc.constantFrom(Number.NaN, -1, Number.POSITIVE_INFINITY, 1e308, -0, 2 ** 53, undefined, 0.5),
    fc.double(),
  );
  const id = fc.constantFrom("a", "b", undefined);
  const types =
    "run_start run_end llm_start llm_end usage message_chunk tool_call_chunk tool_call tool_start tool_end " +
    "tool_approval tool_approval_result error retrieval_complete compression_applied node_exit strange";
  const type = fc.constantFrom(...types.split(" "));
  const event = fc.record({
    type,
    llm_call_id: id,
    call_id: id,
    name: fc.constantFrom("t", "__proto__"),
    model: id,
    status: fc.constantFrom("completed", "odd", undefined),
    decision: fc.constantFrom("approved", "odd", undefined),
    duration_ms: strange,
    prompt_tokens: strange,
    completion_tokens: strange,
    total_tokens: strange,
    doc_count: strange,
    before_tokens: strange,
    after_tokens: strange,
    summary: fc.record({ duration_ms: strange }),
    at: strange,
  });

  it("give finite numbers that are not negative", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        const summary = measure(events as unknown as TimedEvent[]);
        const numbers: number[] = [];
        JSON.stringify(summary, (_key, value: unknown) => {
          if (typeof value === "number") numbers.push(value);
          return value;
        });
        expect(numbers.filter((value) => !Number.isFinite(value) || value < 0)).toEqual([]);
        expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
      }),
    );
  });

  it("use limited memory for calls that never end", () => {
    const count = SAMPLES.openThings;
    const metrics = new MetricsCollector({ maxOpenCalls: 100 });
    const run = metrics.openRun({ sessionId: "s", runId: "run-1" });
    for (let n = 0; n < count; n++) {
      for (const each of record([
        call(`l${n}`, n, `n${n}`),
        { type: "tool_call", call_id: `c${n}`, name: `t${n}`, arguments: {} },
      ]))
        run.take(each, false);
    }
    const { llm, tools, untracked } = metrics.summary();
    expect([llm.calls, tools.calls, untracked]).toEqual([count, count, 2 * (count - 100)]);
    expect(Object.keys(tools.byTool)).toHaveLength(101);
    // A forgotten call is not counted again when it ends.
    for (const each of record([
      { type: "llm_end", llm_call_id: "l0", duration_ms: 7 },
      { type: "tool_end", call_id: "c0", name: "t0", result: "", is_error: false },
    ]))
      run.take(each, false);
    expect(metrics.summary()).toMatchObject({ llm: { calls: count, duration: { count: 1 } }, tools: { calls: count } });
  });

  it("are rejected as options", () => {
    expect(() => new MetricsCollector({ maxLabels: -1 })).toThrow(RangeError);
    expect(() => new MetricsCollector({ maxOpenCalls: 0 })).toThrow(RangeError);
  });
});

it("gives the same result if another process takes over a run", () => {
  fc.assert(
    fc.property(sessionArbitrary, fc.nat(), (records, seed) => {
      const cut = seed % (records.length + 1);
      // Both processes count here.
      const metrics = feed(new MetricsCollector(), records.slice(0, cut));
      feed(metrics, records, cut);
      expect(metrics.summary()).toEqual(feed(new MetricsCollector(), records).summary());
    }),
    { numRuns: SAMPLES.sessions },
  );
});

it("limits the names it lists, and lists them in order with `other` last", () => {
  const names = ["zip", "other", "__proto__", "add", "zip", "late"];
  const calls = names.map((name, n): TimedEvent => ({ type: "tool_call", call_id: `c${n}`, name, arguments: {} }));
  const count = (maxLabels: number) => {
    const { byTool } = measure(calls, { maxLabels }).tools;
    return Object.entries(byTool).map(([name, tool]) => [name, tool.calls]);
  };
  expect(count(0)).toEqual([["other", 6]]);
  expect(count(3)).toEqual([
    ["__proto__", 1],
    ["zip", 2],
    ["other", 3],
  ]);
});

it("counts streams that are open across a reset from there on", () => {
  const metrics = new MetricsCollector();
  const tally = metrics.openStream({ transport: "http", dialect: "loom", kind: "fresh" });
  tally.send(1, 10, 0);
  metrics.reset();
  tally.send(1, 5, 5);
  expect(metrics.summary().streams).toMatchObject({ open: 1, frames: 1, bytes: 5, replayedBytes: 5 });
});

it("counts a replayed session like the live one", async () => {
  await fc.assert(
    fc.asyncProperty(sessionArbitrary, async (records) => {
      const log = new MemoryLog();
      const { sessionId } = await writeRecords(log, records);
      const replayed = new MetricsCollector();
      await replayObservers(log, sessionId, [replayed]);
      expect(replayed.summary()).toEqual(feed(new MetricsCollector(), records).summary());
      await log.close();
    }),
    { numRuns: 40 },
  );
});
