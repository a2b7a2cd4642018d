// Callbacks by event, path and outcome: the order, and each exactly once. Also the examples of specification 002.
import { basename } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { agent, type AgentOptions, type StreamEvent } from "../src/agents/index.ts";
import type { Retriever } from "../src/context/retriever.ts";
import { createStamper } from "../src/dialects/index.ts";
import { openSession, recoverOrphans } from "../src/engine/index.ts";
import { createLog } from "./contracts/sender.ts";
import type { Script } from "../src/models/scripted-model.ts";
import { ScriptedModel } from "../src/models/testing.ts";
import {
  type Callback,
  type CallbackPayload,
  createCallbackObserver,
  Observation,
  type Observer,
  replayCallbacks,
} from "../src/observe/index.ts";
import type { AnyEvent, EventRecord, JsonObject } from "../src/protocol/index.ts";
import { createTools } from "./agents/counted-tools.ts";
import { collect, createFacadeFixture, textOf } from "./agents/facade-fixture.ts";
import { SESSION, createAgentFixture, waitForEvent } from "./agents/agent-fixture.ts";
import { playMove, playTrip } from "./agents/thought-scripts.ts";
import { listVectorFiles, readVector } from "./vectors.ts";

const ADD = { name: "add", input: { a: 1, b: 2 }, id: "call_0" };
const USAGE = { promptTokens: 5, completionTokens: 7 };
const BUSY = {
  fault: { kind: "throw", error: Object.assign(new Error("busy"), { statusCode: 429, isRetryable: true }) },
} as const;
const FAIL = { name: "fail", id: "call_0" };

const found = (count: number): Retriever => ({
  retrieve: async () => Array.from({ length: count }, (_, n) => ({ title: `Page ${n}`, content: "Looms have beams." })),
});

/** An answer that makes the conversation too long for the model. */
const LONG = "The loom has a beam. ".repeat(200);
const compression = { contextWindow: 1500, keepTurns: 1, maxSummaryTokens: 100 };

/**
 * Expected callbacks by outcome and path. `both` means `execute` and `stream`; numbers are iterations or document
 * counts.
 */
const TABLE = `
outcome                          | path    | callbacks, in order, each once
an answer                        | both    | request_start, agent_finish
a tool                           | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, agent_finish
a tool, and usage                | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, agent_finish
a tool in each of two rounds     | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, tool_calls_start 2 call_1, tool_result 2 call_1, agent_finish
a tool after two retries         | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, agent_finish
two tools at once                | both    | request_start, tool_calls_start 1 call_0+call_1, tool_result 1 call_0, tool_result 1 call_1, agent_finish
a tool that fails                | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, error 1 tool_execute, agent_finish
an unknown tool                  | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, agent_finish
a model that fails               | execute | request_start, error 0 llm_generate_with_tools
a model that fails               | stream  | request_start, error 0 llm_stream
a model without tools that fails | execute | request_start, error 0 llm_generate
a model without tools that fails | stream  | request_start, error 0 llm_stream
a model stream that is cut       | execute | request_start, error 0 llm_generate_with_tools
a model stream that is cut       | stream  | request_start, error 0 llm_stream
a model cut in tool arguments    | execute | request_start, error 0 llm_generate_with_tools
a model cut in tool arguments    | stream  | request_start, error 0 llm_stream
a cancel in tool arguments       | both    | request_start, error undefined cancelled
a model that fails after a tool  | execute | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, error 1 llm_generate_with_tools
a model that fails after a tool  | stream  | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, error 1 llm_stream
a cancel while the model thinks  | both    | request_start, error undefined cancelled
a cancel while a tool runs       | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, error undefined cancelled
the iteration limit              | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, error 1 iteration_limit, agent_finish
a retrieval                      | both    | request_start, retrieval_complete 3, agent_finish
a retrieval without results      | both    | request_start, retrieval_complete 0, agent_finish
a retrieval that fails           | both    | request_start, error 0 retrieval, agent_finish
a compression                    | both    | request_start, compression_applied, agent_finish
a compression without a summary  | both    | request_start, error 0 compression, compression_applied, agent_finish
`;

interface Case {
  readonly script: Script;
  readonly options?: AgentOptions;
  /** Earlier messages of the conversation. */
  readonly before?: readonly string[];
  /** Cancel the run at this callback or event type. */
  readonly cancelAt?: string;
}

