import { describe, expect, it, vi } from "vitest";
import { LoomError } from "../protocol/index.ts";
import { createFaultyLog, createLog, expectValid, SESSION, typesOf, waitUntil } from "../../test/contracts/sender.ts";
import { openSession } from "./session.ts";
import type { SessionOptions } from "./session-options.ts";

describe("a session", () => {
  it("has one writer", async () => {
    const log = await createLog();
    const first = await openSession(log, SESSION);
    await expect(openSession(log, SESSION)).rejects.toMatchObject({ code: "lease_held" });
    await first.close();
    expect(await first.closed).toEqual({ reason: "closed" });
    await (await openSession(log, SESSION)).close();
  });

  it("rejects calls after it was closed", async () => {
    const session = await openSession(await createLog(), SESSION);
    await session.close();
    await session.close();
    await expect(session.startRun()).rejects.toMatchObject({ code: "session_closed" });
    await expect(session.record({ type: "custom", value: 1 })).rejects.toMatchObject({ code: "session_closed" });
  });

  it("ends the live run when it is closed", async () => {
    const log = await createLog();
    await using session = await openSession(log, SESSION);
    const run = await session.startRun();
    void run.enter("n").write("half");
    await session.close();
    expect(await run.ended).toMatchObject({ status: "error", code: "interrupted" });
    expect(run.signal.aborted).toBe(true);
    expect(typesOf(await expectValid(log)).slice(-4)).toEqual(["error", "node_exit", "run_end", "reply"]);
  });

  it("calls onIdle when idle, and starts no runs after drain", async () => {
    const log = await createLog();
    const onIdle = vi.fn();
    const gate = Promise.withResolvers<void>();
    const onRun: SessionOptions["onRun"] = async (run) => {
      await gate.promise;
      await run.finish();
    };
    await using session = await openSession(log, SESSION, { onIdle, onRun });
    await session.idle();
    expect(session.isIdle).toBe(true);
    const idleCalls = onIdle.mock.calls.length;
    for (const runId of ["a", "b"])
      await log.submit({ commandId: runId, sessionId: SESSION, kind: "enqueue", body: { run_id: runId } });
    await vi.waitFor(() => expect(session.liveRun?.runId).toBe("a"));
    expect([session.isIdle, onIdle.mock.calls.length]).toEqual([false, idleCalls]);
    await session.drain();
    gate.resolve();
    await session.idle();
    expect([session.liveRun, session.isIdle, onIdle.mock.calls.length]).toEqual([undefined, false, idleCalls]);
    expect((await log.listPending(SESSION)).map(({ commandId }) => commandId)).toEqual(["b"]);
  });

  it("rejects a run ID that was used", async () => {
    const session = await openSession(await createLog(), SESSION);
    const run = await session.startRun({ runId: "a" });
    await expect(session.startRun({ runId: "a" })).rejects.toMatchObject({ code: "run_exists" });
    await run.finish();
    await expect(session.startRun({ runId: "a" })).rejects.toMatchObject({ code: "run_exists" });
    await expect(session.startRun({ runId: "" })).rejects.toMatchObject({ code: "invalid_name" });
    expect((await session.log.listRuns(SESSION)).map(({ runId }) => runId)).toEqual(["a"]);
  });

  it("records only events that need no run", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    const items = [{ id: "i", text: "milk", completed: false }];
    expect(await session.record({ type: "todo_list", list_id: "l", items })).toBe(1);
    await session.record({ type: "todo_update", list_id: "l", item_id: "i", completed: true });
    await expect(session.record({ type: "reasoning_chunk", content: "x" })).rejects.toMatchObject({
      code: "invalid_event",
    });
    await expect(session.record({ type: "todo_update", list_id: "l", item_id: "no" })).rejects.toMatchObject({
      code: "unknown_todo",
    });
    await session.close();
    // A later writer knows the lists of an earlier one.
    const next = await openSession(log, SESSION);
    const run = await next.startRun();
    await run.emit({ type: "todo_update", list_id: "l", item_id: "i", completed: false });
    await expect(run.emit({ type: "todo_update", list_id: "m", item_id: "i" })).rejects.toMatchObject({
      code: "unknown_todo",
    });
    await run.finish();
    await expectValid(log);
  });

  describe("while a run is live", () => {
    it("queues other runs in order", async () => {
      const log = await createLog();
      const session = await openSession(log, SESSION);
      const first = await session.startRun({ message: "1" });
      const second = session.startRun({ message: "2" });
      const third = session.startRun({ message: "3" });
      await waitUntil(log, async () => (await log.listPending(SESSION)).length === 2);
      expect(session.liveRun).toBe(first);
      await first.finish();
      const running = await second;
      expect(running.message).toBe("2");
      expect(session.liveRun).toBe(running);
      await running.cancel();
      await (await third).finish();
      const records = await expectValid(log);
      const messages = records.flatMap(({ event }) => (event.type === "run_start" ? [event["message" as "type"]] : []));
      expect(messages).toEqual(["1", "2", "3"]);
      expect(await log.listPending(SESSION)).toEqual([]);
    });

    it("rejects the new run or cancels the live one, as requested", async () => {
      const log = await createLog();
      const session = await openSession(log, SESSION);
      const first = await session.startRun();
      await expect(session.startRun({ whenBusy: "reject" })).rejects.toMatchObject({ code: "run_live" });
      const second = await session.startRun({ whenBusy: "interrupt" });
      expect(await first.ended).toMatchObject({ status: "cancelled" });
      expect(session.liveRun).toBe(second);
      await second.finish();
      await (await session.startRun({ whenBusy: "reject" })).finish();
      await expectValid(log);
    });

    it("limits the queue", async () => {
      const log = await createLog();
      const session = await openSession(log, SESSION, { maxQueuedRuns: 1 });
      const first = await session.startRun();
      const waiting = session.startRun();
      await expect(session.startRun()).rejects.toMatchObject({ code: "queue_full" });
      await first.finish();
      await (await waiting).finish();
    });

    it("rejects waiting callers when it is closed and keeps their messages", async () => {
      const log = await createLog();
      const session = await openSession(log, SESSION);
      await session.startRun();
      const waiting = session.startRun({ message: "later" });
      const outcome = waiting.catch((error: unknown) => error);
      await waitUntil(log, async () => (await log.listPending(SESSION)).length === 1);
      await session.close();
      expect(await outcome).toMatchObject({ code: "session_closed" });
      const seen: (string | undefined)[] = [];
      const next = await openSession(log, SESSION, {
        onRun: async (run) => {
          seen.push(run.message);
          await run.span("n", (node) => node.write("late, but here"));
        },
      });
      await next.idle();
      expect(seen).toEqual(["later"]);
      expect((await expectValid(log)).at(-1)?.event).toEqual({ type: "reply", reply: "late, but here" });
    });
  });

  it("fails a run whose agent throws, without showing the error", async () => {
    const log = await createLog();
    const seen: unknown[] = [];
    const errors = [new Error("secret"), new LoomError("model_failed", "the model is gone")];
    const session = await openSession(log, SESSION, {
      onRun: async () => {
        throw errors.shift() ?? new Error("no more");
      },
      onError: (error, errorId) => seen.push([error, errorId]),
    });
    for (const commandId of ["a", "b"])
      await log.submit({ commandId, sessionId: SESSION, kind: "enqueue", body: { run_id: commandId } });
    await session.idle();
    expect(await log.getRun(SESSION, "a")).toMatchObject({ status: "error", code: "run_failed" });
    expect(await log.getRun(SESSION, "b")).toMatchObject({ status: "error", code: "model_failed" });
    const records = await expectValid(log);
    expect(JSON.stringify(records)).not.toContain("secret");
    const [[thrown, errorId]] = seen as [[Error, string]];
    expect(thrown.message).toBe("secret");
    expect(JSON.stringify(records)).toContain(errorId);
  });

  it("renews its lease and notices when it is lost", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION, { ttlMs: 30 });
    const run = await session.startRun();
    const node = run.enter("n");
    // Nothing is written when the lease is lost: only the renewal can notice.
    await node.write("before");
    const other = await openSession(log, SESSION, { takeover: true });
    expect(await session.closed).toMatchObject({ reason: "fenced", error: { code: "fenced" } });
    expect(run.status).toBe("error");
    expect(run.signal.aborted).toBe(true);
    await expect(node.write("x")).rejects.toMatchObject({ code: "fenced" });
    await expect(run.finish()).rejects.toMatchObject({ code: "fenced" });
    await expect(session.startRun()).rejects.toMatchObject({ code: "fenced" });
    await session.close();
    expect(other.recovered).toMatchObject([{ outcome: "ended" }]);
    await (await other.startRun()).finish();
    await expectValid(log);
  });

  it("is fenced by a late append", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    const run = await session.startRun();
    await openSession(log, SESSION, { takeover: true });
    await expect(run.emit({ type: "custom", value: 1 })).rejects.toMatchObject({ code: "fenced" });
    expect(await session.closed).toMatchObject({ reason: "fenced" });
    expect(typesOf(await expectValid(log))).toEqual(["run_start", "error", "run_end", "reply"]);
  });

  it("renews its lease after failures, until it is closed", async () => {
    const log = await createLog();
    const enough = Promise.withResolvers<void>();
    const renew = log.renew.bind(log);
    let renewals = 0;
    log.renew = async (lease, ttlMs) => {
      if (++renewals === 2) throw new LoomError("store_busy", "try again");
      if (renewals === 6) enough.resolve();
      return renew(lease, ttlMs);
    };
    const session = await openSession(log, SESSION, { ttlMs: 30 });
    await enough.promise;
    await (await session.startRun()).finish();
    await session.close();
    await expectValid(log);
  });
});

