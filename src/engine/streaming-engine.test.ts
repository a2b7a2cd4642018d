import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createStreamCheck, DIALECTS } from "../dialects/index.ts";
import type { Log } from "../log/log.ts";
import type { JsonObject } from "../protocol/index.ts";
import { createFaultyLog, createLog, expectValid, readRecords, SESSION, typesOf } from "../../test/contracts/sender.ts";
import { sendCommand } from "./send-command.ts";
import { openSession } from "./session.ts";
import { StreamingEngine, type StreamingEngineOptions } from "./streaming-engine.ts";

const parse = (frame: string): JsonObject => JSON.parse(frame) as JsonObject;

async function start(options: StreamingEngineOptions = {}) {
  const log = await createLog();
  const engine = new StreamingEngine("req_xxx", { log, sessionOptions: { onError: () => undefined }, ...options });
  await engine.emitSessionStart(SESSION);
  return { log, engine };
}

/** The frames that a reader of the log gets in the engine dialect. */
async function encode(log: Log): Promise<readonly string[]> {
  const encoder = DIALECTS.engine.createEncoder();
  return (await readRecords(log)).flatMap((record) => [...encoder.encode(record)]);
}

describe("StreamingEngine", () => {
  it("produces the frames of the specification", async () => {
    let now = 1_234_567_890;
    const log = await createLog();
    const sent: string[] = [];
    const engine = new StreamingEngine("req_xxx", { log, now: () => now, send: (frame) => sent.push(frame) });
    expect(engine.sequence).toBe(0);
    expect(engine.startTime).toBe(now);
    const columns = ["产品", "销量"];
    const frames = [
      await engine.emitSessionStart(SESSION),
      await engine.emitThinking("思考内容片段", "reasoning"),
      await engine.emitToolCallStart("tool_xxx", "display_table", "展示表格数据", { table_name: "销售数据", columns }),
      await engine.emitToolCallProgress("tool_xxx", 50, "half"),
      await engine.emitToolCallEnd("tool_xxx", "success", { shown: true, rows: 2 }, undefined, 150),
      await engine.emitContent("最终答案内容片段"),
      await engine.emitData("dataframe", { name: "数据名称", columns, rows: [] }, { description: "数据描述" }),
      await engine.emitError("execution", "用户可见的错误信息", { context: {} }, true),
    ];
    now += 3000;
    frames.push(await engine.emitSessionEnd("completed", { total_tokens: 1500 }));
    const metadata = (sequence: number, more = {}) => ({
      request_id: "req_xxx",
      timestamp: sequence === 8 ? now : now - 3000,
      sequence,
      ...more,
    });
    expect(frames.map(parse)).toEqual([
      { type: "session_start", data: { session_id: SESSION, request_id: "req_xxx" }, metadata: metadata(0) },
      { type: "thinking", data: { content: "思考内容片段", stage: "reasoning" }, metadata: metadata(1) },
      {
        type: "tool_call_start",
        data: {
          tool_id: "tool_xxx",
          tool_name: "display_table",
          description: "展示表格数据",
          arguments: { table_name: "销售数据", columns },
        },
        metadata: metadata(2),
      },
      {
        type: "tool_call_progress",
        data: { tool_id: "tool_xxx", progress: 50, message: "half" },
        metadata: metadata(3),
      },
      {
        type: "tool_call_end",
        data: { tool_id: "tool_xxx", status: "success", result: { shown: true, rows: 2 } },
        metadata: metadata(4, { duration_ms: 150 }),
      },
      {
        type: "content",
        data: { content: "最终答案内容片段", format: "markdown", is_complete: false },
        metadata: metadata(5),
      },
      {
        type: "data",
        data: {
          data_type: "dataframe",
          data: { name: "数据名称", columns, rows: [] },
          metadata: { description: "数据描述" },
        },
        metadata: metadata(6),
      },
      {
        type: "error",
        data: { error_type: "execution", message: "用户可见的错误信息", details: { context: {} }, recoverable: true },
        metadata: metadata(7),
      },
      {
        type: "session_end",
        data: {
          status: "completed",
          summary: { total_tokens: 1500 },
        },
        metadata: metadata(8),
      },
    ]);
    await engine.drained();
    expect(sent).toEqual(frames);
    expect(engine.frames.map(({ frame }) => frame)).toEqual(frames);
    expect(engine.sequence).toBe(9);
    expect(await encode(log)).toEqual(frames);
    const check = createStreamCheck(DIALECTS.engine);
    expect(frames.flatMap((frame) => check.check(frame).issues)).toEqual([]);
  });

  it("uses the defaults of the specification", async () => {
    const { engine } = await start();
    const frames = [
      await engine.emitThinking("a"),
      await engine.emitContent("b"),
      await engine.emitData("chart", { a: 1 }),
      await engine.emitError("system", "c"),
      await engine.emitToolCallStart("t", "tool", "d", {}),
      await engine.emitToolCallEnd("t", "success"),
    ];
    expect(frames.map((frame) => parse(frame)["data"])).toEqual([
      { content: "a" },
      { content: "b", format: "markdown", is_complete: false },
      { data_type: "chart", data: { a: 1 } },
      { error_type: "system", message: "c", recoverable: false },
      { tool_id: "t", tool_name: "tool", description: "d", arguments: {} },
      { tool_id: "t", status: "success" },
    ]);
  });

  it("writes the records of an agent", async () => {
    const log = await createFaultyLog();
    const { engine } = await start({ log });
    await engine.emitToolCallStart("t", "tool", "", {});
    expect(log.appends.at(-1)?.entries.map(({ record }) => record.event.type)).toEqual([
      "node_enter",
      "tool_call",
      "tool_start",
    ]);
    await engine.emitToolCallEnd("t", "failed", undefined, { message: "no", code: "E1" });
    await engine.emitContent("Hello ");
    await engine.emitContent("there", "text", true);
    expect(parse(await engine.emitSessionEnd("completed"))).toMatchObject({ data: { status: "completed" } });
    const records = await expectValid(log);
    expect(typesOf(records)).toEqual([
      "run_start",
      "node_enter",
      "tool_call",
      "tool_start",
      "tool_end",
      "message_chunk",
      "message_chunk",
      "node_exit",
      "run_end",
      "reply",
    ]);
    expect(records.slice(1, 8).every(({ envelope }) => envelope.node_id === "run-agent-1")).toBe(true);
    expect(records.at(-1)).toMatchObject({ envelope: { node_id: "run-agent-1" }, event: { reply: "Hello there" } });
    expect(records[0]?.event).toMatchObject({ request_id: "req_xxx" });
    expect(await log.getSession(SESSION)).toMatchObject({ holder: undefined });
  });

  it.each(["error", "cancelled"] as const)("ends as %s", async (status) => {
    const { log, engine } = await start();
    await engine.emitToolCallStart("t", "tool", "", {});
    await engine.emitError("system", "broken");
    expect(parse(await engine.emitSessionEnd(status))).toMatchObject({ type: "session_end", data: { status } });
    const records = await expectValid(log);
    expect(records.filter(({ event }) => event.type === "error")).toHaveLength(1);
    expect(await encode(log)).toEqual(engine.frames.map(({ frame }) => frame));
    expect(engine.signal?.aborted).toBe(true);
    await expect(engine.emitThinking("x")).rejects.toMatchObject({ code: "run_ended" });
    await expect(engine.emitSessionEnd(status)).rejects.toMatchObject({ code: "run_ended" });
  });

  it("works without a log", async () => {
    const engine = new StreamingEngine("q");
    expect(parse(await engine.emitSessionStart("s"))).toMatchObject({ type: "session_start" });
    expect(parse(await engine.emitContent("hi"))).toMatchObject({ metadata: { sequence: 1 } });
    expect(parse(await engine.emitSessionEnd("completed"))).toMatchObject({ metadata: { sequence: 2 } });
  });

  it("numbers concurrent calls in order", async () => {
    const { log, engine } = await start();
    const frames = await Promise.all(Array.from({ length: 50 }, (_, index) => engine.emitContent(`${index}`)));
    expect(frames.map((frame) => (parse(frame)["metadata"] as JsonObject)["sequence"])).toEqual(
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
    await engine.emitSessionEnd("completed");
    await expectValid(log);
  });

  it("rejects calls in the wrong order", async () => {
    const engine = new StreamingEngine("q");
    await expect(engine.emitThinking("x")).rejects.toMatchObject({ code: "unknown_run" });
    await expect(engine.emitSessionEnd("completed")).rejects.toMatchObject({ code: "unknown_run" });
    await engine.emitSessionStart("s");
    await expect(engine.emitSessionStart("s")).rejects.toMatchObject({ code: "run_live" });
    await engine.emitSessionEnd("completed");
    await expect(engine.emitContent("x")).rejects.toMatchObject({ code: "run_ended" });
  });

  it("can be started again after a failed start", async () => {
    const log = await createLog();
    const held = await openSession(log, SESSION);
    const engine = new StreamingEngine("q", { log });
    await expect(engine.emitSessionStart(SESSION)).rejects.toMatchObject({ code: "lease_held" });
    await held.close();
    await engine.emitSessionStart(SESSION);
    await engine.emitSessionEnd("completed");
    await expectValid(log);
  });

  it.each<[string, (engine: StreamingEngine) => Promise<string>, string]>([
    ["status", (engine) => engine.emitToolCallEnd("t", "done" as never), "status"],
    ["tool id", (engine) => engine.emitToolCallEnd("unknown", "success"), "tool_id"],
    ["result", (engine) => engine.emitToolCallEnd("t", "success", "text" as never), "result"],
    ["duration", (engine) => engine.emitToolCallEnd("t", "success", {}, undefined, -1), "duration_ms"],
    ["progress", (engine) => engine.emitToolCallProgress("t", 101), "progress"],
    ["arguments", (engine) => engine.emitToolCallStart("u", "x", "", null as never), "arguments"],
    ["content", (engine) => engine.emitContent(7 as never), "content"],
    ["format", (engine) => engine.emitContent("x", "md" as never), "format"],
    ["stage", (engine) => engine.emitThinking("x", "dreaming" as never), "stage"],
    ["data type", (engine) => engine.emitData("table" as never, {}), "data_type"],
    ["data", (engine) => engine.emitData("chart", [] as never), "data"],
    ["error type", (engine) => engine.emitError("bad luck" as never, "x"), "error_type"],
    ["message", (engine) => engine.emitError("system", undefined as never), "message"],
    ["end status", (engine) => engine.emitSessionEnd("done" as never), "status"],
    ["summary", (engine) => engine.emitSessionEnd("completed", { tool_calls: -1 }), "summary.tool_calls"],
  ])("rejects a wrong %s, names it and writes nothing", async (_name, emit, path) => {
    const { log, engine } = await start();
    await engine.emitToolCallStart("t", "tool", "", {});
    const before = await readRecords(log);
    await expect(emit(engine)).rejects.toMatchObject({ code: "invalid_event", details: { path } });
    expect(await readRecords(log)).toEqual(before);
    await engine.emitSessionEnd("cancelled");
    await expectValid(log);
  });

  it("continues when send fails", async () => {
    const outcomes = [() => Promise.reject(new Error("socket closed")), () => undefined];
    const sent: string[] = [];
    const { log, engine } = await start({
      send: (frame) => {
        sent.push(frame);
        if (sent.length === 1) throw new Error("not yet");
        return outcomes[sent.length % 2]?.();
      },
    });
    const frames = [await engine.emitContent("a"), await engine.emitContent("b"), await engine.emitContent("c")];
    await engine.emitSessionEnd("completed");
    await engine.drained();
    expect(sent.slice(1, 4)).toEqual(frames);
    expect(engine.sendFailures).toBe(3);
    expect(engine.frames.map(({ failure }) => failure?.message)).toEqual([
      "not yet",
      "socket closed",
      undefined,
      "socket closed",
      undefined,
    ]);
    await expectValid(log);
  });

  it("does not wait for a stalled send and drops frames over the limit", async () => {
    const sent: string[] = [];
    const gate = Promise.withResolvers<void>();
    const { log, engine } = await start({
      send: async (frame) => {
        sent.push(frame);
        await gate.promise;
      },
    });
    for (let index = 0; index < 50; index++) await engine.emitThinking(`piece ${index} `.repeat(3000));
    await engine.emitSessionEnd("completed");
    expect(sent).toHaveLength(1);
    gate.resolve();
    await engine.drained();
    expect(sent.length).toBeGreaterThan(1);
    expect(engine.sendFailures).toBeGreaterThan(0);
    expect(sent.length + engine.sendFailures).toBe(52);
    expect(engine.frames.filter(({ failure }) => failure?.code === "backlog_full")).toHaveLength(engine.sendFailures);
    expect(engine.frames.map(({ frame }) => frame)).toEqual(await encode(log));
    expect(sent).toEqual(engine.frames.flatMap(({ frame, failure }) => (failure === undefined ? [frame] : [])));
    await expectValid(log);
  });

  it("keeps only the latest frames", async () => {
    const { engine } = await start();
    for (let index = 0; index < 1009; index++) void engine.emitContent(`${index}`);
    await engine.emitContent("last");
    expect(engine.frames).toHaveLength(1000);
    expect(engine.frames[999]?.frame).toContain('"last"');
  });

  it("sends the end when another process cancels the request", async () => {
    const sent: string[] = [];
    const { log, engine } = await start({ send: (frame) => sent.push(frame) });
    await engine.emitToolCallStart("t", "tool", "", {});
    await sendCommand(log, { commandId: "c", sessionId: SESSION, kind: "cancel", body: { request_id: "req_xxx" } });
    await engine.run?.ended;
    await engine.drained();
    expect(engine.signal?.aborted).toBe(true);
    expect(sent.map((frame) => parse(frame)["type"])).toEqual([
      "session_start",
      "tool_call_start",
      "tool_call_end",
      "session_end",
    ]);
    await expect(engine.emitContent("x")).rejects.toMatchObject({ code: "run_ended" });
    await expectValid(log);
  });

  it("shares a session and waits for its turn", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    const other = await session.startRun();
    const engine = new StreamingEngine("q", { session });
    await expect(new StreamingEngine("p", { session }).emitSessionStart("else")).rejects.toMatchObject({
      code: "invalid_event",
      details: { path: "session_id" },
    });
    const started = engine.emitSessionStart(SESSION);
    await other.finish({ reply: "first" });
    expect(parse(await started)).toMatchObject({ data: { request_id: "q" }, metadata: { sequence: 0 } });
    await engine.emitSessionEnd("completed");
    expect(engine.frames).toHaveLength(2);
    await (await session.startRun()).finish();
    await session.close();
    await expectValid(log);
  });

  it("stores a copy of its arguments", async () => {
    const { log, engine } = await start();
    const args = { path: "a" };
    const frame = engine.emitToolCallStart("t", "tool", "", args);
    args.path = "b";
    expect(parse(await frame)).toMatchObject({ data: { arguments: { path: "a" } } });
    await engine.emitSessionEnd("cancelled");
    expect(engine.frames.map(({ frame: each }) => each)).toEqual(await encode(log));
  });

  it("shows stack traces only in debug mode", async () => {
    for (const debug of [true, false]) {
      const { engine } = await start({ debug });
      const frame = await engine.emitError("system", "x", { stack_trace: "at y" });
      expect(frame.includes("at y")).toBe(debug);
    }
  });

  it("calls onFrame for every frame, even if it throws", async () => {
    const warnings = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
    onTestFinished(() => warnings.mockRestore());
    const notified: [frame: string, type: string][] = [];
    const { log, engine } = await start({
      onFrame: (frame, { event }) => {
        notified.push([frame, event.type]);
        if (notified.length === 2) throw new Error("at once");
        return notified.length === 3 ? Promise.reject(new Error("later")) : undefined;
      },
    });
    await engine.emitThinking("hm");
    await engine.emitToolCallStart("t", "tool", "", {});
    await engine.emitSessionEnd("completed");
    expect(notified.map(([frame]) => frame)).toEqual(engine.frames.map(({ frame }) => frame));
    expect(notified.map(([frame]) => frame)).toEqual(await encode(log));
    expect(notified.map(([, type]) => type)).toEqual([
      "run_start",
      "reasoning_chunk",
      "tool_start",
      "tool_end",
      "reply",
    ]);
    expect(warnings.mock.calls.map(([warning]) => (warning as Error).message)).toEqual(["at once", "later"]);
    await expectValid(log);
  });

  it("does not end the process when rejections are ignored", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    const log = await createFaultyLog();
    const early = new StreamingEngine("early", { log });
    void early.emitContent("before the start");
    void early.emitSessionEnd("completed");
    const { engine } = await start({ log });
    void engine.emitSessionStart(SESSION);
    void engine.emitThinking(7 as never);
    void engine.emitToolCallStart("t", "tool", "", null as never);
    void engine.emitToolCallProgress("unknown", 1);
    void engine.emitToolCallEnd("unknown", "success");
    void engine.emitContent(7 as never);
    void engine.emitData("table" as never, {});
    void engine.emitError("system", 7 as never);
    void engine.emitSessionEnd("done" as never);
    log.onAppend = async () => {
      log.onAppend = undefined;
      throw new Error("gone");
    };
    void engine.emitContent("lost");
    void engine.emitSessionEnd("completed");
    await expect(engine.run?.ended).rejects.toMatchObject({ code: "store_failed" });
    // Unhandled rejections are reported after pending callbacks.
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
    // The promise still rejects when it is awaited.
    await expect(engine.emitContent("x")).rejects.toMatchObject({ code: "run_ended" });
  });

  it("rejects when the log fails", async () => {
    const log = await createFaultyLog();
    const { engine } = await start({ log });
    log.onAppend = async () => {
      log.onAppend = undefined;
      throw new Error("gone");
    };
    await expect(engine.emitContent("x")).rejects.toMatchObject({ code: "store_failed" });
    expect(engine.signal?.aborted).toBe(true);
    await expect(engine.emitContent("y")).rejects.toMatchObject({ code: "run_ended" });
    await expect(engine.run?.ended).rejects.toMatchObject({ code: "store_failed" });
  });

  it("keeps the order of calls made before the start", async () => {
    const log = await createLog();
    const engine = new StreamingEngine("req_xxx", { log });
    const frames = [
      engine.emitSessionStart(SESSION),
      engine.emitThinking("hm"),
      engine.emitToolCallStart("t", "tool", "", {}),
      engine.emitToolCallEnd("t", "success"),
      engine.emitContent("an"),
      // Code after the awaited start may run before the queued calls.
      ...["swer", "!"].map((text) => engine.emitContent(text)),
      engine.emitSessionEnd("completed"),
    ];
    const sequences = (await Promise.all(frames)).map((frame) => (parse(frame)["metadata"] as JsonObject)["sequence"]);
    expect(sequences).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect((await expectValid(log)).at(-1)?.event).toEqual({ type: "reply", reply: "answer!" });
  });

  it("rejects queued calls when the start fails, and can be started again", async () => {
    const log = await createLog();
    const other = await openSession(log, SESSION);
    const engine = new StreamingEngine("req_xxx", { log });
    const start = engine.emitSessionStart(SESSION);
    const early = engine.emitContent("x");
    await expect(start).rejects.toMatchObject({ code: "lease_held" });
    await expect(early).rejects.toMatchObject({ code: "unknown_run" });
    await other.close();
    await engine.emitSessionStart(SESSION);
    await engine.emitSessionEnd("completed");
    await expectValid(log);
  });

  it("fails when too many calls wait for the start", async () => {
    const log = await createLog();
    const engine = new StreamingEngine("req_xxx", { log, sessionOptions: { maxBacklogBytes: 2 ** 26 } });
    const start = engine.emitSessionStart(SESSION);
    for (let i = 0; i < 10_000; i++) void engine.emitContent("x");
    await expect(engine.emitContent("too many")).rejects.toMatchObject({ code: "backlog_full" });
    await start;
    await expect(engine.run?.ended).resolves.toMatchObject({ status: "error", code: "backlog_full" });
    await expectValid(log);
  });
});
