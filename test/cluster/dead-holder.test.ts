/**
 * A process that is killed loses its sessions within seconds, although its leases last longer. One that is blocked, slow
 * or connects again keeps them.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openPostgresLog, type PostgresLog } from "../../src/log/postgres/postgres-log.ts";
import { ProcessWatch } from "../../src/log/postgres/process-watch.ts";
import { openPostgres } from "../../src/postgres/postgres-database.ts";
import { startChild } from "../durability/child.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../postgres-server.ts";
import { startTcpProxy } from "../tcp-proxy.ts";

/** Longer than it takes to find a process that has ended. */
const LONG_MS = 4000;

describe.skipIf(NO_POSTGRES !== undefined)("a process with a live run in PostgreSQL", { timeout: 60_000 }, () => {
  let database: PostgresServer;
  let log: PostgresLog;

  beforeAll(async () => {
    database = await startPostgres();
    log = await openPostgresLog(database.url);
  }, 60_000);

  afterAll(async () => {
    await log.close();
    await database.stop();
  });

  /** Starts a process that holds the session, and waits until this one can know the connection of the other. */
  async function startHolder(session: string) {
    const link = await startTcpProxy(database.port);
    const linked = new URL(database.url);
    linked.port = String(link.port);
    const url = session === "deaf" ? database.url : linked.href;
    const child = startChild("../cluster/holder-child.ts", [url, session, linked.href]);
    onTestFinished(async () => {
      child.process.kill("SIGKILL");
      await child.ended;
      await link.close();
    });
    expect(await child.next("held")).toBe("held");
    // It says so before it listens.
    await pause(500);
    return { child, link };
  }

  const isHeld = async (session: string): Promise<boolean> => (await log.getSession(session))?.holder !== undefined;

  /** Checks for a while that the session is not free. */
  async function expectHeld(session: string, ms: number): Promise<void> {
    for (const end = performance.now() + ms; performance.now() < end; await pause(100)) {
      expect(await isHeld(session)).toBe(true);
      expect(await log.listOrphans()).not.toContain(session);
    }
  }

  test("loses it if it is killed", async ({ annotate }) => {
    const { child } = await startHolder("killed");
    const { promise, resolve } = Promise.withResolvers<void>();
    onTestFinished(
      log.watchOrphans(() => {
        void log.listOrphans().then((orphans) => orphans.includes("killed") && resolve());
      }),
    );
    await expectHeld("killed", 1000);
    const killed = performance.now();
    child.process.kill("SIGKILL");
    await promise;
    await annotate(`free ${Math.round(performance.now() - killed)} ms after the kill`);
    expect(await isHeld("killed")).toBe(false);
    const { liveRuns } = await log.acquire("killed", { holder: "other", ttlMs: 10_000 });
    expect(liveRuns).toHaveLength(1);
  });

  test.concurrent.each([
    ["its event loop is blocked for 5 seconds", "blocked"],
    ["it is stopped for 4 seconds", "stopped"],
    ["its database answers after 2 seconds", "slow"],
    ["its connections are closed", "closed"],
    ["only the connection that listens is lost", "deaf"],
  ])("keeps it if %s", async (_, session) => {
    const { child, link } = await startHolder(session);
    if (session === "blocked") child.process.stdin?.write("block 5000\n");
    else if (session === "stopped") child.process.kill("SIGSTOP");
    else if (session === "slow") link.setDelay(1000);
    else link.setUp(false);
    if (session === "closed") link.setUp(true);
    await expectHeld(session, session === "blocked" ? 5500 : LONG_MS);
    child.process.kill("SIGCONT");
    link.setDelay(0);
    await pause(500);
    expect(child.lines).not.toContain("lost");
  });

  test("is not known by a connection of a pooler, which may close it at any time", async () => {
    const db = await openPostgres(database.url);
    const client = await db.connectListener();
    onTestFinished(async () => {
      await client.end();
      await db.close();
    });
    const watch = new ProcessWatch(db, () => undefined);
    const countNoted = async (): Promise<number> => {
      const { rows } = await client.query<{ pid: number }>(
        "SELECT pid FROM loom.processes WHERE pid = pg_backend_pid()",
      );
      return rows.length;
    };
    const { processID } = client as typeof client & { processID: number };
    // A pooler invents this number.
    Object.assign(client, { processID: processID + 1 });
    await watch.note(client);
    expect(await countNoted()).toBe(0);
    Object.assign(client, { processID });
    await watch.note(client);
    expect(await countNoted()).toBe(1);
  });

  test("is known again after the database was killed", async () => {
    const { child } = await startHolder("restarted");
    await database.kill();
    await database.restart();
    await expect.poll(() => isHeld("restarted")).toBe(true);
    await expectHeld("restarted", LONG_MS);
    expect(child.lines).not.toContain("lost");
  });
});