describe("callbacks of a session", () => {
  it("may throw without effect on the session", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const log = await createLog();
    const session = await openSession(log, SESSION, {
      onRun: async () => {
        throw new Error("agent");
      },
      onError: () => {
        throw new Error("logger");
      },
    });
    session.onCommit(() => {
      throw new Error("listener");
    });
    const heard: number[] = [];
    session.onCommit((entries) => heard.push(entries.length));
    await (await session.startRun({ runId: "a" })).finish();
    await log.submit({ commandId: "b", sessionId: SESSION, kind: "enqueue", body: { run_id: "b" } });
    await session.idle();
    expect(await log.getRun(SESSION, "b")).toMatchObject({ status: "error", code: "run_failed" });
    expect(heard.length).toBeGreaterThan(1);
    expect(warn).toHaveBeenCalled();
    await session.close();
    warn.mockRestore();
    await expectValid(log);
  });

  it("receive rejected records", async () => {
    const seen: unknown[] = [];
    const session = await openSession(await createLog(), SESSION, { onError: (error) => seen.push(error) });
    void session.record({ type: "reasoning_chunk", content: "x" });
    void session.record({ type: "todo_update", list_id: "l".repeat(2000), item_id: "i" });
    await session.record({ type: "custom", value: 1 });
    expect(seen).toMatchObject([{ code: "invalid_event" }, { code: "invalid_event", details: { path: "list_id" } }]);
    await session.close();
  });
});

