/**
 * The contract of a log: sessions, each an append-only list of records with ids contiguous from 1, written by one holder
 * at a time and read by anybody. Implementations are tried by one suite, `log.contract.ts`.
 *
 * Invariants:
 * - Durable before visible: what `read`, `peek` and hints show has been committed.
 * - An append is all or nothing. A stale epoch is fenced, a wrong last id is a conflict, an identical retry gives the
 *   same answer.
 * - Reading is complete or refused by name (`unknown_session`, `evicted`, `cursor_ahead`, `cursor_invalid`).
 * - Every refusal is a LoomError; after one, nothing has changed.
 */
import type { ErrorCode, JsonObject, StampedRecord } from "../protocol/index.ts";
import type { Page } from "./page.ts";

/** A record and the text it is stored as: its frame in the `loom` dialect, extended form. */
export interface LogEntry {
  readonly record: StampedRecord;
  readonly text: string;
}

export interface SessionInfo {
  readonly sessionId: string;
  /** Changes when a session of the same name is made anew: cursors of the old one are stale. */
  readonly incarnation: string;
  readonly title: string | undefined;
  readonly createdAt: number;
  /** When it was made, or its latest run started or ended. */
  readonly updatedAt: number;
  /** The first id that is still held; one past `lastId` when none is. */
  readonly firstId: number;
  /** One before `firstId` when no record is held: 0 in a new session that begins at 1. */
  readonly lastId: number;
  /** Bytes of the records held. */
  readonly bytes: number;
  readonly epoch: number;
  /** Who writes it, if somebody does: the lease is neither released nor run out, and its holder not known to be gone. */
  readonly holder: string | undefined;
  /** Whose it is: `local` where nobody said. */
  readonly owner: string;
}

export type RunStatus = "live" | "completed" | "error" | "cancelled";

export interface RunInfo {
  readonly runId: string;
  readonly status: RunStatus;
  readonly firstId: number;
  /** Of its last record; undefined while it is live. */
  readonly lastId: number | undefined;
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** Why it did not complete. */
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  readonly agent: string | undefined;
}

/** What a session's records are found by, beside their ids: the latest record of each key. */
export type LandmarkKind = "checkpoint" | "todo_list";

export interface Landmark {
  readonly kind: LandmarkKind;
  /** `checkpoint_id`, `list_id`. */
  readonly key: string;
  readonly eventId: number;
  readonly runId: string | undefined;
}

/** The right to write a session until it runs out, is released, or somebody else takes it. */
export interface Lease {
  readonly sessionId: string;
  readonly epoch: number;
  readonly incarnation: string;
  readonly lastId: number;
  readonly expiresAt: number;
}

export interface AcquireOptions {
  /** Who asks; see `describeHolder`. */
  readonly holder: string;
  readonly ttlMs: number;
  /** Take it even from a living holder, who is fenced from then on. */
  readonly takeover?: boolean;
}

export type CommandKind = "cancel" | "approve" | "toggle" | "enqueue";

/** What somebody asks of a session from outside. Any process may write one; the holder of the lease carries it out. */
export interface Command {
  /** Chosen by whoever asks; the same id again is the same command, and gets the same answer. */
  readonly commandId: string;
  readonly sessionId: string;
  readonly kind: CommandKind;
  readonly body: JsonObject;
}

export interface CommandOutcome {
  /** What became of it: done, or why not. */
  readonly code: "done" | ErrorCode;
  readonly message?: string;
  /** The record it became. */
  readonly eventId?: number;
  readonly details?: JsonObject;
}

export interface CommandState extends Command {
  readonly createdAt: number;
  /** Undefined while it waits. */
  readonly outcome: CommandOutcome | undefined;
}

export interface Settlement {
  readonly commandId: string;
  readonly outcome: CommandOutcome;
}

export interface Append {
  readonly sessionId: string;
  readonly epoch: number;
  /** The id of the last record the writer knows of; the batch follows it. */
  readonly expectedLastId: number;
  readonly entries: readonly LogEntry[];
  /** Commands answered by this batch, in the same transaction; all must still wait. */
  readonly settle?: readonly Settlement[];
}

