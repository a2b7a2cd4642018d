import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { LogLimits } from "../log/log-limits.ts";
import { LoomError } from "../protocol/index.ts";
import { createLog, readRecords, SESSION, type FaultyLog, wrapLog } from "../../test/contracts/sender.ts";
import { type EventDraft, Sequencer, type SequencerOptions } from "./sequencer.ts";

const chunk = (content: string): EventDraft => ({ runId: "r", event: { type: "message_chunk", content, id: "n" } });

async function setUp(options: Partial<SequencerOptions> = {}, limits: Partial<LogLimits> = {}) {
  const log = wrapLog(await createLog({ limits }));
  const { epoch, lastId } = await log.acquire(SESSION, { holder: "test", ttlMs: 10_000 });
  const defaults = { lastTs: 0, now: Date.now, onFailure: () => undefined };
  const sequencer = new Sequencer({ log, sessionId: SESSION, epoch, lastId, ...defaults, ...options });
  return { log, sequencer };
}

/** Blocks appends until `release`. */
function hold(log: FaultyLog): { release: () => void } {
  const gate = Promise.withResolvers<void>();
  log.onAppend = async (_batch, next) => {
    await gate.promise;
    return next();
  };
  return { release: () => gate.resolve() };
}

const contents = async (log: FaultyLog) =>
  (await readRecords(log)).map(({ event }) => (event as { content?: string }).content);

