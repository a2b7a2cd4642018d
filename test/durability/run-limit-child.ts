/**
 * Sends messages of one principal to its own sessions, all at once, when a line arrives. Prints `ready`, and then a line
 * with each outcome: `accepted` or the code. Arguments: the store, the number of the first session, the messages, the
 * limit.
 */
import { once } from "node:events";
import { openLog } from "../../src/log/open-log.ts";
import { isLoomError } from "../../src/protocol/index.ts";
import { printLine } from "./print-line.ts";

const [store = "", ...numbers] = process.argv.slice(2);
const [first = 0, count = 0, maxRuns = 0] = numbers.map(Number);
const actor = "token:a";

const log = await openLog(store);
printLine("ready");
await once(process.stdin, "data");
process.stdin.destroy();
await Promise.all(
  Array.from({ length: count }, async (_, at) => {
    const sessionId = `s${first + at}`;
    const body = { message: "Hi", run_id: "r", actor };
    const command = { commandId: "m", sessionId, kind: "enqueue", body } as const;
    try {
      await log.submit(command, { create: {}, runLimit: { actor, maxRuns } });
      printLine("accepted");
    } catch (error) {
      if (!isLoomError(error)) throw error;
      printLine(error.code);
    }
  }),
);
await log.close();
