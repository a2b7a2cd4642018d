import { describe, expect, it } from "vitest";
import type { Command, CommandKind } from "../log/log.ts";
import type { JsonObject } from "../protocol/index.ts";
import {
  createFaultyLog,
  createLog,
  expectValid,
  SESSION,
  typesOf,
  waitUntil,
  wrapLog,
} from "../../test/contracts/sender.ts";
import { openStream } from "../log/stream.ts";
import { sendCommand } from "./send-command.ts";
import type { Run } from "./run.ts";
import { openSession } from "./session.ts";

let count = 0;
const command = (kind: CommandKind, body: JsonObject, commandId = `${kind}-${++count}`): Command => ({
  commandId,
  sessionId: SESSION,
  kind,
  body,
});

/** The same log as seen by another process. */
const otherProcess = wrapLog;

describe("cancel", () => {
  it("cancels a run of another process, once", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    const run = await session.startRun({ runId: "r", requestId: "q" });
    void run.enter("n").write("half");
    const { outcome } = await sendCommand(otherProcess(log), command("cancel", { run_id: "r", reason: "enough" }));
    expect(outcome).toEqual({ code: "done", eventId: 5 });
    expect(await run.ended).toMatchObject({ status: "cancelled", reason: "enough" });
    const again = await sendCommand(otherProcess(log), command("cancel", { run_id: "r" }));
    expect(again.outcome).toMatchObject({ code: "done", details: { effect: false } });
    expect(typesOf(await expectValid(log)).slice(-3)).toEqual(["node_exit", "run_end", "reply"]);
  });

  it("cancels the live run by default, or the run of a request ID", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    const run = await session.startRun();
    expect((await sendCommand(log, command("cancel", {}))).outcome).toMatchObject({ code: "done", eventId: 2 });
    expect(run.status).toBe("cancelled");
    expect((await sendCommand(log, command("cancel", {}))).outcome).toMatchObject({ details: { effect: false } });
    const second = await session.startRun({ requestId: "q" });
    await sendCommand(log, command("cancel", { request_id: "q" }));
    expect(second.status).toBe("cancelled");
    expect((await sendCommand(log, command("cancel", { request_id: "q" }))).outcome?.code).toBe("done");
    expect((await sendCommand(log, command("cancel", { run_id: 7 }))).outcome?.code).toBe("invalid_command");
    await expectValid(log);
  });

  it("removes a message from the queue", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    const live = await session.startRun();
    const waiting = session.startRun({ runId: "w", requestId: "q" });
    const outcome = waiting.catch((error: unknown) => error);
    await waitUntil(log, async () => (await log.listPending(SESSION)).length === 1);
    const [queued] = await log.listPending(SESSION);
    expect((await sendCommand(log, command("cancel", { request_id: "q" }))).outcome?.code).toBe("done");
    expect(await outcome).toMatchObject({ code: "cancelled" });
    expect((await log.getCommand(SESSION, queued!.commandId))?.outcome).toMatchObject({ code: "cancelled" });
    await live.finish();
    await session.idle();
    expect(typesOf(await expectValid(log))).toEqual(["run_start", "run_end", "reply"]);
  });

  it("applies to a run that starts later, also after a restart", async () => {
    const log = await createLog();
    await (await openSession(log, SESSION)).close();
    const cancel = command("cancel", { run_id: "r", reason: "changed my mind" });
    expect((await sendCommand(log, cancel)).outcome).toBeUndefined();
    const session = await openSession(log, SESSION);
    const run = await session.startRun({ runId: "r" });
    expect(run.status).toBe("cancelled");
    expect(run.signal.aborted).toBe(true);
    await run.ended;
    expect((await log.getCommand(SESSION, cancel.commandId))?.outcome).toEqual({ code: "done", eventId: 2 });
    const records = await expectValid(log);
    expect(typesOf(records)).toEqual(["run_start", "run_end", "reply"]);
    expect(records[1]?.event).toMatchObject({ status: "cancelled", reason: "changed my mind" });
    await (await session.startRun({ runId: "s" })).finish();
  });

  it("applies to a run that starts right after it", async () => {
    const log = await createLog();
    await using session = await openSession(log, SESSION);
    await session.idle();
    await log.submit(command("cancel", { request_id: "q" }));
    expect((await session.startRun({ requestId: "q" })).status).toBe("cancelled");
    await expectValid(log);
  });

  it("expires if its run does not start", async () => {
    let now = 1000;
    const log = await createLog({ now: () => now });
    const session = await openSession(log, SESSION, { now: () => now, earlyCancelMs: 500 });
    const cancel = command("cancel", { run_id: "r" });
    await log.submit(cancel);
    await session.idle();
    expect((await log.getCommand(SESSION, cancel.commandId))?.outcome).toBeUndefined();
    now += 500;
    await session.idle();
    expect((await log.getCommand(SESSION, cancel.commandId))?.outcome).toMatchObject({ code: "unknown_run" });
    expect((await session.startRun({ runId: "r" })).status).toBe("live");
  });

  it("looks up each target once", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION, { inboxMs: 0 });
    await (await session.startRun({ runId: "old", requestId: "over" })).finish();
    let lists = 0;
    let gets = 0;
    const { listRuns, getRun } = log;
    log.listRuns = (...args) => {
      lists++;
      return listRuns.apply(log, args);
    };
    log.getRun = (...args) => {
      gets++;
      return getRun.apply(log, args);
    };
    for (let i = 0; i < 10; i++) await log.submit(command("cancel", { request_id: `unknown-${i}` }));
    for (let i = 0; i < 10; i++) await log.submit(command("cancel", { run_id: `no-run-${i}` }));
    await session.idle();
    // One lookup per cancel, in any number of passes.
    expect(gets).toBe(10);
    expect(lists).toBeLessThanOrEqual(10);
    const before = lists;
    for (let i = 0; i < 5; i++) await session.idle();
    expect([lists, gets]).toEqual([before, 10]);
    // A run that starts now is still found, and so is one that has ended.
    const late = await session.startRun({ runId: "no-run-3" });
    expect((await late.ended).status).toBe("cancelled");
    expect((await sendCommand(log, command("cancel", { request_id: "over" }))).outcome).toMatchObject({
      details: { effect: false },
    });
    await session.close();
    await expectValid(log);
  });

  it("settles two early cancels of the same run", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    const [first, second] = [command("cancel", { request_id: "q" }), command("cancel", { request_id: "q" })];
    for (const one of [first, second]) await log.submit(one);
    await session.idle();
    await (
      await session.startRun({ requestId: "q" })
    ).ended;
    await session.idle();
    expect((await log.getCommand(SESSION, first.commandId))?.outcome).toMatchObject({ code: "done" });
    expect((await log.getCommand(SESSION, second.commandId))?.outcome).toMatchObject({ details: { effect: false } });
    await session.close();
  });

  it("rejects early cancels over the limit", async () => {
    const log = wrapLog(await createLog());
    const commands = Array.from({ length: 250 }, (_, i) => command("cancel", { request_id: `unknown-${i}` }));
    await log.createSession(SESSION);
    for (const one of commands) await log.submit(one);
    const session = await openSession(log, SESSION, { maxEarlyCancels: 7 });
    await session.idle();
    expect(await log.listPending(SESSION)).toHaveLength(7);
    const last = await log.getCommand(SESSION, commands.at(-1)?.commandId ?? "");
    expect(last?.outcome).toMatchObject({ code: "unknown_run" });
    expect(log.appends.length).toBeLessThan(10);
    await session.close();
  });

  it("executes once even if the log fails in between", async () => {
    const log = await createFaultyLog();
    const session = await openSession(log, SESSION, { repairMs: 1 });
    const run = await session.startRun({ runId: "r" });
    log.onAppend = async () => {
      log.onAppend = undefined;
      throw new Error("gone");
    };
    const { outcome } = await sendCommand(log, command("cancel", { run_id: "r" }));
    expect(outcome).toMatchObject({ code: "done", details: { effect: false } });
    expect(run.status).toBe("error");
    await expectValid(log);
    await session.close();
  });
});

