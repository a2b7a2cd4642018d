import { describe, expect, it } from "vitest";
import type { Command, Log } from "../log/log.ts";
import type { Json, JsonObject } from "../protocol/index.ts";
import { checkpoint, die } from "../../test/contracts/dead-run.ts";
import type { Run } from "./run.ts";
import { createLog, expectValid, readRecords, SESSION } from "../../test/contracts/sender.ts";
import { sendCommand } from "./send-command.ts";
import { openSession } from "./session.ts";
import type { RunRequest, SessionOptions } from "./session-options.ts";

let count = 0;
const result = (body: JsonObject): Command => ({
  commandId: `result-${++count}`,
  sessionId: SESSION,
  kind: "tool_result",
  body: { run_id: "r", call_id: "c", output: "Lisbon", ...body },
});

const call = { type: "tool_call", call_id: "c", name: "locate", arguments: {} } as const;
const request = { callId: "c", name: "locate" };

async function setUp(options: SessionOptions = {}) {
  const log = await createLog();
  const session = await openSession(log, SESSION, options);
  const run = await session.startRun({ runId: "r" });
  const node = run.enter("act");
  void node.emit(call);
  return { log, session, run, node };
}

/** Hands a call to the client and waits. */
async function delegate(run: Run, expiresInMs?: number): Promise<void> {
  await run.emit(checkpoint);
  const node = run.enter("act");
  await node.emit(call);
  void run.callClient({ ...request, ...(expiresInMs === undefined ? {} : { expiresInMs }) }, node);
  await run.emit({ type: "custom", value: "handed over" });
}

