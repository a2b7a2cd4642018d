// Callbacks that misbehave affect neither the run nor other callbacks nor the order of events.
import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, describe, expect, it, vi } from "vitest";
import { makeChunks } from "../../../test/log-sessions.ts";
import type { AnyEvent, LoomError, StampedRecord } from "../../protocol/index.ts";
import type { Observer } from "../observer.ts";
import { type AnyCallback, BaseCallback, type Callback, type CallbackPayload } from "./callback.ts";
import { type CallbackOptions, createCallbackObserver } from "./callback-observer.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function createRecords(events: readonly AnyEvent[], after = 0): StampedRecord[] {
  return events.map((event, index) => ({
    envelope: { session_id: "s", run_id: "run-1", event_id: after + index + 1, ts: 1000 * (after + index + 1) },
    event,
  }));
}

const CONTEXT = { tenant: "acme", tags: ["a", "b"] };

const RUN = createRecords([
  { type: "run_start", message: "Hi", source: "execute", request_id: "req-1", context: CONTEXT },
  { type: "llm_start", llm_call_id: "l1", model: "m" },
  { type: "message_chunk", content: "Let me see.", id: "think" },
  { type: "llm_end", llm_call_id: "l1" },
  { type: "tool_call", call_id: "c1", name: "add", arguments: {} },
  { type: "tool_call", call_id: "c2", name: "add", arguments: {} },
  { type: "tool_end", call_id: "c1", name: "add", result: "3", is_error: false },
  { type: "tool_end", call_id: "c2", name: "add", result: "4", is_error: false },
  { type: "error", message: "Rate limit", stage: "llm_generate" },
  { type: "run_end", status: "error" },
]);

const TYPES = ["request_start", "tool_calls_start", "tool_result", "tool_result", "error"];

function show(observer: Observer, records: readonly StampedRecord[] = RUN, isPast = false): void {
  const run = observer.openRun({ sessionId: "s", runId: "run-1" });
  for (const record of records) run.take(record, isPast);
  run.close(false);
}

function createWitness(own: Partial<Callback> = {}) {
  const calls: CallbackPayload[] = [];
  const callback: Callback = {
    onEvent(type, payload) {
      expect(payload.type).toBe(type);
      calls.push(payload);
    },
    ...own,
  };
  return { callback, calls, types: () => calls.map(({ type }) => type) };
}

function observe(callbacks: readonly AnyCallback[], options: CallbackOptions = {}) {
  const errors: LoomError[] = [];
  const observer = createCallbackObserver(callbacks, { onError: (error) => errors.push(error), ...options });
  return { observer, errors, codes: () => errors.map(({ code }) => code) };
}

