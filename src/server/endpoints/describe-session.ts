/** Converts sessions, runs and checkpoints of the log to API responses, and handles the pages of lists. */
import type { CheckpointInfo, CommandState, ForkOrigin, RunInfo, SessionInfo } from "../../log/index.ts";
import { formatCursor } from "../../log/cursor.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { Run, Session, SessionDetails } from "../api/shapes.generated.ts";

export function describeSession(info: SessionInfo): Session {
  const { isPinned, isArchived } = info;
  const { sessionId, incarnation, title, createdAt, updatedAt, firstId, lastId, bytes, forkedFrom, rootId } = info;
  return {
    session_id: sessionId,
    ...(title === undefined ? {} : { title }),
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

function describeOrigin({ sessionId, runId, eventId }: ForkOrigin): NonNullable<Session["forked_from"]> {
  return { session_id: sessionId, ...(runId === undefined ? {} : { run_id: runId }), event_id: eventId };
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
  return {
    run_id: runId,
    status,
    first_event_id: firstId,
    ...(lastId === undefined ? {} : { last_event_id: lastId }),
    started_at: startedAt,
    ...(endedAt === undefined ? {} : { ended_at: endedAt }),
    ...(code === undefined ? {} : { code }),
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(agent === undefined ? {} : { agent }),
  };
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

export function describeCheckpoint({ checkpointId, step, ns, runId, eventId, timestamp, next }: CheckpointInfo) {
  return {
    checkpoint_id: checkpointId,
    step,
    checkpoint_ns: ns,
    ...(runId === undefined ? {} : { run_id: runId }),
    event_id: eventId,
    timestamp,
    ...(next === undefined ? {} : { next: next as unknown as readonly JsonObject[] }),
  };
}

const PAGE = 50;
const MAX_PAGE = 500;

interface PageQuery {
  readonly limit: number;
  readonly after?: string;
}

/**
 * Reads limit and cursor of a list request. Callers fetch one item more than `limit` to know whether there is a next
 * page.
 */
export function readPageQuery(query: { readonly limit?: number; readonly after?: string }): PageQuery {
  const { limit = PAGE, after } = query;
  return {
    limit: Math.min(Math.max(1, limit), MAX_PAGE),
    ...(after === undefined || after === "" ? {} : { after }),
  };
}

/** Returns the items of the page, and `next` if there are more. */
export function cutPage<T>(found: readonly T[], limit: number, keyOf: (item: T) => string) {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(found.length > limit && last !== undefined ? { next: keyOf(last) } : {}) };
}
