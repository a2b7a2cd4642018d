import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SAMPLES } from "../../../test/sampling.ts";
import { Scheduler } from "./scheduler.ts";
import { shareSlot } from "./share-slot.ts";

/** The phases of a call: it works for a number of turns, then waits for approval for a number of turns. */
const call = fc.array(fc.record({ works: fc.nat(3), waits: fc.nat(8) }), { maxLength: 3 });
const thoughts = fc.array(fc.array(call, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 });

async function takeTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

describe("shareSlot", () => {
  it("keeps the slot while a call works, releases it once while all wait, and takes it back", async () => {
    await fc.assert(
      fc.asyncProperty(thoughts, fc.integer({ min: 1, max: 3 }), async (list, slots) => {
        const scheduler = new Scheduler(slots);
        // Thoughts with at least one working call, or without calls.
        const working = new Map<number, number>();
        const change = (index: number, by: number): void => {
          working.set(index, (working.get(index) ?? 0) + by);
          expect([...working.values()].filter((count) => count > 0).length).toBeLessThanOrEqual(slots);
        };
        const jobs = list.map((calls, index) => ({ id: `n${index}`, needs: [], calls, index }));
        await scheduler.run(jobs, {
          work: async ({ calls, index }) => {
            const watch = shareSlot(scheduler, calls.length);
            change(index, calls.length);
            const going = calls.map(async (steps) => {
              for (const { works, waits } of steps) {
                await takeTurns(works);
                change(index, -1);
                await watch.duringWait(() => takeTurns(waits));
                change(index, 1);
              }
              change(index, -1);
              watch.onCallEnd();
            });
            await Promise.all(going);
            change(index, 1);
            await takeTurns(1);
            change(index, -1);
            return true;
          },
          skip: () => Promise.resolve(),
        });
      }),
      { numRuns: SAMPLES.sessions * 2, seed: 6 },
    );
  });

  it("gives the slot to one other job, even if several calls wait", async () => {
    const scheduler = new Scheduler(1);
    const begun: string[] = [];
    const answer = Promise.withResolvers<void>();
    const never = new Promise<boolean>(() => undefined);
    void scheduler.run(
      ["a", "b", "c"].map((id) => ({ id, needs: [] })),
      {
        work: async ({ id }) => {
          begun.push(id);
          if (id !== "a") return never;
          const { duringWait: wait } = shareSlot(scheduler, 2);
          await Promise.all([wait(() => answer.promise), wait(() => answer.promise)]);
          begun.push("a goes on");
          return true;
        },
        skip: () => Promise.resolve(),
      },
    );
    await takeTurns(20);
    answer.resolve();
    await takeTurns(20);
    // There is one slot, and the second job keeps it.
    expect(begun).toEqual(["a", "b"]);
  });
});
