/**
 * What a server costs: to send one session to many (`fanout`), to hold a connection that is silent (`idle`), how long a
 * token takes to its reader (`delay`), and many live runs at once (`runs`). Without a name it is all of them; `--quick`
 * takes less of each. Servers and clients are processes of their own.
 */
import { measureFanout } from "./server-fanout.ts";
import { measureDelay, measureIdle, measureRuns } from "./server-load.ts";

const MEASURES = { fanout: measureFanout, idle: measureIdle, delay: measureDelay, runs: measureRuns };

const isQuick = process.argv.includes("--quick");
const chosen = Object.entries(MEASURES).filter(([name]) => process.argv.includes(name));
let isReached = true;
for (const [, measure] of chosen.length === 0 ? Object.entries(MEASURES) : chosen)
  isReached = (await measure(isQuick)) && isReached;
process.exitCode = isReached ? 0 : 1;
