import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { openSession, type Run } from "../engine/index.ts";
import { createFaultyLog, createLog, expectValid, readRecords, SESSION } from "../../test/contracts/sender.ts";
import { Sequencer } from "../engine/sequencer.ts";
import { createEntry } from "../log/entry.ts";
import type { Log } from "../log/log.ts";
import type { StampedRecord } from "../protocol/index.ts";
import type { CheckpointEvent, NodeEnterEvent, UpdatesEvent } from "../protocol/events.generated.ts";
import { LoomError, StateFold } from "../protocol/index.ts";
import {
  buildGraph,
  createProbe,
  type GraphSpec,
  graphSpecs,
  type GraphProbe,
} from "../../test/contracts/random-graph.ts";
import { invokeGraph, resumeGraph, runGraph } from "./run-graph.ts";
import { LONG } from "../../test/sampling.ts";

const ignore = (): void => undefined;

/** Answers every question of the run as soon as it is asked. */
function answerAll(run: Run): void {
  const poll = (): void => {
    if (run.status !== "live") return;
    for (const { callId = "" } of run.work.waiting)
      run.answerApproval({ callId, decision: "approved", arguments: { answer: callId } });
    setImmediate(poll);
  };
  poll();
}

/** The first process: runs to the end, or until the log fails. */
async function startRun(log: Log, spec: GraphSpec, probe: GraphProbe): Promise<unknown> {
  const session = await openSession(log, SESSION, { repairMs: 100_000, onError: ignore });
  try {
    const run = await session.startRun({ runId: "r" });
    probe.run = run;
    answerAll(run);
    const state = await runGraph(buildGraph(spec, probe), { run });
    await run.finish();
    return structuredClone(state);
  } catch {
    return undefined;
  } finally {
    await session.close({ run: "leave" }).catch(ignore);
  }
}

/** The second process: resumes the run. */
async function resumeRun(log: Log, spec: GraphSpec, probe: GraphProbe) {
  let state: unknown;
  let error: unknown;
  const session = await openSession(log, SESSION, {
    takeover: true,
    onError: ignore,
    resume: async (dead) => {
      probe.run = dead.run;
      answerAll(dead.run);
      try {
        state = structuredClone(await resumeGraph(buildGraph(spec, probe), dead, { log }));
      } catch (thrown) {
        error = thrown;
        throw thrown;
      }
    },
  });
  await session.idle();
  const outcome = session.recovered[0]?.outcome;
  await session.close();
  expect(error).toBeUndefined();
  return { outcome, state };
}

/**
 * Checks that each task of each super-step wrote once; the order of checkpoints gives the step. Returns the number of
 * tasks that are not subgraphs.
 */
function expectOnce(records: readonly StampedRecord[]): number {
  const steps = new Map<string, number>();
  const seen = new Set<string>();
  let count = 0;
  for (const { event } of records) {
    if (event.type === "checkpoint") {
      const { checkpoint_ns: ns = "", step } = event as CheckpointEvent;
      expect(step).toBe((steps.get(ns) ?? -1) + 1);
      steps.set(ns, Number(step));
    }
    if (event.type !== "updates") continue;
    const { checkpoint_ns: ns = "", task, id, delta } = event as UpdatesEvent;
    const key = `${ns}|${steps.get(ns)}.${task}`;
    expect(seen.has(key), key).toBe(false);
    seen.add(key);
    // The others are results of parts.
    if (id.startsWith("node") && delta === true) count++;
  }
  return count;
}

/** Paths of the parts that have a result. */
function listParts(records: readonly StampedRecord[]): readonly string[] {
  return records.flatMap(({ event }) => {
    const { checkpoint_ns: ns = "", delta } = event as UpdatesEvent;
    return event.type === "updates" && delta === false ? [ns] : [];
  });
}

/** An event of `emitWithResult` is stored if and only if the result of its part is. */
function expectEventsWithParts(records: readonly StampedRecord[]): void {
  const events = records.filter(({ event }) => event.type === "custom").length;
  expect(events).toBe(listParts(records).filter((path) => path.endsWith("|a")).length);
}

function countType(records: readonly StampedRecord[], type: string): number {
  return records.filter(({ event }) => event.type === type).length;
}

function foldState(records: readonly StampedRecord[]): unknown {
  const fold = new StateFold();
  for (const { event } of records) fold.add(event);
  return fold.find()?.state;
}

