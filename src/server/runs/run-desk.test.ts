import { setImmediate } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { openSession } from "../../engine/index.ts";
import { expectValid } from "../../engine/sender.contract.ts";
import { MemoryLog } from "../../log/index.ts";
import type { Observer } from "../../observe/index.ts";
import type { ScriptedRequest, ScriptedTurn } from "../../models/scripted-model.ts";
import { createRunDesk } from "./create-run-desk.ts";
import { createStore, type Process, runIdOf, startProcess, STORES, until, untilEnded } from "./desk-stage.contract.ts";

function textOf({ prompt }: ScriptedRequest): string {
  return JSON.stringify(prompt.findLast(({ role }) => role === "user")?.content ?? "");
}

const roundOf = ({ prompt }: ScriptedRequest): number => prompt.filter(({ role }) => role === "tool").length;

/** Calls a tool, and answers when the gate is open. */
function useTool(name: string, gate: PromiseLike<unknown>): (request: ScriptedRequest) => ScriptedTurn {
  const input = name === "add" ? { a: 1, b: 2 } : { path: "x" };
  return (request) =>
    roundOf(request) === 0 ? { calls: [{ name, input, id: "c" }] } : { text: "It is done.", until: gate };
}

function createWitness(): Observer & { readonly told: string[] } {
  const told: string[] = [];
  return {
    name: "witness",
    told,
    openRun: ({ runId }) => ({
      take: ({ event, envelope }, isPast) => {
        if (!isPast && (event.type === "run_start" || event.type === "run_end"))
          told.push(`${event.type} ${envelope.run_id ?? runId ?? ""}`);
      },
      close: () => undefined,
    }),
  };
}

const NEVER = new Promise<never>(() => undefined);

