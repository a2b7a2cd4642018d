// Which answer of several requests counts, and when requests are sent.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createQuery } from "./query.ts";

describe("a query", () => {
  it("returns the answer of its latest request only", async () => {
    const query = createQuery();
    const signals: AbortSignal[] = [];
    const request = (answer: () => Promise<string>) =>
      query.latest((signal) => {
        signals.push(signal);
        return answer();
      });
    const first = request(() => Promise.resolve("first"));
    const failed = request(() => Promise.reject(new Error("aborted")));
    const last = request(() => Promise.resolve("last"));
    expect(await Promise.all([first, failed, last])).toEqual([undefined, undefined, "last"]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false]);
    await expect(request(() => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
    const cancelled = request(() => Promise.resolve("late"));
    query.cancel();
    expect(await cancelled).toBeUndefined();
  });

  it("repeats a request whose answer a change made stale", async () => {
    const query = createQuery();
    let count = 0;
    const answer = await query.fresh(() => {
      if (count === 0) query.change();
      return Promise.resolve(++count);
    });
    expect(answer).toBe(2);
  });

  it("repeats a request that was sent during a change", async () => {
    const query = createQuery();
    const work = Promise.withResolvers<void>();
    const changed = query.changing(() => work.promise);
    let count = 0;
    const answer = query.fresh(async () => {
      work.resolve();
      await changed;
      return ++count;
    });
    expect(await answer).toBe(2);
  });

  describe("with a schedule", () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    it("loads once, at the earliest of the wanted times", () => {
      const query = createQuery();
      const load = vi.fn();
      for (const ms of [500, 100, 300]) query.schedule(ms, load);
      vi.advanceTimersByTime(100);
      expect(load).toHaveBeenCalledTimes(1);
      vi.advanceTimersByTime(1000);
      expect(load).toHaveBeenCalledTimes(1);
      query.schedule(100, load);
      query.cancel();
      vi.advanceTimersByTime(1000);
      expect(load).toHaveBeenCalledTimes(1);
    });
  });
});
