import { describe, expect, it, vi } from "vitest";
import { openSession } from "../../engine/index.ts";
import { MemoryLog } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import type { ControlCommand } from "../../protocol/control/index.ts";
import { deriveRunId, executeCommand, type RunCommand } from "./execute-command.ts";
import type { CommandAuthor } from "./command-author.ts";
import type { CommandHost } from "./command-host.ts";
import { awaitSubmitted } from "./command-queue.ts";

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

describe("commands of a session", () => {
  it("keep their order, even if the first interrupts a run", async () => {
    const log = new MemoryLog();
    const { session } = await openLive(log);
    await Promise.all([
      executeCommand({ log, beginMs: 0 }, say("1", "first", { when_busy: "interrupt" })),
      executeCommand({ log, beginMs: 0 }, say("2", "second")),
    ]);
    expect((await log.listPending("s")).map(({ commandId }) => commandId)).toEqual(["1", "2"]);
    await session.close();
  });

  it("do not wait for one that is rejected or pending", async () => {
    const log = new MemoryLog();
    const { session } = await openLive(log);
    const host: CommandHost = { log, commands: { timeoutMs: 60_000 } };
    const controller = new AbortController();
    const waits = executeCommand(
      { log, commands: { timeoutMs: 60_000, signal: controller.signal } },
      { type: "cancel", id: "1", session: "s", run_id: "not there yet" },
    );
    const refused = await executeCommand(host, say("2", "x", { when_busy: "reject" }));
    expect(refused).toMatchObject({ code: "run_live" });
    expect(await executeCommand(host, say("3", "y"))).toMatchObject({ type: "ack", pending: true });
    controller.abort();
    await waits;
    await session.close();
  });
});

it("stores only the beginning of the reason of a cancel", async () => {
  const log = new MemoryLog();
  const { session } = await openLive(log);
  const host = { log, commands: { timeoutMs: 0 } } as unknown as CommandHost;
  await executeCommand(host, { type: "cancel", id: "1", session: "s", run_id: "x", reason: "r".repeat(50_000) });
  expect(JSON.stringify((await log.getCommand("s", "1"))?.body).length).toBeLessThan(2000);
  await session.close();
});

describe("a message with attachments", () => {
  it("keeps its position in the queue while its blobs are looked up", async () => {
    const log = new MemoryLog();
    const gate = Promise.withResolvers<void>();
    const get = async (_session: string, blobId: string) => {
      await gate.promise;
      return { blobId, mediaType: "image/png", bytes: 1, name: undefined, createdAt: 0 };
    };
    const host = { log, blobs: { get }, beginMs: 0, commands: { timeoutMs: 0 } } as unknown as CommandHost;
    const answers = [
      executeCommand(host, say("1", "Look", { attachments: [{ blob_id: "b" }], run_id: "mine" })),
      executeCommand(host, say("2", "And?")),
      executeCommand(host, { type: "cancel", id: "3", session: "s", run_id: "mine" }),
    ];
    const written = awaitSubmitted(log, "s");
    gate.resolve();
    await written;
    expect((await log.listPending("s")).map(({ commandId }) => commandId)).toEqual(["1", "2", "3"]);
    expect((await Promise.all(answers)).map(({ type }) => type)).toEqual(["ack", "ack", "ack"]);
  });
});

