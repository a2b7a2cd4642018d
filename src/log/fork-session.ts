/**
 * Forks a session at a checkpoint: copies its records up to the checkpoint into a new session. The run of the
 * checkpoint is live there and continues when the session is opened with `resume`. For a grace period the new session
 * is not listed as an orphan, so that recovery in another process does not take the run first.
 *
 * Invariants:
 * - The new session has all copied records or does not exist, even if the process is killed.
 * - The source session is only read; it may be written or deleted in the meantime.
 */
import { randomUUID } from "node:crypto";
import { type JsonObject, LoomError, type StampedRecord } from "../protocol/index.ts";
import type { CheckpointEvent } from "../protocol/events.generated.ts";
import { isJsonObject, MAX_JSON_DEPTH } from "../protocol/json.ts";
import { type CheckpointRecord, findCheckpoint, readChannels } from "./checkpoints.ts";
import { copyCarried, copyEntries, copyEntry } from "./copy-entries.ts";
import { createEntry } from "./entry.ts";
import { describeFork } from "./fork-before-run.ts";
import type { Log, LogEntry, SessionInfo } from "./log.ts";
import type { RunLimit } from "./log-limits.ts";
import { readPages } from "./read-pages.ts";
import { assertSessionId, assertOwner, assertTitle, sessionExists, assertSession } from "./rules.ts";
import { LiveRunFold, type TakeOverOptions } from "./take-over-runs.ts";

/** Options of `forkSession`. */
export interface ForkOptions extends TakeOverOptions {
  /** Session to copy from. */
  readonly from: string;
  /** Checkpoint to fork from. Throws `unknown_checkpoint`. */
  readonly checkpointId: string;
  /** ID of the new session. Throws `session_exists`. */
  readonly to: string;
  /**
   * Values that replace those of the checkpoint, by channel. They are stored as one more checkpoint of the same step.
   * Throws `invalid_event` with the path of a value that is not JSON, of an unknown channel, or of a value that is not a
   * list or an object where the channel needs one.
   */
  readonly state?: JsonObject;
  /** Checks the values of `state` further, before anything is written: throws if they do not fit those of the checkpoint. */
  readonly checkState?: (stored: JsonObject, state: JsonObject) => void;
  /**
   * Milliseconds for which `recoverOrphans` leaves the new session alone; it can be opened at any time. Default:
   * 60,000.
   */
  readonly graceMs?: number;
  /** Title of the new session. Default: the title of the source. */
  readonly title?: string;
  /** Owner of the new session. Default: the owner of the source. */
  readonly owner?: string;
  /** Throws `too_many_runs` if the user who forks has no room for the run that continues. Default: no limit. */
  readonly runLimit?: RunLimit | undefined;
  /** Maps the URL of an image to its URL in the new session. URLs are kept if absent. */
  readonly moveImage?: (url: string) => string;
}

const GRACE_MS = 60_000;
/** A value is nested two levels deep in the event: in its channel and in `set`. */
const MAX_VALUE_DEPTH = MAX_JSON_DEPTH - 2;
const MAX_PATH_LENGTH = 200;

/** A new session created by `forkSession`. */
export interface ForkedSession extends SessionInfo {
  /** Checkpoint from which the run continues: the requested one, or the one with the replaced values. */
  readonly checkpointId: string;
}

/**
 * Creates a session from the records up to a checkpoint. The checkpoint must belong to the root graph.
 *
 * Throws `unknown_session`, `unknown_checkpoint`, `session_exists`, `unsupported`, `invalid_event`, and
 * `batch_too_large` if the records exceed `maxForkBytes` of the log.
 */
export async function forkSession(log: Log, options: ForkOptions): Promise<ForkedSession> {
  const { from, checkpointId, to, state, moveImage, graceMs = GRACE_MS, runLimit } = options;
  assertSessionId(to);
  const info = assertSession(await log.getSession(from), from);
  const { title, owner = info.owner } = options;
  assertTitle(title);
  assertOwner(owner);
  if ((await log.getSession(to)) !== undefined) throw sessionExists(to);
  const checkpoint = await findCheckpoint(log, info, checkpointId);
  assertRoot(checkpoint.event);
  const last = copyEntry(createEntry(checkpoint).text, from, { to, moveImage }).record as CheckpointRecord;
  const edited = state === undefined ? undefined : editState(last, state);
  if (state !== undefined) await assertFits(log, info, checkpoint, { ...options, state });
  const entries = copyUpTo(log, info, checkpoint.envelope.event_id, options, edited);
  const forkedFrom = { sessionId: from, eventId: checkpoint.envelope.event_id };
  const fresh = describeFork(info, { to, title, inheritsTitle: title === undefined, owner, isVersion: true });
  const copy = { to, lastId: last.envelope.event_id, hasOtherOwner: owner !== info.owner };
  const carried = await copyCarried(log, info, copy);
  const made = await log.createSession(to, { ...fresh, forkedFrom, runLimit, carried, entries, graceMs });
  return { ...made, checkpointId: edited?.event.checkpoint_id ?? checkpointId };
}

