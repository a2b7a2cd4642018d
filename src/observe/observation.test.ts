// Observers receive every record of a run once, in order, live or from the log, whatever other observers do.
import { AsyncLocalStorage } from "node:async_hooks";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SAMPLES } from "../../test/sampling.ts";
import {
  interleavedSessionArbitrary,
  makeChunks,
  makeRun,
  overrideLog,
  writeRecords,
} from "../../test/log-sessions.ts";
import { createEntry } from "../log/entry.ts";
import type { Log, LogEntry } from "../log/log.ts";
import { MemoryLog } from "../log/memory-log.ts";
import type { StampedRecord } from "../protocol/index.ts";
import { isTerminal } from "../protocol/record.ts";
import { Observation } from "./observation.ts";
import type { Observer } from "./observer.ts";

interface Shown {
  readonly runId: string | undefined;
  /** `12` is a live record, `-12` a past one. */
  readonly ids: number[];
  end: "over" | "left" | undefined;
}

function createWitness(own: Partial<Observer> = {}) {
  const runs: Shown[] = [];
  const observer: Observer = {
    name: "witness",
    openRun({ runId }) {
      const shown: Shown = { runId, ids: [], end: undefined };
      runs.push(shown);
      return {
        take({ envelope }, isPast) {
          if (shown.end !== undefined) throw new Error("shown after its end");
          shown.ids.push(isPast ? -envelope.event_id : envelope.event_id);
        },
        close(isUnfinished) {
          if (shown.end !== undefined) throw new Error("closed twice");
          shown.end = isUnfinished ? "left" : "over";
        },
      };
    },
    ...own,
  };
  return { observer, runs };
}

