import { describe, expect, it } from "vitest";
import type { Command } from "../log/log.ts";
import type { Json, JsonObject } from "../protocol/index.ts";
import { createFaultyLog, createLog, expectValid, SESSION, typesOf } from "../../test/contracts/sender.ts";
import { sendCommand } from "./send-command.ts";
import { openSession } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";
import { LONG } from "../../test/sampling.ts";

let count = 0;
const approve = (body: JsonObject): Command => ({
  commandId: `approve-${++count}`,
  sessionId: SESSION,
  kind: "approve",
  body: { run_id: "r", call_id: "c", decision: "approved", ...body },
});

async function setUp(options: SessionOptions = {}) {
  const log = await createLog();
  const session = await openSession(log, SESSION, options);
  const run = await session.startRun({ runId: "r" });
  const node = run.enter("act");
  void node.emit({ type: "tool_call", call_id: "c", name: "rm", arguments: { path: "/tmp/x" } });
  return { log, session, run, node };
}

const request = { callId: "c", name: "rm", arguments: { path: "/tmp/x" } };

describe("approvals", () => {
  it("asks, takes one answer and lets the tool continue", async () => {
    const { log, run, node } = await setUp();
    const answer = run.requestApproval(request, node);
    const { outcome } = await sendCommand(log, approve({ reason: "fine", actor: "user:mei", name: "rm" }));
    expect(outcome).toMatchObject({ code: "done", eventId: 5 });
    expect(await answer).toEqual({
      decision: "approved",
      arguments: { path: "/tmp/x" },
      reason: "fine",
      actor: "user:mei",
    });
    await node.emit({ type: "tool_start", call_id: "c", name: "rm" });
    await node.emit({ type: "tool_end", call_id: "c", name: "rm", result: "ok", is_error: false });
    void node.done();
    await run.finish({ reply: "" });
    const records = await expectValid(log);
    expect(records[3]?.event).toMatchObject({ type: "tool_approval", expires_at: expect.any(Number) as number });
    expect(records[4]).toMatchObject({
      envelope: { node_id: "run-act-1" },
      event: { type: "tool_approval_result", call_id: "c", name: "rm", decision: "approved", actor: "user:mei" },
    });
  });

  it("is refused at once, without a request, if the client that started the run cannot answer", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    const run = await session.startRun({ runId: "r", capabilities: ["todo"] });
    await expect(run.requestApproval(request)).rejects.toMatchObject({ code: "approval_unavailable" });
    expect(run.status).toBe("live");
    await run.finish({ reply: "" });
    const records = await expectValid(log);
    expect(records[0]?.event).toMatchObject({ type: "run_start", capabilities: ["todo"] });
    expect(records.map(({ event }) => event.type)).not.toContain("tool_approval");
  });

  it("reads the capabilities of a queued message, and refuses others than a list of strings", async () => {
    const log = await createLog();
    const unavailable = Promise.withResolvers<unknown>();
    await openSession(log, SESSION, {
      onRun: async (run) => {
        await run.requestApproval(request).catch(unavailable.resolve);
      },
    });
    const enqueue = (commandId: string, capabilities: Json): Command => ({
      commandId,
      sessionId: SESSION,
      kind: "enqueue",
      body: { run_id: commandId, message: "go", capabilities },
    });
    expect(await sendCommand(log, enqueue("bad", "approval"))).toMatchObject({ outcome: { code: "invalid_command" } });
    await sendCommand(log, enqueue("good", []));
    expect(await unavailable.promise).toMatchObject({ code: "approval_unavailable" });
  });

  it("rejects a question that is too large for a record, and the run continues", async () => {
    const { log, run, node } = await setUp();
    const asked = run.requestApproval({ ...request, arguments: { path: "x".repeat(2_000_000) } }, node);
    await expect(asked).rejects.toMatchObject({ code: "event_too_large" });
    expect(run.status).toBe("live");
    await run.finish({ reply: "" });
    await expectValid(log);
  });

  it("lets the user edit the arguments", async () => {
    const { log, run, node } = await setUp();
    const args = { path: "/tmp/x" };
    const answer = run.requestApproval({ ...request, arguments: args }, node);
    args.path = "/";
    await sendCommand(log, approve({ arguments: { path: "/tmp/y" } }));
    expect(await answer).toMatchObject({ decision: "approved", arguments: { path: "/tmp/y" } });
  });

  it("asks with the arguments as they were at the time of the call", async () => {
    const { log, run, node } = await setUp();
    const args = { path: "/tmp/x" };
    const answer = run.requestApproval({ ...request, arguments: args }, node);
    args.path = "/";
    await sendCommand(log, approve({}));
    expect(await answer).toMatchObject({ arguments: { path: "/tmp/x" } });
  });

  it("prevents the tool from starting after a rejection", async () => {
    const { log, run, node } = await setUp();
    const answer = run.requestApproval(request, node);
    await sendCommand(log, approve({ decision: "rejected", reason: "no", arguments: { path: "/" } }));
    expect(await answer).toEqual({ decision: "rejected", arguments: { path: "/tmp/x" }, reason: "no" });
    await expect(node.emit({ type: "tool_start", call_id: "c", name: "rm" })).rejects.toMatchObject({
      code: "invalid_event",
    });
    await node.emit({ type: "tool_end", call_id: "c", name: "rm", result: "refused", is_error: true });
    await run.finish({ reply: "" });
    await expectValid(log);
  });

  it("expires and counts as not approved", async () => {
    const { log, run, node } = await setUp();
    expect(await run.requestApproval({ ...request, expiresInMs: 5 }, node)).toMatchObject({ decision: "expired" });
    expect((await sendCommand(log, approve({}))).outcome).toMatchObject({ code: "already_answered" });
    await run.finish({ reply: "" });
    const records = await expectValid(log);
    expect(records.flatMap(({ event }) => (event.type === "tool_approval_result" ? [event] : []))).toHaveLength(1);
  });

  it("expires by the clock even if the timer is late", async () => {
    let now = 1000;
    const { log, run, node } = await setUp({ now: () => now });
    const answer = run.requestApproval({ ...request, expiresInMs: 60_000 }, node);
    now += 60_000;
    expect((await sendCommand(log, approve({}))).outcome).toMatchObject({ code: "already_answered" });
    expect(await answer).toMatchObject({ decision: "expired" });
  });

  it("accepts the first of two answers", async () => {
    const { log, run, node } = await setUp();
    const answer = run.requestApproval(request, node);
    const outcomes = await Promise.all([
      sendCommand(log, approve({ actor: "tab 1" })),
      sendCommand(log, approve({ actor: "tab 2", decision: "rejected" })),
    ]);
    expect(outcomes.map(({ outcome }) => outcome?.code)).toEqual(["done", "already_answered"]);
    expect(await answer).toMatchObject({ decision: "approved", actor: "tab 1" });
    await run.finish({ reply: "" });
    await expectValid(log);
    expect((await sendCommand(log, approve({}))).outcome?.code).toBe("already_answered");
  });

  it("returns the same outcome for the same command", async () => {
    const { log, run, node } = await setUp();
    void run.requestApproval(request, node);
    const command = approve({});
    expect((await sendCommand(log, command)).outcome?.code).toBe("done");
    expect((await sendCommand(log, command)).outcome?.code).toBe("done");
    await run.cancel();
    await expectValid(log);
  });

  it.each<[string, JsonObject, string]>([
    ["an unknown call", { call_id: "x" }, "unknown_call"],
    ["another run", { run_id: "x" }, "approval_mismatch"],
    ["another tool", { name: "ls" }, "approval_mismatch"],
    ["no decision", { decision: "maybe" }, "invalid_command"],
    ["no call", { call_id: 7 }, "invalid_command"],
    ["no run", { run_id: null }, "invalid_command"],
    ["invalid arguments", { arguments: "x" }, "invalid_command"],
  ])("rejects %s and keeps waiting", async (_name, body, code) => {
    const { log, run, node } = await setUp();
    const answer = run.requestApproval(request, node);
    expect((await sendCommand(log, approve(body))).outcome).toMatchObject({ code });
    expect((await sendCommand(log, approve({}))).outcome).toMatchObject({ code: "done" });
    expect(await answer).toMatchObject({ decision: "approved" });
    await run.finish({ reply: "" });
    await expectValid(log);
  });

  it("rejects an answer for an ended run", async () => {
    const { log, run } = await setUp();
    await run.cancel();
    expect((await sendCommand(log, approve({ call_id: "x" }))).outcome).toMatchObject({ code: "run_ended" });
  });

  it("answers parallel calls independently", async () => {
    const { log, run, node } = await setUp();
    void node.emit({ type: "tool_call", call_id: "d", name: "rm", arguments: {} });
    const first = run.requestApproval(request, node);
    const second = run.requestApproval({ callId: "d", name: "rm", arguments: {} }, node);
    await sendCommand(log, approve({ call_id: "d", decision: "rejected" }));
    expect(await second).toMatchObject({ decision: "rejected" });
    await sendCommand(log, approve({}));
    expect(await first).toMatchObject({ decision: "approved" });
    await run.cancel();
    await expectValid(log);
  });

  it("ends with the run", async () => {
    const { log, run, node } = await setUp();
    const answer = run.requestApproval(request, node);
    await run.cancel();
    await expect(answer).rejects.toMatchObject({ code: "cancelled" });
    const records = await expectValid(log);
    expect(typesOf(records).slice(-5)).toEqual(["tool_approval_result", "tool_end", "node_exit", "run_end", "reply"]);
  });

  it("asks once when the program asks repeatedly", async () => {
    const { log, run, node } = await setUp();
    const [first, again] = [run.requestApproval(request, node), run.requestApproval(request, node)];
    await expect(run.requestApproval({ ...request, arguments: { path: "/" } }, node)).rejects.toMatchObject({
      code: "approval_mismatch",
    });
    await sendCommand(log, approve({}));
    expect(await again).toEqual(await first);
    expect(await run.requestApproval(request, node)).toEqual(await first);
    await run.cancel();
    await expectValid(log);
  });

  it("resolves when the answer is durable", async () => {
    const log = await createFaultyLog();
    const session = await openSession(log, SESSION);
    const run = await session.startRun({ runId: "r" });
    let isAnswered = false;
    const answer = run.requestApproval(request).then((given) => {
      isAnswered = true;
      return given;
    });
    await session.idle();
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    log.onAppend = async (_batch, next) => {
      asked.resolve();
      await gate.promise;
      return next();
    };
    const sent = sendCommand(log, approve({}));
    await asked.promise;
    await new Promise((resolve) => setImmediate(resolve));
    expect(isAnswered).toBe(false);
    gate.resolve();
    expect(await answer).toMatchObject({ decision: "approved" });
    expect((await sent).outcome?.code).toBe("done");
    await run.cancel();
    await expectValid(log);
  });

  it("waits for durability when asked again while the answer is being written", async () => {
    const log = await createFaultyLog();
    const session = await openSession(log, SESSION, { repairMs: 100_000 });
    const run = await session.startRun({ runId: "r" });
    const first = run.requestApproval(request);
    await run.emit({ type: "custom", value: "asked" });
    const gate = Promise.withResolvers<void>();
    log.onAppend = async () => {
      await gate.promise;
      throw new Error("gone");
    };
    run.answerApproval({ callId: "c", decision: "approved" });
    const second = run.requestApproval(request);
    gate.resolve();
    await expect(first).rejects.toMatchObject({ code: "store_failed" });
    await expect(second).rejects.toMatchObject({ code: "store_failed" });
  });

  it("resolves at once when asked again after the answer is durable", async () => {
    const { run } = await setUp();
    const first = run.requestApproval(request);
    const again = (async () => {
      const { durable } = run.answerApproval({ callId: "c", decision: "approved" });
      const early = run.requestApproval(request);
      await durable;
      return [await early, await run.requestApproval(request)];
    })();
    const answer = await first;
    expect(await again).toEqual([answer, answer]);
  });
});

