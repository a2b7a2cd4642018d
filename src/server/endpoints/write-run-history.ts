/**
 * Writes the messages before the question into a new session, as completed runs. The log is authoritative: a session
 * that already has records keeps them, and the request is refused.
 *
 * Invariant: the history is written with one append, before the message is stored. A request that is repeated after a
 * crash finds all of it or nothing.
 */
import { createHash } from "node:crypto";
import { writeHistory } from "../../agents/write-history.ts";
import { openSession } from "../../engine/index.ts";
import { acquireIdle, assertQuota } from "../../engine/foreign-session.ts";
import { type Log, type LogEntry, MemoryLog } from "../../log/index.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import type { ServerCore } from "../api/server-core.ts";
import type { StartRun } from "../api/shapes.generated.ts";
import type { Caller } from "../auth/authorize.ts";
import { ensureOwnSession } from "../commands/command-author.ts";
import { authorOf } from "../commands/command-host.ts";
import { deriveTitle } from "../../agents/derive-title.ts";
import type { RunInput } from "./read-run-input.ts";
import type { StoredInput } from "./store-sent-files.ts";

/** How long to wait for a process that holds the session without a run. */
const WAIT_MS = 2000;

/** The session of a history, and the key and messages of its request. The IDs of its runs are derived from them. */
export interface HistoryRequest {
  readonly session: string;
  readonly key: string;
  readonly messages: NonNullable<StartRun["messages"]>;
}

/**
 * Returns true if the history is to be written, false if the session has it from an earlier request with the same key.
 * Throws `session_exists` if the session has other records, or `command_conflict` if the key was used with other messages.
 */
export async function needsHistory(log: Log, request: HistoryRequest, isKnown: boolean): Promise<boolean> {
  const { session } = request;
  const info = await log.getSession(session);
  if (info !== undefined && info.lastId > 0) {
    if ((await log.getRun(session, createRunIds(request)(0))) !== undefined) return false;
    if (!isKnown)
      throw new LoomError(
        "session_exists",
        `Session "${session}" already has its history; send only the new message, or use a new session`,
        { session_id: session, path: "messages", in: "body" },
      );
  }
  if (isKnown) throw new LoomError("command_conflict", "The key was used for a message with other earlier messages");
  return true;
}

/** Writes the history, unless the session has it by now. */
export async function writeRunHistory(
  core: ServerCore,
  caller: Caller,
  request: HistoryRequest,
  { earlier }: RunInput,
  { agent, stored }: { readonly agent: string; readonly stored: StoredInput },
): Promise<void> {
  const { log } = core;
  const { session } = request;
  const author = authorOf(core, caller);
  const entries = await createEntries(session, (draft) =>
    writeHistory(draft, earlier, {
      agent,
      actor: author.actor,
      load: (question) => stored.filesOf(question),
      createRunId: createRunIds(request),
    }),
  );
  const title = earlier.map(({ question }) => deriveTitle(question.text)).find((text) => text !== undefined);
  const info = await ensureOwnSession(log, author, session, title === undefined ? {} : { title });
  // An upload may have created the session.
  if (info.title === undefined && title !== undefined) await log.updateSession(session, { title });
  const lease = await acquireIdle(log, session, { waitMs: WAIT_MS });
  try {
    if (!(await needsHistory(log, request, false))) return;
    await assertQuota(log, lease);
    await log.append({ sessionId: session, epoch: lease.epoch, expectedLastId: lease.lastId, entries });
  } catch (error) {
    throw isLoomError(error, "batch_too_large") ? new LoomError("body_too_large", error.message) : error;
  } finally {
    await log.release(lease).catch((error: unknown) => core.report(error));
  }
}

/** Returns the records that `write` makes in a new session of this ID. */
async function createEntries(
  sessionId: string,
  write: (session: Awaited<ReturnType<typeof openSession>>) => Promise<void>,
): Promise<readonly LogEntry[]> {
  const log = new MemoryLog();
  // Faults are thrown to the client, who caused them.
  const draft = await openSession(log, sessionId, { onError: () => undefined });
  try {
    await write(draft);
  } finally {
    await draft.close();
  }
  const entries: LogEntry[] = [];
  for (;;) {
    const page = await log.read(sessionId, { after: entries.length });
    const { records, texts } = page;
    if (records.length === 0) return entries;
    entries.push(...records.map((record, index) => ({ record, text: texts[index] as string })));
  }
}

function createRunIds({ session, key, messages }: HistoryRequest): (index: number) => string {
  const history = JSON.stringify([session, key, messages.slice(0, -1)]);
  const digest = createHash("sha256").update(history).digest("base64url").slice(0, 22);
  return (index) => `run-${digest}-${index}`;
}