describe("toggle", () => {
  const items = [{ id: "i", text: "milk", completed: false }];

  it("writes a record of the session, also during a run", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    const run = await session.startRun();
    await run.emit({ type: "todo_list", list_id: "l", items });
    const { outcome } = await sendCommand(log, command("toggle", { list_id: "l", item_id: "i", completed: true }));
    expect(outcome).toEqual({ code: "done", eventId: 3 });
    await run.finish();
    const record = (await expectValid(log))[2];
    expect(record?.event).toEqual({ type: "todo_update", list_id: "l", item_id: "i", completed: true });
    expect(record?.envelope.run_id).toBeUndefined();
  });

  it("works if the session has no holder", async () => {
    const log = await createLog();
    await using session = await openSession(log, SESSION);
    await session.record({ type: "todo_list", list_id: "l", items });
    await session.close();
    const sent = await sendCommand(log, command("toggle", { list_id: "l", item_id: "i", text: "oat milk" }));
    expect(sent.outcome).toEqual({ code: "done", eventId: 2 });
    expect(await log.getSession(SESSION)).toMatchObject({ holder: undefined });
    await expectValid(log);
  });

  it.each<[JsonObject, string]>([
    [{ list_id: "x", item_id: "i", completed: true }, "unknown_todo"],
    [{ list_id: "l", item_id: "x", completed: true }, "unknown_todo"],
    [{ list_id: "l", item_id: "i" }, "invalid_command"],
    [{ list_id: "l", item_id: "i", completed: "yes" }, "invalid_command"],
    [{ list_id: "l", item_id: "i", text: 1 }, "invalid_command"],
    [{ item_id: "i", completed: true }, "invalid_command"],
  ])("rejects %j as %s", async (body, code) => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    await session.record({ type: "todo_list", list_id: "l", items });
    expect((await sendCommand(log, command("toggle", body))).outcome).toMatchObject({ code });
    expect(await expectValid(log)).toHaveLength(1);
    await session.close();
  });
});

