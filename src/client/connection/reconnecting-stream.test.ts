import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { begin, ENDED, finished, LOST, lose, refused } from "../../../test/client/scripted-connection.ts";
import type { ConnectOptions } from "../connection.ts";
import type { StreamOutcome } from "../transport.ts";
import { DEFAULT_RECONNECT } from "./backoff.ts";

describe("reconnection delays", () => {
  /** Returns the delays between attempts without progress. */
  async function pausesWith(chance: number, options: Partial<ConnectOptions> = {}): Promise<number[]> {
    const it = begin({ heartbeatMs: 0, ...options });
    it.clock.chance = chance;
    while (!it.isDone()) await lose(it);
    await finished(it);
    return it.clock.pauses;
  }

  it("double up to the maximum, and stop", async () => {
    const pauses = await pausesWith(1);
    expect(pauses).toHaveLength(DEFAULT_RECONNECT.maxAttempts);
    expect(pauses.slice(0, 8)).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000]);
    expect(Math.max(...pauses)).toBe(15_000);
  });

  it("are random below the upper bound", async () => {
    expect(Math.max(...(await pausesWith(0)))).toBe(0);
    const half = await pausesWith(0.5);
    expect(half.slice(0, 3)).toEqual([125, 250, 500]);
  });

  it("are set by options", async () => {
    const reconnect = { initialMs: 10, factor: 3, maxMs: 100, maxAttempts: 5 };
    expect(await pausesWith(1, { reconnect })).toEqual([10, 30, 90, 100, 100]);
    expect(await pausesWith(1, { reconnect: { ...reconnect, maxAttempts: 0 } })).toEqual([]);
  });

  it("stay finite after many attempts", async () => {
    const pauses = await pausesWith(1, { reconnect: { maxAttempts: 2000 } });
    expect(pauses.every((ms) => ms <= 15_000)).toBe(true);
  });

  it("follow the server's request, up to the maximum", async () => {
    const it = begin({ heartbeatMs: 0 });
    await it.transport.last.end({ ...LOST, retryAfterMs: 7000 });
    await it.clock.advanceToNext();
    await it.transport.last.end({ ...LOST, retryAfterMs: 3_600_000 });
    expect(it.clock.pauses).toEqual([7000, 15_000]);
    it.connection.close();
    await finished(it);
  });

  it("start over after progress", async () => {
    const it = begin({ heartbeatMs: 0 });
    it.clock.chance = 1;
    await lose(it);
    await lose(it);
    it.transport.last.give(1);
    await lose(it);
    await lose(it);
    expect(it.clock.pauses).toEqual([250, 500, 250, 500]);
    it.connection.close();
    await finished(it);
  });

  it("start over after a stable connection without frames", async () => {
    const it = begin({ heartbeatMs: 0, reconnect: { maxAttempts: 2 } });
    it.clock.chance = 1;
    for (let round = 0; round < 10; round++) {
      await it.clock.advance(20_000);
      it.transport.last.sink.alive();
      await lose(it, ENDED);
    }
    expect(new Set(it.clock.pauses)).toEqual(new Set([250]));
    it.connection.close();
    await finished(it);
  });

  it("end on retry", async () => {
    const it = begin({ heartbeatMs: 0, reconnect: { maxAttempts: 1 } });
    for (let round = 0; round < 5; round++) {
      await it.transport.last.end(LOST);
      it.connection.retry();
      await setImmediate();
      expect(it.transport.opens).toHaveLength(round + 2);
    }
    it.connection.close();
    await finished(it);
  });

  describe("in a page", () => {
    const page = new EventTarget();
    const added = vi.fn(page.addEventListener.bind(page));
    const removed = vi.fn(page.removeEventListener.bind(page));
    beforeEach(() => {
      vi.stubGlobal("addEventListener", added);
      vi.stubGlobal("removeEventListener", removed);
    });
    afterEach(() => {
      vi.unstubAllGlobals();
    });

    it("end when the device comes online, without leaking listeners", async () => {
      const it = begin({ heartbeatMs: 0 });
      await it.transport.last.end(LOST);
      page.dispatchEvent(new Event("online"));
      await setImmediate();
      expect(it.transport.opens).toHaveLength(2);
      await it.transport.last.end(LOST);
      it.connection.close();
      await finished(it);
      expect(added.mock.calls.map(([type]) => type)).toEqual(["offline", "online", "offline", "online"]);
      expect(removed.mock.calls).toEqual(added.mock.calls);
    });

    it("begin when the device goes offline", async () => {
      const it = begin({ heartbeatMs: 0 });
      it.transport.last.give(1);
      page.dispatchEvent(new Event("offline"));
      await setImmediate();
      expect(it.reasons()).toEqual(["connection_lost"]);
      page.dispatchEvent(new Event("online"));
      await setImmediate();
      expect(it.transport.last.request.from).toEqual({ after: "c1" });
      it.connection.close();
      await finished(it);
    });
  });
});

