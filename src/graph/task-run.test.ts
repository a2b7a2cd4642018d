import { describe, expect, it } from "vitest";
import { openSession } from "../engine/index.ts";
import { createLog, expectValid, SESSION, wrapLog } from "../../test/contracts/sender.ts";
import { LoomError } from "../protocol/index.ts";
import { defineGraph, fanOut, subgraph } from "./define-graph.ts";
import { END, type GraphDefinition, replace } from "./graph.ts";
import { ignore, ofType, perform, tick, trail } from "../../test/contracts/graph-fixture.ts";
import { invokeGraph, runGraph } from "./run-graph.ts";

describe("a node that fails or is stopped", () => {
  it("stops the other tasks and reports the failure", async () => {
    const reasons: unknown[] = [];
    const graph = defineGraph({
      name: "g",
      channels: trail,
      nodes: {
        patient: (_, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => {
              reasons.push(signal.reason);
              reject(new DOMException("stopped", "AbortError"));
            });
          }),
        deaf: () => new Promise(ignore),
        finished: () => ({ trail: ["finished"] }),
        failing: async () => {
          await tick();
          throw new LoomError("node_failed", "no luck");
        },
      },
      start: ["patient", "deaf", "finished", "failing"],
      graceMs: 5,
    });
    const { error, records } = await perform(graph);
    expect(error).toMatchObject({ message: "no luck" });
    expect(reasons).toMatchObject([{ code: "interrupted" }]);
    const exits = ofType(records, "node_exit").map((event) => [event["id" as "type"], event["result" as "type"]]);
    expect(Object.fromEntries(exits)).toMatchObject({
      patient: { Err: "aborted" },
      deaf: { Err: expect.stringContaining("failing") as string },
      finished: "Ok",
      failing: { Err: "no luck" },
    });
    expect(ofType(records, "updates")).toHaveLength(1);
  });

  const never = (): Promise<void> => new Promise(ignore);
  const write = (writes: unknown) => ({ a: () => writes });
  const failing: [code: string, nodes: object, change: object][] = [
    ["step_limit", write({}), { maxSteps: 3 }],
    ["node_timeout", { a: { run: never, timeoutMs: 5 } }, { graceMs: 5 }],
    ["node_failed", write({ nowhere: 1 }), {}],
    ["node_failed", write({ trail: "no list" }), {}],
    ["node_failed", write({ trail: [1n] }), {}],
    ["node_failed", write("no object"), {}],
    ["too_many_open", write({}), { maxTasks: 2, edges: { a: () => fanOut("a", [1, 2, 3]) } }],
    ["graph_invalid", write({}), { edges: { a: () => "b" } }],
  ];
  it.each(failing)("fails with %s", async (code, nodes, change) => {
    const definition = { name: "g", channels: trail, start: "a", edges: { a: "a" }, ...change, nodes };
    const { error } = await perform(defineGraph(definition as unknown as GraphDefinition<typeof trail, string>));
    expect(error).toMatchObject({ code });
  });

  it("retries in a new node run and passes on the calls that ended", async () => {
    const seen: unknown[] = [];
    const graph = defineGraph({
      name: "g",
      channels: trail,
      nodes: {
        flaky: {
          retry: { attempts: 3, delayMs: 1 },
          run: async (_, { span, endedCalls }) => {
            seen.push([...endedCalls.keys()]);
            if (seen.length === 1) {
              void span.emit({ type: "tool_call", call_id: "c", name: "t", arguments: {} });
              void span.emit({ type: "tool_start", call_id: "c", name: "t" });
              void span.emit({ type: "tool_end", call_id: "c", name: "t", result: "1", is_error: false });
            }
            if (seen.length < 3) throw new LoomError("node_failed", `try ${seen.length}`);
            return { trail: ["made it"] };
          },
        },
      },
      start: "flaky",
    });
    const { state, records } = await perform(graph);
    expect(state).toEqual({ trail: ["made it"] });
    expect(seen).toEqual([[], ["c"], ["c"]]);
    expect(ofType(records, "node_exit").map((event) => event["result" as "type"])).toEqual([
      { Err: "try 1" },
      { Err: "try 2" },
      "Ok",
    ]);
  });

  it("does not retry after answer text was sent, also in a subgraph", async () => {
    let tries = 0;
    const retry = { attempts: 3, delayMs: 1 };
    const talk = defineGraph({
      name: "talk",
      channels: {},
      nodes: {
        talk: {
          retry,
          run: (_, { span }) => {
            tries++;
            void span.write("half a sen");
            throw new Error("cut");
          },
        },
      },
      start: "talk",
    });
    const outer = defineGraph({ name: "g", channels: {}, nodes: { sub: subgraph(talk, { retry }) }, start: "sub" });
    const { error } = await perform(outer);
    expect(error).toEqual(new Error("cut"));
    expect(tries).toBe(1);
  });

  it("continues a retried subgraph where it stopped", async () => {
    const ran: string[] = [];
    let luck = 0;
    const child = defineGraph({
      name: "child",
      channels: trail,
      nodes: {
        first: () => {
          ran.push("first");
          return { trail: ["first"] };
        },
        left: () => {
          ran.push("left");
          return { trail: ["left"] };
        },
        right: async () => {
          await tick();
          if (luck++ === 0) throw new Error("bad luck");
          return { trail: ["right"] };
        },
      },
      edges: { first: ["left", "right"] },
      start: "first",
    });
    const parent = defineGraph({
      name: "parent",
      channels: trail,
      nodes: {
        sub: subgraph(child, { output: ({ trail: inner }) => ({ trail: inner }), retry: { attempts: 2, delayMs: 1 } }),
      },
      start: "sub",
    });
    const { state } = await perform(parent);
    expect(state).toEqual({ trail: ["first", "left", "right"] });
    expect(ran).toEqual(["first", "left"]);
  });

  it("ends when the run is cancelled, even if its nodes do not", async () => {
    const log = await createLog();
    await using session = await openSession(log, SESSION);
    const run = await session.startRun();
    const entered = Promise.withResolvers<AbortSignal>();
    const graph = defineGraph({
      name: "g",
      channels: {},
      nodes: {
        deaf: (_, { signal }) => {
          entered.resolve(signal);
          return new Promise<void>(ignore);
        },
      },
      start: "deaf",
    });
    const going = runGraph(graph, { run });
    going.catch(ignore);
    const signal = await entered.promise;
    await run.cancel("enough");
    await expect(going).rejects.toMatchObject({ code: "cancelled" });
    expect(signal.aborted).toBe(true);
    await expectValid(log);
  });

  it("is stopped by a signal before, between and within steps", async () => {
    const graph = defineGraph({
      name: "g",
      channels: { n: replace(0) },
      nodes: { a: async ({ n }) => ({ n: n + 1 }) },
      edges: { a: "a" },
      start: "a",
      maxSteps: 1_000_000,
    });
    const reason = new LoomError("cancelled", "stop");
    await expect(invokeGraph(graph, {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const going = invokeGraph(graph, {}, { signal: controller.signal });
    // The graph yields to the event loop even if its steps never wait.
    setTimeout(() => controller.abort(reason), 5);
    await expect(going).rejects.toBe(reason);
  });

  it("leaves no listeners on the signal", async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => {
        listeners++;
        add(...args);
      },
      removeEventListener: (...args: Parameters<typeof remove>) => {
        listeners--;
        remove(...args);
      },
    });
    const graph = defineGraph({
      name: "g",
      channels: { n: replace(0) },
      nodes: { a: ({ n }, node) => ({ n: n + (node.signal.aborted ? 0 : 1) }) },
      edges: { a: ({ n }) => (n < 10 ? "a" : END) },
      start: "a",
    });
    for (let count = 0; count < 100; count++) await invokeGraph(graph, {}, { signal });
    expect(listeners).toBe(0);
  });
});

