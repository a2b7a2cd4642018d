import { describe, expect, it, vi } from "vitest";
import { SearchQueue } from "./search-queue.ts";

/** Starts a search that ends when `end` is called. */
function startSearch(queue: SearchQueue, signal?: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<string>();
  const search = vi.fn(() => promise);
  return { search, end: () => resolve("found"), result: queue.run(search, signal) };
}

describe("a search queue", () => {
  it("runs few searches at a time, the others in order of arrival", async () => {
    const queue = new SearchQueue({ maxWaiting: 2, timeoutMs: 60_000 });
    const [first, second] = [startSearch(queue), startSearch(queue)];
    const [third, fourth] = [startSearch(queue), startSearch(queue)];
    await expect(startSearch(queue).result).rejects.toMatchObject({ code: "too_many_searches", details: { limit: 2 } });
    expect(third.search).not.toHaveBeenCalled();
    second.end();
    expect(await second.result).toBe("found");
    await vi.waitFor(() => expect(third.search).toHaveBeenCalled());
    expect(fourth.search).not.toHaveBeenCalled();
    for (const { end } of [first, third, fourth]) end();
    expect(await Promise.all([first.result, third.result, fourth.result])).toEqual(["found", "found", "found"]);
  });

  it("rejects a search that has waited too long, and one that failed does not keep its place", async () => {
    const queue = new SearchQueue({ maxRunning: 1, maxWaiting: 2, timeoutMs: 0 });
    const running = startSearch(queue);
    const waiting = startSearch(queue);
    await expect(waiting.result).rejects.toMatchObject({ code: "search_timeout", details: { limit: 0 } });
    running.end();
    expect(waiting.search).not.toHaveBeenCalled();
    const failing = queue.run(() => Promise.reject(new Error("failed")), undefined);
    await expect(failing).rejects.toThrow("failed");
    expect(await queue.run(async () => "next", undefined)).toBe("next");
  });

  it("rejects an aborted search at once, and runs the next one when it has ended", async () => {
    const queue = new SearchQueue({ maxRunning: 1, maxWaiting: 2, timeoutMs: 60_000 });
    const [running, waiting] = [new AbortController(), new AbortController()];
    const first = startSearch(queue, running.signal);
    const second = startSearch(queue, waiting.signal);
    const third = startSearch(queue);
    running.abort(new Error("gone"));
    waiting.abort(new Error("also gone"));
    await expect(first.result).rejects.toThrow("gone");
    await expect(second.result).rejects.toThrow("also gone");
    expect(third.search).not.toHaveBeenCalled();
    first.end();
    await vi.waitFor(() => expect(third.search).toHaveBeenCalled());
    third.end();
    expect(await third.result).toBe("found");
    expect(second.search).not.toHaveBeenCalled();
  });
});
