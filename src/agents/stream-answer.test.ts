// Readers of a stream: fast ones, slow ones, and those that stop early.
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, it } from "vitest";
import {
  collect,
  countTimers,
  expectNothingLeft,
  failureOf,
  createFacadeFixture,
  textOf,
} from "../../test/agents/facade-fixture.ts";
import { createLog, waitUntil } from "../../test/contracts/sender.ts";
import type { Script } from "../models/scripted-model.ts";
import type { Observer } from "../observe/index.ts";
import { LoomError } from "../protocol/index.ts";

const SESSION = "chat-1";
const LONG = "word ".repeat(2000);
const speaks: Script = [{ text: LONG }];
const stalls: Script = [{ text: "One two three", fault: { kind: "stall", after: 1 } }];

describe("a stream", () => {
  it("yields the events of 002, from request_start to agent_finish", async () => {
    const { agent } = await createFacadeFixture([
      { calls: [{ name: "add", input: { a: 1, b: 2 }, id: "c1" }] },
      { text: "It is 3.", chunk: 100 },
    ]);
    const { events, error } = await collect(agent.stream("Add", { requestId: "r1" }));
    expect(error).toBeUndefined();
    expect(events).toMatchObject([
      { type: "request_start", input: "Add", iteration: 0 },
      { type: "tool_calls_start", tool_calls: [{ id: "c1", name: "add" }] },
      { type: "tool_result", tool_call_id: "c1", content: "3" },
      { type: "text_delta", content: "It is 3." },
      { type: "agent_finish", content: "It is 3." },
    ]);
    for (const { source, request_id, ts } of events)
      expect([source, request_id, typeof ts]).toEqual(["stream", "r1", "number"]);
  });

  it.each(["stream", "astream"] as const)("throws the error of a failed run after its events: %s", async (path) => {
    const fails: Script = [{ fault: { kind: "throw" } }, { fault: { kind: "throw" } }];
    const { agent, log } = await createFacadeFixture(fails, { callOptions: { maxRetries: 0 } });
    const { events, error } = await collect(agent[path]("Hello", { requestId: "r1" }));
    expect(events.slice(-2)).toMatchObject([
      { type: "error", stage: "llm_stream" },
      { type: "agent_finish", content: "", status: "error" },
    ]);
    const { code, message, details } = await failureOf(agent.run("Hello", { requestId: "r1" }));
    expect(error).toMatchObject({ code, message, details: { request_id: "r1", stage: "llm_stream" } });
    expect(details["request_id"]).toBe("r1");
    await expectNothingLeft(log);
  });

  it("does not throw if the run was cancelled, or if the reader leaves at agent_finish", async () => {
    const fails: Script = [{ fault: { kind: "throw" } }];
    const { agent } = await createFacadeFixture(fails, { callOptions: { maxRetries: 0 } });
    for await (const { type } of agent.stream("Hello")) if (type === "agent_finish") break;
    const aborter = new AbortController();
    const stalling = await createFacadeFixture(stalls);
    const stream = stalling.agent.stream("Hello", { signal: aborter.signal });
    await stream.next();
    aborter.abort();
    const { events, error } = await collect(stream);
    expect(error).toBeUndefined();
    expect(events.at(-1)).toMatchObject({ type: "agent_finish", content: "", status: "cancelled" });
  });

  it("ends after the callbacks were called", async () => {
    const called: string[] = [];
    const callbacks = [{ onEvent: (type: string) => called.push(type) }];
    const { agent } = await createFacadeFixture(speaks, { callbacks });
    await collect(agent.stream("Hello"));
    expect(called).toEqual(["request_start", "agent_finish"]);
  });

  it("starts nothing before it is read", async () => {
    const { agent, log, model } = await createFacadeFixture(speaks);
    const stream = agent.stream("Hello");
    await stream.return();
    expect(await collect(stream)).toEqual({ events: [], error: undefined });
    expect([await log.listSessions(), model.requests]).toEqual([[], []]);
  });

  it("throws when it is read if the run cannot start", async () => {
    const { agent } = await createFacadeFixture(speaks);
    const { error } = await collect(agent.stream(7 as unknown as string));
    expect(error).toMatchObject({ code: "invalid_command" });
  });

  it.each(["break", "throw", "dispose"])("cancels the run if the reader stops: %s", async (way) => {
    const { agent, log, model } = await createFacadeFixture(stalls);
    const timers = countTimers();
    const read = async (): Promise<void> => {
      await using stream = agent.stream("Hello", { sessionId: SESSION });
      if (way === "dispose") return void (await stream.next());
      for await (const { type } of stream) {
        if (type !== "text_delta") continue;
        if (way === "break") break;
        throw new Error("the reader broke");
      }
    };
    if (way === "throw") await expect(read()).rejects.toThrow("the reader broke");
    else await read();
    await expectNothingLeft(log);
    expect((await log.listRuns(SESSION)).map(({ status }) => status)).toEqual(["cancelled"]);
    if (way !== "dispose") expect(model.requests[0]?.abortSignal?.aborted).toBe(true);
    expect(countTimers()).toBeLessThanOrEqual(timers);
  });

  it("cancels the run if the reader stops while the model sends nothing", async () => {
    const { agent, log } = await createFacadeFixture(stalls);
    const stream = agent.stream("Hello", { sessionId: SESSION });
    await stream.next();
    await stream.next();
    const waiting = stream.next();
    expect(await stream.return()).toEqual({ done: true, value: undefined });
    expect(await waiting).toMatchObject({ value: { type: "agent_finish", status: "cancelled" } });
    await expectNothingLeft(log);
  });

  it("lets the run end if the reader pauses, and can be read later", async () => {
    const log = await createLog();
    await log.createSession(SESSION);
    const { agent } = await createFacadeFixture(speaks, { log });
    const timers = countTimers();
    const stream = agent.stream("Hello", { sessionId: SESSION });
    const first = await stream.next();
    expect(first.value).toMatchObject({ type: "request_start" });
    const isOver = async (): Promise<boolean> => {
      const [run] = await log.listRuns(SESSION);
      const info = await log.getSession(SESSION);
      return run?.status === "completed" && info?.holder === undefined;
    };
    await waitUntil(log, async () => (await log.listRuns(SESSION))[0]?.status === "completed", SESSION);
    // The lease is released without a hint.
    for (let turns = 0; turns < 1000 && !(await isOver()); turns++) await new Promise(setImmediate);
    await expectNothingLeft(log);
    expect(countTimers()).toBeLessThanOrEqual(timers);
    const { events } = await collect(stream);
    expect(textOf(events)).toBe(LONG);
    expect(events.at(-1)).toMatchObject({ type: "agent_finish", content: LONG });
  });

  it("rethrows an error thrown into it without reporting it", async () => {
    const reported: unknown[] = [];
    const { agent, log } = await createFacadeFixture(stalls, { onError: (error) => reported.push(error) });
    const stream = agent.stream("Hello", { sessionId: SESSION });
    await stream.next();
    const own = new Error("the reader's own");
    await expect(stream.throw(own)).rejects.toBe(own);
    expect(reported).toEqual([]);
    await expectNothingLeft(log);
    expect((await log.listRuns(SESSION)).map(({ status }) => status)).toEqual(["cancelled"]);
  });

  it("throws if it cannot be read, and the run is cancelled", async () => {
    const log = await createLog();
    const unreadable = new Proxy(log, {
      get(target, key) {
        if (key === "peek") throw new LoomError("store_failed", "the disk is gone");
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    const { agent } = await createFacadeFixture(stalls, { log: unreadable });
    const { events, error } = await collect(agent.stream("Hello", { sessionId: SESSION }));
    expect([events, error]).toMatchObject([[], { code: "store_failed" }]);
    await expectNothingLeft(log);
    expect((await log.listRuns(SESSION)).map(({ status }) => status)).toEqual(["cancelled"]);
  });

  it("yields only events of the requested run", async () => {
    const { agent, log } = await createFacadeFixture(({ prompt }) => {
      const last = prompt.at(-1);
      const asked =
        last?.role === "user" ? last.content.map((part) => (part.type === "text" ? part.text : "")).join("") : "";
      return { text: `You said ${asked}.` };
    });
    const words = ["one", "two", "three", "four"];
    const read = await Promise.all(words.map((word) => collect(agent.stream(word, { sessionId: SESSION }))));
    expect(read.map(({ events }) => textOf(events))).toEqual(words.map((word) => `You said ${word}.`));
    for (const { events } of read) expect(new Set(events.map(({ request_id }) => request_id)).size).toBe(1);
    await expectNothingLeft(log);
  });

  it("runs in the async context that created it, wherever it is read", async () => {
    const place = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const observer: Observer = {
      name: "place",
      expectRun: () => void seen.push(place.getStore()),
      openRun: () => ({ take: () => undefined, close: () => undefined }),
    };
    const { agent } = await createFacadeFixture([{ text: "One." }, { text: "Two." }], { observers: [observer] });
    const stream = place.run("asked here", () => agent.stream("Hello"));
    await place.run("read here", () => collect(stream));
    await place.run("run here", () => agent.run("Hello"));
    expect(seen).toEqual(["asked here", "run here"]);
  });
});
