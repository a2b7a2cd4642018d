// Faults of a stream other than a lost connection: temporary refusals, unreadable frames, gaps that cannot be filled,
// and too many held frames.
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { begin, ENDED, finished, LOST, lose, refused } from "../../../test/client/scripted-connection.ts";
import type { StreamOutcome } from "../transport.ts";

const FOREIGN: StreamOutcome = { kind: "refused", code: "connection_refused", message: "404", isForeign: true };

describe("a refusal", () => {
  it.each([
    "store_busy",
    "store_full",
    "store_failed",
    "keys_unavailable",
    "login_unavailable",
    "internal_error",
    "backlog_full",
    "rate_limited",
    "too_many_streams",
  ] as const)("that is temporary is retried, within limits: %s", async (code) => {
    const it = begin({ reconnect: { maxAttempts: 2 } });
    it.transport.last.give(1, 2);
    expect((await lose(it, refused(code))).request.from).toEqual({ after: "c2" });
    it.transport.last.give(3);
    for (let round = 0; round < 3; round++) await lose(it, refused(code));
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
    expect(it.transport.opens).toHaveLength(4);
    expect(it.feed.restarts).toBe(0);
  });

  it("because the store is full is named until the server continues", async () => {
    const it = begin();
    it.transport.last.give(1);
    await it.transport.last.end(refused("store_full"));
    expect(it.reasons().at(-1)).toBe("store_full");
    it.connection.close();
  });

  it("with a retry delay is retried after it", async () => {
    const it = begin();
    it.transport.last.give(1);
    const outcome = { ...refused("rate_limited"), details: { retry_after_ms: 4000 } } as StreamOutcome;
    await it.transport.last.end(outcome);
    await it.clock.advance(3999);
    expect(it.transport.opens).toHaveLength(1);
    await it.clock.advance(1);
    expect(it.transport.opens).toHaveLength(2);
    it.connection.close();
  });

  it("from a proxy is final on the first attempt", async () => {
    const it = begin();
    await it.transport.last.end(FOREIGN);
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "connection_refused" } });
  });

  it("from a proxy is temporary once the server was reachable, within limits", async () => {
    const it = begin({ reconnect: { maxAttempts: 3 } });
    it.transport.last.sink.alive();
    await lose(it);
    for (let round = 0; round < 3; round++) await lose(it, FOREIGN);
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
    expect(it.transport.opens).toHaveLength(4);
  });

  it("of the position restarts the stream each time, if it was answered in between", async () => {
    const it = begin({ reconnect: { maxAttempts: 3 } });
    it.transport.last.give(1, 2);
    for (let round = 0; round < 10; round++) {
      await lose(it, refused("cursor_stale"));
      it.transport.last.sink.alive();
      await it.clock.advance(5000);
    }
    expect(it.isDone()).toBe(false);
    expect(it.feed.restarts).toBe(10);
    it.transport.last.give(1, 3);
    it.connection.close();
    expect(await finished(it)).toMatchObject({ status: "complete" });
  });

  it("of the position right after every answer is limited and delayed", async () => {
    const it = begin({ heartbeatMs: 0, reconnect: { maxAttempts: 3 } });
    it.clock.chance = 1;
    while (!it.isDone()) {
      it.transport.last.sink.alive();
      await lose(it, refused("cursor_stale"));
    }
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
    expect(it.clock.pauses).toEqual([250, 500, 1000]);
  });
});

describe("a stable stream", () => {
  it("counts as progress without any frame", async () => {
    const it = begin({ reconnect: { maxAttempts: 2 } });
    for (let round = 0; round < 10; round++) {
      it.transport.last.sink.alive();
      await it.clock.advance(4000);
      await lose(it);
    }
    expect(it.isDone()).toBe(false);
    it.connection.close();
    await finished(it);
  });

  it("does not count if it was never answered or fell silent", async () => {
    const it = begin({ heartbeatMs: 10_000, reconnect: { maxAttempts: 2 } });
    await it.clock.advance(4000);
    await lose(it);
    for (let round = 0; round < 5 && !it.isDone(); round++) {
      it.transport.last.sink.alive();
      await it.clock.advance(10_000);
      await it.clock.advanceToNext();
    }
    expect(it.isDone()).toBe(true);
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
  });
});

