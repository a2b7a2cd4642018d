/** Streams a run again: to a page that was reloaded, a client that lost its connection, or in another process. */
import type { Log, RunInfo } from "../log/index.ts";
import { type DialectName, isDialectName } from "../dialects/dialect.ts";
import { assertCursorOf, assertCursorVersion, type Cursor, isRead, parseCursor } from "../log/cursor.ts";
import { assertPosition, assertRun } from "../log/rules.ts";
import { createRunResponse, type RunResponseOptions } from "./create-run-response.ts";

/** The run that a client wants to read, and what it has. Only `sessionId` is required. */
export interface ResumeRequest {
  readonly sessionId: string;
  /** ID of the run. Default: the latest run, with a cursor also if it has ended. */
  readonly runId?: string | undefined;
  /**
   * Cursor of the last frame that the client has: the `id` of its last server-sent event, which browsers send as
   * `Last-Event-ID`. Use the dialect of that frame. Default: none; the response has the run from its start.
   */
  readonly cursor?: string | null | undefined;
}

/**
 * Streams a run of a session to its end, from its start or exactly after a cursor. It reads only the log, so any process
 * can do it.
 *
 * Resolves to a response with status 204 if there is nothing to stream: without a run ID and a cursor, if no run is live;
 * with a cursor, if the client has the whole run. Throws `unknown_run`, and `cursor_invalid`, `cursor_stale`,
 * `cursor_ahead` or `evicted` if the cursor is not a position of the session.
 *
 * ```ts
 * const cursor = request.headers.get("last-event-id");
 * return resumeRun(log, { sessionId: "chat-7", cursor }, { dialect: "ai-sdk" });
 * ```
 */
export async function resumeRun(
  log: Log,
  { sessionId, runId, cursor: text }: ResumeRequest,
  options: RunResponseOptions = {},
): Promise<Response> {
  // Browsers send no header before the first event, and some clients send an empty one.
  const cursor = text == null || text === "" ? undefined : text;
  const position = cursor === undefined ? undefined : await readPosition(log, sessionId, cursor, options.dialect);
  const run = await findRun(log, sessionId, runId);
  const isWanted = runId !== undefined || cursor !== undefined || run?.status === "live";
  if (run === undefined || !isWanted || isRead(position, run.lastId)) return new Response(null, { status: 204 });
  return createRunResponse(log, sessionId, run, options, cursor);
}

async function findRun(log: Log, sessionId: string, runId: string | undefined): Promise<RunInfo | undefined> {
  if (runId === undefined) {
    const session = await log.getSession(sessionId);
    return session === undefined ? undefined : (await log.listRuns(sessionId, { limit: 1 }))[0];
  }
  const run = assertRun(await log.getRun(sessionId, runId), sessionId, runId);
  return run;
}

/** Checks the cursor before the response starts. */
async function readPosition(log: Log, sessionId: string, text: string, dialect: DialectName = "loom"): Promise<Cursor> {
  const cursor = parseCursor(text);
  const session = await log.getSession(sessionId);
  assertCursorOf(sessionId, session?.incarnation ?? "", cursor);
  if (isDialectName(dialect)) assertCursorVersion(cursor, { dialect }, dialect === "loom");
  if (session !== undefined) assertPosition(sessionId, cursor.eventId, session.firstId, session.lastId);
  return cursor;
}