describe(`when_busy`, () => {
  it("rejects a message while another is waiting", async () => {
    const log = new MemoryLog();
    await executeCommand({ log }, say("1", "A"));
    expect(await executeCommand({ log }, say("2", "B", { when_busy: "reject" }))).toMatchObject({ code: "run_live" });
  });

  it("accepts one of two concurrent messages with `reject`, and repeats the result", async () => {
    const log = new MemoryLog();
    const ask = () => ["1", "2"].map((id) => executeCommand({ log }, say(id, id, { when_busy: "reject" })));
    const [first, second] = await Promise.all(ask());
    expect([first?.type, second]).toMatchObject(["ack", { type: "refusal", code: "run_live" }]);
    expect(await Promise.all(ask())).toEqual([first, second]);
  });

  it("accepts one message with `reject` while others start", async () => {
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
      return executeCommand({ log }, say(id, id, { when_busy: "reject" }));
    };
    const answers = await Promise.all(ids.map(ask));
    expect(answers.filter(({ type }) => type === "ack")).toHaveLength(1);
    gate.resolve();
    await session.close();
  });

  it("interrupts with an id of the maximum length", async () => {
    const log = new MemoryLog();
    const { session, run } = await openLive(log);
    const id = "i".repeat(256);
    expect(await executeCommand({ log, beginMs: 0 }, say(id, "x", { when_busy: "interrupt" }))).toMatchObject({
      id,
      pending: true,
    });
    expect((await log.getRun("s", run.runId))?.status).toBe("cancelled");
    await session.close();
  });

  it("refuses a message above the limit, cancels nothing for it, and accepts the same ID later", async () => {
    const log = new MemoryLog();
    const { session, run } = await openLive(log);
    const host: CommandHost = { log, beginMs: 0, maxQueued: 1 };
    await executeCommand(host, say("1", "A", { run_id: "a" }));
    for (const when_busy of ["enqueue", "interrupt"] as const)
      expect(await executeCommand(host, say("2", "B", { when_busy }))).toMatchObject({ code: "queue_full" });
    expect((await log.listPending("s")).map(({ commandId }) => commandId)).toEqual(["1"]);
    // A full queue does not keep the client from making room.
    expect(await executeCommand(host, { type: "cancel", id: "3", session: "s", run_id: "a" })).toMatchObject({
      type: "ack",
    });
    expect(await executeCommand(host, say("2", "B"))).toMatchObject({ type: "ack", pending: true });
    expect((await log.getRun("s", run.runId))?.status).toBe("live");
    await session.close();
  });

  it("cancels nothing if the message is invalid", async () => {
    const log = new MemoryLog();
    const { session, run } = await openLive(log);
    const bad = say("i".repeat(257), "x", { when_busy: "interrupt" });
    expect(await executeCommand({ log }, bad)).toMatchObject({ code: "invalid_name" });
    expect((await log.getRun("s", run.runId))?.status).toBe("live");
    await session.close();
  });
});

describe("a command id", () => {
  it("names one run, however often the command is repeated", async () => {
    const log = new MemoryLog();
    const dispatch = vi.fn();
    const ask = (more: Partial<RunCommand> = {}) => executeCommand({ log, dispatch, beginMs: 0 }, say("1", "A", more));
    const answers = [...(await Promise.all([ask(), ask()])), await ask()];
    const run_id = deriveRunId("s", "1");
    expect(answers).toEqual(
      Array.from({ length: 3 }, () => ({ type: "ack", id: "1", pending: true, result: { run_id } })),
    );
    expect(dispatch).toHaveBeenCalledWith("s");
    expect(await log.listPending("s")).toMatchObject([{ commandId: "1", body: { message: "A", run_id } }]);
    expect(await ask({ message: "B" })).toMatchObject({ code: "command_conflict" });
    expect(await ask({ session: "t" })).toMatchObject({ result: { run_id: deriveRunId("t", "1") } });
  });

  it("is answered with the same run id before and after the run", async () => {
    const log = new MemoryLog();
    const ask = () => executeCommand({ log, beginMs: 5000 }, say("1", "A", { run_id: "mine" }));
    const session = await openSession(log, "s", { onRun: async (run) => void (await run.finish({ reply: "yes" })) });
    const first = await ask();
    expect(first).toMatchObject({ type: "ack", result: { run_id: "mine", event_id: 1 } });
    await session.idle();
    await session.close();
    expect(await ask()).toEqual(first);
    expect(await log.listRuns("s")).toHaveLength(1);
  });

  it("resolves the agent only for a new command", async () => {
    const log = new MemoryLog();
    const resolveAgent = vi.fn((name: string | undefined = "react"): string => {
      if (name !== "react") throw new LoomError("unknown_agent", `no agent "${name}"`);
      return name;
    });
    const host: CommandHost = { log, resolveAgent };
    expect(await executeCommand(host, say("1", "A", { agent: "unknown" }))).toMatchObject({ code: "unknown_agent" });
    expect(await log.getSession("s")).toBeUndefined();
    expect(await executeCommand(host, say("1", "A", { agent: "react" }))).toMatchObject({ type: "ack" });
    resolveAgent.mockImplementation(() => {
      throw new LoomError("unknown_agent", "gone");
    });
    expect(await executeCommand(host, say("1", "A", { agent: "react" }))).toMatchObject({ type: "ack" });
  });

  it.each([
    [{ agnet: "tot" }, "Unknown field `agnet`; did you mean `agent`?"],
    [
      { attachments: [{ blob_id: "b" }, { blob_id: "c", nme: "x" }] },
      "Unknown field `attachments[1].nme`; did you mean `attachments[1].name`?",
    ],
    [{ strategy: { bean: 1 } }, "Unknown field `strategy.bean`; did you mean `strategy.beam`?"],
  ])("is refused with the unknown field %j", async (fields, message) => {
    const log = new MemoryLog();
    const refused = await executeCommand({ log }, { ...say("1", "A"), ...fields } as ControlCommand);
    expect(refused).toMatchObject({ type: "refusal", code: "invalid_command", message });
    expect(await log.getSession("s")).toBeUndefined();
    // Programs may pass undefined.
    expect(await executeCommand({ log }, Object.assign(say("1", "A"), { trace: undefined }))).toMatchObject({
      type: "ack",
    });
  });
});

