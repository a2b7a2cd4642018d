// Which callbacks fire: event × path × outcome, in order, each once. And the examples of 002, to the letter.
import { basename } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { agent, type AgentOptions, type StreamEvent } from "../src/agents/index.ts";
import type { Retriever } from "../src/context/retriever.ts";
import { createStamper } from "../src/dialects/index.ts";
import { openSession, recoverOrphans } from "../src/engine/index.ts";
import { createLog } from "../src/engine/sender.contract.ts";
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
import { collect, setFacade, textOf } from "./agents/facade-stage.ts";
import { SESSION, setStage, waitForEvent } from "./agents/stage.ts";
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

/** A conversation that is too long for the model. */
const LONG = "The loom has a beam. ".repeat(200);
const compression = { contextWindow: 1500, keepTurns: 1, maxSummaryTokens: 100 };

/** The rule, and what it is tried with below. `both` is `execute` and `stream`; numbers are rounds. */
const TABLE = `
outcome                          | path    | callbacks, in order, each once
an answer                        | both    | request_start, agent_finish
a tool                           | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, agent_finish
a tool, and usage                | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, agent_finish
a tool in each of two rounds     | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, tool_calls_start 2 call_1, tool_result 2 call_1, agent_finish
a tool after two tries           | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, agent_finish
two tools at once                | both    | request_start, tool_calls_start 1 call_0+call_1, tool_result 1 call_0, tool_result 1 call_1, agent_finish
a tool that fails                | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, error 1 tool_execute, agent_finish
a tool nobody has                | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, agent_finish
a model that fails               | execute | request_start, error 0 llm_generate_with_tools, agent_finish error
a model that fails               | stream  | request_start, error 0 llm_stream, agent_finish error
a model without tools that fails | execute | request_start, error 0 llm_generate, agent_finish error
a model without tools that fails | stream  | request_start, error 0 llm_stream, agent_finish error
a model that breaks off          | execute | request_start, error 0 llm_generate_with_tools, agent_finish error
a model that breaks off          | stream  | request_start, error 0 llm_stream, agent_finish error
a model cut within arguments     | execute | request_start, error 0 llm_generate_with_tools, agent_finish error
a model cut within arguments     | stream  | request_start, error 0 llm_stream, agent_finish error
a cancel within arguments        | both    | request_start, agent_finish cancelled
a model that fails after a tool  | execute | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, error 1 llm_generate_with_tools, agent_finish error
a model that fails after a tool  | stream  | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, error 1 llm_stream, agent_finish error
a cancel while the model thinks  | both    | request_start, agent_finish cancelled
a cancel while a tool works      | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, agent_finish cancelled
the limit of rounds              | both    | request_start, tool_calls_start 1 call_0, tool_result 1 call_0, error 1 iteration_limit, agent_finish
a retrieval                      | both    | request_start, retrieval_complete 3, agent_finish
a retrieval of nothing           | both    | request_start, retrieval_complete 0, agent_finish
a retrieval that fails           | both    | request_start, error 0 retrieval, agent_finish
a compression                    | both    | request_start, compression_applied, agent_finish
a compression without a summary  | both    | request_start, error 0 compression, compression_applied, agent_finish
`;

