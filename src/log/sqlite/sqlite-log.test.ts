import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createEntry } from "../entry.ts";
import { describeLog } from "../log.contract.ts";
import type { Log } from "../log.ts";
import { openSqliteLog, type SqliteLogOptions } from "./sqlite-log.ts";

const folder = mkdtempSync(join(tmpdir(), "loom-log-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** How each log was opened, to open its store again. */
const origins = new WeakMap<Log, { readonly path: string; readonly options: SqliteLogOptions }>();
let count = 0;

async function open(path: string, options: SqliteLogOptions): Promise<Log> {
  const log = await openSqliteLog(path, { ...options, pollMs: 2 });
  origins.set(log, { path, options });
  return log;
}

function originOf(log: Log): { readonly path: string; readonly options: SqliteLogOptions } {
  const origin = origins.get(log);
  if (origin === undefined) throw new Error("a log this test did not open");
  return origin;
}

describeLog(
  "sqlite",
  {
    open: async (options) => open(join(folder, `${++count}.db`), options),
    reopen: async (log) => {
      await log.close();
      const { path, options } = originOf(log);
      return open(path, options);
    },
    second: async (log) => {
      const { path, options } = originOf(log);
      return open(path, options);
    },
  },
  { numRuns: 50 },
);

test("what waits for the disk is bounded: more is refused by name, and nothing else suffers", async () => {
  const log = await openSqliteLog(join(folder, "queue.db"), { maxQueueBytes: 10_000 });
  const { epoch } = await log.acquire("s", { holder: "h", ttlMs: 60_000 });
  const append = (after: number) => {
    const envelope = { session_id: "s", event_id: after + 1 };
    const entries = [createEntry({ envelope, event: { type: "custom", value: "x".repeat(1000) } })];
    return log.append({ sessionId: "s", epoch, expectedLastId: after, entries });
  };
  const outcomes = await Promise.allSettled(Array.from({ length: 12 }, (_, index) => append(index)));
  const refused = outcomes.filter(({ status }) => status === "rejected");
  expect(refused.length).toBeGreaterThan(0);
  for (const outcome of refused) expect(outcome).toMatchObject({ reason: { code: "backlog_full" } });
  const last = (await log.getSession("s"))?.lastId ?? 0;
  expect(last).toBe(outcomes.length - refused.length);
  await append(last);
  await log.close();
});