/** A session whose records are in the log; the test decides when listeners receive them. */
async function createSource(records: readonly StampedRecord[], own?: (log: Log) => Partial<Log>) {
  const memory = new MemoryLog();
  await writeRecords(memory, records);
  const log = own === undefined ? memory : overrideLog(memory, own);
  const listeners = new Set<(entries: readonly LogEntry[]) => void>();
  return {
    log,
    sessionId: "s",
    onCommit(listener: (entries: readonly LogEntry[]) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    commit(from: number, to: number) {
      const entries = records.slice(from - 1, to).map(createEntry);
      for (const listener of listeners) listener(entries);
    },
  };
}

const TWO_RUNS = [...makeRun("a"), ...makeRun("b", { after: 4 })];

describe("an observation", () => {
  it("passes a run from start to end", async () => {
    const { observer, runs } = createWitness();
    const source = await createSource(TWO_RUNS);
    const tap = new Observation([observer]).tap(source.log);
    source.onCommit(tap.onCommit);
    source.commit(1, 2);
    expect(runs).toEqual([{ runId: "a", ids: [1, 2], end: undefined }]);
    source.commit(3, 8);
    tap.onEnd("s");
    expect(runs).toEqual([
      { runId: "a", ids: [1, 2, 3, 4], end: "over" },
      { runId: "b", ids: [5, 6, 7, 8], end: "over" },
    ]);
  });

  it("passes a record once, however many sources deliver it", async () => {
    const { observer, runs } = createWitness();
    const source = await createSource(TWO_RUNS);
    const observation = new Observation([observer, observer]);
    source.onCommit(observation.tap(source.log).onCommit);
    const stops = [
      observation.watchRun(source, "b"),
      observation.watchRun(source, "a"),
      observation.watchRun(source, "b"),
    ];
    source.commit(1, 6);
    source.commit(7, 8);
    for (const stop of stops) stop();
    expect(runs).toEqual([
      { runId: "a", ids: [1, 2, 3, 4], end: "over" },
      { runId: "b", ids: [5, 6, 7, 8], end: "over" },
    ]);
  });

  it("passes only watched runs, and closes them when stopped", async () => {
    const { observer, runs } = createWitness();
    const source = await createSource(TWO_RUNS);
    const observation = new Observation([observer]);
    const stop = observation.watchRun(source, "b");
    source.commit(1, 6);
    expect(runs).toEqual([{ runId: "b", ids: [5, 6], end: undefined }]);
    stop();
    stop();
    source.commit(7, 8);
    expect(runs).toEqual([{ runId: "b", ids: [5, 6], end: "left" }]);
  });

  it("passes records without a run separately", async () => {
    const { observer, runs } = createWitness();
    const loose = { envelope: { session_id: "s", event_id: 5 }, event: { type: "custom", value: 1 } };
    const source = await createSource([...makeRun("a"), loose]);
    const tap = new Observation([observer]).tap(source.log);
    source.onCommit(tap.onCommit);
    source.commit(1, 5);
    tap.onEnd("s");
    expect(runs[1]).toEqual({ runId: undefined, ids: [5], end: "left" });
  });

  it("does not pass ignored event types", async () => {
    const { observer, runs } = createWitness({ ignores: new Set(["message_chunk", "run_end"]) });
    const source = await createSource(TWO_RUNS);
    source.onCommit(new Observation([observer]).tap(source.log).onCommit);
    source.commit(1, 8);
    expect(runs.map(({ ids, end }) => [ids, end])).toEqual([
      [[1, 4], "over"],
      [[5, 8], "over"],
    ]);
  });

  it("keeps sessions with the same id in two logs apart", async () => {
    const { observer, runs } = createWitness();
    const observation = new Observation([observer]);
    for (const source of [await createSource(makeRun("a")), await createSource(makeRun("a"))]) {
      source.onCommit(observation.tap(source.log).onCommit);
      source.commit(1, 4);
    }
    expect(runs.map(({ ids }) => ids)).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ]);
  });

  it("keeps live runs when there are too many sessions, and accepts others when one ends", async () => {
    const { observer, runs } = createWitness();
    const log = new MemoryLog();
    const errors: unknown[] = [];
    const observation = new Observation([observer], { maxSessions: 1, onError: (error) => errors.push(error) });
    const tap = observation.tap(log);
    const sessions = ["s", "t", "u"].map((sessionId) => makeRun(`of ${sessionId}`, { sessionId }));
    for (const records of sessions) await writeRecords(log, records);
    const [one = [], other = [], third = []] = sessions.map((records) => records.map(createEntry));
    tap.onCommit(one.slice(0, 2));
    tap.onCommit(other.slice(0, 1));
    tap.onCommit(other.slice(1, 2));
    tap.onCommit(one.slice(2));
    tap.onCommit(other.slice(2));
    await observation.idle();
    expect(runs).toEqual([
      { runId: "of s", ids: [1, 2, 3, 4], end: "over" },
      { runId: "of t", ids: [-1, -2, 3, 4], end: "over" },
    ]);
    const error = { code: "too_many_open", details: { limit: 1 } };
    expect(errors).toMatchObject([error]);
    // There was room in between.
    tap.onEnd("t");
    tap.onCommit(one.slice(0, 2));
    tap.onCommit(third.slice(0, 1));
    tap.onCommit(third.slice(1, 2));
    expect(errors).toMatchObject([error, error]);
    tap.onEnd("s");
    await observation.idle();
    expect(() => new Observation([], { maxSessions: 0 })).toThrow(/maxSessions/);
  });

  it("reports again that there are too many sessions after their runs ended", async () => {
    const log = new MemoryLog();
    const errors: unknown[] = [];
    const { observer } = createWitness();
    const tap = new Observation([observer], { maxSessions: 10, onError: (error) => errors.push(error) }).tap(log);
    for (let round = 1; round <= 2; round++) {
      const live = Array.from({ length: 10 }, (_, index) => `${round}-${index}`).map((sessionId) =>
        makeRun("r", { sessionId }).map(createEntry),
      );
      const refused = makeRun("r", { sessionId: `${round}-refused` }).map(createEntry);
      for (const entries of [...live, refused, refused]) tap.onCommit(entries.slice(0, 1));
      expect(errors).toHaveLength(round);
      // The sessions stay open.
      for (const entries of live) tap.onCommit(entries.slice(1));
    }
  });

  it("distinguishes a recreated session from the deleted one", async () => {
    const { observer, runs } = createWitness();
    const observation = new Observation([observer]);
    const shared = observation.tap(new MemoryLog());
    const log = new MemoryLog();
    // With one tap for all sessions or one tap each; the old sessions have not reported their end.
    for (const tap of [shared, shared, observation.tap(log), observation.tap(log)]) {
      tap.onCommit(TWO_RUNS.slice(0, 6).map(createEntry));
      tap.onCommit(TWO_RUNS.slice(6).map(createEntry));
      await Promise.resolve();
    }
    const [over, left] = [runs.splice(0), makeRun("left").slice(0, 2).map(createEntry)];
    shared.onCommit(left);
    shared.onCommit(makeRun("new").map(createEntry));
    expect(runs).toEqual([
      { runId: "left", ids: [1, 2], end: "left" },
      { runId: "new", ids: [1, 2, 3, 4], end: "over" },
    ]);
    await observation.idle();
    expect(over).toEqual(
      Array.from({ length: 4 }, () => [
        { runId: "a", ids: [1, 2, 3, 4], end: "over" },
        { runId: "b", ids: [5, 6, 7, 8], end: "over" },
      ]).flat(),
    );
  });

  it("passes a run to an observer once, even with several observations", async () => {
    const [shared, own] = [createWitness(), createWitness()];
    const source = await createSource(TWO_RUNS);
    const server = new Observation([shared.observer]);
    const observation = new Observation([shared.observer, own.observer]);
    source.onCommit(server.tap(source.log).onCommit);
    source.onCommit(observation.tap(source.log).onCommit);
    source.commit(2, 2);
    source.commit(3, 6);
    source.commit(7, 8);
    await Promise.all([server.idle(), observation.idle()]);
    const all = [
      { runId: "a", ids: [-1, 2, 3, 4], end: "over" },
      { runId: "b", ids: [5, 6, 7, 8], end: "over" },
    ];
    for (const { runs } of [shared, own])
      expect(runs.toSorted((a, b) => (a.runId ?? "").localeCompare(b.runId ?? ""))).toEqual(all);
  });

  it("continues a session that was taken over before its old writer noticed", async () => {
    const { observer, runs } = createWitness();
    const source = await createSource(TWO_RUNS.slice(0, 4));
    const [before, after] = [new Observation([observer]), new Observation([observer])];
    before.tap(source.log).onCommit(TWO_RUNS.slice(0, 2).map(createEntry));
    after.tap(source.log).onCommit(TWO_RUNS.slice(2, 4).map(createEntry));
    await after.idle();
    expect(runs).toEqual([
      { runId: "a", ids: [1, 2], end: "left" },
      { runId: "a", ids: [-1, -2, 3, 4], end: "over" },
    ]);
  });

  it("skips runs watched by another observation on request", async () => {
    const [one, other] = [createWitness(), createWitness()];
    const source = await createSource(TWO_RUNS);
    source.onCommit(new Observation([one.observer]).tap(source.log, { includeWatchedRuns: false }).onCommit);
    const stop = new Observation([other.observer]).watchRun(source, "a");
    source.commit(1, 2);
    stop();
    source.commit(3, 8);
    expect(one.runs).toEqual([{ runId: "b", ids: [5, 6, 7, 8], end: "over" }]);
    expect(other.runs).toEqual([{ runId: "a", ids: [1, 2], end: "left" }]);
  });

  it("passes a run that started here completely, even if it is first seen in the middle", async () => {
    const { observer, runs } = createWitness();
    const source = await createSource(TWO_RUNS);
    const observation = new Observation([observer]);
    observation.watchRun(source, "a", { isBegun: true });
    source.commit(3, 4);
    await observation.idle();
    expect(runs).toEqual([{ runId: "a", ids: [1, 2, 3, 4], end: "over" }]);
  });

  it("calls observers in its own asynchronous context, and `expectRun` in that of the caller", async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: string[] = [];
    const look = (where: string) => () => void seen.push(`${where} ${storage.getStore()}`);
    const observer: Observer = {
      name: "witness",
      expectRun: look("expect"),
      openRun: () => ({ take: look("take"), close: look("close") }),
    };
    const source = await createSource(TWO_RUNS);
    const observation = storage.run("server", () => new Observation([observer]));
    const tap = observation.tap(source.log);
    source.onCommit(tap.onCommit);
    await storage.run("Bob", async () => {
      observation.expectRun({ sessionId: "s", runId: "b" });
      source.commit(2, 5);
      await observation.idle();
      tap.onEnd("s");
    });
    expect([...new Set(seen)]).toEqual(["expect Bob", "take server", "close server"]);
  });
});

