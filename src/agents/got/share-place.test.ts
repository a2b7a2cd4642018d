import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SAMPLES } from "../../../test/sampling.ts";
import { Scheduler } from "./scheduler.ts";
import { sharePlace } from "./share-place.ts";

/** What a call does in turn: it works for so many turns, then asks and waits for so many. */
const call = fc.array(fc.record({ works: fc.nat(3), waits: fc.nat(8) }), { maxLength: 3 });
const thoughts = fc.array(fc.array(call, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 });

async function takeTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

describe("a place that calls share", () => {
  it("is held while one of them works, given away once while all wait, and held again at the end", async () => {
    await fc.assert(
      fc.asyncProperty(thoughts, fc.integer({ min: 1, max: 3 }), async (list, places) => {
        const scheduler = new Scheduler(places);
        // Thoughts of which at least one call works, or that have no call any more.
        const working = new Map<number, number>();
        const change = (index: number, by: number): void => {
          working.set(index, (working.get(index) ?? 0) + by);
          expect([...working.values()].filter((count) => count > 0).length).toBeLessThanOrEqual(places);
        };
        const jobs = list.map((calls, index) => ({ id: `n${index}`, needs: [], calls, index }));
        await scheduler.run(jobs, {
          work: async ({ calls, index }) => {
            const watch = sharePlace(scheduler, calls.length);
            change(index, calls.length);
            const going = calls.map(async (steps) => {
              for (const { works, waits } of steps) {
                await takeTurns(works);
                change(index, -1);
                await watch.wait(() => takeTurns(waits));
                change(index, 1);
              }
              change(index, -1);
              watch.end();
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

  it("goes to another though several ask, and not to two", async () => {
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
          const { wait } = sharePlace(scheduler, 2);
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
    // There is one place, and the second has it for ever.
    expect(begun).toEqual(["a", "b"]);
  });
});
