// What befalls a stream beside losing its connection: refusals that pass, faults, gaps nobody fills, too much at once.
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { begin, ENDED, finished, LOST, lose, refused } from "../../../test/client/scripted-connection.ts";
import type { StreamOutcome } from "../transport.ts";

const FOREIGN: StreamOutcome = { kind: "refused", code: "connection_refused", message: "404", isForeign: true };

describe("a refusal", () => {
  it.each([
    "store_busy",
    "store_failed",
    "internal_error",
    "backlog_full",
    "rate_limited",
    "too_many_streams",
  ] as const)("that passes is waited for, within limits: %s", async (code) => {
    const it = begin({ reconnect: { maxAttempts: 2 } });
    it.transport.last.give(1, 2);
    expect((await lose(it, refused(code))).request.from).toEqual({ after: "c2" });
    it.transport.last.give(3);
    for (let round = 0; round < 3; round++) await lose(it, refused(code));
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
    expect(it.transport.opens).toHaveLength(4);
    expect(it.track.restarts).toBe(0);
  });

  it("that says when it passes is waited for as long", async () => {
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

  it("by a stranger is believed on first contact", async () => {
    const it = begin();
    await it.transport.last.end(FOREIGN);
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "connection_refused" } });
  });

  it("by a stranger is waited for where things went well before, within limits", async () => {
    const it = begin({ reconnect: { maxAttempts: 3 } });
    it.transport.last.sink.alive();
    await lose(it);
    for (let round = 0; round < 3; round++) await lose(it, FOREIGN);
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
    expect(it.transport.opens).toHaveLength(4);
  });

  it("of the place again and again is a session made anew, where it was answered in between", async () => {
    const it = begin({ reconnect: { maxAttempts: 3 } });
    it.transport.last.give(1, 2);
    for (let round = 0; round < 10; round++) {
      await lose(it, refused("cursor_stale"));
      it.transport.last.sink.alive();
      await it.clock.advance(5000);
    }
    expect(it.isDone()).toBe(false);
    expect(it.track.restarts).toBe(10);
    it.transport.last.give(1, 3);
    it.connection.close();
    expect(await finished(it)).toMatchObject({ status: "complete" });
  });

  it("of the place at once after every answer is not asked for ever, nor without pauses", async () => {
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

describe("a stream that stood for a while", () => {
  it("counts as progress, though nothing was heard but that it was there", async () => {
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

  it("does not when nobody answered, or it fell silent", async () => {
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

describe("what cannot be read", () => {
  it("of the link makes it open again where it was left, within limits", async () => {
    const it = begin({ reconnect: { maxAttempts: 2 } });
    it.transport.last.give(1, 2);
    const garble = async (): Promise<void> => {
      const { last, opens } = it.transport;
      last.sink.fault("invalid_control", "no JSON");
      expect(last.signal.aborted).toBe(true);
      await setImmediate();
      while (it.transport.opens === opens && it.transport.last === last && !it.isDone()) await it.clock.advanceToNext();
    };
    await garble();
    expect(it.track.faults).toEqual(["invalid_control: no JSON"]);
    expect(it.transport.last.request.from).toEqual({ after: "c2" });
    expect(it.reasons()).toEqual(["connection_lost"]);
    await garble();
    await garble();
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
    expect(it.track.refusals).toEqual([]);
  });

  it.each(["line_too_long", "invalid_utf8"] as const)(
    "of its lines is tried once more, then gone without: %s",
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
        expect(it.track.refusals).toHaveLength(at - 1);
        again.sink.fault(reason, "longer");
        expect(again.signal.aborted).toBe(false);
        expect(it.track.refusals).toHaveLength(at);
      }
      expect(it.track.faults).toEqual([`${reason}: longer`, `${reason}: longer`]);
      expect(it.transport.opens).toHaveLength(3);
      it.connection.close();
      await finished(it);
    },
  );

  it("beside the stream is left missing", async () => {
    const it = begin();
    it.transport.last.give(1);
    it.transport.last.give(3);
    await setImmediate();
    const beside = it.transport.last;
    beside.sink.fault("line_too_long", "longer");
    expect(beside.signal.aborted).toBe(false);
    beside.sink.fault("invalid_control", "no JSON");
    expect(beside.signal.aborted).toBe(true);
    expect(it.track).toMatchObject({ faults: [], refusals: [] });
    it.connection.close();
    await finished(it);
  });
});

describe("a gap", () => {
  it("nobody fills is not asked for without end while other frames come", async () => {
    const it = begin();
    it.clock.chance = 1;
    const [main] = it.transport.opens;
    main!.give(1);
    main!.give(3);
    await setImmediate();
    // Other streams go on: frames are counted, and nothing of what is missing came.
    let count = 0;
    Object.defineProperty(it.track, "frameCount", { get: () => ++count });
    for (let asked = 1; asked <= 3; asked++) {
      expect(it.transport.opens).toHaveLength(1 + asked);
      await it.transport.last.end(ENDED);
      if (asked < 3) expect(it.transport.opens).toHaveLength(1 + asked);
      await it.clock.advance(250 * asked);
    }
    expect(main!.signal.aborted).toBe(true);
    expect(it.track.restarts).toBe(1);
    it.connection.close();
    await finished(it);
  });

  it("that is there again after a reload is gone without, however many other frames came", async () => {
    const it = begin();
    const [main] = it.transport.opens;
    for (let load = 0; load < 2; load++) {
      const stream = it.transport.last;
      stream.give(1);
      stream.give(3);
      let count = load * 1000;
      Object.defineProperty(it.track, "frameCount", { configurable: true, get: () => ++count });
      for (let asked = 0; asked < 3; asked++) {
        await it.clock.advance(1000);
        await it.transport.last.end(ENDED);
      }
    }
    expect(main!.signal.aborted).toBe(true);
    expect(it.track).toMatchObject({ restarts: 1, givenUp: 1 });
    it.connection.close();
    await finished(it);
  });

  it("that a busy server cannot fill yet is asked for again", async () => {
    const it = begin();
    it.transport.last.give(1);
    it.transport.last.give(3);
    await setImmediate();
    await it.transport.last.end(refused("store_busy"));
    await it.clock.advance(1000);
    it.transport.last.give(2);
    await it.transport.last.end(ENDED);
    expect(it.track).toMatchObject({ taken: [1, 2, 3], restarts: 0 });
    it.connection.close();
    await finished(it);
  });
});

describe("more than can be held", () => {
  it("makes it open again where it was left, after a pause, and is no progress", async () => {
    const it = begin({ reconnect: { maxAttempts: 2 } });
    it.transport.last.give(1);
    it.transport.last.give(3);
    await setImmediate();
    expect(it.transport.opens).toHaveLength(2);
    for (let round = 0; round < 3; round++) {
      const { length } = it.transport.opens;
      it.transport.last.give(10 + round);
      it.track.onOverflow!();
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

describe("where a stream began", () => {
  it("is told by the stream itself, not by what is asked beside it", async () => {
    const it = begin();
    it.transport.last.sink.begin?.("c0");
    it.transport.last.give(1);
    it.transport.last.give(3);
    await setImmediate();
    it.transport.last.sink.begin?.("c1");
    expect(it.track.begun).toEqual(["c0"]);
    await lose({ ...it, transport: it.transport }, LOST);
    it.connection.close();
    await finished(it);
  });
});
