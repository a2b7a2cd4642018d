/**
 * Repeatedly takes over a session and writes to it until another process takes it over. Prints `ack <session> <first>
 * <last>` for each acknowledged batch, `fenced` when a write is fenced, and `done`. Stops when its standard input ends.
 * Arguments: the store, the session.
 */
import { describeHolder } from "../../src/log/holder.ts";
import { openSqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import { isLoomError } from "../../src/protocol/index.ts";
import { printLine } from "./print-line.ts";
import { createKnownEntries } from "./known-records.ts";

const [path = "", sessionId = ""] = process.argv.slice(2);

const stop = new AbortController();
process.stdin.resume().on("end", () => stop.abort());

const log = await openSqliteLog(path);
while (!stop.signal.aborted) {
  const lease = await log.acquire(sessionId, { holder: describeHolder(), ttlMs: 60_000, takeover: true });
  let last = lease.lastId;
  try {
    for (let batch = 0; !stop.signal.aborted; batch++) {
      const entries = createKnownEntries(sessionId, last, 1 + (batch % 3));
      const { lastId } = await log.append({ sessionId, epoch: lease.epoch, expectedLastId: last, entries });
      printLine(`ack ${sessionId} ${last + 1} ${lastId}`);
      last = lastId;
    }
  } catch (error) {
    if (!isLoomError(error, "fenced")) throw error;
    printLine("fenced");
  }
}
await log.close();
printLine("done");
