import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { begin, ENDED, finished, LOST, lose, refused } from "../../test/client/scripted-connection.ts";
import { ScriptedTransport } from "../../test/client/scripted-transport.ts";
import { connect } from "./connection.ts";
import type { CommandOutcome } from "./transport.ts";

describe("a stream", () => {
  it("is opened from the beginning, in loom, to be followed", () => {
    const { transport, connection } = begin();
    expect(transport.opens.map(({ request }) => request)).toEqual([
      { session: "s", dialect: "loom", from: {}, follow: true },
    ]);
    connection.close();
  });

  it("finishes at its end when it is not followed", async () => {
    const it = begin({ follow: false });
    it.transport.last.give(1, 3);
    await it.transport.last.end(ENDED);
    expect(await finished(it)).toMatchObject({ status: "complete" });
    expect(it.track.taken).toEqual([1, 2, 3]);
    expect(it.reasons()).toEqual([]);
  });

  it("that ends while a run is going was cut, however politely", async () => {
    const it = begin({ follow: false });
    it.transport.last.give(1, 2);
    const again = await lose(it, ENDED);
    expect(again.request).toMatchObject({ from: { after: "c2" }, follow: false });
    again.give(3);
    await again.end(ENDED);
    expect(await finished(it)).toMatchObject({ status: "complete" });
    expect(it.reasons()).toEqual(["connection_lost", undefined]);
  });

  it("that ends while a run is going each time is cut short in the end", async () => {
    const it = begin({ follow: false, reconnect: { maxAttempts: 2 } });
    it.transport.last.give(1);
    await lose(it, ENDED);
    await lose(it, ENDED);
    await lose(it, ENDED);
    expect(await finished(it)).toMatchObject({ status: "truncated" });
    expect(it.transport.opens).toHaveLength(3);
  });

  it("is opened again where it was left when it is lost, or ended although it is followed", async () => {
    const it = begin();
    it.transport.last.give(1, 2);
    (await lose(it)).give(3);
    expect((await lose(it, ENDED)).request.from).toEqual({ after: "c3" });
    expect(it.reasons()).toEqual(["connection_lost", undefined, "connection_lost"]);
    it.transport.last.sink.alive();
    expect(it.reasons().at(-1)).toBeUndefined();
    it.connection.close();
    expect(await finished(it)).toMatchObject({ status: "complete" });
  });

  it("tells of bytes that became no frame", async () => {
    const it = begin();
    it.transport.last.sink.fault("line_too_long", "longer than 10 bytes");
    expect(it.track.faults).toEqual(["line_too_long: longer than 10 bytes"]);
    it.connection.close();
    await finished(it);
  });

  it("fails when it is refused", async () => {
    const it = begin();
    await it.transport.last.end(refused("unknown_session"));
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "unknown_session" } });
  });

  it("fails when somebody closes the transport", async () => {
    const it = begin();
    await it.transport.last.end({ kind: "aborted" });
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "connection_lost" } });
  });

  it("counts as lost when the transport throws", async () => {
    const transport = new ScriptedTransport();
    transport.open = () => {
      throw new Error("out of sockets");
    };
    const it = begin({ transport, reconnect: { maxAttempts: 1 } });
    await it.clock.advance(60_000);
    const state = await it.connection.done;
    expect(state.reason).toEqual({ code: "reconnect_limit", message: "tried 1 times: Error: out of sockets" });
  });

  it("fails at once when the session is received in another dialect", async () => {
    const transport = new ScriptedTransport();
    const connection = connect({ track: () => undefined }, { transport, session: "s", dialect: "engine" });
    expect(await connection.done).toMatchObject({ status: "failed", reason: { code: "dialect_mismatch" } });
    connection.retry();
    connection.close();
    expect(transport.opens).toEqual([]);
  });
});