describe("enqueue", () => {
  it("lets the session's agent execute messages of another process in order", async () => {
    const log = await createLog();
    let live = 0;
    await using session = await openSession(log, SESSION, {
      onRun: async (run) => {
        expect(++live).toBe(1);
        await run.span("n", (node) => node.write(`re: ${run.message}`));
        live--;
      },
    });
    const messages = ["a", "b", "c"];
    const sent = await Promise.all(
      messages.map((message) =>
        sendCommand(otherProcess(log), command("enqueue", { message, run_id: `run-${message}` })),
      ),
    );
    expect(sent.map(({ outcome }) => outcome)).toMatchObject(
      messages.map((message) => ({ code: "done", details: { run_id: `run-${message}` } })),
    );
    await session.idle();
    const replies = (await expectValid(log)).flatMap(({ event }) =>
      event.type === "reply" ? [event["reply" as "type"]] : [],
    );
    expect(replies).toEqual(["re: a", "re: b", "re: c"]);
  });

  it("waits for a session with an agent and does not block other runs", async () => {
    const log = await createLog();
    await log.createSession(SESSION);
    const enqueued = command("enqueue", { message: "later" });
    expect((await sendCommand(log, enqueued)).outcome).toBeUndefined();
    const without = await openSession(log, SESSION);
    await (await without.startRun()).finish();
    await without.close();
    expect(await log.listPending(SESSION)).toHaveLength(1);
    await using session = await openSession(log, SESSION, { onRun: async () => undefined });
    await session.idle();
    expect((await log.getCommand(SESSION, enqueued.commandId))?.outcome?.code).toBe("done");
    await expectValid(log);
  });

  it.each<[JsonObject, string]>([
    [{ message: 7 }, "invalid_command"],
    [{ source: "elsewhere" }, "invalid_command"],
    [{ run_id: "used" }, "run_exists"],
    [{ run_id: "" }, "invalid_name"],
  ])("rejects %j as %s", async (body, code) => {
    const log = await createLog();
    const session = await openSession(log, SESSION, { onRun: async () => undefined });
    await (await session.startRun({ runId: "used" })).finish();
    expect((await sendCommand(log, command("enqueue", body))).outcome).toMatchObject({ code });
    await expectValid(log);
    await session.close();
  });

  it("does not block the queue if a message cannot be written", async () => {
    const log = await createLog({ limits: { maxEventBytes: 2000 } });
    const seen: string[] = [];
    const session = await openSession(log, SESSION, {
      onRun: async ({ runId }) => {
        seen.push(runId);
      },
    });
    const large = command("enqueue", { run_id: "large", message: "x".repeat(5000) });
    const long = command("enqueue", { run_id: "long", agent: "a".repeat(1100) });
    for (const one of [large, long, command("enqueue", { run_id: "good" })]) await log.submit(one);
    await session.idle();
    expect((await log.getCommand(SESSION, large.commandId))?.outcome).toMatchObject({ code: "event_too_large" });
    expect((await log.getCommand(SESSION, long.commandId))?.outcome).toMatchObject({ code: "invalid_event" });
    expect(seen).toEqual(["good"]);
    await session.close();
    await expectValid(log);
  });

  it("executes every stored message, even above the limit of the session", async () => {
    const log = await createLog();
    await log.createSession(SESSION);
    const commands = [1, 2, 3].map((n) => command("enqueue", { message: `${n}` }));
    for (const each of commands) await log.submit(each);
    const seen: (string | undefined)[] = [];
    const onRun = async ({ message }: Run) => void seen.push(message);
    await using session = await openSession(log, SESSION, { maxQueuedRuns: 2, onRun });
    await session.idle();
    const outcomes = await Promise.all(commands.map(({ commandId }) => log.getCommand(SESSION, commandId)));
    expect(outcomes.map((state) => state?.outcome?.code)).toEqual(["done", "done", "done"]);
    expect(seen).toEqual(["1", "2", "3"]);
  });
});

