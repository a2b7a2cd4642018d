import { afterEach, describe, expect, it, vi } from "vitest";
import { makeGraphRun, makeRun, overrideLog, writeRecords } from "../../../test/log-sessions.ts";
import { openSession } from "../../engine/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import { ControlConnection, type ControlConnectionOptions } from "./control-connection.ts";

type Frame = { readonly type: string; readonly [field: string]: unknown };

const open: ControlConnection[] = [];
afterEach(() => {
  for (const connection of open.splice(0)) connection.close();
  vi.useRealTimers();
});

async function createLog(): Promise<Log> {
  const log = new MemoryLog();
  await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
  return log;
}

function connectTo(log: Log, options: Partial<ControlConnectionOptions> = {}) {
  const frames: Frame[] = [];
  const connection = new ControlConnection({
    log,
    heartbeatMs: 0,
    ...options,
    send: (text) => void frames.push(JSON.parse(text) as Frame),
  });
  open.push(connection);
  return {
    frames,
    ask: (frame: object): void => connection.receive(JSON.stringify(frame)),
    say: (text: string): void => connection.receive(text),
    close: (): void => connection.close(),
    until: (type: string, count = 1): Promise<Frame> =>
      vi.waitFor(
        () => {
          const found = frames.filter((frame) => frame.type === type)[count - 1];
          expect(found, JSON.stringify(frames)).toBeDefined();
          return found as Frame;
        },
        { interval: 2 },
      ),
  };
}

/** A client that has room while `hasRoom` returns true, and always after `setRoom`. */
function createRoom(hasRoom: () => boolean) {
  const waiting: (() => void)[] = [];
  let isOpen = false;
  const has = (): boolean => isOpen || hasRoom();
  const setRoom = (): void => {
    isOpen = true;
    for (const act of waiting.splice(0)) act();
  };
  return { room: { hasRoom: has, whenRoom: (act: () => void) => void (has() ? act() : waiting.push(act)) }, setRoom };
}

