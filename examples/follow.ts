// Follows the session that durable-sender.ts writes, from another process and in any dialect. It prints every frame and
// remembers in a file how far it came: killed and started again, it prints the rest. When the sender was killed, it has
// the session say how it ended. Frames go to standard output, words to standard error.
//
//   npx node examples/follow.ts [DIALECT] [STORE]
//
// Exit code: 0 when the run completed, 1 when it ended otherwise, 2 when it could not be followed.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  DIALECT_NAMES,
  type DialectName,
  isLoomError,
  type Log,
  openSession,
  openSqliteLog,
  openStream,
} from "loom-agent";

const [dialect = "loom", store = join(tmpdir(), "loom-example.db")] = process.argv.slice(2);
const sessionId = "demo";
// A cursor counts the frames of one dialect, so each has a file of its own.
const cursorFile = `${store}.${dialect}.cursor`;
let cursor = existsSync(cursorFile) ? readFileSync(cursorFile, "utf8").trim() : undefined;

/** Prints what comes after the cursor. */
async function print(log: Log, options: { readonly follow: boolean; readonly signal?: AbortSignal }): Promise<void> {
  for await (const frames of openStream(log, sessionId, { dialect: dialect as DialectName, cursor, ...options })) {
    for (const frame of frames) {
      // Printed first, remembered after: killed in between, it prints this frame again rather than never.
      await write(`${frame.text}\n`);
      ({ cursor } = frame);
      writeFileSync(`${cursorFile}.new`, cursor);
      renameSync(`${cursorFile}.new`, cursorFile);
    }
  }
}

/** Resolves to the latest run when it is over. A run whose sender is gone is ended here. */
async function waitForEnd(log: Log, signal: AbortSignal) {
  while (!signal.aborted) {
    const [run] = await log.listRuns(sessionId, { limit: 1 });
    if (run !== undefined && run.status !== "live") return run;
    const session = await log.getSession(sessionId);
    if (run !== undefined && session?.holder === undefined) await endOrphan(log);
    await pause(200);
  }
}

/** Whoever opens a session puts right what its last writer left. */
async function endOrphan(log: Log): Promise<void> {
  try {
    await using session = await openSession(log, sessionId);
    if (session.recovered.length > 0) console.error("the sender is gone");
  } catch (error) {
    // Somebody was quicker: a new sender, or another follower.
    if (!isLoomError(error, "lease_held", "fenced")) throw error;
  }
}

/** Resolves when the text is out of our hands, rejects when nobody reads any more. */
function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error == null ? resolve() : reject(error)));
  });
}

async function follow(): Promise<number> {
  if (!DIALECT_NAMES.includes(dialect as DialectName)) throw new Error(`the dialects are ${DIALECT_NAMES.join(", ")}`);
  const log = await openSqliteLog(store);
  console.error(`following session "${sessionId}" in ${store}${cursor === undefined ? "" : ` after ${cursor}`}`);
  while ((await log.getSession(sessionId)) === undefined) await pause(200);
  // Whichever of the two ends or fails first stops the other.
  const stop = new AbortController();
  const [run] = await Promise.all([
    waitForEnd(log, stop.signal).finally(() => stop.abort()),
    print(log, { follow: true, signal: stop.signal }).finally(() => stop.abort()),
  ]);
  // What was written between the last look and the end.
  await print(log, { follow: false });
  await log.close();
  console.error("the run is over:", run?.status, ...(run?.code === undefined ? [] : [run.code]));
  return run?.status === "completed" ? 0 : 1;
}

process.stdout.on("error", () => undefined); // `write` tells.
try {
  process.exitCode = await follow();
} catch (error) {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  console.error(`${code ?? "error"}: ${message}`);
  if (isLoomError(error, "cursor_invalid", "cursor_stale", "cursor_ahead", "evicted"))
    console.error(`remove ${cursorFile} to start anew`);
  process.exitCode = 2;
}