describe("the watchdog", () => {
  it("ends a silent stream", async () => {
    const it = begin({ heartbeatMs: 1000 });
    it.transport.last.give(1);
    const [first] = it.transport.opens;
    await it.clock.advance(999);
    expect(first!.signal.aborted).toBe(false);
    await it.clock.advance(1);
    expect(first!.signal.aborted).toBe(true);
    expect(it.reasons()).toEqual(["heartbeat_missed"]);
    await it.clock.advanceToNext();
    expect(it.transport.last.request.from).toEqual({ after: "c1" });
    it.connection.close();
    await finished(it);
  });

  it("accepts any sign of life", async () => {
    const it = begin({ heartbeatMs: 1000 });
    for (let round = 1; round < 10; round++) {
      await it.clock.advance(900);
      it.transport.last.sink.alive();
      await it.clock.advance(900);
      it.transport.last.give(round);
    }
    expect(it.transport.opens).toHaveLength(1);
    it.connection.close();
    await finished(it);
  });

  it("accepts nothing more from an ended stream", async () => {
    const it = begin({ heartbeatMs: 1000 });
    it.transport.isDeaf = true;
    it.transport.last.give(1);
    const [first] = it.transport.opens;
    await it.clock.advance(2000);
    first!.give(2);
    first!.sink.alive();
    first!.sink.fault("invalid_utf8", "");
    expect(it.feed.taken).toEqual([1]);
    expect(it.feed.faults).toEqual([]);
    expect(it.reasons()).toEqual(["heartbeat_missed"]);
    expect(it.transport.opens).toHaveLength(2);
    it.connection.close();
    await finished(it);
  });

  it("can be disabled", async () => {
    const it = begin({ heartbeatMs: 0 });
    await it.clock.advance(1e9);
    expect(it.transport.opens).toHaveLength(1);
    it.connection.close();
    await finished(it);
  });
});

