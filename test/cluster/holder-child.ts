/**
 * A process with a live run in a database. Prints `held` when it listens for changes, and `lost` if it loses the session.
 * `block <ms>` on its standard input blocks its event loop; it ends with its standard input. Arguments: the URL of the
 * database, the session, and the URL of the connection that listens.
 */
import { openSession } from "../../src/engine/index.ts";
import { openPostgresLog } from "../../src/log/open-log.ts";
import { printLine } from "../durability/print-line.ts";

const [url = "", sessionId = "", listenUrl = url] = process.argv.slice(2);

const log = await openPostgresLog(url, { listenUrl });
log.watchOrphans(() => undefined);
// So long that only the end of this process frees the session.
const session = await openSession(log, sessionId, { ttlMs: 600_000 });
const run = await session.startRun();
run.signal.addEventListener("abort", () => printLine("lost"));
printLine("held");
process.stdin
  .setEncoding("utf8")
  .on("data", (text: string) => {
    const ms = Number(/^block (\d+)/.exec(text)?.[1]);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  })
  .on("end", () => process.kill(process.pid, "SIGKILL"));
