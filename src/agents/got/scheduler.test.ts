import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SAMPLES } from "../../../test/sampling.ts";
import { type ScheduledJob, Scheduler } from "./scheduler.ts";

/** A job that takes a number of microtask turns, and may fail or have inner jobs. */
interface Sample extends ScheduledJob {
  readonly turns: number;
  readonly fails: boolean;
  readonly inner: readonly Sample[];
}

const leaf = fc.record({ turns: fc.nat(6), fails: fc.boolean(), picks: fc.array(fc.nat(100), { maxLength: 4 }) });

function link(
  prefix: string,
  list: readonly { turns: number; fails: boolean; picks: readonly number[]; inner?: readonly Sample[] }[],
): readonly Sample[] {
  return list.map(({ turns, fails, picks, inner = [] }, index) => ({
    id: `${prefix}${index}`,
    needs: index === 0 ? [] : [...new Set(picks.map((pick) => `${prefix}${pick % index}`))],
    turns,
    // Failures are rare, so that something happens after them.
    fails: fails && turns % 3 === 0,
    inner: inner.map((one) => renamed(one, `${prefix}${index}.`)),
  }));
}

function renamed({ id, needs, ...rest }: Sample, prefix: string): Sample {
  return { ...rest, id: prefix + id, needs: needs.map((need) => prefix + need) };
}

const flat = fc.array(leaf, { minLength: 1, maxLength: 12 }).map((list) => link("n", list));
const nested = fc
  .array(fc.record({ leaf, inner: fc.option(flat, { nil: [], freq: 2 }) }), { minLength: 1, maxLength: 8 })
  .map((list) =>
    link(
      "n",
      list.map((one) => ({ ...one.leaf, inner: one.inner })),
    ),
  );

async function takeTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

/** Runs the jobs and records what happened. */
async function runJobs(jobs: readonly Sample[], slots: number) {
  const scheduler = new Scheduler(slots);
  const begun: string[] = [];
  const done = new Map<string, boolean>();
  const skipped = new Map<string, string>();
  const seen = { most: 0, early: [] as string[] };
  let working = 0;
  const run = (list: readonly Sample[]): Promise<void> =>
    scheduler.run(list, {
      work: async ({ id, needs, turns, fails, inner }) => {
        begun.push(id);
        if (needs.some((need) => done.get(need) !== true)) seen.early.push(id);
        seen.most = Math.max(seen.most, ++working);
        await takeTurns(turns);
        if (inner.length > 0) {
          working--;
          await scheduler.releaseSlotWhile(() => run(inner));
          seen.most = Math.max(seen.most, ++working);
          await takeTurns(1);
        }
        working--;
        done.set(id, !fails);
        return !fails;
      },
      skip: async ({ id }, need) => {
        await takeTurns(1);
        skipped.set(id, need);
      },
    });
  await run(jobs);
  return { begun, done, skipped, seen };
}

/** The jobs that cannot have a result in any order, and those skipped because of them. */
function expectEnds(jobs: readonly Sample[]): { readonly failed: string[]; readonly skipped: string[] } {
  const failed: string[] = [];
  const skipped: string[] = [];
  const without = new Set<string>();
  for (const { id, needs, fails, inner } of jobs) {
    if (needs.some((need) => without.has(need))) skipped.push(id);
    else {
      if (fails) failed.push(id);
      const inside = expectEnds(inner);
      failed.push(...inside.failed);
      skipped.push(...inside.skipped);
    }
    if (fails || skipped.includes(id)) without.add(id);
  }
  return { failed, skipped };
}

