// Sources that break the contract: each leaves a session that says what happened, and that can be used again.
import fc from "fast-check";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { overrideLog } from "../../test/log-sessions.ts";
import { SOURCE_SAMPLES } from "../../test/sampling.ts";
import { followRecords } from "../log/follow-records.ts";
import { MemoryLog } from "../log/index.ts";
import { type AnyEvent, Verifier } from "../protocol/index.ts";
import { foreignAgent } from "./foreign-agent.ts";
import { fromAISDK } from "./from-ai-sdk.ts";
import { fromAsyncIterable } from "./from-async-iterable.ts";
import { fromLangGraph } from "./from-langgraph.ts";
import { fromOpenAI } from "./from-openai.ts";
import { fromOpenAIAgents } from "./from-openai-agents.ts";
import { record, type RecordRequest } from "./record.ts";
import type { ForeignSource } from "./source.ts";

const REQUEST = { sessionId: "s", message: "Hi", maxIdleMs: 2000, approvalMs: 20, onError: () => undefined };

/** A source whose items are anything. */
function play(...items: unknown[]): ForeignSource {
  return { framework: "x", start: () => stream(...items) as never };
}

async function* stream(...items: unknown[]): AsyncGenerator {
  yield* items;
}

const CALL = { type: "tool_call", call_id: "c", name: "t", arguments: {} };
const END = { type: "tool_end", call_id: "c", name: "t", result: "ok", is_error: false };
const ASK = { type: "tool_approval", call_id: "c", name: "t", arguments: {} };

/** Records a source and another one after it. Returns the events of the first run, and how it ended. */
async function recordBoth(source: ForeignSource, request: Partial<RecordRequest> = {}) {
  const log = new MemoryLog();
  const run = await record(log, { ...REQUEST, ...request }, source);
  const end = await run.ended;
  const { lastId = 0 } = (await log.getSession("s")) ?? {};
  const next = await record(log, REQUEST, fromAsyncIterable(["Hello"]));
  await expect(next.ended).resolves.toMatchObject({ status: "completed" });
  const verifier = new Verifier();
  const events: AnyEvent[] = [];
  for await (const { records } of followRecords(log, "s", { after: 0 }))
    for (const stored of records) {
      expect(verifier.check(stored).filter(({ level }) => level === "error")).toEqual([]);
      if (stored.envelope.event_id <= lastId) events.push(stored.event);
    }
  return { end, events };
}

const FAULTS: readonly (readonly [string, ForeignSource, string, RegExp])[] = [
  ["yields undefined", play(undefined), "invalid_event", /must yield texts and events, not undefined/],
  ["yields a number", play(5), "invalid_event", /not 5/],
  ["yields an object without a type", play({}), "invalid_event", /`type` is missing/],
  ["yields an event without a field", play({ type: "message_chunk" }), "invalid_event", /`content` is missing/],
  ["writes the end itself", play({ type: "run_end", status: "completed" }), "invalid_event", /Only the engine/],
  ["ends an unknown call", play(END), "invalid_event", /there is no call c/],
  ["ends a call twice", play(CALL, END, END), "invalid_event", /call c has ended/],
  ["makes a call twice", play(CALL, CALL), "invalid_event", /already made/],
  ["has a node that is not a text", play({ type: "custom", value: 1, node: 5 }), "invalid_event", /must be a string/],
  ["has a value that is not JSON", play({ type: "custom", value: 5n }), "invalid_event", /cannot be written as JSON/],
  ["asks without a call ID", play({ ...ASK, call_id: undefined }), "invalid_event", /needs a `call_id`/],
  ["throws in start", { framework: "x", start: () => fail() }, "run_failed", /unexpectedly/],
  ["starts nothing", { framework: "x", start: () => undefined as never }, "invalid_arguments", /not undefined/],
  [
    "starts a promise",
    { framework: "x", start: () => Promise.resolve([]) as never },
    "invalid_arguments",
    /not a promise; await it/,
  ],
  [
    "has an iterator that returns nothing",
    { framework: "x", start: () => ({ [Symbol.asyncIterator]: () => ({ next: () => undefined }) }) as never },
    "invalid_event",
    /not undefined/,
  ],
  [
    "resumes with nothing",
    { framework: "x", start: () => stream(CALL, ASK) as never, resume: () => undefined as never },
    "invalid_arguments",
    /must be iterable/,
  ],
  ["is a rejected promise of the AI SDK", fromAISDK(Promise.reject(new Error("key"))), "run_failed", /unexpectedly/],
  ["is a rejected promise of LangGraph", fromLangGraph(Promise.reject(new Error("key"))), "run_failed", /unexpected/],
  ["is not a result of the AI SDK", fromAISDK(5 as never), "invalid_arguments", /needs a result of the AI SDK/],
  ["is not a stream of OpenAI", fromOpenAI(5 as never), "invalid_arguments", /`stream: true`/],
  ["is not a result of OpenAI agents", fromOpenAIAgents(5 as never), "invalid_arguments", /`stream: true`/],
];

