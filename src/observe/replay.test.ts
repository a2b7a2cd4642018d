// A replay gives callbacks and observers the same as the live session.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { interleavedSessionArbitrary, makeRun, writeRecords } from "../../test/log-sessions.ts";
import { SAMPLES } from "../../test/sampling.ts";
import { createEntry } from "../log/entry.ts";
import { MemoryLog } from "../log/memory-log.ts";
import type { Callback, CallbackPayload } from "./callbacks/callback.ts";
import { createCallbackObserver } from "./callbacks/callback-observer.ts";
import { Observation } from "./observation.ts";
import type { Observer } from "./observer.ts";
import { replayCallbacks, replayObservers } from "./replay.ts";

function createWitness(textDelta = false) {
  const received: CallbackPayload[] = [];
  const callback: Callback = { textDelta, onEvent: (_type, payload) => received.push(payload) };
  return { callback, received };
}

async function record(...runs: readonly string[]): Promise<MemoryLog> {
  const log = new MemoryLog();
  await writeRecords(
    log,
    runs.flatMap((runId, index) => makeRun(runId, { after: index * 4 })),
  );
  return log;
}

describe("replayCallbacks", () => {
  it("delivers the same events as live, from the start or any position", async () => {
    await fc.assert(
      fc.asyncProperty(
        interleavedSessionArbitrary,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.boolean(),
        async (records, where, text) => {
          const log = new MemoryLog();
          await writeRecords(log, records);
          const live = createWitness(text);
          const observer = createCallbackObserver([live.callback], { maxBacklog: 100_000 });
          const tap = new Observation([observer]).tap(log);
          const after = Math.floor(where * records.length);
          tap.onCommit(records.slice(0, after).map(createEntry));
          await observer.flush();
          const before = live.received.length;
          tap.onCommit(records.slice(after).map(createEntry));
          await observer.flush();
          const replayed = createWitness(text);
          await replayCallbacks(log, "s", [replayed.callback]);
          expect(replayed.received).toEqual(live.received);
          const rest = createWitness(text);
          await replayCallbacks(log, "s", [rest.callback], { after });
          expect(rest.received).toEqual(live.received.slice(before));
        },
      ),
      { numRuns: SAMPLES.sessions },
    );
  });

  it("delivers one run only", async () => {
    const { callback, received } = createWitness();
    const log = await record("a", "b", "c");
    await replayCallbacks(log, "s", [callback], { runId: "b" });
    expect(received.map(({ type, request_id }) => [type, request_id])).toEqual([
      ["request_start", "b"],
      ["agent_finish", "b"],
    ]);
    await expect(replayCallbacks(log, "s", [callback], { runId: "z" })).rejects.toMatchObject({ code: "unknown_run" });
    await expect(replayCallbacks(log, "z", [callback])).rejects.toMatchObject({ code: "unknown_session" });
  });

  it("waits for callbacks and drops nothing", async () => {
    const log = await record(...Array.from({ length: 2000 }, (_, index) => `run-${index}`));
    const received: string[] = [];
    let going = 0;
    await replayCallbacks(log, "s", [
      {
        async onEvent(type, { request_id }) {
          expect(++going).toBe(1);
          await Promise.resolve();
          going--;
          received.push(`${type} ${request_id}`);
        },
      },
    ]);
    expect(received).toEqual(
      Array.from({ length: 2000 }, (_, index) => [`request_start run-${index}`, `agent_finish run-${index}`]).flat(),
    );
  });

  it("rejects positions outside the session", async () => {
    const { callback, received } = createWitness();
    const log = await record("a");
    for (const [after, code] of [
      [5, "cursor_ahead"],
      [-1, "cursor_invalid"],
      [1.5, "cursor_invalid"],
      [Number.NaN, "cursor_invalid"],
      ["1" as unknown as number, "cursor_invalid"],
    ] as const)
      await expect(replayCallbacks(log, "s", [callback], { after })).rejects.toMatchObject({ code });
    await replayCallbacks(log, "s", [callback], { after: 4 });
    expect(received).toEqual([]);
  });

  it("separates runs that are named only at their start", async () => {
    const log = new MemoryLog();
    const runs = ["a", "b"].flatMap((runId, index) => makeRun(runId, { after: index * 4, ts: 1000 }));
    await writeRecords(
      log,
      runs.map(({ envelope: { run_id: _run, ts, ...envelope }, event }) => ({
        envelope: event.type === "run_start" ? { ...envelope, ts: ts ?? 0 } : envelope,
        event,
      })),
    );
    const { callback, received } = createWitness();
    await replayCallbacks(log, "s", [callback]);
    expect(received.map(({ type, request_id, ts }) => [type, request_id, ts])).toEqual([
      ["request_start", "a", 1],
      ["agent_finish", "a", 1],
      ["request_start", "b", 1],
      ["agent_finish", "b", 1],
    ]);
    const shown: string[] = [];
    const observer: Observer = {
      name: "witness",
      openRun: ({ runId }) => ({
        take: ({ envelope }) => shown.push(`${runId} ${envelope.run_id}`),
        close: (isUnfinished) => shown.push(`${runId} ${isUnfinished ? "left" : "over"}`),
      }),
    };
    await replayObservers(log, "s", [observer]);
    expect(shown).toEqual(["a", "b"].flatMap((run) => [...Array<string>(4).fill(`${run} ${run}`), `${run} over`]));
  });

  it("stops on abort, even if a callback hangs", async () => {
    const log = await record("a");
    const stop = new AbortController();
    const received: string[] = [];
    const replay = replayCallbacks(
      log,
      "s",
      [
        {
          onEvent(type) {
            received.push(type);
            setImmediate(() => stop.abort(new Error("enough")));
            return new Promise(() => undefined);
          },
        },
      ],
      { signal: stop.signal },
    );
    await expect(replay).rejects.toThrow("enough");
    expect(received).toEqual(["request_start"]);
  });

  it("continues if a callback fails", async () => {
    const { callback, received } = createWitness();
    const codes: string[] = [];
    const fails: Callback = { onEvent: () => Promise.reject(new Error("no")) };
    await replayCallbacks(await record("a"), "s", [fails, callback], { onError: ({ code }) => codes.push(code) });
    expect(received).toHaveLength(2);
    expect(codes).toEqual(["callback_failed", "callback_failed"]);
  });
});

describe("replayObservers", () => {
  it("passes earlier records as past and closes unfinished runs", async () => {
    const log = new MemoryLog();
    await writeRecords(log, [...makeRun("a"), ...makeRun("b", { after: 4 }).slice(0, 2)]);
    const shown: string[] = [];
    const observer: Observer = {
      name: "witness",
      openRun: ({ runId }) => ({
        take: ({ envelope }, isPast) => shown.push(`${runId} ${envelope.event_id}${isPast ? " past" : ""}`),
        close: (isUnfinished) => shown.push(`${runId} ${isUnfinished ? "left" : "over"}`),
      }),
    };
    await replayObservers(log, "s", [observer], { after: 2 });
    expect(shown.splice(0)).toEqual(["a 1 past", "a 2 past", "a 3", "a 4", "a over", "b 5", "b 6", "b left"]);
    await replayObservers(log, "s", [observer], { after: 5 });
    expect(shown.splice(0)).toEqual(["b 5 past", "b 6", "b left"]);
    await replayObservers(log, "s", [observer], { after: 4 });
    expect(shown).toEqual(["b 5", "b 6", "b left"]);
  });
});
