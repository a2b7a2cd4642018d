/** Converts sessions, runs and checkpoints of the log to API responses, and handles the pages of lists. */
import type { CommandState, Log, RunInfo, SessionInfo } from "../../log/index.ts";
import type { CheckpointInfo } from "../../log/checkpoints.ts";
import { formatCursor } from "../../log/cursor.ts";
import type { ForkOrigin, FoundSession } from "../../log/log.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { isLoomError } from "../../protocol/index.ts";
import type { Run, Session, SessionDetails, SessionList } from "../api/shapes.generated.ts";

export function describeSession(info: SessionInfo): Session {
  const { isPinned, isArchived } = info;
  const { sessionId, incarnation, title, createdAt, updatedAt, firstId, lastId, bytes, forkedFrom, rootId } = info;
  return {
    session_id: sessionId,
    // Older servers stored blank titles. Clients show their own word for a session without a title.
    ...(title === undefined || title.trim() === "" ? {} : { title }),
    ...(isPinned ? { is_pinned: true } : {}),
    ...(isArchived ? { is_archived: true } : {}),
    created_at: createdAt,
    // The runs of a forked or imported session are older than the session.
    updated_at: Math.max(createdAt, updatedAt),
    first_event_id: firstId,
    last_event_id: lastId,
    bytes,
    cursor: formatCursor(incarnation, lastId),
    ...(forkedFrom === undefined ? {} : { forked_from: describeOrigin(forkedFrom) }),
    root_id: rootId,
  };
}

/** Describes a session of a list, with the match if it was found by a search. */
export function describeFound(info: SessionInfo | FoundSession): SessionList["sessions"][number] {
  if (!("match" in info)) return describeSession(info);
  const { where, snippet, runId } = info.match;
  const match = dropUndefined({ where, snippet, run_id: runId });
  return { ...describeSession(info), match };
}

/** Describes a session of a list, with the status of its latest run. */
export async function describeWithStatus(log: Log, info: SessionInfo): Promise<SessionList["sessions"][number]> {
  const [latest] = await log.listRuns(info.sessionId, { limit: 1 }).catch(nothingIfDeleted);
  return { ...describeSession(info), ...(latest === undefined ? {} : { latest_status: latest.status }) };
}

/** The session was deleted after it was listed. */
function nothingIfDeleted(error: unknown): readonly RunInfo[] {
  if (isLoomError(error, "unknown_session")) return [];
  throw error;
}

/** Runs and queued messages in the details of a session. */
const LATEST_RUNS = 20;
export const MAX_QUEUED = 20;

/** Reads the latest runs and the queued messages of a session. `latest` is the newest version of its conversation. */
export async function readSessionDetails(log: Log, info: SessionInfo, latest: SessionInfo): Promise<SessionDetails> {
  const { sessionId } = info;
  // Read pending messages before runs: a message that starts in between is then seen at least once, and listed as a
  // run.
  const pending = await log.listPending(sessionId, log.limits.maxPendingCommands);
  const runs = await log.listRuns(sessionId, { limit: LATEST_RUNS });
  const started = new Set(runs.map(({ runId }) => runId));
  const waiting = pending
    .filter(({ kind }) => kind === "enqueue")
    .map(describeQueued)
    .filter(({ run_id }) => !started.has(run_id));
  const isLive = runs[0]?.status === "live";
  // Read again: a process may have taken the session since.
  const isOrphan = isLive && info.holder === undefined && (await log.getSession(sessionId))?.holder === undefined;
  return {
    ...describeSession(info),
    runs: runs.map(describeRun),
    is_busy: isLive || waiting.length > 0,
    ...(isOrphan ? { is_orphan: true } : {}),
    latest_version: latest.sessionId,
    queued: waiting.slice(0, MAX_QUEUED),
  };
}

function describeOrigin({ sessionId, runId, eventId }: ForkOrigin): NonNullable<Session["forked_from"]> {
  return dropUndefined({ session_id: sessionId, run_id: runId, event_id: eventId });
}

export function describeRun({
  runId,
  status,
  firstId,
  lastId,
  startedAt,
  endedAt,
  code,
  requestId,
  agent,
}: RunInfo): Run {
  return dropUndefined({
    run_id: runId,
    status,
    first_event_id: firstId,
    last_event_id: lastId,
    started_at: startedAt,
    ended_at: endedAt,
    code,
    request_id: requestId,
    agent,
  });
}

/** Describes a pending `enqueue` command. Its fields may be missing if another program wrote it. */
export function describeQueued({ commandId, body, createdAt }: CommandState): SessionDetails["queued"][number] {
  const { run_id: runId, message, agent, attachments } = body;
  return {
    command_id: commandId,
    run_id: typeof runId === "string" ? runId : "",
    message: typeof message === "string" ? message : "",
    ...(typeof agent === "string" ? { agent } : {}),
    ...(Array.isArray(attachments) && attachments.length > 0 ? { attachments } : {}),
    created_at: createdAt,
  };
}

/** For a JSON response: fields may be undefined. */
export function describeCheckpoint({ checkpointId, step, ns, runId, eventId, timestamp, next }: CheckpointInfo) {
  return { checkpoint_id: checkpointId, step, checkpoint_ns: ns, run_id: runId, event_id: eventId, timestamp, next };
}

const PAGE = 50;
const MAX_PAGE = 500;

interface PageQuery {
  readonly limit: number;
  readonly after?: string;
}

/**
 * Returns the items of the page that a list request asks for. If there are more, `next` is the key of the last item.
 * `list` has to return one item more than the page has.
 */
export async function readPage<K extends string, T extends { readonly [key in K]: string }>(
  { limit: given = PAGE, after = "" }: Partial<PageQuery>,
  key: K,
  list: (page: PageQuery) => Promise<readonly T[]>,
): Promise<{ readonly items: readonly T[]; readonly next?: string }> {
  const limit = Math.min(Math.max(1, given), MAX_PAGE);
  return cutPage(await list({ limit: limit + 1, ...(after === "" ? {} : { after }) }), limit, (item) => item[key]);
}

/** Returns the items of the page, and `next` if there are more. */
export function cutPage<T>(found: readonly T[], limit: number, keyOf: (item: T) => string) {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(found.length > limit && last !== undefined ? { next: keyOf(last) } : {}) };
}
