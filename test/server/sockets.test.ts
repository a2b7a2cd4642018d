/** The WebSockets of the server, against the real `ws` client: 004 to the letter, and the control protocol. */
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Run } from "../../src/engine/index.ts";
import { createEntry, MemoryLog, openStream } from "../../src/log/index.ts";
import { LoomError } from "../../src/protocol/index.ts";
import { gather, makeRun, overrideLog, writeRecords } from "../log-sessions.ts";
import { checkLumine, isDoneFrame, sayAgain, setSocketStage } from "./socket-stage.ts";

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

/** Runs that stop in the middle until they are let go on. */
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

describe("004", () => {
  it("greets, answers, and what was sent is the stream of the session, byte by byte", async () => {
    const stage = await setSocketStage();
    const client = stage.connect(LUMINE);
    await client.count(1);
    const [hello = {}] = client.frames();
    expect(Object.keys(hello)).toEqual(BASE);
    expect(hello).toMatchObject({ type: "session_id", role: "assistant", conversation_id: null, content: null });
    const session = client.session();
    expect(session).toMatch(UUID);
    // Nothing was asked, so nothing was made.
    expect(await stage.log.getSession(session)).toBeUndefined();
    client.say({ content: "你好 there" });
    await client.done();
    client.say({ content: "and again" });
    await client.done(2);
    expect(client.texts).toEqual(await stage.list(session));
    expect(client.frames().filter(({ type }) => type === "session_id")).toHaveLength(2);
    expect(checkLumine(client.texts)).toEqual([]);
    for (const frame of client.frames()) expect(Object.keys(frame)).toEqual(expect.arrayContaining(BASE));
  });

  it("is spoken to before it greets, and left right after [DONE], by a client that reads nothing else", async () => {
    const stage = await setSocketStage();
    const client = stage.connect(LUMINE);
    client.ws.once("open", () => client.say({ content: "hello" }));
    await client.done();
    client.ws.close();
    expect(await client.closed()).toMatchObject({ code: 1005 });
    const session = client.session();
    expect(client.texts).toEqual(await stage.list(session));
    await vi.waitFor(() => expect(stage.sockets.size).toBe(0));
    expect(stage.core.streams.size).toBe(0);
  });

  it("answers one message after the other, each with its own session_id and [DONE]", async () => {
    const gate = createGate();
    const stage = await setSocketStage({ play: gate.play });
    const client = stage.connect(LUMINE);
    await client.opened();
    for (const content of ["wait", "two", "three"]) client.say({ content });
    await client.until(({ content }) => content === "first ");
    gate.open();
    await client.done(3);
    const session = client.session();
    expect(client.texts).toEqual(await stage.list(session));
    const runs = await stage.log.listRuns(session);
    expect(runs.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
    expect(checkLumine(client.texts)).toEqual([]);
  });

  it.each(["address", "request"])("goes on with a conversation that the %s names", async (where) => {
    const stage = await setSocketStage();
    await writeRecords(stage.log, makeRun("run-1"));
    const before = await stage.list("s");
    const client = stage.connect(where === "address" ? `${LUMINE}?session_id=s` : LUMINE);
    await client.count(1);
    client.say({ content: "more", ...(where === "request" ? { session_id: "s" } : {}) });
    await client.done();
    expect(client.texts.slice(1)).toEqual((await stage.list("s")).slice(before.length));
    const [hello, second] = client.frames();
    expect(second).toMatchObject({ type: "session_id", session_id: "s" });
    if (where === "address") expect(hello?.["conversation_id"]).toBe(second?.["conversation_id"]);
    expect(checkLumine(client.texts)).toEqual([]);
  });

  it("takes another session in a later request, after the one that is going", async () => {
    const gate = createGate();
    const stage = await setSocketStage({ play: gate.play });
    const client = stage.connect(`${LUMINE}?session_id=a`);
    await client.opened();
    client.say({ content: "wait" });
    client.say({ content: "go", session_id: "b" });
    await vi.waitFor(async () => expect((await stage.log.listRuns("b"))[0]?.status).toBe("completed"));
    gate.open();
    await client.done(2);
    expect(client.texts).toEqual([...(await stage.list("a")), ...(await stage.list("b"))]);
    expect(checkLumine(client.texts)).toEqual([]);
  });

  it("lets the run go on when the client is gone, and a client that comes back go on after every frame", async () => {
    const gate = createGate();
    const stage = await setSocketStage({ play: gate.play });
    const first = stage.connect(LUMINE);
    await first.opened();
    first.say({ content: "wait" });
    await first.until(({ content }) => content === "first ");
    const session = first.session();
    const sent = first.texts.length;
    first.ws.terminate();
    await vi.waitFor(() => expect(stage.sockets.size).toBe(0));
    const second = stage.connect(`${LUMINE}?session_id=${session}&after=0&skip=${sent}`);
    const third = stage.connect(`${LUMINE}?session_id=${session}&skip=${sent}`);
    await Promise.all([second.count(1), third.count(1)]);
    gate.open();
    await Promise.all([second.done(), third.done()]);
    const all = await stage.list(session);
    expect([...first.texts, ...second.texts.slice(1)]).toEqual(all);
    expect([...first.texts, ...third.texts.slice(1)]).toEqual(all);
    // The run is over by now, and nothing is made of asking.
    for (let skip = 0; skip <= all.length; skip++) {
      const again = stage.connect(`${LUMINE}?session_id=${session}&after=0&skip=${skip}`);
      const now = await stage.list(session);
      await again.count(1 + now.length - skip);
      expect(again.texts.slice(1)).toEqual(now.slice(skip));
      expect(again.frames()[0]).toMatchObject({ type: "session_id", session_id: session });
      // It may go on asking.
      if (skip % 3 !== 0) continue;
      again.say({ content: "next" });
      await again.until((frame) => isDoneFrame(frame) && !now.some((text) => text.includes(frame["id"] as string)));
      expect(again.texts.slice(1)).toEqual((await stage.list(session)).slice(skip));
    }
    expect(await stage.log.listRuns(session)).not.toHaveLength(1);
  });

  it("a request made while the missed frames come is answered once, after them", async () => {
    const gate = createGate();
    const stage = await setSocketStage({ play: gate.play });
    const first = stage.connect(`${LUMINE}?session_id=s`);
    await first.opened();
    first.say({ content: "wait" });
    await first.until(({ content }) => content === "first ");
    const second = stage.connect(`${LUMINE}?session_id=s&after=0`);
    await second.count(3);
    second.say({ content: "two" });
    second.say("not JSON");
    gate.open();
    await second.done(3);
    const all = await stage.list("s");
    expect(second.texts.slice(1, 1 + all.length)).toEqual(all);
    expect(second.frames().slice(1 + all.length)).toMatchObject([
      { type: "session_id" },
      { type: "error", code: "invalid_request", status: "refused" },
      { content: "[DONE]" },
    ]);
    expect(checkLumine(second.texts)).toEqual([]);
    await first.done();
    expect(first.frames().filter(isDoneFrame)).toHaveLength(1);
  });

  it("follows a session: other tabs' runs and to-do items at once", async () => {
    const gate = createGate();
    const stage = await setSocketStage({
      play: async (run, message) => {
        if (message === "list")
          await run.emit({ type: "todo_list", list_id: "l", items: [{ id: "i", text: "Pack", completed: false }] });
        await gate.play(run, message);
      },
    });
    const one = stage.connect(`${LUMINE}?session_id=s&follow=1`);
    await one.opened();
    one.say({ content: "list" });
    await one.done();
    const two = stage.connect(`${LUMINE}?session_id=s&follow=1`);
    const plain = stage.connect(`${LUMINE}?session_id=s`);
    await Promise.all([two.count(1), plain.count(1)]);
    two.say({ type: "todo_update", list_id: "l", item_id: "i", completed: true });
    await one.until(({ type }) => type === "todo_update");
    await two.until(({ type }) => type === "todo_update");
    two.say({ content: "wait" });
    await one.until(({ content }) => content === "first ");
    // It has begun before this one comes.
    const late = stage.connect(`${LUMINE}?session_id=s&follow=1`);
    await late.count(3);
    two.say({ content: "x", session_id: "another" });
    gate.open();
    await Promise.all([one.done(2), two.done(2), late.done(), plain.count(1)]);
    const all = await stage.list("s", true);
    expect(one.texts).toEqual(all);
    const ends = all.findIndex((text) => text.includes("[DONE]"));
    expect(two.texts.slice(1, all.length - ends)).toEqual(all.slice(ends + 1));
    expect(two.frames().slice(all.length - ends)).toMatchObject([
      { type: "session_id" },
      { type: "error", code: "invalid_request" },
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
    ['{"content":"x","agent":"nobody"}', "unknown_agent"],
    [`{"content":"x","session_id":"${"x".repeat(300)}"}`, "invalid_name"],
    [JSON.stringify({ content: "x".repeat(70_000) }), "body_too_large"],
    [Buffer.from('{"content":"x"}'), "invalid_request"],
  ])("answers what cannot be taken (case %#) with an error and [DONE], and goes on", async (bad, code) => {
    const stage = await setSocketStage();
    const client = stage.connect(LUMINE);
    await client.opened();
    client.ws.send(bad);
    client.say({ content: "good" });
    client.ws.send(bad);
    await client.done(3);
    const frames = client.frames();
    expect(frames.filter(({ type }) => type === "error")).toMatchObject([
      { code, status: "refused", error: expect.any(String) as string },
      { code, status: "refused" },
    ]);
    for (const frame of frames) expect(Object.keys(frame)).toEqual(expect.arrayContaining(BASE));
    expect(checkLumine(client.texts)).toEqual([]);
    expect(stage.reported).toEqual([]);
    const session = client.session();
    const all = await stage.list(session);
    const at = client.texts.indexOf(all[1] ?? "") - 1;
    // The first greeting was used up by what could not be taken.
    expect(client.texts.slice(at, at + all.length)).toEqual(all);
  });

  it.each([
    ["?session_id=nobody&after=3", "unknown_session"],
    ["?session_id=s&after=99", "cursor_ahead"],
    ["?session_id=s&after=never", "cursor_invalid"],
    ["?session_id=s&skip=99", "cursor_ahead"],
    ["?session_id=s&skip=x", "invalid_request"],
    ["?after=3", "invalid_request"],
  ])("refuses the place %s as %s, and takes messages", async (query, code) => {
    const stage = await setSocketStage();
    await writeRecords(stage.log, makeRun("run-1"));
    const client = stage.connect(`${LUMINE}${query}`);
    await client.done();
    expect(client.frames().slice(0, 3)).toMatchObject([
      { type: "session_id" },
      { type: "error", code },
      { content: "[DONE]" },
    ]);
    client.say({ content: "hello" });
    await client.done(2);
    expect(checkLumine(client.texts)).toEqual([]);
  });

  it("cancels the run that is going, and no other", async () => {
    const gate = createGate();
    const stage = await setSocketStage({ play: gate.play });
    const client = stage.connect(`${LUMINE}?session_id=s`);
    await client.opened();
    client.say({ type: "cancel" });
    client.say({ content: "wait" });
    client.say({ content: "two" });
    await client.until(({ content }) => content === "first ");
    client.say({ type: "cancel", reason: "enough" });
    await client.done(2);
    const runs = await stage.log.listRuns("s");
    expect(runs.map(({ status }) => status).toSorted()).toEqual(["cancelled", "completed"]);
    expect(client.texts).toEqual(await stage.list("s"));
    client.say({ type: "cancel" });
    client.say({ content: "three" });
    await client.done(3);
    expect(checkLumine(client.texts)).toEqual([]);
  });

  it("cancels a message that came right before, also where it follows the session", async () => {
    const gate = createGate();
    const stage = await setSocketStage({ play: gate.play });
    for (const query of ["", "?follow=1"]) {
      const client = stage.connect(`${LUMINE}${query}`);
      await client.opened();
      client.say({ content: "wait" });
      client.say({ type: "cancel" });
      await client.done();
      expect(client.frames().filter(({ type }) => type === "error")).toEqual([]);
      expect(await stage.log.listRuns(client.session())).toMatchObject([{ status: "cancelled" }]);
    }
  });

  it("answers at once what comes between two requests of a session it follows", async () => {
    const stage = await setSocketStage({
      play: async (run, message) => {
        await run.emit({ type: "todo_list", list_id: "l", items: [{ id: "i", text: "Pack", completed: false }] });
        await sayAgain(run, message);
      },
    });
    const client = stage.connect(`${LUMINE}?follow=1`);
    await client.opened();
    client.say({ content: "list" });
    await client.done();
    client.say({ type: "todo_update", list_id: "l", item_id: "i", completed: true });
    await client.until(({ type }) => type === "todo_update");
    client.say({ content: "" });
    await client.done(2);
    expect(client.frames().slice(-3)).toMatchObject([{ type: "session_id" }, { type: "error" }, { content: "[DONE]" }]);
    client.say({ content: "again" });
    await client.done(3);
  });

  it("goes on where it was when the store has failed, and sends nothing twice", async () => {
    let isBroken = false;
    const log = overrideLog(new MemoryLog({ limits: { maxFeedBytes: 1 } }), (real) => ({
      async read(...asked) {
        if (isBroken) throw new Error("the disk is gone");
        return real.read(...asked);
      },
    }));
    const stage = await setSocketStage({ log });
    const client = stage.connect(`${LUMINE}?session_id=s&follow=1`);
    await client.opened();
    client.say({ content: "one" });
    await client.done();
    isBroken = true;
    const other = stage.connect(`${LUMINE}?session_id=s`);
    await other.opened();
    other.say({ content: "two" });
    await client.until(({ code }) => code === "internal_error");
    isBroken = false;
    await vi.waitFor(async () => expect((await log.listRuns("s")).map(({ status }) => status)).not.toContain("live"));
    client.say({ content: "three" });
    await client.done(4);
    const ours = client.frames().findIndex(({ code }) => code === "internal_error");
    // The greeting before it and the [DONE] behind it are ours too.
    const got = client.texts.filter((_, index) => Math.abs(index - ours) > 1);
    expect(got).toEqual(await stage.list("s", true));
  });

  it("is told when the store fails while its message waits", async () => {
    const gate = createGate();
    let isBroken = false;
    const log = overrideLog(new MemoryLog(), (real) => ({
      async getRun(...asked) {
        if (isBroken) throw new Error("the disk is gone");
        return real.getRun(...asked);
      },
      async getCommand(...asked) {
        if (isBroken) throw new Error("the disk is gone");
        return real.getCommand(...asked);
      },
    }));
    const stage = await setSocketStage({ log, play: gate.play });
    const [one, two] = [stage.connect(`${LUMINE}?session_id=s`), stage.connect(`${LUMINE}?session_id=s`)];
    await Promise.all([one.opened(), two.opened()]);
    one.say({ content: "wait" });
    await one.until(({ content }) => content === "first ");
    two.say({ content: "two" });
    await vi.waitFor(() => expect(stage.core.streams.size).toBe(2));
    isBroken = true;
    gate.open();
    await two.until(({ code }) => code === "internal_error");
    isBroken = false;
    two.say({ content: "three" });
    await two.done(2);
    expect(two.texts.filter((text) => text.includes("second"))).toHaveLength(1);
  });

  it("does so much at once that is no message, and no more", async () => {
    const held = Promise.withResolvers<void>();
    let asked = 0;
    const stage = await setSocketStage({
      authorize: async ({ action }) => {
        if (action !== "runs.control") return;
        asked++;
        await held.promise;
      },
    });
    const client = stage.connect(LUMINE);
    await client.opened();
    client.say({ content: "one" });
    await client.done();
    for (let n = 0; n < 150; n++) client.say({ type: "todo_update", list_id: "l", item_id: "i", completed: true });
    await vi.waitFor(() => expect(client.frames().filter(({ code }) => code === "backlog_full")).toHaveLength(50));
    expect(asked).toBe(100);
    held.resolve();
    const isRefused = ({ code }: { readonly code?: unknown }): boolean => code === "unknown_todo";
    await vi.waitFor(() => expect(client.frames().filter(isRefused)).toHaveLength(100), { timeout: 5000 });
    expect(checkLumine(client.texts)).toEqual([]);
  });

  it("that has come back is free for the next request when what waited is taken out", async () => {
    const stage = await setSocketStage();
    const { log } = stage;
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
    const client = stage.connect(`${LUMINE}?session_id=s&skip=0`);
    await client.count(3);
    await append(2, 4);
    await client.done();
    await append(4, 4, [{ commandId: "c", outcome: { code: "cancelled" } }]);
    await log.release({ ...lease, epoch });
    client.say({ content: "next", session_id: "another" });
    await client.done(2);
    expect(client.texts.slice(1)).toEqual([...(await stage.list("s")), ...(await stage.list("another"))]);
  });

  it("is told when a message that waited is taken out", async () => {
    const gate = createGate();
    const stage = await setSocketStage({ play: gate.play });
    const [one, two] = [stage.connect(`${LUMINE}?session_id=s`), stage.connect(`${LUMINE}?session_id=s`)];
    await Promise.all([one.opened(), two.opened()]);
    one.say({ content: "wait" });
    await one.until(({ content }) => content === "first ");
    two.say({ content: "two" });
    await vi.waitFor(async () => expect(await stage.log.listPending("s")).toHaveLength(1));
    two.say({ type: "cancel" });
    await two.done();
    expect(two.frames().slice(1)).toMatchObject([{ type: "error", code: "cancelled" }, { content: "[DONE]" }]);
    gate.open();
    await one.done();
    // Nothing went wrong on the server.
    expect(stage.reported).toEqual([]);
    expect(await stage.log.listRuns("s")).toHaveLength(1);
  });

  it("answers whether a tool may be called, and says where there is nothing to answer", async () => {
    const stage = await setSocketStage({
      play: async (run, message) => {
        const call = { callId: "call-1", name: "rm", arguments: { path: "/" } };
        await run.emit({ type: "tool_call", call_id: "call-1", name: "rm", arguments: call.arguments });
        const { decision } = await run.requestApproval(call);
        await run.emit({ type: "tool_end", call_id: "call-1", name: "rm", result: decision, is_error: true });
        await sayAgain(run, message);
      },
    });
    const client = stage.connect(`${LUMINE}?session_id=s`);
    await client.opened();
    client.say({ content: "remove it" });
    await client.until(({ status }) => status === "awaiting_approval");
    client.say({ type: "tool_approval", tool_use_id: "none", decision: "approved" });
    await client.until(({ code }) => code === "unknown_call");
    client.say({ type: "tool_approval", tool_use_id: "call-1", decision: "maybe" });
    await client.until(({ code }) => code === "invalid_request");
    client.say({ type: "tool_approval", tool_use_id: "call-1", decision: "rejected", reason: "no" });
    await client.done();
    client.say({ type: "todo_update", list_id: "l", item_id: "i", completed: true });
    await client.done(2);
    expect(client.frames().slice(-3)).toMatchObject([{ type: "session_id" }, { code: "unknown_todo" }, {}]);
    expect(checkLumine(client.texts)).toEqual([]);
    const ours = client.texts.filter((text) => !text.includes('"status":"refused"')).slice(0, -2);
    expect(ours).toEqual(await stage.list("s"));
  });

  it("asks leave for the session of every socket and every request", async () => {
    const asked: string[] = [];
    const stage = await setSocketStage({
      authorize: async ({ action, session = "" }) => {
        asked.push(`${action} ${session}`);
        if (session === "secret") throw new LoomError("forbidden", "not yours");
      },
    });
    await writeRecords(stage.log, makeRun("run-1", { sessionId: "secret" }));
    const shut = stage.connect(`${LUMINE}?session_id=secret&after=0`);
    expect(await shut.closed()).toMatchObject({ code: 1008, reason: "forbidden" });
    expect(shut.frames()).toMatchObject([{ type: "session_id" }, { code: "forbidden" }, { content: "[DONE]" }]);
    const client = stage.connect(`${LUMINE}?session_id=mine`);
    await client.opened();
    client.say({ content: "hello", session_id: "secret" });
    client.say({ type: "todo_update", session_id: "secret", list_id: "l", item_id: "i", completed: true });
    client.say({ content: "hello", session_id: "mine" });
    await client.done(2);
    expect(client.frames().filter(({ code }) => code === "forbidden")).toHaveLength(2);
    expect(asked).toEqual(expect.arrayContaining(["sessions.read mine", "runs.start mine", "runs.control secret"]));
    expect(await stage.log.listRuns("secret")).toHaveLength(1);
  });
});

describe("the control protocol", () => {
  it("carries streams and commands of many sessions", async () => {
    const stage = await setSocketStage();
    await writeRecords(stage.log, makeRun("run-1"));
    const client = stage.connect("/v1/ws");
    await client.until(({ type }) => type === "hello");
    client.say({ type: "subscribe", id: "1", session: "s", dialect: "lumine" });
    client.say({ type: "run", id: "2", session: "t", message: "hello" });
    client.say({ type: "subscribe", id: "3", session: "nobody" });
    client.ws.send(Buffer.of(1, 2, 3));
    client.say("nonsense");
    expect(await client.until(({ id }) => id === "2")).toMatchObject({ type: "ack" });
    expect(await client.until(({ id }) => id === "3")).toMatchObject({ type: "refusal", code: "unknown_session" });
    const { frames } = await client.until(({ type }) => type === "frames");
    expect(frames).toEqual(await stage.list("s"));
    await vi.waitFor(() => expect(client.frames().filter(({ code }) => code === "invalid_control")).toHaveLength(2));
    expect(client.ws.readyState).toBe(client.ws.OPEN);
  });

  it("sends the same bytes to all who have asked alike, between the answers to each", async () => {
    const stage = await setSocketStage({ limits: { heartbeatMs: 0 } });
    const clients = Array.from({ length: 5 }, () => stage.connect("/v1/ws"));
    await stage.log.createSession("s");
    for (const client of clients) {
      await client.opened();
      client.say({ type: "subscribe", id: "1", session: "s" });
      await client.until(({ type }) => type === "subscribed");
    }
    clients[0]?.say({ type: "run", id: "2", session: "s", message: "one two three four five six seven eight" });
    // Pongs of ours and of `ws` go in between.
    for (let n = 0; n < 20; n++)
      for (const client of clients) {
        client.ws.ping(`ping ${n}`);
        client.say({ type: "ping", id: String(n) });
      }
    const list = (texts: readonly string[]) =>
      texts.flatMap((text) => (JSON.parse(text) as { frames?: readonly string[] }).frames ?? []);
    const isOver = (frame: string) => frame.includes('"reply"');
    for (const client of clients) await vi.waitFor(() => expect(list(client.texts).some(isOver)).toBe(true));
    const [first = [], ...others] = clients.map(({ texts }) => list(texts));
    for (const other of others) expect(other).toEqual(first);
    expect(new Set(first).size).toBe(first.length);
  });

  it("asks leave for what is asked on it", async () => {
    const stage = await setSocketStage({
      authorize: ({ session }) => {
        if (session === "secret") throw new LoomError("forbidden", "not yours");
      },
    });
    const client = stage.connect("/v1/ws");
    await client.opened();
    client.say({ type: "subscribe", id: "1", session: "secret" });
    client.say({ type: "run", id: "2", session: "secret", message: "hello" });
    await vi.waitFor(() => expect(client.frames().filter(({ code }) => code === "forbidden")).toHaveLength(2));
    expect(await stage.log.getSession("secret")).toBeUndefined();
  });
});

describe.each(["/v1/ws", LUMINE])("a socket at %s", (path) => {
  it("is found under a base path, and nowhere else", async () => {
    const stage = await setSocketStage({ basePath: "/loom" });
    await stage.connect(path).opened();
    await stage.connect(`${path}?x=1`).opened();
    expect(stage.sockets.size).toBe(2);
    for (const other of [`${path}/`, "/v1/other", "/v1/ws2", "/__proto__"])
      expect((await stage.connect(other).refused()).message).toContain("404");
  });

  it("is refused before it is one when there are too many, and when the server stops", async () => {
    const stage = await setSocketStage({ limits: { maxSockets: 2 } });
    const first = stage.connect(path);
    await Promise.all([first.opened(), stage.connect(path).opened()]);
    expect((await stage.connect(path).refused()).message).toContain("503");
    first.ws.close();
    await vi.waitFor(() => expect(stage.sockets.size).toBe(1));
    await stage.connect(path).opened();
    await stage.sockets.close();
    expect((await stage.connect(path).refused()).message).toContain("503");
  });

  it("is refused to one who stays on the line, and nothing is kept of it", async () => {
    const stage = await setSocketStage({ limits: { maxSockets: 1 } });
    await stage.connect("/v1/ws").opened();
    const line = connect({ port: stage.port, host: "127.0.0.1", allowHalfOpen: true });
    onTestFinished(() => void line.destroy());
    line.on("error", () => undefined).resume();
    const key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    line.write(`GET /v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${key}\r\n\r\n`);
    await vi.waitFor(() => expect(stage.raw[1]?.destroyed).toBe(true));
  });

  it("is ended by a message that is far too long", async () => {
    const stage = await setSocketStage({ limits: { maxInboundLength: 1000 } });
    const client = stage.connect(path);
    await client.opened();
    client.say("x".repeat(3000));
    await vi.waitFor(() => expect(client.texts.some((text) => text.includes('"code"'))).toBe(true));
    client.say("x".repeat(5000));
    expect(await client.closed()).toMatchObject({ code: 1009 });
    await vi.waitFor(() => expect(stage.sockets.size).toBe(0));
  });

  it("is ended when nobody answers any more at the other end", async () => {
    // Long enough for one that answers on a busy machine.
    const stage = await setSocketStage({ limits: { pingMs: 200 } });
    const [alive, dead] = [stage.connect(path), stage.connect(path, { autoPong: false })];
    await Promise.all([alive.opened(), dead.opened()]);
    expect(await dead.closed()).toMatchObject({ code: 1006 });
    await vi.waitFor(() => expect(stage.sockets.size).toBe(1));
    expect(alive.ws.readyState).toBe(alive.ws.OPEN);
  });

  it("is told to come back when the server stops", async () => {
    const stage = await setSocketStage();
    const client = stage.connect(path);
    await client.opened();
    await client.count(1);
    await stage.sockets.close();
    expect(await client.closed()).toEqual({ code: 1012, reason: "shutting_down" });
    expect(stage.sockets.size).toBe(0);
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

  it.each(["/v1/ws", `${LUMINE}?session_id=s`])("is closed at %s with the place to go on from", async (path) => {
    // Whatever the two ends of a socket hold of their own comes on top of the limit.
    const stage = await setSocketStage({
      limits,
      play: async (run) => {
        for (let n = 0; n < 12; n++)
          await run.span("think", async (node) => {
            for (const word of words) await node.write(word);
          });
        await run.finish({ reply: "much" });
      },
    });
    await stage.log.createSession("s");
    const [stalled, other] = [stage.connect(path), stage.connect(path)];
    await Promise.all([stalled.opened(), other.opened()]);
    await Promise.all([stalled.count(1), other.count(1)]);
    const [server] = stage.raw as [Socket];
    if (path === "/v1/ws") {
      for (const client of [stalled, other]) client.say({ type: "subscribe", id: "1", session: "s" });
      await stalled.until(({ type }) => type === "subscribed");
      await other.until(({ type }) => type === "subscribed");
    }
    stalled.ws.pause();
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, server.writableLength)), 5);
    if (path === "/v1/ws") other.say({ type: "run", id: "2", session: "s", message: "go" });
    else {
      stalled.say({ content: "go" });
      await vi.waitFor(() => expect(stage.core.streams.size).toBe(1));
    }
    await vi.waitFor(() => expect(stage.core.streams.size).toBe(path === "/v1/ws" ? 1 : 0), { timeout: 10_000 });
    clearInterval(watch);
    // One batch beyond the limit, never more.
    expect(most).toBeLessThan(limits.maxOutboundBytes + 1024 * 1024 + 100_000);
    stalled.ws.resume();
    const { code, reason } = await stalled.closed();
    expect(code).toBe(1013);
    const [, cursor = ""] = /^backlog_full after=(\S+)$/.exec(reason) ?? [];
    expect(cursor).not.toBe("");
    const dialect = path === "/v1/ws" ? "loom" : "lumine";
    await vi.waitFor(async () => expect((await stage.log.listRuns("s"))[0]?.status).toBe("completed"), {
      timeout: 10_000,
    });
    const all = (await gather(openStream(stage.log, "s", { dialect }))).flat().map(({ text }) => text);
    const rest = (await gather(openStream(stage.log, "s", { dialect, cursor }))).flat().map(({ text }) => text);
    const got =
      path === "/v1/ws" ? stalled.frames().flatMap(({ frames }) => (frames ?? []) as string[]) : stalled.texts;
    expect(got.length).toBeGreaterThan(0);
    expect([...got, ...rest].length).toBe(all.length);
    expect(got).toEqual(all.slice(0, got.length));
    expect(other.ws.readyState).toBe(other.ws.OPEN);
  });

  it("is not read from either", async () => {
    const stage = await setSocketStage({ limits, play });
    const client = stage.connect(LUMINE);
    await client.count(1);
    client.ws.pause();
    const [server] = stage.raw as [Socket];
    let sent = 0;
    // Every message gets three frames in answer.
    for (; sent < 200 && !server.isPaused(); sent++) {
      for (let n = 0; n < 500; n++) client.say("nonsense");
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(server.isPaused()).toBe(true);
    expect(server.writableLength).toBeLessThan(limits.maxOutboundBytes + 1024 * 1024);
    client.ws.resume();
    const isAnswer = (text: string): boolean => text.includes('"code":"invalid_request"');
    await vi.waitFor(() => expect(client.texts.filter(isAnswer)).toHaveLength(sent * 500));
  });
});