function fail(): never {
  throw new Error("key");
}

describe("a source that breaks the contract", () => {
  it.each(FAULTS)("fails its run when it %s", async (_what, source, code, reason) => {
    const { end, events } = await recordBoth(source);
    expect(end).toMatchObject({ status: "error", code });
    expect(end.reason).toMatch(reason);
    expect(JSON.stringify(events)).not.toContain("key");
  });

  it.each([
    ["leaves a node run twice or without entering it", play({ type: "node_exit", node: "1" }, "Hi")],
    [
      "enters a node run twice",
      play({ type: "node_enter", id: "a", node: "1" }, { type: "node_enter", id: "b", node: "1" }, "Hi"),
    ],
    ["has calls that never end", play(CALL, { ...CALL, call_id: "d" }, "Hi")],
    ["has half a character", play("a\ud800", "b", { type: "custom", value: "\udc00" })],
    ["is not asynchronous", { framework: "x", start: () => ["Hi"] as never }],
    ["has parts that are nothing", fromAISDK(stream(null, 5, {}, { type: "file", file: null }))],
    ["asks for a call that cannot be answered", play(CALL, ASK, "Hi")],
  ])("completes its run when it %s", async (_what, source) => {
    const { end } = await recordBoth(source);
    expect(end).toMatchObject({ status: "completed" });
  });

  it.each([undefined, "Hi", Promise.resolve(play("Hi")), { framework: "x" }])(
    "is refused before a run starts: %s",
    async (source) => {
      const log = new MemoryLog();
      const recording = record(log, REQUEST, source as never);
      await expect(recording).rejects.toMatchObject({ code: "invalid_arguments" });
      expect(await log.getSession("s")).toBeUndefined();
    },
  );

  it.each([stream("Hi"), () => stream("Hi"), ["Hi"]])(
    "is refused with the name of `fromAsyncIterable` if it is a loop: %s",
    async (loop) => {
      const refusal = { code: "invalid_arguments", message: expect.stringContaining("`fromAsyncIterable`") as string };
      await expect(record(new MemoryLog(), REQUEST, loop as never)).rejects.toMatchObject(refusal);
      await expect(foreignAgent(() => loop as never).run("Hi")).rejects.toMatchObject(refusal);
    },
  );

  it("keeps results of tools of the AI SDK that JSON cannot represent", async () => {
    const result = { type: "tool-result", toolCallId: "c", toolName: "t" };
    const circle: { self?: unknown } = {};
    circle.self = circle;
    const parts = [
      { ...result, output: { id: 5n } },
      { ...result, toolCallId: "d", output: circle },
    ];
    const { end, events } = await recordBoth(fromAISDK(stream(...parts)));
    expect(end).toMatchObject({ status: "completed" });
    expect(events.filter(({ type }) => type === "tool_end")).toMatchObject([
      { call_id: "c", result: '{"id":5}' },
      { call_id: "d", result: '{"self":"[circular]"}' },
    ]);
  });

  it.each([
    ["reasoning_chunk", undefined],
    // A reply is one event. The pieces of the answer are stored.
    ["message_chunk", "event_too_large"],
  ])("writes a text that is too large for an event in pieces: %s", async (type, code) => {
    const text = "冷😀".repeat(200_000);
    const { end, events } = await recordBoth(play({ type, content: text, id: "x" }));
    expect(end.code).toBe(code);
    const pieces = events.filter((event) => event.type === type) as readonly { readonly content?: string }[];
    expect(pieces.map(({ content }) => content).join("")).toBe(text);
  });

  it("reports errors whose text users must not see", async () => {
    const onError = vi.fn();
    const { events } = await recordBoth({ framework: "x", start: fail }, { onError });
    const [error] = events.filter(({ type }) => type === "error");
    const { error_id } = (error as unknown as { details: { error_id: string } }).details;
    expect(onError.mock.calls).toEqual([[expect.objectContaining({ message: "key" }), error_id]]);
  });
});

