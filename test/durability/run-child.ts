/**
 * Sends runs until it is killed: reasoning, tools, a table, text, sometimes an approval, with every end status. Prints
 * `start <run>` and `end <run> <status>` when these are durable. Arguments: the store, the session, a random seed.
 */
import { openSession } from "../../src/engine/session.ts";
import { openSqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import { printLine } from "./print-line.ts";

const [path = "", sessionId = "", seed = "1"] = process.argv.slice(2);
let state = Number(seed) * 2_654_435_761;
function pick(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return (state >>> 8) % below;
}

const log = await openSqliteLog(path);
const session = await openSession(log, sessionId);
// An earlier process may have left a run that waits for an approval.
await session.liveRun?.cancel("no approval received");

for (let count = 0; ; count++) {
  const run = await session.startRun({ message: "go", runId: `run-${seed}-${count}` });
  printLine(`start ${run.runId}`);
  await run.span("think", async (node) => {
    for (let i = pick(20); i >= 0; i--) {
      void node.think("hm ");
      if (pick(4) === 0) await node.write("text ");
    }
    const call_id = `call-${count}`;
    await run.emit({ type: "tool_call", call_id, name: "search", arguments: { q: "x" } }, node);
    if (pick(5) === 0)
      await run
        .requestApproval({ callId: call_id, name: "search", arguments: { q: "x" }, expiresInMs: pick(30) }, node)
        .catch(() => undefined);
    else await run.emit({ type: "tool_start", call_id, name: "search" }, node);
    if (pick(3) > 0)
      await run.emit({ type: "tool_end", call_id, name: "search", result: "found", is_error: true }, node);
    await run.emit({ type: "data", data_type: "dataframe", data: { columns: ["a"], rows: [[1]] } }, node);
  });
  const how = pick(4);
  const end =
    how === 0 ? await run.fail({ message: "no" }) : how === 1 ? await run.cancel() : await run.finish({ reply: "yes" });
  printLine(`end ${run.runId} ${end.status}`);
}
