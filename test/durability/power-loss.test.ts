// The power fails: of what the store wrote and did not sync, any part may be on the disk. It opens all the same, and
// holds everything that was acknowledged or shown before.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import { highest, startChild } from "./child.ts";
import { proveStory } from "./story.ts";
import { failPower, readTrace, STRACE, type Step } from "./trace.ts";

const LONG = process.env["LOOM_LONG"] === "1";
const ROUNDS = LONG ? 2000 : 25;
const SESSIONS = ["a", "b"];
/** Enough for the store to move some from its recent rows, and to write its log back. */
const RECORDS = LONG ? "20000" : "2500";

const canTrace = spawnSync("strace", ["-f", "true"], { stdio: "ignore" }).status === 0;

const folder = mkdtempSync(join(tmpdir(), "loom-power-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(!canTrace)("power that fails (needs strace and the right to use it)", () => {
  let steps: readonly Step[] = [];

  beforeAll(async () => {
    const path = join(folder, "loom.db");
    const trace = join(folder, "trace");
    const child = startChild("write-child.ts", [path, SESSIONS.join(","), RECORDS, "1"], [...STRACE, "-o", trace]);
    await child.ended;
    steps = readTrace(readFileSync(trace, "utf8"), path);
  }, 200_000);

  it("recorded what it was to record", () => {
    const count = (what: Step["do"]) => steps.filter((step) => step.do === what).length;
    expect(count("write")).toBeGreaterThan(500);
    expect(count("sync")).toBeGreaterThan(100);
    expect(count("say")).toBeGreaterThan(100);
  });

  it(`loses nothing that was acknowledged or shown, ${ROUNDS} times`, { timeout: 1_800_000 }, async () => {
    let round = 0;
    // Before the store has its name there is nothing to lose.
    const named = steps.findIndex((step) => step.do === "link");
    const place = fc.integer({ min: named + 1, max: steps.length });
    await fc.assert(
      fc.asyncProperty(place, fc.integer(), async (end, seed) => {
        const target = join(folder, `round-${++round}`);
        failPower(steps, end, randomOf(seed), target);
        const said = steps.slice(0, end).flatMap((step) => (step.do === "say" ? step.text.split("\n") : []));
        const log = await openSqliteLog(join(target, "loom.db"));
        try {
          for (const session of SESSIONS) {
            const promised = Math.max(highest(said, "ack").get(session) ?? 0, highest(said, "seen").get(session) ?? 0);
            const held = (await log.getSession(session)) === undefined ? 0 : await proveStory(log, session);
            expect(held, `session ${session} after ${end} steps`).toBeGreaterThanOrEqual(promised);
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