describe("sendCommand", () => {
  it("rejects an unknown session", async () => {
    await expect(sendCommand(await createLog(), command("cancel", {}))).rejects.toMatchObject({
      code: "unknown_session",
    });
  });

  it("calls ensureHolder if the session has no holder", async () => {
    const log = await createLog();
    await log.createSession(SESSION);
    const opened: Promise<unknown>[] = [];
    const ensureHolder = (sessionId: string): void => {
      if (opened.length === 0)
        opened.push(openSession(log, sessionId, { onRun: (run) => run.finish().then(() => undefined) }));
    };
    const { outcome } = await sendCommand(log, command("enqueue", { run_id: "r" }), { ensureHolder });
    expect(outcome).toMatchObject({ code: "done", details: { run_id: "r" } });
    expect(opened).toHaveLength(1);
  });

  it("stops waiting on abort and leaves the command in the log", async () => {
    const log = await createLog();
    // A holder that does nothing.
    await log.acquire(SESSION, { holder: "other", ttlMs: 60_000 });
    const controller = new AbortController();
    const cancel = command("cancel", {});
    const sent = sendCommand(log, cancel, { signal: controller.signal });
    controller.abort(new Error("no time"));
    await expect(sent).rejects.toThrow("no time");
    expect(await log.listPending(SESSION)).toHaveLength(1);
    expect((await sendCommand(log, cancel, { timeoutMs: 5 })).outcome).toBeUndefined();
  });

  it("executes each command once when several processes open the session", async () => {
    const log = await createLog();
    await using session = await openSession(log, SESSION);
    await session.record({ type: "todo_list", list_id: "l", items: [{ id: "i", text: "", completed: false }] });
    await session.close();
    const toggles = Array.from({ length: 5 }, () => command("toggle", { list_id: "l", item_id: "i", completed: true }));
    const sent = await Promise.all(toggles.map((toggle) => sendCommand(otherProcess(log), toggle)));
    expect(sent.map(({ outcome }) => outcome?.code)).toEqual(toggles.map(() => "done"));
    expect(await expectValid(log)).toHaveLength(6);
  });

  it("does not end a run that an agent could resume", async () => {
    const log = await createLog();
    const dead = await openSession(log, SESSION);
    await dead.record({ type: "todo_list", list_id: "l", items: [{ id: "i", text: "", completed: false }] });
    const run = await dead.startRun({ runId: "r" });
    const checkpoint = {
      type: "checkpoint",
      checkpoint_id: "k",
      timestamp: "2026-01-01T00:00:00Z",
      step: 0,
      state: {},
    };
    await run.emit(checkpoint);
    const question = { callId: "c", name: "rm", arguments: {} };
    void run.requestApproval(question);
    await dead.close({ run: "leave" });

    const toggle = command("toggle", { list_id: "l", item_id: "i", completed: true });
    expect((await sendCommand(log, toggle)).outcome).toMatchObject({ code: "done" });
    const approve = command("approve", { run_id: "r", call_id: "c", decision: "approved" });
    expect((await sendCommand(log, approve)).outcome).toMatchObject({ code: "done" });
    expect(await log.getRun(SESSION, "r")).toMatchObject({ status: "live" });

    const answers: unknown[] = [];
    const next = await openSession(log, SESSION, {
      resume: async (found) => {
        answers.push(await found.run.requestApproval(question));
      },
    });
    expect(next.recovered).toEqual([{ runId: "r", outcome: "resumed" }]);
    await next.idle();
    expect(answers).toMatchObject([{ decision: "approved" }]);
    expect(await log.getRun(SESSION, "r")).toMatchObject({ status: "completed" });
    await expectValid(log);
  });

  it("ends a run that cannot be resumed, and cancels one that can", async () => {
    const log = await createLog();
    const dead = await openSession(log, SESSION);
    const run = await dead.startRun({ runId: "r" });
    await run.emit({ type: "checkpoint", checkpoint_id: "k", timestamp: "2026-01-01T00:00:00Z", step: 0, state: {} });
    await dead.close({ run: "leave" });
    expect((await sendCommand(log, command("cancel", { run_id: "r" }))).outcome).toMatchObject({ code: "done" });
    expect(await log.getRun(SESSION, "r")).toMatchObject({ status: "cancelled" });

    const other = await openSession(log, SESSION);
    await (await other.startRun({ runId: "s" })).emit({ type: "message_chunk", content: "Hi", id: "answer" });
    await other.close({ run: "leave" });
    await sendCommand(log, command("toggle", { list_id: "l", item_id: "i", completed: true }));
    expect(await log.getRun(SESSION, "s")).toMatchObject({ status: "error", code: "interrupted" });
    await expectValid(log);
  });
});