const CASES: { readonly [outcome: string]: Case } = {
  "an answer": { script: [{ text: "RAG is retrieval." }] },
  "a tool": { script: [{ text: "Let me see.", calls: [ADD] }, { text: "It is 3." }] },
  "a tool, and usage": {
    script: [
      { calls: [ADD], usage: USAGE },
      { text: "It is 3.", usage: USAGE },
    ],
  },
  "a tool in each of two rounds": {
    script: [{ calls: [ADD] }, { calls: [{ ...ADD, id: "call_1" }] }, { text: "It is 3." }],
  },
  "a tool after two retries": {
    script: [BUSY, BUSY, { calls: [ADD] }, { text: "It is 3." }],
    options: { callOptions: { maxRetries: 2, retryMs: 1, maxRetryMs: 2 } },
  },
  "two tools at once": { script: [{ calls: [ADD, { ...ADD, id: "call_1" }] }, { text: "3 and 3." }] },
  "a tool that fails": { script: [{ calls: [FAIL] }, { text: "It broke." }] },
  "an unknown tool": { script: [{ calls: [{ name: "fly", id: "call_0" }] }, { text: "I cannot." }] },
  "a model that fails": { script: [{ fault: { kind: "throw" } }] },
  "a model without tools that fails": { script: [{ fault: { kind: "throw" } }], options: { tools: [] } },
  "a model stream that is cut": { script: [{ text: "Once upon a time", fault: { kind: "cut", after: 3 } }] },
  "a model cut in tool arguments": { script: [{ calls: [ADD], chunk: 3, fault: { kind: "cut", after: 2 } }] },
  "a cancel in tool arguments": {
    script: [{ calls: [ADD], chunk: 3, fault: { kind: "stall", after: 2 } }],
    cancelAt: "tool_call_chunk",
  },
  "a model that fails after a tool": { script: [{ calls: [ADD] }, { fault: { kind: "throw" } }] },
  "a cancel while the model thinks": { script: [{ fault: { kind: "stall" } }], cancelAt: "request_start" },
  "a cancel while a tool runs": {
    script: [{ calls: [{ name: "wait", id: "call_0" }] }],
    cancelAt: "tool_calls_start",
  },
  "the iteration limit": { script: [{ calls: [ADD] }, { text: "As far as 3." }], options: { maxIterations: 1 } },
  "a retrieval": { script: [{ text: "See [1]." }], options: { retriever: found(3) } },
  "a retrieval without results": { script: [{ text: "I do not know." }], options: { retriever: found(0) } },
  "a retrieval that fails": {
    script: [{ text: "I do not know." }],
    options: { retriever: { retrieve: () => Promise.reject(new Error("no index")) } },
  },
  "a compression": {
    script: (_request, turn) => ({ text: turn === 0 ? LONG : "Short." }),
    options: { compression },
    before: ["Tell me all"],
  },
  "a compression without a summary": {
    script: (request, turn) => {
      if (turn === 0) return { text: LONG };
      return request.tools === undefined || request.tools.length === 0
        ? { fault: { kind: "throw" } }
        : { text: "Short." };
    },
    options: { compression },
    before: ["Tell me all"],
  },
};

/** A payload in a few words. */
function describePayload(payload: CallbackPayload): string {
  switch (payload.type) {
    case "tool_calls_start":
      return `${payload.type} ${payload.iteration} ${payload.tool_calls.map(({ id }) => id).join("+")}`;
    case "tool_result":
      return `${payload.type} ${payload.iteration} ${payload.tool_call_id}`;
    case "error":
      return `${payload.type} ${payload.iteration} ${payload.stage}`;
    case "agent_finish":
      return payload.status === undefined ? payload.type : `${payload.type} ${payload.status}`;
    case "retrieval_complete":
      return `${payload.type} ${payload.doc_count}`;
    default:
      return payload.type;
  }
}

async function runCase({ script, options = {}, before = [], cancelAt }: Case, path: "execute" | "stream") {
  const payloads: CallbackPayload[] = [];
  const stop = new AbortController();
  const callback: Callback = {
    onEvent(type, payload) {
      payloads.push(payload);
      if (type === cancelAt) stop.abort();
    },
  };
  const watcher: Observer = {
    name: "watcher",
    openRun: () => ({
      take: ({ event }) => void (event.type === cancelAt && stop.abort()),
      close: () => undefined,
    }),
  };
  const { agent: actor, log } = await createFacadeFixture(script, {
    callOptions: { maxRetries: 0 },
    ...options,
    callbacks: [callback],
    observers: [watcher],
  });
  let streamed: readonly StreamEvent[] = [];
  const ask = { sessionId: "s", requestId: "req-1", context: { tenant: "acme" }, signal: stop.signal };
  for (const message of before) await actor.run(message, { sessionId: "s" });
  await actor.flush();
  payloads.splice(0);
  if (path === "stream") streamed = (await collect(actor.stream("Explain RAG", ask))).events;
  else await actor.run("Explain RAG", ask).catch(() => undefined);
  await actor.flush();
  return { payloads, log, streamed, tools: actor.metrics.summary().tools };
}

