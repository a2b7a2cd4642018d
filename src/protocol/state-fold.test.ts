import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import type { UpdatesEvent } from "./events.generated.ts";
import type { AnyEvent } from "./record.ts";
import { isDelta, StateFold } from "./state-fold.ts";
import { PatchedState, type StatePatch } from "./state-patch.ts";

const checkpoint = (step: number, state: Json, more: JsonObject = {}): AnyEvent => ({
  type: "checkpoint",
  checkpoint_id: `c${step}`,
  timestamp: "2025-01-01T00:00:00.000Z",
  step,
  state,
  ...more,
});
const updates = (id: string, task: number, state: Json, more: JsonObject = {}): AnyEvent => ({
  type: "updates",
  id,
  state,
  task,
  ...more,
  delta: true,
});
const delta = { delta: true };

/** Reference implementation of a patch that copies everything. */
function patchPlainly(state: JsonObject, patch: StatePatch): JsonObject {
  const next = new Map(Object.entries(structuredClone(state)));
  for (const [channel, change] of Object.entries(structuredClone(patch))) {
    const value = next.get(channel);
    if ("set" in change) next.set(channel, change.set);
    else if ("append" in change)
      next.set(channel, [...(Array.isArray(value) ? (value as Json[]) : []), ...change.append]);
    else {
      const known = isJsonObject(value) ? Object.entries(value) : [];
      next.set(channel, Object.fromEntries([...known, ...Object.entries(change.merge)]));
    }
  }
  return Object.fromEntries(next);
}

const json = fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>;
const key = fc.constantFrom("a", "b", "__proto__", "constructor");
const channelPatch = fc.oneof(
  json.map((set) => ({ set })),
  fc.array(json, { maxLength: 3 }).map((append) => ({ append })),
  fc.array(fc.tuple(key, json), { maxLength: 3 }).map((entries) => ({ merge: Object.fromEntries(entries) })),
);
/** As in a graph, `append` is used for lists and `merge` for objects; `set` may replace anything. */
const patchArbitrary = fc
  .array(fc.tuple(fc.constantFrom("x", "list", "object", "__proto__"), channelPatch), { maxLength: 3 })
  .map((entries) =>
    Object.fromEntries(
      entries.filter(
        ([channel, change]) =>
          "set" in change || (channel === "list" && "append" in change) || (channel === "object" && "merge" in change),
      ),
    ),
  );
const stepArbitrary = fc.record({
  /** By task, with the order in which they finish. */
  writes: fc.array(fc.tuple(patchArbitrary, fc.nat(1000)), { maxLength: 4 }),
  values: fc.option(patchArbitrary),
  checkpoint: patchArbitrary,
  /** True if the step writes its full state. */
  isWhole: fc.nat(9).map((n) => n === 0),
});

