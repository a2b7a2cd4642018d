import { describe, expect, it } from "vitest";
import type { Log } from "../log/log.ts";
import { createEntry } from "../log/entry.ts";
import type { AnyEvent, EventOf } from "../protocol/index.ts";
import type { DeadRun } from "./recovery.ts";
import { recoverOrphans } from "./recover-orphans.ts";
import type { Run } from "./run.ts";
import { createLog, expectValid, readRecords, SESSION, typesOf, waitUntil } from "../../test/contracts/sender.ts";
import { sendCommand } from "./send-command.ts";
import { openSession } from "./session.ts";
import { ask, checkpoint, die, request } from "../../test/contracts/dead-run.ts";

const approve = (decision = "approved") => ({
  commandId: `a-${decision}-${Math.random()}`,
  sessionId: SESSION,
  kind: "approve" as const,
  body: { run_id: "dead", call_id: "c", decision },
});

describe("a run whose process died", () => {
  it("continues after answer text, and only the text of the new attempt counts", async () => {
    const log = await createLog();
    await die(log, async (run) => {
      await run.emit(checkpoint);
      const node = run.enter("answer");
      const call = { call_id: "t", name: "tool" };
      run.postUnit(
        [
          { type: "tool_call", ...call, arguments: {} },
          { type: "tool_start", ...call },
        ],
        node,
      );
      await node.write("half a sen");
    });
    const session = await openSession(log, SESSION, {
      resume: (dead) => dead.run.span("answer", async (node) => void (await node.write("All of it."))),
    });
    expect(session.recovered).toEqual([{ runId: "dead", outcome: "resumed" }]);
    await session.idle();
    const records = await expectValid(log);
    const events = records.slice(-8).map(({ event }) => event);
    expect(events).toMatchObject([
      {
        type: "tool_end",
        is_error: true,
        error_code: "interrupted",
        result: expect.stringContaining("unknown") as string,
      },
      { type: "node_exit", result: { Err: "interrupted" } },
      { type: "error", code: "interrupted", recoverable: true, attempt: 2 },
      { type: "node_enter", id: "answer", supersedes: "run-answer-1", attempt: 2 },
      { type: "message_chunk", content: "All of it." },
      { type: "node_exit", result: "Ok" },
      { type: "run_end", status: "completed" },
      { type: "reply", reply: "All of it." },
    ]);
    expect(records.at(-1)?.envelope.node_id).toBe("run-answer-2");
    await (await session.startRun()).finish();
    await expectValid(log);
  });

  it("does not count text that is not repeated", async () => {
    const log = await createLog();
    await die(log, async (run) => {
      await run.emit(checkpoint);
      await run.enter("answer").write("half a sen");
    });
    const session = await openSession(log, SESSION, { resume: async () => undefined });
    await session.idle();
    expect((await expectValid(log)).at(-1)?.event).toMatchObject({ reply: "" });
  });

  it("ends if it has no checkpoint or cannot be resumed", async () => {
    for (const [work, options] of [
      [async (run: Run) => run.enter("n").think("hm"), { resume: async () => undefined }],
      [async (run: Run) => run.emit(checkpoint), {}],
      [async (run: Run) => run.emit(checkpoint), { resume: () => undefined }],
    ] as const) {
      const log = await createLog();
      await die(log, work);
      const session = await openSession(log, SESSION, options);
      expect(session.recovered).toMatchObject([{ outcome: "ended" }]);
      await expectValid(log);
    }
  });

  it("is resumed from its checkpoint as the same run", async () => {
    const log = await createLog();
    await die(log, async (run) => {
      await run.span("first", (node) => node.write("Hello "));
      await run.emit(checkpoint);
      const node = run.enter("act");
      await node.emit({ type: "usage", prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 });
      void node.emit({ type: "tool_call_chunk", call_id: "half", name: "t", arguments_delta: "{" });
      for (const call_id of ["ended", "started", "again", "called"]) {
        const name = call_id === "again" ? "read" : "write";
        void node.emit({ type: "tool_call", call_id, name, arguments: {} });
        if (call_id !== "called") void node.emit({ type: "tool_start", call_id, name });
      }
      await node.emit({ type: "tool_end", call_id: "ended", name: "write", result: "ok", is_error: false });
    });
    let seen: DeadRun | undefined;
    const session = await openSession(log, SESSION, {
      isIdempotent: (name) => name === "read",
      resume: async (dead) => {
        seen = dead;
        const { run } = dead;
        await run.span("act", async (node) => {
          await node.emit({ type: "tool_end", call_id: "again", name: "read", result: "ok", is_error: false });
          await node.emit({ type: "tool_start", call_id: "called", name: "write" });
          await node.emit({ type: "tool_end", call_id: "called", name: "write", result: "ok", is_error: false });
        });
        await run.span("answer", (node) => node.write("done"));
      },
    });
    expect(session.recovered).toEqual([{ runId: "dead", outcome: "resumed" }]);
    await session.idle();
    expect(seen).toMatchObject({
      checkpoint: { checkpointId: "cp", step: 0 },
      run: { runId: "dead", message: "Hi", agent: "react", request: { capabilities: ["approval"] } },
    });
    expect(seen?.calls.map(({ callId, state }) => [callId, state])).toEqual([
      ["again", "started"],
      ["called", "called"],
    ]);
    const records = await expectValid(log);
    const ends = records.flatMap(({ event }) => (event.type === "tool_end" ? [event as EventOf<"tool_end">] : []));
    expect(ends.map(({ call_id, is_error }) => [call_id, is_error])).toEqual([
      ["ended", false],
      ["half", true],
      ["started", true],
      ["again", false],
      ["called", false],
    ]);
    expect(records.filter(({ event }) => event.type === "node_enter").map(({ envelope }) => envelope.node_id)).toEqual([
      "run-first-1",
      "run-act-2",
      "run-act-3",
      "run-answer-4",
    ]);
    expect(records.at(-2)?.event).toMatchObject({
      status: "completed",
      first_event_id: 1,
      summary: { total_tokens: 3 },
    });
    expect(records.at(-1)?.event).toEqual({ type: "reply", reply: "done" });
  });

  it("finishes with its earlier text if the resumed work adds none", async () => {
    const log = await createLog();
    await die(log, async (run) => {
      await run.span("answer", (node) => node.write("all said"));
      await run.emit(checkpoint);
    });
    const session = await openSession(log, SESSION, { resume: async () => undefined });
    await session.idle();
    expect((await expectValid(log)).at(-1)).toMatchObject({
      envelope: { node_id: "run-answer-1" },
      event: { reply: "all said" },
    });
  });

  it("fails if `resume` fails", async () => {
    const log = await createLog();
    await die(log, (run) => run.emit(checkpoint));
    const session = await openSession(log, SESSION, {
      resume: async () => {
        throw new Error("no");
      },
    });
    await session.idle();
    expect(await log.getRun(SESSION, "dead")).toMatchObject({ status: "error", code: "run_failed" });
    await expectValid(log);
  });
});