describe("a run first seen in the middle", () => {
  it("is passed from its start, earlier records as past", async () => {
    const { observer, runs } = createWitness();
    const source = await createSource(TWO_RUNS);
    const observation = new Observation([observer]);
    source.onCommit(observation.tap(source.log).onCommit);
    source.commit(7, 7);
    expect(runs[0]?.ids).toEqual([]);
    await observation.idle();
    // The log already has the reply; it is passed after its commit.
    expect(runs).toEqual([{ runId: "b", ids: [-5, -6, 7], end: undefined }]);
    source.commit(8, 8);
    expect(runs).toEqual([{ runId: "b", ids: [-5, -6, 7, 8], end: "over" }]);
  });

  it("loses no record that is committed while its past is read", async () => {
    const { observer, runs } = createWitness();
    const gate = Promise.withResolvers<void>();
    const source = await createSource(
      [...makeRun("a").slice(0, 1), ...makeChunks(5000, { after: 1 }).map(ofRunA)],
      (log) => ({
        getRun: async (...given) => {
          await gate.promise;
          return log.getRun(...given);
        },
      }),
    );
    const observation = new Observation([observer]);
    const tap = observation.tap(source.log);
    source.onCommit(tap.onCommit);
    source.commit(11, 20);
    source.commit(21, 3000);
    gate.resolve();
    await Promise.resolve();
    source.commit(3001, 4000);
    const idle = observation.idle();
    source.commit(4001, 4500);
    tap.onEnd("s");
    await idle;
    expect(runs[0]?.ids).toEqual(Array.from({ length: 4500 }, (_, index) => (index < 10 ? -index - 1 : index + 1)));
    expect(runs[0]?.end).toBe("left");
  });

  it("is reported and released if its past cannot be read", async () => {
    const errors: unknown[] = [];
    const { observer, runs } = createWitness();
    const broken = new Error("the disk is gone");
    const source = await createSource(TWO_RUNS, () => ({ getRun: () => Promise.reject(broken) }));
    const observation = new Observation([observer], { onError: (error) => errors.push(error) });
    source.onCommit(observation.tap(source.log).onCommit);
    source.commit(3, 3);
    await observation.idle();
    expect(runs).toEqual([{ runId: "a", ids: [], end: "left" }]);
    expect(errors).toEqual([broken]);
    source.commit(5, 8);
    expect(runs[1]).toEqual({ runId: "b", ids: [5, 6, 7, 8], end: "over" });
  });
});

