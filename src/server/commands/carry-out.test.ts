import { describe, expect, it, vi } from "vitest";
import { openSession } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import type { ControlCommand } from "../../protocol/control/index.ts";
import { carryOut, type CommandHost, type RunCommand } from "./carry-out.ts";
import { CommandDesk, MAX_REMEMBERED } from "./command-desk.ts";

const say = (id: string, message: string, more: Partial<RunCommand> = {}): RunCommand => ({
  type: "run",
  id,
  session: "s",
  message,
  ...more,
});

async function openLive(log: MemoryLog) {
  const session = await openSession(log, "s");
  const run = await session.startRun({ message: "Long" });
  return { session, run };
}

describe("the order of commands", () => {
  it("is that in which they came, also where one interrupts first", async () => {
    const log = new MemoryLog();
    const { session } = await openLive(log);
    await Promise.all([
      carryOut({ log }, say("1", "first", { when_busy: "interrupt" })),
      carryOut({ log }, say("2", "second")),
    ]);
    expect((await log.listPending("s")).map(({ commandId }) => commandId)).toEqual(["1", "2"]);
    await session.close();
  });

  it("holds nobody up: one that is refused or waits for its outcome lets the next pass", async () => {
    const log = new MemoryLog();
    const { session } = await openLive(log);
    const host: CommandHost = { log, commands: { timeoutMs: 60_000 } };
    const controller = new AbortController();
    const waits = carryOut(
      { log, commands: { timeoutMs: 60_000, signal: controller.signal } },
      { type: "cancel", id: "1", session: "s", run_id: "not there yet" },
    );
    const refused = await carryOut(host, say("2", "x", { when_busy: "reject" }));
    expect(refused).toMatchObject({ code: "run_live" });
    expect(await carryOut(host, say("3", "y"))).toMatchObject({ type: "ack", pending: true });
    controller.abort();
    await waits;
    await session.close();
  });
});

describe("a message that would rather not wait", () => {
  it("is refused where another waits already", async () => {
    const log = new MemoryLog();
    await carryOut({ log }, say("1", "A"));
    expect(await carryOut({ log }, say("2", "B", { when_busy: "reject" }))).toMatchObject({ code: "run_live" });
  });

  it("passes once, of two at the same time; asked again it is the same", async () => {
    const log = new MemoryLog();
    const ask = () => ["1", "2"].map((id) => carryOut({ log }, say(id, id, { when_busy: "reject" })));
    const [first, second] = await Promise.all(ask());
    expect([first?.type, second]).toMatchObject(["ack", { type: "refusal", code: "run_live" }]);
    expect(await Promise.all(ask())).toEqual([first, second]);
  });

  it("passes once also where the other's turn comes at that moment", async () => {
    const log = new MemoryLog();
    const gate = Promise.withResolvers<void>();
    const session = await openSession(log, "s", {
      onRun: async (run) => {
        await gate.promise;
        await run.finish();
      },
    });
    const ids = Array.from({ length: 20 }, (_, index) => String(index));
    const ask = async (id: string) => {
      for (let i = 0; i < Number(id); i++) await Promise.resolve();
      return carryOut({ log }, say(id, id, { when_busy: "reject" }));
    };
    const answers = await Promise.all(ids.map(ask));
    expect(answers.filter(({ type }) => type === "ack")).toHaveLength(1);
    gate.resolve();
    await session.close();
  });

  it("may have an id as long as ids may be, and interrupt", async () => {
    const log = new MemoryLog();
    const { session, run } = await openLive(log);
    const id = "i".repeat(256);
    expect(await carryOut({ log }, say(id, "x", { when_busy: "interrupt" }))).toMatchObject({ id, pending: true });
    expect((await log.getRun("s", run.runId))?.status).toBe("cancelled");
    await session.close();
  });

  it("cancels nothing where it is no good itself", async () => {
    const log = new MemoryLog();
    const { session, run } = await openLive(log);
    const bad = say("i".repeat(257), "x", { when_busy: "interrupt" });
    expect(await carryOut({ log }, bad)).toMatchObject({ code: "invalid_name" });
    expect((await log.getRun("s", run.runId))?.status).toBe("live");
    await session.close();
  });
});