describe("a place that is of no use", () => {
  it.each(["cursor_stale", "evicted"] as const)("makes it begin anew: %s", async (code) => {
    const it = begin();
    it.transport.last.give(1, 2);
    await lose(it);
    await it.transport.last.end(refused(code));
    expect(it.track.restarts).toBe(1);
    expect(it.transport.last.request.from).toEqual({});
    expect(it.reasons()).toEqual(["connection_lost", code]);
    it.transport.last.give(1, 3);
    expect(it.reasons().at(-1)).toBeUndefined();
    it.connection.close();
    expect(await finished(it)).toMatchObject({ status: "complete" });
  });

  it("fails the second time, when nothing came in between", async () => {
    const it = begin();
    it.transport.last.give(1, 2);
    await lose(it);
    await it.transport.last.end(refused("cursor_stale"));
    await it.transport.last.end(refused("evicted"));
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "evicted" } });
    expect(it.track.restarts).toBe(1);
  });

  it("is no way to go round in circles", async () => {
    const it = begin({ reconnect: { maxAttempts: 4 } });
    for (let round = 0; round < 50 && !it.isDone(); round++) {
      it.transport.last.give(1, 2);
      await lose(it);
      if (!it.isDone()) await it.transport.last.end(refused("cursor_stale"));
    }
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
    expect(it.track.restarts).toBe(4);
  });
});

describe("close", () => {
  const situations: [what: string, reach: (it: ReturnType<typeof begin>) => Promise<unknown>][] = [
    ["at once", async () => undefined],
    ["in the middle of a stream", async (it) => it.transport.last.give(1, 2)],
    ["while it waits", async (it) => it.transport.last.end(LOST)],
    [
      "while it asks for what is missing",
      async (it) => {
        it.transport.last.give(2);
        await setImmediate();
      },
    ],
    [
      "while it waits to ask again",
      async (it) => {
        it.transport.last.give(2);
        await setImmediate();
        await it.transport.last.end(LOST);
      },
    ],
    [
      "while it loads the session again",
      async (it) => {
        it.transport.last.give(2);
        await setImmediate();
        await it.transport.last.end(refused("evicted"));
      },
    ],
    ["after it failed", async (it) => it.transport.last.end(refused("unknown_session"))],
  ];

  describe.each(situations)("%s", (_what, reach) => {
    it.each(["by hand", "by signal"])("%s leaves nothing behind", async (how) => {
      const stop = new AbortController();
      const it = begin({ signal: stop.signal });
      await reach(it);
      const { length } = it.transport.opens;
      if (how === "by hand") it.connection.close();
      else stop.abort();
      expect((await finished(it)).status).toMatch(/complete|truncated|failed/);
      it.connection.close();
      it.connection.retry();
      await it.clock.advance(1e9);
      expect(it.transport.opens).toHaveLength(length);
      it.transport.last.give(9);
      expect(it.track.taken).not.toContain(9);
      expect(await it.connection.run({ message: "hi" })).toMatchObject({ kind: "lost" });
      expect(it.transport.sends).toEqual([]);
    });
  });

  it("before it began opens nothing for long", async () => {
    const it = begin({ signal: AbortSignal.abort() });
    expect(await finished(it)).toMatchObject({ status: "truncated" });
  });
});

describe("retry", () => {
  it("begins anew after a failure, where it was left", async () => {
    const it = begin({ reconnect: { maxAttempts: 0 } });
    await it.transport.last.end(LOST);
    const failed = it.connection.done;
    expect(await failed).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
    it.connection.retry();
    expect(it.tracks).toHaveLength(2);
    expect(it.transport.opens).toHaveLength(2);
    it.connection.close();
    expect(it.connection.done).not.toBe(failed);
    expect(await it.connection.done).toMatchObject({ status: "truncated" });
  });

  it("does not disturb a stream that is well", () => {
    const it = begin();
    it.connection.retry();
    expect(it.transport.opens).toHaveLength(1);
    it.connection.close();
  });
});

