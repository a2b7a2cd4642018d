// Rate counters in PostgreSQL, on a real server.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../../../test/postgres-server.ts";
import { startTcpProxy } from "../../../../test/tcp-proxy.ts";
import { openPostgres, type PostgresDatabase } from "../../../postgres/postgres-database.ts";
import { createPostgresRateCounters } from "./postgres-rates.ts";
import { testRateCounters } from "../../../../test/contracts/rate-counters.ts";
import type { RateCounters } from "./rates.ts";

describe.skipIf(NO_POSTGRES !== undefined)("rate counters in PostgreSQL", () => {
  let server: PostgresServer;
  let db: PostgresDatabase;
  beforeAll(async () => {
    server = await startPostgres();
    db = await openPostgres(server.url, { maxConnections: 3 });
  });
  afterAll(async () => {
    await db.close();
    await server.stop();
  });

  let stores = 0;
  testRateCounters(async (clock): Promise<RateCounters> => {
    const { take, count } = await createPostgresRateCounters(db, { now: () => clock.now });
    const name = `${++stores} `;
    return { take: (key, limit) => take(name + key, limit), count: (key, limit) => count(name + key, limit) };
  }, 5);

  it("share their limits between processes, by the clock of the database", async () => {
    const others = await openPostgres(server.url, { maxConnections: 3 });
    const all = await Promise.all([db, others].map((one) => createPostgresRateCounters(one)));
    const takes = Array.from({ length: 40 }, (_, at) => all[at % 2]!.take("shared", 1000));
    expect(new Set(await Promise.all(takes))).toEqual(new Set([0]));
    const counted = await Promise.all(Array.from({ length: 40 }, (_, at) => all[at % 2]!.count("a\0b", 20)));
    const refused = counted.filter((waitMs) => waitMs > 0);
    expect([counted.length - refused.length, refused.every((waitMs) => waitMs <= 60_000)]).toEqual([20, true]);
    await others.close();
  });

  it("fail soon while the database is away", async () => {
    const proxy = await startTcpProxy(server.port);
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
    const far = await openPostgres(url, { waitMs: 3_600_000, readWaitMs: 50 });
    const counters = await createPostgresRateCounters(far);
    proxy.setUp(false);
    for (const counted of [counters.take("a", 10), counters.count("a", 10)])
      await expect(counted).rejects.toMatchObject({ code: "store_unavailable" });
    await far.close();
    await proxy.close();
  });
});
