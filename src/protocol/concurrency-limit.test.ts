import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConcurrencyLimit } from "./concurrency-limit.ts";

const never = new AbortController().signal;

describe("ConcurrencyLimit", () => {
  it("admits as many as allowed, then the others in order of arrival", async () => {
    const gate = new ConcurrencyLimit(2);
    const order: number[] = [];
    const releases: (() => void)[] = [];
    const all = [0, 1, 2, 3].map(async (id) => {
      const release = await gate.enter(never);
      order.push(id);
      releases.push(release);
    });
    await all[1];
    expect(order).toEqual([0, 1]);
    releases[0]?.();
    // Releasing twice has no further effect.
    releases[0]?.();
    await all[2];
    expect(order).toEqual([0, 1, 2]);
    releases[1]?.();
    await all[3];
    expect(order).toEqual([0, 1, 2, 3]);
  });

  it("frees the slot of an operation that throws at once", async () => {
    const gate = new ConcurrencyLimit(1);
    const failing = gate.run(() => {
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(gate.isIdle).toBe(true);
  });

  it("rejects when the queue is full", async () => {
    const gate = new ConcurrencyLimit(1, { maxWaiting: 1 });
    await gate.enter(never);
    void gate.enter(never);
    await expect(gate.enter(never)).rejects.toMatchObject({ code: "queue_full" });
  });

  it("never loses or duplicates a slot when waiting calls abort", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.record({ giveUp: fc.boolean(), pauses: fc.nat(6), holds: fc.nat(6) }), { maxLength: 12 }),
        async (limit, visitors) => {
          const gate = new ConcurrencyLimit(limit);
          let inside = 0;
          const pause = async (ticks: number): Promise<void> => {
            for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
          };
          await Promise.all(
            visitors.map(async ({ giveUp, pauses, holds }) => {
              const abort = new AbortController();
              const entered = gate.enter(abort.signal);
              if (giveUp) void pause(pauses).then(() => abort.abort());
              let release;
              try {
                release = await entered;
              } catch {
                return;
              }
              expect(++inside).toBeLessThanOrEqual(limit);
              await pause(holds);
              inside--;
              release();
            }),
          );
          // All slots are free again, and no more than those.
          const places = await Promise.all(Array.from({ length: limit }, () => gate.enter(never)));
          const abort = new AbortController();
          const more = gate.enter(abort.signal);
          abort.abort();
          await expect(more).rejects.toBeDefined();
          for (const release of places) release();
        },
      ),
      { numRuns: 300 },
    );
  });
});