describe("streams", () => {
  it("sends hello, the subscribed frames and the end", async () => {
    const { ask, frames, until } = connectTo(await createLog());
    ask({ type: "subscribe", id: "1", session: "s", follow: false });
    await until("end");
    expect(frames.map(({ type }) => type)).toEqual(["hello", "subscribed", "frames", "end"]);
    expect(frames[1]).toMatchObject({ id: "1", session: "s", dialect: "loom", first_id: 1, last_id: 8 });
    expect(frames[2]?.["frames"]).toHaveLength(8);
    expect(frames[3]?.["cursor"]).toBe(frames[2]?.["cursor"]);
  });

  it.each([
    [{ after: "6" }, [7, 8]],
    [{ after: "4", skip: 2 }, [7, 8]],
    [{ limit: 3 }, [1, 2, 3]],
  ])("starts at %j", async (place, ids) => {
    const { ask, until } = connectTo(await createLog());
    ask({ type: "subscribe", id: "1", session: "s", follow: false, ...place });
    const { frames } = await until("frames");
    await until("end");
    expect((frames as string[]).map((text) => (JSON.parse(text) as { event_id: number }).event_id)).toEqual(ids);
  });

  it("sends the strict form on request", async () => {
    const log = new MemoryLog();
    await writeRecords(log, makeGraphRun("run-1", { steps: 1 }));
    const { ask, frames, until } = connectTo(log);
    ask({ type: "subscribe", id: "1", session: "s", follow: false, strict: true });
    await until("end");
    const sent = frames.flatMap((frame) => (frame.type === "frames" ? (frame["frames"] as readonly string[]) : []));
    const types = sent.map((text) => (JSON.parse(text) as { type?: string }).type);
    expect(types).toEqual(expect.arrayContaining(["values", "updates", "checkpoint", "custom"]));
    expect(types).not.toContain("run_end");
    ask({ type: "subscribe", id: "2", session: "s", dialect: "engine", follow: false, strict: true });
    await vi.waitFor(() => expect(frames.at(-1)).toMatchObject({ type: "refusal", id: "2", code: "invalid_request" }));
  });

  it("refuses a frame that is longer than a client accepts", async () => {
    const log = new MemoryLog();
    await writeRecords(log, makeGraphRun("run-1", { steps: 60, padding: '"'.repeat(2000) }));
    const { ask, frames } = connectTo(log, { maxFrameBytes: 200_000 });
    ask({ type: "subscribe", id: "1", session: "s", follow: false, modes: ["all"] });
    await vi.waitFor(() => expect(frames.at(-1)?.type).toBe("refusal"), { timeout: 5000 });
    expect(frames.at(-1)).toMatchObject({ id: "1", session: "s", code: "frame_too_long" });
    const lengths = frames.filter(({ type }) => type === "frames").map((frame) => JSON.stringify(frame).length);
    expect(lengths.length).toBeGreaterThan(3);
    expect(Math.max(...lengths)).toBeLessThan(2.1 * 1024 * 1024);
  });

  it("follows a session until it is unsubscribed", async () => {
    const log = await createLog();
    const { ask, frames, until } = connectTo(log);
    ask({ type: "subscribe", id: "1", session: "s", after: "8" });
    await until("subscribed");
    await using session = await openSession(log, "s");
    await session.record({ type: "custom", value: 1 });
    await until("frames");
    ask({ type: "unsubscribe", id: "2", session: "s" });
    await until("ack");
    await session.record({ type: "custom", value: 2 });
    ask({ type: "ping", id: "3" });
    await until("pong");
    expect(frames.filter(({ type }) => type === "frames")).toHaveLength(1);
    // The client may subscribe again.
    ask({ type: "subscribe", id: "4", session: "s", after: "9", follow: false });
    await until("end");
  });

  it.each([
    [{ session: "missing" }, "unknown_session"],
    [{ session: "s", after: "99" }, "cursor_ahead"],
    [{ session: "s", after: "not a cursor" }, "cursor_invalid"],
    [{ session: "s", after: "99999999999999999999" }, "cursor_invalid"],
    [{ session: "s", dialect: "klingon" }, "invalid_name"],
  ])("refuses %j as %s and continues", async (request, code) => {
    const { ask, until } = connectTo(await createLog());
    ask({ type: "subscribe", id: "1", ...request });
    expect(await until("refusal")).toMatchObject({ id: "1", code });
    ask({ type: "subscribe", id: "2", session: "s", follow: false });
    await until("end");
  });

  it("limits subscriptions to one per session and dialect, and in total", async () => {
    const { ask, until } = connectTo(await createLog(), { maxSubscriptions: 2 });
    ask({ type: "subscribe", id: "1", session: "s" });
    ask({ type: "subscribe", id: "2", session: "s" });
    expect(await until("refusal")).toMatchObject({ id: "2", code: "already_subscribed" });
    ask({ type: "subscribe", id: "3", session: "s", dialect: "engine" });
    ask({ type: "subscribe", id: "4", session: "s", dialect: "lumine" });
    expect(await until("refusal", 2)).toMatchObject({ id: "4", code: "too_many_subscriptions" });
    ask({ type: "unsubscribe", id: "5", session: "t" });
    expect(await until("refusal", 3)).toMatchObject({ id: "5", code: "not_subscribed" });
  });

  it("does not read ahead of what it can send", async () => {
    const log = new MemoryLog({ limits: { maxPageRecords: 2 } });
    await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
    const { room, setRoom } = createRoom(() => !frames.some(({ type }) => type === "frames"));
    const { ask, frames, until } = connectTo(log, room);
    ask({ type: "subscribe", id: "1", session: "s", follow: false });
    await until("frames");
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(frames.filter(({ type }) => type === "frames")).toHaveLength(1);
    setRoom();
    await until("end");
    expect(frames.filter(({ type }) => type === "frames")).toHaveLength(4);
  });

  it("stops waiting for room when it is unsubscribed or the client disconnects", async () => {
    const log = await createLog();
    let watching = 0;
    const counted = overrideLog(log, (real) => ({
      watch(...args) {
        watching++;
        const unwatch = real.watch(...args);
        return () => {
          watching--;
          unwatch();
        };
      },
    }));
    const { room } = createRoom(() => frames.at(-1)?.type !== "frames");
    const { ask, frames, until, close } = connectTo(counted, room);
    ask({ type: "subscribe", id: "1", session: "s" });
    await until("frames");
    ask({ type: "unsubscribe", id: "2", session: "s" });
    expect(await until("ack")).toMatchObject({ id: "2" });
    expect(watching).toBe(0);
    ask({ type: "subscribe", id: "3", session: "s" });
    await until("frames", 2);
    close();
    await vi.waitFor(() => expect(watching).toBe(0));
  });

  it("serves its streams in turn, one batch at a time, when there is no room", async () => {
    const log = new MemoryLog({ limits: { maxPageRecords: 2 } });
    const sessions = ["a", "b", "c", "d"];
    for (const sessionId of sessions) await writeRecords(log, makeRun("run-1", { sessionId }));
    let left = 0;
    const waiting: (() => void)[] = [];
    const batches: string[] = [];
    const { ask, frames, until } = connectTo(log, {
      hasRoom: () => left > 0,
      whenRoom: (act) => void (left > 0 ? act() : waiting.push(act)),
      sendBytes: (bytes) => {
        left--;
        batches.push((JSON.parse(bytes.subarray(bytes.indexOf("{")).toString()) as { session: string }).session);
      },
    });
    for (const session of sessions) ask({ type: "subscribe", id: session, session, follow: true });
    await until("subscribed", 4);
    for (let n = 1; n <= 8; n++) {
      left = 1;
      for (const act of waiting.splice(0)) act();
      await vi.waitFor(() => expect(batches).toHaveLength(n), { interval: 1 });
      await new Promise((resolve) => setImmediate(resolve));
      expect(batches).toHaveLength(n);
    }
    expect(batches.slice(0, 4).toSorted()).toEqual(sessions);
    expect(batches.slice(4).toSorted()).toEqual(sessions);
    expect(frames.filter(({ type }) => type === "refusal")).toEqual([]);
  });

  it("skips frames without reading them twice", async () => {
    let reads = 0;
    const log = overrideLog(await createLog(), (real) => ({
      read(...args) {
        reads++;
        return real.read(...args);
      },
    }));
    const { ask, until } = connectTo(log);
    ask({ type: "subscribe", id: "1", session: "s", skip: 6, limit: 1 });
    await until("end");
    expect(reads).toBe(1);
    // All frames are skipped and there are no new ones, but the position is valid.
    ask({ type: "subscribe", id: "2", session: "s", skip: 8 });
    await until("subscribed", 2);
  });

  it("is refused when the session was recreated, even if the position exists", async () => {
    const log = await createLog();
    const { ask, until } = connectTo(log);
    ask({ type: "subscribe", id: "1", session: "s", follow: false });
    const { cursor } = await until("end");
    ask({ type: "subscribe", id: "2", session: "s", follow: false, after: "6", of: cursor });
    await until("end", 2);
    await log.deleteSession("s");
    await writeRecords(log, [...makeRun("run-1"), ...makeRun("run-2", { after: 4 })]);
    for (const [index, place] of [{ after: "6" }, { skip: 6 }, {}].entries()) {
      ask({ type: "subscribe", id: "3", session: "s", follow: false, ...place, of: cursor });
      expect(await until("refusal", index + 1)).toMatchObject({ id: "3", code: "cursor_stale" });
    }
  });
});

