/**
 * Forks a session for an HTTP request: at a checkpoint, at a record, before a run, or with everything that has ended.
 *
 * Invariant: a request repeated with its idempotency key returns the fork it created, however far both sessions have
 * advanced.
 */
import { isDeepStrictEqual } from "node:util";
import { findMessageFault } from "../../agents/check-messages.ts";
import { deriveTitle } from "../../agents/derive-title.ts";
import { wrongState } from "../../log/fork-session.ts";
import { forkBeforeRun, forkSession, type Log, type SessionInfo } from "../../log/index.ts";
import type { RunLimit } from "../../log/log-limits.ts";
import type { CheckpointEvent } from "../../protocol/events.generated.ts";
import { isLoomError, type JsonObject, LoomError, type ToolRules } from "../../protocol/index.ts";
import type { ForkSession } from "../api/shapes.generated.ts";
import { findSession } from "./find-session.ts";
import { readRunStart } from "./run-records.ts";

/** Maximum number of checkpoints to search for one of the root graph. */
const MAX_CHECKPOINTS_SCANNED = 100;

export interface ForkRequest {
  readonly from: string;
  readonly to: string;
  readonly options: ForkSession;
  /** The request has an idempotency key and may be repeated. */
  readonly isKeyed: boolean;
  /** A copy of the whole session is a version of the same conversation. */
  readonly isVersion?: boolean;
  /** Owner of the new session. */
  readonly owner: string;
  /** Credential recorded in the new session. */
  readonly actor?: string | undefined;
  readonly tools?: ToolRules | undefined;
  /** Limit of that credential, for a run that continues in the fork. */
  readonly runLimit?: RunLimit | undefined;
  /** Converts the URL of an image of the original to that in the fork. */
  readonly moveImage: (url: string) => string;
}

export interface ForkedSessionInfo extends SessionInfo {
  /** Checkpoint from which a run is resumed, if any. */
  readonly checkpointId?: string;
}

/** Creates the fork, or returns the existing one if the request repeats an earlier one with the same key. */
export async function forkOnce(
  log: Log,
  request: ForkRequest,
): Promise<{ readonly fork: ForkedSessionInfo; readonly isNew: boolean }> {
  const { to, options, isKeyed } = request;
  assertForkOptions(options);
  try {
    return { fork: await forkAt(log, request), isNew: true };
  } catch (error) {
    if (!isKeyed || !isLoomError(error, "session_exists")) throw error;
    const fork = await findExistingFork(log, request);
    if (fork !== undefined) return { fork, isNew: false };
    if (options.session_id !== undefined) throw error;
    throw new LoomError("command_conflict", "This idempotency key was used for another fork", { session_id: to });
  }
}

/** Returns the session `to` if the request asks for the fork that it is. */
async function findExistingFork(log: Log, { from, to, options }: ForkRequest): Promise<ForkedSessionInfo | undefined> {
  const info = await log.getSession(to);
  const origin = info?.forkedFrom;
  if (info === undefined || origin?.sessionId !== from || origin.runId !== options.before_run) return undefined;
  if (origin.runId !== undefined) return info;
  const checkpointId = (await readCheckpointAt(log, info, origin.eventId))?.checkpoint_id;
  // A copy and a fork at a checkpoint differ in their derived ID.
  if (!resumesRun(options)) return options.session_id === undefined || checkpointId === undefined ? info : undefined;
  if (checkpointId === undefined || checkpointId !== (await findForkPoint(log, from, options))) return undefined;
  // A graph always writes records between two checkpoints, so a checkpoint that follows directly holds the replaced
  // state.
  const edited = await readCheckpointAt(log, info, origin.eventId + 1);
  if (edited === undefined) return options.state === undefined ? { ...info, checkpointId } : undefined;
  const { checkpoint_id: editedId, state } = edited;
  return isDeepStrictEqual(state, toStored(options.state)) ? { ...info, checkpointId: editedId } : undefined;
}

/** Returns undefined if the session does not store the record, or it is not a checkpoint. */
async function readCheckpointAt(
  log: Log,
  { sessionId, firstId, lastId }: SessionInfo,
  id: number,
): Promise<CheckpointEvent | undefined> {
  if (id < firstId || id > lastId) return undefined;
  const [record] = (await log.read(sessionId, { after: id - 1, limit: 1 })).records;
  return record?.event.type === "checkpoint" ? (record.event as CheckpointEvent) : undefined;
}

