import * as promClient from "prom-client";
import { describe, expect, it } from "vitest";
import type { AnyEvent, StampedRecord } from "../../protocol/index.ts";
import { createPrometheusObserver, type PrometheusObserver } from "./prometheus-observer.ts";
import { LONG } from "../../../test/sampling.ts";

function record(event: AnyEvent, ts: number): StampedRecord {
  return { envelope: { session_id: "s", run_id: "run-1", event_id: 1, ts, node_id: "n1" }, event };
}

const EVENTS: readonly AnyEvent[] = [
  { type: "run_start", agent: "react" },
  { type: "retrieval_complete", doc_count: 3 },
  { type: "compression_applied", before_tokens: 62, after_tokens: 39 },
  { type: "llm_start", llm_call_id: "a", model: "m1" },
  { type: "message_chunk", content: "x", id: "think" },
  { type: "usage", prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, llm_call_id: "a" },
  { type: "llm_end", llm_call_id: "a", finish_reason: "error", duration_ms: 2000 },
  { type: "tool_call", call_id: "c", name: "rm", arguments: {} },
  { type: "tool_approval", call_id: "c", name: "rm", arguments: {} },
  { type: "tool_approval_result", call_id: "c", decision: "approved" },
  { type: "tool_end", call_id: "c", name: "rm", result: "", is_error: true, duration_ms: 4 },
  { type: "error", message: "no", stage: "tool_execute", code: "tool_failed" },
  { type: "run_end", status: "completed" },
];

function observe(observer: PrometheusObserver, events: readonly AnyEvent[]): void {
  const run = observer.openRun({ sessionId: "s", runId: "run-1" });
  // One second between events.
  for (const [index, event] of events.entries()) run.take(record(event, index * 1000), false);
  run.close(false);
}

/** One event of every kind. */
async function observeAll(): Promise<PrometheusObserver> {
  const observer = await createPrometheusObserver();
  observe(observer, EVENTS);
  for (const kind of ["fresh", "resume", "gap"] as const) {
    const tally = observer.openStream({ transport: "http", dialect: "loom", kind });
    tally.send(2, 100, 40);
    if (kind !== "fresh") tally.close("left");
  }
  observer.refuseStream("evicted");
  observer.closeSlowReader();
  observer.recordStoreCall("append", 2);
  observer.countStoreFault("store_full");
  observer.countAuditFailure();
  observer.countAuthentication("token", "rejected");
  return observer;
}

