/**
 * Writes known records until it is killed. Prints `ack <session> <id>` when an append is acknowledged and `seen
 * <session> <id>` when a follower receives a record. Arguments: the store, the session names, the maximum number of
 * records per session, a random seed.
 */

import { followRecords } from "../../src/log/follow-records.ts";
import { describeHolder } from "../../src/log/holder.ts";
import { openSqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import { printLine } from "./print-line.ts";
import { createKnownEntries } from "./known-records.ts";

const [path = "", names = "", most = "0", seed = "1"] = process.argv.slice(2);

let state = Number(seed) * 2_654_435_761;
function pick(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state % below;
}

// A small limit, so that rows are moved often and the process may be killed meanwhile.
const log = await openSqliteLog(path, { maxRecentRows: 256 });

async function write(sessionId: string): Promise<void> {
  const lease = await log.acquire(sessionId, { holder: describeHolder(), ttlMs: 60_000 });
  const follower = new AbortController();
  const followed = follow(sessionId, lease.lastId, follower.signal);
  let last = lease.lastId;
  const end = last + Number(most);
  while (last < end) {
    const count = Math.min(end - last, 1 + (pick(8) === 0 ? pick(200) : pick(5)));
    const entries = createKnownEntries(sessionId, last, count);
    ({ lastId: last } = await log.append({ sessionId, epoch: lease.epoch, expectedLastId: last, entries }));
    printLine(`ack ${sessionId} ${last}`);
  }
  follower.abort();
  await followed;
  await log.release(lease);
}

async function follow(sessionId: string, after: number, signal: AbortSignal): Promise<void> {
  for await (const page of followRecords(log, sessionId, { after, follow: true, signal }))
    printLine(`seen ${sessionId} ${page.lastId}`);
}

await Promise.all(names.split(",").map(write));
await log.close();
printLine("done");
