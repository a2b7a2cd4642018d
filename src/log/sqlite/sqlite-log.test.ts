import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
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