describe("unreadable input", () => {
  it("of the link reopens the stream at its position, within limits", async () => {
    const it = begin({ reconnect: { maxAttempts: 2 } });
    it.transport.last.give(1, 2);
    const garble = async (): Promise<void> => {
      const { last, opens } = it.transport;
      last.sink.fault("invalid_control", "not JSON");
      expect(last.signal.aborted).toBe(true);
      await setImmediate();
      while (it.transport.opens === opens && it.transport.last === last && !it.isDone()) await it.clock.advanceToNext();
    };
    await garble();
    expect(it.feed.faults).toEqual(["invalid_control: not JSON"]);
    expect(it.transport.last.request.from).toEqual({ after: "c2" });
    expect(it.reasons()).toEqual(["connection_lost"]);
    await garble();
    await garble();
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
    expect(it.feed.refusals).toEqual([]);
  });

  it.each(["line_too_long", "invalid_utf8"] as const)(
    "of a frame is retried once, then skipped: %s",
    async (reason) => {
      const it = begin();
      for (const at of [1, 2]) {
        const first = it.transport.last;
        first.give(at);
        first.sink.fault(reason, "longer");
        expect(first.signal.aborted).toBe(true);
        await setImmediate();
        await it.clock.advanceToNext();
        const again = it.transport.last;
        expect(again.request.from).toEqual({ after: `c${at}` });
        expect(it.feed.refusals).toHaveLength(at - 1);
        again.sink.fault(reason, "longer");
        expect(again.signal.aborted).toBe(false);
        expect(it.feed.refusals).toHaveLength(at);
      }
      expect(it.feed.faults).toEqual([`${reason}: longer`, `${reason}: longer`]);
      expect(it.transport.opens).toHaveLength(3);
      it.connection.close();
      await finished(it);
    },
  );

  it("in a gap request leaves the frame missing", async () => {
    const it = begin();
    it.transport.last.give(1);
    it.transport.last.give(3);
    await setImmediate();
    const beside = it.transport.last;
    beside.sink.fault("line_too_long", "longer");
    expect(beside.signal.aborted).toBe(false);
    beside.sink.fault("invalid_control", "not JSON");
    expect(beside.signal.aborted).toBe(true);
    expect(it.feed).toMatchObject({ faults: [], refusals: [] });
    it.connection.close();
    await finished(it);
  });
});

describe("a gap", () => {
  it("that stays open is not requested endlessly while other frames arrive", async () => {
    const it = begin();
    it.clock.chance = 1;
    const [main] = it.transport.opens;
    main!.give(1);
    main!.give(3);
    await setImmediate();
    // Other streams continue: the frame count grows, but nothing missing arrives.
    let count = 0;
    Object.defineProperty(it.feed, "frameCount", { get: () => ++count });
    for (let asked = 1; asked <= 3; asked++) {
      expect(it.transport.opens).toHaveLength(1 + asked);
      await it.transport.last.end(ENDED);
      if (asked < 3) expect(it.transport.opens).toHaveLength(1 + asked);
      await it.clock.advance(250 * asked);
    }
    expect(main!.signal.aborted).toBe(true);
    expect(it.feed.restarts).toBe(1);
    it.connection.close();
    await finished(it);
  });

  it("that remains after a reload is given up, even if other frames arrived", async () => {
    const it = begin();
    const [main] = it.transport.opens;
    for (let load = 0; load < 2; load++) {
      const stream = it.transport.last;
      stream.give(1);
      stream.give(3);
      let count = load * 1000;
      Object.defineProperty(it.feed, "frameCount", { configurable: true, get: () => ++count });
      for (let asked = 0; asked < 3; asked++) {
        await it.clock.advance(1000);
        await it.transport.last.end(ENDED);
      }
    }
    expect(main!.signal.aborted).toBe(true);
    expect(it.feed).toMatchObject({ restarts: 1, givenUp: 1 });
    it.connection.close();
    await finished(it);
  });

  it("that a busy server cannot fill yet is requested again", async () => {
    const it = begin();
    it.transport.last.give(1);
    it.transport.last.give(3);
    await setImmediate();
    await it.transport.last.end(refused("store_busy"));
    await it.clock.advance(1000);
    it.transport.last.give(2);
    await it.transport.last.end(ENDED);
    expect(it.feed).toMatchObject({ taken: [1, 2, 3], restarts: 0 });
    it.connection.close();
    await finished(it);
  });
});

describe("an overflow of held frames", () => {
  it("reopens the stream at its position after a delay, and is not progress", async () => {
    const it = begin({ reconnect: { maxAttempts: 2 } });
    it.transport.last.give(1);
    it.transport.last.give(3);
    await setImmediate();
    expect(it.transport.opens).toHaveLength(2);
    for (let round = 0; round < 3; round++) {
      const { length } = it.transport.opens;
      it.transport.last.give(10 + round);
      it.feed.onOverflow!();
      expect(it.transport.opens.every(({ signal }) => signal.aborted)).toBe(true);
      await setImmediate();
      expect(it.transport.opens).toHaveLength(length);
      if (round === 2) break;
      expect(it.reasons().at(-1)).toBe("connection_lost");
      await it.clock.advanceToNext();
      expect(it.transport.last.request).toMatchObject({ from: { after: round === 0 ? "c1" : "c3" }, follow: true });
      it.transport.last.give(round + 2);
    }
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
  });
});

describe("the start cursor", () => {
  it("comes from the main stream, not from gap requests", async () => {
    const it = begin();
    it.transport.last.sink.begin?.("c0");
    it.transport.last.give(1);
    it.transport.last.give(3);
    await setImmediate();
    it.transport.last.sink.begin?.("c1");
    expect(it.feed.begun).toEqual(["c0"]);
    await lose({ ...it, transport: it.transport }, LOST);
    it.connection.close();
    await finished(it);
  });
});
