import { describe, expect, test, vi } from "vitest";
import { agent } from "../../agents/index.ts";
import { openSession } from "../../engine/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { type Script, ScriptedModel } from "../../models/testing.ts";
import { SessionKeeper } from "./session-keeper.ts";

function keep(log: Log, script: Script, onHeld: () => void = () => undefined): SessionKeeper {
  const model = new ScriptedModel(script);
  return new SessionKeeper({ log, sessionId: "s", agent: agent({ model }), onError: () => undefined, onHeld });
}

async function send(log: Log, runId: string): Promise<void> {
  await log.createSession("s");
  const body = { run_id: runId, message: "hi" };
  await log.submit({ commandId: runId, sessionId: "s", kind: "enqueue", body });
}

const statusOf = async (log: Log, runId: string) => (await log.getRun("s", runId))?.status;

describe("SessionKeeper", () => {
  test("carries out what waits, and is idle when it has", async () => {
    const log = new MemoryLog();
    await send(log, "r1");
    await send(log, "r2");
    await using keeper = keep(log, () => ({ text: "Hello." }));
    await keeper.ready;
    await keeper.idle();
    expect(await Promise.all(["r1", "r2"].map((runId) => statusOf(log, runId)))).toEqual(["completed", "completed"]);
  });

  test("leaves a live run to whoever holds the session next", async () => {
    const log = new MemoryLog();
    await send(log, "r");
    {
      await using keeper = keep(log, [{ fault: { kind: "stall" } }]);
      await keeper.ready;
      await vi.waitFor(async () => expect((await log.listLandmarks("s", "checkpoint")).length).toBeGreaterThan(0));
    }
    expect(await statusOf(log, "r")).toBe("live");
    await using next = keep(log, [{ text: "Hello." }]);
    await next.ready;
    await next.idle();
    expect(await statusOf(log, "r")).toBe("completed");
  });

  test("takes over when another holder has let go, and is told once that there was one", async () => {
    const log = new MemoryLog();
    const other = await openSession(log, "s");
    await send(log, "r");
    const onHeld = vi.fn<() => void>();
    await using keeper = keep(log, [{ text: "Hello." }], onHeld);
    await keeper.ready;
    expect(await statusOf(log, "r")).toBeUndefined();
    expect(keeper.isHolding).toBe(false);
    await other.close();
    await vi.waitFor(async () => expect(await statusOf(log, "r")).toBe("completed"), { timeout: 5000 });
    expect(onHeld).toHaveBeenCalledOnce();
    expect(keeper.isHolding).toBe(true);
    expect(keeper.findMissing(["calculator"])).toEqual(["calculator"]);
  });

  test("says that the store has failed", async () => {
    const log = new MemoryLog();
    await log.close();
    await using keeper = keep(log, []);
    await expect(keeper.ready).rejects.toMatchObject({ code: "store_closed" });
    await expect(keeper.going).rejects.toMatchObject({ code: "store_closed" });
  });
});
