import { describe, expect, it } from "vitest";
import { openSession } from "../engine/index.ts";
import { createLog, SESSION, wrapLog } from "../../test/contracts/sender.ts";
import type { AnyEvent } from "../protocol/index.ts";
import { defineGraph, fanOut, subgraph } from "./define-graph.ts";
import { append, custom, END, merge, replace } from "./graph.ts";
import { ignore, ofType, perform, tick, trail } from "../../test/contracts/graph-fixture.ts";
import { invokeGraph, runGraph } from "./run-graph.ts";

describe("runGraph", () => {
  it("writes a step of one task as one unit, and the full state once", async () => {
    const graph = defineGraph({
      name: "g",
      channels: { n: replace(0), seen: append<number>() },
      nodes: { count: ({ n }) => ({ n: n + 1, seen: [n] }) },
      edges: { count: ({ n }) => (n < 2 ? "count" : END) },
      start: "count",
    });
    const log = wrapLog(await createLog({ limits: { maxBatchRecords: 4 } }));
    const { state, records } = await perform(graph, { seen: [-1] }, log);
    expect(state).toEqual({ n: 2, seen: [-1, 0, 1] });
    const own = records.map(({ envelope, event }) => [envelope.node_id, event]).slice(1, 8);
    const timestamp = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    const start = { n: 0, seen: [-1] };
    expect(own).toEqual([
      [undefined, { type: "values", state: start, delta: false }],
      [
        undefined,
        {
          type: "checkpoint",
          checkpoint_id: "r:0",
          timestamp,
          step: 0,
          state: start,
          thread_id: SESSION,
          checkpoint_ns: "",
          next: [{ id: "count" }],
          delta: false,
        },
      ],
      ["run-count-1", { type: "node_enter", id: "count" }],
      [
        "run-count-1",
        { type: "updates", id: "count", state: { n: { set: 1 }, seen: { append: [0] } }, task: 0, delta: true },
      ],
      ["run-count-1", { type: "node_exit", id: "count", result: "Ok" }],
      [undefined, { type: "values", state: {}, delta: true }],
      [
        undefined,
        {
          type: "checkpoint",
          checkpoint_id: "r:1",
          timestamp,
          step: 1,
          state: {},
          thread_id: SESSION,
          checkpoint_ns: "",
          next: [{ id: "count" }],
          delta: true,
        },
      ],
    ]);
    expect(ofType(records, "checkpoint").at(-1)).toMatchObject({ checkpoint_id: "r:2", next: [] });
    const lastOfEach = log.appends.map(({ entries }) => entries.at(-1)?.record.event.type ?? "");
    for (const type of ["updates", "node_exit", "values"]) expect(lastOfEach).not.toContain(type);
    // A log finds delta records by the end of their text.
    for (const event of records.map((record) => record.event))
      if ("delta" in event) expect(JSON.stringify(event)).toMatch(/,"delta":(true|false)\}$/);
  });

  it("writes no values if the graph disables them", async () => {
    const graph = defineGraph({ name: "g", channels: {}, nodes: { a: ignore }, start: "a", values: false });
    const { events } = await perform(graph);
    expect(events.map(({ type }) => type)).toEqual([
      "run_start",
      "checkpoint",
      "node_enter",
      "updates",
      "node_exit",
      "checkpoint",
      "run_end",
      "reply",
    ]);
  });

  it("gives all tasks the same state and merges in task order", async () => {
    const gate = Promise.withResolvers<void>();
    const graph = defineGraph({
      name: "g",
      channels: { ...trail, last: replace(""), marks: merge<number>() },
      nodes: {
        slow: async ({ trail: before }) => {
          await gate.promise;
          return { trail: [`slow saw ${before.length}`], last: "slow", marks: { x: 1, slow: 1 } };
        },
        quick: ({ trail: before }) => {
          gate.resolve();
          return { trail: [`quick saw ${before.length}`], last: "quick", marks: { x: 2, quick: 1 } };
        },
        join: () => ({ trail: ["join"] }),
      },
      edges: { slow: "join", quick: ["join", END] },
      start: ["slow", "quick"],
    });
    const { state, records } = await perform(graph, { trail: ["input"] });
    expect(state).toEqual({
      trail: ["input", "slow saw 1", "quick saw 1", "join"],
      last: "quick",
      marks: { x: 2, slow: 1, quick: 1 },
    });
    expect(ofType(records, "updates")).toMatchObject([
      { id: "quick", task: 1 },
      { id: "slow", task: 0 },
      { id: "join", task: 0 },
    ]);
  });

  it("merges a custom channel in task order and corrects stored values", async () => {
    const gate = Promise.withResolvers<void>();
    const graph = defineGraph({
      name: "g",
      channels: { text: custom<string>("-", (value, write) => `(${value}${write})`) },
      nodes: {
        a: async () => {
          await gate.promise;
          return { text: "a" };
        },
        b: () => ({ text: "b" }),
        c: () => {
          gate.resolve();
          return { text: "c" };
        },
      },
      start: ["a", "b", "c"],
    });
    const { state, records } = await perform(graph);
    expect(state).toEqual({ text: "(((-a)b)c)" });
    expect(ofType(records, "updates")).toMatchObject([
      { id: "b", state: { text: { set: "(-b)", write: "b" } } },
      { id: "c", state: { text: { set: "((-b)c)", write: "c" } } },
      { id: "a", state: { text: { set: "(((-a)b)c)", write: "a" } } },
    ]);
    expect(ofType(records, "checkpoint").at(-1)).toMatchObject({ state: { text: { set: "(((-a)b)c)" } }, delta: true });
  });

  it("fans out over a list, with one task per item", async () => {
    const graph = defineGraph({
      name: "g",
      channels: { items: replace<readonly number[]>([]), squares: append<number>() },
      nodes: {
        plan: ignore,
        worker: async (_, { input }) => {
          for (let turns = Number(input); turns < 4; turns++) await tick();
          return { squares: [Number(input) ** 2] };
        },
        done: ({ squares }) => ({ items: squares.toReversed() }),
      },
      edges: { plan: ({ items }) => [...fanOut("worker", items), "done"], worker: "done" },
      start: "plan",
      concurrency: 2,
    });
    const { state, records } = await perform(graph, { items: [1, 2, 3] });
    expect(state).toEqual({ items: [9, 4, 1], squares: [1, 4, 9] });
    expect(ofType(records, "checkpoint")[1]).toMatchObject({
      next: [{ id: "worker", input: 1 }, { id: "worker", input: 2 }, { id: "worker", input: 3 }, { id: "done" }],
    });
    // Requested four times, it runs once.
    expect(ofType(records, "updates").map((event) => event["id" as "type"])).toHaveLength(6);
  });

  it("runs a subgraph with its own state and checkpoints", async () => {
    const inner = defineGraph({
      name: "inner",
      channels: { n: replace(1) },
      nodes: { double: ({ n }) => ({ n: n * 2 }) },
      edges: { double: ({ n }) => (n < 8 ? "double" : END) },
      start: "double",
    });
    const middle = defineGraph({
      name: "middle",
      channels: { n: replace(0) },
      nodes: {
        sub: subgraph(inner, { input: ({ n }: { n: number }) => ({ n }), output: ({ n }) => ({ n: n + 100 }) }),
      },
      start: "sub",
    });
    const outer = defineGraph({
      name: "outer",
      channels: { results: append<number>() },
      nodes: {
        sub: subgraph(middle, {
          input: (_, { input }) => ({ n: Number(input) }),
          output: ({ n }) => ({ results: [n] }),
        }),
      },
      start: () => fanOut("sub", [3, 5]),
    });
    const { state, records } = await perform(outer);
    expect(state).toEqual({ results: [112, 110] });
    const checkpoints = ofType(records, "checkpoint") as readonly (AnyEvent & {
      checkpoint_ns?: string;
      step: number;
    })[];
    expect(new Set(checkpoints.map(({ checkpoint_ns }) => checkpoint_ns))).toEqual(
      new Set(["", "sub:1.0", "sub:1.1", "sub:1.0|sub:1.0", "sub:1.1|sub:1.0"]),
    );
    const ids = checkpoints.map((event) => event["checkpoint_id" as "type"]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await invokeGraph(outer)).toEqual(state);
  });

  it("uses the JSON form of a write, in memory and in the log", async () => {
    const graph = defineGraph({
      name: "g",
      channels: { list: append<unknown>(), map: merge<unknown>() },
      nodes: {
        a: () => ({
          list: [new Date(0), undefined, { gone: undefined }],
          map: JSON.parse('{"__proto__": {"x": 1}}') as { [key: string]: unknown },
        }),
      },
      start: "a",
    });
    const { state } = await perform(graph);
    expect(JSON.stringify(state)).toBe('{"list":["1970-01-01T00:00:00.000Z",null,{}],"map":{"__proto__":{"x":1}}}');
  });

  it("writes the same amount per step after many steps", async () => {
    const graph = defineGraph({
      name: "g",
      channels: { list: append<string>(), map: merge<number>() },
      nodes: { a: ({ list }) => ({ list: ["some words"], map: { [`k${list.length % 7}`]: 1 } }) },
      edges: { a: ({ list }) => (list.length < 1000 ? "a" : END) },
      start: "a",
    });
    const { records } = await perform(graph);
    const sizes = records.map(({ event }) => JSON.stringify(event).length);
    expect(Math.max(...sizes.slice(-1000, -2))).toBeLessThan(Math.max(...sizes.slice(0, 100)) + 20);
  });

  it("is the only one of its run", async () => {
    const graph = defineGraph({ name: "g", channels: trail, nodes: { a: () => ({ trail: ["a"] }) }, start: "a" });
    await using session = await openSession(await createLog(), SESSION);
    const run = await session.startRun();
    await runGraph(graph, { run });
    // Two graphs in one run would have the same checkpoint IDs.
    await expect(runGraph(graph, { run })).rejects.toMatchObject({ code: "graph_invalid" });
  });
});