describe.each(STORES)("a desk on a store in %s", (kind) => {
  it("has messages answered by the agent they name, and lets go when there is nothing to do", async () => {
    const open = createStore(kind);
    const { desk, log, say } = startProcess(await open());
    const first = runIdOf(await say("s", "Hello"));
    const second = runIdOf(await say("s", "Hello", { agent: "other" }));
    expect(await untilEnded(log, "s", first)).toMatchObject({ status: "completed", agent: "helper" });
    expect(await untilEnded(log, "s", second)).toMatchObject({ status: "completed", agent: "other" });
    await until(() => desk.size === 0);
    expect((await log.getSession("s"))?.holder).toBeUndefined();
    const third = runIdOf(await say("s", "Hello again"));
    expect(await untilEnded(log, "s", third)).toMatchObject({ status: "completed" });
    await expectValid(log, "s");
  });

  it("takes over what a killed process was doing, once its lease has run out", async () => {
    const open = createStore(kind);
    let ahead = 0;
    const clock = (): number => ahead;
    const gate = Promise.withResolvers<void>();
    const [witness, own] = [createWitness(), createWitness()];
    const one = startProcess(await open(clock), { play: useTool("add", NEVER) });
    const two = startProcess(await open(clock), {
      play: useTool("add", gate.promise),
      observers: [witness],
      agent: { observers: [own] },
      sweepMs: 10,
    });
    const runId = runIdOf(await one.say("s", "Add"));
    const waiting = runIdOf(await one.say("s", "Add, too"));
    await until(() => one.model.requests.length === 2);
    await two.desk.start();
    expect(two.desk.size).toBe(0);
    one.kill();
    ahead = 60_000;
    await until(() => two.desk.liveRuns === 1);
    gate.resolve();
    expect(await untilEnded(two.log, "s", runId)).toMatchObject({ status: "completed" });
    expect(await untilEnded(two.log, "s", waiting)).toMatchObject({ status: "completed" });
    // What the dead one had finished was not done again.
    expect([one.ran.length, two.ran.length]).toEqual([1, 0]);
    await until(() => witness.told.length >= 3 && own.told.length >= 3);
    const told = [`run_end ${runId}`, `run_start ${waiting}`, `run_end ${waiting}`];
    expect([witness.told, own.told]).toEqual([told, told]);
    await expectValid(two.log, "s");
  });

  it("makes one run of one id, asked of two processes at once and after a restart", async () => {
    const open = createStore(kind);
    const processes = [startProcess(await open()), startProcess(await open())];
    const ask = ({ say }: Process) => say("s", "Once", { id: "key" });
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

  it("stops a run before it begins, while it goes and after it, whichever process is asked", async () => {
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

  it("goes on when the user has agreed, in the process that runs or in the next", async () => {
    const open = createStore(kind);
    const gate = Promise.resolve();
    const one = startProcess(await open(), { play: useTool("remove", gate) });
    const runId = runIdOf(await one.say("s", "Remove"));
    const isAsked = async (): Promise<boolean> => (await one.log.listRuns("s")).length > 0 && one.desk.liveRuns === 1;
    await until(isAsked);
    await until(async () => (await expectValid(one.log, "s")).some(({ event }) => event.type === "tool_approval"));
    // It waits for the user: a stopping process does not wait with it.
    await one.desk.close({ graceMs: 60_000 });
    expect(await one.log.getRun("s", runId)).toMatchObject({ status: "live" });
    const two = startProcess(await open(), { play: useTool("remove", gate) });
    const answer = await two.ask({ type: "approve", id: "yes", session: "s", call_id: "c", decision: "approved" });
    expect(answer).toMatchObject({ type: "ack" });
    expect(await untilEnded(two.log, "s", runId)).toMatchObject({ status: "completed" });
    expect([one.ran.length, two.ran.length]).toEqual([0, 1]);
  });
});

describe("a desk", () => {
  it("has a name for each agent, and no others", async () => {
    const log = new MemoryLog();
    const { desk } = startProcess(log);
    expect(desk.agents).toMatchObject([
      { name: "helper", kind: "react", isDefault: true, tools: expect.arrayContaining(["add"]) as unknown },
      { name: "other", isDefault: false },
    ]);
    expect([desk.resolveAgent(undefined), desk.resolveAgent("other")]).toEqual(["helper", "other"]);
    expect(() => desk.resolveAgent("nobody")).toThrow(expect.objectContaining({ code: "unknown_agent" }));
    expect(() => startProcess(log, { defaultAgent: "nobody" })).toThrow("nobody");
    expect(() => createRunDesk({ log, agents: {} })).toThrow("needs an agent");
  });

  it("ends the run of a message for an agent it has not, rather than have it wait", async () => {
    const log = new MemoryLog();
    const { desk } = startProcess(log);
    await log.createSession("s");
    const body = { message: "Hi", run_id: "r", agent: "elsewhere" };
    await log.submit({ commandId: "c", sessionId: "s", kind: "enqueue", body });
    await desk.start();
    expect(await untilEnded(log, "s", "r")).toMatchObject({ status: "error", code: "unknown_agent" });
  });

  it("ends what was left and nobody here can go on with, even where it waits for the user", async () => {
    const log = new MemoryLog();
    const asked = { callId: "c", name: "remove", arguments: { path: "x" } };
    const elsewhere = await openSession(log, "s");
    const run = await elsewhere.startRun({ runId: "r", agent: "elsewhere" });
    void run.requestApproval(asked).catch(() => undefined);
    await run.settled();
    await elsewhere.close({ run: "leave" });
    const all = createWitness();
    const { desk } = startProcess(log, { observers: [all] });
    await desk.start();
    expect(await untilEnded(log, "s", "r")).toMatchObject({ status: "error", code: "interrupted" });
    expect(all.told).toEqual(["run_end r"]);
    await until(() => desk.size === 0);
  });

  it("carries out a message of which a killed process had written nothing but the start", async () => {
    const log = new MemoryLog();
    const dead = await openSession(log, "s");
    await dead.startRun({ runId: "r", agent: "helper", message: "Hello" });
    await dead.close({ run: "leave" });
    const { desk, model } = startProcess(log);
    await desk.start();
    expect(await untilEnded(log, "s", "r")).toMatchObject({ status: "completed" });
    expect(model.requests).toHaveLength(1);
    await expectValid(log, "s");
  });

  it("takes a session that was deleted and made anew", async () => {
    const log = new MemoryLog();
    const { say } = startProcess(log, { lingerMs: 3_600_000, sweepMs: 3_600_000, beginMs: 0 });
    await untilEnded(log, "s", runIdOf(await say("s", "Hello")));
    await log.deleteSession("s");
    const runId = runIdOf(await say("s", "Hello"));
    expect(await untilEnded(log, "s", runId)).toMatchObject({ status: "completed" });
  });

  it("is ready when what was left is taken, whatever comes meanwhile", async () => {
    const log = new MemoryLog();
    const gate = Promise.withResolvers<void>();
    const { getSession } = log;
    vi.spyOn(log, "getSession").mockImplementation(async (sessionId) => {
      if (sessionId === "new") await gate.promise;
      else {
        await setImmediate();
        desk.attend("new");
      }
      return getSession.call(log, sessionId);
    });
    for (const id of ["left", "new"]) await log.createSession(id);
    await log.submit({ commandId: "c", sessionId: "left", kind: "enqueue", body: { message: "Hi", run_id: "r" } });
    const { desk } = startProcess(log);
    await desk.start();
    gate.resolve();
    expect(await untilEnded(log, "left", "r")).toMatchObject({ status: "completed" });
  });

  it("tells observers of every run once: those of the server of all, those of an agent of its own", async () => {
    const log = new MemoryLog();
    const [all, own] = [createWitness(), createWitness()];
    const { say } = startProcess(log, { observers: [all], agent: { observers: [own, all] } });
    const mine = runIdOf(await say("s", "One"));
    const others = runIdOf(await say("s", "Two", { agent: "other" }));
    await untilEnded(log, "s", others);
    await until(() => all.told.length >= 4);
    expect(own.told).toEqual([`run_start ${mine}`, `run_end ${mine}`]);
    expect(all.told).toEqual([mine, others].flatMap((id) => [`run_start ${id}`, `run_end ${id}`]));
  });

  it("carries out 300 sessions at once, and holds no more than it may", async () => {
    const log = new MemoryLog();
    let most = 0;
    const play = async (): Promise<ScriptedTurn> => {
      most = Math.max(most, desk.size);
      await Promise.resolve();
      return { text: "Yes." };
    };
    const { desk, say } = startProcess(log, { play, maxSessions: 50, maxOpening: 8, lingerMs: 1, sweepMs: 5 });
    await desk.start();
    const ids = Array.from({ length: 300 }, (_, index) => `s${index}`);
    const runs = await Promise.all(ids.map(async (id) => [id, runIdOf(await say(id, `To ${id}`))] as const));
    for (const [id, runId] of runs) expect(await untilEnded(log, id, runId)).toMatchObject({ status: "completed" });
    expect(most).toBeGreaterThan(8);
    expect(most).toBeLessThanOrEqual(50);
    await until(() => desk.size === 0);
  });

  it("goes on with all that was left side by side, however long each takes", async () => {
    const log = new MemoryLog();
    const gate = Promise.withResolvers<void>();
    const one = startProcess(log, { play: useTool("add", NEVER) });
    const ids = Array.from({ length: 40 }, (_, index) => `s${index}`);
    const runs = await Promise.all(ids.map(async (id) => [id, runIdOf(await one.say(id, "Add"))] as const));
    await until(() => one.model.requests.length === 80);
    await one.desk.close({ graceMs: 0 });
    expect(one.desk.size).toBe(0);
    const two = startProcess(log, { play: useTool("add", gate.promise), maxOpening: 4 });
    await two.desk.start();
    expect(two.desk.liveRuns).toBe(40);
    gate.resolve();
    for (const [id, runId] of runs) expect(await untilEnded(log, id, runId)).toMatchObject({ status: "completed" });
    expect(two.ran).toEqual([]);
  });

  it("lets runs end when it stops, begins no more, and leaves to the next what takes too long", async () => {
    const log = new MemoryLog();
    const gate = Promise.withResolvers<void>();
    const play = (request: ScriptedRequest): ScriptedTurn =>
      textOf(request).includes("short") ? { text: "Yes.", until: gate.promise } : useTool("add", NEVER)(request);
    const one = startProcess(log, { play, beginMs: 0 });
    const short = runIdOf(await one.say("s", "short"));
    const queued = runIdOf(await one.say("s", "short, too"));
    await until(() => one.desk.liveRuns === 1);
    const closing = one.desk.close({ graceMs: 60_000 });
    expect(await one.say("t", "too late", { when_busy: "enqueue" })).toMatchObject({ pending: true });
    gate.resolve();
    await closing;
    expect(await log.getRun("s", short)).toMatchObject({ status: "completed" });
    expect(await log.getRun("s", queued)).toBeUndefined();
    expect((await log.getSession("s"))?.holder).toBeUndefined();

    const two = startProcess(log, { play });
    const long = runIdOf(await two.say("u", "long"));
    await two.desk.start();
    await untilEnded(log, "s", queued);
    await until(async () => (await log.getRun("u", long))?.status === "live" && two.model.requests.length >= 3);
    await two.desk.close({ graceMs: 1 });
    expect(await log.getRun("u", long)).toMatchObject({ status: "live" });
    expect((await log.getSession("u"))?.holder).toBeUndefined();
  });

  it("looks again soon where somebody holds the session only for a moment", async () => {
    const log = new MemoryLog();
    const { say } = startProcess(log, { sweepMs: 3_600_000, beginMs: 0 });
    const guest = await openSession(log, "s");
    const runId = runIdOf(await say("s", "Hello"));
    await guest.close();
    expect(await untilEnded(log, "s", runId)).toMatchObject({ status: "completed" });
  });

  it("says once that a session cannot be opened, and has the others for that", async () => {
    const log = new MemoryLog();
    const { acquire } = log;
    vi.spyOn(log, "acquire").mockImplementation((sessionId, options) =>
      sessionId === "bad" ? Promise.reject(new Error("damaged")) : acquire.call(log, sessionId, options),
    );
    const onError = vi.fn();
    const { desk, say } = startProcess(log, { onError, sweepMs: 1, beginMs: 0 });
    await desk.start();
    expect(await say("bad", "Hello")).toMatchObject({ pending: true });
    await untilEnded(log, "good", runIdOf(await say("good", "Hello")));
    expect(onError.mock.calls).toEqual([[expect.objectContaining({ message: "damaged" }), expect.any(String)]]);
  });

  it("makes no session again that was deleted", async () => {
    const log = new MemoryLog();
    const { desk } = startProcess(log);
    desk.attend("gone");
    await until(() => desk.size === 0);
    expect(await log.getSession("gone")).toBeUndefined();
  });
});