export interface ReadOptions {
  /** The id of the last record already read; 0 for the beginning. */
  readonly after: number;
  /** At most so many records; at least one is given where there is one. */
  readonly limit?: number;
  readonly maxBytes?: number;
}

export interface ListOptions {
  readonly limit?: number;
  /** The key of the last item already listed: a session id, or a run id. One that is gone is `cursor_invalid`. */
  readonly after?: string;
}

export interface ListSessionsOptions extends ListOptions {
  /** Only those of this owner; those of anybody when absent. Going on after one of another's is `cursor_invalid`. */
  readonly owner?: string;
}

export interface SearchOptions extends ListSessionsOptions {
  /**
   * Words that must all be in one text: at its beginning a word may stand for a longer one, of Chinese and the like any
   * piece is found. Case, accents and punctuation do not count. Where nothing in it counts, nothing is found.
   */
  readonly query: string;
}

/** Where a session has what was searched for: in its title, or else in the latest text that has it. */
export interface SearchMatch {
  readonly where: "title" | "message" | "answer";
  /** What is around it, on one line. */
  readonly snippet: string;
  /** The run it was said in; absent for a title. */
  readonly runId?: string;
}

export interface FoundSession extends SessionInfo {
  readonly match: SearchMatch;
}

export interface RenameOptions {
  readonly onlyUntitled?: boolean;
}

export interface WatchOptions {
  /** True for those who will not read: nothing is kept in memory on their account. */
  readonly hintsOnly?: boolean;
  /** True for whoever writes the session, and knows what it writes: records of this process give no hint. */
  readonly commandsOnly?: boolean;
}

/**
 * What may go. Only whole ended runs go, oldest first, with what lies before them, and never one that began after a live
 * one. A session without runs stays until it is deleted.
 */
export interface RetentionPolicy {
  /** Runs that ended longer ago than this. */
  readonly maxAgeMs?: number;
  /** Of one session. */
  readonly maxSessionBytes?: number;
  /** Of the whole store. */
  readonly maxBytes?: number;
  /** The time to reckon from; now when absent. */
  readonly now?: number;
}

export interface PruneReport {
  readonly runs: number;
  readonly records: number;
  readonly bytes: number;
  /** Sessions that were passed over because they are damaged; absent when there were none. */
  readonly damaged?: readonly string[];
}

export interface LogLimits {
  /** Of one record's text. Code `event_too_large`. */
  readonly maxEventBytes: number;
  /** Of one append. Code `batch_too_large`. */
  readonly maxBatchRecords: number;
  readonly maxBatchBytes: number;
  /** Of the records a session is made with: a fork. Code `batch_too_large`. */
  readonly maxForkBytes: number;
  /** Of one read, whatever was asked for. */
  readonly maxPageRecords: number;
  readonly maxPageBytes: number;
  /** Commands of one session that wait. Code `inbox_full`. */
  readonly maxPendingCommands: number;
  /** Of one command's body. Code `invalid_command`. */
  readonly maxCommandBytes: number;
  /** Records of one session kept in memory for those who follow it. */
  readonly maxFeedBytes: number;
}

export const LOG_LIMITS: LogLimits = {
  maxEventBytes: 1024 * 1024,
  maxBatchRecords: 10_000,
  maxBatchBytes: 8 * 1024 * 1024,
  maxForkBytes: 64 * 1024 * 1024,
  maxPageRecords: 1000,
  maxPageBytes: 1024 * 1024,
  maxPendingCommands: 1000,
  maxCommandBytes: 64 * 1024,
  maxFeedBytes: 1024 * 1024,
};

