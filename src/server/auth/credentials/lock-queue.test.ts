// Work that waits for the lock of a file: order, timeouts and limits.
import { expect, it } from "vitest";
import { LoomError } from "../../../protocol/loom-error.ts";
import { LockQueue, MAX_WAITING } from "./lock-queue.ts";

function createFixture(maxWaitMs: number) {
  const state = { isLocked: true, attempts: 0 };
  const done: number[] = [];
  const queue = new LockQueue(maxWaitMs);
  const add = (name: number): Promise<void> =>
    queue.run(() => {
      state.attempts++;
      if (state.isLocked) throw new LoomError("store_busy", "locked");
      done.push(name);
    });
  return { state, done, queue, add };
}

const BUSY = expect.objectContaining({ code: "store_busy" }) as Error;

it("runs work in order when the lock ends, with one attempt at a time", async () => {
  const { state, done, queue, add } = createFixture(30_000);
  const all = Array.from({ length: 100 }, (_, name) => add(name));
  await new Promise((resolve) => setTimeout(resolve, 100));
  // The first one at once, then one per pause.
  expect(state.attempts).toBeLessThan(20);
  state.isLocked = false;
  await Promise.all(all);
  await queue.idle;
  expect(done).toEqual(Array.from({ length: 100 }, (_, name) => name));
});

it("fails after the time limit, and later work still runs", async () => {
  const { state, done, add } = createFixture(20);
  await Promise.all([1, 2, 3].map((name) => expect(add(name)).rejects.toThrow(BUSY)));
  state.isLocked = false;
  await add(4);
  expect(done).toEqual([4]);
});

it("limits how much work waits", async () => {
  const { state, done, add } = createFixture(30_000);
  const waiting = Array.from({ length: MAX_WAITING }, (_, name) => add(name));
  await expect(add(MAX_WAITING)).rejects.toThrow(BUSY);
  state.isLocked = false;
  await Promise.all(waiting);
  expect(done).toHaveLength(MAX_WAITING);
});

it("does not repeat work that fails for another reason", async () => {
  const queue = new LockQueue(30_000);
  let attempts = 0;
  const fail = (): never => {
    attempts++;
    throw new LoomError("store_full", "full");
  };
  await expect(queue.run(fail)).rejects.toThrow(expect.objectContaining({ code: "store_full" }));
  expect(attempts).toBe(1);
});
