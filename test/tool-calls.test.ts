// Tool calls in a real run: however a call ends, the records form a valid run and the run continues.
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type NodeRun, openSession, type Run, sendCommand, type Session } from "../src/engine/index.ts";
import { followRecords } from "../src/log/follow-records.ts";
import { type Log, MemoryLog } from "../src/log/index.ts";
import { type EventRecord, type Issue, type LoomEvent, Verifier } from "../src/protocol/index.ts";
import { createBuiltinTools, defineTool, type Tool } from "../src/tools/index.ts";
import { createToolbox, type Toolbox } from "../src/tools/toolbox.ts";
import { runToolCall } from "../src/tools/run-tool-call.ts";
import type { ToolCallRequest, ToolOutcome } from "../src/tools/tool.ts";
import type { ToolHost } from "../src/tools/tool-host.ts";
import { waitForEvent } from "./agents/agent-fixture.ts";

const sessions: Session[] = [];
afterEach(async () => {
  for (const session of sessions.splice(0)) await session.close();
});

async function start(log: Log = new MemoryLog()): Promise<{ log: Log; session: Session; run: Run; node: NodeRun }> {
  const session = await openSession(log, "s1", { onError: () => undefined });
  sessions.push(session);
  const run = await session.startRun({ runId: "r1" });
  return { log, session, run, node: run.enter("act") };
}

function createHost(run: Run, node: NodeRun): ToolHost {
  return {
    sessionId: "s1",
    runId: run.runId,
    signal: run.signal,
    emit: (event) => node.emit(event),
    ready: () => run.ready(),
    requestApproval: (request) => run.requestApproval(request, { nodeId: node.nodeId }),
    recall: (callId) => {
      const call = run.work.findCall(callId);
      return call && { approvalArguments: call.approvalArguments, started: call.state === "started" };
    },
  };
}

async function readAll(log: Log): Promise<{ records: readonly EventRecord[]; issues: readonly Issue[] }> {
  const verifier = new Verifier();
  const records: EventRecord[] = [];
  for await (const page of followRecords(log, "s1", { after: 0 })) records.push(...page.records);
  return { records, issues: records.flatMap((record) => verifier.check(record)) };
}

const input = z.object({ n: z.number() });
const never = (): Promise<never> => new Promise(() => undefined);
const tools: readonly Tool[] = [
  ...createBuiltinTools(),
  defineTool({
    name: "all",
    description: "Does everything a tool can do",
    input,
    async *execute(_input, { print, report, show, ready }) {
      yield "first ";
      report(10, "begun");
      show({ type: "data", data_type: "custom", data: { a: 1 } });
      show({ type: "image", url: "https://example.org/a.png" });
      print("second");
      await ready();
      return { ok: true };
    },
  }),
  defineTool({ name: "fails", description: "d", input, execute: async () => Promise.reject(new Error("broken")) }),
  defineTool({ name: "hangs", description: "d", input, timeoutMs: 5, execute: never }),
  defineTool({ name: "asks", description: "d", input, approval: "always", execute: ({ n }) => n }),
  defineTool({
    name: "shows_nonsense",
    description: "d",
    input,
    execute: (_input, { show }) => show({ type: "todo_update", list_id: "none", item_id: "1" }),
  }),
  defineTool({ name: "floods", description: "d", input, execute: (_input, { print }) => print("x".repeat(2 ** 21)) }),
  defineTool({
    name: "returns_much",
    description: "d",
    input,
    maxResultCharacters: 2 ** 30,
    execute: () => "\u0001".repeat(2 ** 21),
  }),
];
const toolbox = createToolbox(tools);

function callOf(name: string, given: string = '{"n":1}', callId = `call-${name}`): ToolCallRequest {
  let value: unknown;
  try {
    value = JSON.parse(given);
  } catch {
    value = undefined;
  }
  return {
    callId,
    name,
    rawInput: given,
    input: typeof value === "object" && value !== null ? (value as ToolCallRequest["input"]) : undefined,
  };
}

function writeCall(node: NodeRun, { callId, name, input: given, rawInput }: ToolCallRequest): void {
  void node.emit({
    type: "tool_call",
    call_id: callId,
    name,
    arguments: given ?? {},
    ...(given === undefined ? { raw_arguments: rawInput } : {}),
  });
}

