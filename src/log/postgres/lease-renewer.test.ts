// Renewal of many leases at once, on a real server.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../../../test/postgres-server.ts";
import { openPostgres, type PostgresDatabase } from "../../postgres/postgres-database.ts";
import type { Lease, Log } from "../log.ts";
import { LeaseRenewer } from "./lease-renewer.ts";
import { openPostgresLog } from "./postgres-log.ts";

const NOON = 1_700_000_000_000;
const NAMES = Array.from({ length: 30 }, (_, index) => `é"\\{},${index}`);

describe.skipIf(NO_POSTGRES !== undefined)("leases in PostgreSQL", () => {
  let server: PostgresServer;
  let db: PostgresDatabase;
  let log: Log;
  let now = NOON;
  beforeAll(async () => {
    server = await startPostgres();
    db = await openPostgres(server.url, { maxConnections: 6 });
    log = await openPostgresLog(db, { now: () => now });
  });
  afterAll(async () => {
    await log.close();
    await db.close();
    await server.stop();
  });

  const acquireAll = (): Promise<readonly Lease[]> =>
    Promise.all(NAMES.map((name) => log.acquire(name, { holder: "h", ttlMs: 1000, takeover: true })));

  test("are renewed together, with one statement", async () => {
    const leases = await acquireAll();
    now += 500;
    const write = vi.spyOn(db, "write");
    const renewed = await Promise.all(leases.map((lease, index) => log.renew(lease, 1000 + index)));
    expect(write.mock.calls.filter(([sql]) => sql.includes("SET expires_at"))).toHaveLength(1);
    write.mockRestore();
    expect(renewed).toEqual(
      leases.map(({ sessionId, epoch, incarnation, lastId }, index) => {
        return { sessionId, epoch, incarnation, lastId, expiresAt: now + 1000 + index };
      }),
    );
    now += 999;
    for (const name of NAMES.slice(0, 2))
      await expect(log.acquire(name, { holder: "b", ttlMs: 1 })).rejects.toMatchObject({ code: "lease_held" });
  });

  test("that are lost do not affect the others", async () => {
    const leases = await acquireAll();
    const [fenced, deleted, released, odd] = leases as [Lease, Lease, Lease, Lease];
    await log.acquire(fenced.sessionId, { holder: "b", ttlMs: 1000, takeover: true });
    await log.deleteSession(deleted.sessionId);
    await log.release(released);
    const asked = leases.map((lease) => (lease === odd ? { ...odd, epoch: Number.NaN } : lease));
    const results = await Promise.allSettled(asked.map((lease) => log.renew(lease, 1000)));
    const codes = results.map((result) =>
      result.status === "fulfilled" ? "renewed" : (result.reason as { readonly code: string }).code,
    );
    expect(codes.slice(0, 4)).toEqual(["fenced", "unknown_session", "fenced", "fenced"]);
    expect(new Set(codes.slice(4))).toEqual(new Set(["renewed"]));
  });

  test("do not wait for a session that another transaction is changing", async () => {
    const leases = await acquireAll();
    const [locked, ...others] = leases as [Lease, ...Lease[]];
    const [isLocked, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const change = db.transact(async ({ query }) => {
      await query("SELECT 1 FROM @.sessions WHERE epoch = $1 FOR UPDATE", [locked.epoch]);
      isLocked.resolve();
      await mayEnd.promise;
    });
    await isLocked.promise;
    const renewer = new LeaseRenewer(db);
    let isRenewed = false;
    const waiting = renewer.renew(locked, 1000).then((lease) => {
      isRenewed = true;
      return lease;
    });
    await Promise.all(others.map((lease) => renewer.renew(lease, 1000)));
    expect(isRenewed).toBe(false);
    mayEnd.resolve();
    await change;
    expect(await waiting).toMatchObject({ epoch: locked.epoch });
  });

  test("fail together if the database is not available", async () => {
    const away = await openPostgres("postgres://127.0.0.1:1/none", { waitMs: 0 });
    const renewer = new LeaseRenewer(away);
    const lease = { sessionId: "s", epoch: 1, incarnation: "i", lastId: 0, expiresAt: 0 };
    const results = await Promise.allSettled([1, 2, 3].map((epoch) => renewer.renew({ ...lease, epoch }, 1000)));
    expect(results).toMatchObject(results.map(() => ({ reason: { code: "store_unavailable" } })));
    await away.close();
  });
});
