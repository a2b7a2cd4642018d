// Two processes on one store send messages of one principal at once: exactly as many as its limit are accepted.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLog } from "../../src/log/open-log.ts";
import { openPostgres } from "../../src/postgres/postgres-database.ts";
import { NO_POSTGRES, type PostgresServer, startPostgres } from "../postgres-server.ts";
import { LONG } from "../sampling.ts";
import { startChild } from "./child.ts";

const MESSAGES = 50;
const LIMIT = 20;
const ROUNDS = LONG ? 20 : 1;

async function expectLimit(store: string): Promise<void> {
  const log = await openLog(store);
  try {
    for (let round = 0; round < ROUNDS; round++) {
      // The messages create the other sessions.
      for (let at = 0; at < MESSAGES; at += 2) await log.createSession(`s${at}`);
      const half = MESSAGES / 2;
      const children = [0, half].map((first) =>
        startChild("run-limit-child.ts", [store, String(first), String(half), String(LIMIT)]),
      );
      await Promise.all(children.map((child) => child.next("ready")));
      for (const { process } of children) process.stdin?.write("go\n");
      await Promise.all([...children.map(({ ended }) => ended), log.prune({})]);
      const counts: Record<string, number> = {};
      for (const line of children.flatMap(({ lines }) => lines)) counts[line] = (counts[line] ?? 0) + 1;
      expect(counts).toEqual({ ready: 2, accepted: LIMIT, too_many_runs: MESSAGES - LIMIT });
      const active = await log.listActiveSessions({ limit: MESSAGES });
      expect(active.flatMap(({ queued }) => queued)).toHaveLength(LIMIT);
      for (const { sessionId } of await log.listSessions({ limit: MESSAGES })) await log.deleteSession(sessionId);
    }
  } finally {
    await log.close();
  }
}

describe("two processes that send messages of one principal", { timeout: 600_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "loom-run-limit-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("to a file keep its limit of runs", () => expectLimit(join(folder, "loom.db")));

  describe.skipIf(NO_POSTGRES !== undefined)("to a database", () => {
    let database: PostgresServer;
    beforeAll(async () => {
      database = await startPostgres();
    });
    afterAll(() => database.stop());

    it("keep its limit of runs, and pruning removes the principal", async () => {
      await expectLimit(database.url);
      const [log, db] = [await openLog(database.url), await openPostgres(database.url)];
      await log.prune({});
      expect(await db.read("SELECT actor FROM @.actors")).toEqual([]);
      await log.close();
      await db.close();
    });
  });
});
