/**
 * What every log asks of names, positions, leases and commands before it does anything. The writing thread of a store
 * loads this too, so it takes from the protocol no more than it needs: all of it would make the thread slow to start.
 */
import { Buffer } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import { isDeeperThan, isJsonObject } from "../protocol/json.ts";
import { LoomError } from "../protocol/loom-error.ts";
import { type Command, type CommandOutcome, type LogLimits, MAX_NAME_LENGTH } from "./log.ts";

/** Items of one list, whatever was asked for. */
const MAX_LIST = 1000;
const MAX_TITLE_LENGTH = 1000;

/** Characters of an owner's name. Code `invalid_name`. */
export const MAX_OWNER_LENGTH = 200;

/** Whose sessions are that nobody claims: those made on this machine, without authentication. */
export const LOCAL_OWNER = "local";

/** How long the answer to a command is remembered where no retention is asked for. */
export const SETTLED_COMMANDS_MS = 7 * 24 * 60 * 60 * 1000;

const KINDS: ReadonlySet<string> = new Set<Command["kind"]>(["cancel", "approve", "toggle", "enqueue"]);

export function assertCommand({ commandId, kind, body }: Command, limits: LogLimits): void {
  assertName("command", commandId);
  if (!KINDS.has(kind)) throw new LoomError("invalid_command", `there is no command "${kind}"`);
  if (!isJsonObject(body)) throw new LoomError("invalid_command", "the body of a command is a JSON object");
  // Deeper ones, or such as hold themselves, overflow the stack where they are written out.
  if (isDeeperThan(body)) throw new LoomError("invalid_command", "the body of a command nests too deep");
  const bytes = Buffer.byteLength(JSON.stringify(body));
  if (bytes > limits.maxCommandBytes)
    throw new LoomError("invalid_command", `a command may have ${limits.maxCommandBytes} bytes, not ${bytes}`);
}

export function isSameCommand(a: Command, b: Command): boolean {
  return a.kind === b.kind && isDeepStrictEqual(a.body, JSON.parse(JSON.stringify(b.body)));
}

export function isSameOutcome(known: CommandOutcome | undefined, outcome: CommandOutcome): boolean {
  return known !== undefined && isDeepStrictEqual(known, JSON.parse(JSON.stringify(outcome)));
}

export function assertFirstId(firstId: number): void {
  if (!Number.isSafeInteger(firstId) || firstId < 1)
    throw new LoomError("conflict", `the first record of a session is numbered from 1 on, not ${firstId}`);
}

export function leaseHeld(sessionId: string, holder: string): LoomError {
  return new LoomError("lease_held", `session "${sessionId}" is being written by somebody else`, { holder });
}

/** `reason` says why what is there cannot be taken for what was asked for. */
export function sessionExists(sessionId: string, reason?: string): LoomError {
  const details = { session_id: sessionId, ...(reason === undefined ? {} : { reason }) };
  const more = reason === undefined ? "" : `, and ${reason}`;
  return new LoomError("session_exists", `there is a session "${sessionId}" already${more}`, details);
}

/** A list cannot go on after an item that is not in it. */
export function unknownPlace(after: string): LoomError {
  return new LoomError("cursor_invalid", `the list has no "${after}" to go on after`);
}

export function fenced(sessionId: string, epoch: number): LoomError {
  return new LoomError("fenced", `session "${sessionId}" has passed to another writer`, { epoch });
}

/** Throws unless `name` can be the name of a session, a run or a command. */
export function assertName(what: string, name: unknown): asserts name is string {
  const isText = typeof name === "string" && name.isWellFormed() && !name.includes("\0");
  if (isText && name !== "" && name.length <= MAX_NAME_LENGTH) return;
  throw new LoomError("invalid_name", `the name of a ${what} must be a text of 1 to ${MAX_NAME_LENGTH} characters`);
}

/** Throws unless `owner` can own a session, or nobody is named. */
export function assertOwner(owner: unknown): asserts owner is string | undefined {
  if (owner === undefined) return;
  const isText = typeof owner === "string" && owner.isWellFormed() && !owner.includes("\0");
  if (isText && owner !== "" && owner.length <= MAX_OWNER_LENGTH) return;
  throw new LoomError("invalid_name", `the owner of a session must be a text of 1 to ${MAX_OWNER_LENGTH} characters`);
}

/** Throws unless `name` is a text at all; that nothing has such a name is for the log to say. */
export function assertText(what: string, name: unknown): asserts name is string {
  if (typeof name !== "string") throw new LoomError("invalid_name", `the name of a ${what} must be a text`);
}

/** Throws unless `after` can be a position in a session that holds `firstId` to `lastId`. */
export function assertPosition(sessionId: string, after: number, firstId: number, lastId: number): void {
  if (!Number.isSafeInteger(after) || after < 0)
    throw new LoomError("cursor_invalid", `a position is a whole number from 0 on, not ${after}`);
  if (after > lastId)
    throw new LoomError("cursor_ahead", `session "${sessionId}" ends at ${lastId}, before ${after}`, {
      session_id: sessionId,
      last_event_id: lastId,
    });
  if (after < firstId - 1)
    throw new LoomError("evicted", `session "${sessionId}" is held from ${firstId} on; ${after + 1} is gone`, {
      session_id: sessionId,
      first_event_id: firstId,
    });
}

export function unknownSession(sessionId: string): LoomError {
  return new LoomError("unknown_session", `there is no session "${sessionId}"`, { session_id: sessionId });
}

/** How long a lease lasts. */
export function assertTerm(ttlMs: number): void {
  if (!Number.isFinite(ttlMs) || ttlMs < 0)
    throw new RangeError(`a lease lasts a number of milliseconds from 0 on, not ${ttlMs}`);
}

export function assertTitle(title: unknown): void {
  if (title === undefined || (typeof title === "string" && title.length <= MAX_TITLE_LENGTH && title.isWellFormed()))
    return;
  throw new LoomError("invalid_name", `a title is a text of at most ${MAX_TITLE_LENGTH} characters`);
}

/** Items of one list: what was asked for, within reason. */
export function boundList(limit = 100): number {
  return Number.isNaN(limit) ? 100 : Math.min(Math.max(1, Math.floor(limit)), MAX_LIST);
}

/** Records or bytes of one page: at least one, at most what the log allows, all it allows when nothing was asked for. */
export function boundPage(asked: number | undefined, most: number): number {
  return asked === undefined || Number.isNaN(asked) ? most : Math.max(1, Math.min(Math.floor(asked), most));
}