describe("commands", () => {
  it("go up with the session and an id of their own", async () => {
    const it = begin();
    await it.connection.run({ message: "hi", when_busy: "reject" });
    await it.connection.cancel({ run_id: "r1", reason: "enough" });
    await it.connection.approve({ call_id: "c1", decision: "approved" });
    await it.connection.todo({ id: "own", list_id: "l", item_id: "i", completed: true });
    const commands = it.transport.sends.map(({ command }) => command);
    const ids = commands.map(({ id }) => id);
    expect(commands).toEqual([
      { type: "run", id: ids[0], session: "s", message: "hi", when_busy: "reject" },
      { type: "cancel", id: ids[1], session: "s", run_id: "r1", reason: "enough" },
      { type: "approve", id: ids[2], session: "s", call_id: "c1", decision: "approved" },
      { type: "todo", id: "own", session: "s", list_id: "l", item_id: "i", completed: true },
    ]);
    expect(new Set(ids).size).toBe(4);
    it.connection.close();
    await finished(it);
  });

  it("have ids also where the page is not served securely", async () => {
    vi.stubGlobal("crypto", undefined);
    const it = begin();
    await it.connection.run({ message: "a" });
    await it.connection.run({ message: "b" });
    vi.unstubAllGlobals();
    const ids = it.transport.sends.map(({ command }) => command.id);
    expect(ids.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true);
    expect(new Set(ids).size).toBe(2);
    it.connection.close();
    await finished(it);
  });

  const lost = { kind: "lost", code: "command_timeout", message: "" } as const;

  it("that are lost are asked again with the same id", async () => {
    const it = begin();
    it.transport.answers = [lost, lost, { kind: "done", result: { event_id: 7 } }];
    const answer = it.connection.cancel({ run_id: "r1" });
    await it.clock.advance(10_000);
    expect(await answer).toEqual({ kind: "done", result: { event_id: 7 } });
    expect(new Set(it.transport.sends.map(({ command }) => command.id)).size).toBe(1);
    expect(it.transport.sends).toHaveLength(3);
    it.connection.close();
    await finished(it);
  });

  it("are not asked for ever, nor again when they were refused", async () => {
    const it = begin({ commandLimitMs: 3000 });
    it.clock.chance = 1;
    it.transport.answers = [lost];
    let outcome: CommandOutcome | undefined;
    void it.connection.cancel({ run_id: "r1" }).then((answer) => (outcome = answer));
    await it.clock.advance(2999);
    // At once, then after 250, 500, 1000 ms; the pause of 2000 is cut short.
    expect(it.transport.sends).toHaveLength(4);
    expect(outcome).toBeUndefined();
    await it.clock.advance(1);
    expect(outcome).toEqual(lost);
    expect(it.transport.sends).toHaveLength(4);
    it.transport.answers = [{ kind: "refused", code: "unknown_run", message: "" }];
    expect(await it.connection.cancel({ run_id: "r1" })).toMatchObject({ kind: "refused" });
    expect(it.transport.sends).toHaveLength(5);
    it.connection.close();
    await finished(it);
  });

  it("survive an outage of some seconds", async () => {
    const it = begin();
    it.clock.chance = 0.1;
    it.transport.answers = [lost];
    const answer = it.connection.cancel({ run_id: "r1" });
    await it.clock.advance(5000);
    it.transport.answers = [{ kind: "done" }];
    await it.clock.advance(20_000);
    expect(await answer).toEqual({ kind: "done" });
    it.connection.close();
    await finished(it);
  });

  it("wait as long as the server asks for", async () => {
    const it = begin();
    it.transport.answers = [{ ...lost, retryAfterMs: 3000 }, { kind: "done" }];
    const answer = it.connection.cancel({ run_id: "r1" });
    await it.clock.advance(2999);
    expect(it.transport.sends).toHaveLength(1);
    await it.clock.advance(1);
    expect(await answer).toEqual({ kind: "done" });
    it.connection.close();
    await finished(it);
  });

  it("that wait to be asked again are asked at once when the stream is heard again", async () => {
    const it = begin();
    it.transport.answers = [{ ...lost, retryAfterMs: 10_000 }, { kind: "done" }];
    const answer = it.connection.cancel({ run_id: "r1" });
    await setImmediate();
    it.transport.last.sink.alive();
    expect(await answer).toEqual({ kind: "done" });
    it.connection.close();
    await finished(it);
  });

  it("never reject, nor wait for ever, whatever the transport does", async () => {
    const transport = new ScriptedTransport();
    const it = begin({ transport, commandLimitMs: 1000 });
    transport.send = () => {
      throw new Error("out of sockets");
    };
    const thrown = it.connection.cancel({ run_id: "r1" });
    await it.clock.advance(1000);
    expect(await thrown).toMatchObject({ kind: "lost", message: "Error: out of sockets" });
    transport.send = () => new Promise(() => undefined);
    const unanswered = it.connection.cancel({ run_id: "r1" });
    await it.clock.advance(1000);
    expect(await unanswered).toMatchObject({ kind: "lost", code: "command_timeout" });
    it.connection.close();
    await it.connection.done;
    expect(it.clock.timerCount).toBe(0);
  });

  it("are refused by a stranger on first contact, and lost to one later", async () => {
    const it = begin();
    const foreign = { kind: "refused", code: "connection_refused", message: "404", isForeign: true } as const;
    it.transport.answers = [foreign];
    expect(await it.connection.cancel({ run_id: "r1" })).toEqual(foreign);
    it.transport.last.sink.alive();
    it.transport.answers = [foreign, { kind: "done" }];
    const answer = it.connection.cancel({ run_id: "r1" });
    await it.clock.advance(1000);
    expect(await answer).toEqual({ kind: "done" });
    it.connection.close();
    await finished(it);
  });

  it("that wait to be asked again are asked at once by retry, and are lost by close", async () => {
    const it = begin();
    it.transport.answers = [lost];
    const answer = it.connection.cancel({ run_id: "r1" });
    await setImmediate();
    it.connection.retry();
    await setImmediate();
    expect(it.transport.sends).toHaveLength(2);
    it.connection.close();
    expect(await answer).toEqual(lost);
    await finished(it);
  });

  it("bring to life a connection whose session was not there before", async () => {
    const it = begin();
    await it.transport.last.end(refused("unknown_session"));
    it.transport.answers = [{ kind: "refused", code: "unknown_run", message: "" }, { kind: "accepted" }];
    await it.connection.cancel({ run_id: "r1" });
    expect(it.transport.opens).toHaveLength(1);
    await it.connection.run({ message: "hi" });
    expect(it.transport.opens).toHaveLength(2);
    it.connection.close();
    await it.connection.done;
  });

  it("bring it to life also when they are answered before the stream is refused, once", async () => {
    const it = begin();
    await it.connection.run({ message: "hi" });
    await it.transport.last.end(refused("unknown_session"));
    expect(it.transport.opens).toHaveLength(2);
    expect(it.isDone()).toBe(false);
    await it.transport.last.end(refused("unknown_session"));
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "unknown_session" } });
  });
});

describe("the user's signal", () => {
  it("is let go of when it is over, and taken again by retry", async () => {
    const { signal } = new AbortController();
    const it = begin({ follow: false, signal });
    it.transport.last.give(1, 3);
    await it.transport.last.end(ENDED);
    await finished(it);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    const stop = new AbortController();
    const failing = begin({ signal: stop.signal });
    await failing.transport.last.end(refused("unknown_session"));
    await failing.connection.done;
    expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
    failing.connection.retry();
    await setImmediate();
    expect(getEventListeners(stop.signal, "abort")).toHaveLength(1);
    stop.abort();
    expect(await failing.connection.done).toMatchObject({ status: "truncated" });
    expect(failing.transport.last.signal.aborted).toBe(true);
  });
});