describe("one id", () => {
  it("starts one run, whichever door it came by and however often", async () => {
    const log = new MemoryLog();
    const gate = Promise.withResolvers<void>();
    const startRun = vi.fn(async () => {
      await gate.promise;
      return { run_id: "r" };
    });
    const asked = [carryOut({ log, startRun }, say("1", "A")), carryOut({ log, startRun }, say("1", "A"))];
    gate.resolve();
    const answers = [...(await Promise.all(asked)), await carryOut({ log, startRun }, say("1", "A"))];
    expect(answers).toEqual(Array.from({ length: 3 }, () => ({ type: "ack", id: "1", result: { run_id: "r" } })));
    expect(startRun).toHaveBeenCalledOnce();
    expect(await carryOut({ log, startRun }, say("1", "B"))).toMatchObject({ code: "command_conflict" });
    await carryOut({ log, startRun }, say("1", "A", { session: "t" }));
    expect(startRun).toHaveBeenCalledTimes(2);
  });

  it("that came to nothing before anything was started may be tried again; what was started may not", async () => {
    const log = new MemoryLog();
    const startRun = vi.fn(() => Promise.reject(new Error("half way")));
    const create = vi.spyOn(log, "createSession").mockRejectedValueOnce(new Error("busy"));
    expect(await carryOut({ log, startRun }, say("1", "A"))).toMatchObject({ code: "internal_error" });
    expect(startRun).not.toHaveBeenCalled();
    for (let i = 0; i < 2; i++)
      expect(await carryOut({ log, startRun }, say("1", "A"))).toMatchObject({ code: "internal_error" });
    expect(startRun).toHaveBeenCalledOnce();
    expect(create).toHaveBeenCalledTimes(2);
  });

  it("with fields nobody knows is the same command", async () => {
    const log = new MemoryLog();
    const session = await openSession(log, "s");
    await session.record({ type: "todo_list", list_id: "l", items: [{ id: "i", text: "Pack", completed: false }] });
    const todo: ControlCommand = { type: "todo", id: "1", session: "s", list_id: "l", item_id: "i", completed: true };
    const first = await carryOut({ log }, todo);
    expect(first).toMatchObject({ type: "ack" });
    expect(await carryOut({ log }, { ...todo, trace: "abc" } as ControlCommand)).toEqual(first);
    expect((await log.getCommand("s", "1"))?.body).toEqual({ list_id: "l", item_id: "i", completed: true });
    await session.close();
  });
});

describe("the desk", () => {
  it("remembers so many answers, and lets no more be under way", async () => {
    const desk = new CommandDesk<string>();
    const work = vi.fn(async () => "done");
    for (let i = 0; i <= MAX_REMEMBERED; i++) await desk.once(say(String(i), "x"), work);
    await desk.once(say("1", "x"), work);
    expect(work).toHaveBeenCalledTimes(MAX_REMEMBERED + 1);
    await desk.once(say("0", "x"), work);
    expect(work).toHaveBeenCalledTimes(MAX_REMEMBERED + 2);
    for (let i = 0; i < MAX_REMEMBERED; i++) void desk.once(say(`n${i}`, "x"), () => new Promise(() => undefined));
    await expect(desk.once(say("one more", "x"), work)).rejects.toMatchObject({ code: "backlog_full" });
  });

  it("takes turns in each session, and lets another session pass", async () => {
    const desk = new CommandDesk<string>();
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const turns = [
      desk.inTurn("s", async () => {
        await gate.promise;
        order.push("s1");
        throw new Error("it does not matter to the next");
      }),
      desk.inTurn("s", async () => order.push("s2")),
      desk.inTurn("t", async () => order.push("t1")),
    ];
    await turns[2];
    gate.resolve();
    await Promise.allSettled(turns);
    expect(order).toEqual(["t1", "s1", "s2"]);
  });
});
