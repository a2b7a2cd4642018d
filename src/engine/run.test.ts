import { describe, expect, it, vi } from "vitest";
import type { LogLimits } from "../log/log-limits.ts";
import {
  type AnyEvent,
  type EventOf,
  type JsonObject,
  LoomError,
  type StampedRecord,
  Verifier,
} from "../protocol/index.ts";
import type { RunFailure } from "./run-contract.ts";
import { createLog, expectValid, readRecords, SESSION, typesOf, wrapLog } from "../../test/contracts/sender.ts";
import type { NodeRun } from "./node-run.ts";
import { openSession } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";

async function setUp(options: SessionOptions = {}, limits: Partial<LogLimits> = {}) {
  const log = wrapLog(await createLog({ limits }));
  // Many tests cause rejected events.
  const session = await openSession(log, SESSION, { onError: () => undefined, ...options });
  return { log, session, run: await session.startRun({ runId: "r1", requestId: "q1", message: "Hi", agent: "react" }) };
}

const endOf = (records: readonly StampedRecord[]) =>
  records.find(({ event }) => event.type === "run_end")?.event as EventOf<"run_end">;

describe("a run", () => {
  it("writes records from run_start to reply", async () => {
    const { log, run } = await setUp();
    expect(run.status).toBe("live");
    await run.span("think", async (node) => {
      void node.think("hm", "planning");
      void node.emit({ type: "usage", prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 });
      expect(await node.write("Hello ")).toBe(5);
      await node.write("there", { is_complete: true });
    });
    const end = await run.finish();
    expect(end).toEqual({ status: "completed", lastEventId: 9 });
    expect(run.status).toBe("completed");
    expect(run.signal.aborted).toBe(false);
    const records = await expectValid(log);
    expect(records[0]).toMatchObject({
      envelope: { session_id: SESSION, run_id: "r1", event_id: 1 },
      event: { type: "run_start", run_id: "r1", message: "Hi", agent: "react", contiguous: true, request_id: "q1" },
    });
    expect(endOf(records)).toMatchObject({
      status: "completed",
      summary: { total_tokens: 7, prompt_tokens: 3, completion_tokens: 4, tool_calls: 0 },
      first_event_id: 1,
      last_event_id: 9,
      frame_count: 9,
    });
    expect(records.at(-1)).toMatchObject({
      envelope: { node_id: "run-think-1", event_id: 9 },
      event: { type: "reply", reply: "Hello there" },
    });
    // Not even a warning.
    const verifier = new Verifier();
    expect(records.flatMap((record) => verifier.check(record))).toEqual([]);
  });

  it("writes its end and the reply in one append", async () => {
    const { log, run } = await setUp();
    await run.finish({ reply: "done" });
    expect(log.appends.at(-1)?.entries.map(({ record }) => record.event.type)).toEqual(["run_end", "reply"]);
  });

  it("numbers node runs across all names", async () => {
    const { log, run } = await setUp();
    for (const name of ["think", "act", "think"]) await run.span(name, () => undefined);
    await run.finish();
    const ids = (await expectValid(log)).filter(({ event }) => event.type === "node_enter");
    expect(ids.map(({ envelope }) => envelope.node_id)).toEqual(["run-think-1", "run-act-2", "run-think-3"]);
  });

  it("takes the reply from the node run that answered last", async () => {
    const { log, run } = await setUp();
    const [first, second] = [run.enter("a"), run.enter("b")];
    void first.write("one ");
    void second.write("TWO");
    void second.write("not shown", { channel: "thought" });
    void second.done();
    void first.write("three");
    void first.done();
    await run.finish();
    const records = await expectValid(log);
    expect(records.at(-1)).toMatchObject({ envelope: { node_id: "run-a-1" }, event: { reply: "one three" } });
    const verifier = new Verifier();
    expect(records.flatMap((record) => verifier.check(record))).toEqual([]);
  });

  it("ends a span that throws with the message of a LoomError, or with a report ID", async () => {
    const reported = new Map<string, unknown>();
    const { log, run } = await setUp({ onError: (error, errorId) => reported.set(errorId, error) });
    const thrown = [
      new LoomError("tool_failed", "no such tool"),
      new DOMException("of /home/ann", "AbortError"),
      new Error("connect postgres://admin:hunter2@db"),
      "hunter2 again",
    ];
    for (const error of thrown)
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- other code may reject with any value
      await expect(run.span("out", () => run.span("in", () => Promise.reject(error)))).rejects.toBe(error);
    await run.finish();
    const records = await expectValid(log);
    expect(JSON.stringify(records)).not.toMatch(/hunter2|ann/);
    const exits = records.flatMap(({ event }) => (event.type === "node_exit" ? [event as EventOf<"node_exit">] : []));
    const reasons = exits.map(({ result }) => (result === "Ok" ? "" : result.Err));
    expect(reasons.slice(0, 4)).toEqual(["no such tool", "no such tool", "aborted", "aborted"]);
    const ids = reasons.slice(4).map((reason) => /^an unexpected error \((.+)\)$/.exec(reason)?.[1] ?? "");
    expect(ids.map((id) => reported.get(id))).toEqual([thrown[2], thrown[2], thrown[3], thrown[3]]);
    // An error that passes several layers is reported once.
    expect(ids[0]).toBe(ids[1]);
  });

  it("fails a span that goes out of scope without done", async () => {
    const { log, run } = await setUp();
    {
      using node = run.enter("good");
      void node.done();
    }
    {
      using node = run.enter("forgotten");
      void node.write("x");
    }
    await run.finish();
    const exits = (await expectValid(log)).flatMap(({ event }) => (event.type === "node_exit" ? [event] : []));
    expect(exits).toMatchObject([{ result: "Ok" }, { result: { Err: "ended without a result" } }]);
  });

  it("ends a node run once: the first exit wins", async () => {
    const { log, run } = await setUp();
    const node = run.enter("n");
    const left = await node.fail(new LoomError("tool_failed", "first"));
    expect(await node.done()).toBe(left);
    expect(await node.fail(new Error("second"))).toBe(left);
    expect(() => node.commit({})).toThrow(expect.objectContaining({ code: "invalid_event" }));
    await run.finish();
    const exits = (await expectValid(log)).filter(({ event }) => event.type === "node_exit");
    expect(exits.map(({ event }) => event)).toMatchObject([{ result: { Err: "first" } }]);
  });

  it("closes open work when it finishes", async () => {
    const { log, run } = await setUp();
    const node = run.enter("n");
    void node.emit({ type: "tool_call", call_id: "c", name: "t", arguments: {} });
    void node.emit({ type: "tool_start", call_id: "c", name: "t" });
    await run.finish({ reply: "" });
    const records = await expectValid(log);
    expect(typesOf(records).slice(-4)).toEqual(["tool_end", "node_exit", "run_end", "reply"]);
    expect(records.at(-3)?.event).toMatchObject({ result: { Err: "the run ended" } });
    await expect(node.done()).rejects.toMatchObject({ code: "run_ended" });
  });

  it.each(["fail", "cancel"] as const)("closes everything and keeps the text on %s", async (how) => {
    const { log, run } = await setUp();
    const outer = run.enter("outer");
    const inner = run.enter("inner");
    void inner.write("partial");
    void inner.emit({ type: "llm_start", llm_call_id: "m" });
    const call = { call_id: "running", name: "t" };
    run.postUnit(
      [
        { type: "tool_call", ...call, arguments: {} },
        { type: "tool_start", ...call },
      ],
      outer,
    );
    void outer.emit({ type: "tool_call", call_id: "waiting", name: "t", arguments: {} });
    const answer = run.requestApproval({ callId: "waiting", name: "t", arguments: {} }, outer);
    const end =
      how === "fail" ? await run.fail({ message: "broken", code: "model_failed" }) : await run.cancel("by mei");
    await expect(answer).rejects.toMatchObject({ code: how === "fail" ? "run_ended" : "cancelled" });
    expect(run.signal.aborted).toBe(true);
    const records = await expectValid(log);
    const closing = [
      "tool_approval_result",
      "llm_end",
      "tool_end",
      "tool_end",
      "node_exit",
      "node_exit",
      "run_end",
      "reply",
    ];
    expect(typesOf(records).slice(-9 + (how === "fail" ? 0 : 1))).toEqual(
      how === "fail" ? ["error", ...closing] : closing,
    );
    const { envelope, event } = records.at(-1) as StampedRecord;
    expect(event).toEqual({ type: "reply", reply: "partial" });
    expect(envelope).toMatchObject({ node_id: inner.nodeId, event_id: records.length });
    expect(endOf(records)).toMatchObject({ has_reply: true, last_event_id: records.length });
    expect(endOf(records)).toMatchObject(
      how === "fail"
        ? { status: "error", code: "model_failed", reason: "broken" }
        : { status: "cancelled", code: "cancelled", reason: "by mei" },
    );
    expect(end.status).toBe(how === "fail" ? "error" : "cancelled");
    expect(await log.getRun(SESSION, "r1")).toMatchObject({ status: end.status });
  });

  it("ends once: the first end wins", async () => {
    const { log, run } = await setUp();
    const first = run.cancel("first");
    expect(await run.cancel("second")).toEqual(await first);
    expect(await run.fail({ message: "late" })).toEqual(await first);
    await expect(run.finish()).rejects.toMatchObject({ code: "run_ended" });
    await expect(run.emit({ type: "custom", value: 1 })).rejects.toMatchObject({ code: "run_ended" });
    await expect(run.ready()).rejects.toMatchObject({ code: "run_ended" });
    expect(() => run.enter("n")).toThrow(expect.objectContaining({ code: "run_ended" }));
    expect(typesOf(await expectValid(log))).toEqual(["run_start", "run_end", "reply"]);
  });

  it("finishes once", async () => {
    const { log, run } = await setUp();
    const ends = await Promise.all([run.finish({ reply: "a" }), run.finish({ reply: "b" }), run.cancel()]);
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(["completed"]));
    expect((await expectValid(log)).at(-1)?.event).toEqual({ type: "reply", reply: "a" });
  });

  it.each<[string, AnyEvent, string]>([
    ["a missing field", { type: "message_chunk", content: "x" }, "id"],
    ["a wrong type", { type: "tool_progress", call_id: "c", progress: 101 }, "progress"],
    ["an event that ends the run", { type: "run_end", status: "completed" }, "type"],
    ["an event that starts a span", { type: "node_enter", id: "n" }, "type"],
    ["a reply event", { type: "reply", reply: "" }, "type"],
    [
      "a field of the envelope",
      { type: "usage", prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, event_id: 9 },
      "event_id",
    ],
    [
      "the id of a span in an event",
      { type: "got_expand", node_id: "x", nodes_added: 0, edges_added: 0, span_node_id: "y" },
      "span_node_id",
    ],
  ])("rejects %s and names it", async (_name, event, path) => {
    const { log, run } = await setUp();
    await expect(run.emit(event)).rejects.toMatchObject({ code: "invalid_event", details: { path } });
    await run.finish();
    expect(typesOf(await expectValid(log))).toEqual(["run_start", "run_end", "reply"]);
  });

  it("drops null optional fields and stores a copy", async () => {
    const { log, run } = await setUp();
    const value: { [key: string]: JsonObject[string] } = { n: 1 };
    void run.emit({ type: "custom", value });
    void run.emit({ type: "reasoning_chunk", content: "x", stage: null });
    value["n"] = 2;
    await run.finish();
    const events = (await expectValid(log)).map(({ event }) => event);
    expect(events[1]).toEqual({ type: "custom", value: { n: 1 } });
    expect(events[2]).toEqual({ type: "reasoning_chunk", content: "x" });
  });

  it("counts only its own records", async () => {
    const { log, session, run } = await setUp();
    await run.emit({ type: "custom", value: 1 });
    await session.record({ type: "custom", value: "of the session" });
    await run.finish();
    expect(endOf(await expectValid(log))).toMatchObject({ frame_count: 4, first_event_id: 1, last_event_id: 5 });
  });

  it("fails if an event exceeds the backlog", async () => {
    const { log, run } = await setUp({ maxBacklogBytes: 2000 });
    const node = run.enter("n");
    const emitted = Array.from({ length: 100 }, () => node.write("x".repeat(100)));
    const results = await Promise.allSettled(emitted);
    const [firstFailure] = results.filter(({ status }) => status === "rejected");
    expect(firstFailure).toMatchObject({ reason: { code: "backlog_full" } });
    expect(await run.ended).toMatchObject({ status: "error", code: "backlog_full" });
    const stored = (await expectValid(log)).filter(({ event }) => event.type === "message_chunk");
    expect(stored).toHaveLength(results.filter(({ status }) => status === "fulfilled").length);
  });

  it("never fills the backlog if the producer awaits ready", async () => {
    const { log, run } = await setUp({ maxBacklogBytes: 2000 });
    const node = run.enter("n");
    for (let index = 0; index < 100; index++) {
      await run.ready();
      void node.write("x".repeat(100));
    }
    void node.done();
    expect(await run.finish()).toMatchObject({ status: "completed" });
    expect(await expectValid(log)).toHaveLength(105);
  });

  it("fails if the reply is too large to store", async () => {
    const { log, run } = await setUp({}, { maxEventBytes: 1000 });
    await expect(run.finish({ reply: "x".repeat(2000) })).rejects.toMatchObject({ code: "event_too_large" });
    expect(endOf(await expectValid(log))).toMatchObject({ status: "error", code: "event_too_large" });
  });

  it("fails if the answer exceeds the limit, unless a reply is given", async () => {
    const { log, session, run } = await setUp({}, { maxEventBytes: 1000 });
    const writeMuch = async (node: NodeRun): Promise<void> => {
      for (let piece = 0; piece < 11; piece++) await node.write("x".repeat(100));
    };
    await run.span("n", writeMuch);
    await expect(run.finish()).rejects.toMatchObject({ code: "event_too_large" });
    const second = await session.startRun();
    await second.span("n", writeMuch);
    await second.finish({ reply: "x".repeat(11) });
    await expectValid(log);
  });

  it("stores a failure without details that are too large", async () => {
    const { log, run } = await setUp({}, { maxEventBytes: 2000 });
    await run.fail({ message: "m".repeat(3000), code: "tool_failed", details: { dump: "x".repeat(5000) } });
    expect(endOf(await expectValid(log))).toMatchObject({ status: "error", code: "tool_failed" });
  });

  it.each([
    ["details", { message: "m", code: "tool_failed", details: { big: 1n } }, { message: "m", code: "tool_failed" }],
    ["a code", { message: "m", code: "c".repeat(5000), details: { a: 1 } }, { message: "m" }],
  ])("ends even if %s of its failure cannot be written", async (_what, failure, stored) => {
    const seen: unknown[] = [];
    const { log, run } = await setUp({ onError: (error) => seen.push(error) });
    expect(await run.fail(failure as unknown as RunFailure)).toMatchObject({ status: "error", reason: "m" });
    expect(seen).toMatchObject([{ code: "invalid_event" }]);
    const errors = (await expectValid(log)).filter(({ event }) => event.type === "error");
    expect(errors.map(({ event }) => event)).toEqual([{ type: "error", ...stored }]);
  });

  it("rejects an invalid summary and stays live", async () => {
    const { run } = await setUp();
    await expect(run.finish({ summary: { total_tokens: -1 } })).rejects.toMatchObject({ code: "invalid_event" });
    expect(run.status).toBe("live");
    await run.finish({ summary: { total_tokens: 5 } });
  });

  it("has no negative duration if the clock goes back", async () => {
    const times = [1000, 2000, 500, 400];
    const { log, run } = await setUp({ now: () => times.shift() ?? 300 });
    await run.span("n", (node) => node.write("x"));
    await run.finish();
    const records = await expectValid(log);
    expect(records.map(({ envelope }) => envelope.ts)).toEqual(records.map((_, index) => (index === 0 ? 1000 : 2000)));
    expect(endOf(records).summary?.duration_ms).toBe(1000);
  });

  it("batches the small events of a tick", async () => {
    const { log, run } = await setUp();
    const before = log.appends.length;
    const node = run.enter("n");
    const pieces = Array.from({ length: 200 }, (_, index) => `${index} `);
    await Promise.all(pieces.map((piece) => node.write(piece)));
    expect(log.appends.length).toBe(before + 1);
    void node.done();
    await run.finish();
    expect((await readRecords(log)).at(-1)?.event).toEqual({ type: "reply", reply: pieces.join("") });
  });

  it.each([
    ["a reply that is not a string", { reply: 5 as unknown as string }, "reply"],
    ["a node id that is not a string", { reply: "x", nodeId: 5 as unknown as string }, "node_id"],
  ])("rejects %s on finish and stays live", async (_what, options, path) => {
    const seen: unknown[] = [];
    const { log, run } = await setUp({ onError: (error) => seen.push(error) });
    const refusal = { code: "invalid_event", details: { path } };
    await expect(run.finish(options)).rejects.toMatchObject(refusal);
    expect(seen).toMatchObject([refusal]);
    expect(run.status).toBe("live");
    await run.finish({ reply: "good" });
    await expectValid(log);
  });

  it("rejects a cancel reason that is not a string", async () => {
    const { run } = await setUp();
    await expect(run.cancel(5 as unknown as string)).rejects.toMatchObject({ code: "invalid_event" });
    expect(run.status).toBe("live");
    expect(await run.cancel("enough")).toMatchObject({ status: "cancelled", reason: "enough" });
  });

  it("fails on an event that is too large, even if its promise is ignored", async () => {
    const { log, run } = await setUp({}, { maxEventBytes: 2000 });
    const node = run.enter("n");
    void node.write("before ");
    void node.write("x".repeat(3000));
    void node.write("after");
    expect(await run.ended).toMatchObject({ status: "error", code: "event_too_large" });
    expect(run.signal.aborted).toBe(true);
    expect(JSON.stringify(await expectValid(log))).not.toContain("after");
  });

  it("reports a rejected event to onError and continues", async () => {
    const seen: unknown[] = [];
    const { log, run } = await setUp({ onError: (error) => seen.push(error) });
    void run.emit({ type: "tool_end", call_id: "unknown", name: "t", result: "" });
    await run.finish({ reply: "." });
    expect(seen).toMatchObject([{ code: "invalid_event" }]);
    void run.emit({ type: "custom", value: 1 });
    expect(seen).toHaveLength(1);
    await expectValid(log);
  });

  it("warns once about rejected events without onError", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const session = await openSession(await createLog(), SESSION);
    const run = await session.startRun();
    for (const type of ["run_end", "reply"]) void run.emit({ type });
    expect(warn).toHaveBeenCalledTimes(1);
    warn.mockRestore();
    await session.close();
  });

  it("ends even if its closing records must be truncated", async () => {
    const { log, session, run } = await setUp({}, { maxEventBytes: 700 });
    const node = run.enter("n".repeat(200));
    await node.emit({ type: "tool_call", call_id: "c", name: "t", arguments: {} });
    const end = await run.fail({ message: "m".repeat(2000), code: "run_failed" });
    expect(end).toMatchObject({ status: "error", code: "run_failed" });
    await session.close();
    const types = typesOf(await expectValid(log));
    expect(types.slice(-5)).toEqual(["error", "tool_end", "node_exit", "run_end", "reply"]);
  });

  it("is cancelled even if the summary is too large", async () => {
    const { log, run } = await setUp({}, { maxEventBytes: 2000 });
    const summary = { total_tokens: 1, notes: "x".repeat(3000) };
    expect(await run.cancel("enough", { summary })).toMatchObject({ status: "cancelled" });
    await expectValid(log);
  });
});
