// Writers are killed at random points, many times on the same store. All acknowledged and all followed records exist,
// IDs have no gap, and every record is the expected one.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openSqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import { findHighestIds, startChild } from "./child.ts";
import { verifyKnownRecords } from "./known-records.ts";
import { LONG, sampleCases } from "../sampling.ts";

const ROUNDS = LONG ? 500 : 3;
const SESSIONS = ["a", "b", "c"];

const folder = mkdtempSync(join(tmpdir(), "loom-kill-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a killed writer", () => {
  // Concurrent, because a round mostly waits for a process to start.
  it.concurrent.each(sampleCases([1, 2]))(
    `loses nothing in ${ROUNDS} rounds, store %i`,
    { timeout: 1_200_000 },
    async (store) => {
      const path = join(folder, `${store}.db`);
      const proven = new Map(SESSIONS.map((session) => [session, 0]));
      let acknowledged = 0;
      for (let round = 1; round <= ROUNDS; round++) {
        const child = startChild("write-child.ts", [path, SESSIONS.join(","), "1000000", String(round * 7 + store)]);
        // Kill some processes during startup, most during writes.
        if (round % 8 !== 0) await child.next("ack");
        await new Promise((resolve) => setTimeout(resolve, Math.random() * (round % 8 === 0 ? 300 : 40)));
        child.process.kill("SIGKILL");
        await child.ended;
        const acks = findHighestIds(child.lines, "ack");
        const seen = findHighestIds(child.lines, "seen");
        acknowledged += acks.size;
        const log = await openSqliteLog(path);
        for (const [session, from] of proven) {
          if ((await log.getSession(session)) === undefined) continue;
          const last = await verifyKnownRecords(log, session, from);
          expect(last, `session ${session}, round ${round}`).toBeGreaterThanOrEqual(acks.get(session) ?? from);
          expect(last, `session ${session}, round ${round}`).toBeGreaterThanOrEqual(seen.get(session) ?? from);
          proven.set(session, last);
        }
        await log.close();
      }
      const log = await openSqliteLog(path);
      for (const session of SESSIONS) expect(await verifyKnownRecords(log, session)).toBe(proven.get(session));
      await log.close();
      // Each writer that was not killed during startup has acknowledged something, at least in one session.
      expect(acknowledged).toBeGreaterThanOrEqual(ROUNDS - Math.floor(ROUNDS / 8));
    },
  );
});
