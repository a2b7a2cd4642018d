// The cost of listing checkpoints: few reads for adjacent ones, and yields to the event loop. What is listed is tested
// on every log by `test/contracts/log/log-fork.ts`.
import { expect, test } from "vitest";
import { LOGS, makeChunks, makeGraphRun, overrideLog, writeRecords } from "../../test/log-sessions.ts";
import type { StampedRecord } from "../protocol/index.ts";
import { listCheckpoints } from "./checkpoints.ts";
import type { Log } from "./log.ts";

/** Counts the reads of a log and the records they return; each read can be made to take `busyMs`. */
function countReads(log: Log, busyMs = 0) {
  const counts = { reads: 0, records: 0 };
  const counted = overrideLog(log, (own) => ({
    async read(...given) {
      const until = performance.now() + busyMs;
      const page = await own.read(...given);
      while (performance.now() < until);
      counts.reads++;
      counts.records += page.length;
      return page;
    },
  }));
  return { counts, counted };
}

/** Creates checkpoints with `gap` records between them. */
function makeSparse(count: number, gap: number): StampedRecord[] {
  return Array.from({ length: count }, (_, index): StampedRecord[] => {
    const after = index * (gap + 1);
    const place = { session_id: "s", run_id: "run-1", event_id: after + gap + 1, ts: 1 };
    const event = { type: "checkpoint", checkpoint_id: `c${index}`, timestamp: "", step: index, state: {} } as const;
    return [...makeChunks(gap, { after }), { envelope: place, event }];
  }).flat();
}

test.each(LOGS)("adjacent checkpoints are read together, on a $name log", async ({ open }) => {
  const { counts, counted } = countReads(await open({ maxPageRecords: 200 }));
  await writeRecords(counted, makeGraphRun("run-1", { steps: 500 }));
  const all = await listCheckpoints(counted, "s", { limit: 1000 });
  expect(all.map(({ step }) => step)).toEqual(Array.from({ length: 501 }, (_, index) => 500 - index));
  expect(counts.reads).toBeLessThanOrEqual(Math.ceil(3001 / 200));
  const before = counts.reads;
  expect(await listCheckpoints(counted, "s", { limit: 10, after: "run-1-300" })).toEqual(all.slice(201, 211));
  expect(counts.reads - before).toBe(1);
  await counted.close();
});

test.each(LOGS)(
  "distant checkpoints are read on their own and the event loop is not blocked, on a $name log",
  async ({ open }) => {
    const { counts, counted } = countReads(await open(), 2);
    await writeRecords(counted, makeSparse(50, 100));
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const all = await listCheckpoints(counted, "s");
    isDone = true;
    expect(all.map(({ checkpointId }) => checkpointId)).toEqual(Array.from({ length: 50 }, (_, at) => `c${49 - at}`));
    expect(counts).toEqual({ reads: 50, records: 50 });
    expect(turns).toBeGreaterThanOrEqual(5);
    await counted.close();
  },
);