describe("Sequencer", () => {
  it("writes all events of a tick in one append, in order", async () => {
    const { log, sequencer } = await setUp();
    const pieces = Array.from({ length: 500 }, (_, index) => `piece ${index}`);
    const ids = await Promise.all(pieces.map((piece) => sequencer.push([chunk(piece)]).durable));
    expect(ids).toEqual(pieces.map((_, index) => index + 1));
    expect(log.appends).toHaveLength(1);
    expect(await contents(log)).toEqual(pieces);
  });

  it("has one append in flight and collects units meanwhile", async () => {
    const { log, sequencer } = await setUp();
    const gate = hold(log);
    const first = sequencer.push([chunk("a")]);
    await nextTurn();
    const rest = ["b", "c", "d"].map((text) => sequencer.push([chunk(text)]));
    await nextTurn();
    expect(log.appends).toHaveLength(1);
    gate.release();
    await Promise.all([first, ...rest].map(({ durable }) => durable));
    expect(log.appends.map(({ entries }) => entries.length)).toEqual([1, 3]);
    expect(await contents(log)).toEqual(["a", "b", "c", "d"]);
  });

  it("stores the first unit of a turn at once and the others at its end or at 64 KiB", async () => {
    const { log, sequencer } = await setUp();
    const sizes = () => log.appends.map(({ entries }) => entries.length);
    await nextTurn();
    await sequencer.push([chunk("a")]).durable;
    expect(sizes()).toEqual([1]);
    for (const text of ["b", "c"]) sequencer.push([chunk(text)]);
    for (let i = 0; i < 20; i++) await Promise.resolve();
    expect(sizes()).toEqual([1]);
    await nextTurn();
    expect(sizes()).toEqual([1, 2]);

    await sequencer.push([chunk("d")]).durable;
    sequencer.push([chunk("e")]);
    await sequencer.push([chunk("f".repeat(64 * 1024))]).durable;
    expect(sizes()).toEqual([1, 2, 1, 2]);
  });

  it("stores the first event before the producer blocks the event loop", async () => {
    const { log, sequencer } = await setUp();
    await nextTurn();
    const { durable } = sequencer.push([chunk("working…")]);
    await Promise.resolve();
    await Promise.resolve();
    expect(log.appends).toHaveLength(1);
    await durable;
  });

  it("resolves `durable` before and after the append", async () => {
    const { log, sequencer } = await setUp();
    const unit = sequencer.push([chunk("a")]);
    await sequencer.idle();
    expect(await unit.durable).toBe(1);
    log.onAppend = () => Promise.reject(new Error("disk"));
    const lost = sequencer.push([chunk("b")]);
    await nextTurn();
    await expect(lost.durable).rejects.toMatchObject({ code: "store_failed" });
  });

  it("never splits a unit and respects the log's limits", async () => {
    const { log, sequencer } = await setUp({}, { maxBatchRecords: 3 });
    const units = [["a", "b"], ["c", "d"], ["e"], ["f", "g", "h"]].map((texts) => sequencer.push(texts.map(chunk)));
    await Promise.all(units.map(({ durable }) => durable));
    expect(log.appends.map(({ entries }) => entries.length)).toEqual([2, 3, 3]);
    expect(() => sequencer.push(["a", "b", "c", "d"].map(chunk))).toThrow(
      expect.objectContaining({ code: "batch_too_large" }),
    );
  });

  it("respects the byte limit of a batch", async () => {
    const { log, sequencer } = await setUp({}, { maxBatchBytes: 400 });
    await Promise.all(["a", "b", "c", "d", "e"].map((text) => sequencer.push([chunk(text.repeat(60))]).durable));
    expect(log.appends.length).toBeGreaterThan(1);
    expect(await contents(log)).toHaveLength(5);
  });

  it("rejects an event that is too large and accepts nothing of its unit", async () => {
    const { log, sequencer } = await setUp({ maxBacklogBytes: 1 }, { maxEventBytes: 300 });
    expect(() => sequencer.push([chunk("ok"), chunk("x".repeat(400))])).toThrow(
      expect.objectContaining({ code: "event_too_large" }),
    );
    expect(sequencer.nextId).toBe(1);
    await sequencer.push([chunk("next")]).durable;
    expect(await contents(log)).toEqual(["next"]);
  });

  it("accepts events below the backlog limit and then throws", async () => {
    const { log, sequencer } = await setUp({ maxBacklogBytes: 250 });
    const gate = hold(log);
    const first = sequencer.push([chunk("x".repeat(300))]);
    expect(() => sequencer.push([chunk("y")])).toThrow(expect.objectContaining({ code: "backlog_full" }));
    const forced = sequencer.push([chunk("z")], { force: true });
    let isDrained = false;
    const drained = sequencer.drained().then(() => (isDrained = true));
    await Promise.resolve();
    expect(isDrained).toBe(false);
    gate.release();
    await drained;
    await Promise.all([first.durable, forced.durable]);
    expect(sequencer.isBehind).toBe(false);
    expect(await contents(log)).toEqual(["x".repeat(300), "z"]);
  });

  it("rejects queued units after a failed append, and resumes at the end of the log", async () => {
    const failures: LoomError[] = [];
    const { log, sequencer } = await setUp({ onFailure: (error) => failures.push(error) });
    await sequencer.push([chunk("a")]).durable;
    log.onAppend = async () => {
      throw new Error("disk on fire");
    };
    const lost = ["b", "c"].map((text) => sequencer.push([chunk(text)]).durable);
    await Promise.resolve();
    lost.push(sequencer.push([chunk("d")]).durable);
    for (const promise of lost) await expect(promise).rejects.toMatchObject({ code: "store_failed" });
    expect(failures).toHaveLength(1);
    expect(failures[0]?.cause).toMatchObject({ message: "disk on fire" });
    expect(sequencer.nextId).toBe(2);
    expect(() => sequencer.push([chunk("e")])).toThrow(failures[0]);
    await expect(sequencer.idle()).rejects.toBe(failures[0]);
    log.onAppend = undefined;
    sequencer.resume(1);
    await sequencer.push([chunk("e")]).durable;
    expect(await contents(log)).toEqual(["a", "e"]);
  });

  it("keeps the code of log errors and reports only committed entries", async () => {
    const committed: string[] = [];
    const { log, sequencer } = await setUp({
      onCommit: (entries) => committed.push(...entries.map(({ text }) => text)),
    });
    log.onAppend = async () => {
      throw new LoomError("store_full", "no space left");
    };
    await expect(sequencer.push([chunk("a")]).durable).rejects.toMatchObject({ code: "store_full" });
    expect(committed).toEqual([]);
  });

  it("calls onCommit before units resolve", async () => {
    const order: string[] = [];
    const { sequencer } = await setUp({ onCommit: () => order.push("commit") });
    await sequencer.push([chunk("a")]).durable.then(() => order.push("durable"));
    expect(order).toEqual(["commit", "durable"]);
  });

  it("never decreases ts", async () => {
    const times = [50, 10, 60, 59.6, 0];
    const { log, sequencer } = await setUp({ now: () => times.shift() ?? 0, lastTs: 40 });
    for (const text of ["a", "b", "c", "d", "e"]) await sequencer.push([chunk(text)]).durable;
    expect((await readRecords(log)).map(({ envelope }) => envelope.ts)).toEqual([50, 50, 60, 60, 60]);
  });

  it("settles commands in an append without records", async () => {
    const { log, sequencer } = await setUp();
    await log.submit({ commandId: "c", sessionId: SESSION, kind: "cancel", body: {} });
    await sequencer.push([], { settle: [{ commandId: "c", outcome: { code: "done" } }] }).durable;
    expect((await log.getCommand(SESSION, "c"))?.outcome).toEqual({ code: "done" });
    expect(sequencer.nextId).toBe(1);
  });

  it("rejects values that JSON cannot represent", async () => {
    const { sequencer } = await setUp();
    const event = { type: "custom", value: { n: 1n as unknown as number } };
    expect(() => sequencer.push([{ event }])).toThrow(expect.objectContaining({ code: "invalid_event" }));
  });

  it("drains at half of its limit", async () => {
    const { log, sequencer } = await setUp({ maxBacklogBytes: 1000 }, { maxBatchRecords: 1 });
    const gate = hold(log);
    const size = sequencer.push([chunk("x".repeat(300))]);
    sequencer.push([chunk("y".repeat(300))]);
    expect(sequencer.isBehind).toBe(true);
    let isDrained = false;
    const drained = sequencer.drained().then(() => (isDrained = true));
    await Promise.resolve();
    expect(isDrained).toBe(false);
    gate.release();
    await size.durable;
    await drained;
    expect(sequencer.isBehind).toBe(false);
  });

  it("resolves durable units even if onCommit throws", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const { sequencer } = await setUp({
      onCommit: () => {
        throw new Error("listener");
      },
    });
    expect(await sequencer.push([chunk("a")]).durable).toBe(1);
    expect(await sequencer.push([chunk("b")]).durable).toBe(2);
    expect(warn).toHaveBeenCalledTimes(2);
    warn.mockRestore();
  });
});
