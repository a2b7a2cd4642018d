/**
 * A session made of the beginning of another: its records up to and with a checkpoint, under a new name. The run of the
 * checkpoint is live there, and whoever opens it with `resume` goes on from where it was.
 *
 * Invariants:
 * - All or nothing: the new session is there with all its records, or not at all, whatever is killed.
 * - The old one is only read. It may be written, and even deleted, meanwhile.
 */
import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
import { type CheckpointEvent, type JsonObject, LoomError } from "../protocol/index.ts";
import { type CheckpointRecord, findCheckpoint } from "./checkpoints.ts";
import { createEntry } from "./entry.ts";
import type { Log, LogEntry, SessionInfo } from "./log.ts";
import { readPages } from "./read-pages.ts";
import { assertName, assertTitle, sessionExists, unknownSession } from "./rules.ts";
import { renameEntry } from "./transfer.ts";

export interface ForkOptions {
  /** The session whose past it shares. */
  readonly from: string;
  readonly checkpointId: string;
  /** The new session. Refused as `session_exists`. */
  readonly to: string;
  /** Values to put in place of the checkpoint's, by channel. They are stored as one more checkpoint, of the same step. */
  readonly state?: JsonObject;
  /** That of the old one when absent. */
  readonly title?: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export interface ForkedSession extends SessionInfo {
  /** From which it goes on: the one that was asked for, or that with the new values. */
  readonly checkpointId: string;
}

/** Refused as `batch_too_large` where there is more before the checkpoint than `maxForkBytes` of the log. */
export async function forkSession(log: Log, options: ForkOptions): Promise<ForkedSession> {
  const { from, checkpointId, to, state, now = Date.now } = options;
  assertName("session", to);
  const info = await log.getSession(from);
  if (info === undefined) throw unknownSession(from);
  const { title = info.title } = options;
  assertTitle(title);
  if ((await log.getSession(to)) !== undefined) throw sessionExists(to);
  const checkpoint = await findCheckpoint(log, info, checkpointId);
  assertRoot(checkpoint.event);
  const entries = await copyEntries(log, info, checkpoint.envelope.event_id, to);
  const last = entries.at(-1)?.record as CheckpointRecord;
  const edited = state === undefined ? undefined : editState(last, state, now());
  if (edited !== undefined) entries.push(createEntry(edited));
  const named = title === undefined ? {} : { title };
  const made = await log.createSession(to, { ...named, firstId: info.firstId, entries });
  return { ...made, checkpointId: edited?.event.checkpoint_id ?? checkpointId };
}

async function copyEntries(log: Log, info: SessionInfo, to: number, name: string): Promise<LogEntry[]> {
  const { maxForkBytes } = log.limits;
  const entries: LogEntry[] = [];
  let bytes = 0;
  for await (const { texts } of readPages(log, info, info.firstId - 1, to))
    for (const text of texts) {
      const entry = renameThread(renameEntry(text, info.sessionId, name), info.sessionId);
      entries.push(entry);
      bytes += Buffer.byteLength(entry.text);
      if (bytes > maxForkBytes)
        throw new LoomError("batch_too_large", `a fork may have ${maxForkBytes} bytes before its checkpoint`, {
          limit: maxForkBytes,
        });
    }
  return entries;
}

/** A checkpoint names its session itself. */
function renameThread(entry: LogEntry, old: string): LogEntry {
  const { envelope, event } = entry.record;
  if (event.type !== "checkpoint" || (event as CheckpointEvent).thread_id !== old) return entry;
  return createEntry({ envelope, event: { ...(event as CheckpointEvent), thread_id: envelope.session_id } });
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

function editState({ envelope, event }: CheckpointRecord, state: JsonObject, now: number) {
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
