// Follows the session that durable-sender.ts writes, from another process and in any dialect. It prints every frame and
// saves its cursor in a file: after a kill, it continues with the next frame. If the sender was killed, it ends the
// run. Frames go to standard output, messages to standard error.
//
//   npx node examples/follow.ts [DIALECT] [STORE]
//
// Exit codes: 0 the run completed, 1 it ended otherwise, 2 it could not be followed.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isLoomError, type Log, openSession, openSqliteLog, openStream } from "loom-agent";
import { DIALECT_NAMES, type DialectName } from "loom-agent/dialects";

const [dialect = "loom", store = join(tmpdir(), "loom-example.db")] = process.argv.slice(2);
const sessionId = "demo";
// A cursor counts the frames of one dialect, so each dialect has its own file.
const cursorFile = `${store}.${dialect}.cursor`;
let cursor = existsSync(cursorFile) ? readFileSync(cursorFile, "utf8").trim() : undefined;

/** Prints the frames after the cursor. */
async function print(log: Log, options: { readonly follow: boolean; readonly signal?: AbortSignal }): Promise<void> {
  for await (const frames of openStream(log, sessionId, { dialect: dialect as DialectName, cursor, ...options })) {
    for (const frame of frames) {
      // Saved after printing: after a kill in between, the frame is printed again rather than lost.
      await write(`${frame.text}\n`);
      ({ cursor } = frame);
      writeFileSync(`${cursorFile}.new`, cursor);
      renameSync(`${cursorFile}.new`, cursorFile);
    }
  }
}

/** Resolves to the latest run when it has ended. Ends a run whose sender was killed. */
async function waitForEnd(log: Log, signal: AbortSignal) {
  while (!signal.aborted) {
    const [run] = await log.listRuns(sessionId, { limit: 1 });
    if (run !== undefined && run.status !== "live") return run;
    const session = await log.getSession(sessionId);
    if (run !== undefined && session?.holder === undefined) await endOrphan(log);
    await pause(200);
  }
}

/** Opening a session recovers the run that its last writer left. */
async function endOrphan(log: Log): Promise<void> {
  try {
    await using session = await openSession(log, sessionId);
    if (session.recovered.length > 0) console.error("the sender is no longer running");
  } catch (error) {
    // Another process was faster: a new sender, or another follower.
    if (!isLoomError(error, "lease_held", "fenced")) throw error;
  }
}

/** Resolves when the text is written, and rejects if standard output is closed. */
function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error == null ? resolve() : reject(error)));
  });
}

async function follow(): Promise<number> {
  if (!DIALECT_NAMES.includes(dialect as DialectName))
    throw new Error(`unknown dialect ${dialect}; choose one of ${DIALECT_NAMES.join(", ")}`);
  const log = await openSqliteLog(store);
  console.error(`following session "${sessionId}" in ${store}${cursor === undefined ? "" : ` after ${cursor}`}`);
  while ((await log.getSession(sessionId)) === undefined) await pause(200);
  // The first to end or fail stops the other.
  const stop = new AbortController();
  const [run] = await Promise.all([
    waitForEnd(log, stop.signal).finally(() => stop.abort()),
    print(log, { follow: true, signal: stop.signal }).finally(() => stop.abort()),
  ]);
  // Prints the frames written since the last read.
  await print(log, { follow: false });
  await log.close();
  console.error("the run has ended:", run?.status, ...(run?.code === undefined ? [] : [run.code]));
  return run?.status === "completed" ? 0 : 1;
}

process.stdout.on("error", () => undefined); // Reported by `write`.
try {
  process.exitCode = await follow();
} catch (error) {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  console.error(`${code ?? "error"}: ${message}`);
  if (isLoomError(error, "cursor_invalid", "cursor_stale", "cursor_ahead", "evicted"))
    console.error(`remove ${cursorFile} to start over`);
  process.exitCode = 2;
}
