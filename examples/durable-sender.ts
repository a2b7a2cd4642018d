// Streams one run into a store: thinking, a tool with progress, a table and an answer. Each frame is stored before any
// client sees it. Watch the run with follow.ts from a second shell; kill and restart either process at any time.
//
//   npx node examples/durable-sender.ts [STORE] [MILLISECONDS between two frames]
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openSqliteLog, StreamingEngine } from "loom-agent";

const [store = join(tmpdir(), "loom-example.db"), ms = "150"] = process.argv.slice(2);
const log = await openSqliteLog(store);
const engine = new StreamingEngine(`request-${Date.now()}`, { log });
await engine.emitSessionStart("demo");
console.log(`writing session "demo" to ${store}`);

for (const word of words("The user wants the sales of each quarter, so I add them up.")) {
  await engine.emitThinking(word, "planning");
  await pause(Number(ms));
}
await engine.emitToolCallStart("call-1", "add_up_sales", "Adds up the sales of a year", { year: 2025 });
for (const percent of [0, 20, 40, 60, 80, 100]) {
  await engine.emitToolCallProgress("call-1", percent, `${percent} of 100 shops`);
  await pause(Number(ms));
}
await engine.emitToolCallEnd("call-1", "success", { quarters: 4 });
const rows = Object.entries({ Q1: 120, Q2: 95, Q3: 143, Q4: 160 });
await engine.emitData("dataframe", { name: "Sales of 2025", columns: ["quarter", "sales"], rows });
for (const word of words("Sales fell in the second quarter, and were **best in the fourth**: 160.")) {
  await engine.emitContent(word);
  await pause(Number(ms));
}
await engine.emitSessionEnd("completed");
await log.close();
console.log("done");

function words(text: string): readonly string[] {
  return text.split(/(?<= )/);
}
