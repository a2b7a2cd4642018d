/**
 * Metrics, log lines and spans of recorded runs, with a fixed clock, compared with `observed-runs/*.txt`. The three
 * observers share how they follow a run; this shows what a change of it does to each. Run with `-u` to write the files.
 */
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { MemoryLog } from "../../src/log/index.ts";
import {
  createLogObserver,
  createPrometheusObserver,
  MetricsCollector,
  type MetricsSummary,
  type Observer,
  type PrometheusObserver,
  replayObservers,
} from "../../src/observe/index.ts";
import type { AnyEvent, StampedRecord } from "../../src/protocol/index.ts";
import { writeRecords } from "../log-sessions.ts";
import { readVector, VECTORS } from "../vectors.ts";
import { recordSpans, type SpanRecorder, toMs } from "./span-recorder.ts";

const START = Date.UTC(2025, 0, 1);
/** Milliseconds between two records. */
const STEP = 250;

interface RecordedRun {
  readonly name: string;
  readonly records: readonly StampedRecord[];
  /** Whether messages, arguments and results are recorded. */
  readonly contents?: boolean;
  /** Another process wrote the records up to this event. */
  readonly takenOverAfter?: string;
}

/** A record every quarter of a second. Records without a time stay so. */
function stamp(records: readonly (Pick<StampedRecord, "event"> & { readonly envelope: object })[]): StampedRecord[] {
  return records.map(({ envelope, event }, index) => ({
    envelope: {
      ...envelope,
      session_id: "s",
      event_id: index + 1,
      ...("ts" in envelope ? { ts: START + index * STEP } : {}),
    },
    event,
  }));
}

function readRun(name: string, options: Omit<RecordedRun, "name" | "records"> & { readonly until?: string } = {}) {
  const records = stamp(readVector(join(VECTORS, "runs", `${name}.json`)).records.flat());
  const { until, ...rest } = options;
  const end = until === undefined ? records.length : records.findIndex(({ event }) => event.type === until) + 1;
  const how = [until && `left after ${until}`, rest.takenOverAfter && `taken over after ${rest.takenOverAfter}`];
  return { name: [name, ...how.filter(Boolean)].join(", "), records: records.slice(0, end), ...rest };
}

const USAGE = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 15 };

/** What no vector has: a retried call, a summary beside it, two calls in one node run, and calls without a start or an end. */
const UNUSUAL: readonly (AnyEvent & { readonly node?: string })[] = [
  {
    type: "run_start",
    run_id: "r",
    agent: "react",
    request_id: "req-1",
    message: "The key is sk-abcdefghijklmnop",
    context: { traceparent: `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`, tenant: "acme" },
  },
  { type: "llm_start", llm_call_id: "think-1.summary.0", model: "small", purpose: "summary", node: "think-1" },
  { type: "usage", llm_call_id: "think-1.summary.0", ...USAGE, node: "think-1" },
  { type: "llm_end", llm_call_id: "think-1.summary.0", finish_reason: "stop", purpose: "summary", node: "think-1" },
  { type: "compression_applied", before_tokens: 900, after_tokens: 300, method: "summary", covered_messages: 4 },
  { type: "llm_start", llm_call_id: "think-1.0", model: "acme.chat/big", attempt: 0, node: "think-1" },
  { type: "message_chunk", content: "No", id: "think", node: "think-1" },
  {
    type: "llm_end",
    llm_call_id: "think-1.0",
    finish_reason: "error",
    error: "busy",
    error_code: "model_failed",
    node: "think-1",
  },
  { type: "llm_start", llm_call_id: "think-1.1", model: "acme.chat/big", attempt: 1, node: "think-1" },
  { type: "reasoning_chunk", content: "Well.", id: "think", node: "think-1" },
  { type: "message_chunk", content: "Hello ", id: "think", node: "think-1" },
  { type: "tool_call_chunk", call_id: "c1", name: "add", arguments_delta: "{", node: "think-1" },
  { type: "tool_call", call_id: "c1", name: "add", arguments: { a: 1, password: "p" }, node: "think-1" },
  { type: "tool_call_chunk", call_id: "c2", name: "add", arguments_delta: "{", node: "think-1" },
  { type: "usage", ...USAGE, node: "think-1" },
  { type: "llm_end", llm_call_id: "think-1.1", finish_reason: "tool_calls", duration_ms: 777, node: "think-1" },
  { type: "tool_approval", call_id: "c1", name: "add", arguments: { a: 1 }, node: "act-2" },
  {
    type: "tool_approval_result",
    call_id: "c1",
    name: "add",
    decision: "approved",
    arguments: { a: 2 },
    node: "act-2",
  },
  { type: "tool_start", call_id: "c1", name: "add", node: "act-2" },
  { type: "tool_end", call_id: "c2", name: "add", result: "cut off", is_error: true, error_code: "invalid_arguments" },
  { type: "tool_end", call_id: "c1", name: "add", result: "3", is_error: false, node: "act-2" },
  { type: "tool_end", call_id: "c9", name: "late", result: "no start", is_error: true, error_code: "cancelled" },
  { type: "llm_start", llm_call_id: "vote-3.a", model: "acme.chat/big", node: "vote-3" },
  { type: "llm_start", llm_call_id: "vote-3.b", model: "acme.chat/big", node: "vote-3" },
  { type: "message_chunk", content: "whose?", id: "vote", node: "vote-3" },
  { type: "usage", llm_call_id: "vote-3.b", ...USAGE, node: "vote-3" },
  { type: "llm_end", llm_call_id: "vote-3.b", model: "acme.chat/big-2", finish_reason: "stop", node: "vote-3" },
  { type: "llm_end", llm_call_id: "vote-3.b", finish_reason: "stop", node: "vote-3" },
  { type: "llm_end", llm_call_id: "unseen.0", model: "acme.chat/big", finish_reason: "cancelled" },
  { type: "error", message: "not said", stage: "llm_stream", code: "internal", details: { error_id: "err-1" } },
  { type: "error", message: "The limit is 8", code: "iteration_limit", stage: "agent", recoverable: true },
  { type: "tool_start", call_id: "c3", name: "wait", node: "act-4" },
  { type: "run_end", status: "cancelled", reason: "enough", code: "cancelled" },
];

