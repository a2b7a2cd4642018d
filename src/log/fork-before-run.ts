/**
 * Forks a session before one of its runs, for example to edit and resend a message. Without a run ID, it copies
 * everything up to the live run. No run continues in the new session; the next message is answered with the copied
 * history.
 *
 * Invariants:
 * - The new session has all copied records or does not exist. The source session is only read.
 * - No run of the new session is live.
 */
import { LoomError } from "../protocol/index.ts";
import { copyCarried, copyEntries } from "./copy-entries.ts";
import { findIndexChanges } from "./index-changes.ts";
import type { CreateOptions, Log, LogEntry, SessionInfo } from "./log.ts";
import { readRuns } from "./read-pages.ts";
import { assertSessionId, assertOwner, assertTitle, sessionExists, assertRun, assertSession } from "./rules.ts";

/** Options of `forkBeforeRun`. */
export interface ForkBeforeRunOptions {
  /** Session to copy from. */
  readonly from: string;
  /** First run that is not copied. Default: the live run, or none if no run is live. Throws `unknown_run`. */
  readonly runId?: string;
  /** ID of the new session. Throws `session_exists`. */
  readonly to: string;
  /** Title of the new session. Default: the title of the source, or none if nothing is copied. */
  readonly title?: string;
  /** Owner of the new session. Default: the owner of the source. */
  readonly owner?: string;
  /** True: a copy of the whole session is a version of the same conversation. Default: it begins another one. */
  readonly isVersion?: boolean;
  /** Maps the URL of an image to its URL in the new session. URLs are kept if absent. */
  readonly moveImage?: (url: string) => string;
}

/**
 * Creates a session from the records before a run.
 *
 * Throws `unknown_session`, `unknown_run`, `session_exists`, `batch_too_large` if the records exceed `maxForkBytes` of
 * the log, and `unsupported` if another run is still live where this run begins.
 *
 * ```ts
 * await forkBeforeRun(log, { from: "chat-7", runId: "run-2", to: "chat-7-edited", isVersion: true });
 * ```
 */
export async function forkBeforeRun(log: Log, options: ForkBeforeRunOptions): Promise<SessionInfo> {
  const { from, runId, to, moveImage } = options;
  assertSessionId(to);
  assertTitle(options.title);
  assertOwner(options.owner);
  const info = assertSession(await log.getSession(from), from);
  const lastId =
    runId === undefined
      ? await findLastIdleRecord(log, info)
      : assertRun(await log.getRun(from, runId), from, runId).firstId - 1;
  if ((await log.getSession(to)) !== undefined) throw sessionExists(to);
  const { owner = info.owner } = options;
  const copy = { to, lastId, hasOtherOwner: owner !== info.owner };
  const carried = await copyCarried(log, info, copy);
  const copied = copyEntries(log, info, { ...copy, moveImage });
  const entries = runId === undefined ? copied : assertEnded(copied, runId);
  const inheritsTitle = options.title === undefined && lastId >= info.firstId;
  const isVersion = runId !== undefined || options.isVersion === true;
  const forkedFrom = { sessionId: from, ...(runId === undefined ? {} : { runId }), eventId: lastId };
  const fresh = describeFork(info, { to, title: options.title, inheritsTitle, owner, isVersion });
  return log.createSession(to, { ...fresh, forkedFrom, carried, entries });
}

interface ForkTarget {
  readonly to: string;
  readonly title: string | undefined;
  /** It gets the title of its origin. */
  readonly inheritsTitle: boolean;
  readonly owner: string;
  /** It is a version of the conversation, unless it has another owner: then it begins one. */
  readonly isVersion: boolean;
}

/** Returns the properties of a fork. A version of a conversation is pinned and archived like the others. */
export function describeFork(
  info: SessionInfo,
  { to, owner, inheritsTitle, isVersion, ...fork }: ForkTarget,
): CreateOptions {
  const { incarnation, firstId, isPinned, isArchived } = info;
  const { title } = inheritsTitle ? info : fork;
  const hasRoot = isVersion && owner === info.owner;
  return {
    title,
    ...(hasRoot ? { isPinned, isArchived } : {}),
    inherits: { incarnation, title: inheritsTitle, marks: hasRoot },
    owner,
    firstId,
    rootId: hasRoot ? info.rootId : to,
  };
}

/** Returns the last record at which no run is live. In imported sessions, runs may overlap or never end. */
async function findLastIdleRecord(log: Log, { sessionId, lastId }: SessionInfo): Promise<number> {
  let last = lastId;
  // Newest first: a run across the position moves it back, and the runs after it no longer matter.
  for await (const run of readRuns(log, sessionId))
    if (run.firstId <= last && (run.lastId ?? Infinity) > last) last = run.firstId - 1;
  return last;
}

/** Runs written by Loom follow one another; imported runs may overlap. Throws after the last piece. */
async function* assertEnded(
  pieces: AsyncIterable<readonly LogEntry[]>,
  runId: string,
): AsyncGenerator<readonly LogEntry[], void, undefined> {
  const live = new Set<string>();
  const ended = new Set<string>();
  for await (const entries of pieces) {
    const { starts, ends } = findIndexChanges(entries);
    for (const start of starts) if (!ended.has(start.runId)) live.add(start.runId);
    for (const end of ends) {
      ended.add(end.runId);
      live.delete(end.runId);
    }
    yield entries;
  }
  const [open] = live;
  if (open === undefined) return;
  throw new LoomError(
    "unsupported",
    `Run "${open}" is still live where run "${runId}" begins; fork before another run`,
    { run_id: open },
  );
}
