/**
 * A server process for the chaos tests: an agent that notes each message in a file with a tool, sometimes after an
 * approval, and then answers slowly. Prints `listening <url>`. Arguments: the store, the port, the file of credentials,
 * the file of notes, and an additional allowed host.
 *
 * Reads commands from stdin, one per line: `clock N` moves the clock by N milliseconds; `measure` prints
 * `measure <heap bytes> <open files>`.
 */
import { appendFileSync, readdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { z } from "zod";
import { agent } from "../../src/agents/index.ts";
import { openSqliteLog } from "../../src/log/index.ts";
import type { ScriptedRequest } from "../../src/models/scripted-model.ts";
import { openCredentials } from "../../src/server/index.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import { printLine } from "../durability/print-line.ts";
import { createPacedModel } from "../server/paced-model.ts";

const [store = "", port = "0", credentialsFile = "", notes = "", host = ""] = process.argv.slice(2);
/** High enough for all clients of the tests, which share one token. */
const NO_LIMITS = { requestsPerMinute: 1e6, runsPerMinute: 1e6, maxRuns: 1e6, maxStreams: 1e6 };
const PART_MS = 4;
const ANSWER = "Noted — 已记下. The rest of this answer only makes the run take longer. ".repeat(6);

const readClock = Date.now.bind(Date);
let clockOffset = 0;
Date.now = () => readClock() + clockOffset;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** A call appends one line, so a call that ran twice is visible in the file. */
const createNote = (name: string, approval: "always" | "never") =>
  defineTool({
    name,
    description: "Notes a key.",
    input: z.object({ key: z.string() }),
    approval,
    async execute({ key }) {
      appendFileSync(notes, `${key}\n`);
      await setTimeout(PART_MS);
      return `noted ${key}`;
    },
  });

/** Depends only on the prompt: after a crash, another process continues. */
function answer({ prompt }: ScriptedRequest) {
  if (prompt.at(-1)?.role === "tool") return { text: ANSWER };
  const message = prompt.findLast(({ role }) => role === "user");
  // A message without an answer, for example a cancelled one, is joined with the next one. The last key counts.
  const key =
    JSON.stringify(message?.content)
      .match(/m-[\w-]+/g)
      ?.at(-1) ?? "?";
  const name = key.endsWith("-ask") ? "note_if_allowed" : "note";
  return { text: "I note it. ", calls: [{ name, input: { key } }] };
}

const server = await startLoomServer({
  log: await openSqliteLog(store),
  agents: {
    main: agent({
      model: createPacedModel(answer, () => setTimeout(PART_MS)),
      tools: [createNote("note", "never"), createNote("note_if_allowed", "always")],
    }),
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
