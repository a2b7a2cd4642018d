/**
 * A server process for the chaos tests: an agent that notes each message in a file with a tool, sometimes after an
 * approval, and then answers slowly. Prints `listening <url>`. Arguments: the store, the port, the file of credentials,
 * the file of notes, and an additional allowed host.
 *
 * Reads commands from stdin, one per line: `clock N` moves the clock by N milliseconds; `measure` prints
 * `measure <heap bytes> <open files>`.
 */
import { readdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { openSqliteLog } from "../../src/log/index.ts";
import { openCredentials } from "../../src/server/index.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { printLine } from "../durability/print-line.ts";
import { createNotingAgent } from "./noting-agent.ts";

const [store = "", port = "0", credentialsFile = "", notes = "", host = ""] = process.argv.slice(2);
/** High enough for all clients of the tests, which share one token. */
const NO_LIMITS = { requestsPerMinute: 1e6, runsPerMinute: 1e6, maxRuns: 1e6, maxStreams: 1e6 };

const readClock = Date.now.bind(Date);
let clockOffset = 0;
Date.now = () => readClock() + clockOffset;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const server = await startLoomServer({
  log: await openSqliteLog(store),
  agents: {
    main: createNotingAgent({ notes, partMs: 4, answers: 7 }),
  },
  auth: { credentials: openCredentials(credentialsFile), limits: NO_LIMITS, maxFailures: 10_000 },
  port: Number(port),
  hosts: host === "" ? [] : [host],
  limits: { heartbeatMs: 500 },
  runs: { sweepMs: 500, session: { ttlMs: 3000, maxQueuedRuns: 8 } },
});
printLine(`listening ${server.url}`);

createInterface({ input: process.stdin }).on("line", (line) => {
  const [command, value] = line.split(" ");
  if (command === "clock") clockOffset += Number(value);
  if (command !== "measure") return;
  collectGarbage();
  printLine(`measure ${process.memoryUsage().heapUsed} ${readdirSync("/proc/self/fd").length}`);
});
