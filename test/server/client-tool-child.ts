/**
 * A server process for tests of tools that the client carries out: its agent calls the tool `locate`, and answers with
 * the result. Prints `listening <url>`. Argument: the store.
 */
import { agent } from "../../src/agents/index.ts";
import { openSqliteLog } from "../../src/log/index.ts";
import type { ScriptedRequest } from "../../src/models/scripted-model.ts";
import { ScriptedModel } from "../../src/models/testing.ts";
import { startLoomServer } from "../../src/server/loom-server.ts";
import { printLine } from "../durability/print-line.ts";

/** Depends only on the prompt: after a crash, another model instance continues. */
function answer({ prompt }: ScriptedRequest) {
  const last = prompt.at(-1);
  if (last?.role !== "tool") return { calls: [{ name: "locate", input: {}, id: "call-1" }] };
  return { text: `You are in ${/Lisbon|Porto|Faro/.exec(JSON.stringify(last.content))?.[0] ?? "?"}.` };
}

const [store = ""] = process.argv.slice(2);
const log = await openSqliteLog(store);
const server = await startLoomServer({
  log,
  agents: { main: agent({ model: new ScriptedModel(answer) }) },
  port: 0,
  limits: { commandTimeoutMs: 20_000 },
});
printLine(`listening ${server.url}`);
