import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { openSession, type Run } from "../engine/index.ts";
import { createFaultyLog, createLog, expectValid, readRecords, SESSION } from "../engine/sender.contract.ts";
import { Sequencer } from "../engine/sequencer.ts";
import { createEntry } from "../log/entry.ts";
import type { Log } from "../log/log.ts";
import type { CheckpointEvent, StampedRecord, UpdatesEvent } from "../protocol/index.ts";
import { LoomError, StateFold } from "../protocol/index.ts";
import { buildGraph, createWorld, type GraphSpec, graphSpecs, type World } from "./random-graph.contract.ts";
import { resumeGraph } from "./resume-graph.ts";
import { invokeGraph, runGraph } from "./run-graph.ts";

const LONG = process.env["LOOM_LONG"] === "1";
const ignore = (): void => undefined;

/** Answers every question of the run, as soon as it is asked. */
function answerAll(run: Run): void {
  const look = (): void => {
    if (run.status !== "live") return;
    for (const { callId = "" } of run.work.waiting)
      run.answerApproval({ callId, decision: "approved", arguments: { answer: callId } });
    setImmediate(look);
  };
  look();
}

/** The first life: to its end, or until the log fails. */
async function live(log: Log, spec: GraphSpec, world: World): Promise<unknown> {
  const session = await openSession(log, SESSION, { repairMs: 100_000, onError: ignore });
  try {
    const run = await session.startRun({ runId: "r" });
    world.run = run;
    answerAll(run);
    const state = await runGraph(buildGraph(spec, world), { run });
    await run.finish();
    return structuredClone(state);
  } catch {
    return undefined;
  } finally {
    await session.close({ run: "leave" }).catch(ignore);
  }
}

