import { setImmediate } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { openSession } from "../../engine/index.ts";
import { expectValid } from "../../../test/contracts/sender.ts";
import { MemoryLog } from "../../log/index.ts";
import type { Observer } from "../../observe/index.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../models/scripted-model.ts";
import { createRunDispatcher } from "./create-run-dispatcher.ts";
import {
  createStore,
  type TestProcess,
  runIdOf,
  startProcess,
  STORES,
  until,
  untilEnded,
} from "../../../test/contracts/run-dispatcher-fixture.ts";
import { LONG } from "../../../test/sampling.ts";

function textOf({ prompt }: ScriptedRequest): string {
  return JSON.stringify(prompt.findLast(({ role }) => role === "user")?.content ?? "");
}

const roundOf = ({ prompt }: ScriptedRequest): number => prompt.filter(({ role }) => role === "tool").length;

/** Calls a tool, then answers when the gate opens. */
function useTool(name: string, gate: PromiseLike<unknown>): (request: ScriptedRequest) => ScriptedTurn {
  const input = name === "add" ? { a: 1, b: 2 } : { path: "x" };
  return (request) => (roundOf(request) === 0 ? { calls: [{ name, input, id: "c" }] } : { text: "Done.", until: gate });
}

function createRecorder(): Observer & { readonly events: string[] } {
  const events: string[] = [];
  return {
    name: "witness",
    events,
    openRun: ({ runId }) => ({
      take: ({ event, envelope }, isPast) => {
        if (!isPast && (event.type === "run_start" || event.type === "run_end"))
          events.push(`${event.type} ${envelope.run_id ?? runId ?? ""}`);
      },
      close: () => undefined,
    }),
  };
}

const NEVER = new Promise<never>(() => undefined);

describe.each(STORES)("a run dispatcher on a %s store", (kind) => {
  it("runs messages with the agent they name, and closes idle sessions", async () => {
    const open = createStore(kind);
    const { dispatcher, log, say } = startProcess(await open());
    const first = runIdOf(await say("s", "Hello"));
    const second = runIdOf(await say("s", "Hello", { agent: "other" }));
    expect(await untilEnded(log, "s", first)).toMatchObject({ status: "completed", agent: "helper" });
    expect(await untilEnded(log, "s", second)).toMatchObject({ status: "completed", agent: "other" });
    await until(() => dispatcher.size === 0);
    expect((await log.getSession("s"))?.holder).toBeUndefined();
    const third = runIdOf(await say("s", "Hello again"));
    expect(await untilEnded(log, "s", third)).toMatchObject({ status: "completed" });
    await expectValid(log, "s");
  });

  it("takes over the runs of a killed process when its lease has expired", async () => {
    const open = createStore(kind);
    let ahead = 0;
    const clock = (): number => ahead;
    const gate = Promise.withResolvers<void>();
    const [recorder, own] = [createRecorder(), createRecorder()];
    const one = startProcess(await open(clock), { play: useTool("add", NEVER) });
    const two = startProcess(await open(clock), {
      play: useTool("add", gate.promise),
      observers: [recorder],
      agent: { observers: [own] },
      sweepMs: 10,
    });
    const runId = runIdOf(await one.say("s", "Add"));
    const waiting = runIdOf(await one.say("s", "Add, too"));
    await until(() => one.model.requests.length === 2);
    await two.dispatcher.start();
    expect(two.dispatcher.size).toBe(0);
    one.kill();
    ahead = 60_000;
    await until(() => two.dispatcher.liveRuns === 1);
    gate.resolve();
    expect(await untilEnded(two.log, "s", runId)).toMatchObject({ status: "completed" });
    expect(await untilEnded(two.log, "s", waiting)).toMatchObject({ status: "completed" });
    // A tool call that the killed process had finished is not repeated.
    expect([one.ran.length, two.ran.length]).toEqual([1, 0]);
    await until(() => recorder.events.length >= 3 && own.events.length >= 3);
    const events = [`run_end ${runId}`, `run_start ${waiting}`, `run_end ${waiting}`];
    expect([recorder.events, own.events]).toEqual([events, events]);
    await expectValid(two.log, "s");
  });

  it("creates one run for one id, with two processes and after a restart", async () => {
    const open = createStore(kind);
    const processes = [startProcess(await open()), startProcess(await open())];
    const ask = ({ say }: TestProcess) => say("s", "Once", { id: "key" });
    const answers = await Promise.all([...processes, ...processes].map(ask));
    const ids = new Set(answers.map(runIdOf));
    expect(ids.size).toBe(1);
    const [runId = ""] = ids;
    const third = startProcess(await open());
    await untilEnded(third.log, "s", runId);
    expect(runIdOf(await ask(third))).toBe(runId);
    expect(await third.say("s", "Twice", { id: "key" })).toMatchObject({ code: "command_conflict" });
    expect(await third.log.listRuns("s")).toHaveLength(1);
    expect(processes[0]?.model.requests.length).toBe(1 - (processes[1]?.model.requests.length ?? 0));
  });

  it("cancels queued, live and ended runs from any process", async () => {
    const open = createStore(kind);
    const one = startProcess(await open(), { play: () => ({ text: "Never.", until: NEVER }) });
    const two = startProcess(await open());
    const live = runIdOf(await one.say("s", "Long"));
    const queued = runIdOf(await one.say("s", "Queued"));
    const cancel = (id: string, run_id: string) => two.ask({ type: "cancel", id, session: "s", run_id });
    expect(await cancel("x1", queued)).toMatchObject({ type: "ack", result: { cancelled: "c2" } });
    expect(await cancel("x2", live)).toMatchObject({ type: "ack" });
    expect(await untilEnded(two.log, "s", live)).toMatchObject({ status: "cancelled" });
    expect(await cancel("x3", live)).toMatchObject({ type: "ack", result: { effect: false } });
    expect(await two.log.getRun("s", queued)).toBeUndefined();
    expect(await one.say("s", "Queued", { id: "c2" })).toMatchObject({ type: "refusal", code: "cancelled" });
  });

  it("continues after an approval, in this process or the next", async () => {
    const open = createStore(kind);
    const gate = Promise.resolve();
    const one = startProcess(await open(), { play: useTool("remove", gate) });
    const runId = runIdOf(await one.say("s", "Remove"));
    const isAsked = async (): Promise<boolean> =>
      (await one.log.listRuns("s")).length > 0 && one.dispatcher.liveRuns === 1;
    await until(isAsked);
    await until(async () => (await expectValid(one.log, "s")).some(({ event }) => event.type === "tool_approval"));
    // The run waits for the user, so closing the process does not wait for it.
    await one.dispatcher.close({ graceMs: 60_000 });
    expect(await one.log.getRun("s", runId)).toMatchObject({ status: "live" });
    const two = startProcess(await open(), { play: useTool("remove", gate) });
    const answer = await two.ask({ type: "approve", id: "yes", session: "s", call_id: "c", decision: "approved" });
    expect(answer).toMatchObject({ type: "ack" });
    expect(await untilEnded(two.log, "s", runId)).toMatchObject({ status: "completed" });
    expect([one.ran.length, two.ran.length]).toEqual([0, 1]);
  });
});

