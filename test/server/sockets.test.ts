/** The WebSocket endpoints against the real `ws` client: the Lumine protocol (004) and the control protocol. */
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Run } from "../../src/engine/index.ts";
import { MemoryLog, openStream } from "../../src/log/index.ts";
import { createEntry } from "../../src/log/entry.ts";
import { agent } from "../../src/agents/index.ts";
import { ScriptedModel } from "../../src/models/scripted-model.ts";
import { LoomError } from "../../src/protocol/index.ts";
import { defineTool, describeInput } from "../../src/tools/index.ts";
import { gather, makeRun, overrideLog, writeRecords } from "../log-sessions.ts";
import { checkLumine, isDoneFrame, echoMessage, createSocketFixture } from "./socket-fixture.ts";

const LUMINE = "/agentOS/v1/ws_stream";
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;
const BASE = [
  "type",
  "id",
  "role",
  "session_id",
  "conversation_id",
  "tool_use_id",
  "content",
  "toolName",
  "args",
  "result",
  "status",
  "error",
];

/** Creates runs that wait in the middle until the gate opens. */
function createGate() {
  const gate = Promise.withResolvers<void>();
  const play = async (run: Run, message: string): Promise<void> => {
    await run.span("think", async (node) => {
      await node.write("first ");
      if (message.startsWith("wait")) await Promise.race([gate.promise, run.signal && untilAborted(run.signal)]);
      await node.write("second");
    });
    await run.finish({ reply: "first second" });
  };
  return { play, open: gate.resolve };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

describe("the Lumine socket", () => {
  it("greets, answers, and sends the stream of the session byte for byte", async () => {
    const fixture = await createSocketFixture();
    const client = fixture.connect(LUMINE);
    await client.count(1);
    const [hello = {}] = client.frames();
    expect(Object.keys(hello)).toEqual(BASE);
    expect(hello).toMatchObject({ type: "session_id", role: "assistant", conversation_id: null, content: null });
    const session = client.session();
    expect(session).toMatch(UUID);
    // No session is created before the first message.
    expect(await fixture.log.getSession(session)).toBeUndefined();
    client.send({ content: "你好 there" });
    await client.done();
    client.send({ content: "and again" });
    await client.done(2);
    expect(client.texts).toEqual(await fixture.list(session));
    expect(client.frames().filter(({ type }) => type === "session_id")).toHaveLength(2);
    expect(checkLumine(client.texts)).toEqual([]);
    for (const frame of client.frames()) expect(Object.keys(frame)).toEqual(expect.arrayContaining(BASE));
  });

  it("accepts a message before the greeting, and a close right after [DONE]", async () => {
    const fixture = await createSocketFixture();
    const client = fixture.connect(LUMINE);
    client.ws.once("open", () => client.send({ content: "hello" }));
    await client.done();
    client.ws.close();
    expect(await client.closed()).toMatchObject({ code: 1005 });
    const session = client.session();
    expect(client.texts).toEqual(await fixture.list(session));
    await vi.waitFor(() => expect(fixture.sockets.size).toBe(0));
    expect(fixture.core.streams.size).toBe(0);
  });

  it("answers messages in order, each with its session_id and [DONE]", async () => {
    const gate = createGate();
    const fixture = await createSocketFixture({ play: gate.play });
    const client = fixture.connect(LUMINE);
    await client.opened();
    for (const content of ["wait", "two", "three"]) client.send({ content });
    await client.until(({ content }) => content === "first ");
    gate.open();
    await client.done(3);
    const session = client.session();
    expect(client.texts).toEqual(await fixture.list(session));
    const runs = await fixture.log.listRuns(session);
    expect(runs.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
    expect(checkLumine(client.texts)).toEqual([]);
  });

  it.each(["address", "request"])("continues a conversation that the %s names", async (where) => {
    const fixture = await createSocketFixture();
    await writeRecords(fixture.log, makeRun("run-1"));
    const before = await fixture.list("s");
    const client = fixture.connect(where === "address" ? `${LUMINE}?session_id=s` : LUMINE);
    await client.count(1);
    client.send({ content: "more", ...(where === "request" ? { session_id: "s" } : {}) });
    await client.done();
    expect(client.texts.slice(1)).toEqual((await fixture.list("s")).slice(before.length));
    const [hello, second] = client.frames();
    expect(second).toMatchObject({ type: "session_id", session_id: "s" });
    if (where === "address") expect(hello?.["conversation_id"]).toBe(second?.["conversation_id"]);
    expect(checkLumine(client.texts)).toEqual([]);
  });

  it("accepts another session in a later request, after the current one", async () => {
    const gate = createGate();
    const fixture = await createSocketFixture({ play: gate.play });
    const client = fixture.connect(`${LUMINE}?session_id=a`);
    await client.opened();
    client.send({ content: "wait" });
    client.send({ content: "go", session_id: "b" });
    await vi.waitFor(async () => expect((await fixture.log.listRuns("b"))[0]?.status).toBe("completed"));
    gate.open();
    await client.done(2);
    expect(client.texts).toEqual([...(await fixture.list("a")), ...(await fixture.list("b"))]);
    expect(checkLumine(client.texts)).toEqual([]);
  });

  it("continues the run when the client disconnects, and resumes after any frame", async () => {
    const gate = createGate();
    const fixture = await createSocketFixture({ play: gate.play });
    const first = fixture.connect(LUMINE);
    await first.opened();
    first.send({ content: "wait" });
    await first.until(({ content }) => content === "first ");
    const session = first.session();
    const sent = first.texts.length;
    first.ws.terminate();
    await vi.waitFor(() => expect(fixture.sockets.size).toBe(0));
    const second = fixture.connect(`${LUMINE}?session_id=${session}&after=0&skip=${sent}`);
    const third = fixture.connect(`${LUMINE}?session_id=${session}&skip=${sent}`);
    await Promise.all([second.count(1), third.count(1)]);
    gate.open();
    await Promise.all([second.done(), third.done()]);
    const all = await fixture.list(session);
    expect([...first.texts, ...second.texts.slice(1)]).toEqual(all);
    expect([...first.texts, ...third.texts.slice(1)]).toEqual(all);
    // The run has ended, and resuming creates nothing.
    for (let skip = 0; skip <= all.length; skip++) {
      const again = fixture.connect(`${LUMINE}?session_id=${session}&after=0&skip=${skip}`);
      const now = await fixture.list(session);
      await again.count(1 + now.length - skip);
      expect(again.texts.slice(1)).toEqual(now.slice(skip));
      expect(again.frames()[0]).toMatchObject({ type: "session_id", session_id: session });
      // The client may send another message.
      if (skip % 3 !== 0) continue;
      again.send({ content: "next" });
      await again.until((frame) => isDoneFrame(frame) && !now.some((text) => text.includes(frame["id"] as string)));
      expect(again.texts.slice(1)).toEqual((await fixture.list(session)).slice(skip));
    }
    expect(await fixture.log.listRuns(session)).not.toHaveLength(1);
  });

  it("answers a request once, after the missed frames", async () => {
    const gate = createGate();
    const fixture = await createSocketFixture({ play: gate.play });
    const first = fixture.connect(`${LUMINE}?session_id=s`);
    await first.opened();
    first.send({ content: "wait" });
    await first.until(({ content }) => content === "first ");
    const second = fixture.connect(`${LUMINE}?session_id=s&after=0`);
    await second.count(3);
    second.send({ content: "two" });
    second.send("not JSON");
    gate.open();
    await second.done(3);
    const all = await fixture.list("s");
    expect(second.texts.slice(1, 1 + all.length)).toEqual(all);
    expect(second.frames().slice(1 + all.length)).toMatchObject([
      { type: "session_id" },
      { type: "error", code: "INVALID_REQUEST", status: "refused" },
      { content: "[DONE]" },
    ]);
    expect(checkLumine(second.texts)).toEqual([]);
    await first.done();
    expect(first.frames().filter(isDoneFrame)).toHaveLength(1);
  });

  it("follows a session, including runs and to-do items of other clients", async () => {
    const gate = createGate();
    const fixture = await createSocketFixture({
      play: async (run, message) => {
        if (message === "list")
          await run.emit({ type: "todo_list", list_id: "l", items: [{ id: "i", text: "Pack", completed: false }] });
        await gate.play(run, message);
      },
    });
    const one = fixture.connect(`${LUMINE}?session_id=s&follow=1`);
    await one.opened();
    one.send({ content: "list" });
    await one.done();
    const two = fixture.connect(`${LUMINE}?session_id=s&follow=1`);
    const plain = fixture.connect(`${LUMINE}?session_id=s`);
    await Promise.all([two.count(1), plain.count(1)]);
    two.send({ type: "todo_update", list_id: "l", item_id: "i", completed: true });
    await one.until(({ type }) => type === "todo_update");
    await two.until(({ type }) => type === "todo_update");
    two.send({ content: "wait" });
    await one.until(({ content }) => content === "first ");
    // The run has started before this client connects.
    const late = fixture.connect(`${LUMINE}?session_id=s&follow=1`);
    await late.count(3);
    two.send({ content: "x", session_id: "another" });
    gate.open();
    await Promise.all([one.done(2), two.done(2), late.done(), plain.count(1)]);
    const all = await fixture.list("s", true);
    expect(one.texts).toEqual(all);
    const ends = all.findIndex((text) => text.includes("[DONE]"));
    expect(two.texts.slice(1, all.length - ends)).toEqual(all.slice(ends + 1));
    expect(two.frames().slice(all.length - ends)).toMatchObject([
      { type: "session_id" },
      { type: "error", code: "INVALID_REQUEST" },
      { content: "[DONE]" },
    ]);
    expect(late.texts.slice(1)).toEqual(all.slice(ends + 2));
    expect(plain.texts).toHaveLength(1);
    expect(one.frames().map(({ type }) => type)).toContain("todo_update");
  });

  it.each([
    ["not JSON", "invalid_request"],
    ["[]", "invalid_request"],
    ["{}", "invalid_request"],
    ['{"content":"  "}', "invalid_request"],
    ['{"content":7}', "invalid_request"],
    ['{"content":"x","agent":"missing"}', "unknown_agent"],
    [`{"content":"x","session_id":"${"x".repeat(300)}"}`, "invalid_name"],
    [JSON.stringify({ content: "x".repeat(70_000) }), "body_too_large"],
    [Buffer.from('{"content":"x"}'), "invalid_request"],
  ])("answers an invalid input (case %#) with an error and [DONE], and continues", async (bad, code) => {
    const fixture = await createSocketFixture();
    const client = fixture.connect(LUMINE);
    await client.opened();
    client.ws.send(bad);
    client.send({ content: "good" });
    client.ws.send(bad);
    await client.done(3);
    const frames = client.frames();
    expect(frames.filter(({ type }) => type === "error")).toMatchObject([
      { code: code.toUpperCase(), status: "refused", error: expect.any(String) as string },
      { code: code.toUpperCase(), status: "refused" },
    ]);
    for (const frame of frames) expect(Object.keys(frame)).toEqual(expect.arrayContaining(BASE));
    expect(checkLumine(client.texts)).toEqual([]);
    expect(fixture.reported).toEqual([]);
    const session = client.session();
    const all = await fixture.list(session);
    const at = client.texts.indexOf(all[1] ?? "") - 1;
    // The refusal has used the first greeting.
    expect(client.texts.slice(at, at + all.length)).toEqual(all);
  });

  it.each([
    ["?session_id=missing&after=3", "unknown_session"],
    ["?session_id=s&after=99", "cursor_ahead"],
    ["?session_id=s&after=never", "cursor_invalid"],
    ["?session_id=s&skip=99", "cursor_ahead"],
    ["?session_id=s&skip=x", "invalid_request"],
    ["?after=3", "invalid_request"],
  ])("refuses the start %s as %s, and accepts messages", async (query, code) => {
    const fixture = await createSocketFixture();
    await writeRecords(fixture.log, makeRun("run-1"));
    const client = fixture.connect(`${LUMINE}${query}`);
    await client.done();
    expect(client.frames().slice(0, 3)).toMatchObject([
      { type: "session_id" },
      { type: "error", code: code.toUpperCase() },
      { content: "[DONE]" },
    ]);
    client.send({ content: "hello" });
    await client.done(2);
    expect(checkLumine(client.texts)).toEqual([]);
  });

  it("cancels only the current run", async () => {
    const gate = createGate();
    const fixture = await createSocketFixture({ play: gate.play });
    const client = fixture.connect(`${LUMINE}?session_id=s`);
    await client.opened();
    client.send({ type: "cancel" });
    client.send({ content: "wait" });
    client.send({ content: "two" });
    await client.until(({ content }) => content === "first ");
    client.send({ type: "cancel", reason: "enough" });
    await client.done(2);
    const runs = await fixture.log.listRuns("s");
    expect(runs.map(({ status }) => status).toSorted()).toEqual(["cancelled", "completed"]);
    expect(client.texts).toEqual(await fixture.list("s"));
    client.send({ type: "cancel" });
    client.send({ content: "three" });
    await client.done(3);
    expect(checkLumine(client.texts)).toEqual([]);
  });

  it("cancels a message sent just before, even when following the session", async () => {
    const gate = createGate();
    const fixture = await createSocketFixture({ play: gate.play });
    for (const query of ["", "?follow=1"]) {
      const client = fixture.connect(`${LUMINE}${query}`);
      await client.opened();
      client.send({ content: "wait" });
      client.send({ type: "cancel" });
      await client.done();
      expect(client.frames().filter(({ type }) => type === "error")).toMatchObject([{ code: "CANCELLED" }]);
      expect(await fixture.log.listRuns(client.session())).toMatchObject([{ status: "cancelled" }]);
    }
  });

  it("answers immediately between two requests of a followed session", async () => {
    const fixture = await createSocketFixture({
      play: async (run, message) => {
        await run.emit({ type: "todo_list", list_id: "l", items: [{ id: "i", text: "Pack", completed: false }] });
        await echoMessage(run, message);
      },
    });
    const client = fixture.connect(`${LUMINE}?follow=1`);
    await client.opened();
    client.send({ content: "list" });
    await client.done();
    client.send({ type: "todo_update", list_id: "l", item_id: "i", completed: true });
    await client.until(({ type }) => type === "todo_update");
    client.send({ content: "" });
    await client.done(2);
    expect(client.frames().slice(-3)).toMatchObject([{ type: "session_id" }, { type: "error" }, { content: "[DONE]" }]);
    client.send({ content: "again" });
    await client.done(3);
  });

  it("continues without duplicates after the store has failed", async () => {
    let isBroken = false;
    const log = overrideLog(new MemoryLog({ limits: { maxFeedBytes: 1 } }), (real) => ({
      async read(...args) {
        if (isBroken) throw new Error("disk failure");
        return real.read(...args);
      },
    }));
    const fixture = await createSocketFixture({ log });
    const client = fixture.connect(`${LUMINE}?session_id=s&follow=1`);
    await client.opened();
    client.send({ content: "one" });
    await client.done();
    isBroken = true;
    const other = fixture.connect(`${LUMINE}?session_id=s`);
    await other.opened();
    other.send({ content: "two" });
    await client.until(({ code }) => code === "INTERNAL_ERROR");
    isBroken = false;
    await vi.waitFor(async () => expect((await log.listRuns("s")).map(({ status }) => status)).not.toContain("live"));
    client.send({ content: "three" });
    await client.done(4);
    const ours = client.frames().findIndex(({ code }) => code === "INTERNAL_ERROR");
    // The greeting before the error and the [DONE] after it are not in the log either.
    const got = client.texts.filter((_, index) => Math.abs(index - ours) > 1);
    expect(got).toEqual(await fixture.list("s", true));
  });

  it("reports a store failure while its message waits", async () => {
    const gate = createGate();
    let isBroken = false;
    const log = overrideLog(new MemoryLog(), (real) => ({
      async getRun(...args) {
        if (isBroken) throw new Error("disk failure");
        return real.getRun(...args);
      },
      async getCommand(...args) {
        if (isBroken) throw new Error("disk failure");
        return real.getCommand(...args);
      },
    }));
    const fixture = await createSocketFixture({ log, play: gate.play });
    const [one, two] = [fixture.connect(`${LUMINE}?session_id=s`), fixture.connect(`${LUMINE}?session_id=s`)];
    await Promise.all([one.opened(), two.opened()]);
    one.send({ content: "wait" });
    await one.until(({ content }) => content === "first ");
    two.send({ content: "two" });
    await vi.waitFor(() => expect(fixture.core.streams.size).toBe(2));
    isBroken = true;
    gate.open();
    await two.until(({ code }) => code === "INTERNAL_ERROR");
    isBroken = false;
    two.send({ content: "three" });
    await two.done(2);
    expect(two.texts.filter((text) => text.includes("second"))).toHaveLength(1);
  });

  it("limits the commands in progress", async () => {
    const held = Promise.withResolvers<void>();
    let calls = 0;
    const fixture = await createSocketFixture({
      authorize: async ({ action }) => {
        if (action !== "runs.control") return;
        calls++;
        await held.promise;
      },
    });
    const client = fixture.connect(LUMINE);
    await client.opened();
    client.send({ content: "one" });
    await client.done();
    for (let n = 0; n < 150; n++) client.send({ type: "todo_update", list_id: "l", item_id: "i", completed: true });
    await vi.waitFor(() => expect(client.frames().filter(({ code }) => code === "BACKLOG_FULL")).toHaveLength(50));
    expect(calls).toBe(100);
    held.resolve();
    const isRefused = ({ code }: { readonly code?: unknown }): boolean => code === "UNKNOWN_TODO";
    await vi.waitFor(() => expect(client.frames().filter(isRefused)).toHaveLength(100), { timeout: 5000 });
    expect(checkLumine(client.texts)).toEqual([]);
  });

  it("accepts the next request when a waiting message is withdrawn", async () => {
    const fixture = await createSocketFixture();
    const { log } = fixture;
    await log.createSession("s");
    const { epoch, ...lease } = await log.acquire("s", { holder: "another", ttlMs: 60_000 });
    const records = makeRun("run-1");
    const append = (from: number, to: number, settle?: Parameters<typeof log.append>[0]["settle"]) =>
      log.append({
        sessionId: "s",
        epoch,
        expectedLastId: from,
        entries: records.slice(from, to).map(createEntry),
        ...(settle === undefined ? {} : { settle }),
      });
    await append(0, 2);
    await log.submit({ commandId: "c", sessionId: "s", kind: "enqueue", body: { message: "later", run_id: "r" } });
    const client = fixture.connect(`${LUMINE}?session_id=s&skip=0`);
    await client.count(3);
    await append(2, 4);
    await client.done();
    await append(4, 4, [{ commandId: "c", outcome: { code: "cancelled" } }]);
    await log.release({ ...lease, epoch });
    client.send({ content: "next", session_id: "another" });
    await client.done(2);
    expect(client.texts.slice(1)).toEqual([...(await fixture.list("s")), ...(await fixture.list("another"))]);
  });

  it("reports when its waiting message is withdrawn", async () => {
    const gate = createGate();
    const fixture = await createSocketFixture({ play: gate.play });
    const [one, two] = [fixture.connect(`${LUMINE}?session_id=s`), fixture.connect(`${LUMINE}?session_id=s`)];
    await Promise.all([one.opened(), two.opened()]);
    one.send({ content: "wait" });
    await one.until(({ content }) => content === "first ");
    two.send({ content: "two" });
    await vi.waitFor(async () => expect(await fixture.log.listPending("s")).toHaveLength(1));
    two.send({ type: "cancel" });
    await two.done();
    expect(two.frames().slice(1)).toMatchObject([{ type: "error", code: "CANCELLED" }, { content: "[DONE]" }]);
    gate.open();
    await one.done();
    // No server error was reported.
    expect(fixture.reported).toEqual([]);
    expect(await fixture.log.listRuns("s")).toHaveLength(1);
  });

  it("shows a live run to a client that reconnects with only the session, and then answers its message", async () => {
    const gate = createGate();
    const fixture = await createSocketFixture({ play: gate.play });
    const first = fixture.connect(`${LUMINE}?session_id=s`);
    await first.opened();
    first.send({ content: "wait" });
    await first.until(({ content }) => content === "first ");
    first.ws.terminate();
    const again = fixture.connect(`${LUMINE}?session_id=s`);
    await again.until(({ content }) => content === "first ");
    again.send({ content: "next" });
    gate.open();
    await again.done(2);
    expect(again.texts.slice(1)).toEqual(await fixture.list("s"));
    expect(checkLumine(again.texts)).toEqual([]);
    // Nothing is repeated when no run is live.
    const late = fixture.connect(`${LUMINE}?session_id=s`);
    await late.count(1);
    late.send({ content: "third" });
    await late.done();
    expect(late.frames().filter(({ type }) => type === "session_id")).toHaveLength(2);
  });

  it("handles tool approvals and refuses unknown calls", async () => {
    const fixture = await createSocketFixture({
      play: async (run, message) => {
        const call = { callId: "call-1", name: "rm", arguments: { path: "/" } };
        await run.emit({ type: "tool_call", call_id: "call-1", name: "rm", arguments: call.arguments });
        const { decision } = await run.requestApproval(call);
        await run.emit({ type: "tool_end", call_id: "call-1", name: "rm", result: decision, is_error: true });
        await echoMessage(run, message);
      },
    });
    const client = fixture.connect(`${LUMINE}?session_id=s`);
    await client.opened();
    client.send({ content: "remove it", capabilities: ["approval"] });
    await client.until(({ status }) => status === "awaiting_approval");
    client.send({ type: "tool_approval", tool_use_id: "none", decision: "approved" });
    await client.until(({ code }) => code === "UNKNOWN_CALL");
    client.send({ type: "tool_approval", tool_use_id: "call-1", decision: "maybe" });
    await client.until(({ code }) => code === "INVALID_REQUEST");
    client.send({ type: "tool_approval", tool_use_id: "call-1", decision: "rejected", reason: "no" });
    await client.done();
    client.send({ type: "todo_update", list_id: "l", item_id: "i", completed: true });
    await client.done(2);
    expect(client.frames().slice(-3)).toMatchObject([{ type: "session_id" }, { code: "UNKNOWN_TODO" }, {}]);
    expect(checkLumine(client.texts)).toEqual([]);
    const ours = client.texts.filter((text) => !text.includes('"status":"refused"')).slice(0, -2);
    expect(ours).toEqual(await fixture.list("s"));
  });

  it("refuses a call that needs approval at once if the message does not declare that its client can answer", async () => {
    const call = { name: "remove", input: {}, id: "call-1" };
    const remove = defineTool({
      name: "remove",
      description: "Removes.",
      input: describeInput<object>({ type: "object", properties: {} }),
      approval: "always",
      execute: () => "removed",
    });
    const remover = agent({
      model: new ScriptedModel([{ calls: [call] }, { text: "没有删除。" }]),
      tools: [remove],
    });
    const fixture = await createSocketFixture({
      play: async (run) => {
        await remover.executeRun(fixture.log, run);
      },
    });
    const client = fixture.connect(LUMINE);
    await client.opened();
    client.send({ content: "删除文件" });
    await client.done();
    const [used, refused, ...rest] = client.frames().slice(1);
    expect(used).toMatchObject({ type: "tool_use", status: "running" });
    expect(refused).toMatchObject({ type: "tool_result", status: "error", code: "APPROVAL_UNAVAILABLE" });
    expect(refused?.["error"]).toBe("该工具需要审批，但当前应用无法答复审批，工具未执行");
    expect(rest.map(({ type }) => type)).not.toContain("error");
    expect(rest.at(-1)).toMatchObject({ content: "[DONE]", status: null });
  });

  it("refuses a message in its language", async () => {
    const fixture = await createSocketFixture();
    const client = fixture.connect(LUMINE);
    await client.opened();
    client.send({ content: "你好", agent: "missing-agent" });
    await client.until(({ status }) => status === "refused");
    expect(client.frames().find(({ status }) => status === "refused")).toMatchObject({
      code: "UNKNOWN_AGENT",
      error: "智能体不存在",
      detail: expect.stringContaining("missing-agent") as unknown,
    });
  });

  it("authorizes the session of every socket and request", async () => {
    const actions: string[] = [];
    const fixture = await createSocketFixture({
      authorize: async ({ action, session = "" }) => {
        actions.push(`${action} ${session}`);
        if (session === "secret") throw new LoomError("forbidden", "not your session");
      },
    });
    await writeRecords(fixture.log, makeRun("run-1", { sessionId: "secret" }));
    const shut = fixture.connect(`${LUMINE}?session_id=secret&after=0`);
    expect(await shut.closed()).toMatchObject({ code: 1008, reason: "forbidden" });
    expect(shut.frames()).toMatchObject([{ type: "session_id" }, { code: "FORBIDDEN" }, { content: "[DONE]" }]);
    const client = fixture.connect(`${LUMINE}?session_id=mine`);
    await client.opened();
    client.send({ content: "hello", session_id: "secret" });
    client.send({ type: "todo_update", session_id: "secret", list_id: "l", item_id: "i", completed: true });
    client.send({ content: "hello", session_id: "mine" });
    await client.done(2);
    expect(client.frames().filter(({ code }) => code === "FORBIDDEN")).toHaveLength(2);
    expect(actions).toEqual(expect.arrayContaining(["sessions.read mine", "runs.start mine", "runs.control secret"]));
    expect(await fixture.log.listRuns("secret")).toHaveLength(1);
  });
});

describe("the control protocol", () => {
  it("handles streams and commands of many sessions", async () => {
    const fixture = await createSocketFixture();
    await writeRecords(fixture.log, makeRun("run-1"));
    const client = fixture.connect("/v1/ws");
    await client.until(({ type }) => type === "hello");
    client.send({ type: "subscribe", id: "1", session: "s", dialect: "lumine" });
    client.send({ type: "run", id: "2", session: "t", message: "hello" });
    client.send({ type: "subscribe", id: "3", session: "missing" });
    client.ws.send(Buffer.of(1, 2, 3));
    client.send("nonsense");
    expect(await client.until(({ id }) => id === "2")).toMatchObject({ type: "ack" });
    expect(await client.until(({ id }) => id === "3")).toMatchObject({ type: "refusal", code: "unknown_session" });
    const { frames } = await client.until(({ type }) => type === "frames");
    expect(frames).toEqual(await fixture.list("s"));
    await vi.waitFor(() => expect(client.frames().filter(({ code }) => code === "invalid_control")).toHaveLength(2));
    expect(client.ws.readyState).toBe(client.ws.OPEN);
  });

  it("sends the same frames to all subscribers, between other replies", async () => {
    const fixture = await createSocketFixture({ limits: { heartbeatMs: 0 } });
    const clients = Array.from({ length: 5 }, () => fixture.connect("/v1/ws"));
    await fixture.log.createSession("s");
    for (const client of clients) {
      await client.opened();
      client.send({ type: "subscribe", id: "1", session: "s" });
      await client.until(({ type }) => type === "subscribed");
    }
    clients[0]?.send({ type: "run", id: "2", session: "s", message: "one two three four five six seven eight" });
    // Pongs of the protocol and of `ws` are sent in between.
    for (let n = 0; n < 20; n++)
      for (const client of clients) {
        client.ws.ping(`ping ${n}`);
        client.send({ type: "ping", id: String(n) });
      }
    const list = (texts: readonly string[]) =>
      texts.flatMap((text) => (JSON.parse(text) as { frames?: readonly string[] }).frames ?? []);
    const isOver = (frame: string) => frame.includes('"reply"');
    for (const client of clients) await vi.waitFor(() => expect(list(client.texts).some(isOver)).toBe(true));
    const [first = [], ...others] = clients.map(({ texts }) => list(texts));
    for (const other of others) expect(other).toEqual(first);
    expect(new Set(first).size).toBe(first.length);
  });

  it("authorizes every request", async () => {
    const fixture = await createSocketFixture({
      authorize: ({ session }) => {
        if (session === "secret") throw new LoomError("forbidden", "not your session");
      },
    });
    const client = fixture.connect("/v1/ws");
    await client.opened();
    client.send({ type: "subscribe", id: "1", session: "secret" });
    client.send({ type: "run", id: "2", session: "secret", message: "hello" });
    await vi.waitFor(() => expect(client.frames().filter(({ code }) => code === "forbidden")).toHaveLength(2));
    expect(await fixture.log.getSession("secret")).toBeUndefined();
  });
});

describe.each(["/v1/ws", LUMINE])("a socket at %s", (path) => {
  it("is found only under the base path", async () => {
    const fixture = await createSocketFixture({ basePath: "/loom" });
    await fixture.connect(path).opened();
    await fixture.connect(`${path}?x=1`).opened();
    expect(fixture.sockets.size).toBe(2);
    for (const other of [`${path}/`, "/v1/other", "/v1/ws2", "/__proto__"])
      expect((await fixture.connect(other).refused()).message).toContain("404");
  });

  it("is refused when there are too many, and during shutdown", async () => {
    const fixture = await createSocketFixture({ limits: { maxSockets: 2 } });
    const first = fixture.connect(path);
    await Promise.all([first.opened(), fixture.connect(path).opened()]);
    expect((await fixture.connect(path).refused()).message).toContain("503");
    first.ws.close();
    await vi.waitFor(() => expect(fixture.sockets.size).toBe(1));
    await fixture.connect(path).opened();
    await fixture.sockets.close();
    expect((await fixture.connect(path).refused()).message).toContain("503");
  });

  it("is refused and destroyed even if the client keeps the connection open", async () => {
    const fixture = await createSocketFixture({ limits: { maxSockets: 1 } });
    await fixture.connect("/v1/ws").opened();
    const line = connect({ port: fixture.port, host: "127.0.0.1", allowHalfOpen: true });
    onTestFinished(() => void line.destroy());
    line.on("error", () => undefined).resume();
    const key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    line.write(`GET /v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}\r\n\r\n`);
    await vi.waitFor(() => expect(fixture.raw[1]?.destroyed).toBe(true));
  });

  it("is closed by a message that is far too long", async () => {
    const fixture = await createSocketFixture({ limits: { maxInboundLength: 1000 } });
    const client = fixture.connect(path);
    await client.opened();
    client.send("x".repeat(3000));
    await vi.waitFor(() => expect(client.texts.some((text) => text.includes('"code"'))).toBe(true));
    client.send("x".repeat(5000));
    expect(await client.closed()).toMatchObject({ code: 1009 });
    await vi.waitFor(() => expect(fixture.sockets.size).toBe(0));
  });

  it("is closed when the client no longer answers pings", async () => {
    // Long enough for a client on a busy machine.
    const fixture = await createSocketFixture({ limits: { pingMs: 200 } });
    const [alive, dead] = [fixture.connect(path), fixture.connect(path, { autoPong: false })];
    await Promise.all([alive.opened(), dead.opened()]);
    expect(await dead.closed()).toMatchObject({ code: 1006 });
    await vi.waitFor(() => expect(fixture.sockets.size).toBe(1));
    expect(alive.ws.readyState).toBe(alive.ws.OPEN);
  });

  it("is closed with code 1012 when the server stops", async () => {
    const fixture = await createSocketFixture();
    const client = fixture.connect(path);
    await client.opened();
    await client.count(1);
    await fixture.sockets.close();
    expect(await client.closed()).toEqual({ code: 1012, reason: "shutting_down" });
    expect(fixture.sockets.size).toBe(0);
  });
});

describe("a client that does not read", () => {
  const words = Array.from({ length: 10 }, (_, n) => `${n} ${"x".repeat(120_000)} `);
  const play = async (run: Run): Promise<void> => {
    await run.span("think", async (node) => {
      for (const word of words) await node.write(word);
    });
    await run.finish({ reply: "much" });
  };
  const limits = { maxOutboundBytes: 64 * 1024, maxStallMs: 800, maxLagBytes: 2 ** 30, heartbeatMs: 0 };

  it.each(["/v1/ws", `${LUMINE}?session_id=s`])("is closed at %s with the cursor to resume after", async (path) => {
    // The operating system buffers some data at both ends, in addition to the limit.
    const fixture = await createSocketFixture({
      limits,
      play: async (run) => {
        for (let n = 0; n < 12; n++)
          await run.span("think", async (node) => {
            for (const word of words) await node.write(word);
          });
        await run.finish({ reply: "much" });
      },
    });
    await fixture.log.createSession("s");
    const [stalled, other] = [fixture.connect(path), fixture.connect(path)];
    await Promise.all([stalled.opened(), other.opened()]);
    await Promise.all([stalled.count(1), other.count(1)]);
    const [server] = fixture.raw as [Socket];
    if (path === "/v1/ws") {
      for (const client of [stalled, other]) client.send({ type: "subscribe", id: "1", session: "s" });
      await stalled.until(({ type }) => type === "subscribed");
      await other.until(({ type }) => type === "subscribed");
    }
    stalled.ws.pause();
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, server.writableLength)), 5);
    if (path === "/v1/ws") other.send({ type: "run", id: "2", session: "s", message: "go" });
    else {
      stalled.send({ content: "go" });
      await vi.waitFor(() => expect(fixture.core.streams.size).toBe(1));
    }
    await vi.waitFor(() => expect(fixture.core.streams.size).toBe(path === "/v1/ws" ? 1 : 0), { timeout: 10_000 });
    clearInterval(watch);
    // At most one batch above the limit.
    expect(most).toBeLessThan(limits.maxOutboundBytes + 1024 * 1024 + 100_000);
    stalled.ws.resume();
    const { code, reason } = await stalled.closed();
    expect(code).toBe(1013);
    const [, cursor = ""] = /^backlog_full after=(\S+)$/.exec(reason) ?? [];
    expect(cursor).not.toBe("");
    const dialect = path === "/v1/ws" ? "loom" : "lumine";
    await vi.waitFor(async () => expect((await fixture.log.listRuns("s"))[0]?.status).toBe("completed"), {
      timeout: 10_000,
    });
    const all = (await gather(openStream(fixture.log, "s", { dialect }))).flat().map(({ text }) => text);
    const rest = (await gather(openStream(fixture.log, "s", { dialect, cursor }))).flat().map(({ text }) => text);
    const got =
      path === "/v1/ws" ? stalled.frames().flatMap(({ frames }) => (frames ?? []) as string[]) : stalled.texts;
    expect(got.length).toBeGreaterThan(0);
    expect([...got, ...rest].length).toBe(all.length);
    expect(got).toEqual(all.slice(0, got.length));
    expect(other.ws.readyState).toBe(other.ws.OPEN);
  });

  it("is not read from either", async () => {
    const fixture = await createSocketFixture({ limits, play });
    const client = fixture.connect(LUMINE);
    await client.count(1);
    client.ws.pause();
    const [server] = fixture.raw as [Socket];
    let sent = 0;
    // Every message is answered with three frames.
    for (; sent < 200 && !server.isPaused(); sent++) {
      for (let n = 0; n < 500; n++) client.send("nonsense");
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(server.isPaused()).toBe(true);
    expect(server.writableLength).toBeLessThan(limits.maxOutboundBytes + 1024 * 1024);
    client.ws.resume();
    const isAnswer = (text: string): boolean => text.includes('"code":"INVALID_REQUEST"');
    await vi.waitFor(() => expect(client.texts.filter(isAnswer)).toHaveLength(sent * 500));
  });
});