describe("a call that the client carries out", () => {
  it("waits for the result, which ends the call in the node run that waits", async () => {
    const { log, run, node } = await setUp({ now: () => 1000 });
    const ending = run.callClient(request, node);
    const { outcome } = await sendCommand(log, result({ output: { city: "Lisbon" }, actor: "user:mei" }));
    expect(outcome).toMatchObject({ code: "done", eventId: 5 });
    expect(await ending).toMatchObject({ result: '{"city":"Lisbon"}', output: { city: "Lisbon" }, is_error: false });
    void node.done();
    await run.finish({ reply: "" });
    const records = await expectValid(log);
    expect(records[3]).toMatchObject({
      envelope: { node_id: "run-act-1" },
      event: { type: "tool_start", call_id: "c", name: "locate", executor: "client", expires_at: 3_601_000 },
    });
    expect(records[4]).toMatchObject({
      envelope: { node_id: "run-act-1" },
      event: { type: "tool_end", call_id: "c", name: "locate", actor: "user:mei" },
    });
  });

  it.each<[unknown, boolean, string]>([
    ["a text", false, "a text"],
    ["it broke", true, "it broke"],
    [42, false, "42"],
    [false, false, "false"],
    [["a"], false, '["a"]'],
    [null, false, "The client returned nothing."],
    [undefined, true, "The client could not carry out the call and did not say why."],
  ])("takes %j as a result (error: %j)", async (output, is_error, text) => {
    const { log, run } = await setUp();
    const ending = run.callClient(request);
    await sendCommand(log, result({ output: output as Json, is_error }));
    const end = await ending;
    expect(end).toMatchObject({ result: text, is_error });
    expect(end.output).toEqual(typeof output === "string" || output == null ? undefined : output);
  });

  it("counts the first result only", async () => {
    const { log, run } = await setUp();
    const ending = run.callClient(request);
    const first = result({ output: "first" });
    const [one, other] = await Promise.all([sendCommand(log, first), sendCommand(log, result({ output: "second" }))]);
    expect([one.outcome?.code, other.outcome?.code]).toEqual(["done", "already_answered"]);
    expect(await ending).toMatchObject({ result: "first" });
    // The same command again has the same outcome and no effect.
    expect((await sendCommand(log, first)).outcome).toEqual(one.outcome);
    await run.finish({ reply: "" });
    expect((await expectValid(log)).filter(({ event }) => event.type === "tool_end")).toHaveLength(1);
    expect((await sendCommand(log, result({}))).outcome?.code).toBe("already_answered");
  });

  it("refuses results that no call waits for", async () => {
    const { log, run, node } = await setUp();
    const codeOf = async (body: JsonObject) => (await sendCommand(log, result(body))).outcome?.code;
    expect(await codeOf({})).toBe("unknown_call");
    expect(await codeOf({ call_id: "other" })).toBe("unknown_call");
    await node.emit({ type: "tool_start", call_id: "c", name: "locate" });
    // The server carries it out.
    expect(await codeOf({})).toBe("unknown_call");
    await node.emit({ type: "tool_end", call_id: "c", name: "locate", result: "", is_error: false });
    expect(await codeOf({})).toBe("unknown_call");
    void run.callClient({ callId: "d", name: "locate" }, node);
    expect(await codeOf({ call_id: "d", run_id: "another" })).toBe("unknown_call");
    expect(await codeOf({ call_id: "d", run_id: null })).toBe("invalid_command");
    expect(await codeOf({ call_id: null })).toBe("invalid_command");
    expect(await codeOf({ call_id: "d", is_error: "no" })).toBe("invalid_command");
    // A result is not an answer to an approval, nor the other way round.
    const approval = { run_id: "r", call_id: "d", decision: "approved" };
    expect((await sendCommand(log, { ...result({}), kind: "approve", body: approval })).outcome?.code).toBe(
      "unknown_call",
    );
    await run.finish({ reply: "" });
    expect(await codeOf({ call_id: "d" })).toBe("run_ended");
    await expectValid(log);
  });

  it("refuses the result of a caller that may not use the tool", async () => {
    const { log, run } = await setUp();
    const ending = run.callClient(request);
    expect((await sendCommand(log, result({ tools: { locate: "deny" } }))).outcome?.code).toBe("forbidden");
    expect((await sendCommand(log, result({ tools: { "*": "ask" } }))).outcome?.code).toBe("done");
    await ending;
  });

  it("refuses a result that is too large or too deep, and stays open", async () => {
    const { log, run } = await setUp();
    const ending = run.callClient(request);
    await expect(sendCommand(log, result({ output: "x".repeat(log.limits.maxCommandBytes) }))).rejects.toMatchObject({
      code: "invalid_command",
    });
    const circular: { self?: unknown } = {};
    circular.self = circular;
    expect(() => run.answerCall({ callId: "c", output: circular as Json })).toThrow("nested too deeply");
    await sendCommand(log, result({}));
    expect(await ending).toMatchObject({ result: "Lisbon" });
  });

  it("ends as an error when its time is over", async () => {
    let now = 1000;
    const { log, run, node } = await setUp({ now: () => now });
    const ending = run.callClient({ ...request, expiresInMs: 500 }, node);
    await run.settled();
    now = 1500;
    // The clock decides, also before the timer.
    expect((await sendCommand(log, result({}))).outcome?.code).toBe("already_answered");
    expect(await ending).toMatchObject({ is_error: true, error_code: "tool_timeout" });
    await run.finish({ reply: "" });
    await expectValid(log);
  });

  it("expires by a timer", async () => {
    const { run, node } = await setUp();
    const end = await run.callClient({ ...request, expiresInMs: 20 }, node);
    expect(end).toMatchObject({ is_error: true, error_code: "tool_timeout" });
  });

  it("ends with the run", async () => {
    const { log, run, node } = await setUp();
    const ending = run.callClient(request, node);
    await run.cancel("enough");
    await expect(ending).rejects.toMatchObject({ code: "cancelled" });
    const records = await expectValid(log);
    expect(records.find(({ event }) => event.type === "tool_end")?.event).toMatchObject({ error_code: "cancelled" });
    expect((await sendCommand(log, result({}))).outcome?.code).toBe("run_ended");
  });

  it("tells the model that the user changed the arguments", async () => {
    const { log, run, node } = await setUp();
    const asked = run.requestApproval({ ...request, arguments: {} }, node);
    run.answerApproval({ callId: "c", decision: "approved", arguments: { precise: true } });
    await asked;
    const ending = run.callClient(request, node);
    run.answerCall({ callId: "c", output: "Lisbon" });
    expect(await ending).toMatchObject({ result: 'The user changed the arguments to {"precise":true}.\nLisbon' });
    await run.finish({ reply: "" });
    await expectValid(log);
  });

  it("is refused at once if the client that started the run cannot carry out tools", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    const clientTools = [{ name: "own", description: "A tool", inputSchema: { type: "object" } }];
    const run = await session.startRun({ runId: "r", capabilities: ["approval"], clientTools });
    await expect(run.callClient(request)).rejects.toMatchObject({ code: "client_unavailable" });
    const ending = run.callClient({ callId: "o", name: "own" });
    run.answerCall({ callId: "o", output: "done" });
    await ending;
    await run.finish({ reply: "" });
    const [start] = await expectValid(log);
    expect(start?.event).toMatchObject({
      client_tools: [{ name: "own", description: "A tool", input_schema: { type: "object" } }],
    });
  });
});

describe("client tools of a queued message", () => {
  it("belong to its run, and are refused if they are not valid", async () => {
    const log = await createLog();
    const started = Promise.withResolvers<Run>();
    await openSession(log, SESSION, { onRun: async (run) => started.resolve(run) });
    const enqueue = (commandId: string, client_tools: Json): Command => ({
      commandId,
      sessionId: SESSION,
      kind: "enqueue",
      body: { run_id: commandId, message: "go", client_tools },
    });
    const tool = { name: "locate", input_schema: { type: "object" } };
    const wrong: readonly Json[] = [
      "locate",
      ["locate"],
      [{ name: "not a name" }],
      [{ name: "" }],
      [tool, tool],
      [{ name: "a", description: 1 }],
      [{ name: "a", input_schema: { type: "string" } }],
      [{ name: "a", description: "x".repeat(33 * 1024) }],
      Array.from({ length: 129 }, (_, index) => ({ name: `t${index}` })),
    ];
    for (const [index, tools] of wrong.entries())
      expect(await sendCommand(log, enqueue(`bad-${index}`, tools))).toMatchObject({
        outcome: { code: "invalid_command" },
      });
    await sendCommand(log, enqueue("good", [tool]));
    expect((await started.promise).request.clientTools).toEqual([{ name: "locate", inputSchema: { type: "object" } }]);
  });
});