describe("a message", () => {
  it("passes the caller's fields to its run", async () => {
    const log = new MemoryLog();
    const given = { request_id: "q", context: { user: "u" }, agent: "react" };
    await executeCommand({ log }, say("1", "A", given));
    const [command] = await log.listPending("s");
    expect(command?.body).toMatchObject({ ...given, message: "A", source: "stream" });
    const session = await openSession(log, "s", { onRun: async (run) => void (await run.finish({ reply: "" })) });
    await session.idle();
    const { records } = await log.read("s", { after: 0, limit: 1 });
    expect(records[0]?.event).toMatchObject({ ...given, message: "A", source: "stream" });
    await session.close();
  });

  it.each(["", " \n\t"])("is rejected if it is blank: %j", async (text) => {
    const log = new MemoryLog();
    const { session, run } = await openLive(log);
    const refused = await executeCommand({ log }, say("1", text, { when_busy: "interrupt" }));
    expect(refused).toMatchObject({ type: "refusal", code: "invalid_command" });
    expect((await log.getRun("s", run.runId))?.status).toBe("live");
    expect(await executeCommand({ log }, say("1", text, { session: "new" }))).toMatchObject({
      code: "invalid_command",
    });
    expect(await log.getSession("new")).toBeUndefined();
    const get = async () => ({ blobId: "b", mediaType: "text/plain", bytes: 3 });
    const host = { log, blobs: { get } } as unknown as CommandHost;
    expect(await executeCommand(host, say("2", text, { attachments: [{ blob_id: "b" }] }))).toMatchObject({
      type: "ack",
    });
    await session.close();
  });

  it("is rejected if its context is too large", async () => {
    const log = new MemoryLog();
    const context = { text: "x".repeat(16 * 1024) };
    expect(await executeCommand({ log }, say("1", "A", { context }))).toMatchObject({ code: "invalid_command" });
    expect(await log.getSession("s")).toBeUndefined();
  });

  it("sets the title of an untitled session", async () => {
    const log = new MemoryLog();
    await executeCommand({ log }, say("1", "\n  Where is   Lisbon?\nTell me all."));
    expect((await log.getSession("s"))?.title).toBe("Where is Lisbon?");
    await executeCommand({ log }, say("2", "Another"));
    expect((await log.getSession("s"))?.title).toBe("Where is Lisbon?");
    await log.createSession("t");
    await executeCommand({ log }, say("1", "First", { session: "t" }));
    expect((await log.getSession("t"))?.title).toBe("First");
    await log.createSession("u", { title: "Mine" });
    await executeCommand({ log }, say("1", "First", { session: "u" }));
    expect((await log.getSession("u"))?.title).toBe("Mine");
    await log.createSession("v");
    await log.submit({ commandId: "0", sessionId: "v", kind: "enqueue", body: {} });
    const refused = await executeCommand({ log }, say("1", "Not now", { session: "v", when_busy: "reject" }));
    expect([refused.type, (await log.getSession("v"))?.title]).toEqual(["refusal", undefined]);
  });
});

