/**
 * A server to be abused, as a process of its own, so that what it holds can be told from what those hold who abuse it.
 * It says `listening <port> <port>`: that of the server, and one that collects rubbish and answers with what is left.
 * Arguments: the limits, as JSON.
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
import { type ServerLimits, SERVER_LIMITS } from "../../src/server/server-limits.ts";
import { say } from "../durability/say.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const limits = JSON.parse(process.argv[2] ?? "{}") as Partial<ServerLimits>;
/** What whoever runs the server is told of: of what strangers do, nothing. */
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
    say(`reported ${error instanceof Error ? (error.stack ?? error.message).replaceAll("\n", " ") : String(error)}`);
  },
});

async function measure(): Promise<object> {
  // The bytes of buffers are let go of a moment after the buffers.
  for (let round = 0; round < 2; round++) {
    collect();
    await setTimeout(20);
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  const connections = process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
  return { bytes: heapUsed + external, rss, connections, reports, pollution: listPollution() };
}

const measuring = createServer((_request, response) => {
  void measure().then((measured) => response.end(JSON.stringify(measured)));
});
measuring.listen(0, "127.0.0.1", () => say(`listening ${server.port} ${(measuring.address() as AddressInfo).port}`));

/** What nobody of the language has put there. */
function listPollution(): readonly string[] {
  const found: string[] = [];
  for (const key in {}) found.push(key);
  return found;
}
