/**
 * A server process for kill tests: an agent that calls a tool and then answers slowly, on a store that survives the
 * process. The message `Die!` kills the process. Prints `listening <url>`. Arguments: the store, the port, and an additional allowed host.
 */
import { setTimeout } from "node:timers/promises";
import { agent } from "../../src/agents/index.ts";
import { openSqliteLog } from "../../src/log/index.ts";
import type { ScriptedRequest } from "../../src/models/scripted-model.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { createTools } from "../agents/counted-tools.ts";
import { printLine } from "../durability/print-line.ts";
import { createPacedModel } from "./paced-model.ts";

const [store = "", port = "0", host = ""] = process.argv.slice(2);
const PART_MS = 2;
const ANSWER = "It is 5 — 第一个答案, and the rest of this answer only makes the run take longer. ".repeat(4);

/** Depends only on the prompt: after a crash, another model instance continues. */
function answer({ prompt }: ScriptedRequest) {
  if (JSON.stringify(prompt.at(-1)).includes("Die!")) process.kill(process.pid, "SIGKILL");
  return prompt.at(-1)?.role === "tool"
    ? { text: ANSWER }
    : { text: "I look it up. ", calls: [{ name: "add", input: { a: 2, b: 3 } }] };
}

const log = await openSqliteLog(store);
const model = createPacedModel(answer, () => setTimeout(PART_MS));
const server = await startLoomServer({
  log,
  agents: { main: agent({ model, tools: createTools().tools }) },
  port: Number(port),
  hosts: host === "" ? [] : [host],
  limits: { heartbeatMs: 50 },
});
printLine(`listening ${server.url}`);
