// The attack: one token forks a large session many times at once. Other writers of the store must not wait for whole
// copies, and the memory must not grow with the number of forks.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { agent } from "../../src/agents/index.ts";
import { openSqliteLog } from "../../src/log/index.ts";
import type { AnyEvent } from "../../src/protocol/index.ts";
import { openCredentials } from "../../src/server/auth/credentials/open-credentials.ts";
import { createLoomHandler } from "../../src/server/loom-handler.ts";
import { LONG, FORK_SAMPLES } from "../sampling.ts";
import { overrideLog, writeRecords } from "../log-sessions.ts";
import { SERVER_ORIGIN } from "./auth-fixture.ts";

const RECORD_BYTES = 10_000;

/** Memory of this thread. Other tests run in the same process, so its total says nothing. */
function measureMemory(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

it.runIf(LONG)(
  "copies in pieces, a few forks at a time, while others write",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "forks-"));
    const store = await openSqliteLog(join(folder, "loom.db"));
    const credentials = openCredentials(":memory:");
    let going = 0;
    let mostGoing = 0;
    let largestPiece = 0;
    const log = overrideLog(store, (own) => ({
      async createSession(sessionId, options = {}) {
        const { entries } = options;
        if (entries === undefined || !(Symbol.asyncIterator in entries)) return own.createSession(sessionId, options);
        const measured = async function* () {
          for await (const piece of entries) {
            largestPiece = Math.max(
              largestPiece,
              piece.reduce((sum, { text }) => sum + text.length, 0),
            );
            yield piece;
          }
        };
        mostGoing = Math.max(mostGoing, ++going);
        return own.createSession(sessionId, { ...options, entries: measured() }).finally(() => going--);
      },
    }));
    const handler = createLoomHandler({
      log,
      agents: { main: agent({ provider: "offline" }) },
      auth: { credentials },
    });
    onTestFinished(async () => {
      await handler.close({ graceMs: 0 });
      await credentials.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const { secret } = await credentials.createToken({ name: "mallory", owner: "mallory" });
    await store.createSession("big", { owner: "mallory" });
    const count = Math.ceil(FORK_SAMPLES.sessionBytes / RECORD_BYTES);
    const text = "x".repeat(RECORD_BYTES);
    const chunks = Array.from({ length: count }, () => ({ type: "message_chunk", content: text, id: "m" }) as const);
    const events: AnyEvent[] = [{ type: "run_start", run_id: "r" }, ...chunks, { type: "reply", reply: "done" }];
    await writeRecords(
      store,
      events.map((event, index) => ({
        envelope: { session_id: "big", run_id: "r", event_id: index + 1, ts: 1 },
        event,
      })),
      100,
    );
    const lease = await store.acquire("small", { holder: "writer", ttlMs: 600_000 });
    const before = measureMemory();
    let peak = before;
    const done = new AbortController();
    const fork = () =>
      handler.fetch(
        new Request(`${SERVER_ORIGIN}/v1/sessions/big/fork`, {
          method: "POST",
          headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
          body: "{}",
        }),
      );
    const forks = Promise.all(Array.from({ length: FORK_SAMPLES.forks }, fork)).finally(() => done.abort());
    let appends = 0;
    while (!done.signal.aborted) {
      await store.renew(lease, 600_000);
      appends++;
      peak = Math.max(peak, measureMemory());
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(new Set((await forks).map(({ status }) => status))).toEqual(new Set([201]));
    expect(mostGoing).toBe(2);
    expect(largestPiece).toBeLessThan(2 * 1024 * 1024);
    // Each piece is a transaction, so others write between any two.
    expect(appends).toBeGreaterThan((FORK_SAMPLES.forks * FORK_SAMPLES.sessionBytes) / (8 * 1024 * 1024));
    expect(peak - before).toBeLessThan(FORK_SAMPLES.maxMemoryBytes);
  },
  FORK_SAMPLES.timeoutMs,
);