const RUNS: readonly RecordedRun[] = [
  readRun("react-tools", { contents: true }),
  readRun("bad-arguments"),
  readRun("agent-parallel-approval"),
  readRun("agent-parallel-approval", { until: "tool_approval" }),
  readRun("agent-parallel-approval", { takenOverAfter: "tool_approval", contents: true }),
  readRun("agent-rejected-repaired"),
  readRun("agent-client-tools", { contents: true }),
  readRun("agent-killed-mid-answer"),
  readRun("agent-killed-mid-answer", { takenOverAfter: "tool_start" }),
  readRun("agent-tot-backtrack"),
  readRun("agent-got-failure"),
  readRun("agot-expand"),
  readRun("cancel"),
  readRun("error"),
  readRun("agent-model-fails"),
  readRun("todo-image", { contents: true }),
  readRun("calls-without-ids"),
  readRun("foreign-23"),
  readRun("interleaved-runs"),
  {
    name: "unusual",
    records: stamp(
      UNUSUAL.map(({ node, ...event }) => ({
        envelope: { run_id: "r", ts: 0, ...(node === undefined ? {} : { node_id: node }) },
        event: event as AnyEvent,
      })),
    ),
    contents: true,
  },
];

it("are at least ten", () => expect(RUNS.length).toBeGreaterThan(10));

it.each(RUNS)("of $name", async (run) => {
  const metrics = new MetricsCollector();
  const prometheus = await createPrometheusObserver();
  const { spans, lines } = await observe(run, [metrics, prometheus]);
  const text = [
    ...section(
      "metrics",
      (await scrape(prometheus)).filter((line) => !/^$|^#|_bucket\{| 0$/.test(line)),
    ),
    ...section("summary", describeSummary(metrics.summary())),
    ...section("log", lines),
    ...section("spans", describeSpans(spans)),
  ];
  await expectFile(run.name.replaceAll(/[^a-z0-9-]+/g, "-"), text);
});

it("of all runs together", async () => {
  const metrics = new MetricsCollector();
  const prometheus = await createPrometheusObserver();
  for (const run of RUNS) await observe(run, [metrics, prometheus]);
  await expectFile("all", [
    ...section("metrics", await scrape(prometheus)),
    ...section("summary", describeSummary(metrics.summary())),
  ]);
});

async function observe(
  { records, contents = false, takenOverAfter }: RecordedRun,
  observers: readonly Observer[],
): Promise<{ readonly spans: SpanRecorder; readonly lines: readonly string[] }> {
  // For runs without timestamps.
  vi.setSystemTime(START);
  const lines: string[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const logger = { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
  const logs = await createLogObserver({ logger, contents });
  const spans = await recordSpans({ captureContent: contents });
  const log = new MemoryLog();
  await writeRecords(log, records);
  const past = records.findIndex(({ event }) => event.type === takenOverAfter) + 1;
  const errors: unknown[] = [];
  await replayObservers(log, "s", [...observers, logs, spans.observer], {
    after: past,
    onError: (error) => errors.push(error),
  });
  vi.useRealTimers();
  expect(errors).toEqual([]);
  return { spans, lines };
}

async function scrape({ register }: PrometheusObserver): Promise<readonly string[]> {
  return (await register.metrics()).trim().split("\n");
}

/** One line per part, without those that are zero. */
function describeSummary(summary: MetricsSummary): readonly string[] {
  return Object.entries(summary).map(([part, value]) => {
    const text = JSON.stringify(value, (_name, inner: unknown) => (inner === 0 ? undefined : inner));
    return `${part} ${text ?? 0}`;
  });
}

function describeSpans({ readSpans }: SpanRecorder): readonly string[] {
  const spans = readSpans();
  const names = new Map(spans.map((span, index) => [span.spanContext().spanId, `${index} ${span.name}`]));
  const at = (time: readonly [number, number]): string => `${Math.round(toMs(time) - START)}`;
  return spans.flatMap(({ name, kind, parentSpanContext, startTime, endTime, status, attributes, events, links }) => [
    `${name} kind=${kind} ${at(startTime)}-${at(endTime)} parent=${
      parentSpanContext === undefined ? "none" : (names.get(parentSpanContext.spanId) ?? parentSpanContext.spanId)
    } status=${JSON.stringify(status)} links=${links.length}`,
    ...Object.entries(attributes)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => `  ${key}=${JSON.stringify(value)}`),
    ...events.map((event) => `  event ${event.name} ${at(event.time)} ${JSON.stringify(event.attributes)}`),
  ]);
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return [`== ${title}`, ...lines, ""];
}

async function expectFile(name: string, lines: readonly string[]): Promise<void> {
  await expect(lines.join("\n")).toMatchFileSnapshot(join(import.meta.dirname, "observed-runs", `${name}.txt`));
}