describe("a callback", () => {
  it("receives the events with the request id and context", async () => {
    const { callback, calls } = createWitness();
    const { observer } = observe([callback]);
    show(observer);
    expect(await observer.flush()).toBe(true);
    const common = { source: "execute", request_id: "req-1", context: CONTEXT };
    expect(calls).toEqual([
      { ...common, type: "request_start", ts: 1, iteration: 0, input: "Hi" },
      {
        ...common,
        type: "tool_calls_start",
        ts: 5,
        iteration: 1,
        tool_calls: [
          { id: "c1", name: "add" },
          { id: "c2", name: "add" },
        ],
      },
      { ...common, type: "tool_result", ts: 7, iteration: 1, tool_call_id: "c1", content: "3" },
      { ...common, type: "tool_result", ts: 8, iteration: 1, tool_call_id: "c2", content: "4" },
      { ...common, type: "error", ts: 9, iteration: 1, stage: "llm_generate", message: "Rate limit" },
    ]);
  });

  it("can be a class", async () => {
    const calls: string[] = [];
    class Logging extends BaseCallback {
      override async onEvent(type: string): Promise<void> {
        calls.push(type);
      }
    }
    const { observer } = observe([new Logging()]);
    show(observer);
    await observer.flush();
    expect(calls.splice(0)).toEqual(TYPES);
    const asking = observe([new Logging()], { textDelta: true });
    show(asking.observer);
    await asking.observer.flush();
    expect(calls).toContain("text_delta");
  });

  it("receives text only on request, without affecting others", async () => {
    const [plain, asking, refusing] = [
      createWitness(),
      createWitness({ textDelta: true }),
      createWitness({ textDelta: false }),
    ];
    const one = observe([plain.callback]);
    show(one.observer);
    await one.observer.flush();
    const alone = plain.calls.splice(0);
    const { observer } = observe([plain.callback, asking.callback, refusing.callback]);
    show(observer);
    await observer.flush();
    expect(plain.calls).toEqual(alone);
    expect(refusing.calls).toEqual(alone);
    expect(asking.types()).toEqual(["request_start", "text_delta", ...TYPES.slice(1)]);
    const all = observe([plain.callback, refusing.callback], { textDelta: true });
    plain.calls.splice(0);
    refusing.calls.splice(0);
    show(all.observer);
    await all.observer.flush();
    expect(plain.types()).toEqual(asking.types());
    expect(refusing.calls).toEqual(alone);
  });

  it("is not called during the commit or before other listeners", async () => {
    const { callback, calls } = createWitness();
    const { observer } = observe([callback]);
    show(observer);
    expect(calls).toEqual([]);
    for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    expect(calls).toEqual([]);
    await observer.flush();
    expect(calls).toHaveLength(TYPES.length);
  });

  it("does not receive past events but uses their context", async () => {
    const { callback, calls } = createWitness();
    const { observer } = observe([callback]);
    const run = observer.openRun({ sessionId: "s", runId: "run-1" });
    for (const [index, record] of RUN.entries()) run.take(record, index < 8);
    await observer.flush();
    expect(calls).toMatchObject([
      { type: "error", iteration: 1, source: "execute", request_id: "req-1", context: CONTEXT },
    ]);
  });

  it("is called once if it is registered twice", async () => {
    const { callback, types } = createWitness();
    const { observer } = observe([callback, callback]);
    show(observer);
    await observer.flush();
    expect(types()).toEqual(TYPES);
  });

  it("is rejected if it is not a callback", () => {
    for (const given of [{}, undefined, null, "log", { onEvent: 1 }])
      expect(() => createCallbackObserver([given as unknown as Callback])).toThrow(/onEvent/);
  });
});