const ROWS = TABLE.trim()
  .split("\n")
  .slice(1)
  .flatMap((line) => {
    const [outcome = "", path = "", callbacks = ""] = line.split("|").map((cell) => cell.trim());
    const paths = path === "both" ? (["execute", "stream"] as const) : [path as "execute" | "stream"];
    return paths.map((one) => ({ outcome, path: one, callbacks: callbacks.split(", ") }));
  });

/** Fields that 002 defines besides `type`, `ts` and `source`. All payloads also have our `request_id` and `context`. */
const FIELDS: { readonly [type: string]: readonly string[] } = {
  request_start: ["iteration", "input"],
  retrieval_complete: ["doc_count"],
  compression_applied: ["before_tokens", "after_tokens"],
  tool_calls_start: ["iteration", "tool_calls"],
  tool_result: ["iteration", "tool_call_id", "content"],
  agent_finish: ["content"],
  error: ["iteration", "stage", "message"],
};

describe("callbacks", () => {
  it("can have the name `on_event` of specification 002", async () => {
    const types: string[] = [];
    const own = { on_event: (type: string, payload: CallbackPayload) => types.push(`${type} ${payload.type}`) };
    await using actor = agent({ provider: "offline", callbacks: [own] });
    await actor.run("Hello");
    expect([types.at(0), types.at(-1)]).toEqual(["request_start request_start", "agent_finish agent_finish"]);
  });

  it("are specified for each outcome and path", () => {
    const tried = ROWS.map(({ outcome, path }) => `${outcome}, ${path}`);
    expect(tried).toEqual([...new Set(tried)]);
    expect(tried.length).toBe(Object.keys(CASES).length * 2);
  });

  it.each(ROWS)("$outcome, $path: $callbacks", async ({ outcome, path, callbacks }) => {
    const given = CASES[outcome];
    if (given === undefined) throw new Error(`no case for the outcome ${outcome}`);
    const { payloads, log, streamed, tools } = await runCase(given, path);
    expect(payloads.map(describePayload)).toEqual(callbacks);
    // A reader of the stream receives the same events, and the text.
    const events = streamed.filter(({ type }) => type !== "text_delta");
    // A stream ends with `agent_finish` in any case; callbacks receive it for an answer only.
    const isAnswer = ({ type, stage }: { readonly type: string; readonly stage?: string }): boolean =>
      (type !== "agent_finish" || (events.at(-1) as { readonly status?: string } | undefined)?.status === undefined) &&
      stage !== "cancelled";
    const timesOf = (list: readonly (StreamEvent | CallbackPayload)[]) =>
      list.filter((each) => isAnswer(each as never)).map(({ type, ts }) => [type, ts]);
    if (path === "stream") expect(timesOf(events)).toEqual(timesOf(payloads));
    let last = 0;
    for (const { status, ...payload } of payloads as readonly (CallbackPayload & { readonly status?: string })[]) {
      expect(payload).toMatchObject({ source: path, request_id: "req-1", context: { tenant: "acme" } });
      const isCancel = payload.type === "error" && payload.stage === "cancelled";
      const own = (FIELDS[payload.type] ?? []).filter((name) => !isCancel || name !== "iteration");
      const names = ["type", "ts", "source", "request_id", "context", ...own];
      expect(Object.keys(payload).toSorted()).toEqual(names.toSorted());
      expect(status).toBeUndefined();
      expect(payload.ts).toBeGreaterThanOrEqual(last);
      last = payload.ts;
    }
    // The log, the metrics and the callbacks agree.
    const { records } = await log.read("s", { after: 0 });
    const made = records.filter(({ event }) => event.type === "tool_call").length;
    expect(tools.calls).toBe(made);
    const replayed: CallbackPayload[] = [];
    await replayCallbacks(log, "s", [{ onEvent: (_type, payload) => replayed.push(payload) }]);
    expect(replayed.filter(({ request_id }) => request_id === "req-1")).toEqual(payloads);
  });
});

