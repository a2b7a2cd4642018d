/**
 * A process that competes with others for one session of a database. Each of its writers takes the session, writes records
 * that name the epoch and the writer, sometimes waits until its lease has ended, and writes again. Prints `ack <writer>
 * <epoch> <first ID> <last ID>` for each acknowledged append, `late <writer> <epoch>` for each refused one, and `done`.
 * Stops when its standard input ends. Arguments: the URL of the database, the session, a number that differs between
 * the processes, and the number of writers.
 */
import { setTimeout } from "node:timers/promises";
import { createEntry } from "../../src/log/entry.ts";
import type { Log } from "../../src/log/log.ts";
import { openPostgresLog } from "../../src/log/open-log.ts";
import { isLoomError } from "../../src/protocol/index.ts";
import { printLine } from "../durability/print-line.ts";
import { createRandom } from "../server/fault-proxy.ts";

const [url = "", sessionId = "", index = "0", writers = "1"] = process.argv.slice(2);
const TTL_MS = 30;
const random = createRandom(Number(index) * 7919);

const stop = new AbortController();
process.stdin.resume().on("end", () => stop.abort());

/** Takes the session once and writes until another writer has it. */
async function takeAndWrite(log: Log, writer: string): Promise<void> {
  const lease = await log.acquire(sessionId, { holder: writer, ttlMs: TTL_MS, takeover: random(3) === 0 });
  const { epoch } = lease;
  for (let last = lease.lastId; !stop.signal.aborted;) {
    if (random(20) === 0) await setTimeout(random(2 * TTL_MS));
    const entries = Array.from({ length: 1 + random(3) }, (_, at) =>
      createEntry({
        envelope: { session_id: sessionId, event_id: last + 1 + at, ts: last + 1 + at },
        event: { type: "custom", value: { epoch, writer } },
      }),
    );
    try {
      const { lastId } = await log.append({ sessionId, epoch, expectedLastId: last, entries });
      printLine(`ack ${writer} ${epoch} ${last + 1} ${lastId}`);
      last = lastId;
    } catch (error) {
      if (isLoomError(error, "fenced")) printLine(`late ${writer} ${epoch}`);
      throw error;
    }
  }
}

async function compete(writer: string): Promise<void> {
  const log = await openPostgresLog(url, { maxConnections: 2 });
  while (!stop.signal.aborted)
    try {
      await takeAndWrite(log, writer);
    } catch (error) {
      if (!isLoomError(error, "fenced", "lease_held")) throw error;
      await setTimeout(random(20));
    }
  await log.close();
}

await Promise.all(Array.from({ length: Number(writers) }, (_, at) => compete(`${process.pid}/${at}`)));
printLine("done");
