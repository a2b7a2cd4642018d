// The order and the number of frames that wait to be counted.
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { FrameGate } from "./frame-gate.ts";

function createFixture() {
  const counts: PromiseWithResolvers<void>[] = [];
  const gate = new FrameGate(() => {
    const count = Promise.withResolvers<void>();
    counts.push(count);
    return count.promise;
  }, 25);
  const passed: string[] = [];
  const pass = (name: string, length = 1): void =>
    gate.pass(length, (refusal) => passed.push(refusal === undefined ? name : `no ${name}`));
  const follow = (name: string): void => gate.follow(() => passed.push(name));
  return { counts, passed, pass, follow };
}

it("keeps the order of frames when counts arrive in another order", async () => {
  const { counts, passed, pass, follow } = createFixture();
  follow("first");
  for (const name of ["a", "b", "c"]) pass(name);
  follow("d");
  counts[2]?.resolve();
  counts[1]?.reject(new Error("limit"));
  await setImmediate();
  expect(passed).toEqual(["first"]);
  counts[0]?.resolve();
  await setImmediate();
  expect(passed).toEqual(["first", "a", "no b", "c", "d"]);
  follow("e");
  expect(passed.at(-1)).toBe("e");
});

it("refuses frames when too many wait", async () => {
  const { counts, passed, pass } = createFixture();
  for (let at = 0; at < 22; at++) pass(String(at), 5);
  expect([counts.length, passed]).toEqual([20, ["no 20", "no 21"]]);
  for (const { resolve } of counts) resolve();
  await setImmediate();
  expect(passed.slice(2)).toEqual(Array.from({ length: 20 }, (_, at) => String(at)));
  pass("later", 100);
  counts[20]?.resolve();
  await setImmediate();
  expect(passed.at(-1)).toBe("later");
});

it("passes frames at once without a rate limit", () => {
  const passed: unknown[] = [];
  new FrameGate(undefined, 0).pass(1, (refusal) => passed.push(refusal));
  expect(passed).toEqual([undefined]);
});