/** Channel values as the checkpoint of a fork stores them. */
function toStored(state: ForkSession["state"]): JsonObject | undefined {
  if (state === undefined) return undefined;
  return Object.fromEntries(Object.entries(state).map(([channel, set]) => [channel, { set }]));
}

/** Returns the checkpoint at which the request forks; undefined if there is none up to `after_event`. */
async function findForkPoint(log: Log, from: string, options: ForkSession): Promise<string | undefined> {
  const { checkpoint_id: checkpointId, after_event: eventId = 0 } = options;
  if (checkpointId !== undefined) return checkpointId;
  const info = await findSession(log, from);
  for (const point of await log.listLandmarks(from, "checkpoint", MAX_CHECKPOINTS_SCANNED, eventId + 1)) {
    const checkpoint = await readCheckpointAt(log, info, point.eventId);
    // The run of a subgraph cannot be resumed alone.
    if ((checkpoint?.checkpoint_ns ?? "") === "") return point.key;
  }
  return undefined;
}

/** False: everything that has ended is copied. */
export function hasForkPoint(options: ForkSession): boolean {
  return listForkPointFields(options).length > 0;
}

/** True if a run is resumed in the fork. */
export function resumesRun({ checkpoint_id, after_event }: ForkSession): boolean {
  return checkpoint_id !== undefined || after_event !== undefined;
}

function listForkPointFields({ checkpoint_id, after_event, before_run }: ForkSession): readonly unknown[] {
  return [checkpoint_id, after_event, before_run].filter((field) => field !== undefined);
}

function assertForkOptions(options: ForkSession): void {
  if (listForkPointFields(options).length > 1)
    throw new LoomError("invalid_request", "Set at most one of `checkpoint_id`, `after_event` and `before_run`");
  if (options.state !== undefined && !resumesRun(options))
    throw new LoomError("invalid_request", "`state` requires `checkpoint_id` or `after_event`");
}

/**
 * Returns the title of the conversation if nothing of it is copied, unless it was derived from the message that the fork
 * replaces.
 */
async function findGivenTitle(log: Log, from: string, runId: string | undefined): Promise<string | undefined> {
  const [info, run] = runId === undefined ? [] : await Promise.all([log.getSession(from), log.getRun(from, runId)]);
  if (info?.title === undefined || run === undefined || run.firstId > info.firstId) return undefined;
  const start = await readRunStart(log, from, run);
  if (start === undefined) return info.title;
  const { message = "", attachments } = start;
  return deriveTitle(message, attachments) === info.title ? undefined : info.title;
}

/** Throws unless messages of an agent are replaced by messages that can be sent to a model. */
function assertMessages({ messages: stored = [] }: JsonObject, { messages }: JsonObject): void {
  if (messages === undefined || !Array.isArray(stored) || stored.length === 0) return;
  // A graph of another program may have messages of any form.
  if (findMessageFault(stored) !== undefined) return;
  const fault = findMessageFault(messages);
  if (fault !== undefined) throw wrongState(`state.messages${fault.path}`, fault.expected);
}

async function forkAt(
  log: Log,
  { from, to, options, isVersion = false, moveImage, owner, actor, tools, runLimit }: ForkRequest,
): Promise<ForkedSessionInfo> {
  const { after_event: eventId, before_run: runId, state } = options;
  const title = options.title ?? (await findGivenTitle(log, from, runId));
  const base = { from, to, moveImage, owner, ...(title === undefined ? {} : { title }) };
  if (runId !== undefined) return forkBeforeRun(log, { ...base, runId });
  if (!hasForkPoint(options)) return forkBeforeRun(log, { ...base, isVersion });
  const edit = state === undefined ? {} : { state, checkState: assertMessages };
  const checkpointOptions = { ...base, actor, toolRules: tools, runLimit, ...edit };
  const point = await findForkPoint(log, from, options);
  if (point !== undefined) return forkSession(log, { ...checkpointOptions, checkpointId: point });
  throw new LoomError("unknown_checkpoint", `Session "${from}" has no checkpoint up to record ${eventId}`, {
    session_id: from,
  });
}
