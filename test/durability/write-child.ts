/**
 * A process that writes until it is killed, and says what it was told: `ack <session> <id>` when an append was
 * acknowledged, `seen <session> <id>` when a follower was shown a record. Arguments: the store, the names of the sessions,
 * how many records to write to each at most, and a number that makes this process another than the last.
 */

import { followRecords } from "../../src/log/follow-records.ts";
import { describeHolder } from "../../src/log/holder.ts";
import { openSqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import { say } from "./say.ts";
import { tellEntries } from "./story.ts";

const [path = "", names = "", most = "0", seed = "1"] = process.argv.slice(2);

let state = Number(seed) * 2_654_435_761;
function pick(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state % below;
}

// Few: they are moved often, and killed while they are.
const log = await openSqliteLog(path, { maxRecentRows: 256 });

async function write(sessionId: string): Promise<void> {
  const lease = await log.acquire(sessionId, { holder: describeHolder(), ttlMs: 60_000 });
  const follower = new AbortController();
  const followed = follow(sessionId, lease.lastId, follower.signal);
  let last = lease.lastId;
  const end = last + Number(most);
  while (last < end) {
    const count = Math.min(end - last, 1 + (pick(8) === 0 ? pick(200) : pick(5)));
    const entries = tellEntries(sessionId, last, count);
    ({ lastId: last } = await log.append({ sessionId, epoch: lease.epoch, expectedLastId: last, entries }));
    say(`ack ${sessionId} ${last}`);
  }
  follower.abort();
  await followed;
  await log.release(lease);
}

async function follow(sessionId: string, after: number, signal: AbortSignal): Promise<void> {
  for await (const page of followRecords(log, sessionId, { after, follow: true, signal }))
    say(`seen ${sessionId} ${page.lastId}`);
}

await Promise.all(names.split(",").map(write));
await log.close();
say("done");
