/**
 * A server under attack, in its own process, so that its memory can be measured separately from the attacker's.
 *
 * Prints `listening <port> <port>`: the port of the server, and the port of an endpoint that runs the garbage collector
 * and returns the remaining memory use, and at `/connections` only the number of connections. Argument: the server limits, as JSON.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { agent } from "../../src/agents/index.ts";
import { MemoryLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { createMemoryBlobStore } from "../../src/server/blobs/create-memory-blob-store.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { type ServerLimits, SERVER_LIMITS } from "../../src/server/guard/server-limits.ts";
import { printLine } from "../durability/print-line.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const limits = JSON.parse(process.argv[2] ?? "{}") as Partial<ServerLimits>;
/** Number of reported errors. Invalid input must not cause any. */
let reports = 0;
const server = await startLoomServer({
  log: new MemoryLog(),
  agents: { main: agent({ model: new ScriptedModel(Array.from({ length: 10_000 }, () => ({ text: "Hello." }))) }) },
  blobs: createMemoryBlobStore({ ...SERVER_LIMITS, ...limits }),
  port: 0,
  limits,
  page: () => new Response("<!doctype html><title>page</title>", { headers: { "content-type": "text/html" } }),
  onError: (error) => {
    reports++;
    printLine(
      `reported ${error instanceof Error ? (error.stack ?? error.message).replaceAll("\n", " ") : String(error)}`,
    );
  },
});

async function measure(): Promise<object> {
  // Buffer memory is freed shortly after the buffers are collected.
  for (let round = 0; round < 2; round++) {
    collect();
    await setTimeout(20);
  }
  // In one turn, so that a server that is still busy adds no garbage. The second call counts what the first one freed.
  collect();
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { bytes: heapUsed + external, rss, connections: countConnections(), reports, pollution: listPollution() };
}

function countConnections(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}

const measuring = createServer(({ url }, response) => {
  if (url === "/connections") response.end(String(countConnections()));
  else void measure().then((measured) => response.end(JSON.stringify(measured)));
});
measuring.listen(0, "127.0.0.1", () =>
  printLine(`listening ${server.port} ${(measuring.address() as AddressInfo).port}`),
);

/** Enumerable properties that were added to `Object.prototype`. */
function listPollution(): readonly string[] {
  const found: string[] = [];
  for (const key in {}) found.push(key);
  return found;
}