it.each([
  ["tot", playMove],
  ["got", playTrip],
] as const)("a %s search replays the same callbacks, from one start to one finish", async (kind, script) => {
  const { payloads, log } = await runCase({ script, options: { kind } }, "stream");
  expect(
    payloads.map(({ type }) => type).filter((type) => type === "request_start" || type === "agent_finish"),
  ).toEqual(["request_start", "agent_finish"]);
  expect([payloads[0]?.type, payloads.at(-1)?.type]).toEqual(["request_start", "agent_finish"]);
  const replayed: CallbackPayload[] = [];
  await replayCallbacks(log, "s", [{ onEvent: (_type, payload) => replayed.push(payload) }]);
  expect(replayed).toEqual(payloads);
});

/** Each example of 002 and the records that produce it. */
const EXAMPLES: readonly [string, string, readonly (AnyEvent | number)[]][] = [
  [
    "request_start",
    `{"type":"request_start","ts":1710000000.0,"source":"execute","iteration":0,"input":"Explain RAG"}`,
    [1_710_000_000_000, { type: "run_start", source: "execute", message: "Explain RAG" }],
  ],
  [
    "retrieval_complete",
    `{"type":"retrieval_complete","ts":1710000001.2,"source":"stream","doc_count":3}`,
    [
      { type: "run_start", source: "stream" },
      1_710_000_001_200,
      { type: "retrieval_complete", doc_count: 3, query: "RAG" },
    ],
  ],
  [
    "compression_applied",
    `{"type":"compression_applied","ts":1710000002.3,"source":"execute","before_tokens":6200,"after_tokens":3900}`,
    [
      { type: "run_start", source: "execute" },
      1_710_000_002_300,
      { type: "compression_applied", before_tokens: 6200, after_tokens: 3900, method: "summary", summary: "They met." },
    ],
  ],
  [
    "tool_calls_start",
    `{"type":"tool_calls_start","ts":1710000003.4,"source":"stream","iteration":1,"tool_calls":[{"id":"call_0","name":"calculator"}]}`,
    [
      { type: "run_start", source: "stream" },
      { type: "llm_start", llm_call_id: "l1", model: "m" },
      1_710_000_003_400,
      { type: "tool_call", call_id: "call_0", name: "calculator", arguments: { expression: "7*8" } },
      { type: "llm_end", llm_call_id: "l1" },
    ],
  ],
  [
    "tool_result",
    `{"type":"tool_result","ts":1710000003.9,"source":"execute","iteration":1,"tool_call_id":"call_0","content":"56"}`,
    [
      { type: "run_start", source: "execute" },
      { type: "llm_end", llm_call_id: "l1" },
      { type: "tool_call", call_id: "call_0", name: "calculator", arguments: {} },
      1_710_000_003_900,
      { type: "tool_end", call_id: "call_0", name: "calculator", result: "56", is_error: false },
    ],
  ],
  [
    "agent_finish",
    `{"type":"agent_finish","ts":1710000004.1,"source":"stream","content":"Here's a short answer..."}`,
    [
      { type: "run_start", source: "stream" },
      1_710_000_004_100,
      { type: "run_end", status: "completed" },
      { type: "reply", reply: "Here's a short answer..." },
    ],
  ],
  [
    "error",
    `{"type":"error","ts":1710000005.6,"source":"execute","iteration":0,"stage":"llm_generate","message":"Rate limit"}`,
    [
      { type: "run_start", source: "execute" },
      1_710_000_005_600,
      { type: "error", stage: "llm_generate", message: "Rate limit", code: "model_failed" },
    ],
  ],
];

async function observeRecords(records: readonly EventRecord[]): Promise<readonly CallbackPayload[]> {
  const payloads: CallbackPayload[] = [];
  const observer = createCallbackObserver([{ textDelta: true, onEvent: (_type, payload) => payloads.push(payload) }]);
  const run = observer.openRun({ sessionId: "session", runId: "run-1" });
  const stamp = createStamper();
  for (const record of records) run.take(stamp(record), false);
  await observer.flush();
  return payloads;
}

