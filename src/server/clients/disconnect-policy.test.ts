import { describe, expect, it, onTestFinished, vi } from "vitest";
import { agent } from "../../agents/index.ts";
import { type Log, MemoryLog } from "../../log/index.ts";
import { ScriptedModel } from "../../models/testing.ts";
import { LoomError } from "../../protocol/index.ts";
import { createServerFixture, readSse } from "../../../test/server/server-fixture.ts";
import { startLoomServer } from "../loom-server.ts";

const say = (signal?: AbortSignal): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ session_id: "s", content: "Hi" }),
  ...(signal === undefined ? {} : { signal }),
});

async function findStatus(log: Log): Promise<string | undefined> {
  return (await log.listRuns("s", { limit: 1 }))[0]?.status;
}

async function startServer() {
  const gate = Promise.withResolvers<void>();
  const log = new MemoryLog();
  const agents = { main: agent({ model: new ScriptedModel([{ text: "Slowly.", until: gate.promise }]) }) };
  const server = await startLoomServer({ log, agents, port: 0 });
  onTestFinished(() => server.close({ graceMs: 0 }));
  return { server, log, gate };
}

/** Starts a run, reads the first bytes of its stream and closes the connection. */
async function leave(url: string): Promise<void> {
  const leaver = new AbortController();
  const response = await fetch(url, say(leaver.signal));
  const reader = response.body?.getReader();
  await reader?.read();
  leaver.abort();
  await reader?.read().catch(() => undefined);
}

describe("on_disconnect", () => {
  it("cancels the run when the connection closes, if the client requests it", async () => {
    const { server, log } = await startServer();
    await leave(`${server.url}/api/chat?on_disconnect=cancel`);
    await vi.waitFor(async () => expect(await findStatus(log)).toBe("cancelled"), { timeout: 20_000 });
  });

  it("continues the run by default", async () => {
    const { server, log, gate } = await startServer();
    await leave(`${server.url}/api/chat`);
    gate.resolve();
    await vi.waitFor(async () => expect(await findStatus(log)).toBe("completed"), { timeout: 20_000 });
  });

  it("does not cancel a run whose stream was read to its end", async () => {
    const { fetch, log } = await createServerFixture({ script: [{ text: "Done." }] });
    await readSse(await fetch("/api/chat?on_disconnect=cancel", say()));
    expect(await findStatus(log)).toBe("completed");
    expect((await log.listPending("s")).length).toBe(0);
  });

  it("refuses a caller who may not cancel runs before the run starts", async () => {
    const authorize = ({ action }: { readonly action: string }): void => {
      if (action === "runs.control") throw new LoomError("forbidden", "Not allowed");
    };
    const { fetch, log } = await createServerFixture({ authorize });
    expect((await fetch("/api/chat?on_disconnect=cancel", say())).status).toBe(403);
    expect(await log.getSession("s")).toBeUndefined();
    expect((await fetch("/api/chat?on_disconnect=never", say())).status).toBe(400);
  });
});