describe("a callback that misbehaves", () => {
  const never = new Promise<void>(() => undefined);
  const faults: readonly [string, Callback["onEvent"], readonly string[]][] = [
    ["throws", () => fail("thrown"), TYPES.map(() => "callback_failed")],
    ["throws a value that is not an error", () => fail(undefined), TYPES.map(() => "callback_failed")],
    ["rejects", () => Promise.reject(new Error("rejected")), TYPES.map(() => "callback_failed")],
    ["throws for one event", (type) => (type === "error" ? fail("once") : undefined), ["callback_failed"]],
    ["hangs forever", () => never, []],
    ["hangs for one event", (type) => (type === "tool_result" ? never : undefined), []],
    ["returns a value that is not a promise", () => 7, []],
    // oxlint-disable-next-line unicorn/no-thenable -- the test needs a thenable
    ["returns an object that looks like a promise", () => ({ then: () => undefined }), []],
    [
      "returns a promise that throws",
      () => ({
        // oxlint-disable-next-line unicorn/no-thenable -- the test needs a thenable
        get then() {
          return fail("in then");
        },
      }),
      TYPES.map(() => "callback_failed"),
    ],
    [
      "returns a promise without a constructor",
      () => Object.defineProperty(Promise.resolve(), "constructor", { get: () => fail("no constructor") }),
      TYPES.map(() => "callback_failed"),
    ],
    ["changes its payload", (_type, payload) => spoil(payload), []],
  ];

  function fail(what: unknown): never {
    throw typeof what === "string" ? new Error(what) : what;
  }

  function spoil(payload: object): void {
    const open = payload as {
      type: string;
      request_id?: string;
      tool_calls?: { id: string }[];
      context: { tags: string[] };
    };
    open.type = "spoilt";
    delete open.request_id;
    open.context.tags.push("spoilt");
    open.tool_calls?.splice(0, 1);
    for (const call of open.tool_calls ?? []) call.id = "spoilt";
  }

  it.each(faults)("%s: other callbacks receive everything in order", async (_name, onEvent, codes) => {
    const alone = createWitness();
    const first = observe([alone.callback]);
    show(first.observer);
    await first.observer.flush();
    const before = createWitness();
    const after = createWitness();
    const { observer, codes: calls } = observe([before.callback, { onEvent }, after.callback]);
    const records = structuredClone(RUN);
    show(observer, records);
    await vi.waitFor(() => expect(after.calls).toHaveLength(TYPES.length));
    expect(before.calls).toEqual(alone.calls);
    expect(after.calls).toEqual(alone.calls);
    expect(records).toEqual(RUN);
    await Promise.resolve();
    expect(calls()).toEqual(codes);
    observer.close();
  });

  it.each<[string, () => unknown]>([
    ["throw", () => fail("again")],
    ["reject", () => Promise.reject(new Error("again"))],
  ])("can be combined with an error handler that does the same: %s", async (_what, onError) => {
    const { callback, types } = createWitness();
    const nameless = new Proxy<Callback>(
      { onEvent: () => fail("thrown") },
      {
        get: (target, name): unknown =>
          name === "constructor" ? fail("no constructor") : (Reflect.get(target, name) as unknown),
      },
    );
    const observer = createCallbackObserver([nameless, callback], { onError });
    show(observer);
    expect(await observer.flush()).toBe(true);
    expect(types()).toEqual(TYPES);
  });

  it("causes one warning if there is no error handler", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const observer = createCallbackObserver([
      { onEvent: () => fail("one") },
      { onEvent: () => Promise.reject(new Error("other")) },
    ]);
    show(observer);
    show(observer);
    await observer.flush();
    expect(warn).toHaveBeenCalledTimes(2);
    expect(warn.mock.calls[0]?.[0]).toMatchObject({ code: "callback_failed", cause: { message: "one" } });
  });

  it("causes one warning per kind, with the number of missed events", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const observer = createCallbackObserver([{ onEvent: () => fail("one") }], { maxBacklog: 1 });
    show(observer);
    await observer.flush();
    show(observer);
    await observer.flush();
    const [full, failed, caughtUp, ...more] = warn.mock.calls.map(([error]) => error);
    expect([full, failed]).toMatchObject([{ code: "callback_backlog_full" }, { code: "callback_failed" }]);
    expect([caughtUp, more]).toMatchObject([{ details: { dropped: TYPES.length - 1 } }, []]);
    expect(observer.dropped).toBe(2 * (TYPES.length - 1));
  });

  it("receives one event at a time if it is slow", async () => {
    let going = 0;
    const calls: string[] = [];
    const { observer } = observe([
      {
        async onEvent(type) {
          expect(++going).toBe(1);
          for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
          calls.push(type);
          going--;
        },
      },
    ]);
    show(observer);
    expect(await observer.flush()).toBe(true);
    expect(calls).toEqual(TYPES);
  });

  it("times out if it hangs, and the next event follows", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { callback, types } = createWitness();
    const { observer, errors } = observe(
      [
        {
          onEvent(type, payload) {
            callback.onEvent(type, payload);
            return type === "request_start" ? never : undefined;
          },
        },
      ],
      { timeoutMs: 1000 },
    );
    show(observer);
    while (types().length === 0) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(types()).toEqual(["request_start"]);
    vi.advanceTimersByTime(1);
    await observer.flush();
    expect(types()).toEqual(TYPES);
    expect(errors).toMatchObject([{ code: "callback_timeout", details: { event: "request_start", limit: 1000 } }]);
  });
});