describe("commands", () => {
  it("are executed once and answered", async () => {
    const log = await createLog();
    const { ask, until } = connectTo(log);
    await using session = await openSession(log, "s");
    await session.record({ type: "todo_list", list_id: "l", items: [{ id: "i", text: "Pack", completed: false }] });
    const command = { type: "todo", id: "c1", session: "s", list_id: "l", item_id: "i", completed: true };
    ask(command);
    expect(await until("ack")).toMatchObject({ id: "c1", result: { event_id: 10 } });
    ask(command);
    expect(await until("ack", 2)).toMatchObject({ id: "c1", result: { event_id: 10 } });
    ask({ ...command, id: "c2", item_id: "nothing" });
    expect(await until("refusal")).toMatchObject({ id: "c2", session: "s", code: "unknown_todo" });
  });

  it("approve a call without a run id, then cancel the run", async () => {
    const log = new MemoryLog();
    await using session = await openSession(log, "s");
    const run = await session.startRun({ message: "Hello" });
    const { ask, until } = connectTo(log);
    ask({ type: "approve", id: "c0", session: "s", call_id: "none", decision: "approved" });
    expect(await until("refusal")).toMatchObject({ id: "c0", code: "unknown_call" });
    ask({ type: "cancel", id: "c1", session: "s", run_id: run.runId, reason: "enough" });
    expect(await until("ack")).toMatchObject({ id: "c1" });
    expect((await log.getRun("s", run.runId))?.status).toBe("cancelled");
  });

  it("create a session with a pending message, or are refused while a run is live", async () => {
    const log = new MemoryLog();
    const { ask, until } = connectTo(log);
    ask({ type: "run", id: "m1", session: "new", message: "Hello", agent: "react" });
    expect(await until("ack")).toMatchObject({
      id: "m1",
      pending: true,
      result: { run_id: expect.any(String) as string },
    });
    expect(await log.listPending("new")).toMatchObject([
      { commandId: "m1", body: { message: "Hello", agent: "react" } },
    ]);
    await using session = await openSession(log, "busy");
    const run = await session.startRun({ message: "Hello" });
    ask({ type: "run", id: "m2", session: "busy", message: "Me too", when_busy: "reject" });
    expect(await until("refusal")).toMatchObject({ id: "m2", code: "run_live" });
    ask({ type: "run", id: "m3", session: "busy", message: "Now", when_busy: "interrupt" });
    expect(await until("ack", 2)).toMatchObject({ id: "m3", pending: true });
    expect((await log.getRun("busy", run.runId))?.status).toBe("cancelled");
  });

  it("dispatch the session of a message, and refuse an unknown agent", async () => {
    const dispatch = vi.fn();
    const resolveAgent = (name = "react"): string => {
      if (name === "react") return name;
      throw new LoomError("unknown_agent", `Unknown agent "${name}"`);
    };
    const { ask, until } = connectTo(new MemoryLog(), { dispatch, resolveAgent, beginMs: 0 });
    ask({ type: "run", id: "m1", session: "new", message: "Hello" });
    expect(await until("ack")).toMatchObject({ id: "m1" });
    expect(dispatch).toHaveBeenCalledWith("new");
    ask({ type: "run", id: "m2", session: "new", message: "Hello", agent: "missing" });
    expect(await until("refusal")).toMatchObject({ id: "m2", code: "unknown_agent" });
  });

  it("hide the text of internal errors", async () => {
    const onError = vi.fn();
    const submit = () => Promise.reject(new Error("the password is 1234"));
    const { ask, until } = connectTo(
      overrideLog(new MemoryLog(), () => ({ submit })),
      { onError },
    );
    ask({ type: "run", id: "m1", session: "new", message: "Hello" });
    const refusal = await until("refusal");
    expect(JSON.stringify(refusal)).not.toContain("1234");
    expect(onError).toHaveBeenCalledOnce();
  });

  it("return the same result when repeated after the run has ended", async () => {
    const log = new MemoryLog();
    await using session = await openSession(log, "s");
    const run = await session.startRun({ message: "Hello" });
    const { ask, until } = connectTo(log);
    await run.emit({ type: "tool_call", call_id: "call-1", name: "rm", arguments: {} });
    const approval = run.requestApproval({ callId: "call-1", name: "rm", arguments: {} });
    const command = { type: "approve", id: "c1", session: "s", call_id: "call-1", decision: "approved" };
    ask(command);
    const first = await until("ack");
    await approval;
    ask({ type: "cancel", id: "c2", session: "s", run_id: run.runId });
    await until("ack", 2);
    ask(command);
    expect(await until("ack", 3)).toEqual(first);
  });

  it("are refused above the limit", async () => {
    const submit = () => new Promise<never>(() => undefined);
    const log = overrideLog(new MemoryLog(), () => ({ submit }));
    const { ask, until } = connectTo(log);
    for (let n = 0; n <= 100; n++) ask({ type: "run", id: `m${n}`, session: "new", message: "Hello" });
    expect(await until("refusal")).toMatchObject({ id: "m100", code: "backlog_full" });
  });
});

