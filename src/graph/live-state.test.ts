import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../protocol/index.ts";
import { PatchedState } from "../protocol/state-patch.ts";
import { append, custom, merge, replace } from "./graph.ts";
import { LiveState } from "./live-state.ts";

const CHANNELS = {
  list: append<Json>(["first"]),
  map: merge<Json>({ a: 0 }),
  last: replace<Json>(null),
  /** Neither commutative nor associative. */
  text: custom<string, Json>("-", (value, write) => `(${value}${JSON.stringify(write)})`),
};

const value = fc.oneof(fc.integer(), fc.string({ maxLength: 3 }), fc.constant(null)) as fc.Arbitrary<Json>;
const writes = fc.record(
  {
    list: fc.array(value, { maxLength: 3 }),
    map: fc.dictionary(fc.constantFrom("a", "b", "__proto__", "constructor"), value, { maxKeys: 2 }),
    last: value,
    text: value,
  },
  { requiredKeys: [] },
);
/** The writes of the tasks of a step, and the order in which the tasks end. */
const step = fc.array(writes, { minLength: 1, maxLength: 6 }).chain((tasks) =>
  fc.record({
    tasks: fc.constant(tasks),
    order: fc.shuffledSubarray([...tasks.keys()], { minLength: tasks.length }),
  }),
);

/** Reference implementation: applies one write after another and copies everything. */
function mergePlainly(state: JsonObject, tasks: readonly { readonly [channel: string]: unknown }[]): JsonObject {
  const next: { [channel: string]: unknown } = structuredClone(state);
  for (const { list = [], map = {}, last, text } of tasks) {
    next["list"] = [...(next["list"] as Json[]), ...(list as Json[])];
    next["map"] = Object.fromEntries([...Object.entries(next["map"] as object), ...Object.entries(map as object)]);
    if (last !== undefined) next["last"] = last;
    if (text !== undefined) next["text"] = CHANNELS.text.reduce?.(next["text"] as string, text as Json);
  }
  return next as JsonObject;
}

describe("LiveState", () => {
  it("merges in task order in any order of completion, and its patches give the same state", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 5 }), fc.boolean(), (steps, isRestored) => {
        const live = new LiveState(CHANNELS);
        live.begin({});
        let plain = live.copy();
        const folded = new PatchedState(live.copy());
        for (const { tasks, order } of steps) {
          const patches: Json[] = [];
          for (const task of order) {
            const patch = live.add(task, live.createPatch(tasks[task], "a node"));
            // A round trip through the log, as on resume.
            patches[task] = JSON.parse(JSON.stringify(patch)) as Json;
          }
          const corrections = isRestored ? restoreAndEnd(live, patches) : live.endStep();
          plain = mergePlainly(plain, tasks);
          for (const patch of [...patches, corrections]) folded.apply(patch);
          expect(JSON.stringify(live.values)).toBe(JSON.stringify(plain));
          expect(JSON.stringify(folded.read())).toBe(JSON.stringify(plain));
        }
      }),
    );
  });

  /** Ends the step in another state that got only the patches. Both must be equal. */
  function restoreAndEnd(live: LiveState, patches: readonly Json[]) {
    const other = new LiveState(CHANNELS);
    other.restore(JSON.parse(JSON.stringify(live.values)) as Json);
    for (const [task, patch] of [...patches.entries()].toReversed()) other.addStored(task, patch);
    const corrections = other.endStep();
    live.endStep();
    expect(JSON.stringify(other.values)).toBe(JSON.stringify(live.values));
    return corrections;
  }

  it("merges a wide step in linear time", () => {
    let reduced = 0;
    const last = custom<number, number>(0, (_, write) => {
      reduced++;
      return write;
    });
    const live = new LiveState({ last });
    const width = 5000;
    for (let task = width - 1; task >= 0; task--) live.add(task, live.createPatch({ last: task }, "a node"));
    expect(live.endStep()).toEqual({ last: { set: width - 1 } });
    expect(reduced).toBeLessThan(256 ** 2 / 2 + 3 * width);
  });

  it("shares nothing with readers and with the channel definition", () => {
    const initial = ["first"];
    const channels = { list: append(initial) };
    const live = new LiveState(channels);
    const kept = live.copy();
    live.begin({ list: ["second"] });
    expect([initial, kept, live.values]).toEqual([["first"], { list: ["first"] }, { list: ["first", "second"] }]);
  });

  it("copies values of the state that a write contains", () => {
    const live = new LiveState({ ...CHANNELS, kept: replace<Json>(null), map2: merge<Json>() });
    const write = (writes: unknown) => live.createPatch(writes, "a node");
    const { list, map } = live.values;
    expect(() => write({ list })).toThrow(expect.objectContaining({ code: "graph_invalid" }));
    expect(write({ map })).toEqual({});
    live.add(0, write({ last: { deep: [list] }, kept: map, map2: { list }, list: [list] }));
    live.endStep();
    expect(write({ last: live.values["last"] })).toEqual({});
    live.add(0, write({ list: ["second"], map: { b: 1 } }));
    live.endStep();
    expect(live.values).toMatchObject({
      list: ["first", ["first"], "second"],
      map: { a: 0, b: 1 },
      last: { deep: [["first"]] },
      kept: { a: 0 },
      map2: { list: ["first"] },
    });
    expect(live.values["kept"]).toEqual({ a: 0 });
  });

  it("forgets the writes of a task when it is retried", () => {
    const live = new LiveState({
      sum: custom<number, number>(0, (a, b) => a + b),
      strict: custom<number, number>(0, (_, write) => {
        if (write < 0) throw new Error("below zero");
        return write;
      }),
    });
    live.add(0, live.createPatch({ sum: 1 }, "a node"));
    expect(() => live.add(1, live.createPatch({ sum: 10, strict: -1 }, "a node"))).toThrow("below zero");
    live.add(1, live.createPatch({}, "a node"));
    live.endStep();
    expect(live.values).toEqual({ sum: 1, strict: 0 });
  });

  it("rejects a reducer result that JSON cannot represent", () => {
    const live = new LiveState({ bad: custom(0, () => (() => 1) as unknown as number) });
    expect(() => live.add(0, live.createPatch({ bad: 1 }, "a node"))).toThrow(
      expect.objectContaining({ code: "node_failed", message: expect.stringContaining("reducer") as string }),
    );
  });
});
