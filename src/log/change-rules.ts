/**
 * The rules of changes, the same for all stores: a store loads rows, asks a rule, and writes what it returns, all in one
 * transaction. A rule is a pure function. It throws a LoomError if the change is refused, and it never awaits.
 */
import { isDeepStrictEqual } from "node:util";
import { copyJson } from "../protocol/json.ts";
import { LoomError } from "../protocol/loom-error.ts";
import { MAX_QUEUED_MESSAGES, type SessionChanges, type Settlement } from "./log.ts";
import type { RunLimit } from "./log-limits.ts";
import type { CommandSubmission, SessionRoom } from "./log-tables.ts";
import type { OwnerUsage } from "./owner-quota.ts";
import { fenced, MAX_LIST, sessionExists, sessionIdTaken, unknownSession } from "./rules.ts";
import type { CommandRow, NewCommand } from "./stored-rows.ts";

/** The latest lease of a session. `holder` is null if it was released, or never granted. */
interface LeaseState {
  readonly epoch: number;
  readonly holder: string | null;
}

/** Throws `fenced` unless the epoch holds the session. */
export function assertEpoch(sessionId: string, { epoch: current, holder }: LeaseState, epoch: number): void {
  if (current !== epoch || holder === null) throw fenced(sessionId, current);
}

/** Throws `lease_held` if a live writer holds the session. */
export function assertFree(sessionId: string, holder: string | undefined, takeover: boolean): void {
  if (holder === undefined || takeover) return;
  throw new LoomError("lease_held", `Session "${sessionId}" is being written by another writer`, { holder });
}

/** Throws `session_exists` if a session to create exists with another owner. */
export function assertOwnerOf(sessionId: string, actual: string, owner: string | undefined): void {
  if (owner !== undefined && owner !== actual) throw sessionExists(sessionId);
}

/** What a user can change about a session. */
interface SessionMarks {
  readonly title: string | null;
  readonly isPinned: boolean;
  readonly isArchived: boolean;
}

/** Returns the new title and marks of a session; undefined if it has another title than `ifTitle`. */
export function changeMarks(
  marks: SessionMarks,
  { title, isPinned, isArchived }: SessionChanges,
  ifTitle: string | undefined,
): SessionMarks | undefined {
  if (ifTitle !== undefined && ifTitle !== marks.title) return undefined;
  return {
    title: title ?? marks.title,
    isPinned: isPinned ?? marks.isPinned,
    isArchived: isArchived ?? marks.isArchived,
  };
}

/** The numbers of a batch, and the commands it settles. */
interface BatchShape {
  readonly sessionId: string;
  readonly expectedLastId: number;
  readonly count: number;
  readonly settle: readonly Settlement[];
}

/** First and last record of a session. */
interface StoredRange {
  readonly firstId: number;
  readonly lastId: number;
}

/** The stored commands that a batch settles, in its order. */
type SettledCommands = readonly (Pick<CommandRow, "outcome"> | undefined)[];

/**
 * Whether the batch may be a retry of a stored one: its commands have these outcomes, and there are records with its IDs.
 * It is one if their texts are the same.
 */
export function mayBeStored(
  { firstId, lastId }: StoredRange,
  { expectedLastId, count, settle }: BatchShape,
  commands: SettledCommands,
): boolean {
  if (count + settle.length === 0 || (count > 0 && expectedLastId === lastId)) return false;
  if (expectedLastId < firstId - 1 || expectedLastId + count > lastId) return false;
  return settle.every(({ outcome }, index) => {
    const known = commands[index]?.outcome ?? null;
    return known !== null && isDeepStrictEqual(JSON.parse(known), copyJson(outcome));
  });
}

/** Throws `conflict` or `command_settled` unless the batch continues the session and its commands are pending. */
export function assertContinues(
  { lastId }: StoredRange,
  { sessionId, expectedLastId, settle }: BatchShape,
  commands: SettledCommands,
): void {
  if (lastId !== expectedLastId)
    throw new LoomError("conflict", `Session "${sessionId}" ends at record ${lastId}, not ${expectedLastId}`, {
      last_event_id: lastId,
    });
  for (const [index, { commandId }] of settle.entries()) {
    const isRepeated = settle.findIndex((other) => other.commandId === commandId) !== index;
    if (commands[index]?.outcome !== null || isRepeated)
      throw new LoomError("command_settled", `Command "${commandId}" of session "${sessionId}" is not pending`);
  }
}