describe("authorization", () => {
  const forbid = () => {
    throw new LoomError("forbidden", "not your session");
  };

  it("is checked for every stream and command", async () => {
    const calls: unknown[] = [];
    const authorize = (...given: readonly unknown[]): void => void calls.push(given);
    const { ask, until } = connectTo(await createLog(), { authorize });
    ask({ type: "subscribe", id: "1", session: "s", follow: false });
    await until("end");
    ask({ type: "run", id: "2", session: "t", message: "Hello" });
    ask({ type: "cancel", id: "3", session: "s", run_id: "run-1" });
    await until("ack", 2);
    expect(calls).toEqual([
      ["sessions.read", "s"],
      ["runs.start", "t"],
      ["runs.control", "s"],
    ]);
  });

  it("refuses only the forbidden frames, without effects", async () => {
    const log = await createLog();
    const authorize = (_action: string, session: string): void => (session === "s" ? forbid() : undefined);
    const { ask, until, frames } = connectTo(log, { authorize });
    ask({ type: "subscribe", id: "1", session: "s" });
    expect(await until("refusal")).toMatchObject({ id: "1", session: "s", dialect: "loom", code: "forbidden" });
    ask({ type: "run", id: "2", session: "s", message: "Hello" });
    expect(await until("refusal", 2)).toMatchObject({ id: "2", code: "forbidden" });
    expect(await log.listPending("s")).toEqual([]);
    ask({ type: "run", id: "3", session: "t", message: "Hello" });
    await until("ack");
    expect(frames.map(({ type }) => type)).not.toContain("frames");
  });

  it("keeps the order of commands when it is slow", async () => {
    const log = new MemoryLog();
    const first = Promise.withResolvers<void>();
    let calls = 0;
    const authorize = (): Promise<void> | void => (++calls === 1 ? first.promise : undefined);
    const { ask, until } = connectTo(log, { authorize });
    for (const id of ["a", "b", "c"]) ask({ type: "run", id, session: "s", message: id });
    first.resolve();
    await until("ack", 3);
    expect((await log.listPending("s")).map(({ commandId }) => commandId)).toEqual(["a", "b", "c"]);
  });
});

