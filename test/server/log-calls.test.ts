// Bounds the log calls from a request that starts a run to the append of its first record, and to the response.
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { createLog } from "../contracts/sender.ts";
import type { Log } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { createLoomHandler } from "../../src/server/loom-handler.ts";

/** Includes the append. */
const MAX_CALLS_TO_APPEND = 8;
const MAX_CALLS_TO_RESPONSE = { "application/json": 20, "text/event-stream": 30 } as const;

type Accept = keyof typeof MAX_CALLS_TO_RESPONSE;

/** Returns the log with a list of the names of all calls. */
function recordCalls(log: Log): { readonly log: Log; readonly calls: string[] } {
  const calls: string[] = [];
  const recorded = new Proxy(log, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...given: readonly unknown[]): unknown => {
        calls.push(String(name));
        return Reflect.apply(value, target, given);
      };
    },
  });
  return { log: recorded, calls };
}

/** A server with authentication, whose model answers when `gate` resolves. */
async function createFixture(lingerMs: number) {
  const { log, calls } = recordCalls(await createLog());
  const credentials = openCredentials(":memory:");
  const { secret } = await credentials.createToken({ name: "me", owner: "ann" });
  let gate = Promise.resolve();
  const model = new ScriptedModel(async () => {
    await gate;
    return { text: "Hello." };
  });
  const handler = createLoomHandler({
    log,
    agents: { main: agent({ model }) },
    auth: { credentials },
    runs: { lingerMs },
  });
  onTestFinished(async () => {
    await handler.close({ graceMs: 0 });
    await credentials.close();
  });
  await handler.ready;
  /** Sends a message, and returns the calls until the append and until the response. */
  const send = async (accept: Accept) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    await untilQuiet(calls);
    calls.length = 0;
    const headers = { accept, "content-type": "application/json", authorization: `Bearer ${secret}` };
    const body = JSON.stringify({ message: "Hello" });
    const response = await handler.fetch(
      new Request("http://localhost/v1/sessions/s/runs", { method: "POST", headers, body }),
    );
    const toResponse = [...calls];
    resolve();
    expect([response.status, (await response.text()) !== ""]).toEqual([
      accept === "application/json" ? 202 : 200,
      true,
    ]);
    return { toAppend: toResponse.slice(0, toResponse.indexOf("append") + 1), toResponse };
  };
  return { log, send };
}

/** Resolves when nothing uses the log: the last run has ended, and its readers have read it. */
async function untilQuiet(calls: readonly string[]): Promise<void> {
  for (let seen = -1; seen !== calls.length; await pause(100)) seen = calls.length;
}

function check(sent: { readonly toAppend: readonly string[]; readonly toResponse: readonly string[] }, accept: Accept) {
  const { toAppend, toResponse } = sent;
  expect(toAppend.length, `calls to the append: ${toAppend.join(", ")}`).toBeGreaterThan(0);
  expect(toAppend.length, `calls to the append: ${toAppend.join(", ")}`).toBeLessThanOrEqual(MAX_CALLS_TO_APPEND);
  const repeated = toAppend.filter((name, index) => toAppend.indexOf(name) !== index);
  expect(repeated, `calls to the append: ${toAppend.join(", ")}`).toEqual([]);
  expect(toResponse.length, `calls to the response: ${toResponse.join(", ")}`).toBeLessThanOrEqual(
    MAX_CALLS_TO_RESPONSE[accept],
  );
}

describe.each(["application/json", "text/event-stream"] as const)("a message, answered as %s", (accept) => {
  test("needs few log calls in a new session", async () => {
    const { send } = await createFixture(20);
    check(await send(accept), accept);
  });

  test("needs few log calls in a session that no process holds", async () => {
    const { log, send } = await createFixture(20);
    await send("application/json");
    await expect.poll(async () => (await log.getSession("s"))?.holder).toBeUndefined();
    check(await send(accept), accept);
  });

  test("needs few log calls in a session that this process holds", async () => {
    const { log, send } = await createFixture(60_000);
    await send("application/json");
    await expect.poll(async () => (await log.listRuns("s"))[0]?.status).toBe("completed");
    check(await send(accept), accept);
  });
});