describe("a permission for all calls of a tool", () => {
  const permit = (rule: string, more: JsonObject = {}): Command => ({
    commandId: `permission-${++count}`,
    sessionId: SESSION,
    kind: "permission",
    body: { name: "rm", rule, ...more },
  });

  it.runIf(LONG)("can be given for 100 tools, and again after one is revoked", async () => {
    const { log } = await setUp();
    for (let at = 0; at < 100; at++) await sendCommand(log, permit("allow", { name: `tool ${at}` }));
    const refused = { outcome: { code: "too_many_open" } };
    expect(await sendCommand(log, permit("allow", { name: "more" }))).toMatchObject(refused);
    expect(await sendCommand(log, permit("allow", { name: "tool 7" }))).toMatchObject({ outcome: { code: "done" } });
    await sendCommand(log, permit("ask", { name: "tool 7" }));
    expect(await sendCommand(log, permit("allow", { name: "more" }))).toMatchObject({ outcome: { code: "done" } });
  });

  it("checks no fields of other commands", async () => {
    const { log } = await setUp();
    expect(await sendCommand(log, permit("allow", { run_id: 5 }))).toMatchObject({ outcome: { code: "done" } });
  });

  it("approves the calls that wait, and asks for no later one, also after a restart", async () => {
    const { log, session, run, node } = await setUp();
    const waiting = run.requestApproval(request, node);
    const question = run.requestApproval({ callId: "q", name: "rm", arguments: {} }, node);
    expect((await sendCommand(log, permit("allow", { actor: "user:mei" }))).outcome).toMatchObject({ code: "done" });
    expect(await waiting).toMatchObject({ decision: "approved", actor: "user:mei" });
    void node.emit({ type: "tool_call", call_id: "d", name: "rm", arguments: { path: "/tmp/y" } });
    expect(await run.requestApproval({ ...request, callId: "d" }, node)).toEqual({
      decision: "approved",
      arguments: request.arguments,
    });
    // Not a call of a tool, so no permission applies to it.
    await sendCommand(log, approve({ call_id: "q", decision: "rejected" }));
    expect(await question).toMatchObject({ decision: "rejected" });
    void node.done();
    await run.finish({ reply: "" });
    await session.close();

    const reopened = await openSession(log, SESSION);
    const next = await reopened.startRun({ runId: "r2", capabilities: [] });
    const act = next.enter("act");
    void act.emit({ type: "tool_call", call_id: "c", name: "rm", arguments: {} });
    expect(await next.requestApproval(request, act)).toMatchObject({ decision: "approved" });
    await sendCommand(log, permit("ask"));
    void act.emit({ type: "tool_call", call_id: "d", name: "rm", arguments: {} });
    await expect(next.requestApproval({ ...request, callId: "d" }, act)).rejects.toMatchObject({
      code: "approval_unavailable",
    });
    void act.done();
    await next.finish({ reply: "" });
    const records = await expectValid(log);
    expect(records.filter(({ event }) => event.type === "tool_approval")).toHaveLength(2);
  });

  it.each([1, 2, 3, 4, 5, 6])(
    "is settled once if an approval expires with reading %i of the clock",
    async (readings) => {
      let clock = 1000;
      let step = 0;
      const { log, run, node } = await setUp({ now: () => (clock += step) });
      const answer = run.requestApproval({ ...request, expiresInMs: 60_000 }, node);
      await log.read(SESSION, { after: 0 });
      clock += 60_000 - readings;
      step = 1;
      const command = permit("allow");
      expect((await sendCommand(log, command)).outcome).toMatchObject({ code: "done" });
      step = 0;
      expect(["approved", "expired"]).toContain((await answer).decision);
      void node.done();
      await run.finish({ reply: "" });
      await expectValid(log);
    },
  );

  it("is refused to a caller that may not use the tool, and without a name or a known rule", async () => {
    const { log } = await setUp();
    expect((await sendCommand(log, permit("allow", { tools: { rm: "deny" } }))).outcome?.code).toBe("forbidden");
    for (const body of [{ name: "" }, { name: null }, { rule: "deny" }])
      expect((await sendCommand(log, permit("allow", body))).outcome?.code).toBe("invalid_command");
  });

  it("cannot be written by a run", async () => {
    const { run, node } = await setUp();
    void node.emit({ type: "tool_permission", name: "rm", rule: "allow" });
    void run.requestApproval(request, node).catch(() => undefined);
    expect(run.work.findCall("c")?.state).toBe("waiting");
    await run.cancel();
  });
});
