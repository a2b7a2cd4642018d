// Tool calls that the client carries out, on servers that are killed with SIGKILL while their run waits.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openSqliteLog } from "../../src/log/index.ts";
import { expectValid } from "../contracts/sender.ts";
import { eventsOf } from "../agents/agent-fixture.ts";
import { type Child, startChild } from "../durability/child.ts";
import { LONG } from "../sampling.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-client-tools-"));
const children: Child[] = [];
afterAll(async () => {
  await Promise.allSettled(children.map(kill));
  rmSync(folder, { recursive: true, force: true });
});

async function kill({ process, ended }: Child): Promise<void> {
  process.kill("SIGKILL");
  await ended;
}

const store = join(folder, "log.db");
const POLL = { timeout: 60_000, interval: 50 };

async function serve() {
  const child = startChild("../server/client-tool-child.ts", [store]);
  children.push(child);
  const url = (await child.next("listening"))?.split(" ")[1] ?? "";
  const request = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${url}/v1/sessions/${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return response.json();
  };
  return { child, request };
}

it.runIf(LONG)(
  "waits on in another process, hands the call over once and uses the result once",
  async () => {
    const log = await openSqliteLog(store);
    const first = await serve();
    const client_tools = [{ name: "locate", description: "Returns the city that the user is in." }];
    const waiting = { calls: [{ call_id: "call-1", run_id: "r", name: "locate" }] };
    for (const session of ["stored", "sent"]) {
      await first.request("POST", `${session}/runs`, { message: "Where am I?", run_id: "r", client_tools });
      await expect.poll(() => first.request("GET", `${session}/calls`), POLL).toMatchObject(waiting);
    }
    await kill(first.child);

    // No process has the agent: the result is stored, and the next server uses it.
    const body = { run_id: "r", call_id: "call-1", output: "Lisbon" };
    await log.submit({ commandId: "one", sessionId: "stored", kind: "tool_result", body });
    const second = await serve();
    expect(await second.request("GET", "sent/calls")).toMatchObject(waiting);
    expect(await second.request("POST", "sent/calls/call-1/result", { output: { city: "Porto" } })).toMatchObject({
      type: "ack",
    });
    for (const [session, result, reply] of [
      ["stored", "Lisbon", "You are in Lisbon."],
      ["sent", '{"city":"Porto"}', "You are in Porto."],
    ] as const) {
      await expect.poll(async () => (await log.getRun(session, "r"))?.status, POLL).toBe("completed");
      const late = { run_id: "r", output: "Faro" };
      expect(await second.request("POST", `${session}/calls/call-1/result`, late)).toMatchObject({
        code: expect.stringMatching(/already_answered|run_ended/) as string,
      });
      const records = await expectValid(log, session);
      expect(eventsOf(records, "tool_start")).toHaveLength(1);
      expect(eventsOf(records, "tool_end")).toMatchObject([{ result, is_error: false }]);
      expect(eventsOf(records, "reply")).toEqual([{ type: "reply", reply }]);
      // Waiting is not an attempt that failed.
      expect(eventsOf(records, "error")).toEqual([]);
    }
    await log.close();
  },
  120_000,
);