describe("feedback", () => {
  it("is stored outside the run that it names", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    await (await session.startRun({ runId: "r" })).finish({ reply: "Hi" });
    const given = { run_id: "r", rating: "bad", comment: "Too short", actor: "user:mei" };
    expect((await sendCommand(log, command("feedback", given))).outcome).toEqual({ code: "done", eventId: 4 });
    const last = (await expectValid(log)).at(-1);
    expect(last?.envelope).not.toHaveProperty("run_id");
    expect(last?.event).toEqual({
      type: "feedback",
      target_run_id: "r",
      rating: "bad",
      comment: "Too short",
      actor: "user:mei",
    });
    for (const [body, code] of [
      [{ run_id: "none", rating: "good" }, "unknown_run"],
      [{ run_id: "r", rating: "great" }, "invalid_command"],
      [{ run_id: "r", rating: "good", comment: "x".repeat(4001) }, "invalid_command"],
    ] as const)
      expect((await sendCommand(log, command("feedback", body))).outcome?.code).toBe(code);
  });
});

it("needs a log, not the promise of one, like sessions and streams", async () => {
  const promise = createLog() as unknown as Awaited<ReturnType<typeof createLog>>;
  const error = {
    code: "invalid_arguments",
    message: "`log` must be a Log, not a promise; did you forget `await`?",
    details: { option: "log" },
  };
  await expect(sendCommand(promise, command("cancel", {}))).rejects.toMatchObject(error);
  await expect(openSession(promise, SESSION)).rejects.toMatchObject(error);
  await expect(openStream(promise, SESSION, { dialect: "loom" }).next()).rejects.toMatchObject(error);
});