describe("runs of another writer", () => {
  /** Appends records without the sender's checks. */
  async function write(log: Log, drafts: readonly { runId: string; nodeId?: string; event: AnyEvent }[]) {
    const { epoch, lastId, ...lease } = await log.acquire(SESSION, { holder: "other", ttlMs: 1000 });
    const entries = drafts.map(({ runId, nodeId, event }, index) => {
      const place = { session_id: SESSION, run_id: runId, event_id: lastId + index + 1, ts: 1 };
      return createEntry({ envelope: { ...place, ...(nodeId === undefined ? {} : { node_id: nodeId }) }, event });
    });
    await log.append({ sessionId: SESSION, epoch, expectedLastId: lastId, entries });
    await log.release({ ...lease, epoch, lastId });
  }
  const start = (runId: string) => ({ runId, event: { type: "run_start", run_id: runId } });
  const end = (runId: string) => ({ runId, event: { type: "run_end", status: "cancelled" } });

  it("are found behind many ended runs", async () => {
    const log = await createLog();
    const over = Array.from({ length: 250 }, (_, i) => `over-${i}`);
    await write(log, [start("first"), start("second"), ...over.flatMap((id) => [start(id), end(id)])]);
    const session = await openSession(log, SESSION);
    expect(session.recovered).toEqual(["first", "second"].map((runId) => ({ runId, outcome: "ended" })));
    await session.close();
    expect(await log.getRun(SESSION, "first")).toMatchObject({ status: "error", code: "interrupted" });
  });

  it("end even if their closing records would be too large", async () => {
    const log = await createLog({ limits: { maxEventBytes: 3000 } });
    const name = "n".repeat(2850);
    await write(log, [
      start("r"),
      { runId: "r", event: { type: "tool_call", call_id: "c", name, arguments: {} } },
      { runId: "r", event: { type: "llm_start", llm_call_id: name } },
      { runId: "r", nodeId: "n-1", event: { type: "node_enter", id: "n" } },
    ]);
    const session = await openSession(log, SESSION);
    expect(session.recovered).toEqual([{ runId: "r", outcome: "ended" }]);
    await session.close();
    const types = typesOf(await readRecords(log));
    expect(types.slice(-3)).toEqual(["node_exit", "run_end", "reply"]);
  });
});