it("delivers all events to a callback that always hangs", async () => {
  const { callback, types } = createWitness();
  const { observer, codes } = observe(
    [
      {
        onEvent(type, payload) {
          callback.onEvent(type, payload);
          return new Promise(() => undefined);
        },
      },
    ],
    { timeoutMs: 2 },
  );
  show(observer);
  expect(await observer.flush()).toBe(true);
  expect(types()).toEqual(TYPES);
  expect(codes()).toEqual(TYPES.map(() => "callback_timeout"));
});

it("runs a callback in the context of the caller that started the run, or in none", async () => {
  const storage = new AsyncLocalStorage<string>();
  const seen: string[] = [];
  const callback: Callback = {
    async onEvent(_type, { request_id }) {
      seen.push(`${request_id} ${storage.getStore()}`);
      await Promise.resolve();
      seen.push(`${request_id} ${storage.getStore()}`);
    },
  };
  const observer = storage.run("server", () => createCallbackObserver([callback]));
  const runs = ["Alice", "Bob", "Dave"].map((runId) => {
    if (runId !== "Dave") storage.run(runId, () => observer.expectRun?.({ sessionId: "s", runId }));
    return observer.openRun({ sessionId: "s", runId });
  });
  const start = (request_id: string): StampedRecord[] => createRecords([{ type: "run_start", request_id }]);
  storage.run("Carol", () => {
    for (const [index, name] of ["Alice", "Bob", "Dave"].entries())
      for (const record of start(name)) runs[index]?.take(record, false);
  });
  await observer.flush();
  expect([...new Set(seen)]).toEqual(["Alice Alice", "Bob Bob", "Dave server"]);
});

it("does not let a callback wait for itself", async () => {
  const calls: boolean[] = [];
  const { observer } = observe([
    {
      async onEvent() {
        calls.push(observer.isInsideCallback, await observer.flush(Number.POSITIVE_INFINITY));
      },
    },
  ]);
  show(observer);
  expect(observer.isInsideCallback).toBe(false);
  expect(await observer.flush(Number.POSITIVE_INFINITY)).toBe(true);
  expect(calls).toEqual(TYPES.flatMap(() => [true, true]));
});

it.each([
  { maxBacklog: 0 },
  { maxBacklog: Number.NaN },
  { maxBacklogBytes: 1.5 },
  { timeoutMs: 0 },
  { timeoutMs: -5 },
  { timeoutMs: 2 ** 31 },
])("rejects %j", (options) => {
  expect(() => createCallbackObserver([], options)).toThrow(expect.objectContaining({ code: "invalid_arguments" }));
});

it("waits for a callback without a timeout", async () => {
  const gate = Promise.withResolvers<void>();
  const { callback, types } = createWitness();
  const onEvent: Callback["onEvent"] = async (type, payload) => {
    await gate.promise;
    callback.onEvent(type, payload);
  };
  const { observer, codes } = observe([{ onEvent }], { timeoutMs: Number.POSITIVE_INFINITY });
  show(observer);
  expect(await observer.flush(5)).toBe(false);
  gate.resolve();
  expect(await observer.flush()).toBe(true);
  expect(types()).toEqual(TYPES);
  expect(codes()).toEqual([]);
  await expect(observer.flush(-1)).rejects.toThrow(RangeError);
});

