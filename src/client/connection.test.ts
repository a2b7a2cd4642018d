import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { begin, ENDED, finished, LOST, lose, refused } from "../../test/client/scripted-connection.ts";
import { ScriptedTransport } from "../../test/client/scripted-transport.ts";
import { connect } from "./connection.ts";
import type { CommandResult } from "./transport.ts";

describe("a stream", () => {
  it("opens from the start, in loom, with follow", () => {
    const { transport, connection } = begin();
    expect(transport.opens.map(({ request }) => request)).toEqual([
      { session: "s", dialect: "loom", from: {}, follow: true },
    ]);
    connection.close();
  });

  it("finishes at its end without follow", async () => {
    const it = begin({ follow: false });
    it.transport.last.give(1, 3);
    await it.transport.last.end(ENDED);
    expect(await finished(it)).toMatchObject({ status: "complete" });
    expect(it.feed.taken).toEqual([1, 2, 3]);
    expect(it.reasons()).toEqual([]);
  });

  it("reconnects when the server ends it during a run", async () => {
    const it = begin({ follow: false });
    it.transport.last.give(1, 2);
    const again = await lose(it, ENDED);
    expect(again.request).toMatchObject({ from: { after: "c2" }, follow: false });
    again.give(3);
    await again.end(ENDED);
    expect(await finished(it)).toMatchObject({ status: "complete" });
    expect(it.reasons()).toEqual(["connection_lost", undefined]);
  });

  it("is truncated when the server ends every attempt during a run", async () => {
    const it = begin({ follow: false, reconnect: { maxAttempts: 2 } });
    it.transport.last.give(1);
    await lose(it, ENDED);
    await lose(it, ENDED);
    await lose(it, ENDED);
    expect(await finished(it)).toMatchObject({ status: "truncated" });
    expect(it.transport.opens).toHaveLength(3);
  });

  it("resumes at its position after a loss, or an end while following", async () => {
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

  it("reports unreadable bytes", async () => {
    const it = begin();
    it.transport.last.sink.fault("line_too_long", "longer than 10 bytes");
    expect(it.feed.faults).toEqual(["line_too_long: longer than 10 bytes"]);
    it.connection.close();
    await finished(it);
  });

  it("fails when it is refused", async () => {
    const it = begin();
    await it.transport.last.end(refused("unknown_session"));
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "unknown_session" } });
  });

  it("fails when the transport is closed", async () => {
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
    expect(state.reason).toEqual({
      code: "reconnect_limit",
      message: "Gave up reconnecting (attempts: 1): Error: out of sockets",
    });
  });

  it("fails at once when the session is received in another dialect", async () => {
    const transport = new ScriptedTransport();
    const connection = connect({ openFeed: () => undefined }, { transport, session: "s", dialect: "engine" });
    expect(await connection.done).toMatchObject({ status: "failed", reason: { code: "dialect_mismatch" } });
    connection.retry();
    connection.close();
    expect(transport.opens).toEqual([]);
  });
});

describe("a rejected position", () => {
  it.each(["cursor_stale", "evicted"] as const)("restarts the stream: %s", async (code) => {
    const it = begin();
    it.transport.last.give(1, 2);
    await lose(it);
    await it.transport.last.end(refused(code));
    expect(it.feed.restarts).toBe(1);
    expect(it.transport.last.request.from).toEqual({});
    expect(it.reasons()).toEqual(["connection_lost", code]);
    it.transport.last.give(1, 3);
    expect(it.reasons().at(-1)).toBeUndefined();
    it.connection.close();
    expect(await finished(it)).toMatchObject({ status: "complete" });
  });

  it("fails the stream the second time, without an answer in between", async () => {
    const it = begin();
    it.transport.last.give(1, 2);
    await lose(it);
    await it.transport.last.end(refused("cursor_stale"));
    await it.transport.last.end(refused("evicted"));
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "evicted" } });
    expect(it.feed.restarts).toBe(1);
  });

  it("does not cause an endless loop", async () => {
    const it = begin({ reconnect: { maxAttempts: 4 } });
    for (let round = 0; round < 50 && !it.isDone(); round++) {
      it.transport.last.give(1, 2);
      await lose(it);
      if (!it.isDone()) await it.transport.last.end(refused("cursor_stale"));
    }
    expect(await finished(it)).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
    expect(it.feed.restarts).toBe(4);
  });
});