describe("a run that waits for an approval", () => {
  it("still waits after several restarts", async () => {
    const log = await createLog();
    await die(log, async (run) => {
      await run.emit(checkpoint);
      await ask(run);
    });
    for (let restart = 0; restart < 2; restart++) {
      const session = await openSession(log, SESSION);
      expect(session.recovered).toEqual([{ runId: "dead", outcome: "waiting" }]);
      expect(session.liveRun?.runId).toBe("dead");
      await expect(session.startRun({ whenBusy: "reject" })).rejects.toMatchObject({ code: "run_live" });
      await session.close();
      expect(await log.getRun(SESSION, "dead")).toMatchObject({ status: "live" });
    }
    const records = await expectValid(log);
    expect(typesOf(records).at(-1)).toBe("custom");
  });

  it("is left waiting when its session is closed", async () => {
    const log = await createLog();
    const session = await openSession(log, SESSION);
    const run = await session.startRun({ runId: "dead" });
    const node = run.enter("act");
    const answer = run.requestApproval(request, node);
    await session.close();
    await expect(answer).rejects.toMatchObject({ code: "session_closed" });
    expect(await log.getRun(SESSION, "dead")).toMatchObject({ status: "live" });
    const next = await openSession(log, SESSION);
    expect(next.recovered).toMatchObject([{ outcome: "waiting" }]);
    await next.close();
  });

  it("ends after the answer if it cannot be resumed", async () => {
    const log = await createLog();
    await die(log, ask);
    const session = await openSession(log, SESSION);
    expect((await sendCommand(log, approve())).outcome?.code).toBe("done");
    await session.idle();
    expect(await log.getRun(SESSION, "dead")).toMatchObject({ status: "error", code: "interrupted" });
    expect((await sendCommand(log, approve("rejected"))).outcome?.code).toBe("already_answered");
    const records = await expectValid(log);
    expect(typesOf(records).slice(-6)).toEqual([
      "tool_approval_result",
      "error",
      "tool_end",
      "node_exit",
      "run_end",
      "reply",
    ]);
  });

  it("can be answered if the session has no holder", async () => {
    const log = await createLog();
    await die(log, ask);
    expect((await sendCommand(log, approve("rejected"))).outcome?.code).toBe("done");
    expect(await log.getRun(SESSION, "dead")).toMatchObject({ status: "error", code: "interrupted" });
    await expectValid(log);
  });

  it("is left for an agent that has no checkpoints and may answer again", async () => {
    const log = await createLog();
    await die(log, ask, SESSION, { agent: "helper" });
    expect((await sendCommand(log, approve())).outcome?.code).toBe("done");
    expect(await log.getRun(SESSION, "dead")).toMatchObject({ status: "live" });
  });

  it("ends if it must not be continued and has no checkpoint", async () => {
    const log = await createLog();
    await die(log, ask, SESSION, { agent: "helper", onInterruption: "fail" });
    await (await openSession(log, SESSION)).close();
    expect(await log.getRun(SESSION, "dead")).toMatchObject({ status: "error", code: "interrupted" });
  });

  it("is left waiting by an unrelated command", async () => {
    const log = await createLog();
    await die(log, ask);
    const other = { ...approve(), body: { run_id: "dead", call_id: "x", decision: "approved" } };
    expect((await sendCommand(log, other)).outcome?.code).toBe("unknown_call");
    expect(await log.getRun(SESSION, "dead")).toMatchObject({ status: "live" });
  });

  it("expires while the session has no holder", async () => {
    const log = await createLog();
    let now = Date.now();
    await die(log, (run) => ask(run, 1000));
    now += 10_000;
    const session = await openSession(log, SESSION, { now: () => now });
    expect(session.recovered).toEqual([{ runId: "dead", outcome: "ended" }]);
    const results = (await expectValid(log)).filter(({ event }) => event.type === "tool_approval_result");
    expect(results.map(({ event }) => event)).toMatchObject([{ decision: "expired" }]);
  });

  it("expires while another process holds the session", async () => {
    const log = await createLog();
    await die(log, (run) => ask(run, 500));
    const session = await openSession(log, SESSION);
    const run = session.liveRun;
    expect(await run?.ended).toMatchObject({ status: "error", code: "interrupted" });
    await expectValid(log);
  });

  it("expires even if the log sends no hints", async () => {
    const log = await createLog();
    await die(log, (run) => ask(run, 500));
    log.watch = () => () => undefined;
    const session = await openSession(log, SESSION, { ttlMs: 600_000 });
    expect(await session.liveRun?.ended).toMatchObject({ status: "error", code: "interrupted" });
  });

  it("is resumed from its checkpoint and does not ask again", async () => {
    for (const answeredFirst of [false, true]) {
      const log = await createLog();
      await die(log, async (run) => {
        await run.emit(checkpoint);
        await ask(run);
      });
      const answers: unknown[] = [];
      const resume = async ({ run }: DeadRun): Promise<void> => {
        if (answeredFirst) await run.approvalsSettled();
        await run.span("act", async (node) => {
          answers.push(await run.requestApproval(request, node));
          await node.emit({ type: "tool_start", call_id: "c", name: "rm" });
          await node.emit({ type: "tool_end", call_id: "c", name: "rm", result: "ok", is_error: false });
        });
      };
      const session = await openSession(log, SESSION, { resume });
      expect(session.recovered).toMatchObject([{ outcome: "resumed" }]);
      expect((await sendCommand(log, approve())).outcome?.code).toBe("done");
      await session.idle();
      expect(answers).toMatchObject([{ decision: "approved", arguments: { path: "x" } }]);
      const records = await expectValid(log);
      expect(records.filter(({ event }) => event.type === "tool_approval")).toHaveLength(1);
      expect(records.at(-1)?.event.type).toBe("reply");
    }
  });

  it("also waits if it had sent answer text meanwhile", async () => {
    const log = await createLog();
    await die(log, async (run) => {
      await ask(run);
      await run.emit({ type: "message_chunk", content: "I would delete x", id: "act" }, { nodeId: "run-act-1" });
    });
    const session = await openSession(log, SESSION);
    expect(session.recovered).toMatchObject([{ outcome: "waiting" }]);
    await session.close();
  });
});

