/**
 * A session made of the beginning of another: its records up to and with a checkpoint, under a new name. The run of the
 * checkpoint is live there, and whoever opens it with `resume` goes on from where it was. For a while it is nobody's
 * orphan, so that others who recover do not end that run first.
 *
 * Invariants:
 * - All or nothing: the new session is there with all its records, or not at all, whatever is killed.
 * - The old one is only read. It may be written, and even deleted, meanwhile.
 */
import { randomUUID } from "node:crypto";
import { type CheckpointEvent, isJsonObject, type JsonObject, LoomError, MAX_JSON_DEPTH } from "../protocol/index.ts";
import { type CheckpointRecord, findCheckpoint } from "./checkpoints.ts";
import { copyEntries } from "./copy-entries.ts";
import { createEntry } from "./entry.ts";
import type { Log, SessionInfo } from "./log.ts";
import { assertName, assertOwner, assertTitle, sessionExists, unknownSession } from "./rules.ts";
import { takeOverRuns, type TakeOverOptions } from "./take-over-runs.ts";

export interface ForkOptions extends TakeOverOptions {
  /** The session whose past it shares. */
  readonly from: string;
  readonly checkpointId: string;
  /** The new session. Refused as `session_exists`. */
  readonly to: string;
  /**
   * Values to put in place of the checkpoint's, by channel. They are stored as one more checkpoint, of the same step. What
   * JSON has no form for is refused as `invalid_event`, with its path.
   */
  readonly state?: JsonObject;
  /** How long `recoverOrphans` leaves it to whoever made it. Anybody may open it at any time. */
  readonly graceMs?: number;
  /** That of the old one when absent. */
  readonly title?: string;
  /** Whose the new one is: that of the old one when absent. */
  readonly owner?: string;
  /** Where an image of the old session is in the new one. It stays where it is when absent. */
  readonly moveImage?: (url: string) => string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

const GRACE_MS = 60_000;
/** A value lies two deep in the event: in its channel, in what that is set to. */
const MAX_VALUE_DEPTH = MAX_JSON_DEPTH - 2;
const MAX_PATH_LENGTH = 200;

export interface ForkedSession extends SessionInfo {
  /** From which it goes on: the one that was asked for, or that with the new values. */
  readonly checkpointId: string;
}

/** Refused as `batch_too_large` where there is more before the checkpoint than `maxForkBytes` of the log. */
export async function forkSession(log: Log, options: ForkOptions): Promise<ForkedSession> {
  const { from, checkpointId, to, state, moveImage, graceMs = GRACE_MS, now = Date.now } = options;
  assertName("session", to);
  const info = await log.getSession(from);
  if (info === undefined) throw unknownSession(from);
  const { title = info.title, owner = info.owner } = options;
  assertTitle(title);
  assertOwner(owner);
  if ((await log.getSession(to)) !== undefined) throw sessionExists(to);
  const checkpoint = await findCheckpoint(log, info, checkpointId);
  assertRoot(checkpoint.event);
  const copied = await copyEntries(log, info, { to, lastId: checkpoint.envelope.event_id, moveImage });
  const entries = takeOverRuns(copied, options);
  const last = entries.at(-1)?.record as CheckpointRecord;
  const edited = state === undefined ? undefined : editState(last, state, now());
  if (edited !== undefined) entries.push(createEntry(edited));
  const named = title === undefined ? {} : { title };
  const made = await log.createSession(to, { ...named, owner, firstId: info.firstId, entries, graceMs });
  return { ...made, checkpointId: edited?.event.checkpoint_id ?? checkpointId };
}

function assertRoot({ checkpoint_id, checkpoint_ns = "" }: CheckpointEvent): void {
  if (checkpoint_ns === "") return;
  throw new LoomError(
    "unsupported",
    `checkpoint "${checkpoint_id}" is of the subgraph "${checkpoint_ns}": fork from one of the graph itself`,
    {
      checkpoint_id,
      checkpoint_ns,
    },
  );
}

function assertState(state: unknown): void {
  if (!isJsonObject(state)) throw wrongState("state", "an object of values by channel");
  for (const [channel, value] of Object.entries(state)) assertJson(value, `state.${channel}`, MAX_VALUE_DEPTH);
}

/** Throws unless JSON writes the value as it is. */
function assertJson(value: unknown, path: string, depth: number): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number" && Number.isFinite(value)) return;
  if (typeof value !== "object") throw wrongState(path, "a JSON value");
  if (depth <= 0) throw wrongState(path, `nested at most ${MAX_VALUE_DEPTH} deep`);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) assertJson(value[index], `${path}[${index}]`, depth - 1);
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  const isPlain = prototype === null || prototype === Object.prototype;
  if (!isPlain || "toJSON" in value) throw wrongState(path, "plain JSON, not an instance of a class");
  for (const [name, inner] of Object.entries(value)) assertJson(inner, `${path}.${name}`, depth - 1);
}

function wrongState(where: string, expected: string): LoomError {
  const path = where.slice(0, MAX_PATH_LENGTH).toWellFormed();
  return new LoomError("invalid_event", `\`${path}\` of the fork must be ${expected}`, { path });
}

function editState({ envelope, event }: CheckpointRecord, state: JsonObject, now: number) {
  assertState(state);
  const { step, thread_id, checkpoint_ns, next } = event;
  const edited = {
    type: "checkpoint",
    checkpoint_id: randomUUID(),
    timestamp: new Date(now).toISOString(),
    step,
    state: Object.fromEntries(Object.entries(state).map(([channel, set]) => [channel, { set }])),
    ...(thread_id === undefined ? {} : { thread_id }),
    ...(checkpoint_ns === undefined ? {} : { checkpoint_ns }),
    ...(next === undefined ? {} : { next }),
    delta: true,
  } as const;
  const ts = Math.max(now, envelope.ts ?? 0);
  return { envelope: { ...envelope, event_id: envelope.event_id + 1, ts }, event: edited };
}
