/**
 * A short run of the chaos tests. `npm run test:chaos [minutes]` runs them for longer, with 24 sessions. Not in `npm test`,
 * where `../server/kill.test.ts` kills servers of a store, and `../cluster/cluster.test.ts` holds the same conversations.
 */
import { expect, test } from "vitest";
import { LONG } from "../sampling.ts";
import { runChaos } from "./run-chaos.ts";

test.runIf(LONG)("random faults for some seconds violate nothing", { timeout: 300_000 }, async ({ annotate }) => {
  const report = await runChaos({ seconds: 6, sessions: 5, seed: 20_261_117, messages: 3, floodMessages: 14 });
  await annotate([...report.counts].map(([name, count]) => `${name}: ${count}`).join(", "));
  expect(report.violations).toEqual([]);
  // The test proves little if nothing happened.
  expect(report.counts.get("checked sessions")).toBeGreaterThan(4);
  expect([...report.counts.keys()].filter((name) => name.startsWith("fault:")).length).toBeGreaterThan(3);
});
