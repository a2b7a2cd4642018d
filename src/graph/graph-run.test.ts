import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openSession } from "../engine/index.ts";
import { createLog, SESSION } from "../../test/contracts/sender.ts";
import { defineGraph, subgraph } from "./define-graph.ts";
import { append, replace, type StateOf } from "./graph.ts";
import type { GraphHost } from "./graph-host.ts";
import { ignore, perform, tick, trail } from "../../test/contracts/graph-fixture.ts";
import { invokeGraph, runGraph } from "./run-graph.ts";

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("tasks that fail in parallel", () => {
  it("report the failure that stopped the others", async () => {
    const graph = defineGraph({
      name: "g",
      channels: {},
      nodes: {
        first: (_, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(new Error("download failed")));
          }),
        second: async () => {
          await tick();
          throw new Error("disk full");
        },
      },
      start: ["first", "second"],
    });
    await expect(invokeGraph(graph)).rejects.toThrow("disk full");
  });

  it("report the first task if all fail at once", async () => {
    const graph = defineGraph({
      name: "g",
      channels: {},
      nodes: {
        first: () => Promise.reject(new Error("first")),
        second: () => Promise.reject(new Error("second")),
      },
      start: ["first", "second"],
    });
    await expect(invokeGraph(graph)).rejects.toThrow("first");
  });

  it("leave no timer of a pending retry", async () => {
    vi.useFakeTimers();
    try {
      const retry = { attempts: 3, delayMs: 10_000 };
      const graph = defineGraph({
        name: "g",
        channels: {},
        nodes: {
          again: { retry, run: () => Promise.reject(new Error("x")) },
          fails: () => sleep(100).then(() => Promise.reject(new Error("disk full"))),
        },
        start: ["again", "fails"],
      });
      const going = invokeGraph(graph);
      going.catch(ignore);
      await vi.advanceTimersByTimeAsync(100);
      await expect(going).rejects.toThrow("disk full");
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a subgraph", () => {
  it("does not time out while a nested node waits for the user", async () => {
    vi.useFakeTimers();
    try {
      const ask = defineGraph({
        name: "ask",
        channels: { said: replace("") },
        nodes: { ask: async (_, node) => ({ said: (await node.interrupt({})).decision }) },
        start: "ask",
      });
      const wrap = (graph: typeof ask) =>
        defineGraph({
          name: "wrap",
          channels: { said: replace("") },
          nodes: { sub: subgraph(graph, { timeoutMs: 300, output: ({ said }) => ({ said }) }) },
          start: "sub",
        });
      const asked = async (ms: number) => {
        await sleep(ms);
        return { decision: "approved" as const, arguments: {} };
      };
      const graph = wrap(wrap(ask) as unknown as typeof ask);
      const going = invokeGraph(graph, {}, { onInterrupt: () => asked(60_000) });
      await vi.advanceTimersByTimeAsync(60_000);
      expect(await going).toEqual({ said: "approved" });
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("resumes its timeout after the user has answered", async () => {
    vi.useFakeTimers();
    try {
      const ask = defineGraph({
        name: "ask",
        channels: {},
        nodes: { ask: (_, node) => node.interrupt({}).then(() => new Promise<void>(ignore)) },
        start: "ask",
      });
      const sub = subgraph(ask, { timeoutMs: 300 });
      const graph = defineGraph({ name: "g", channels: {}, nodes: { sub }, start: "sub", graceMs: 10 });
      const onInterrupt = () => Promise.resolve({ decision: "approved" as const, arguments: {} });
      const going = invokeGraph(graph, {}, { onInterrupt });
      going.catch(ignore);
      await vi.advanceTimersByTimeAsync(310);
      await expect(going).rejects.toMatchObject({ code: "node_timeout" });
    } finally {
      vi.useRealTimers();
    }
  });

  it("is not run again when its output is rejected", async () => {
    let ran = 0;
    let tries = 0;
    const child = defineGraph({
      name: "child",
      channels: { n: replace(0) },
      nodes: {
        deed: () => {
          ran++;
          return { n: 1 };
        },
      },
      start: "deed",
    });
    const output = () => ({ trail: (++tries < 3 ? "no list" : ["ok"]) as unknown as string[] });
    const nodes = { sub: subgraph(child, { output, retry: { attempts: 3, delayMs: 1 } }) };
    const { state } = await perform(defineGraph({ name: "g", channels: trail, nodes, start: "sub" }));
    expect(state).toEqual({ trail: ["ok"] });
    expect([ran, tries]).toEqual([1, 3]);
  });

  it("does not start after its node timed out while the log was behind", async () => {
    const ran: string[] = [];
    const child = defineGraph({ name: "child", channels: {}, nodes: { a: () => void ran.push("a") }, start: "a" });
    const nodes = { sub: subgraph(child, { timeoutMs: 5 }) };
    const graph = defineGraph({ name: "g", channels: {}, graceMs: 5, nodes, start: "sub" });
    const log = await createSlowHost("sub");
    await expect(runGraph(graph, { run: log.host })).rejects.toMatchObject({ code: "node_timeout" });
    log.catchUp();
    log.wake();
    await sleep(5);
    expect(ran).toEqual([]);
  });

  it("is not run twice at the same time by an abandoned attempt and the next", async () => {
    const ran: string[] = [];
    const child = defineGraph({
      name: "child",
      channels: {},
      nodes: { a: () => void ran.push("a"), b: () => void ran.push("b"), c: () => void ran.push("c") },
      edges: { a: "b", b: "c" },
      start: "a",
    });
    const nodes = { sub: subgraph(child, { timeoutMs: 10, retry: { attempts: 50, delayMs: 1, factor: 1 } }) };
    const graph = defineGraph({ name: "g", channels: {}, graceMs: 5, nodes, start: "sub" });
    const log = await createSlowHost("b");
    const going = runGraph(graph, { run: log.host });
    going.catch(ignore);
    await tick();
    // There is room again, but `ready` resolves late.
    log.catchUp();
    await sleep(40);
    log.wake();
    await going;
    expect(ran).toEqual(["a", "b", "c"]);
  });

  /** A host whose log falls behind when a node is entered. */
  async function createSlowHost(name: string) {
    const session = await openSession(await createLog(), SESSION, { onError: ignore });
    onTestFinished(() => session.close());
    const run = await session.startRun();
    const { promise, resolve } = Promise.withResolvers<void>();
    let isBehind = false;
    let isFirst = true;
    const host: GraphHost = {
      runId: "r",
      sessionId: SESSION,
      signal: run.signal,
      get isBehind() {
        return isBehind;
      },
      now: Date.now,
      enter: (id) => {
        if (id === name && isFirst) {
          isBehind = true;
          isFirst = false;
        }
        return run.enter(id);
      },
      postUnit: (events) => run.postUnit(events),
      ready: () => promise,
      requestApproval: (request, options) => run.requestApproval(request, options),
    };
    const catchUp = (): void => {
      isBehind = false;
    };
    return { host, catchUp, wake: resolve };
  }
});

describe("state that a node returns", () => {
  const channels = { items: append<string>(), kept: replace<readonly (readonly string[])[]>([]), n: replace(0) };

  it("is rejected if it is the channel's own list", async () => {
    const nodes = { a: (state: object) => ({ ...state, n: 1 }) };
    const { error } = await perform(defineGraph({ name: "g", channels, nodes, start: "a" }), { items: ["x"] });
    expect(error).toMatchObject({ code: "graph_invalid", details: { channel: "items" } });
  });

  it("keeps its value, in memory and in the log", async () => {
    const child = defineGraph({
      name: "child",
      channels: { seen: replace<readonly string[]>([]) },
      nodes: { look: ignore },
      start: "look",
    });
    const graph = defineGraph({
      name: "g",
      channels,
      nodes: {
        keep: ({ items }) => ({ kept: [items] }),
        grow: (_, { input }) => ({ items: [JSON.stringify(input)] }),
        sub: subgraph(child, {
          input: ({ items }: StateOf<typeof channels>) => ({ seen: items }),
          output: ({ seen }, { kept }) => ({ kept: [...kept, seen], items: ["end"] }),
        }),
      },
      edges: { keep: ({ items }) => [{ node: "grow", input: items as string[] }], grow: "sub" },
      start: "keep",
    });
    // `perform` compares the last state with the log.
    const { state, records } = await perform(graph, { items: ["x"] });
    expect(state).toEqual({ items: ["x", '["x"]', "end"], kept: [["x"], ["x", '["x"]']], n: 0 });
    const checkpoints = records.flatMap(({ event }) => (event.type === "checkpoint" ? [JSON.stringify(event)] : []));
    expect(checkpoints[1]).toContain('"next":[{"id":"grow","input":["x"]}]');
  });
});