describe("an interrupt", () => {
  const graph = defineGraph({
    name: "g",
    channels: trail,
    nodes: {
      ask: {
        // Time spent waiting for the user does not count.
        timeoutMs: 40,
        run: async (_, node) => {
          const first = await node.interrupt({ text: "First?" });
          const second = await node.interrupt({ text: "Second?" }, { expiresInMs: 60_000 });
          return { trail: [JSON.stringify(first), JSON.stringify(second)] };
        },
      },
    },
    start: "ask",
  });

  it("waits for the user and ends with its node", async () => {
    const log = await createLog();
    await using session = await openSession(log, SESSION);
    const run = await session.startRun();
    const going = runGraph(graph, { run });
    await run.settled();
    await new Promise((resolve) => setTimeout(resolve, 80));
    run.answerApproval({ callId: "ask-1-0-0", decision: "approved", arguments: { text: "Yes" } });
    for (; run.work.waiting.length !== 1;) await tick();
    run.answerApproval({ callId: "ask-1-0-1", decision: "rejected", reason: "No" });
    const answers = [
      '{"decision":"approved","value":{"text":"Yes"}}',
      '{"decision":"rejected","value":{"text":"Second?"},"reason":"No"}',
    ];
    expect(await going).toEqual({ trail: answers });
    await run.finish({ reply: "" });
    const records = await expectValid(log);
    expect(ofType(records, "tool_end")).toMatchObject([
      { call_id: "ask-1-0-0", name: "interrupt", result: answers[0], is_error: false },
      { call_id: "ask-1-0-1", name: "interrupt", result: answers[1], is_error: true, error_code: "tool_rejected" },
    ]);
  });

  it("is answered by onInterrupt without a session, or rejected", async () => {
    const answers = await invokeGraph(
      graph,
      {},
      {
        onInterrupt: async ({ arguments: question }) => ({ decision: "approved", arguments: question }),
      },
    );
    expect(answers.trail).toHaveLength(2);
    await expect(invokeGraph(graph)).rejects.toMatchObject({ code: "unsupported" });
  });
});

