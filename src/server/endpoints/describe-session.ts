/** Sessions, runs and checkpoints of the log as the API shows them. */
import {
  type CheckpointInfo,
  type CommandState,
  formatCursor,
  type RunInfo,
  type SessionInfo,
} from "../../log/index.ts";
import type { JsonObject } from "../../protocol/index.ts";
import type { Run, Session, SessionDetails } from "../api/shapes.generated.ts";

export function describeSession(info: SessionInfo): Session {
  const { sessionId, incarnation, title, createdAt, updatedAt, firstId, lastId, bytes } = info;
  return {
    session_id: sessionId,
    ...(title === undefined ? {} : { title }),
    created_at: createdAt,
    // The runs of one that was forked or imported are older than itself.
    updated_at: Math.max(createdAt, updatedAt),
    first_event_id: firstId,
    last_event_id: lastId,
    bytes,
    cursor: formatCursor(incarnation, lastId),
  };
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

/** Of a command `enqueue`. Whoever wrote it may have said less. */
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

interface AskedPage {
  readonly limit: number;
  readonly after?: string;
}

/** One more than was asked for is looked up: whether there is a next page is then known. */
export function readPage(query: { readonly limit?: number; readonly after?: string }): AskedPage {
  const { limit = PAGE, after } = query;
  return {
    limit: Math.min(Math.max(1, limit), MAX_PAGE),
    ...(after === undefined || after === "" ? {} : { after }),
  };
}

/** The items of the page, and the `after` of the next where there is one. */
export function cutPage<T>(found: readonly T[], limit: number, keyOf: (item: T) => string) {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(found.length > limit && last !== undefined ? { next: keyOf(last) } : {}) };
}
