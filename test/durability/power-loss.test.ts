// Power loss: any part of the writes since the last sync may be on the disk. The store still opens and contains
// everything that was acknowledged or shown to a follower.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import { findHighestIds, startChild } from "./child.ts";
import { verifyKnownRecords } from "./known-records.ts";
import { simulatePowerLoss, readTrace, STRACE, type Step } from "./power-loss-trace.ts";
import { LONG } from "../sampling.ts";

const ROUNDS = LONG ? 2000 : 10;
const SESSIONS = ["a", "b"];
/** Enough to move recent rows to chunks and to checkpoint the write-ahead log. */
const RECORDS = LONG ? "20000" : "1500";

const canTrace = spawnSync("strace", ["-f", "true"], { stdio: "ignore" }).status === 0;

const folder = mkdtempSync(join(tmpdir(), "loom-power-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(!canTrace)("power loss (skipped if strace cannot be used)", () => {
  let steps: readonly Step[] = [];

  beforeAll(async () => {
    const path = join(folder, "loom.db");
    const trace = join(folder, "trace");
    const child = startChild("write-child.ts", [path, SESSIONS.join(","), RECORDS, "1"], [...STRACE, "-o", trace]);
    await child.ended;
    steps = readTrace(readFileSync(trace, "utf8"), path);
  }, 200_000);

  it("the trace contains writes, syncs and output", () => {
    const count = (what: Step["do"]) => steps.filter((step) => step.do === what).length;
    expect(count("write")).toBeGreaterThan(500);
    expect(count("sync")).toBeGreaterThan(100);
    expect(count("print")).toBeGreaterThan(100);
  });

  it(`loses nothing that was acknowledged or followed, ${ROUNDS} times`, { timeout: 1_800_000 }, async () => {
    let round = 0;
    // Before the store has its final name, nothing can be lost.
    const named = steps.findIndex((step) => step.do === "link");
    const position = fc.integer({ min: named + 1, max: steps.length });
    await fc.assert(
      fc.asyncProperty(position, fc.integer(), async (end, seed) => {
        const target = join(folder, `round-${++round}`);
        simulatePowerLoss(steps, end, randomOf(seed), target);
        const printed = steps.slice(0, end).flatMap((step) => (step.do === "print" ? step.text.split("\n") : []));
        const log = await openSqliteLog(join(target, "loom.db"));
        try {
          for (const session of SESSIONS) {
            const promised = Math.max(
              findHighestIds(printed, "ack").get(session) ?? 0,
              findHighestIds(printed, "seen").get(session) ?? 0,
            );
            const stored = (await log.getSession(session)) === undefined ? 0 : await verifyKnownRecords(log, session);
            expect(stored, `session ${session} after ${end} steps`).toBeGreaterThanOrEqual(promised);
          }
        } finally {
          await log.close();
          rmSync(target, { recursive: true, force: true });
        }
      }),
      { numRuns: ROUNDS },
    );
  });
});

function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
