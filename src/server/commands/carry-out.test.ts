import { describe, expect, it, vi } from "vitest";
import { openSession } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import type { ControlCommand } from "../../protocol/control/index.ts";
import { awaitWritten, carryOut, type CommandHost, type RunCommand } from "./carry-out.ts";
import type { CommandAuthor } from "./command-author.ts";
import { CommandDesk } from "./command-desk.ts";
import { deriveRunId } from "./derive-run-id.ts";

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
      carryOut({ log, beginMs: 0 }, say("1", "first", { when_busy: "interrupt" })),
      carryOut({ log, beginMs: 0 }, say("2", "second")),
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

describe("a message whose files are looked up", () => {
  it("keeps its place, and is there for what comes after it", async () => {
    const log = new MemoryLog();
    const gate = Promise.withResolvers<void>();
    const get = async (_session: string, blobId: string) => {
      await gate.promise;
      return { blobId, mediaType: "image/png", bytes: 1, name: undefined, createdAt: 0 };
    };
    const host = { log, blobs: { get }, beginMs: 0, commands: { timeoutMs: 0 } } as unknown as CommandHost;
    const answers = [
      carryOut(host, say("1", "Look", { attachments: [{ blob_id: "b" }], run_id: "mine" })),
      carryOut(host, say("2", "And?")),
      carryOut(host, { type: "cancel", id: "3", session: "s", run_id: "mine" }),
    ];
    const written = awaitWritten(log, "s");
    gate.resolve();
    await written;
    expect((await log.listPending("s")).map(({ commandId }) => commandId)).toEqual(["1", "2", "3"]);
    expect((await Promise.all(answers)).map(({ type }) => type)).toEqual(["ack", "ack", "ack"]);
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
    expect(await carryOut({ log, beginMs: 0 }, say(id, "x", { when_busy: "interrupt" }))).toMatchObject({
      id,
      pending: true,
    });
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
  it("is one run, whichever door it came by, however often and whenever", async () => {
    const log = new MemoryLog();
    const attend = vi.fn();
    const ask = (more: Partial<RunCommand> = {}) => carryOut({ log, attend, beginMs: 0 }, say("1", "A", more));
    const answers = [...(await Promise.all([ask(), ask()])), await ask()];
    const run_id = deriveRunId("s", "1");
    expect(answers).toEqual(
      Array.from({ length: 3 }, () => ({ type: "ack", id: "1", pending: true, result: { run_id } })),
    );
    expect(attend).toHaveBeenCalledWith("s");
    expect(await log.listPending("s")).toMatchObject([{ commandId: "1", body: { message: "A", run_id } }]);
    expect(await ask({ message: "B" })).toMatchObject({ code: "command_conflict" });
    expect(await ask({ session: "t" })).toMatchObject({ result: { run_id: deriveRunId("t", "1") } });
  });

  it("has the run's id in its answer, before and after the run", async () => {
    const log = new MemoryLog();
    const ask = () => carryOut({ log, beginMs: 5000 }, say("1", "A", { run_id: "mine" }));
    const session = await openSession(log, "s", { onRun: async (run) => void (await run.finish({ reply: "yes" })) });
    const first = await ask();
    expect(first).toMatchObject({ type: "ack", result: { run_id: "mine", event_id: 1 } });
    await session.idle();
    await session.close();
    expect(await ask()).toEqual(first);
    expect(await log.listRuns("s")).toHaveLength(1);
  });

  it("asks for the agent when it is new, and never again", async () => {
    const log = new MemoryLog();
    const resolveAgent = vi.fn((name: string | undefined = "react"): string => {
      if (name !== "react") throw new LoomError("unknown_agent", `there is no agent "${name}"`);
      return name;
    });
    const host: CommandHost = { log, resolveAgent };
    expect(await carryOut(host, say("1", "A", { agent: "nobody" }))).toMatchObject({ code: "unknown_agent" });
    expect(await log.getSession("s")).toBeUndefined();
    expect(await carryOut(host, say("1", "A", { agent: "react" }))).toMatchObject({ type: "ack" });
    resolveAgent.mockImplementation(() => {
      throw new LoomError("unknown_agent", "gone");
    });
    expect(await carryOut(host, say("1", "A", { agent: "react" }))).toMatchObject({ type: "ack" });
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

describe("a message", () => {
  it("takes what the caller gives along to its run", async () => {
    const log = new MemoryLog();
    const given = { request_id: "q", context: { user: "u" }, agent: "react" };
    await carryOut({ log }, say("1", "A", given));
    const [command] = await log.listPending("s");
    expect(command?.body).toMatchObject({ ...given, message: "A", source: "stream" });
    const session = await openSession(log, "s", { onRun: async (run) => void (await run.finish({ reply: "" })) });
    await session.idle();
    const { records } = await log.read("s", { after: 0, limit: 1 });
    expect(records[0]?.event).toMatchObject({ ...given, message: "A", source: "stream" });
    await session.close();
  });

  it.each(["", " \n\t"])("is refused at once where it says nothing: %j", async (text) => {
    const log = new MemoryLog();
    const { session, run } = await openLive(log);
    const refused = await carryOut({ log }, say("1", text, { when_busy: "interrupt" }));
    expect(refused).toMatchObject({ type: "refusal", code: "invalid_command" });
    expect((await log.getRun("s", run.runId))?.status).toBe("live");
    expect(await carryOut({ log }, say("1", text, { session: "new" }))).toMatchObject({ code: "invalid_command" });
    expect(await log.getSession("new")).toBeUndefined();
    const attachments = [{ blob_id: "b" }];
    expect(await carryOut({ log }, say("2", text, { attachments }))).toMatchObject({ type: "ack" });
    await session.close();
  });

  it("may have no context without end", async () => {
    const log = new MemoryLog();
    const context = { text: "x".repeat(16 * 1024) };
    expect(await carryOut({ log }, say("1", "A", { context }))).toMatchObject({ code: "invalid_command" });
    expect(await log.getSession("s")).toBeUndefined();
  });

  it("names its session where nobody has", async () => {
    const log = new MemoryLog();
    await carryOut({ log }, say("1", "\n  Where is   Lisbon?\nTell me all."));
    expect((await log.getSession("s"))?.title).toBe("Where is Lisbon?");
    await carryOut({ log }, say("2", "Another"));
    expect((await log.getSession("s"))?.title).toBe("Where is Lisbon?");
    await log.createSession("t");
    await carryOut({ log }, say("1", "First", { session: "t" }));
    expect((await log.getSession("t"))?.title).toBe("First");
    await log.createSession("u", { title: "Mine" });
    await carryOut({ log }, say("1", "First", { session: "u" }));
    expect((await log.getSession("u"))?.title).toBe("Mine");
    await log.createSession("v");
    await log.submit({ commandId: "0", sessionId: "v", kind: "enqueue", body: {} });
    const refused = await carryOut({ log }, say("1", "Not now", { session: "v", when_busy: "reject" }));
    expect([refused.type, (await log.getSession("v"))?.title]).toEqual(["refusal", undefined]);
  });
});

describe("the desk", () => {
  it("takes turns in each session, and lets another session pass", async () => {
    const desk = new CommandDesk();
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

describe("a command in somebody's name", () => {
  const ann: CommandAuthor = { owner: "ann", isAdmin: false, actor: "token:ann", tools: { fetch: "deny" } };
  const ben: CommandAuthor = { owner: "ben", isAdmin: false, actor: "token:ben" };

  it("is written down with who asked and what they may do, and is asked again by another credential of theirs", async () => {
    const log = new MemoryLog();
    const asked = await carryOut({ log, beginMs: 0, author: ann }, say("1", "x"));
    expect(await log.getSession("s")).toMatchObject({ owner: "ann" });
    const known = await log.getCommand("s", "1");
    expect(known?.body).toMatchObject({ actor: "token:ann", tools: { fetch: "deny" } });
    const other = { owner: "ann", isAdmin: false, actor: "token:other" };
    expect(await carryOut({ log, beginMs: 0, author: other }, say("1", "x"))).toEqual(asked);
    expect((await log.getCommand("s", "1"))?.body).toEqual(known?.body);
  });

  it("takes neither from what is asked", async () => {
    const log = new MemoryLog();
    const forged = { ...say("1", "x"), actor: "token:root", tools: { "*": "allow" } } as RunCommand;
    await carryOut({ log, beginMs: 0, author: ben }, forged);
    expect((await log.getCommand("s", "1"))?.body).toMatchObject({ actor: "token:ben" });
    expect((await log.getCommand("s", "1"))?.body).not.toHaveProperty("tools");
    await carryOut({ log, beginMs: 0 }, { ...forged, id: "2", session: "open" });
    expect((await log.getCommand("open", "2"))?.body).not.toHaveProperty("actor");
  });

  const commands: readonly ControlCommand[] = [
    say("1", "x"),
    { type: "cancel", id: "1", session: "s", run_id: "r" },
    { type: "approve", id: "1", session: "s", run_id: "r", call_id: "c", decision: "approved" },
    { type: "todo", id: "1", session: "s", list_id: "l", item_id: "i", completed: true },
  ];
  it.each(commands)("is not written into a session that has become another's: $type", async (command) => {
    const log = new MemoryLog();
    await log.createSession("s", { owner: "ann" });
    const refused = await carryOut({ log, beginMs: 0, author: ben }, command);
    expect(refused).toMatchObject({ type: "refusal", code: "unknown_session" });
    expect(await log.listPending("s")).toEqual([]);
  });

  it("does not take a session over that another makes at the same moment", async () => {
    const log = new MemoryLog();
    const create = log.createSession.bind(log);
    vi.spyOn(log, "createSession").mockImplementationOnce(async (session, options) => {
      await create(session, { owner: "ann" });
      return create(session, options);
    });
    const refused = await carryOut({ log, beginMs: 0, author: ben }, say("1", "x"));
    expect(refused).toMatchObject({ code: "unknown_session" });
    expect(await log.listPending("s")).toEqual([]);
  });

  it("is begun only where they may begin another, and asked again it is not another", async () => {
    const log = new MemoryLog();
    const admitted: (string | undefined)[] = [];
    const admitRun = async ({ command }: { readonly command?: string | undefined }): Promise<void> => {
      if (command === "no") throw new LoomError("too_many_runs", "so many");
      admitted.push(command);
    };
    const host: CommandHost = { log, beginMs: 0, author: { ...ben, admitRun } };
    await carryOut(host, say("1", "x"));
    await carryOut(host, say("1", "x"));
    expect(await carryOut(host, say("no", "x", { session: "t" }))).toMatchObject({ code: "too_many_runs" });
    expect(admitted).toEqual(["1"]);
    expect(await log.getSession("t")).toBeUndefined();
  });
});
