// The credential store in PostgreSQL, on a real server, with a database connection per handle as in two processes.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../../../test/postgres-server.ts";
import { sampleTests } from "../../../../test/sample-tests.ts";
import { startTcpProxy } from "../../../../test/tcp-proxy.ts";
import { openPostgres, type PostgresDatabase } from "../../../postgres/postgres-database.ts";
import { ANONYMOUS } from "../principal.ts";
import { testCredentials } from "../../../../test/contracts/credentials.ts";
import { openPostgresCredentials, type PostgresCredentialsOptions } from "./postgres-credentials.ts";

describe.skipIf(NO_POSTGRES !== undefined)("credentials in PostgreSQL", () => {
  let server: PostgresServer;
  let schemas = 0;
  const databases: PostgresDatabase[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterEach(async () => {
    for (const db of databases.splice(0)) await db.close();
  });
  afterAll(() => server.stop());

  const connect = async (schema: string): Promise<PostgresDatabase> => {
    const db = await openPostgres(server.url, { schema, maxConnections: 3, readWaitMs: 100, waitMs: 100 });
    databases.push(db);
    return db;
  };
  const openTwo = async (options: PostgresCredentialsOptions) => {
    const schema = `credentials_${++schemas}`;
    const dbs = [await connect(schema), await connect(schema)] as const;
    // Both create the tables at the same time.
    const [reader, writer] = await Promise.all(dbs.map((db) => openPostgresCredentials(db, options)));
    return { reader: reader!, writer: writer!, dbs };
  };

  describe("like those in a file", () => {
    sampleTests();
    testCredentials(async (options) => {
      const { reader, writer } = await openTwo({ ...options, maxStaleMs: 0 });
      return [reader, writer];
    });
  });

  it("fails soon while the database is away, also where it writes", async () => {
    const proxy = await startTcpProxy(server.port);
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
    const db = await openPostgres(url, { schema: `credentials_${++schemas}`, waitMs: 3_600_000, readWaitMs: 50 });
    databases.push(db);
    const credentials = await openPostgresCredentials(db, { maxStaleMs: 60_000 });
    const { secret } = await credentials.createToken({ name: "a" });
    const principal = (await credentials.find(secret)) ?? ANONYMOUS;
    proxy.setUp(false);
    const later = Date.now() + 600_000;
    // The time of the last use cannot be written, which does not matter.
    expect(await credentials.find(secret, later)).toEqual(principal);
    for (const written of [
      credentials.addSpent(principal.id, 10),
      credentials.createTicket(principal, { expiresAt: later }),
      credentials.createCookie(principal, later),
      credentials.revokeToken("a"),
    ])
      await expect(written).rejects.toMatchObject({ code: "store_unavailable" });
    await proxy.close();
  });

  it("lets a run wait for a database that is away, and no request with it", async () => {
    const proxy = await startTcpProxy(server.port);
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
    const db = await openPostgres(url, { schema: `credentials_${++schemas}`, readWaitMs: 50 });
    databases.push(db);
    // Every call is too late for the last check, and concurrent calls share one.
    const credentials = await openPostgresCredentials(db, { maxStaleMs: Number.MIN_VALUE });
    const { id } = (await credentials.find((await credentials.createToken({ name: "a" })).secret)) ?? ANONYMOUS;
    const unavailable: unknown = expect.objectContaining({ code: "store_unavailable" });
    const checkForRun = () => db.waitLonger(() => credentials.isNotRevoked(id));
    proxy.setUp(false);
    const first = checkForRun();
    const request = credentials.isNotRevoked(id);
    const second = checkForRun();
    await expect(request).rejects.toEqual(unavailable);
    proxy.setUp(true);
    expect(await Promise.all([first, second])).toEqual([true, true]);
    await proxy.close();
  });

  it("asks the database once for many checks, and sees a revocation in another process within its bound", async () => {
    const { reader, writer, dbs } = await openTwo({});
    const { secret } = await writer.createToken({ name: "a" });
    const principal = (await reader.find(secret)) ?? ANONYMOUS;
    const read = vi.spyOn(dbs[0], "read");
    const verdicts = await Promise.all(Array.from({ length: 1000 }, () => reader.isValid(principal)));
    expect([new Set(verdicts), read.mock.calls.length]).toEqual([new Set([true]), expect.toSatisfy((n) => n <= 1)]);
    await writer.revokeToken("a");
    expect(await writer.isValid(principal)).toBe(false);
    await expect.poll(() => reader.isValid(principal), { timeout: 20_000 }).toBe(false);
    expect(await reader.find(secret)).toBeUndefined();
  });

  it("keeps caches when a browser signs in", async () => {
    const { reader, writer, dbs } = await openTwo({ maxStaleMs: 0 });
    const me = (await reader.find((await writer.createToken({ name: "a" })).secret)) ?? ANONYMOUS;
    await writer.createCookie(me, Date.now() + 60_000);
    const read = vi.spyOn(dbs[0], "read");
    expect(await reader.isValid(me)).toBe(true);
    // Only whether something was revoked.
    expect(read).toHaveBeenCalledOnce();
  });

  it("accepts no credential without an answer of the database", async () => {
    const { reader, writer, dbs } = await openTwo({ maxStaleMs: 0 });
    const { secret } = await writer.createToken({ name: "a" });
    const principal = (await reader.find(secret)) ?? ANONYMOUS;
    await dbs[0].close();
    const failed = expect.objectContaining({ code: expect.stringMatching(/^store_/) as string }) as Error;
    await expect(reader.find(secret)).rejects.toThrow(failed);
    await expect(reader.isValid(principal)).rejects.toThrow(failed);
  });
});