describe("StateFold", () => {
  it("restores full states from deltas, also if it is saved before every event", () => {
    fc.assert(
      fc.property(
        fc.array(stepArbitrary, { maxLength: 12 }),
        fc.constantFrom("", "sub"),
        fc.boolean(),
        (steps, ns, isSaved) => {
          const space: JsonObject = ns === "" ? {} : { checkpoint_ns: ns };
          let fold = new StateFold();
          const add = (event: AnyEvent): void => {
            if (isSaved) fold = StateFold.restore(structuredClone(fold.save()));
            fold.add(event);
          };
          const shown: [unknown, string][] = [];
          const see = (event: AnyEvent, expected: unknown): void => {
            add(event);
            const { state, delta: left } = fold.withFullState(event) as { state: unknown; delta?: unknown };
            expect(JSON.stringify(state)).toBe(JSON.stringify(expected));
            if (event["delta" as never] === true) expect(left).toBeUndefined();
            shown.push([state, JSON.stringify(state)]);
          };
          let state: JsonObject = { x: 0, list: [], object: {} };
          see(checkpoint(0, structuredClone(state), space), state);
          for (const [index, step] of steps.entries()) {
            const tasks = step.writes.map(([patch, when], task) => ({ patch, when, task }));
            const finished: { patch: StatePatch; task: number }[] = [];
            for (const { patch, task } of tasks.toSorted((a, b) => a.when - b.when)) {
              finished.push({ patch, task });
              const merged = finished
                .toSorted((a, b) => a.task - b.task)
                .reduce((all, { patch: next }) => patchPlainly(all, next), state);
              const written = Object.fromEntries(Object.keys(patch).map((channel) => [channel, merged[channel]]));
              const update = updates("n", task, patch, space);
              add(update);
              expect(fold.readWritten(update as UpdatesEvent)).toEqual(written);
              const { delta: _, ...rest } = { ...update, state: merged, written } as JsonObject;
              const whole = fold.withFullState(update) as { readonly state: Json };
              expect(whole).toEqual(rest);
              shown.push([whole.state, JSON.stringify(whole.state)]);
              const found = fold.find(ns);
              expect(found?.base).toEqual(state);
              expect(found?.state).toEqual(merged);
              expect(found?.pending.map((pending) => pending.task)).toEqual(
                finished.map((write) => write.task).toSorted((a, b) => a - b),
              );
            }
            const before = state;
            state = tasks.reduce((all, { patch }) => patchPlainly(all, patch), state);
            if (step.values !== null) {
              state = patchPlainly(state, step.values);
              see({ type: "values", state: step.values, ...space, ...delta }, state);
              // A run that is resumed here starts from the last checkpoint.
              expect(fold.find(ns)?.base).toEqual(before);
              expect(fold.find(ns)?.pending).toHaveLength(tasks.length);
            }
            const closing = step.isWhole
              ? checkpoint(index + 1, structuredClone(state), space)
              : checkpoint(index + 1, step.checkpoint, { ...space, ...delta });
            if (!step.isWhole) state = patchPlainly(state, step.checkpoint);
            see(closing, state);
            expect(fold.find(ns)).toEqual({ state, base: state, pending: [], checkpoint: closing, isComplete: true });
          }
          for (const [value, text] of shown) expect(JSON.stringify(value)).toBe(text);
        },
      ),
    );
  });

  it("ignores malformed events", () => {
    const anything = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.dictionary(key, fc.dictionary(fc.constantFrom("set", "append", "merge", "write"), fc.jsonValue())),
    ) as fc.Arbitrary<Json>;
    const event = fc.record({
      type: fc.constantFrom("updates", "values", "checkpoint", "custom"),
      state: anything,
      task: fc.option(fc.nat(3), { nil: undefined }),
      checkpoint_ns: fc.constantFrom("", "a", "b"),
      delta: fc.constantFrom(true, false),
    });
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const fold = new StateFold({ maxNamespaces: 1, maxPending: 2 });
        for (const next of events as unknown as AnyEvent[]) {
          fold.add(next);
          fold.withFullState(next);
          fold.find();
          fold.find("a");
        }
        expect({}.constructor).toBe(Object);
      }),
    );
    const applyPatch = (state: Json, given: Json): Json => {
      const patched = new PatchedState(state);
      patched.apply(given);
      return patched.read();
    };
    expect(applyPatch({ a: 1 }, { a: 2, b: { append: 3 }, c: { merge: [] }, d: null })).toEqual({ a: 1 });
    expect(applyPatch("text", {})).toBe("text");
    expect(applyPatch(null, { a: { append: [1] } })).toEqual({ a: [1] });
  });

  it("does not change its input", () => {
    const whole = { list: [1], object: { a: 1 } };
    const patch = { list: { append: [2] }, object: { merge: { b: 2 } } };
    const fold = new StateFold();
    fold.add(checkpoint(0, whole));
    for (let step = 1; step < 4; step++) {
      fold.add(updates("n", 0, patch));
      fold.add(checkpoint(step, { other: { set: whole.list } }, delta));
      fold.add(updates("n", 0, { other: { append: [9] } }));
    }
    expect(whole).toEqual({ list: [1], object: { a: 1 } });
    expect(patch).toEqual({ list: { append: [2] }, object: { merge: { b: 2 } } });
    expect(fold.find()?.state).toEqual({ list: [1, 2, 2, 2], object: { a: 1, b: 2 }, other: [1, 9] });
  });

  it("separates subgraphs and releases them at the end of their super-step", () => {
    const fold = new StateFold();
    fold.add(checkpoint(0, { n: 0 }));
    fold.add(checkpoint(0, { n: 10 }, { checkpoint_ns: "a" }));
    fold.add(updates("x", 0, { n: { set: 11 } }, { checkpoint_ns: "a" }));
    expect([fold.find()?.state, fold.find("a")?.state, fold.find("b")]).toEqual([{ n: 0 }, { n: 11 }, undefined]);
    fold.add(updates("y", 0, { n: { set: 1 } }));
    fold.add(checkpoint(1, {}, delta));
    expect([fold.find()?.state, fold.find("a")]).toEqual([{ n: 1 }, undefined]);
  });

  it("keeps a subgraph and those inside it until its node run is merged", () => {
    const fold = new StateFold({ maxNamespaces: 3 });
    const inner = (ns: string, state: Json, more: JsonObject = {}) =>
      checkpoint(0, state, { checkpoint_ns: ns, ...more });
    fold.add(checkpoint(0, { n: 0 }));
    fold.add(inner("agent:1.0", { goal: "find it" }));
    // More subgraphs than the limit allows, but each is released when it is done.
    for (let step = 1; step <= 5000; step++) {
      const ns = `agent:1.0|help:${step}.0`;
      fold.add(inner(ns, { step }));
      fold.add(inner(`${ns}|deep:1.0`, { step }));
      expect(fold.find(`${ns}|deep:1.0`)?.state).toEqual({ step });
      fold.add(updates("help", 0, { n: { set: step } }, { checkpoint_ns: "agent:1.0" }));
      expect([fold.find(ns), fold.find(`${ns}|deep:1.0`)]).toEqual([undefined, undefined]);
      fold.add(checkpoint(step, {}, { checkpoint_ns: "agent:1.0", ...delta }));
    }
    expect(fold.find("agent:1.0")?.state).toEqual({ goal: "find it", n: 5000 });
    // The end of another task does not release this subgraph.
    fold.add(updates("agent", 1, {}));
    expect(fold.find("agent:1.0")).toBeDefined();
    fold.add(updates("agent", 0, {}));
    expect(fold.find("agent:1.0")).toBeUndefined();
  });

  it("returns no state with an unknown start, and evicts no live one", () => {
    const fold = new StateFold({ maxNamespaces: 2 });
    const shown = (event: AnyEvent) => {
      fold.add(event);
      const seen = fold.withFullState(event);
      expect(fold.hasFullState(event)).toBe(seen !== undefined);
      return seen === undefined ? undefined : (seen as { state?: Json }).state;
    };
    const at = (ns: string) => ({ checkpoint_ns: ns });
    expect(shown(updates("n", 0, { a: { append: [1] } }))).toBeUndefined();
    expect(shown({ type: "values", state: {}, ...delta })).toBeUndefined();
    for (const ns of ["a", "b", "c"]) expect(shown(checkpoint(0, { list: [ns] }, at(ns)))).toEqual({ list: [ns] });
    for (const ns of ["a", "b"])
      expect(shown(updates("n", 0, { list: { append: [1] } }, at(ns)))).toEqual({ list: [ns, 1] });
    expect(shown(updates("n", 0, { list: { append: [1] } }, at("c")))).toBeUndefined();
    expect(shown(checkpoint(1, {}, { ...at("c"), ...delta }))).toBeUndefined();
    expect(shown(checkpoint(1, {}, { ...at("a"), ...delta }))).toEqual({ list: ["a", 1] });
  });

  it("removes the delta marker of a full state", () => {
    const fold = new StateFold();
    const first = checkpoint(0, { n: 1 }, { delta: false });
    fold.add(first);
    expect(fold.withFullState(first)).toEqual(checkpoint(0, { n: 1 }, { checkpoint_ns: "" }));
    const next = checkpoint(1, { n: { set: 2 } }, delta);
    fold.add(next);
    expect(fold.withFullState(next)).toEqual(checkpoint(1, { n: 2 }, { checkpoint_ns: "" }));
    expect([isDelta(first), isDelta(next)]).toEqual([false, true]);
  });

  it("gives no state for the stored result of a part, which reports no merge", () => {
    const fold = new StateFold();
    fold.add(checkpoint(0, { n: 1 }));
    const part: AnyEvent = {
      type: "updates",
      id: "n",
      state: { result: 7 },
      checkpoint_ns: "n:1.0|part",
      delta: false,
    };
    fold.add(part);
    expect([fold.hasFullState(part), fold.withFullState(part)]).toEqual([false, undefined]);
  });

  it("reports that no full state was received", () => {
    const fold = new StateFold();
    expect(fold.find()).toBeUndefined();
    fold.add(updates("n", 0, { a: { append: [1] } }));
    expect(fold.find()).toMatchObject({ state: { a: [1] }, base: {}, isComplete: false });
  });

  it("copies a growing list once, not in each step", () => {
    const fold = new StateFold();
    fold.add(checkpoint(0, { list: [] }));
    const copies = vi.spyOn(Array.prototype, "slice");
    onTestFinished(() => copies.mockRestore());
    for (let step = 1; step <= 20_000; step++) {
      fold.add(updates("n", 0, { list: { append: [step] } }));
      fold.add({ type: "values", state: {}, ...delta });
      fold.add(checkpoint(step, {}, delta));
    }
    expect(copies.mock.calls.length).toBeLessThan(10);
    expect(fold.find()?.state).toHaveProperty("list.length", 20_000);
  });

  it.each([
    ["in order", (task: number) => task],
    ["in reverse order", (task: number, count: number) => count - task],
    ["in any order", (task: number, count: number) => (task * 7919) % count],
  ])(
    "reads each patch of a wide super-step a few times for the written channels, with tasks finishing %s",
    (_name, place) => {
      const count = 3000;
      let reads = 0;
      const noteRead = <R>(read: R): R => {
        reads++;
        return read;
      };
      const counted = (patch: JsonObject): JsonObject =>
        new Proxy(patch, {
          ownKeys: (target) => noteRead(Reflect.ownKeys(target)),
          get: (target, key) => noteRead(Reflect.get(target, key) as unknown),
          getOwnPropertyDescriptor: (target, key) => noteRead(Reflect.getOwnPropertyDescriptor(target, key)),
        });
      const fold = new StateFold();
      fold.add(checkpoint(0, { n: 0, list: [] }));
      for (let i = 0; i < count; i++) {
        const event = updates("x", place(i, count), counted({ n: { set: i } }));
        fold.add(event);
        fold.readWritten(event as UpdatesEvent);
        fold.add(updates("y", place(i, count), counted({ list: { append: [i] } })));
      }
      fold.add(checkpoint(1, {}, delta));
      expect(fold.find()?.state).toHaveProperty("list.length", count);
      // Reading all earlier patches for each would take millions.
      expect(reads).toBeLessThan(40 * count);
    },
  );
});