interface Case {
  readonly script: Script;
  readonly options?: Partial<AgentOptions>;
  /** Said before, in the same conversation. */
  readonly before?: readonly string[];
  /** Cancelled when this has been told, or is in the log. */
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
  "a tool after two tries": {
    script: [BUSY, BUSY, { calls: [ADD] }, { text: "It is 3." }],
    options: { callOptions: { maxRetries: 2, retryMs: 1, maxRetryMs: 2 } },
  },
  "two tools at once": { script: [{ calls: [ADD, { ...ADD, id: "call_1" }] }, { text: "3 and 3." }] },
  "a tool that fails": { script: [{ calls: [FAIL] }, { text: "It broke." }] },
  "a tool nobody has": { script: [{ calls: [{ name: "fly", id: "call_0" }] }, { text: "I cannot." }] },
  "a model that fails": { script: [{ fault: { kind: "throw" } }] },
  "a model without tools that fails": { script: [{ fault: { kind: "throw" } }], options: { tools: [] } },
  "a model that breaks off": { script: [{ text: "Once upon a time", fault: { kind: "cut", after: 3 } }] },
  "a model cut within arguments": { script: [{ calls: [ADD], chunk: 3, fault: { kind: "cut", after: 2 } }] },
  "a cancel within arguments": {
    script: [{ calls: [ADD], chunk: 3, fault: { kind: "stall", after: 2 } }],
    cancelAt: "tool_call_chunk",
  },
  "a model that fails after a tool": { script: [{ calls: [ADD] }, { fault: { kind: "throw" } }] },
  "a cancel while the model thinks": { script: [{ fault: { kind: "stall" } }], cancelAt: "request_start" },
  "a cancel while a tool works": {
    script: [{ calls: [{ name: "wait", id: "call_0" }] }],
    cancelAt: "tool_calls_start",
  },
  "the limit of rounds": { script: [{ calls: [ADD] }, { text: "As far as 3." }], options: { maxIterations: 1 } },
  "a retrieval": { script: [{ text: "See [1]." }], options: { retriever: found(3) } },
  "a retrieval of nothing": { script: [{ text: "I do not know." }], options: { retriever: found(0) } },
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

/** What was told, in a few words each. */
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

async function play({ script, options = {}, before = [], cancelAt }: Case, path: "execute" | "stream") {
  const told: CallbackPayload[] = [];
  const stop = new AbortController();
  const callback: Callback = {
    onEvent(type, payload) {
      told.push(payload);
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
  const { agent: actor, log } = await setFacade(script, {
    callOptions: { maxRetries: 0 },
    ...options,
    callbacks: [callback],
    observers: [watcher],
  });
  let streamed: readonly StreamEvent[] = [];
  const ask = { sessionId: "s", requestId: "req-1", context: { tenant: "acme" }, signal: stop.signal };
  for (const message of before) await actor.run(message, { sessionId: "s" });
  await actor.flush();
  told.splice(0);
  if (path === "stream") streamed = (await collect(actor.stream("Explain RAG", ask))).events;
  else await actor.run("Explain RAG", ask).catch(() => undefined);
  await actor.flush();
  return { told, log, streamed, tools: actor.metrics.summary().tools };
}

const ROWS = TABLE.trim()
  .split("\n")
  .slice(1)
  .flatMap((line) => {
    const [outcome = "", path = "", callbacks = ""] = line.split("|").map((cell) => cell.trim());
    const paths = path === "both" ? (["execute", "stream"] as const) : [path as "execute" | "stream"];
    return paths.map((one) => ({ outcome, path: one, callbacks: callbacks.split(", ") }));
  });

/** The fields of 002 beside `type`, `ts`, `source`, and ours on all: `request_id`, `context`. */
const FIELDS: { readonly [type: string]: readonly string[] } = {
  request_start: ["iteration", "input"],
  retrieval_complete: ["doc_count"],
  compression_applied: ["before_tokens", "after_tokens"],
  tool_calls_start: ["iteration", "tool_calls"],
  tool_result: ["iteration", "tool_call_id", "content"],
  agent_finish: ["content"],
  error: ["iteration", "stage", "message"],
};

describe("which callbacks fire", () => {
  it("has a row for each outcome on each path", () => {
    const tried = ROWS.map(({ outcome, path }) => `${outcome}, ${path}`);
    expect(tried).toEqual([...new Set(tried)]);
    expect(tried.length).toBe(Object.keys(CASES).length * 2);
  });

  it.each(ROWS)("$outcome, $path: $callbacks", async ({ outcome, path, callbacks }) => {
    const given = CASES[outcome];
    if (given === undefined) throw new Error(`nobody tries ${outcome}`);
    const { told, log, streamed, tools } = await play(given, path);
    expect(told.map(describePayload)).toEqual(callbacks);
    // Whoever reads the stream is given the same events, and the text.
    const events = streamed.filter(({ type }) => type !== "text_delta");
    if (path === "stream")
      expect(events.map(({ type, ts }) => [type, ts])).toEqual(told.map(({ type, ts }) => [type, ts]));
    let last = 0;
    for (const { status, ...payload } of told as readonly (CallbackPayload & { readonly status?: string })[]) {
      expect(payload).toMatchObject({ source: path, request_id: "req-1", context: { tenant: "acme" } });
      const names = ["type", "ts", "source", "request_id", "context", ...(FIELDS[payload.type] ?? [])];
      expect(Object.keys(payload).toSorted()).toEqual(names.toSorted());
      expect(status === undefined || payload.type === "agent_finish").toBe(true);
      expect(payload.ts).toBeGreaterThanOrEqual(last);
      last = payload.ts;
    }
    // What is counted is what was told, and what the run says of itself.
    const { records } = await log.read("s", { after: 0 });
    const made = records.filter(({ event }) => event.type === "tool_call").length;
    expect(tools.calls).toBe(made);
    const replayed: CallbackPayload[] = [];
    await replayCallbacks(log, "s", [{ onEvent: (_type, payload) => replayed.push(payload) }]);
    expect(replayed.filter(({ request_id }) => request_id === "req-1")).toEqual(told);
  });
});

it.each([
  ["tot", playMove],
  ["got", playTrip],
] as const)(
  "a search of the kind %s is told the same live and replayed, from the start to one finish",
  async (kind, script) => {
    const { told, log } = await play({ script, options: { kind } }, "stream");
    expect(told.map(({ type }) => type).filter((type) => type === "request_start" || type === "agent_finish")).toEqual([
      "request_start",
      "agent_finish",
    ]);
    expect([told[0]?.type, told.at(-1)?.type]).toEqual(["request_start", "agent_finish"]);
    const replayed: CallbackPayload[] = [];
    await replayCallbacks(log, "s", [{ onEvent: (_type, payload) => replayed.push(payload) }]);
    expect(replayed).toEqual(told);
  },
);

/** Each as 002 prints it, and the records that make it. */
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

async function tell(records: readonly EventRecord[]): Promise<readonly CallbackPayload[]> {
  const told: CallbackPayload[] = [];
  const observer = createCallbackObserver([{ textDelta: true, onEvent: (_type, payload) => told.push(payload) }]);
  const run = observer.openRun({ sessionId: "session", runId: "run-1" });
  const stamp = createStamper();
  for (const record of records) run.take(stamp(record), false);
  await observer.flush();
  return told;
}

describe("the examples of 002", () => {
  it.each(EXAMPLES)("%s is told to the letter", async (_type, example, made) => {
    let ts = 1_710_000_000_000;
    const records = made.flatMap((item): readonly EventRecord[] => {
      if (typeof item !== "number") return [{ envelope: { run_id: "run-1", ts }, event: item }];
      ts = item;
      return [];
    });
    expect((await tell(records)).at(-1)).toEqual({ ...(JSON.parse(example) as JsonObject), request_id: "run-1" });
  });

  const files = listVectorFiles("samples").filter((file) => basename(file).startsWith("002-"));

  it.each(files.map((file) => readVector(file)))("$name comes back as it was", async ({ mode, frames, records }) => {
    const streams = mode === "frame" ? records : [records.flat()];
    // What announces calls waits for what follows.
    const close: EventRecord = { envelope: {}, event: { type: "run_end", status: "cancelled" } };
    const told = await Promise.all(streams.map((stream) => tell([...stream, close])));
    for (const [index, frame] of (frames as readonly JsonObject[]).entries()) {
      const { metadata, request_id = "session", ...fields } = frame;
      // An id that is empty is made.
      const isMade = JSON.stringify(frame).includes(`"id":""`);
      const expected = {
        ...(metadata as JsonObject | undefined),
        ...fields,
        ...(isMade ? { tool_calls: expect.any(Array) as unknown } : {}),
        request_id,
      };
      expect(mode === "frame" ? told[index] : told[0]).toContainEqual(expected);
    }
  });
});

describe("callbacks and the run they look at", () => {
  it("a callback that hangs holds up neither text nor answer", async () => {
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const hanging: Callback = {
      textDelta: true,
      onEvent: async (type) => {
        await gate.promise;
        order.push(`told ${type}`);
      },
    };
    const { agent: actor } = await setFacade([{ text: "Looms have beams." }], { callbacks: [hanging] });
    const { events } = await collect(actor.stream("Tell me"));
    expect(textOf(events)).toBe("Looms have beams.");
    order.push("read");
    gate.resolve();
    expect(await actor.flush()).toBe(true);
    expect(order[0]).toBe("read");
    expect(order.slice(1)).toEqual(events.map(({ type }) => `told ${type}`));
  });

  it("a run that two processes carry out is told once, half by each", async () => {
    const told: CallbackPayload[] = [];
    const counts: number[] = [];
    const callback: Callback = { onEvent: (_type, payload) => told.push(payload) };
    const stage = await setStage([{ calls: [{ name: "remove", input: { path: "a" }, id: "c" }] }], {
      callbacks: [callback],
    });
    await stage.agent.answer(stage.session, "Remove a", { requestId: "req-1", context: { tenant: "acme" } });
    await stage.wait("tool_approval");
    await stage.session.close();
    await stage.agent.flush();
    counts.push(told.length);

    const next = agent({
      model: new ScriptedModel([{ text: "Done." }]),
      tools: createTools().tools,
      callbacks: [callback],
    });
    const session = await next.openSession(stage.log, SESSION);
    onTestFinished(() => session.close());
    const over = waitForEvent(session, "reply");
    session.liveRun?.answerApproval({ callId: "c", decision: "approved" });
    await over;
    await next.flush();
    counts.push(told.length);

    expect(told.map(describePayload)).toEqual([
      "request_start",
      "tool_calls_start 1 c",
      "tool_result 1 c",
      "agent_finish",
    ]);
    expect(counts).toEqual([2, 4]);
    const replayed: CallbackPayload[] = [];
    await replayCallbacks(stage.log, SESSION, [{ onEvent: (_type, payload) => replayed.push(payload) }]);
    expect(told).toEqual(replayed);
  });

  it("all sessions of a process can be looked at, also those it takes over", async () => {
    const log = await createLog();
    const told: string[] = [];
    const callback: Callback = {
      onEvent(_type, payload) {
        told.push(`${describePayload(payload)} ${payload.request_id} ${JSON.stringify(payload.context)}`);
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
    // Of the dead run only what happened here; its beginning was told by whoever began it.
    expect(told.filter((line) => line.includes("req-1"))).toEqual([
      `error 0 unknown ${acme}`,
      `agent_finish error ${acme}`,
    ]);
    expect(told.filter((line) => line.includes("run-2"))).toEqual([
      "request_start run-2 undefined",
      "agent_finish run-2 undefined",
    ]);
  });
});