describe("the context of a node", () => {
  it("can be destructured", async () => {
    const graph = defineGraph({
      name: "g",
      channels: trail,
      nodes: {
        a: async (_, { custom, ready, interrupt }) => {
          custom("mine");
          await ready();
          return { trail: [(await interrupt({ text: "Well?" })).decision] };
        },
      },
      start: "a",
    });
    const events: unknown[] = [];
    const state = await invokeGraph(
      graph,
      {},
      {
        onEvent: (event) => events.push(event),
        onInterrupt: async ({ arguments: question }) => ({ decision: "approved", arguments: question }),
      },
    );
    expect(state).toEqual({ trail: ["approved"] });
    expect(events).toContainEqual({ type: "custom", value: "mine" });
  });

  it("rejects a node that ends its own span, and a question that is too large", async () => {
    const nodes = { name: "g", channels: trail, start: "a" } as const;
    const leaving = defineGraph({ ...nodes, nodes: { a: async (_, { span }) => void (await span.done()) } });
    expect((await perform(leaving)).error).toMatchObject({ code: "invalid_event" });
    const asking = defineGraph({
      ...nodes,
      nodes: { a: async (_, node) => void (await node.interrupt({ text: "x".repeat(2_000_000) })) },
    });
    expect((await perform(asking)).error).toMatchObject({ code: "event_too_large" });
  });
});

describe("a slow log", () => {
  it("is awaited when many tasks end at once", async () => {
    const slow = wrapLog(await createLog());
    slow.onAppend = async (_, next) => {
      await tick();
      return next();
    };
    const graph = defineGraph({
      name: "g",
      channels: trail,
      nodes: { plan: ignore, work: (_, { input }) => ({ trail: [JSON.stringify(input).padStart(1000)] }) },
      edges: { plan: () => fanOut("work", [...Array.from({ length: 200 }).keys()]) },
      start: "plan",
    });
    await using session = await openSession(slow, SESSION, { maxBacklogBytes: 20_000 });
    const run = await session.startRun();
    const state = await runGraph(graph, { run });
    expect(state.trail).toHaveLength(200);
    await run.finish({ reply: "" });
    await expectValid(slow);
  });
});
