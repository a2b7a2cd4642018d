/**
 * Argument checks and errors shared by all log implementations. The writer thread of a store loads this module, so it
 * imports single protocol files: the whole protocol would slow down the start of the thread.
 */
import { Buffer } from "node:buffer";
import { describeValue } from "../protocol/fault.ts";
import { isDeeperThan, isJsonObject } from "../protocol/json.ts";
import { LoomError } from "../protocol/loom-error.ts";
import { hasMethods } from "../protocol/read-options.ts";
import {
  type Command,
  type CreateOptions,
  type Log,
  MAX_NAME_LENGTH,
  type SessionChanges,
  type SessionInfo,
  type SubmitOptions,
} from "./log.ts";
import type { LogLimits, RunLimit } from "./log-limits.ts";

/** Maximum number of items in a list. */
export const MAX_LIST = 1000;
const MAX_TITLE_LENGTH = 1000;

/** Maximum number of encoder snapshots of a session; beyond it the oldest are deleted. */
export const MAX_SNAPSHOTS = 4096;

/** Maximum length of an owner name in characters. Longer ones throw `invalid_name`. */
export const MAX_OWNER_LENGTH = 200;

/** Owner of sessions created without an owner, as on a server without authentication. */
export const LOCAL_OWNER = "local";

/** How long outcomes of commands are kept if the retention policy has no `maxAgeMs`. */
export const SETTLED_COMMANDS_MS = 7 * 24 * 60 * 60 * 1000;

const KINDS: ReadonlySet<string> = new Set<Command["kind"]>([
  "cancel",
  "approve",
  "tool_result",
  "permission",
  "feedback",
  "toggle",
  "enqueue",
]);

export function assertCommand({ commandId, kind, body }: Command, limits: LogLimits): void {
  assertName("command", commandId);
  if (!KINDS.has(kind)) throw new LoomError("invalid_command", `Unknown command kind "${kind}"`);
  if (!isJsonObject(body)) throw new LoomError("invalid_command", "The body of a command must be a JSON object");
  // A deeper or circular body would overflow the stack of JSON.stringify.
  if (isDeeperThan(body)) throw new LoomError("invalid_command", "The body of a command is nested too deeply");
  const bytes = Buffer.byteLength(JSON.stringify(body));
  if (bytes > limits.maxCommandBytes)
    throw new LoomError(
      "invalid_command",
      `The body of a command has at most ${limits.maxCommandBytes} bytes, not ${bytes}`,
    );
}

/** Throws `invalid_command` unless `interrupt` can be stored with the command. */
export function assertInterrupt(
  { commandId, sessionId }: Command,
  { interrupt }: SubmitOptions,
  limits: LogLimits,
): void {
  if (interrupt === undefined) return;
  assertCommand(interrupt, limits);
  if (interrupt.sessionId !== sessionId || interrupt.commandId === commandId)
    throw new LoomError("invalid_command", "The interrupt of a command must be another command of the same session");
}

export function assertFirstId(firstId: number): void {
  if (!Number.isSafeInteger(firstId) || firstId < 1)
    throw new LoomError(
      "conflict",
      `The first record ID of a session must be an integer of at least 1, not ${firstId}`,
    );
}

/** `reason` says why the existing session cannot be used. */
export function sessionExists(sessionId: string, reason?: string): LoomError {
  const details = { session_id: sessionId, ...(reason === undefined ? {} : { reason }) };
  const more = reason === undefined ? "" : `, and ${reason}`;
  return new LoomError("session_exists", `Session "${sessionId}" already exists${more}`, details);
}

export function unknownListCursor(after: string): LoomError {
  return new LoomError("cursor_invalid", `Cannot continue the list after "${after}": no such item`);
}

export function fenced(sessionId: string, epoch: number): LoomError {
  return new LoomError("fenced", `Session "${sessionId}" was taken over by another writer or released`, { epoch });
}

/** Throws `invalid_arguments` unless `log` is a log. A promise of one is a common mistake. */
export function assertLog(log: unknown): asserts log is Log {
  if (hasMethods(log, "append", "read")) return;
  const message = `\`log\` must be a Log, not ${describeValue(log)}`;
  throw new LoomError("invalid_arguments", message, { option: "log" });
}

function isName(name: unknown, maxLength: number): boolean {
  if (typeof name !== "string" || name === "" || name.length > maxLength) return false;
  return name.isWellFormed() && !name.includes("\0");
}

/** Throws `invalid_name` unless `name` is a valid ID of a session, run or command. */
export function assertName(what: string, name: unknown): asserts name is string {
  if (isName(name, MAX_NAME_LENGTH)) return;
  throw new LoomError(
    "invalid_name",
    `The ID of a ${what} must be a string of 1 to ${MAX_NAME_LENGTH} characters without NUL or lone surrogates`,
  );
}

/**
 * Throws `invalid_name` unless a session can be created with this ID. Clients resolve the path segments `.` and `..`,
 * even if encoded, so a request for such a session would reach another resource. Proxies reject or change control
 * characters.
 */
export function assertSessionId(sessionId: unknown): asserts sessionId is string {
  assertName("session", sessionId);
  if (!/^\.{1,2}$/.test(sessionId) && sessionId.trim() !== "" && !/\p{Cc}/u.test(sessionId)) return;
  throw new LoomError(
    "invalid_name",
    'The ID of a session must fit into a URL: it cannot be ".", ".." or blank, or contain control characters',
  );
}