describe("a call of the client in a run whose process died", () => {
  const dieWaiting = (log: Log, more: RunRequest = {}, expiresInMs?: number) =>
    die(log, (run) => delegate(run, expiresInMs), SESSION, { clientTools: [{ name: "locate" }], ...more });

  const waitAgain = (ends: unknown[]): SessionOptions => ({
    resume: async ({ run, calls }) => {
      expect(calls).toMatchObject([{ callId: "c", state: "delegated" }]);
      const node = run.enter("act");
      ends.push(await run.recallClient("c", node));
      void node.done();
      await run.finish({ reply: "done" });
    },
  });

  it("stays open, is not handed over again, and takes the result once", async () => {
    const log = await createLog();
    await dieWaiting(log, { capabilities: [] });
    const ends: unknown[] = [];
    const session = await openSession(log, SESSION, waitAgain(ends));
    expect(session.recovered).toEqual([{ runId: "dead", outcome: "resumed" }]);
    expect(session.liveRun?.request.clientTools).toEqual([{ name: "locate" }]);
    const before = (await readRecords(log)).length;
    await sendCommand(log, result({ run_id: "dead" }));
    expect((await sendCommand(log, result({ run_id: "dead" }))).outcome?.code).toMatch(/already_answered|run_ended/);
    await session.idle();
    expect(ends).toMatchObject([{ result: "Lisbon" }]);
    const records = await expectValid(log);
    expect(records.filter(({ event }) => event.type === "tool_start")).toHaveLength(1);
    expect(records.filter(({ event }) => event.type === "tool_end")).toHaveLength(1);
    // A run that only waited was not interrupted.
    expect(records.some(({ event }) => event.type === "error")).toBe(false);
    expect(records[before]).toMatchObject({ envelope: { node_id: "run-act-2" }, event: { type: "tool_end" } });
  });

  it("takes a result that was sent while no process lived", async () => {
    const log = await createLog();
    await dieWaiting(log);
    const stored = result({ run_id: "dead" });
    await log.submit(stored);
    const ends: unknown[] = [];
    const session = await openSession(log, SESSION, waitAgain(ends));
    await session.idle();
    await session.executePending();
    await session.idle();
    expect(ends).toMatchObject([{ result: "Lisbon" }]);
    expect((await log.getCommand(SESSION, stored.commandId))?.outcome?.code).toBe("done");
    await expectValid(log);
  });

  it("keeps a result that arrives before the run waits again", async () => {
    const log = await createLog();
    await dieWaiting(log);
    const answered = Promise.withResolvers<void>();
    let end: unknown;
    const session = await openSession(log, SESSION, {
      resume: async ({ run }) => {
        await answered.promise;
        end = await run.recallClient("c");
        await run.finish({ reply: "done" });
      },
    });
    await sendCommand(log, result({ run_id: "dead" }));
    answered.resolve();
    await session.idle();
    expect(end).toMatchObject({ result: "Lisbon" });
  });

  it("has expired if its time was over meanwhile", async () => {
    const log = await createLog();
    await dieWaiting(log, {}, 1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const session = await openSession(log, SESSION, { resume: async ({ run }) => void (await run.finish()) });
    await session.idle();
    const records = await expectValid(log);
    expect(records.find(({ event }) => event.type === "tool_end")?.event).toMatchObject({ error_code: "tool_timeout" });
  });

  it("waits in a session that cannot resume the run, which ends after the result", async () => {
    const log = await createLog();
    await dieWaiting(log);
    const session = await openSession(log, SESSION);
    expect(session.recovered).toEqual([{ runId: "dead", outcome: "waiting" }]);
    await sendCommand(log, result({ run_id: "dead" }));
    await session.idle();
    const records = await expectValid(log);
    expect(records.at(-2)?.event).toMatchObject({ type: "run_end", code: "interrupted" });
    expect(records.find(({ event }) => event.type === "tool_end")?.event).toMatchObject({ result: "Lisbon" });
  });

  it("keeps waiting in a run that fails on interruption", async () => {
    const log = await createLog();
    await dieWaiting(log, { onInterruption: "fail" });
    const session = await openSession(log, SESSION);
    expect(session.recovered).toEqual([{ runId: "dead", outcome: "waiting" }]);
    await session.close();
    expect((await log.getRun(SESSION, "dead"))?.status).toBe("live");
  });
});