describe("Scheduler", () => {
  it("starts each job once, after those it needs, and skips exactly the dependants of failures", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(flat, nested), fc.integer({ min: 1, max: 5 }), async (jobs, slots) => {
        const { begun, done, skipped, seen } = await runJobs(jobs, slots);
        expect(new Set(begun).size).toBe(begun.length);
        expect(seen.early).toEqual([]);
        expect(seen.most).toBeLessThanOrEqual(slots);
        const ends = expectEnds(jobs);
        const failed = [...done].flatMap(([id, isDone]) => (isDone ? [] : [id]));
        expect(failed.toSorted()).toEqual(ends.failed.toSorted());
        expect([...skipped.keys()].toSorted()).toEqual(ends.skipped.toSorted());
        for (const [id, need] of skipped) {
          expect(begun).not.toContain(id);
          expect(done.get(need) === false || skipped.has(need)).toBe(true);
        }
      }),
      { numRuns: SAMPLES.sessions * 4, seed: 6 },
    );
  });

  it("leaves no slot free while a job could start", async () => {
    await fc.assert(
      fc.asyncProperty(flat, fc.integer({ min: 1, max: 5 }), async (jobs, slots) => {
        const scheduler = new Scheduler(slots);
        const open = new Map<string, (hasResult: boolean) => void>();
        const done = new Set<string>();
        const pending = scheduler.run(jobs, {
          work: ({ id }) => new Promise((resolve) => void open.set(id, resolve)),
          skip: () => Promise.resolve(),
        });
        while (done.size < jobs.length) {
          const ready = jobs.filter(({ id, needs }) => !done.has(id) && needs.every((need) => done.has(need)));
          expect(open.size).toBe(Math.min(slots, ready.length));
          const [[id, finish] = ["", () => undefined]] = [...open].toReversed();
          open.delete(id);
          done.add(id);
          finish(true);
          await takeTurns(6);
        }
        await pending;
      }),
      { numRuns: SAMPLES.sessions, seed: 6 },
    );
  });

  it("needs one slot for any depth", async () => {
    const nest = (depth: number, prefix: string): readonly Sample[] =>
      depth === 0
        ? []
        : [0, 1].map((index) => {
            const id = `${prefix}${index}`;
            return { id, needs: [], turns: 1, fails: false, inner: nest(depth - 1, `${id}.`) };
          });
    const { begun, seen } = await runJobs(nest(6, ""), 1);
    expect(begun).toHaveLength(2 ** 7 - 2);
    expect(seen.most).toBe(1);
  });

  it("starts nothing after a job has thrown, and waits for running jobs", async () => {
    const scheduler = new Scheduler(2);
    const events: string[] = [];
    const jobs = ["a", "b", "c", "d"].map((id) => ({ id, needs: [] }));
    const gate = Promise.withResolvers<void>();
    const pending = scheduler.run(jobs, {
      work: async ({ id }) => {
        events.push(id);
        if (id === "a") throw new Error("stop");
        await gate.promise;
        events.push(`${id} is done`);
        return true;
      },
      skip: () => Promise.resolve(),
    });
    let isOver = false;
    void pending.catch(() => (isOver = true));
    await takeTurns(20);
    expect([events, isOver]).toEqual([["a", "b"], false]);
    gate.resolve();
    await expect(pending).rejects.toThrow("stop");
    expect(events).toEqual(["a", "b", "b is done"]);
  });

  it("releases inner jobs and jobs that wait for their slot after a failure", async () => {
    const scheduler = new Scheduler(1);
    const gate = Promise.withResolvers<void>();
    const begun: string[] = [];
    const skip = (): Promise<void> => Promise.resolve();
    const pending = scheduler.run(
      ["a", "b", "c"].map((id) => ({ id, needs: [] })),
      {
        work: async ({ id }) => {
          begun.push(id);
          if (id === "a") {
            // Its siblings are waiting by then.
            await takeTurns(1);
            const inner = ["x", "y"].map((name) => ({ id: name, needs: [] }));
            await scheduler.releaseSlotWhile(() =>
              scheduler.run(inner, { work: () => gate.promise.then(() => true), skip }),
            );
          }
          if (id === "b") {
            gate.resolve();
            throw new Error("stop");
          }
          return true;
        },
        skip,
      },
    );
    await expect(pending).rejects.toThrow("stop");
    expect(begun).toEqual(["a", "b"]);
    await expect(scheduler.run([{ id: "late", needs: [] }], { work: async () => true, skip })).rejects.toThrow("stop");
  });

  it("handles ten thousand jobs in sequence or in parallel", async () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `n${index}`);
    const chain = ids.map((id, index) => ({ id, needs: index === 0 ? [] : [ids[index - 1] ?? ""] }));
    let skips = 0;
    const skip = async (): Promise<void> => void skips++;
    await new Scheduler(8).run(chain, { work: async () => false, skip });
    expect(skips).toBe(9999);
    let works = 0;
    await new Scheduler(8).run(
      ids.map((id) => ({ id, needs: [] })),
      { work: async () => ++works > 0, skip },
    );
    expect(works).toBe(10_000);
  });
});