describe("a command with an author", () => {
  const ann: CommandAuthor = { owner: "ann", isAdmin: false, actor: "token:ann", tools: { fetch: "deny" } };
  const ben: CommandAuthor = { owner: "ben", isAdmin: false, actor: "token:ben" };

  it("records the first author, and another credential of the owner can repeat it", async () => {
    const log = new MemoryLog();
    const asked = await executeCommand({ log, beginMs: 0, author: ann }, say("1", "x"));
    expect(await log.getSession("s")).toMatchObject({ owner: "ann" });
    const known = await log.getCommand("s", "1");
    expect(known?.body).toMatchObject({ actor: "token:ann", tools: { fetch: "deny" } });
    const other = { owner: "ann", isAdmin: false, actor: "token:other" };
    expect(await executeCommand({ log, beginMs: 0, author: other }, say("1", "x"))).toEqual(asked);
    expect((await log.getCommand("s", "1"))?.body).toEqual(known?.body);
  });

  it.each([{ actor: "token:root" }, { tools: { "*": "allow" } }])(
    "refuses %j in the command itself",
    async (fields) => {
      const log = new MemoryLog();
      for (const author of [{}, { author: ben }])
        expect(await executeCommand({ log, beginMs: 0, ...author }, { ...say("1", "x"), ...fields })).toMatchObject({
          code: "invalid_command",
        });
      expect(await log.getSession("s")).toBeUndefined();
    },
  );

  const commands: readonly ControlCommand[] = [
    say("1", "x"),
    { type: "cancel", id: "1", session: "s", run_id: "r" },
    { type: "approve", id: "1", session: "s", run_id: "r", call_id: "c", decision: "approved" },
    { type: "todo", id: "1", session: "s", list_id: "l", item_id: "i", completed: true },
  ];
  it.each(commands)("is rejected for a session of another owner: $type", async (command) => {
    const log = new MemoryLog();
    await log.createSession("s", { owner: "ann" });
    const refused = await executeCommand({ log, beginMs: 0, author: ben }, command);
    const code = command.type === "run" ? "session_id_taken" : "unknown_session";
    expect(refused).toMatchObject({ type: "refusal", code });
    expect(await log.listPending("s")).toEqual([]);
  });

  it("does not take over a session that another owner creates at the same time", async () => {
    const log = new MemoryLog();
    const submit = log.submit.bind(log);
    vi.spyOn(log, "submit").mockImplementationOnce(async (...given) => {
      await log.createSession("s", { owner: "ann" });
      return submit(...given);
    });
    const refused = await executeCommand({ log, beginMs: 0, author: ben }, say("1", "x"));
    expect(refused).toMatchObject({ code: "session_id_taken" });
    expect(await log.listPending("s")).toEqual([]);
    expect((await log.getSession("s"))?.title).toBeUndefined();
  });

  it.each(["reject", "interrupt"] as const)("does not learn of runs of other owners: %s", async (when_busy) => {
    const log = new MemoryLog();
    await log.createSession("s", { owner: "ann" });
    const { session } = await openLive(log);
    const refused = await executeCommand({ log, beginMs: 0, author: ben }, say("1", "x", { when_busy }));
    expect(refused).toMatchObject({ type: "refusal", code: "session_id_taken" });
    expect(await log.listPending("s")).toEqual([]);
    await session.close();
  });

  it("asks for admission of a new run only once", async () => {
    const log = new MemoryLog();
    const admitted: string[] = [];
    const admitRun = async (agent: string): Promise<void> => void admitted.push(agent);
    const author = { ...ben, actor: "token:ben", admitRun, runLimit: { actor: "token:ben", maxRuns: 1 } };
    const host: CommandHost = { log, beginMs: 0, author };
    for (let at = 0; at < 2; at++) expect(await executeCommand(host, say("1", "x"))).toMatchObject({ type: "ack" });
    expect(admitted).toEqual([""]);
    expect(await executeCommand(host, say("2", "x", { session: "t" }))).toMatchObject({ code: "too_many_runs" });
    expect(await log.getSession("t")).toBeUndefined();
  });
});
