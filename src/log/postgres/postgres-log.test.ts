// Runs the log contract for the log in PostgreSQL, on a real server.
import { afterAll, beforeAll, describe } from "vitest";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../../test/postgres-server.ts";
import { describeLog } from "../log.contract.ts";
import type { Log } from "../log.ts";
import { openPostgresLog } from "./postgres-log.ts";
import type { PostgresLogOptions } from "./postgres-log-options.ts";

const LONG = process.env["LOOM_LONG"] === "1";

describe.skipIf(NO_POSTGRES !== undefined)("PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  /** How each log was opened, to open it again. */
  const origins = new WeakMap<Log, PostgresLogOptions>();
  let count = 0;
  const open = async (options: PostgresLogOptions): Promise<Log> => {
    const log = await openPostgresLog(server.url, { maxConnections: 4, pollMs: 200, ...options });
    origins.set(log, options);
    return log;
  };

  describeLog(
    "postgres",
    {
      // Each log has its own schema.
      open: async (options) => open({ ...options, schema: `log_${++count}` }),
      reopen: async (log) => {
        await log.close();
        return open(origins.get(log) ?? {});
      },
      second: async (log) => open(origins.get(log) ?? {}),
      isShared: !LONG,
      seesProcesses: false,
    },
    { numRuns: LONG ? 300 : 5 },
  );
});
