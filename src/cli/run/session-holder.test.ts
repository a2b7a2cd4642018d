import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { agent } from "../../agents/index.ts";
import { openSession, sendCommand } from "../../engine/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { type Script, ScriptedModel } from "../../models/testing.ts";
import { listWaitingCalls } from "../../server/endpoints/waiting-calls.ts";
import { defineTool } from "../../tools/index.ts";
import { SessionHolder, type SessionHolderOptions } from "./session-holder.ts";
import { LONG } from "../../../test/sampling.ts";

function hold(
  log: Log,
  script: Script,
  options: Partial<Pick<SessionHolderOptions, "onHeld" | "onOtherAgent">> = {},
): SessionHolder {
  return new SessionHolder({
    log,
    sessionId: "s",
    agent: agent({ model: new ScriptedModel(script) }),
    agentName: "react",
    cancelCommand: "loom cancel s",
    onError: () => undefined,
    onHeld: () => undefined,
    onOtherAgent: () => undefined,
    ...options,
  });
}

async function send(log: Log, runId: string, agentName?: string): Promise<void> {
  await log.createSession("s");
  const body = { run_id: runId, message: "hi", ...(agentName === undefined ? {} : { agent: agentName }) };
  await log.submit({ commandId: runId, sessionId: "s", kind: "enqueue", body });
}

const statusOf = async (log: Log, runId: string) => (await log.getRun("s", runId))?.status;

/** Leaves the run `r`, whose call of `write_file` waits for approval. */
async function leaveCall(log: Log) {
  await send(log, "r", "react");
  const tool = { name: "write_file", description: "Writes.", input: z.object({}), approval: "always" } as const;
  const model = new ScriptedModel([{ calls: [{ name: "write_file", input: {} }] }]);
  const other = await agent({ model, tools: [defineTool({ ...tool, execute: () => "" })] }).openSession(log, "s");
  const [call] = await vi.waitUntil(async () => {
    const calls = await listWaitingCalls(log, "s", "approval");
    return calls.length > 0 && calls;
  });
  await other.close({ run: "leave" });
  return call;
}

describe("SessionHolder", () => {
  test("runs queued messages, then becomes idle", async () => {
    const log = new MemoryLog();
    await send(log, "r1");
    await send(log, "r2");
    await using holder = hold(log, () => ({ text: "Hello." }));
    await holder.ready;
    await holder.idle();
    expect(await Promise.all(["r1", "r2"].map((runId) => statusOf(log, runId)))).toEqual(["completed", "completed"]);
  });

  test("leaves a live run for the next holder", async () => {
    const log = new MemoryLog();
    await send(log, "r");
    {
      await using holder = hold(log, [{ fault: { kind: "stall" } }]);
      await holder.ready;
      await vi.waitFor(async () => expect((await log.listLandmarks("s", "checkpoint")).length).toBeGreaterThan(0));
    }
    expect(await statusOf(log, "r")).toBe("live");
    await using next = hold(log, [{ text: "Hello." }]);
    await next.ready;
    await next.idle();
    expect(await statusOf(log, "r")).toBe("completed");
  });

  test("takes over from another holder, and reports it once", async () => {
    const log = new MemoryLog();
    const other = await openSession(log, "s");
    await send(log, "r");
    const onHeld = vi.fn<() => void>();
    await using holder = hold(log, [{ text: "Hello." }], { onHeld });
    await holder.ready;
    expect(await statusOf(log, "r")).toBeUndefined();
    expect(holder.isHolding).toBe(false);
    // A holder that is released before it could wait does not fail.
    await hold(log, [])[Symbol.asyncDispose]();
    await other.close();
    await vi.waitFor(async () => expect(await statusOf(log, "r")).toBe("completed"), { timeout: 5000 });
    expect(onHeld).toHaveBeenCalledOnce();
    expect(holder.isHolding).toBe(true);
  });

  test("leaves messages of another agent, and those after them, to other processes", async () => {
    const log = new MemoryLog();
    await send(log, "r1", "react");
    await send(log, "r2", "tot");
    await send(log, "r3", "react");
    const onOtherAgent = vi.fn<(name: string) => void>();
    await using holder = hold(log, () => ({ text: "Hello." }), { onOtherAgent });
    await holder.ready;
    await holder.idle();
    expect(await Promise.all(["r1", "r2", "r3"].map((runId) => statusOf(log, runId)))).toEqual([
      "completed",
      undefined,
      undefined,
    ]);
    expect(onOtherAgent.mock.calls).toEqual([["tot"]]);
  });

  test("does not take over an unfinished run of another agent", async () => {
    const log = new MemoryLog();
    const other = await openSession(log, "s");
    await other.startRun({ runId: "r", message: "hi", agent: "tot" });
    await using holder = hold(log, []);
    await holder.ready;
    await other.close({ run: "leave" });
    await expect(holder.finished).rejects.toMatchObject({
      message: "the unfinished run of this session uses the agent `tot`, not `react`",
      hint: "add `--agent tot`, or cancel it with `loom cancel s`",
    });
    expect(await statusOf(log, "r")).toBe("live");
  });

  test.each([false, true])("leaves a run that needs a missing tool, also if it was allowed: %s", async (isAllowed) => {
    const log = new MemoryLog();
    const call = await leaveCall(log);
    const body = { run_id: "r", call_id: call?.call_id ?? "", digest: call?.digest ?? "", decision: "approved" };
    const decide = async () => sendCommand(log, { commandId: "d", sessionId: "s", kind: "approve", body });
    if (isAllowed) await decide();
    await using holder = hold(log, []);
    await holder.ready;
    expect([holder.isHolding, holder.missingTools]).toEqual([false, ["write_file"]]);
    // A decision of another process does not end the run, and a cancel frees the session.
    if (!isAllowed) await decide();
    expect(await statusOf(log, "r")).toBe("live");
    await sendCommand(log, { commandId: "x", sessionId: "s", kind: "cancel", body: { run_id: "r" } });
    await vi.waitFor(() => expect(holder.isHolding).toBe(true), { timeout: 5000 });
    expect(holder.missingTools).toEqual([]);
  });

  test.runIf(LONG)("leaves such a run also if its process leaves just before the session is opened", async () => {
    const log = new MemoryLog();
    await leaveCall(log);
    const getSession = log.getSession.bind(log);
    let held = 3;
    log.getSession = async (sessionId) => {
      const info = await getSession(sessionId);
      return info === undefined || held-- <= 0 ? info : { ...info, holder: "other" };
    };
    await using holder = hold(log, []);
    await vi.waitFor(() => expect(holder.missingTools).toEqual(["write_file"]), { timeout: 5000 });
    expect(await statusOf(log, "r")).toBe("live");
  });

  test("rejects if the store failed", async () => {
    const log = new MemoryLog();
    await log.close();
    await using holder = hold(log, []);
    await expect(holder.ready).rejects.toMatchObject({ code: "store_closed" });
    await expect(holder.finished).rejects.toMatchObject({ code: "store_closed" });
  });
});