describe("the connection", () => {
  it.each([
    ["nonsense", undefined],
    ["[]", undefined],
    ['{"type":"dance","id":"7"}', "7"],
    ['{"type":"subscribe","id":"8"}', "8"],
    [JSON.stringify({ type: "ping", id: "x".repeat(70_000) }), undefined],
  ])("refuses an invalid frame and continues", async (text, id) => {
    const { say, ask, until } = connectTo(await createLog());
    say(text);
    const refusal = await until("refusal");
    expect(refusal).toMatchObject({ code: "invalid_control" });
    expect(refusal["id"]).toBe(id);
    ask({ type: "ping" });
    await until("pong");
  });

  it("answers no more pings than there is room for", async () => {
    const { room, setRoom } = createRoom(() => false);
    const { ask, frames, until } = connectTo(await createLog(), room);
    for (let i = 0; i < 1000; i++) ask({ type: "ping" });
    setRoom();
    await until("pong");
    expect(frames.filter(({ type }) => type === "pong").length).toBeLessThan(20);
  });

  it("names the id of a frame that is too long", async () => {
    const { ask, until } = connectTo(await createLog(), { maxInboundLength: 1000 });
    for (const [index, size] of [1000, 10_000].entries()) {
      ask({ type: "run", id: "c1", session: "s", message: "x".repeat(size) });
      expect(await until("refusal", index + 1)).toMatchObject({ id: "c1", code: "invalid_control" });
    }
  });

  it("closes after too many unread replies", async () => {
    const onClose = vi.fn();
    const { room } = createRoom(() => false);
    const { say, frames } = connectTo(await createLog(), { ...room, onClose });
    for (let i = 0; i < 1000; i++) say("{}");
    expect(onClose).not.toHaveBeenCalled();
    for (let i = 0; i < 100; i++) say("{}");
    expect(frames).toHaveLength(1 + 1000 + 1);
    expect(frames.at(-1)).toMatchObject({ type: "refusal", code: "backlog_full" });
    expect(onClose).toHaveBeenCalledOnce();
  });

  it("counts only unread replies", async () => {
    const onClose = vi.fn();
    const waiting: (() => void)[] = [];
    const whenRoom = (act: () => void): void => void waiting.push(act);
    const { say } = connectTo(await createLog(), { hasRoom: () => false, whenRoom, onClose });
    for (let i = 0; i < 3000; i++) {
      say("{}");
      if (i % 1000 === 999) for (const act of waiting.splice(0)) act();
    }
    expect(onClose).not.toHaveBeenCalled();
  });

  it("closes when its client is unreachable", async () => {
    const onError = vi.fn();
    let sent = 0;
    const connection = new ControlConnection({
      log: await createLog(),
      heartbeatMs: 0,
      onError,
      send: () => {
        if (++sent > 1) throw new Error("gone");
      },
    });
    connection.receive(JSON.stringify({ type: "subscribe", id: "1", session: "s" }));
    await vi.waitFor(() => expect(onError).toHaveBeenCalledOnce());
    expect(sent).toBe(2);
  });

  it("sends heartbeats when it is idle", () => {
    vi.useFakeTimers();
    const { frames } = connectTo(new MemoryLog(), { heartbeatMs: 1000 });
    vi.advanceTimersByTime(2100);
    expect(frames[0]).toMatchObject({ type: "hello", heartbeat_ms: 1000 });
    expect(frames.filter(({ type }) => type === "heartbeat").length).toBeGreaterThanOrEqual(2);
  });

  it("sends nothing after it is closed", async () => {
    const { ask, frames, close } = connectTo(await createLog());
    ask({ type: "subscribe", id: "1", session: "s" });
    close();
    ask({ type: "ping" });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(frames.map(({ type }) => type)).toEqual(["hello"]);
  });
});
