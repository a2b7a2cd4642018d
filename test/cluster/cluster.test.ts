/**
 * Three servers with one database, behind a proxy that passes each connection to the next one, and clients of every
 * transport, while processes, connections and the database fail. Some seconds by default, with each fault once; minutes
 * with `npm run test:long`.
 */
import { setTimeout } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { ChaosReport } from "../chaos/run-chaos.ts";
import { NO_POSTGRES } from "../postgres-server.ts";
import { CLUSTER_SAMPLES } from "../sampling.ts";
import { until } from "../server/kill-fixture.ts";
import { cutLink, delayLink, killDatabase, killServer, stopHolder } from "./cluster-faults.ts";
import { type ClusterWorld, runClusterChaos } from "./run-cluster-chaos.ts";

const { seconds, sessions, messages, ttlMs } = CLUSTER_SAMPLES;
const SEED = 20_261_118;
const KILL_MS = 2000;
const DATABASE_MS = 10_000;
const MAX_STOPS = 10;
/** Time in which a process that continues has tried to write. */
const LATE_MS = 300;

/** Causes each fault once, some of them at the same time. */
async function causeEach({ cause, counts, cluster: { ledger } }: ClusterWorld): Promise<void> {
  const countAccepted = (): number => counts.get("accepted messages") ?? 0;
  const converse = async (): Promise<void> => {
    const enough = countAccepted() + sessions;
    await until(() => countAccepted() >= enough, "messages are accepted");
  };
  // A process that only waited for its users when it was stopped has nothing to write when it continues.
  const stopWriter = async (): Promise<void> => {
    for (let tries = 0; tries < MAX_STOPS && ledger.counts.late === 0; tries++) {
      await cause("stopped process", stopHolder);
      await setTimeout(LATE_MS);
      ledger.update();
    }
  };
  await converse();
  await cause("kill -9", killServer);
  await Promise.all([stopWriter(), cause("slow link", delayLink), cause("cut link", cutLink)]);
  await converse();
  await cause("killed database", killDatabase);
}

/** Causes faults of each kind for a while, independently of each other. */
async function causeMany({ cause, random }: ClusterWorld): Promise<void> {
  const end = performance.now() + seconds * 1000;
  const repeat = async (pauseMs: () => number, run: () => Promise<void>): Promise<void> => {
    while (performance.now() < end) {
      await setTimeout(pauseMs());
      await run();
    }
  };
  await Promise.all([
    // After the last one is back: on a busy machine, a process that is killed too early would never answer.
    repeat(
      () => KILL_MS,
      () => cause("kill -9", killServer),
    ),
    repeat(
      () => 4000 + random(4000),
      () => cause("stopped process", stopHolder),
    ),
    repeat(
      () => random(3000),
      () => cause("cut link", cutLink),
    ),
    repeat(
      () => random(3000),
      () => cause("slow link", delayLink),
    ),
    repeat(
      () => DATABASE_MS,
      () => cause("killed database", killDatabase),
    ),
  ]);
}

const show = ({ counts }: ChaosReport): string => [...counts].map(([name, count]) => `${name}: ${count}`).join(", ");

describe.skipIf(NO_POSTGRES !== undefined)("three servers with one database", () => {
  test("lose and repeat nothing while they and the database fail", { timeout: 1_800_000 }, async ({ annotate }) => {
    const report = await runClusterChaos({
      sessions,
      messages,
      ttlMs,
      seed: SEED,
      causeFaults: seconds === 0 ? causeEach : causeMany,
    });
    await annotate(show(report));
    expect(report.violations).toEqual([]);
    // The test proves little if nothing happened.
    expect(report.counts.get("checked sessions")).toBeGreaterThanOrEqual(sessions);
    expect(report.counts.get("acknowledged records")).toBeGreaterThan(0);
    expect(report.counts.get("late appends refused")).toBeGreaterThan(0);
    expect([...report.counts.keys()].filter((name) => name.startsWith("fault:"))).toHaveLength(5);
  });
});