describe("the process", () => {
  /** The timer that renews the lease and may keep the process alive. */
  async function openWatched(options: SessionOptions = {}) {
    const spy = vi.spyOn(globalThis, "setTimeout");
    const log = await createLog();
    const session = await openSession(log, SESSION, options);
    const interval = Math.min((options.ttlMs ?? 10_000) / 3, 60 * 60 * 1000);
    // Renewals of several sessions are made together, so one may be a little earlier.
    const at = spy.mock.calls.findIndex(([, ms = 0]) => ms <= interval && ms >= interval - 250);
    const timer = spy.mock.results[at]?.value as NodeJS.Timeout;
    spy.mockRestore();
    return { log, session, timer };
  }

  it("may end while a session is idle", async () => {
    const { session, timer } = await openWatched();
    expect(timer.hasRef()).toBe(false);
    await session.close();
  });

  it("stays alive while a run is live or queued", async () => {
    const { session, timer } = await openWatched();
    const run = await session.startRun();
    const asked = run.requestApproval({ callId: "c", name: "rm", arguments: {} });
    expect(timer.hasRef()).toBe(true);
    run.answerApproval({ callId: "c", decision: "rejected" });
    await asked;
    const second = session.startRun();
    await run.finish();
    expect(timer.hasRef()).toBe(true);
    await (await second).finish();
    expect(timer.hasRef()).toBe(false);
    await session.close();
  });

  it("stays alive for a session with an agent until it is closed", async () => {
    const { session, timer } = await openWatched({ onRun: async () => undefined });
    expect(timer.hasRef()).toBe(true);
    await (await session.startRun()).finish();
    expect(timer.hasRef()).toBe(true);
    await session.close();
    expect((timer as unknown as { _destroyed: boolean })._destroyed).toBe(true);
  });

  it("accepts a lease of any length", async () => {
    const { session, timer } = await openWatched({ ttlMs: 1e12 });
    expect(timer).toBeDefined();
    await session.close();
  });
});