describe("a gap", () => {
  it("is filled while the stream continues", async () => {
    const it = begin();
    const [main] = it.transport.opens;
    main!.give(1);
    main!.give(4, 5);
    await setImmediate();
    expect(it.transport.last.request).toEqual({
      session: "s",
      dialect: "loom",
      from: { after: "c1" },
      follow: false,
      limit: 2,
    });
    expect(it.reasons()).toEqual(["frames_missing"]);
    main!.give(6);
    it.transport.last.give(2, 3);
    await it.transport.last.end(ENDED);
    expect(it.feed.taken).toEqual([1, 2, 3, 4, 5, 6]);
    expect(it.reasons()).toEqual(["frames_missing", undefined]);
    expect(main!.signal.aborted).toBe(false);
    expect(it.transport.opens).toHaveLength(2);
    it.connection.close();
    await finished(it);
  });

  it("filled within the same chunk causes no request", async () => {
    const it = begin();
    it.transport.last.give(1);
    it.transport.last.give(3);
    it.transport.last.give(2);
    await setImmediate();
    expect(it.transport.opens).toHaveLength(1);
    expect(it.reasons().at(-1)).toBeUndefined();
    it.connection.close();
    await finished(it);
  });

  it("after another gap is requested afterwards, not at the same time", async () => {
    const it = begin();
    const [main] = it.transport.opens;
    main!.give(1);
    main!.give(3);
    await setImmediate();
    main!.give(6);
    await setImmediate();
    expect(it.transport.opens).toHaveLength(2);
    it.transport.last.give(2);
    await it.transport.last.end(ENDED);
    expect(it.transport.opens).toHaveLength(2);
    await it.clock.advanceToNext();
    expect(it.transport.last.request).toMatchObject({ from: { after: "c3" }, limit: 2 });
    it.transport.last.give(4, 5);
    await it.transport.last.end(ENDED);
    expect(it.feed.taken).toEqual([1, 2, 3, 4, 5, 6]);
    expect(it.transport.opens).toHaveLength(3);
    expect(it.reasons().at(-1)).toBeUndefined();
    it.connection.close();
    await finished(it);
  });

  /** Answers the gap requests without frames, until something else happens. Returns their number. */
  async function answerWithoutFrames(it: ReturnType<typeof begin>, outcome: StreamOutcome): Promise<number> {
    for (let asked = 0; ; asked++) {
      const { last } = it.transport;
      if (last.request.follow || last.signal.aborted) return asked;
      await last.end(outcome);
      if (it.transport.last === last) await it.clock.advance(1000);
      if (it.transport.last === last) return asked + 1;
    }
  }

  it("that cannot be filled causes one reload, then is given up", async () => {
    const it = begin();
    it.clock.chance = 1;
    it.transport.last.give(1);
    it.transport.last.give(3);
    await setImmediate();
    expect(await answerWithoutFrames(it, ENDED)).toBe(3);
    // Only the first request trusts the count.
    expect(it.transport.opens.slice(1, 4).map(({ request }) => request.limit)).toEqual([1, undefined, undefined]);
    expect(it.feed.restarts).toBe(1);
    expect(it.feed.givenUp).toBe(0);
    const again = it.transport.last;
    expect(again.request).toMatchObject({ from: {}, follow: true });
    again.give(1);
    again.give(3);
    // The last repair failed, so this one is delayed.
    await setImmediate();
    expect(it.transport.last).toBe(again);
    await it.clock.advanceToNext();
    expect(await answerWithoutFrames(it, LOST)).toBe(3);
    expect(it.feed.restarts).toBe(1);
    expect(it.feed.givenUp).toBe(1);
    expect(again.signal.aborted).toBe(false);
    again.give(4);
    expect(it.feed.taken).toEqual([1, 3, 4]);
    // A reload would find the first gap again, so the second is given up directly.
    again.give(6);
    await it.clock.advanceToNext();
    expect(await answerWithoutFrames(it, ENDED)).toBe(3);
    expect(it.feed.restarts).toBe(1);
    expect(it.feed.givenUp).toBe(2);
    it.connection.close();
    await finished(it);
  });

  it("filled by a reload allows another reload later", async () => {
    const it = begin();
    for (const at of [2, 5]) {
      it.transport.last.give(1, at - 1);
      it.transport.last.give(at + 1);
      await it.clock.advance(1000);
      await answerWithoutFrames(it, ENDED);
      it.transport.last.give(1, at + 1);
    }
    expect(it.feed.restarts).toBe(2);
    expect(it.feed.taken).toEqual([1, 2, 3, 4, 5, 6]);
    it.connection.close();
    await finished(it);
  });

  it("is not requested again after a permanent refusal", async () => {
    const it = begin();
    it.transport.last.give(1);
    it.transport.last.give(3);
    await setImmediate();
    await it.transport.last.end(refused("evicted"));
    expect(it.feed.restarts).toBe(1);
    expect(it.transport.last.request).toMatchObject({ from: {}, follow: true });
    it.connection.close();
    await finished(it);
  });

  it("is left to the reconnected stream first, then requested", async () => {
    const it = begin();
    const [main] = it.transport.opens;
    main!.give(1);
    main!.give(3);
    await setImmediate();
    const beside = it.transport.last;
    await main!.end(LOST);
    expect(beside.signal.aborted).toBe(true);
    expect(it.reasons().at(-1)).toBe("connection_lost");
    await it.clock.advanceToNext();
    const again = it.transport.last;
    expect(again.request).toMatchObject({ from: { after: "c1" }, follow: true });
    again.give(3);
    expect(it.reasons().at(-1)).toBe("frames_missing");
    await setImmediate();
    expect(it.transport.last).toBe(again);
    await it.clock.advanceToNext();
    expect(it.transport.last.request).toMatchObject({ from: { after: "c1" }, follow: false, limit: 1 });
    it.transport.last.give(2);
    await it.transport.last.end(ENDED);
    expect(it.feed.taken).toEqual([1, 2, 3]);
    expect(it.reasons().at(-1)).toBeUndefined();
    it.connection.close();
    await finished(it);
  });

  it("does not cause a reload when the stream is lost at the same moment", async () => {
    const it = begin();
    const [main] = it.transport.opens;
    main!.give(1);
    main!.give(3);
    await setImmediate();
    const asked = it.transport.last.end(refused("evicted"));
    await main!.end(LOST);
    await asked;
    expect(it.feed.restarts).toBe(0);
    await it.clock.advanceToNext();
    expect(it.transport.last.request).toMatchObject({ from: { after: "c1" }, follow: true });
    // The new attempt did not fill it either, so a reload is due.
    it.transport.last.give(3);
    await it.clock.advanceToNext();
    await it.transport.last.end(refused("evicted"));
    expect(it.feed).toMatchObject({ restarts: 1, givenUp: 0 });
    it.connection.close();
    await finished(it);
  });

  it("filled after a reconnect cancels the pending reload", async () => {
    const it = begin();
    const [main] = it.transport.opens;
    main!.give(1);
    main!.give(3);
    await setImmediate();
    const asked = it.transport.last.end(refused("evicted"));
    await main!.end(LOST);
    await asked;
    await it.clock.advanceToNext();
    it.transport.last.give(2, 3);
    await it.transport.last.end({ kind: "aborted" });
    expect(await finished(it)).toMatchObject({ status: "failed" });
    expect(it.feed.restarts).toBe(0);
  });

  it("is filled before a stream without follow finishes", async () => {
    const it = begin({ follow: false });
    const [main] = it.transport.opens;
    main!.give(1);
    main!.give(3);
    await main!.end(ENDED);
    expect(it.isDone()).toBe(false);
    it.transport.last.give(2);
    await it.transport.last.end(ENDED);
    expect(await finished(it)).toMatchObject({ status: "complete" });
    expect(it.transport.opens).toHaveLength(2);
  });

  it("that cannot be filled does not prevent the stream from finishing", async () => {
    const it = begin({ follow: false });
    for (let load = 0; load < 2; load++) {
      const main = it.transport.last;
      main.give(1);
      main.give(3);
      await main.end(ENDED);
      for (let asked = 0; asked < 3; asked++) {
        await it.clock.advance(1000);
        await it.transport.last.end(ENDED);
      }
    }
    await finished(it);
    expect(it.feed.taken).toEqual([1, 3]);
    expect(it.feed).toMatchObject({ restarts: 1, givenUp: 1 });
  });
});