const CALLS: [call: ToolCallRequest, code: string | undefined][] = [
  [callOf("all"), undefined],
  [callOf("calculator", '{"expression":"6*7"}'), undefined],
  [callOf("current_time", ""), undefined],
  [callOf("write_todo_list", '{"items":[{"text":"a"}]}'), undefined],
  [callOf("show_table", '{"columns":["a"],"rows":[[1]]}'), undefined],
  [callOf("floods"), undefined],
  [callOf("returns_much"), undefined],
  [callOf("fails"), "tool_failed"],
  [callOf("hangs"), "tool_timeout"],
  [callOf("shows_nonsense"), "unknown_todo"],
  [callOf("update_todo_item", '{"list_id":"x","item_id":"1","completed":true}'), "unknown_todo"],
  [callOf("all", '{"n":'), "invalid_arguments"],
  [callOf("all", '{"n":"x"}'), "invalid_arguments"],
  [callOf("missing"), "unknown_tool"],
];

describe("tool calls in a real run", () => {
  it.each(CALLS)("a call of $name ($rawInput) ends with the expected code", async (call, code) => {
    const { log, run, node } = await start();
    writeCall(node, call);
    const outcome = await runToolCall(call, toolbox, createHost(run, node));
    expect(outcome.errorCode).toBe(code);
    void node.done();
    expect(await run.finish({ reply: "done" })).toMatchObject({ status: "completed" });
    const { records, issues } = await readAll(log);
    expect(issues).toEqual([]);
    const end = records.map(({ event }) => event as LoomEvent).find((event) => event.type === "tool_end");
    expect(end).toMatchObject({ result: outcome.result, is_error: outcome.isError });
  });

  it("parallel calls form one valid run", async () => {
    const { log, run, node } = await start();
    const host = createHost(run, node);
    const calls = CALLS.map(([call], index): ToolCallRequest => ({ ...call, callId: `c${index}` }));
    for (const call of calls) writeCall(node, call);
    const outcomes = await Promise.all(calls.map((call) => runToolCall(call, toolbox, host)));
    expect(outcomes.map(({ errorCode }) => errorCode)).toEqual(CALLS.map(([, code]) => code));
    void node.done();
    await run.finish({ reply: "done" });
    expect((await readAll(log)).issues).toEqual([]);
  });

  it("calls wait for approvals in any order and use edited arguments", async () => {
    const { log, run, node } = await start();
    const host = createHost(run, node);
    const calls = ["a", "b", "c"].map((callId) => callOf("asks", '{"n":1}', callId));
    for (const call of calls) writeCall(node, call);
    const outcomes = calls.map((call) => runToolCall(call, toolbox, host));
    const answer = (call_id: string, more: object) =>
      sendCommand(log, {
        commandId: `x-${call_id}`,
        sessionId: "s1",
        kind: "approve",
        body: { run_id: "r1", call_id, ...more },
      });
    await answer("c", { decision: "approved", arguments: { n: 3 } });
    await answer("b", { decision: "rejected", reason: "too dear" });
    await answer("a", { decision: "approved" });
    expect(await Promise.all(outcomes)).toMatchObject([
      { result: "1", isError: false },
      { errorCode: "tool_rejected", result: expect.stringContaining("too dear") as string },
      { result: 'The user changed the arguments to {"n":3}.\n3', isError: false },
    ]);
    void node.done();
    await run.finish({ reply: "done" });
    const { records, issues } = await readAll(log);
    expect(issues).toEqual([]);
    expect(records.filter(({ event }) => event.type === "tool_start")).toHaveLength(2);
  });

  it.each(["hangs", "asks"])("a pending call (%s) is closed and rejects when the run is cancelled", async (name) => {
    const { log, run, node } = await start();
    const call = callOf(name);
    writeCall(node, call);
    const patient = createToolbox(tools.map((tool) => (tool.name === "hangs" ? { ...tool, timeoutMs: 60_000 } : tool)));
    const outcome = runToolCall(call, patient, createHost(run, node));
    await new Promise((resolve) => setImmediate(resolve));
    const [result] = await Promise.allSettled([outcome, run.cancel()]);
    expect(result).toMatchObject({ status: "rejected", reason: { code: "cancelled" } });
    const { records, issues } = await readAll(log);
    expect(issues.filter(({ level }) => level === "error")).toEqual([]);
    expect(records.filter(({ event }) => event.type === "tool_end")).toHaveLength(1);
  });

  const checkpoint = {
    type: "checkpoint",
    checkpoint_id: "k1",
    timestamp: "2026-01-01T00:00:00Z",
    step: 0,
    state: {},
    thread_id: "s1",
    checkpoint_ns: "",
  } as const;

  /** Simulates a process that crashes during these calls, once `underWay` resolves, and another that resumes them. */
  async function crashAndResume(
    calls: readonly ToolCallRequest[],
    box: Toolbox,
    underWay: (session: Session) => Promise<unknown>,
    meanwhile: (log: Log) => Promise<unknown> = async () => undefined,
  ) {
    const log = new MemoryLog();
    const first = await openSession(log, "s1");
    const run = await first.startRun({ runId: "r1" });
    void run.emit(checkpoint);
    const node = run.enter("act");
    for (const call of calls) writeCall(node, call);
    const host = createHost(run, node);
    const lost = calls.map((call) => runToolCall(call, box, host).catch(() => undefined));
    await underWay(first);
    await first.close({ run: "leave" });
    await Promise.all(lost);
    await meanwhile(log);
    let outcomes: readonly ToolOutcome[] = [];
    const second = await openSession(log, "s1", {
      isIdempotent: (name) => box.isIdempotent(name),
      resume: async (dead) => {
        await dead.run.span("act", async (span) => {
          const again = createHost(dead.run, span);
          const open = calls.filter(({ callId }) => dead.calls.some((call) => call.callId === callId));
          outcomes = await Promise.all(open.map((call) => runToolCall(call, box, again)));
        });
        await dead.run.finish({ reply: "done" });
      },
    });
    sessions.push(second);
    await second.idle();
    return { outcomes, ...(await readAll(log)) };
  }

  it("an approval that arrives while no process runs is used after the restart", async () => {
    const { outcomes, records, issues } = await crashAndResume(
      [callOf("asks")],
      toolbox,
      (session) => waitForEvent(session, "tool_approval"),
      (log) =>
        sendCommand(log, {
          commandId: "x",
          sessionId: "s1",
          kind: "approve",
          body: { run_id: "r1", call_id: "call-asks", decision: "approved", arguments: { n: 8 } },
        }),
    );
    expect(outcomes).toMatchObject([{ result: 'The user changed the arguments to {"n":8}.\n8', isError: false }]);
    expect(issues.filter(({ level }) => level === "error")).toEqual([]);
    expect(records.filter(({ event }) => event.type === "tool_approval")).toHaveLength(1);
    expect(records.filter(({ event }) => event.type === "tool_start")).toHaveLength(1);
  });

  it("only idempotent calls run again after they had started", async () => {
    const runs: string[] = [];
    const bothRun = Promise.withResolvers<void>();
    const create = (name: string, idempotent: boolean): Tool =>
      defineTool({
        name,
        description: "d",
        input,
        idempotent,
        execute: () => {
          if (runs.push(name) === 2) bothRun.resolve();
          return runs.length <= 2 ? never() : "done";
        },
      });
    const box = createToolbox([create("once", false), create("often", true)]);
    const { outcomes, records, issues } = await crashAndResume(
      [callOf("once"), callOf("often")],
      box,
      () => bothRun.promise,
    );
    expect(runs).toEqual(["once", "often", "often"]);
    expect(outcomes).toMatchObject([{ name: "often", result: "done" }]);
    expect(issues.filter(({ level }) => level === "error")).toEqual([]);
    expect(records.flatMap(({ event }) => (event.type === "tool_end" ? [event] : []))).toMatchObject([
      { name: "once", error_code: "interrupted" },
      { name: "often", is_error: false },
    ]);
  });

  it("calls that print much do not overflow a small backlog", async () => {
    const log = new MemoryLog();
    const session = await openSession(log, "s1", { maxBacklogBytes: 128 * 1024 });
    sessions.push(session);
    const run = await session.startRun({ runId: "r1" });
    const node = run.enter("act");
    const host = createHost(run, node);
    const calls = Array.from({ length: 20 }, (_, index) => callOf("floods", '{"n":1}', `c${index}`));
    for (const call of calls) writeCall(node, call);
    await Promise.all(calls.map((call) => runToolCall(call, toolbox, host)));
    void node.done();
    expect((await run.finish({ reply: "done" })).status).toBe("completed");
    expect((await readAll(log)).issues).toEqual([]);
  });
});
