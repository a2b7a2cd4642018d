/** A process that follows a session in PostgreSQL and reports when each record arrives; see `postgres.ts`. */
import { followRecords } from "../src/log/index.ts";
import { openPostgresLog } from "../src/log/postgres/postgres-log.ts";

const [, , url = "", sessionId = ""] = process.argv;
const log = await openPostgresLog(url);
const stop = new AbortController();
process.on("disconnect", () => stop.abort());
process.send?.("ready");
for await (const page of followRecords(log, sessionId, { after: 0, follow: true, signal: stop.signal }))
  process.send?.({ lastId: page.lastId, at: performance.timeOrigin + performance.now() });
await log.close();