describe("examples of 002", () => {
  it.each(EXAMPLES)("%s is produced exactly", async (_type, example, made) => {
    let ts = 1_710_000_000_000;
    const records = made.flatMap((item): readonly EventRecord[] => {
      if (typeof item !== "number") return [{ envelope: { run_id: "run-1", ts }, event: item }];
      ts = item;
      return [];
    });
    expect((await observeRecords(records)).at(-1)).toEqual({
      ...(JSON.parse(example) as JsonObject),
      request_id: "run-1",
    });
  });

  const files = listVectorFiles("samples").filter((file) => basename(file).startsWith("002-"));

  it.each(files.map((file) => readVector(file)))("$name round-trips", async ({ mode, frames, records }) => {
    const streams = mode === "frame" ? records : [records.flat()];
    // The callback for calls is only sent when the model's turn is over.
    const close: EventRecord = { envelope: {}, event: { type: "run_end", status: "cancelled" } };
    const payloads = await Promise.all(streams.map((stream) => observeRecords([...stream, close])));
    for (const [index, frame] of (frames as readonly JsonObject[]).entries()) {
      const { metadata, request_id = "session", ...fields } = frame;
      // An empty ID is replaced.
      const isMade = JSON.stringify(frame).includes(`"id":""`);
      const expected = {
        ...(metadata as JsonObject | undefined),
        ...fields,
        ...(isMade ? { tool_calls: expect.any(Array) as unknown } : {}),
        request_id,
      };
      expect(mode === "frame" ? payloads[index] : payloads[0]).toContainEqual(expected);
    }
  });
});

describe("callbacks and runs", () => {
  it("a hanging callback delays neither text nor reply", async () => {
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const hanging: Callback = {
      textDelta: true,
      onEvent: async (type) => {
        await gate.promise;
        order.push(`callback ${type}`);
      },
    };
    const { agent: actor } = await createFacadeFixture([{ text: "Looms have beams." }], { callbacks: [hanging] });
    const { events } = await collect(actor.stream("Tell me"));
    expect(textOf(events)).toBe("Looms have beams.");
    order.push("read");
    gate.resolve();
    expect(await actor.flush()).toBe(true);
    expect(order[0]).toBe("read");
    expect(order.slice(1)).toEqual(events.map(({ type }) => `callback ${type}`));
  });

  it("a run that two processes execute reports each event once", async () => {
    const payloads: CallbackPayload[] = [];
    const counts: number[] = [];
    const callback: Callback = { onEvent: (_type, payload) => payloads.push(payload) };
    const fixture = await createAgentFixture([{ calls: [{ name: "remove", input: { path: "a" }, id: "c" }] }], {
      callbacks: [callback],
    });
    await fixture.agent.answer(fixture.session, "Remove a", { requestId: "req-1", context: { tenant: "acme" } });
    await fixture.wait("tool_approval");
    await fixture.session.close();
    await fixture.agent.flush();
    counts.push(payloads.length);

    const next = agent({
      model: new ScriptedModel([{ text: "Done." }]),
      tools: createTools().tools,
      callbacks: [callback],
    });
    const session = await next.openSession(fixture.log, SESSION);
    onTestFinished(() => session.close());
    const over = waitForEvent(session, "reply");
    session.liveRun?.answerApproval({ callId: "c", decision: "approved" });
    await over;
    await next.flush();
    counts.push(payloads.length);

    expect(payloads.map(describePayload)).toEqual([
      "request_start",
      "tool_calls_start 1 c",
      "tool_result 1 c",
      "agent_finish",
    ]);
    expect(counts).toEqual([2, 4]);
    const replayed: CallbackPayload[] = [];
    await replayCallbacks(fixture.log, SESSION, [{ onEvent: (_type, payload) => replayed.push(payload) }]);
    expect(payloads).toEqual(replayed);
  });

  it("observes all sessions of a process, including recovered ones", async () => {
    const log = await createLog();
    const lines: string[] = [];
    const callback: Callback = {
      onEvent(_type, payload) {
        lines.push(`${describePayload(payload)} ${payload.request_id} ${JSON.stringify(payload.context)}`);
      },
    };
    const dead = await openSession(log, "s");
    const run = await dead.startRun({ runId: "run-1", requestId: "req-1", context: { tenant: "acme" }, message: "Hi" });
    await run.emit({ type: "message_chunk", content: "Well", id: "think" });
    await dead.close({ run: "leave" });
    const observer = createCallbackObserver([callback]);
    const observation = new Observation([observer]);
    await recoverOrphans(log, observation.tap(log));
    const next = await openSession(log, "t", observation.tap(log));
    const other = await next.startRun({ runId: "run-2", source: "execute", message: "Hello" });
    await other.finish({ reply: "Hello to you" });
    await next.close();
    await observation.idle();
    await observer.flush();
    const acme = `req-1 {"tenant":"acme"}`;
    // For the recovered run, only events of this process are reported.
    expect(lines.filter((line) => line.includes("req-1"))).toEqual([`error 0 unknown ${acme}`]);
    expect(lines.filter((line) => line.includes("run-2"))).toEqual([
      "request_start run-2 undefined",
      "agent_finish run-2 undefined",
    ]);
  });
});