describe("a log that fails", () => {
  it("fails the run, which the next run ends in the log", async () => {
    const log = await createFaultyLog();
    const session = await openSession(log, SESSION, { repairMs: 100_000 });
    const run = await session.startRun({ runId: "cut" });
    const node = run.enter("n");
    await node.write("stored");
    log.onAppend = async () => {
      log.onAppend = undefined;
      throw new LoomError("store_full", "no space left");
    };
    const lost = [node.write("lost"), node.write("lost too"), run.finish()];
    for (const promise of lost) await expect(promise).rejects.toMatchObject({ code: "store_full" });
    expect(run.status).toBe("error");
    expect(session.liveRun).toBeUndefined();
    await expect(node.write("x")).rejects.toMatchObject({ code: "store_full" });
    expect(await log.getRun(SESSION, "cut")).toMatchObject({ status: "live" });
    const next = await session.startRun();
    await next.finish();
    const records = await expectValid(log);
    expect(JSON.stringify(records)).not.toContain("lost");
    expect(await log.getRun(SESSION, "cut")).toMatchObject({ status: "error", code: "store_failed" });
  });

  it("does not create a to-do list whose append failed", async () => {
    const log = await createFaultyLog();
    const session = await openSession(log, SESSION, { repairMs: 100_000 });
    await session.record({ type: "todo_list", list_id: "kept", items: [{ id: "i", text: "", completed: false }] });
    log.onAppend = async () => {
      log.onAppend = undefined;
      throw new Error("gone");
    };
    const lost = { type: "todo_list", list_id: "lost", items: [{ id: "i", text: "", completed: false }] };
    await expect(session.record(lost)).rejects.toMatchObject({ code: "store_failed" });
    await session.record({ type: "todo_update", list_id: "kept", item_id: "i", completed: true });
    await expect(session.record({ type: "todo_update", list_id: "lost", item_id: "i" })).rejects.toMatchObject({
      code: "unknown_todo",
    });
    await expectValid(log);
  });

  it("aborts the run's signal", async () => {
    const log = await createFaultyLog();
    const session = await openSession(log, SESSION);
    const run = await session.startRun();
    log.onAppend = async () => {
      throw new Error("gone");
    };
    const aborted = new Promise((resolve) => run.signal.addEventListener("abort", resolve));
    void run.emit({ type: "custom", value: 1 });
    await aborted;
    await expect(run.ended).rejects.toMatchObject({ code: "store_failed" });
    log.onAppend = undefined;
    await session.repair();
    await session.close();
    await expectValid(log);
  });

  it("is retried until it works", async () => {
    const log = await createFaultyLog();
    const session = await openSession(log, SESSION, { repairMs: 1 });
    const run = await session.startRun({ runId: "cut" });
    let failures = 4;
    log.onAppend = async (_batch, next) => {
      if (failures-- > 0) throw new Error("not yet");
      return next();
    };
    await expect(run.emit({ type: "custom", value: 1 })).rejects.toMatchObject({ code: "store_failed" });
    await waitUntil(log, async () => (await log.getRun(SESSION, "cut"))?.status === "error");
    await expectValid(log);
    await session.close();
  });

  it("is retried while the session is open", async () => {
    const log = await createFaultyLog();
    const session = await openSession(log, SESSION, { repairMs: 0 });
    const run = await session.startRun({ runId: "cut" });
    let failures = 60;
    log.onAppend = async (_batch, next) => {
      if (failures-- > 0) throw new Error("not yet");
      return next();
    };
    await expect(run.emit({ type: "custom", value: 1 })).rejects.toMatchObject({ code: "store_failed" });
    await waitUntil(log, async () => (await log.getRun(SESSION, "cut"))?.status === "error");
    expect(failures).toBeLessThan(0);
    await session.close();
    await expectValid(log);
  });

  it("is retried when the lease is renewed", async () => {
    const log = await createFaultyLog();
    const session = await openSession(log, SESSION, { repairMs: 100_000, ttlMs: 30 });
    const run = await session.startRun({ runId: "cut" });
    log.onAppend = async () => {
      log.onAppend = undefined;
      throw new Error("gone");
    };
    await expect(run.emit({ type: "custom", value: 1 })).rejects.toMatchObject({ code: "store_failed" });
    await waitUntil(log, async () => (await log.getRun(SESSION, "cut"))?.status === "error");
    await session.close();
    await expectValid(log);
  });

  it("may have stored an append that it reported as failed: nothing is written twice", async () => {
    const log = await createFaultyLog();
    const session = await openSession(log, SESSION, { repairMs: 100_000 });
    const run = await session.startRun({ runId: "a" });
    log.onAppend = async (_batch, next) => {
      log.onAppend = undefined;
      await next();
      throw new Error("the answer was lost");
    };
    await expect(run.emit({ type: "custom", value: 1 })).rejects.toMatchObject({ code: "store_failed" });
    const second = await session.startRun({ runId: "b" });
    log.onAppend = async (_batch, next) => {
      log.onAppend = undefined;
      await next();
      throw new Error("the answer was lost");
    };
    await expect(second.finish({ reply: "all said" })).rejects.toMatchObject({ code: "store_failed" });
    await (await session.startRun({ runId: "c" })).finish();
    const records = await expectValid(log);
    expect(typesOf(records)).toEqual([
      "run_start",
      "custom",
      "error",
      "run_end",
      "reply",
      "run_start",
      "run_end",
      "reply",
      "run_start",
      "run_end",
      "reply",
    ]);
    expect(await log.getRun(SESSION, "b")).toMatchObject({ status: "completed" });
  });

  it("may fail the first record of a run", async () => {
    const log = await createFaultyLog();
    const session = await openSession(log, SESSION, { repairMs: 100_000 });
    log.onAppend = async () => {
      log.onAppend = undefined;
      throw new Error("gone");
    };
    await expect(session.startRun({ runId: "a" })).rejects.toMatchObject({ code: "store_failed" });
    await (await session.startRun({ runId: "a" })).finish();
    expect(typesOf(await expectValid(log))).toEqual(["run_start", "run_end", "reply"]);
  });

  it("causes no unhandled rejections", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): unknown => unhandled.push(reason);
    process.on("unhandledRejection", note);
    const log = await createFaultyLog();
    const session = await openSession(log, SESSION, { repairMs: 100_000 });
    const run = await session.startRun();
    log.onAppend = async () => {
      throw new Error("gone");
    };
    const node = run.enter("n");
    void node.write("x");
    void run.requestApproval({ callId: "c", name: "t", arguments: {} });
    void run.emit({ type: "message_chunk" });
    void run.ready();
    void node.done();
    void run.finish();
    void run.cancel();
    await expect(run.ended).rejects.toMatchObject({ code: "store_failed" });
    void run.fail({ message: "x" });
    void run.emit({ type: "custom", value: 1 });
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
});