describe("a callback that falls behind", () => {
  it("receives at most its backlog; drops are counted and reported twice", async () => {
    const gate = Promise.withResolvers<void>();
    const slow = createWitness();
    const quick = createWitness({ textDelta: true });
    const callback: Callback = {
      textDelta: true,
      async onEvent(type, payload) {
        slow.callback.onEvent(type, payload);
        await gate.promise;
      },
    };
    const { observer, errors } = observe([callback, quick.callback], { maxBacklog: 10 });
    const run = observer.openRun({ sessionId: "s", runId: "run-1" });
    const chunks = makeChunks(100);
    for (const record of chunks) {
      run.take(record, false);
      await new Promise((resolve) => setImmediate(resolve));
    }
    // One call is running, ten events are queued.
    expect(observer.dropped).toBe(89);
    expect(errors).toMatchObject([{ code: "callback_backlog_full", details: { limit: 10 } }]);
    expect(await observer.flush(1)).toBe(false);
    gate.resolve();
    expect(await observer.flush()).toBe(true);
    for (const record of makeChunks(1, { after: 100 })) run.take(record, false);
    await observer.flush();
    expect(errors).toMatchObject([{}, { code: "callback_backlog_full", details: { dropped: 89 } }]);
    expect(errors).toHaveLength(2);
    const words = (calls: readonly CallbackPayload[]) =>
      calls.map((payload) => "content" in payload && payload.content);
    expect(words(slow.calls)).toEqual([...Array.from({ length: 11 }, (_, index) => `word ${index + 1}`), "word 101"]);
    expect(words(quick.calls)).toEqual(Array.from({ length: 101 }, (_, index) => `word ${index + 1}`));
  });

  it("loses text first, and events beyond the byte limit", async () => {
    const gate = Promise.withResolvers<void>();
    const { callback, calls } = createWitness({ textDelta: true });
    const slow: Callback = {
      textDelta: true,
      onEvent(type, payload) {
        callback.onEvent(type, payload);
        return gate.promise;
      },
    };
    const errors: LoomError[] = [];
    const observer = createCallbackObserver([slow], {
      maxBacklog: 3,
      maxBacklogBytes: 20_000,
      onError: (error) => errors.push(error),
    });
    const run = observer.openRun({ sessionId: "s", runId: "run-1" });
    const texts = makeChunks(9);
    const [start, error] = createRecords([
      { type: "run_start", message: "Hi" },
      { type: "error", message: "Rate limit", stage: "llm_generate" },
      { type: "error", message: "x".repeat(20_000), stage: "llm_generate" },
    ]);
    const long = { ...error, event: { type: "error", message: "x".repeat(20_000), stage: "long" } } as StampedRecord;
    for (const record of [start, ...texts, error, error, long] as readonly StampedRecord[]) run.take(record, false);
    gate.resolve();
    await observer.flush();
    expect(calls.map(({ type }) => type)).toEqual(["request_start", "error", "error"]);
    expect(observer.dropped).toBe(10);
    // At the first drop, and after it has caught up.
    expect(errors).toMatchObject([{ details: { limit: 3, limit_bytes: 20_000 } }, { details: { dropped: 10 } }]);
  });

  it("keeps the order for backlogs of any length", async () => {
    const { callback, calls } = createWitness({ textDelta: true });
    const { observer } = observe([callback], { maxBacklog: 10_000 });
    const run = observer.openRun({ sessionId: "s", runId: "run-1" });
    for (const record of makeChunks(5000)) run.take(record, false);
    await observer.flush();
    expect(calls.map((payload) => payload.ts)).toEqual(Array.from({ length: 5000 }, (_, index) => index / 1000));
    expect(observer.dropped).toBe(0);
  });

  it("receives nothing after close, and queued events count as dropped", async () => {
    const { callback, calls } = createWitness();
    const { observer, errors } = observe([callback]);
    show(observer);
    observer.close();
    observer.close();
    show(observer);
    expect(await observer.flush()).toBe(true);
    expect(calls).toEqual([]);
    expect(observer.dropped).toBe(TYPES.length);
    expect(errors).toMatchObject([{ code: "callback_backlog_full", details: { dropped: TYPES.length } }]);
  });
});