/** The second: whoever opens the session goes on. */
async function liveAgain(log: Log, spec: GraphSpec, world: World) {
  let state: unknown;
  let error: unknown;
  const session = await openSession(log, SESSION, {
    takeover: true,
    onError: ignore,
    resume: async (dead) => {
      world.run = dead.run;
      answerAll(dead.run);
      try {
        state = structuredClone(await resumeGraph(buildGraph(spec, world), dead, { log }));
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
 * Each task of each super-step of each graph has written once; the order of checkpoints says which step it was. Gives how
 * many were no subgraphs.
 */
function expectOnce(records: readonly StampedRecord[]): number {
  const steps = new Map<string, number>();
  const seen = new Set<string>();
  let count = 0;
  for (const { event } of records) {
    if (event.type === "checkpoint") {
      const { checkpoint_ns: ns = "", step } = event as CheckpointEvent;
      expect(step).toBe((steps.get(ns) ?? -1) + 1);
      steps.set(ns, step);
    }
    if (event.type !== "updates") continue;
    const { checkpoint_ns: ns = "", task, id, delta } = event as UpdatesEvent;
    const key = `${ns}|${steps.get(ns)}.${task}`;
    expect(seen.has(key), key).toBe(false);
    seen.add(key);
    // The others are of parts.
    if (id.startsWith("node") && delta === true) count++;
  }
  return count;
}

/** Parts that have their result, by their path, in the words of `World`. */
function listParts(records: readonly StampedRecord[]): readonly string[] {
  return records.flatMap(({ event }) => {
    const { checkpoint_ns: ns = "", delta } = event as UpdatesEvent;
    return event.type === "updates" && delta === false ? [ns] : [];
  });
}

/** What was concluded is there exactly where its part is. */
function expectConcluded(records: readonly StampedRecord[]): void {
  const concluded = records.filter(({ event }) => event.type === "custom").length;
  expect(concluded).toBe(listParts(records).filter((path) => path.endsWith("|a")).length);
}

function countType(records: readonly StampedRecord[], type: string): number {
  return records.filter(({ event }) => event.type === type).length;
}

function foldState(records: readonly StampedRecord[]): unknown {
  const fold = new StateFold();
  for (const { event } of records) fold.add(event);
  return fold.find()?.state;
}

/** A node run that had said something was open, or said it in vain: it can be neither repeated nor taken back. */
function hadAnswered(records: readonly StampedRecord[]): boolean {
  const said = new Set(
    records.flatMap(({ envelope, event }) => (event.type === "message_chunk" ? [envelope.node_id] : [])),
  );
  for (const { envelope, event } of records) if (event.type === "node_exit") said.delete(envelope.node_id);
  return said.size > 0;
}

/** What must be so after any crash. `before` are the records the first life left. */
async function expectResumed(log: Log, spec: GraphSpec, uncut: { state: unknown; chunks: number }): Promise<void> {
  const before = await readRecords(log);
  const world = createWorld();
  const { outcome, state } = await liveAgain(log, spec, world);
  const records = await expectValid(log);
  const isDone = before.some(({ event }) => event.type === "run_end");
  const canResume = before.some(({ event }) => event.type === "checkpoint") && !isDone;
  const mustEnd = hadAnswered(before);
  expect(outcome).toBe(before.length === 0 || isDone ? undefined : canResume && !mustEnd ? "resumed" : "ended");
  const written = expectOnce(records) - expectOnce(before);
  expect(world.calls - world.failed.size).toBe(written);
  expectConcluded(before);
  expectConcluded(records);
  if (outcome !== "resumed") return;
  // A part was worked on in the second life if, and only if, it had no result after the first.
  expect(world.parts.length).toBe(listParts(records).length - listParts(before).length);
  expect(state).toEqual(uncut.state);
  expect(foldState(records)).toEqual(uncut.state);
  expect(countType(records, "message_chunk")).toBe(uncut.chunks);
  expect(records.at(-2)?.event).toMatchObject({ type: "run_end", status: "completed" });
}

/** The uncut run: its records, where its units end, and its last state, which needs no log. */
async function liveUncut(spec: GraphSpec) {
  const log = await createLog();
  const ends = new Set<number>();
  const push = Sequencer.prototype.push;
  const spy = vi.spyOn(Sequencer.prototype, "push").mockImplementation(function (this: Sequencer, ...args) {
    const pushed = push.apply(this, args);
    ends.add(pushed.lastId);
    return pushed;
  });
  const state = await live(log, spec, createWorld());
  spy.mockRestore();
  const records = await expectValid(log);
  expectOnce(records);
  expect(foldState(records)).toEqual(state);
  const light = await invokeGraph(
    buildGraph(spec, createWorld()),
    {},
    {
      onInterrupt: async ({ callId }) => ({ decision: "approved", arguments: { answer: callId } }),
    },
  );
  expect(light).toEqual(state);
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
  it("ends in the same state, wherever its log was cut", async () => {
    await fc.assert(
      fc.asyncProperty(graphSpecs(), fc.infiniteStream(fc.nat()), async (spec, chance) => {
        const uncut = await liveUncut(spec);
        const cuts = LONG ? uncut.ends : [...chance.take(4)].map((n) => uncut.ends[n % uncut.ends.length] ?? 0);
        for (const cut of cuts) await expectResumed(await cutLog(uncut.records, cut), spec, uncut);
      }),
      { numRuns: LONG ? 40 : 25 },
    );
  });

  it("ends in the same state, whenever its log failed, and also when what was said to have failed had not", async () => {
    await fc.assert(
      fc.asyncProperty(graphSpecs(), fc.nat({ max: 60 }), fc.boolean(), async (spec, failing, isStored) => {
        const uncut = await liveUncut(spec);
        const log = await createFaultyLog();
        let count = 0;
        log.onAppend = async (_, next) => {
          if (count++ < failing) return next();
          if (isStored && count === failing + 1) await next();
          throw new LoomError("store_failed", "gone");
        };
        await live(log, spec, createWorld());
        log.onAppend = undefined;
        await expectResumed(log, spec, uncut);
      }),
      { numRuns: LONG ? 1000 : 25 },
    );
  });
});