export interface CreateOptions {
  readonly title?: string;
  /**
   * Whose a new one is: a text of 1 to 200 characters, `local` when absent. It does not change. Where one is named and
   * the session is there already and another's, it is refused as `session_exists`.
   */
  readonly owner?: string;
  /** Where a new one begins: an import or a fork of a pruned session. */
  readonly firstId?: number;
  /**
   * The records it has from the beginning: the session is made with all of them or not at all, and refused as
   * `session_exists` where it is there already.
   */
  readonly entries?: readonly LogEntry[];
  /** How long `listOrphans` leaves a new one to whoever made it, unless somebody holds it before; 0 when absent. */
  readonly graceMs?: number;
}

/** Characters of a session's, run's or command's name. Code `invalid_name`. */
export const MAX_NAME_LENGTH = 256;

export interface Log {
  readonly limits: LogLimits;

  /** Makes the session unless it is there already. */
  createSession(sessionId: string, options?: CreateOptions): Promise<SessionInfo>;
  getSession(sessionId: string): Promise<SessionInfo | undefined>;
  /** In the order of their making, newest first. */
  listSessions(options?: ListSessionsOptions): Promise<readonly SessionInfo[]>;
  /** Those whose title, messages or replies have what is asked for, in the order of `listSessions`. */
  searchSessions(options: SearchOptions): Promise<readonly FoundSession[]>;
  /** `onlyUntitled`: one that has a title already keeps it. */
  renameSession(sessionId: string, title: string, options?: RenameOptions): Promise<SessionInfo>;
  /**
   * False when there was none. Its writer is fenced; its cursors are refused, even if the name is used again. With an
   * `epoch` only its holder may delete it, others are `fenced`.
   */
  deleteSession(sessionId: string, options?: { readonly epoch?: number }): Promise<boolean>;
  /**
   * Sessions with a live run or a waiting command, and nobody who holds them, in the order of their making; see
   * `graceMs`.
   */
  listOrphans(options?: ListOptions): Promise<readonly string[]>;

  /** Makes the session if need be, and gives the caller the next epoch; none is used twice. Refused as `lease_held`. */
  acquire(sessionId: string, options: AcquireOptions): Promise<Lease>;
  /** Refused as `fenced` when the session has passed to somebody else. */
  renew(lease: Lease, ttlMs: number): Promise<Lease>;
  /** Ends the lease; its epoch can append no more. Nothing happens when it had passed on already. */
  release(lease: Lease): Promise<void>;

  /** Resolves once durable. Batches of one session are taken in the order they were given, awaited or not. */
  append(batch: Append): Promise<{ readonly lastId: number }>;
  read(sessionId: string, options: ReadOptions): Promise<Page>;
  /** What follows `after`, if this process still has it in memory since it was committed. Never wrong, often absent. */
  peek(sessionId: string, after: number): Page | undefined;
  /**
   * Calls `listener` when there may be more to read, or commands to carry out. A hint may come twice, late, or for
   * nothing, and with a process that dies it is lost: whoever waits looks again now and then.
   */
  watch(sessionId: string, listener: () => void, options?: WatchOptions): () => void;

  getRun(sessionId: string, runId: string): Promise<RunInfo | undefined>;
  /** In the order they began, newest first. */
  listRuns(sessionId: string, options?: ListOptions): Promise<readonly RunInfo[]>;
  /** Where the records begin that an encoder must see to go on after record `id`: see `stream.ts`. */
  findFoldStart(sessionId: string, id: number): Promise<number>;
  getLandmark(sessionId: string, kind: LandmarkKind, key: string): Promise<Landmark | undefined>;
  /** Newest first; `before`: only those that lie before this record. */
  listLandmarks(sessionId: string, kind: LandmarkKind, limit?: number, before?: number): Promise<readonly Landmark[]>;

  /** Refused as `command_conflict` when the id stands for something else, as `inbox_full` past the limit. */
  submit(command: Command): Promise<CommandState>;
  getCommand(sessionId: string, commandId: string): Promise<CommandState | undefined>;
  /** Those that wait, in the order they came. */
  listPending(sessionId: string, limit?: number): Promise<readonly CommandState[]>;

  prune(policy: RetentionPolicy): Promise<PruneReport>;
  /** Finishes what was asked for, then lets go of everything. What is asked for afterwards is refused. */
  close(): Promise<void>;
}
