/**
 * A process that takes a session from whoever has it, writes a little, and is fenced by the next who takes it; again and
 * again. It says `ack <session> <first> <last>` of each batch that was acknowledged, `fenced` when it was, and `done`.
 * Arguments: the store, the session, how often to take it.
 */
import { describeHolder } from "../../src/log/holder.ts";
import { openSqliteLog } from "../../src/log/sqlite/sqlite-log.ts";
import { isLoomError } from "../../src/protocol/index.ts";
import { say } from "./say.ts";
import { tellEntries } from "./story.ts";

const [path = "", sessionId = "", times = "1"] = process.argv.slice(2);

const log = await openSqliteLog(path);
for (let time = 0; time < Number(times); time++) {
  const lease = await log.acquire(sessionId, { holder: describeHolder(), ttlMs: 60_000, takeover: true });
  let last = lease.lastId;
  try {
    for (let batch = 0; batch < 40; batch++) {
      const entries = tellEntries(sessionId, last, 1 + (batch % 3));
      const { lastId } = await log.append({ sessionId, epoch: lease.epoch, expectedLastId: last, entries });
      say(`ack ${sessionId} ${last + 1} ${lastId}`);
      last = lastId;
    }
  } catch (error) {
    if (!isLoomError(error, "fenced")) throw error;
    say("fenced");
  }
}
await log.close();
say("done");
