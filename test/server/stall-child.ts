/**
 * A server process for readers that stall. A session exists from the start; when the given number of streams is open, a
 * run writes the given number of bytes to it, as fast as they become durable. Prints `listening <url>`, `slow <pieces
 * so far>` when a reader is closed as slow, and `done <bytes before> <most bytes> <bytes after>` when the run has
 * ended: the memory in use after garbage collection. Arguments: the store, the number of streams, the number of bytes.
 */
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { agent } from "../../src/agents/index.ts";
import { openSession } from "../../src/engine/index.ts";
import { openSqliteLog } from "../../src/log/index.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { printLine } from "../durability/print-line.ts";

const [store = "", streams = "1", bytes = "0"] = process.argv.slice(2);
const PIECE = 4096;
const PIECES_PER_NODE = 64;
const NODE_MS = 20;
const SAMPLE_MS = 200;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function measure(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const log = await openSqliteLog(store);
const session = await openSession(log, "s");
const allOpen = Promise.withResolvers<void>();
let opened = 0;
let pieces = 0;
const server = await startLoomServer({
  log,
  agents: { main: agent({ model: new ScriptedModel([]) }) },
  port: 0,
  limits: { heartbeatMs: 0 },
  meter: {
    openStream() {
      if (++opened === Number(streams)) allOpen.resolve();
      return { send: () => undefined, close: () => undefined };
    },
    refuseStream: (code) => printLine(`refused ${code}`),
    closeSlowReader: () => printLine(`slow ${pieces}`),
  },
});

/** Writes one node at a time with a pause in between, so that readers can keep up on a busy machine. */
async function write(total: number): Promise<void> {
  const run = await session.startRun({ message: "Write" });
  const nodes = Math.ceil(total / PIECE / PIECES_PER_NODE);
  for (let index = 0; index < nodes; index++) {
    await run.span("think", async (node) => {
      for (let piece = 1; piece <= PIECES_PER_NODE; piece++) {
        const text = `${++pieces} `.padEnd(PIECE, "many words ");
        if (piece % (PIECES_PER_NODE / 2) === 0) await node.write(text);
        else void node.write(text);
      }
    });
    await setTimeout(NODE_MS);
  }
  await run.finish({ reply: "" });
}

await write(PIECE);
printLine(`listening ${server.url}`);
await allOpen.promise;
const before = measure();
let most = before;
const timer = setInterval(() => (most = Math.max(most, measure())), SAMPLE_MS);
await write(Number(bytes));
clearInterval(timer);
most = Math.max(most, measure());
printLine(`done ${before} ${most} ${measure()}`);
