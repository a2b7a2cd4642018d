// Compares the backlog with a simple array.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, it } from "vitest";
import { SAMPLES } from "../../../test/sampling.ts";
import { Backlog } from "./backlog.ts";

const steps = fc.array(
  fc.oneof(fc.constant("shift" as const), fc.record({ bytes: fc.integer({ min: 1, max: 60 }), canGo: fc.boolean() })),
  { maxLength: 60 },
);

it("keeps its limits and order, drops droppable items first, and counts drops", () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 200 }), (script, items, bytes) => {
      const backlog = new Backlog<number>(items, bytes);
      let model: { readonly value: number; readonly bytes: number; readonly canGo: boolean }[] = [];
      const hasRoom = (more: number): boolean =>
        model.length === 0 || (model.length < items && model.reduce((sum, item) => sum + item.bytes, more) <= bytes);
      for (const [value, step] of script.entries()) {
        if (step === "shift") {
          expect(backlog.shift()).toBe(model.shift()?.value);
          continue;
        }
        let dropped = 0;
        while (!step.canGo && !hasRoom(step.bytes) && model.some(({ canGo }) => canGo)) {
          const newest = model.findLast(({ canGo }) => canGo);
          model = model.filter((item) => item !== newest);
          dropped++;
        }
        if (hasRoom(step.bytes)) model.push({ value, ...step });
        else dropped++;
        expect(backlog.push(value, step)).toBe(dropped);
      }
      expect(backlog.clear()).toBe(model.length);
      expect(backlog.shift()).toBeUndefined();
    }),
    { numRuns: SAMPLES.sessions },
  );
});

it("keeps its order over thousands of items", () => {
  const backlog = new Backlog<number>(10_000, 10_000);
  const all = Array.from({ length: 5000 }, (_, index) => index);
  for (const value of all) backlog.push(value, { bytes: 1, canGo: value % 2 === 0 });
  expect(all.map(() => backlog.shift())).toEqual(all);
});

it("releases consumed items", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const backlog = new Backlog<object>(10, 10);
  const taken = ((): WeakRef<object> => {
    backlog.push({}, { bytes: 1, canGo: false });
    backlog.push({}, { bytes: 1, canGo: false });
    return new WeakRef(backlog.shift() ?? {});
  })();
  // A dereferenced WeakRef keeps its target until the next turn of the event loop.
  await new Promise(setImmediate);
  collectGarbage();
  expect(taken.deref()).toBeUndefined();
  expect(backlog.clear()).toBe(1);
});