describe("close", () => {
  const situations: [what: string, reach: (it: ReturnType<typeof begin>) => Promise<unknown>][] = [
    ["at once", async () => undefined],
    ["in the middle of a stream", async (it) => it.transport.last.give(1, 2)],
    ["while waiting to reconnect", async (it) => it.transport.last.end(LOST)],
    [
      "while requesting missing frames",
      async (it) => {
        it.transport.last.give(2);
        await setImmediate();
      },
    ],
    [
      "while waiting to request them again",
      async (it) => {
        it.transport.last.give(2);
        await setImmediate();
        await it.transport.last.end(LOST);
      },
    ],
    [
      "while reloading the session",
      async (it) => {
        it.transport.last.give(2);
        await setImmediate();
        await it.transport.last.end(refused("evicted"));
      },
    ],
    ["after a failure", async (it) => it.transport.last.end(refused("unknown_session"))],
  ];

  describe.each(situations)("%s", (_what, reach) => {
    it.each(["by method", "by signal"])("%s releases everything", async (how) => {
      const stop = new AbortController();
      const it = begin({ signal: stop.signal });
      await reach(it);
      const { length } = it.transport.opens;
      if (how === "by method") it.connection.close();
      else stop.abort();
      expect((await finished(it)).status).toMatch(/complete|truncated|failed/);
      it.connection.close();
      it.connection.retry();
      await it.clock.advance(1e9);
      expect(it.transport.opens).toHaveLength(length);
      it.transport.last.give(9);
      expect(it.feed.taken).not.toContain(9);
      expect(await it.connection.run({ message: "hi" })).toMatchObject({ kind: "lost" });
      expect(it.transport.sends).toEqual([]);
    });
  });

  it("keeps nothing open when the signal is already aborted", async () => {
    const it = begin({ signal: AbortSignal.abort() });
    expect(await finished(it)).toMatchObject({ status: "truncated" });
  });
});

describe("retry", () => {
  it("starts again after a failure, at the same position", async () => {
    const it = begin({ reconnect: { maxAttempts: 0 } });
    await it.transport.last.end(LOST);
    const failed = it.connection.done;
    expect(await failed).toMatchObject({ status: "failed", reason: { code: "reconnect_limit" } });
    it.connection.retry();
    expect(it.feeds).toHaveLength(2);
    expect(it.transport.opens).toHaveLength(2);
    it.connection.close();
    expect(it.connection.done).not.toBe(failed);
    expect(await it.connection.done).toMatchObject({ status: "truncated" });
  });

  it("does not disturb a working stream", () => {
    const it = begin();
    it.connection.retry();
    expect(it.transport.opens).toHaveLength(1);
    it.connection.close();
  });
});

describe("commands", () => {
  it("carry the session and a unique ID", async () => {
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

  it("get IDs that are cryptographically random, on insecure pages too", async () => {
    vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
    vi.spyOn(Math, "random").mockReturnValue(0);
    onTestFinished(() => void vi.restoreAllMocks());
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

  it("are retried with the same ID when lost", async () => {
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

  it("are not retried after the time limit or a refusal", async () => {
    const it = begin({ commandLimitMs: 3000 });
    it.clock.chance = 1;
    it.transport.answers = [lost];
    let outcome: CommandResult | undefined;
    void it.connection.cancel({ run_id: "r1" }).then((answer) => (outcome = answer));
    await it.clock.advance(2999);
    // Immediately, then after 250, 500 and 1000 ms; the time limit ends the delay of 2000 ms.
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

  it("survive a short outage", async () => {
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

  it("wait as long as the server requests", async () => {
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

  it("are retried at once when the stream reconnects", async () => {
    const it = begin();
    it.transport.answers = [{ ...lost, retryAfterMs: 10_000 }, { kind: "done" }];
    const answer = it.connection.cancel({ run_id: "r1" });
    await setImmediate();
    it.transport.last.sink.alive();
    expect(await answer).toEqual({ kind: "done" });
    it.connection.close();
    await finished(it);
  });

  it("never reject or hang when the transport fails", async () => {
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

  it("treat a foreign refusal as final at first, and as temporary later", async () => {
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

  it("are retried at once by retry, and lost on close", async () => {
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

  it("restart a connection whose session was unknown", async () => {
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

  it("restart it once when they are accepted before the stream is refused", async () => {
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
  it("has no listener after the end, and one again after retry", async () => {
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
