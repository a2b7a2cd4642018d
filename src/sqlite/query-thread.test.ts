import { setTimeout as wait } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { describe, expect, it, onTestFinished } from "vitest";
import { QueryThread } from "./query-thread.ts";

/** Answers a query with its value, after it has blocked its thread for `ms`. */
const THREAD = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, threadId } from "node:worker_threads";
    parentPort.on("message", (query) => {
      if (query === "close") return parentPort.close();
      if (query.exit) process.exit(1);
      for (const until = performance.now() + (query.ms ?? 0); performance.now() < until;);
      if (query.error) return parentPort.postMessage({ error: query.error });
      parentPort.postMessage({ value: { value: query.value, threadId } });
    });
    parentPort.postMessage("ready");`)}`,
);

function open({ timeoutMs = 60_000, maxWaiting = 10 } = {}) {
  const threads: Worker[] = [];
  const note = (worker: Worker): void => void threads.push(worker);
  process.on("worker", note);
  const thread = new QueryThread({ thread: THREAD, data: {}, timeoutMs, maxWaiting });
  onTestFinished(async () => {
    process.off("worker", note);
    await thread.close();
  });
  const ask = async (value: number, more: object = {}, signal?: AbortSignal) =>
    (await thread.ask<{ readonly value: number }>({ value, ...more }, signal)).value;
  return { thread, ask, threads };
}

describe("a query thread", () => {
  it("starts with the first query and answers in order", async () => {
    const { ask, threads } = open();
    expect(threads).toHaveLength(0);
    const order: number[] = [];
    const asked = [1, 2, 3, 4].map(async (value) => order.push(await ask(value, { ms: 10 - value })));
    await Promise.all(asked);
    expect(order).toEqual([1, 2, 3, 4]);
    await expect(
      ask(5, { error: { code: "store_corrupt", message: "It is damaged", details: { path: "x" } } }),
    ).rejects.toMatchObject({ code: "store_corrupt", details: { path: "x" } });
    expect(await ask(6)).toBe(6);
    expect(threads).toHaveLength(1);
  });

  it("stops a query that takes too long, and answers the next one", async () => {
    const { ask, threads } = open({ timeoutMs: 200 });
    const slow = ask(1, { ms: 3_600_000 });
    await expect(slow).rejects.toMatchObject({ code: "search_timeout", details: { limit: 200 } });
    expect(await ask(2)).toBe(2);
    expect(threads).toHaveLength(2);
    // The thread of the slow query has ended.
    await expect.poll(() => threads[0]?.threadId, { timeout: 10_000 }).toBe(-1);
  });

  it("rejects queries that have waited too long, without running them", async () => {
    const { ask, threads } = open({ timeoutMs: 200 });
    const asked = [1, 2, 3, 4].map((value) => ask(value, { ms: 3_600_000 }));
    const refused = { status: "rejected", reason: { code: "search_timeout" } };
    expect(await Promise.allSettled(asked)).toMatchObject([refused, refused, refused, refused]);
    expect(threads.length).toBeLessThan(3);
  });

  it("limits the number of waiting queries", async () => {
    const { ask } = open({ maxWaiting: 2 });
    const asked = [1, 2, 3].map((value) => ask(value, { ms: 50 }));
    await expect(ask(4)).rejects.toMatchObject({ code: "too_many_searches", details: { limit: 2 } });
    expect(await Promise.all(asked)).toEqual([1, 2, 3]);
    expect(await ask(5)).toBe(5);
  });

  it("starts again after its thread was killed", async () => {
    const { ask, threads } = open();
    await expect(ask(1, { exit: true })).rejects.toMatchObject({ code: "store_failed" });
    expect(await ask(2)).toBe(2);
    await threads[1]?.terminate();
    expect(await ask(3)).toBe(3);
  });

  it("stops abandoned queries", async () => {
    const { ask, threads } = open();
    expect(await ask(0)).toBe(0);
    const [running, waiting] = [new AbortController(), new AbortController()];
    const slow = ask(1, { ms: 3_600_000 }, running.signal);
    const second = ask(2, {}, waiting.signal);
    const third = ask(3);
    waiting.abort(new Error("gone"));
    await expect(second).rejects.toThrow("gone");
    await wait(10);
    running.abort(new Error("also gone"));
    await expect(slow).rejects.toThrow("also gone");
    expect(await third).toBe(3);
    expect(threads).toHaveLength(2);
    await expect(ask(4, {}, AbortSignal.abort(new Error("before")))).rejects.toThrow("before");
  });

  it("rejects an argument that cannot be sent", async () => {
    const { ask } = open();
    await expect(ask(1, { value: () => 1 })).rejects.toThrow("could not be cloned");
    expect(await ask(2)).toBe(2);
  });

  it("rejects all queries when it is closed", async () => {
    const { thread, ask, threads } = open();
    const asked = [1, 2].map((value) => ask(value, { ms: 3_600_000 }));
    const ended = Promise.allSettled(asked);
    await expect.poll(() => threads.length).toBe(1);
    await wait(50);
    await thread.close();
    for (const one of await ended) expect(one).toMatchObject({ reason: { code: "store_closed" } });
    await expect(ask(3)).rejects.toMatchObject({ code: "store_closed" });
    expect(threads.map(({ threadId }) => threadId)).toEqual([-1]);
  });
});