describe("Prometheus metrics", () => {
  it("are counted", async () => {
    const { register } = await observeAll();
    const lines = (await register.metrics()).split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        'loom_runs_started_total{agent="react"} 1',
        'loom_runs_total{agent="react",status="completed"} 1',
        "loom_runs_in_progress 0",
        'loom_run_duration_seconds_sum{agent="react"} 12',
        'loom_run_time_to_first_answer_seconds_sum{agent="react"} 4',
        // A failed call is not an iteration.
        "loom_iterations_total 0",
        'loom_llm_calls_total{model="m1"} 1',
        'loom_llm_errors_total{model="m1"} 1',
        'loom_llm_duration_seconds_bucket{le="2.5",model="m1"} 1',
        'loom_llm_duration_seconds_bucket{le="1",model="m1"} 0',
        'loom_llm_time_to_first_token_seconds_sum{model="m1"} 1',
        'loom_llm_tokens_total{model="m1",direction="prompt"} 10',
        'loom_llm_tokens_total{model="m1",direction="completion"} 5',
        'loom_tool_calls_total{tool="rm"} 1',
        'loom_tool_errors_total{tool="rm"} 1',
        'loom_tool_duration_seconds_sum{tool="rm"} 0.004',
        'loom_errors_total{stage="tool_execute",code="tool_failed"} 1',
        "loom_retrievals_total 1",
        "loom_retrieved_documents_total 3",
        "loom_compressions_total 1",
        "loom_compression_saved_tokens_total 23",
        "loom_approvals_asked_total 1",
        'loom_approvals_answered_total{decision="approved"} 1',
        "loom_approval_wait_seconds_sum 1",
        "loom_untracked_calls_total 0",
        'loom_streams_opened_total{transport="http"} 3',
        'loom_stream_resumes_total{transport="http"} 1',
        'loom_stream_gaps_total{transport="http"} 1',
        'loom_streams_open{transport="http"} 1',
        'loom_streams_closed_total{transport="http",reason="left"} 2',
        'loom_streams_refused_total{code="evicted"} 1',
        "loom_slow_readers_closed_total 1",
        'loom_stream_frames_total{transport="http"} 6',
        'loom_stream_bytes_total{transport="http"} 300',
        'loom_stream_replayed_bytes_total{transport="http"} 120',
        'loom_store_duration_seconds_sum{operation="append"} 0.002',
        'loom_store_faults_total{code="store_full"} 1',
        "loom_audit_failures_total 1",
        'loom_authentications_total{kind="token",outcome="rejected"} 1',
      ]),
    );
  });

  it("of a server are read with each scrape until it closes", async () => {
    const observer = await createPrometheusObserver();
    const scrape = async (): Promise<readonly string[]> => (await observer.register.metrics()).split("\n");
    expect(await scrape()).not.toContain("loom_held_sessions 0");
    let held = 1;
    const server = { log: undefined, heldSessions: () => held, openSockets: () => 0 };
    const stop = observer.watchServer({ ...server, heldBytes: { channels: () => 10 * held } });
    const stopOther = observer.watchServer({ ...server, heldBytes: { channels: () => 5, other: () => 7 } });
    held = 2;
    expect(await scrape()).toEqual(
      expect.arrayContaining([
        "loom_held_sessions 4",
        'loom_held_bytes{part="channels"} 25',
        'loom_held_bytes{part="other"} 7',
      ]),
    );
    stopOther();
    stop();
    expect(await scrape()).not.toContain('loom_held_bytes{part="channels"} 25');
  });

  it("have a help text, a type and a conventional name", async () => {
    const { register } = await observeAll();
    const text = await register.metrics();
    const find = (what: string) =>
      new Map(
        [...text.matchAll(new RegExp(`^# ${what} (\\S+) (.+)$`, "gm"))].map(([, name = "", rest = ""]) => [name, rest]),
      );
    const [helps, types] = [find("HELP"), find("TYPE")];
    expect([...helps.keys()]).toEqual([...types.keys()]);
    expect(types.size).toBe(37);
    for (const [name, type] of types) {
      expect(name).toMatch(/^loom_[a-z_]+$/);
      expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"]);
      expect([name, name.endsWith("_seconds")]).toEqual([name, type === "histogram"]);
    }
    const samples = [...text.matchAll(/^([a-z_]+)(?:\{[^}]*\})? [\d.e+-]+$/gm)].map(([, name = ""]) => name);
    expect(samples.length).toBe(text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length);
    const known = samples.map((name) => (types.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, "")));
    expect(new Set(known)).toEqual(new Set(types.keys()));
  });

  it.runIf(LONG)("are limited in number, whatever names occur", async () => {
    const observer = await createPrometheusObserver({ maxLabels: 10 });
    const run = observer.openRun({ sessionId: "s", runId: "run-1" });
    for (let n = 0; n < 10_000; n++) {
      const name = `tool-${n}-${"x".repeat(200)}`;
      const events: AnyEvent[] = [
        { type: "tool_call", call_id: `c${n}`, name, arguments: {} },
        { type: "tool_end", call_id: `c${n}`, name, result: "", is_error: true, duration_ms: 1 },
        { type: "llm_start", llm_call_id: `l${n}`, model: name },
        { type: "llm_end", llm_call_id: `l${n}`, duration_ms: 1 },
        { type: "error", message: "", stage: `s${n % 100}`, code: `e${n}` },
      ];
      for (const event of events) run.take(record(event, n), false);
      observer.refuseStream(`code ${n}`);
    }
    const text = await observer.register.metrics();
    const values = (label: string) =>
      new Set([...text.matchAll(new RegExp(`${label}="([^"]*)"`, "g"))].map(([, value = ""]) => value));
    for (const label of ["tool", "model", "stage", "code"]) {
      expect(values(label).size).toBeLessThanOrEqual(22);
      expect(values(label)).toContain("other");
    }
    expect(values("tool").size).toBe(11);
    expect(Math.max(...[...values("tool")].map((value) => value.length))).toBe(64);
    expect(text).toContain('loom_tool_calls_total{tool="other"} 9990');
    expect(text.match(/^loom_errors_total\{/gm)?.length).toBeLessThanOrEqual(11);
    expect(text.length).toBeLessThan(100_000);
  });

  it("escape label values", async () => {
    const observer = await createPrometheusObserver();
    observe(observer, [{ type: "tool_call", call_id: "c", name: 'a"b\\c\nd', arguments: {} }]);
    expect(await observer.register.metrics()).toContain('loom_tool_calls_total{tool="a\\"b\\\\c_d"} 1');
  });

  it("use the given register and prefix", async () => {
    const register = new promClient.Registry();
    new promClient.Counter({ name: "mine_total", help: "Mine", registers: [register] }).inc();
    const observer = await createPrometheusObserver({ register, prefix: "shop_" });
    observe(observer, EVENTS);
    expect(observer.register).toBe(register);
    const text = await register.metrics();
    expect(text).toContain("mine_total 1");
    expect(text).toContain('shop_runs_total{agent="react",status="completed"} 1');
    await expect(createPrometheusObserver({ register, prefix: "shop_" })).rejects.toThrow("already been registered");
    // Another prefix or register does not conflict.
    await createPrometheusObserver({ register, prefix: "second_" });
  });

  it("do not count past records", async () => {
    const observer = await createPrometheusObserver();
    const run = observer.openRun({ sessionId: "s", runId: "run-1" });
    for (const [index, event] of EVENTS.entries()) run.take(record(event, index * 1000), event.type !== "run_end");
    const text = await observer.register.metrics();
    expect(text).toContain("loom_runs_in_progress 1");
    expect(text).toContain('loom_runs_total{agent="react",status="completed"} 1');
    expect(text).toContain('loom_run_duration_seconds_sum{agent="react"} 12');
    expect(text).not.toContain("loom_runs_started_total{");
    expect(text).toContain("loom_iterations_total 0");
    run.close(true);
    expect(await observer.register.metrics()).toContain("loom_runs_in_progress 0");
  });
});