/** Counts the pieces of the answer. Those of an interrupted node run that was run again do not count. */
function countAnswer(records: readonly StampedRecord[]): number {
  const superseded = new Set(
    records.map(({ event }) => (event.type === "node_enter" ? (event as NodeEnterEvent).supersedes : undefined)),
  );
  return countType(
    records.filter(({ envelope }) => envelope.node_id === undefined || !superseded.has(envelope.node_id)),
    "message_chunk",
  );
}

/** What must hold after any crash. `before` has the records of the first process. */
async function expectResumed(log: Log, spec: GraphSpec, uncut: { state: unknown; chunks: number }): Promise<void> {
  const before = await readRecords(log);
  const probe = createProbe();
  const { outcome, state } = await resumeRun(log, spec, probe);
  const records = await expectValid(log);
  const isDone = before.some(({ event }) => event.type === "run_end");
  const canResume = before.some(({ event }) => event.type === "checkpoint") && !isDone;
  expect(outcome).toBe(before.length === 0 || isDone ? undefined : canResume ? "resumed" : "ended");
  const written = expectOnce(records) - expectOnce(before);
  expect(probe.calls - probe.failed.size).toBe(written);
  expectEventsWithParts(before);
  expectEventsWithParts(records);
  if (outcome !== "resumed") return;
  // The second process worked on a part if and only if the first left no result of it.
  expect(probe.parts.length).toBe(listParts(records).length - listParts(before).length);
  expect(state).toEqual(uncut.state);
  expect(foldState(records)).toEqual(uncut.state);
  expect(countAnswer(records)).toBe(uncut.chunks);
  expect(records.at(-2)?.event).toMatchObject({ type: "run_end", status: "completed" });
}

/** The uninterrupted run: its records, the ends of its units, and its last state, also without a log. */
async function runUncut(spec: GraphSpec) {
  const log = await createLog();
  const ends = new Set<number>();
  const push = Sequencer.prototype.push;
  const spy = vi.spyOn(Sequencer.prototype, "push").mockImplementation(function (this: Sequencer, ...args) {
    const pushed = push.apply(this, args);
    ends.add(pushed.lastId);
    return pushed;
  });
  const state = await startRun(log, spec, createProbe());
  spy.mockRestore();
  const records = await expectValid(log);
  expectOnce(records);
  expect(foldState(records)).toEqual(state);
  const standalone = await invokeGraph(
    buildGraph(spec, createProbe()),
    {},
    {
      onInterrupt: async ({ callId }) => ({ decision: "approved", arguments: { answer: callId } }),
    },
  );
  expect(standalone).toEqual(state);
  return { state, records, ends: [...ends], chunks: countType(records, "message_chunk") };
}

/** A log that ends after `lastId`, as if the process had been killed then. */
async function cutLog(records: readonly StampedRecord[], lastId: number): Promise<Log> {
  const log = await createLog();
  const lease = await log.acquire(SESSION, { holder: "dead", ttlMs: 1000 });
  const entries = records.slice(0, lastId).map((record) => createEntry(record));
  if (entries.length > 0) await log.append({ sessionId: SESSION, epoch: lease.epoch, expectedLastId: 0, entries });
  await log.release(lease);
  return log;
}

describe("a graph whose process died", () => {
  it("ends in the same state for any cut of its log", async () => {
    await fc.assert(
      fc.asyncProperty(graphSpecs(), fc.infiniteStream(fc.nat()), async (spec, chance) => {
        const uncut = await runUncut(spec);
        const cuts = LONG ? uncut.ends : [...chance.take(4)].map((n) => uncut.ends[n % uncut.ends.length] ?? 0);
        for (const cut of cuts) await expectResumed(await cutLog(uncut.records, cut), spec, uncut);
      }),
      { numRuns: LONG ? 40 : 12 },
    );
  });

  it("ends in the same state for any log failure, even if the failed append was stored", async () => {
    await fc.assert(
      fc.asyncProperty(graphSpecs(), fc.nat({ max: 60 }), fc.boolean(), async (spec, failing, isStored) => {
        const uncut = await runUncut(spec);
        const log = await createFaultyLog();
        let count = 0;
        log.onAppend = async (_, next) => {
          if (count++ < failing) return next();
          if (isStored && count === failing + 1) await next();
          throw new LoomError("store_failed", "gone");
        };
        await startRun(log, spec, createProbe());
        log.onAppend = undefined;
        await expectResumed(log, spec, uncut);
      }),
      { numRuns: LONG ? 1000 : 12 },
    );
  });
});
