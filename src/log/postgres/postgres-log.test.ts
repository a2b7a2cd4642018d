// Runs the log contract for the log in PostgreSQL, on a real server.
import { afterAll, beforeAll, describe } from "vitest";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../../test/postgres-server.ts";
import { sampleTests } from "../../../test/sample-tests.ts";
import { LONG } from "../../../test/sampling.ts";
import { describeLog } from "../../../test/contracts/log/log.ts";
import type { Log } from "../log.ts";
import { openPostgres } from "../../postgres/postgres-database.ts";
import { openPostgresLog } from "./postgres-log.ts";
import type { PostgresLogOptions } from "../store-options.ts";

const TABLES = ["sessions", "records", "runs", "landmarks", "commands", "snapshots", "texts", "carried"] as const;

describe.skipIf(NO_POSTGRES !== undefined)("PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());
  sampleTests();

  /** How each log was opened, to open it again. */
  const origins = new WeakMap<Log, PostgresLogOptions & { readonly schema: string }>();
  /** Number of open logs in each schema. One without is emptied and used again, because its tables take long to create. */
  const users = new Map<string, number>();
  const open = async (options: PostgresLogOptions & { readonly schema: string }): Promise<Log> => {
    const { schema } = options;
    users.set(schema, (users.get(schema) ?? 0) + 1);
    const log = await openPostgresLog(server.url, {
      maxConnections: 4,
      pollMs: 200,
      searchTimeoutMs: 60_000,
      ...options,
    });
    origins.set(log, options);
    const close = log.close.bind(log);
    let closing: Promise<void> | undefined;
    log.close = () => (closing ??= close().then(() => void users.set(schema, (users.get(schema) ?? 0) - 1)));
    return log;
  };
  const openEmpty = async (options: PostgresLogOptions): Promise<Log> => {
    const [unused] = [...users].find(([, count]) => count === 0) ?? [];
    const schema = unused ?? `log_${users.size + 1}`;
    const log = await open({ ...options, schema });
    if (unused !== undefined) {
      const database = await openPostgres(server.url, { schema, maxConnections: 1 });
      await database.write(TABLES.map((table) => `DELETE FROM @.${table}`).join("; "), []);
      await database.close();
    }
    return log;
  };
  const originOf = (log: Log): PostgresLogOptions & { readonly schema: string } => {
    const origin = origins.get(log);
    if (origin === undefined) throw new Error("the log was not opened by this test");
    return origin;
  };

  describeLog(
    "postgres",
    {
      open: openEmpty,
      reopen: async (log) => {
        await log.close();
        return open(originOf(log));
      },
      second: async (log) => open(originOf(log)),
      isShared: !LONG,
      seesProcesses: false,
    },
    { numRuns: LONG ? 300 : 1 },
  );
});