/** What is going on in a session when a command is submitted. */
export interface SessionLoad {
  /** Pending commands, including messages. */
  readonly pending: number;
  readonly messages: number;
  /** A live run, if there is one. */
  readonly liveRun: string | undefined;
}

/** Throws `inbox_full`, `run_live` or `queue_full` if the session has no room for the commands. */
function assertRoom(
  sessionId: string,
  commands: readonly { readonly kind: string }[],
  { pending, messages, liveRun }: SessionLoad,
  { maxPending, maxQueued = MAX_QUEUED_MESSAGES, onlyIfIdle = false }: SessionRoom,
): void {
  if (pending + commands.length > maxPending)
    throw new LoomError("inbox_full", `Session "${sessionId}" has ${pending} pending commands; try again later`, {
      limit: maxPending,
    });
  if (!commands.some(({ kind }) => kind === "enqueue")) return;
  if (onlyIfIdle && liveRun !== undefined)
    throw new LoomError("run_live", `Run "${liveRun}" is live`, { run_id: liveRun });
  if (onlyIfIdle && messages > 0) throw new LoomError("run_live", "Another message is already waiting");
  // A list of pending commands has at most MAX_LIST items; messages must leave room for the others in it.
  const limit = Math.min(maxQueued, Math.ceil(Math.min(maxPending, MAX_LIST) / 2));
  if (messages >= limit)
    throw new LoomError("queue_full", `The queue is full: ${messages} messages are waiting; try again later`, {
      limit,
    });
}

/** A session to which a command is submitted. */
interface InboxState {
  readonly owner: string;
  readonly title: string | null;
  /** The commands that are stored with the IDs of the submitted ones. */
  readonly known: CommandRow | undefined;
  readonly knownInterrupt: CommandRow | undefined;
  readonly load: SessionLoad;
}

/** What to write for a submitted command. */
export interface AcceptedSubmission {
  /** Commands to add, in this order; none if the command is stored already. */
  readonly added: readonly NewCommand[];
  /** New title of an existing session; undefined if it stays the same. */
  readonly title: string | undefined;
  /** What the owner must have room for; undefined if the quota does not matter. */
  readonly needs: Partial<OwnerUsage> | undefined;
  /** The limit for which the store must count runs; see `assertRunLimit`. */
  readonly runLimit: RunLimit | undefined;
}

const NO_LOAD: SessionLoad = { pending: 0, messages: 0, liveRun: undefined };

/** See `Log.submit`. `session` is undefined if it does not exist. */
export function acceptCommand(
  { sessionId, command, interrupt, room, owner, create, runLimit }: CommandSubmission,
  session: InboxState | undefined,
): AcceptedSubmission {
  if (session === undefined && create === undefined) throw unknownSession(sessionId);
  if (session !== undefined && owner !== undefined && owner !== session.owner)
    throw create === undefined ? unknownSession(sessionId) : sessionIdTaken(sessionId);
  const title = session?.title === null ? create?.title : undefined;
  if (session?.known !== undefined) {
    assertSameCommand(session.known, command);
    return { added: [], title, needs: undefined, runLimit: undefined };
  }
  if (interrupt !== undefined && session?.knownInterrupt !== undefined)
    assertSameCommand(session.knownInterrupt, interrupt);
  const isInterrupting = interrupt !== undefined && session?.knownInterrupt === undefined;
  const added = isInterrupting ? [interrupt, command] : [command];
  assertRoom(sessionId, added, session?.load ?? NO_LOAD, room);
  // A message needs space for its run; other commands may end one.
  const isMessage = command.kind === "enqueue";
  return { added, title, needs: isMessage ? { bytes: 1 } : undefined, runLimit: isMessage ? runLimit : undefined };
}

/** Throws `too_many_runs` if the principal may not have another run. `runs` counts its live runs and pending messages. */
export function assertRunLimit(runs: number, { maxRuns: limit }: RunLimit): void {
  if (runs < limit) return;
  const message = `Run limit reached: ${limit} runs are live or queued; wait until one ends`;
  throw new LoomError("too_many_runs", message, { limit });
}

/** Throws `command_conflict` if the ID was used for another command. */
function assertSameCommand(known: CommandRow, { commandId, kind, body }: NewCommand): void {
  if (known.kind === kind && isDeepStrictEqual(JSON.parse(known.body), JSON.parse(body))) return;
  throw new LoomError("command_conflict", `The command ID "${commandId}" was already used for a different command`);
}