/** Reads the records twice: only after the last of them is it known which runs are live at the checkpoint. */
async function* copyUpTo(
  log: Log,
  info: SessionInfo,
  lastId: number,
  options: ForkOptions,
  edited: StampedRecord | undefined,
): AsyncGenerator<readonly LogEntry[], void, undefined> {
  const { to, moveImage } = options;
  const live = new LiveRunFold();
  for await (const { records } of readPages(log, info, info.firstId - 1, lastId))
    for (const record of records) live.take(record);
  live.assertTransferable(options);
  const hasOtherOwner = (options.owner ?? info.owner) !== info.owner;
  for await (const entries of copyEntries(log, info, { to, lastId, moveImage, hasOtherOwner }))
    yield entries.map((entry) => live.transfer(entry, options));
  if (edited !== undefined) yield [createEntry(edited)];
}

function assertRoot({ checkpoint_id, checkpoint_ns = "" }: CheckpointEvent): void {
  if (checkpoint_ns === "") return;
  throw new LoomError(
    "unsupported",
    `Checkpoint "${checkpoint_id}" belongs to subgraph "${checkpoint_ns}"; fork from a checkpoint of the root graph`,
    {
      checkpoint_id,
      checkpoint_ns,
    },
  );
}

function assertState(state: unknown): void {
  if (!isJsonObject(state)) throw wrongState("state", "an object with a value per channel");
  for (const [channel, value] of Object.entries(state)) assertJson(value, `state.${channel}`, MAX_VALUE_DEPTH);
}

/** Throws if the run could not continue with the values. */
async function assertFits(
  log: Log,
  info: SessionInfo,
  checkpoint: CheckpointRecord,
  { state, checkState }: Pick<ForkOptions, "checkState"> & { readonly state: JsonObject },
): Promise<void> {
  const { values, replaced } = await readChannels(log, info, checkpoint);
  if (values === undefined) return;
  for (const [channel, value] of Object.entries(state)) {
    const path = `state.${channel}`;
    if (!Object.hasOwn(values, channel)) throw wrongState(path, "a channel of the checkpoint");
    if (replaced.has(channel)) continue;
    if (Array.isArray(values[channel]) && !Array.isArray(value)) throw wrongState(path, "a list");
    if (isJsonObject(values[channel]) && !isJsonObject(value)) throw wrongState(path, "an object");
  }
  checkState?.(values, state);
}

/** Throws unless JSON represents the value exactly. */
function assertJson(value: unknown, path: string, depth: number): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  if (typeof value !== "object") throw wrongState(path, "a JSON value");
  if (depth <= 0) throw wrongState(path, `nested at most ${MAX_VALUE_DEPTH} levels deep`);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) assertJson(value[index], `${path}[${index}]`, depth - 1);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === null || prototype === Object.prototype;
  if (!isPlain || "toJSON" in value) throw wrongState(path, "plain JSON, not a class instance");
  for (const [name, inner] of Object.entries(value)) assertJson(inner, `${path}.${name}`, depth - 1);
}

/** The error for a value that cannot be used. @internal */
export function wrongState(where: string, expected: string): LoomError {
  const path = where.slice(0, MAX_PATH_LENGTH).toWellFormed();
  return new LoomError("invalid_event", `\`${path}\` of the fork must be ${expected}`, { path });
}

function editState({ envelope, event }: CheckpointRecord, state: JsonObject) {
  assertState(state);
  const now = Date.now();
  const { step, thread_id, checkpoint_ns = "", next } = event;
  const edited = {
    type: "checkpoint",
    checkpoint_id: randomUUID(),
    timestamp: new Date(now).toISOString(),
    step,
    state: Object.fromEntries(Object.entries(state).map(([channel, set]) => [channel, { set }])),
    ...(thread_id === undefined ? {} : { thread_id }),
    checkpoint_ns,
    ...(next === undefined ? {} : { next }),
    delta: true,
  } as const;
  const ts = Math.max(now, envelope.ts ?? 0);
  return { envelope: { ...envelope, event_id: envelope.event_id + 1, ts }, event: edited };
}
