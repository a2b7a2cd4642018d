/**
 * A server that is killed: an agent that looks something up and then speaks slowly, on a store that outlives it. It says
 * `listening <url>`. Arguments: the store, the port, and another name by which it may be asked.
 */
import { setTimeout } from "node:timers/promises";
import { agent } from "../../src/agents/index.ts";
import { openSqliteLog } from "../../src/log/index.ts";
import type { ScriptedRequest } from "../../src/models/scripted-model.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { createTools } from "../agents/counted-tools.ts";
import { say } from "../durability/say.ts";
import { createPacedModel } from "./story-model.ts";

const [store = "", port = "0", host = ""] = process.argv.slice(2);
const PART_MS = 2;
const ANSWER = "It is 5 — 第一个答案, and nothing that comes later makes it another number. ".repeat(4);

/** By what it was asked, not by what it has said: whoever goes on after a crash asks another model. */
function answer({ prompt }: ScriptedRequest) {
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
say(`listening ${server.url}`);