describe("a foreign agent whose function breaks the contract", () => {
  it.each([
    ["returns nothing", () => undefined, "invalid_arguments"],
    ["returns a stream", () => stream("Hi"), "invalid_arguments"],
    ["throws", fail, "run_failed"],
    ["never returns", () => new Promise(() => undefined), "source_timeout"],
  ])("fails its run when it %s", async (_what, create, code) => {
    await using agent = foreignAgent(create as never, { maxIdleMs: 50, onError: () => undefined });
    await expect(agent.run("Hi")).rejects.toMatchObject({ code });
  });

  it("can be cancelled while its function does not return", async () => {
    await using agent = foreignAgent(() => new Promise<never>(() => undefined));
    const stop = new AbortController();
    const run = agent.run("Hi", { signal: stop.signal });
    await setTimeout(10);
    stop.abort();
    await expect(run).rejects.toMatchObject({ code: "cancelled" });
  });
});

const name = fc.constantFrom("a", "b", "\ud800", "");
const node = fc.option(name, { nil: undefined });
const item: fc.Arbitrary<unknown> = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.record({ type: fc.constantFrom("node_enter", "node_exit"), id: name, node, parent: node }),
  fc.record({ type: fc.constantFrom("message_chunk", "reasoning_chunk"), content: fc.string(), id: name, node }),
  fc.record({
    type: fc.constantFrom("tool_call", "tool_start", "tool_output", "tool_end", "tool_approval"),
    call_id: name,
    name,
    node,
    arguments: fc.constant({}),
    content: fc.constant(""),
    result: fc.constant(""),
    is_error: fc.boolean(),
  }),
  fc.record({ type: fc.constantFrom("custom", "foreign", "values"), value: fc.anything(), node }),
  { weight: 1, arbitrary: fc.anything() },
);

it("any sequence of items leaves a valid session that can be used again", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(item, { maxLength: 12 }), fc.boolean(), async (items, canResume) => {
      const source = { ...play(...items), ...(canResume ? { resume: () => stream("Hi") as never } : {}) };
      const { events } = await recordBoth(source);
      expect(events.at(-1)?.type).toMatch(/^(run_end|reply)$/);
    }),
    { numRuns: SOURCE_SAMPLES.runs, seed: 7 },
  );
}, 600_000);

it("a source that is faster than the log is not read ahead", async () => {
  const { bytes } = SOURCE_SAMPLES;
  let sent = 0;
  let stored = 0;
  let ahead = 0;
  const log = overrideLog(new MemoryLog({ limits: { maxSessionBytes: Infinity } as never }), (inner) => ({
    async append(batch) {
      await setTimeout(1);
      const result = await inner.append(batch);
      for (const { text } of batch.entries) stored += text.length;
      return result;
    },
  }));
  const source = fromAsyncIterable(async function* () {
    for (const content = "x".repeat(20_000); sent < bytes; sent += content.length) {
      ahead = Math.max(ahead, sent - stored);
      yield { type: "reasoning_chunk", content };
    }
  });
  const run = await record(log, REQUEST, source);
  await expect(run.ended).resolves.toMatchObject({ status: "completed" });
  // A backlog of 1 MiB and the append that is under way.
  expect(ahead).toBeLessThan(3_000_000);
  expect(stored).toBeGreaterThanOrEqual(bytes);
}, 600_000);