describe("recoverOrphans", () => {
  it("recovers all sessions without a holder, even if one fails", async () => {
    const log = await createLog();
    await die(log, (run) => run.emit({ type: "custom", value: 1 }), "a");
    await die(log, ask, "b");
    await die(log, (run) => run.emit({ type: "custom", value: 1 }), "c");
    const held = await openSession(log, "held");
    await held.startRun();
    const read = log.read.bind(log);
    log.read = (sessionId, options) =>
      sessionId === "a" ? Promise.reject(new Error("unreadable")) : read(sessionId, options);
    const report = await recoverOrphans(log);
    expect(report.toSorted((x, y) => x.sessionId.localeCompare(y.sessionId))).toMatchObject([
      { sessionId: "a", error: { code: "interrupted" } },
      { sessionId: "b", runs: [{ outcome: "waiting" }] },
      { sessionId: "c", runs: [{ outcome: "ended" }] },
    ]);
    log.read = read;
    expect(await recoverOrphans(log)).toMatchObject([
      { sessionId: "a", runs: [{ outcome: "ended" }] },
      { sessionId: "b", runs: [{ outcome: "waiting" }] },
    ]);
    for (const id of ["a", "b", "c"]) await expectValid(log, id);
    expect(await readRecords(log, "held")).toHaveLength(1);
  });

  it("executes queued messages if it has an agent", async () => {
    const log = await createLog();
    await log.createSession(SESSION);
    await log.submit({ commandId: "m", sessionId: SESSION, kind: "enqueue", body: { message: "hi" } });
    await recoverOrphans(log, { onRun: (run) => run.span("n", (node) => node.write("hello")).then(() => undefined) });
    expect((await expectValid(log)).at(-1)?.event).toEqual({ type: "reply", reply: "hello" });
    expect(await recoverOrphans(log)).toEqual([]);
  });

  it("finds sessions behind many that stay orphans", async () => {
    const log = await createLog();
    for (let i = 0; i < 105; i++) await die(log, async (run) => run.emit({ type: "custom", value: 1 }), `dead-${i}`);
    const report = await recoverOrphans(log);
    expect(report.map(({ sessionId }) => sessionId)).toEqual(Array.from({ length: 105 }, (_, i) => `dead-${i}`));
    expect(await recoverOrphans(log)).toEqual([]);
  });

  it("does not let a hanging agent block other sessions", async () => {
    const log = await createLog();
    const others = Array.from({ length: 9 }, (_, index) => `quick-${index}`);
    for (const id of ["hangs", ...others]) await die(log, async (run) => run.emit(checkpoint), id);
    const stuck = Promise.withResolvers<void>();
    let going = 0;
    let most = 0;
    const report = recoverOrphans(log, {
      resume: async ({ run }) => {
        most = Math.max(most, ++going);
        if (run.sessionId === "hangs") await stuck.promise;
        going--;
      },
    });
    for (const id of others)
      await waitUntil(log, async () => (await log.getRun(id, "dead"))?.status === "completed", id);
    expect(await log.getRun("hangs", "dead")).toMatchObject({ status: "live" });
    stuck.resolve();
    expect((await report).map(({ sessionId }) => sessionId)).toEqual(["hangs", ...others]);
    expect(most).toBeLessThanOrEqual(8);
  });
});