describe("a run dispatcher", () => {
  it("lists its agents and rejects unknown names", async () => {
    const log = new MemoryLog();
    const { dispatcher } = startProcess(log);
    expect(dispatcher.agents).toMatchObject([
      { name: "helper", kind: "react", isDefault: true, tools: expect.arrayContaining(["add"]) as unknown },
      { name: "other", isDefault: false },
    ]);
    expect([dispatcher.resolveAgent(undefined), dispatcher.resolveAgent("other")]).toEqual(["helper", "other"]);
    expect(() => dispatcher.resolveAgent("missing")).toThrow(expect.objectContaining({ code: "unknown_agent" }));
    expect(() => startProcess(log, { defaultAgent: "missing" })).toThrow("missing");
    expect(() => createRunDispatcher({ log, agents: {} })).toThrow("at least one agent");
  });

  it("fails a message for an agent that it does not have", async () => {
    const log = new MemoryLog();
    const { dispatcher } = startProcess(log);
    await log.createSession("s");
    const body = { message: "Hi", run_id: "r", agent: "elsewhere" };
    await log.submit({ commandId: "c", sessionId: "s", kind: "enqueue", body });
    await dispatcher.start();
    expect(await untilEnded(log, "s", "r")).toMatchObject({ status: "error", code: "unknown_agent" });
  });

  it("ends orphaned runs that no agent here can continue, even if they wait for the user", async () => {
    const log = new MemoryLog();
    const approval = { callId: "c", name: "remove", arguments: { path: "x" } };
    const elsewhere = await openSession(log, "s");
    const run = await elsewhere.startRun({ runId: "r", agent: "elsewhere" });
    void run.requestApproval(approval).catch(() => undefined);
    await run.settled();
    await elsewhere.close({ run: "leave" });
    const all = createRecorder();
    const { dispatcher } = startProcess(log, { observers: [all] });
    await dispatcher.start();
    expect(await untilEnded(log, "s", "r")).toMatchObject({ status: "error", code: "interrupted" });
    expect(all.events).toEqual(["run_end r"]);
    await until(() => dispatcher.size === 0);
  });

  it("runs a message for which a killed process had only written the start", async () => {
    const log = new MemoryLog();
    const dead = await openSession(log, "s");
    await dead.startRun({ runId: "r", agent: "helper", message: "Hello" });
    await dead.close({ run: "leave" });
    const { dispatcher, model } = startProcess(log);
    await dispatcher.start();
    expect(await untilEnded(log, "s", "r")).toMatchObject({ status: "completed" });
    expect(model.requests).toHaveLength(1);
    await expectValid(log, "s");
  });

  it("takes a session that was deleted and recreated", async () => {
    const log = new MemoryLog();
    const { say } = startProcess(log, { lingerMs: 3_600_000, sweepMs: 3_600_000, beginMs: 0 });
    await untilEnded(log, "s", runIdOf(await say("s", "Hello")));
    await log.deleteSession("s");
    const runId = runIdOf(await say("s", "Hello"));
    expect(await untilEnded(log, "s", runId)).toMatchObject({ status: "completed" });
  });

  it("is ready when the orphaned sessions are open, even if new ones keep arriving", async () => {
    const log = new MemoryLog();
    const gate = Promise.withResolvers<void>();
    const { acquire } = log;
    vi.spyOn(log, "acquire").mockImplementation(async (sessionId, options) => {
      if (sessionId === "new") await gate.promise;
      else {
        await setImmediate();
        void dispatcher.dispatch("new");
      }
      return acquire.call(log, sessionId, options);
    });
    for (const id of ["left", "new"]) await log.createSession(id);
    await log.submit({ commandId: "c", sessionId: "left", kind: "enqueue", body: { message: "Hi", run_id: "r" } });
    const { dispatcher } = startProcess(log);
    await dispatcher.start();
    gate.resolve();
    expect(await untilEnded(log, "left", "r")).toMatchObject({ status: "completed" });
  });

  it("reports every run once, to server observers and to the observers of its agent", async () => {
    const log = new MemoryLog();
    const [all, own] = [createRecorder(), createRecorder()];
    const { say } = startProcess(log, { observers: [all], agent: { observers: [own, all] } });
    const mine = runIdOf(await say("s", "One"));
    const others = runIdOf(await say("s", "Two", { agent: "other" }));
    await untilEnded(log, "s", others);
    await until(() => all.events.length >= 4);
    expect(own.events).toEqual([`run_start ${mine}`, `run_end ${mine}`]);
    expect(all.events).toEqual([mine, others].flatMap((id) => [`run_start ${id}`, `run_end ${id}`]));
  });

  it.runIf(LONG)("runs 300 sessions within its session limit", async () => {
    const log = new MemoryLog();
    let most = 0;
    const play = async (): Promise<ScriptedTurn> => {
      most = Math.max(most, dispatcher.size);
      await Promise.resolve();
      return { text: "Yes." };
    };
    const { dispatcher, say } = startProcess(log, { play, maxSessions: 50, maxOpening: 8, lingerMs: 1, sweepMs: 5 });
    await dispatcher.start();
    const ids = Array.from({ length: 300 }, (_, index) => `s${index}`);
    const runs = await Promise.all(ids.map(async (id) => [id, runIdOf(await say(id, `To ${id}`))] as const));
    for (const [id, runId] of runs) expect(await untilEnded(log, id, runId)).toMatchObject({ status: "completed" });
    expect(most).toBeGreaterThan(8);
    expect(most).toBeLessThanOrEqual(50);
    await until(() => dispatcher.size === 0);
  });

  it("resumes all orphaned runs concurrently", async () => {
    const log = new MemoryLog();
    const gate = Promise.withResolvers<void>();
    const one = startProcess(log, { play: useTool("add", NEVER) });
    const ids = Array.from({ length: 40 }, (_, index) => `s${index}`);
    const runs = await Promise.all(ids.map(async (id) => [id, runIdOf(await one.say(id, "Add"))] as const));
    await until(() => one.model.requests.length === 80);
    await one.dispatcher.close({ graceMs: 0 });
    expect(one.dispatcher.size).toBe(0);
    const two = startProcess(log, { play: useTool("add", gate.promise), maxOpening: 4 });
    await two.dispatcher.start();
    expect(two.dispatcher.liveRuns).toBe(40);
    gate.resolve();
    for (const [id, runId] of runs) expect(await untilEnded(log, id, runId)).toMatchObject({ status: "completed" });
    expect(two.ran).toEqual([]);
  });

  it("continues the run of a process that stops at once, without a sweep", async () => {
    const log = new MemoryLog();
    const gate = Promise.withResolvers<void>();
    const [one, two] = [NEVER, gate.promise].map((until) =>
      startProcess(log, { play: useTool("add", until), sweepMs: 3_600_000 }),
    ) as [TestProcess, TestProcess];
    await two.dispatcher.start();
    const runId = runIdOf(await one.say("s", "Add"));
    await until(() => one.model.requests.length === 2);
    expect(two.dispatcher.size).toBe(0);
    await one.dispatcher.close({ graceMs: 0 });
    await until(() => two.dispatcher.liveRuns === 1);
    gate.resolve();
    expect(await untilEnded(log, "s", runId)).toMatchObject({ status: "completed" });
    const records = await expectValid(log, "s");
    expect(records.filter(({ event }) => event.type === "error")).toMatchObject([
      { event: { attempt: 2, details: { handed_over: true } } },
    ]);
  });

  it("lets live runs finish when it stops, and leaves the others to the next process", async () => {
    const log = new MemoryLog();
    const gate = Promise.withResolvers<void>();
    const play = (request: ScriptedRequest): ScriptedTurn =>
      textOf(request).includes("short") ? { text: "Yes.", until: gate.promise } : useTool("add", NEVER)(request);
    const one = startProcess(log, { play, beginMs: 0 });
    const short = runIdOf(await one.say("s", "short"));
    const queued = runIdOf(await one.say("s", "short, too"));
    await until(() => one.dispatcher.liveRuns === 1);
    const closing = one.dispatcher.close({ graceMs: 60_000 });
    expect(await one.say("t", "too late", { when_busy: "enqueue" })).toMatchObject({ pending: true });
    gate.resolve();
    await closing;
    expect(await log.getRun("s", short)).toMatchObject({ status: "completed" });
    expect(await log.getRun("s", queued)).toBeUndefined();
    expect((await log.getSession("s"))?.holder).toBeUndefined();

    const two = startProcess(log, { play });
    const long = runIdOf(await two.say("u", "long"));
    await two.dispatcher.start();
    await untilEnded(log, "s", queued);
    await until(async () => (await log.getRun("u", long))?.status === "live" && two.model.requests.length >= 3);
    await two.dispatcher.close({ graceMs: 1 });
    expect(await log.getRun("u", long)).toMatchObject({ status: "live" });
    expect((await log.getSession("u"))?.holder).toBeUndefined();
  });

  it("retries soon when another process holds the session only briefly", async () => {
    const log = new MemoryLog();
    const { say } = startProcess(log, { sweepMs: 3_600_000, beginMs: 0 });
    const guest = await openSession(log, "s");
    const runId = runIdOf(await say("s", "Hello"));
    await guest.close();
    expect(await untilEnded(log, "s", runId)).toMatchObject({ status: "completed" });
  });

  it("reports once that a session cannot be opened, and continues with others", async () => {
    const log = new MemoryLog();
    const { acquire } = log;
    vi.spyOn(log, "acquire").mockImplementation((sessionId, options) =>
      sessionId === "bad" ? Promise.reject(new Error("damaged")) : acquire.call(log, sessionId, options),
    );
    const onError = vi.fn();
    const { dispatcher, say } = startProcess(log, { onError, sweepMs: 1, beginMs: 0 });
    await dispatcher.start();
    expect(await say("bad", "Hello")).toMatchObject({ pending: true });
    await untilEnded(log, "good", runIdOf(await say("good", "Hello")));
    expect(onError.mock.calls).toEqual([[expect.objectContaining({ message: "damaged" }), expect.any(String)]]);
  });

  it("does not recreate a deleted session", async () => {
    const log = new MemoryLog();
    const { dispatcher } = startProcess(log);
    expect(await dispatcher.dispatch("gone")).toBe(false);
    expect(dispatcher.size).toBe(0);
    expect(await log.getSession("gone")).toBeUndefined();
  });

  it("resolves a dispatch when the pending commands are executed, or another process holds the session", async () => {
    const log = new MemoryLog();
    const gate = Promise.withResolvers<ScriptedTurn>();
    const { dispatcher } = startProcess(log, { play: () => gate.promise });
    const submit = (commandId: string) =>
      log.submit({ commandId, sessionId: "s", kind: "enqueue", body: { message: "Hi" } }, { create: {} });
    const outcomeOf = async (commandId: string) => (await log.getCommand("s", commandId))?.outcome?.code;
    await submit("first");
    expect(await dispatcher.dispatch("s")).toBe(true);
    expect(await outcomeOf("first")).toBe("done");
    // The second message waits behind the live run.
    await submit("second");
    expect(await dispatcher.dispatch("s")).toBe(true);
    expect(await outcomeOf("second")).toBeUndefined();
    await openSession(log, "other");
    expect(await dispatcher.dispatch("other")).toBe(false);
    gate.resolve({ text: "Yes." });
    await until(async () => (await outcomeOf("second")) === "done");
    await dispatcher.close({ graceMs: 5000 });
    expect(await dispatcher.dispatch("s")).toBe(false);
  });
});
