/**
 * Server benchmarks: `idle` (memory per idle connection), `delay` (time from a token to its reader) and `runs` (many live
 * runs at once). Without a name, all of them run; `--quick` takes smaller samples. Servers and clients are separate
 * processes.
 */
import { measureDelay, measureIdle, measureRuns } from "./server-load.ts";

const MEASURES = { idle: measureIdle, delay: measureDelay, runs: measureRuns };

const isQuick = process.argv.includes("--quick");
const chosen = Object.entries(MEASURES).filter(([name]) => process.argv.includes(name));
let isReached = true;
for (const [, measure] of chosen.length === 0 ? Object.entries(MEASURES) : chosen)
  isReached = (await measure(isQuick)) && isReached;
process.exitCode = isReached ? 0 : 1;
