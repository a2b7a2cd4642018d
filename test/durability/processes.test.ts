// Several processes on one store: each writes a session while all are followed from outside; two compete for one
// session; and recovery ends the runs of a killed sender.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { recoverOrphans } from "../../src/engine/recover-orphans.ts";
import { createEntry } from "../../src/log/entry.ts";
import { followRecords } from "../../src/log/follow-records.ts";
import { openSqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import { Verifier } from "../../src/protocol/index.ts";
import { LONG } from "../sampling.ts";
import { startChild } from "./child.ts";
import { verifyKnownRecords, createKnownRecord } from "./known-records.ts";

const WRITERS = LONG ? 10 : 4;
const EVENTS = LONG ? 100_000 : 300;
const TAKEOVERS = LONG ? 300 : 4;
const KILLS = LONG ? 300 : 2;

const folder = mkdtempSync(join(tmpdir(), "loom-processes-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("processes on one store", () => {
  it(`${WRITERS} writers and followers lose none of ${WRITERS * EVENTS} events`, { timeout: 1_200_000 }, async () => {
    const path = join(folder, "ten.db");
    const log = await openSqliteLog(path);
    const sessions = Array.from({ length: WRITERS }, (_, index) => `s${index}`);
    for (const session of sessions) await log.createSession(session);
    const children = sessions.map((session, index) =>
      startChild("write-child.ts", [path, session, String(EVENTS), String(index + 1), "quiet"]),
    );
    const counts = sessions.map(async (session) => {
      let count = 0;
      for await (const page of followRecords(log, session, { after: 0, follow: true })) {
        for (const text of page.texts) {
          count++;
          if (text !== createEntry(createKnownRecord(session, count)).text)
            throw new Error(`${session} ${count}: ${text}`);
        }
        if (count >= EVENTS) break;
      }
      return count;
    });
    await Promise.all(children.map(({ ended }) => ended));
    expect(await Promise.all(counts)).toEqual(sessions.map(() => EVENTS));
    await log.close();
  });

  it.runIf(LONG)("of two competing writers, one is always fenced", { timeout: 600_000 }, async () => {
    const path = join(folder, "fight.db");
    const log = await openSqliteLog(path);
    await log.createSession("s");
    const writers = [1, 2].map(() => startChild("contend-child.ts", [path, "s"]));
    const countFenced = (): number[] => writers.map(({ lines }) => lines.filter((line) => line === "fenced").length);
    await expect.poll(() => Math.min(...countFenced()), { timeout: 500_000 }).toBeGreaterThanOrEqual(TAKEOVERS);
    for (const writer of writers) writer.process.stdin?.end();
    await Promise.all(writers.map(({ ended }) => ended));
    const last = await verifyKnownRecords(log, "s");
    const owner = new Map<number, number>();
    for (const [index, { lines }] of writers.entries()) {
      for (const line of lines) {
        const [word, , from, to] = line.split(" ");
        if (word !== "ack") continue;
        for (let id = Number(from); id <= Number(to); id++) {
          expect(owner.get(id), `record ${id} was acknowledged to both writers`).toBeUndefined();
          owner.set(id, index);
        }
      }
    }
    // No process was killed, so every record was acknowledged.
    expect(owner.size).toBe(last);
    await log.close();
  });

  it.runIf(LONG)(`recovery ends the runs of a sender that is killed ${KILLS} times`, { timeout: 600_000 }, async () => {
    const path = join(folder, "runs.db");
    const verifier = new Verifier();
    let after = 0;
    const interrupted = new Set<string>();
    // A kill may hit the sender between two runs, so a few more may be needed.
    for (let round = 1; round <= KILLS || (interrupted.size === 0 && round <= 5 * KILLS); round++) {
      const child = startChild("run-child.ts", [path, "s", String(round)]);
      await child.next("start");
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
      child.process.kill("SIGKILL");
      await child.ended;
      const log = await openSqliteLog(path);
      const [recovered] = await recoverOrphans(log);
      expect(recovered?.error).toBeUndefined();
      for (const line of child.lines) {
        const [word, runId = "", status] = line.split(" ");
        const run = await log.getRun("s", runId);
        if (word === "start") expect(run, line).toBeDefined();
        if (word === "end") expect(run?.status, line).toBe(status);
        if (run?.code === "interrupted") interrupted.add(runId);
      }
      // Only a run that waits for an approval stays live.
      const live = (await log.listRuns("s")).filter(({ status }) => status === "live");
      expect(live.length).toBeLessThanOrEqual(1);
      for await (const page of followRecords(log, "s", { after })) {
        for (const record of page.records) expect(verifier.check(record).filter(isError)).toEqual([]);
        after = page.lastId;
      }
      await log.close();
    }
    expect(interrupted.size).toBeGreaterThan(KILLS < 20 ? 0 : KILLS / 4);
  });
});

function isError({ level }: { readonly level: string }): boolean {
  return level === "error";
}