function ofRunA({ envelope, event }: StampedRecord): StampedRecord {
  return { envelope: { ...envelope, run_id: "a" }, event };
}

describe("an observer that throws", () => {
  it.each(["openRun", "take", "close", "expectRun"] as const)(
    "in %s is reported once and disturbs no other",
    async (where) => {
      const errors: unknown[] = [];
      const fault = new Error(`in ${where}`);
      const fail = (): never => {
        throw fault;
      };
      const bad: Observer = {
        name: "bad",
        ...(where === "expectRun" ? { expectRun: fail } : {}),
        openRun: () => {
          if (where === "openRun") throw fault;
          return {
            take: where === "take" ? fail : () => undefined,
            close: where === "close" ? fail : () => undefined,
          };
        },
      };
      const [before, after] = [createWitness(), createWitness()];
      const source = await createSource(TWO_RUNS);
      const observation = new Observation([before.observer, bad, after.observer], {
        onError: (error) => {
          errors.push(error);
          throw new Error("the error handler throws too");
        },
      });
      source.onCommit(observation.tap(source.log).onCommit);
      for (const runId of ["a", "b"]) observation.expectRun({ sessionId: "s", runId });
      source.commit(1, 8);
      expect(errors).toEqual([fault]);
      for (const { runs } of [before, after])
        expect(runs).toEqual([
          { runId: "a", ids: [1, 2, 3, 4], end: "over" },
          { runId: "b", ids: [5, 6, 7, 8], end: "over" },
        ]);
    },
  );
});

it("passes random sessions completely, wherever they start and however they are split", async () => {
  await fc.assert(
    fc.asyncProperty(
      interleavedSessionArbitrary,
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      async (records, where, sizes, yields) => {
        const { observer, runs } = createWitness();
        const source = await createSource(records);
        const observation = new Observation([observer]);
        const tap = observation.tap(source.log);
        source.onCommit(tap.onCommit);
        const met = Math.floor(where * records.length);
        let at = met;
        for (let turn = 0; at < records.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1;
          source.commit(at + 1, at + size);
          at += size;
          if (yields) await Promise.resolve();
        }
        await observation.idle();
        tap.onEnd("s");
        const groups = Map.groupBy(records, ({ envelope }) => envelope.run_id);
        const expected = [...groups].flatMap(([runId, own]) => {
          const live = own.filter(({ envelope }) => envelope.event_id > met);
          const [first] = live;
          if (first === undefined) return [];
          const ids = (runId === undefined ? live : own).map(({ envelope: { event_id } }) =>
            event_id > met ? event_id : -event_id,
          );
          const isOver = runId !== undefined && own.some(({ event }) => isTerminal(event));
          return [{ runId, ids, end: isOver ? "over" : "left" }];
        });
        const key = ({ runId }: { runId: string | undefined }): string => runId ?? "";
        expect(runs.toSorted((a, b) => key(a).localeCompare(key(b)))).toEqual(
          expected.toSorted((a, b) => key(a).localeCompare(key(b))),
        );
      },
    ),
    { numRuns: SAMPLES.sessions },
  );
});
