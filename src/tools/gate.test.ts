import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Gate } from "./gate.ts";

const never = new AbortController().signal;

describe("a gate", () => {
  it("lets so many through, then the others in their order", async () => {
    const gate = new Gate(2);
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
    // Twice is once.
    releases[0]?.();
    await all[2];
    expect(order).toEqual([0, 1, 2]);
    releases[1]?.();
    await all[3];
    expect(order).toEqual([0, 1, 2, 3]);
  });

  it("refuses those for whom there is no room to wait", async () => {
    const gate = new Gate(1, 1);
    await gate.enter(never);
    void gate.enter(never);
    await expect(gate.enter(never)).rejects.toMatchObject({ code: "queue_full" });
  });

  it("loses no place, whoever gives up and when", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.record({ giveUp: fc.boolean(), pauses: fc.nat(6), holds: fc.nat(6) }), { maxLength: 12 }),
        async (limit, visitors) => {
          const gate = new Gate(limit);
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
          // All places are free again, and no more than those.
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