/** Throws `invalid_name` or `conflict` unless origin and root are undefined or valid. */
export function assertLineage({ forkedFrom, rootId }: Pick<CreateOptions, "forkedFrom" | "rootId">): void {
  if (rootId !== undefined) assertSessionId(rootId);
  if (forkedFrom === undefined) return;
  const { sessionId, runId, eventId } = forkedFrom;
  assertSessionId(sessionId);
  if (runId !== undefined) assertName("run", runId);
  if (Number.isSafeInteger(eventId) && eventId >= 0) return;
  throw new LoomError("conflict", `The last copied record of a fork must be an integer of at least 0, not ${eventId}`);
}

/** Returns the title and the marks of a new session that appears now, with those of its origin if it inherits them. */
export function inheritValues(
  { title, isPinned = false, isArchived = false, inherits }: CreateOptions,
  origin: Pick<SessionInfo, "incarnation" | "title" | "isPinned" | "isArchived"> | undefined,
): Pick<SessionInfo, "title" | "isPinned" | "isArchived"> {
  if (inherits === undefined || origin === undefined || origin.incarnation !== inherits.incarnation)
    return { title, isPinned, isArchived };
  const marks = inherits.marks ? origin : { isPinned, isArchived };
  const { isPinned: pinned, isArchived: archived } = marks;
  return { title: inherits.title ? origin.title : title, isPinned: pinned, isArchived: archived };
}

/** Throws `invalid_name` unless `owner` is undefined or a valid owner. */
export function assertOwner(owner: unknown): asserts owner is string | undefined {
  if (owner === undefined || isName(owner, MAX_OWNER_LENGTH)) return;
  throw new LoomError(
    "invalid_name",
    `The owner of a session must be a string of 1 to ${MAX_OWNER_LENGTH} characters without NUL or lone surrogates`,
  );
}

/** Throws `invalid_name` unless the limit is undefined or one of a principal. */
export function assertActor(limit: RunLimit | undefined): void {
  if (limit !== undefined) assertName("principal", limit.actor);
}

/** Throws `invalid_name` unless `name` is a string. Whether it exists is checked by the log. */
export function assertText(what: string, name: unknown): asserts name is string {
  if (typeof name !== "string") throw new LoomError("invalid_name", `The ID of a ${what} must be a string`);
}

export function assertQuery(query: unknown): asserts query is string {
  if (typeof query === "string") return;
  throw new LoomError("invalid_arguments", `\`query\` must be a string, not ${describeValue(query)}`, {
    option: "query",
  });
}

/** Throws unless `after` is a position in a session that stores records `firstId` to `lastId`. */
export function assertPosition(sessionId: string, after: number, firstId: number, lastId: number): void {
  if (!Number.isSafeInteger(after) || after < 0)
    throw new LoomError("cursor_invalid", `A position must be an integer of at least 0, not ${after}`);
  if (after > lastId)
    throw new LoomError(
      "cursor_ahead",
      `Position ${after} is past the end of session "${sessionId}", which is record ${lastId}`,
      {
        session_id: sessionId,
        last_event_id: lastId,
      },
    );
  if (after < firstId - 1)
    throw new LoomError(
      "evicted",
      `Record ${after + 1} of session "${sessionId}" was pruned; the first stored record is ${firstId}`,
      {
        session_id: sessionId,
        first_event_id: firstId,
      },
    );
}

export function unknownSession(sessionId: string): LoomError {
  return new LoomError("unknown_session", `Session "${sessionId}" does not exist`, { session_id: sessionId });
}

/** Returns a session that was looked up. Throws `unknown_session` if it was not found. */
export function assertSession<T>(found: T | undefined, sessionId: string): T {
  if (found === undefined) throw unknownSession(sessionId);
  return found;
}

/** Returns a run that was looked up. Throws `unknown_run` if it was not found. */
export function assertRun<T>(found: T | undefined, sessionId: string, runId: string): T {
  if (found !== undefined) return found;
  throw new LoomError("unknown_run", `Session "${sessionId}" has no run "${runId}"`, { run_id: runId });
}

/** For requests that would create the session. Another owner has it. */
export function sessionIdTaken(sessionId: string): LoomError {
  return new LoomError("session_id_taken", `The session ID "${sessionId}" is taken; choose another ID`, {
    session_id: sessionId,
  });
}

/** Throws unless `ttlMs` is a valid duration of a lease or a grace period. */
export function assertDuration(ttlMs: number): void {
  if (!Number.isFinite(ttlMs) || ttlMs < 0)
    throw new RangeError(`A duration must be a number of milliseconds of at least 0, not ${ttlMs}`);
}

/** Throws `invalid_arguments`, and `invalid_name` for a title. */
export function assertChanges({ title, isPinned, isArchived }: SessionChanges): void {
  assertTitle(title);
  for (const value of [isPinned, isArchived])
    if (value !== undefined && typeof value !== "boolean")
      throw new LoomError("invalid_arguments", "`isPinned` and `isArchived` must be true or false");
}

export function assertTitle(title: unknown): void {
  if (title === undefined || (typeof title === "string" && title.length <= MAX_TITLE_LENGTH && title.isWellFormed()))
    return;
  throw new LoomError(
    "invalid_name",
    `A title must be a string of at most ${MAX_TITLE_LENGTH} characters without lone surrogates`,
  );
}

/** Maximum number of sessions that `listSessionsOfCommand` returns. */
export const MAX_SESSIONS_OF_COMMAND = 100;

/** Clamps the requested length of a list to 1 … `MAX_LIST`. Default: 100. */
export function clampListLimit(limit = 100): number {
  return Number.isNaN(limit) ? 100 : Math.min(Math.max(1, Math.floor(limit)), MAX_LIST);
}

/** Clamps the requested records or bytes of a page to 1 … `most`. Default: `most`. */
export function clampPageLimit(requested: number | undefined, most: number): number {
  return requested === undefined || Number.isNaN(requested) ? most : Math.max(1, Math.min(Math.floor(requested), most));
}
