import { describe, expect, test, vi } from "vitest";
import { agent } from "../../agents/index.ts";
import { openSession } from "../../engine/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { type Script, ScriptedModel } from "../../models/testing.ts";
import { SessionHolder } from "./session-holder.ts";

function hold(log: Log, script: Script, onHeld: () => void = () => undefined): SessionHolder {
  const model = new ScriptedModel(script);
  return new SessionHolder({ log, sessionId: "s", agent: agent({ model }), onError: () => undefined, onHeld });
}

async function send(log: Log, runId: string): Promise<void> {
  await log.createSession("s");
  const body = { run_id: runId, message: "hi" };
  await log.submit({ commandId: runId, sessionId: "s", kind: "enqueue", body });
}

const statusOf = async (log: Log, runId: string) => (await log.getRun("s", runId))?.status;

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
    await using holder = hold(log, [{ text: "Hello." }], onHeld);
    await holder.ready;
    expect(await statusOf(log, "r")).toBeUndefined();
    expect(holder.isHolding).toBe(false);
    // A holder that is released before it could wait does not fail.
    await hold(log, [])[Symbol.asyncDispose]();
    await other.close();
    await vi.waitFor(async () => expect(await statusOf(log, "r")).toBe("completed"), { timeout: 5000 });
    expect(onHeld).toHaveBeenCalledOnce();
    expect(holder.isHolding).toBe(true);
    expect(holder.findMissing(["calculator"])).toEqual(["calculator"]);
  });

  test("rejects if the store failed", async () => {
    const log = new MemoryLog();
    await log.close();
    await using holder = hold(log, []);
    await expect(holder.ready).rejects.toMatchObject({ code: "store_closed" });
    await expect(holder.finished).rejects.toMatchObject({ code: "store_closed" });
  });
});
