/**
 * The interface of a log: sessions, each an append-only list of records with contiguous IDs. One holder at a time
 * writes a session; any process may read it. The tests in `test/contracts/log` check every implementation.
 *
 * Invariants:
 * - Durable before visible: `read`, `peek` and hints only show committed records.
 * - An append is all or nothing. An old epoch throws `fenced`, a wrong last ID throws `conflict`, and an identical
 *   retry returns the same result.
 * - A read is complete or throws (`unknown_session`, `evicted`, `cursor_ahead`, `cursor_invalid`).
 * - Expected failures are LoomErrors; after one, nothing has changed.
 */
import type { ErrorCode, JsonObject, StampedRecord } from "../protocol/index.ts";
import type { LogLimits, RunLimit } from "./log-limits.ts";
import type { LogMonitor } from "./log-monitor.ts";
import type { Page } from "./page.ts";
import type { PruneReport, RetentionPolicy } from "./retention-policy.ts";
import type { SearchMatch } from "./search-text.ts";

/** A record and its stored text: its frame in the `loom` dialect, extended form. */
export interface LogEntry {
  readonly record: StampedRecord;
  readonly text: string;
}

/** Where a fork departs from the session it was copied from, which may have been pruned or deleted since. */
export interface ForkOrigin {
  readonly sessionId: string;
  /** Run before which the session was forked. Absent in a copy, and in a fork at a checkpoint. */
  readonly runId?: string;
  /** Last copied record. Its ID is the same in both sessions. */
  readonly eventId: number;
}

/** A session as the log describes it. */
export interface SessionInfo {
  readonly sessionId: string;
  /** Unique per creation: deleting and recreating a session changes it and makes its cursors stale. */
  readonly incarnation: string;
  readonly title: string | undefined;
  /** Whether its user pinned it to the top of the list. */
  readonly isPinned: boolean;
  /** Whether its user put it away, out of the list. */
  readonly isArchived: boolean;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** When the session was created or its latest run started or ended, in milliseconds since 1970. */
  readonly updatedAt: number;
  /** First stored record; `lastId + 1` if no record is stored. */
  readonly firstId: number;
  /** Last stored record; `firstId - 1` if no record is stored, which is 0 in a new session. */
  readonly lastId: number;
  /** Size of the stored records in bytes, with carried ones. */
  readonly bytes: number;
  /** Number of the latest lease; increases with every acquire and release. */
  readonly epoch: number;
  /** The current writer; undefined if the lease was released, has expired, or its holder is known to have ended. */
  readonly holder: string | undefined;
  /** Owner of the session; `local` by default. */
  readonly owner: string;
  /** Undefined if the session is not a fork, or was forked before origins were stored. */
  readonly forkedFrom: ForkOrigin | undefined;
  /** First session of the conversation; see `listBranches`. The session itself if it is not a version of another. */
  readonly rootId: string;
}

/** `live` until the run ends. */
export type RunStatus = "live" | "completed" | "error" | "cancelled";

/** A run of a session, as indexed by the log. */
export interface RunInfo {
  readonly runId: string;
  readonly status: RunStatus;
  readonly firstId: number;
  /** Last record; undefined while the run is live. */
  readonly lastId: number | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Milliseconds since 1970; undefined while the run is live. */
  readonly endedAt: number | undefined;
  /** Error code of a run that did not complete. */
  readonly code: string | undefined;
  readonly requestId: string | undefined;
  readonly agent: string | undefined;
}

/**
 * Kinds of events that are indexed by key. The index keeps the latest record of each key, of approvals only those without
 * an answer.
 */
export type LandmarkKind = "checkpoint" | "todo_list" | "tool_permission" | "tool_approval";

/** An indexed record of a session. */
export interface Landmark {
  readonly kind: LandmarkKind;
  /** The event's `checkpoint_id`, `list_id`, tool `name` or `call_id`. */
  readonly key: string;
  readonly eventId: number;
  readonly runId: string | undefined;
}

/**
 * The state of a stream's encoder after a record, so that a stream that starts later need not read the run from its
 * start. It is derived from the records, and the log may drop it at any time.
 */
export interface EncoderSnapshot {
  /** Identifies the incarnation of the session, the dialect, its options, and the version of the encoders. */
  readonly key: string;
  readonly eventId: number;
  readonly state: Uint8Array;
}

/** The right to write a session until it expires, is released, or is taken over. */
export interface Lease {
  readonly sessionId: string;
  readonly epoch: number;
  readonly incarnation: string;
  /** Last record of the session when the lease was granted. */
  readonly lastId: number;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** A lease that was just granted, and what its writer continues from. */
export interface AcquiredLease extends Lease {
  /** Time of the last record, in milliseconds since 1970; 0 if the session never had one. */
  readonly lastTs: number;
  /** Live runs, oldest first. */
  readonly liveRuns: readonly RunInfo[];
  /** The latest to-do lists, newest first, at most 100. */
  readonly todoLists: readonly Landmark[];
  /** The latest permissions of tools, newest first, at most 100. */
  readonly toolPermissions: readonly Landmark[];
  /** True if the last writer handed the session over when it released it; false if its process died, and otherwise. */
  readonly wasHandedOver: boolean;
}

/** Options of `release`. */
export interface ReleaseOptions {
  /** The writer stopped executing its live run, so that the next writer continues it. Default: false. */
  readonly handsOver?: boolean;
}

/** Options of `acquire`. */
export interface AcquireOptions {
  /** Name of the writer; see `describeHolder`. */
  readonly holder: string;
  /** Duration of the lease in milliseconds. */
  readonly ttlMs: number;
  /** Takes the lease even if its holder is alive. The old holder is fenced. Default: false. */
  readonly takeover?: boolean;
  /** Creates the session if it does not exist. If false, throws `unknown_session` instead. Default: true. */
  readonly create?: boolean;
}

/** Requests that the engine can execute. */
export type CommandKind = "cancel" | "approve" | "tool_result" | "permission" | "feedback" | "toggle" | "enqueue";

/** A request to a session. Any process may submit one; the holder of the lease executes it. */
export interface Command {
  /** Chosen by the caller. Submitting the same ID again returns the same command and its outcome. */
  readonly commandId: string;
  readonly sessionId: string;
  readonly kind: CommandKind;
  readonly body: JsonObject;
}

/** Options of `submit`. */
export interface SubmitOptions {
  /** Throws `unknown_session`, or `session_id_taken` with `create`, if the owner is another. Default: any owner. */
  readonly owner?: string | undefined;
  /**
   * Creates the session if it does not exist. A session without a title gets this one. Default: a missing session
   * throws `unknown_session`.
   */
  readonly create?: Pick<CreateOptions, "owner" | "title"> | undefined;
  /**
   * Maximum number of pending messages (`enqueue`) of the session. A new message above it throws `queue_full`. Default:
   * `MAX_QUEUED_MESSAGES`. See also `maxPendingCommands`.
   */
  readonly maxQueued?: number | undefined;
  /** Throws `run_live` for a new message if a run is live or another message is pending. Default: false. */
  readonly onlyIfIdle?: boolean | undefined;
  /** Throws `too_many_runs` for a new message at the limit, over all processes. Default: no limit. */
  readonly runLimit?: RunLimit | undefined;
  /** A command that is stored before this one, if this one is new. Both are stored, or neither. Default: none. */
  readonly interrupt?: Command | undefined;
}

/** Default of `maxQueued`: how many messages of a session can wait. */
export const MAX_QUEUED_MESSAGES = 100;

/** The result of a command. */
export interface CommandOutcome {
  /** `done`, or the error code. */
  readonly code: "done" | ErrorCode;
  readonly message?: string;
  /** The record written for the command. */
  readonly eventId?: number;
  readonly details?: JsonObject;
}

/** A submitted command. */
export interface CommandState extends Command {
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Undefined while the command is pending. */
  readonly outcome: CommandOutcome | undefined;
}

/** The outcome of a pending command. */
export interface Settlement {
  readonly commandId: string;
  readonly outcome: CommandOutcome;
}

/** A batch of records to append. */
export interface Append {
  readonly sessionId: string;
  /** Epoch of the writer's lease. */
  readonly epoch: number;
  /** ID of the last record the writer knows; the batch continues it. */
  readonly expectedLastId: number;
  readonly entries: readonly LogEntry[];
  /** Outcomes of pending commands, written in the same transaction. Throws `command_settled` if one is not pending. */
  readonly settle?: readonly Settlement[];
}

/** The result of an append. */
export interface AppendResult {
  readonly lastId: number;
  readonly isOverQuota?: boolean;
}

/** Number and size of the blobs of a session. */
export interface BlobUsage {
  readonly blobs: number;
  readonly bytes: number;
}

/** Options of `read`. */
export interface ReadOptions {
  /** ID of the last record already read; 0 starts at the beginning. */
  readonly after: number;
  /** Maximum number of records. Default: `maxPageRecords` of the log. */
  readonly limit?: number;
  /** Maximum size of the page in bytes, unless the first record is larger. Default: `maxPageBytes` of the log. */
  readonly maxBytes?: number;
}

/** Which part of a list to return. */
export interface PagingOptions {
  /** Maximum number of items, 1 to 1000. Default: 100. */
  readonly limit?: number;
  /** Key of the last item already listed: a session ID or a run ID. Throws `cursor_invalid` if it no longer exists. */
  readonly after?: string | undefined;
}

/** Options of `listSessions`. */
export interface ListSessionsOptions extends PagingOptions {
  /**
   * Lists only the sessions of this owner. Default: all owners. An `after` of another owner throws `cursor_invalid`.
   */
  readonly owner?: string;
  /** Lists only the newest version of each conversation; see `listBranches`. Default: false. */
  readonly isNewestVersion?: boolean;
  /** Lists only sessions that are pinned, or only those that are not. Default: both. */
  readonly isPinned?: boolean;
  /** Lists only sessions that are archived, or only those that are not. Default: both. */
  readonly isArchived?: boolean;
}

/** A session that has a live run or a queued message. */
export interface ActiveSession extends SessionInfo {
  /** Live runs, oldest first. */
  readonly liveRuns: readonly RunInfo[];
  /** Approvals that the live runs wait for, oldest first, at most 100. */
  readonly approvals: readonly Landmark[];
  /** Messages whose run has not started, oldest first, at most `MAX_QUEUED_MESSAGES`. */
  readonly queued: readonly CommandState[];
}

/** Options of `listActiveSessions`. */
export interface ListActiveSessionsOptions extends PagingOptions, Pick<ListSessionsOptions, "owner"> {
  /** Lists only sessions with a live run that waits for an approval. Default: false. */
  readonly isWaiting?: boolean;
}

/** Options of `listBranches`. */
export interface ListBranchesOptions extends PagingOptions {
  /** Lists the newest session first. Default: false. */
  readonly newestFirst?: boolean;
}

/** Options of `searchSessions`. */
export interface SearchSessionsOptions extends PagingOptions, Pick<ListSessionsOptions, "owner"> {
  /**
   * Words that must all occur in one text. A word of two or more characters also matches longer words that start with
   * it; in Chinese, Japanese and Korean any substring matches. Case, accents and punctuation are ignored. A query
   * without words finds nothing.
   */
  readonly query: string;
  /** Stops the search, which then throws the reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A session found by a search. */
export interface FoundSession extends SessionInfo {
  readonly match: SearchMatch;
}

/** Options of `watch`. */
export interface WatchSessionOptions {
  /** The listener will not read pages, so none are kept in memory for it. Default: the value of `commandsOnly`. */
  readonly hintsOnly?: boolean;
  /** Notify about commands, but not about records of this process. For the writer of a session. Default: false. */
  readonly commandsOnly?: boolean;
}

/** Options of a new session. */
export interface CreateOptions {
  /** Title of a new session, at most 1000 characters. */
  readonly title?: string | undefined;
  /** Default: false. */
  readonly isPinned?: boolean;
  /** Default: false. */
  readonly isArchived?: boolean;
  /**
   * Owner of a new session, 1 to 200 characters; it never changes. Default: `local`. Throws `session_exists` if an
   * owner is given and the session exists with another owner.
   */
  readonly owner?: string | undefined;
  /** ID of the first record of a new session, for imports and forks of pruned sessions. Default: 1. */
  readonly firstId?: number;
  /**
   * Records of the new session, at once or in pieces. It is created with all of them or not at all; throws
   * `session_exists` if it exists. A store writes pieces one by one, so that other writers do not wait, and the session
   * exists once the last one is durable. If the pieces throw, or the process ends, none of them remains.
   */
  readonly entries?: readonly LogEntry[] | AsyncIterable<readonly LogEntry[]>;
  /** Carried records of a new session, oldest first; see `readCarried`. Default: none. */
  readonly carried?: readonly LogEntry[];
  /** Milliseconds for which `listOrphans` does not list a new session that no writer has acquired. Default: 0. */
  readonly graceMs?: number;
  /** Origin of a new session that is a fork. Default: none. The origin need not exist in this log. */
  readonly forkedFrom?: ForkOrigin | undefined;
  /** First session of the conversation that a new session belongs to. Default: the new session. */
  readonly rootId?: string;
  /**
   * What a fork takes from its origin in the moment it appears, so that no change during the copy is lost. Values that are
   * given count only if the origin no longer exists. Requires `entries`.
   */
  readonly inherits?: InheritedValues;
  /** For records with a live run: throws `too_many_runs` at the limit. Requires `entries`. Default: no limit. */
  readonly runLimit?: RunLimit | undefined;
}

/** Which values a fork takes from its origin. */
export interface InheritedValues {
  /** Incarnation of the origin: another session with its ID is ignored. */
  readonly incarnation: string;
  readonly title: boolean;
  /** Whether it is pinned and archived. */
  readonly marks: boolean;
}

/** What a user can change about a session. */
export interface SessionChanges {
  /** At most 1000 characters. */
  readonly title?: string | undefined;
  readonly isPinned?: boolean;
  readonly isArchived?: boolean;
}

/** Options of `updateSession`. */
export interface UpdateSessionOptions {
  /** Changes nothing if the session has another title. Default: any title. */
  readonly ifTitle?: string;
}

/** Maximum length of a session, run or command ID in characters. Longer ones throw `invalid_name`. */
export const MAX_NAME_LENGTH = 256;

/** Stores sessions. `MemoryLog`, `openSqliteLog` and `openPostgresLog` implement it. */
export interface Log {
  readonly limits: LogLimits;
  /** Reports whether the log can be written. Absent if the log cannot fail. */
  readonly monitor?: LogMonitor;

  /** Creates the session unless it exists, and returns it. */
  createSession(sessionId: string, options?: CreateOptions): Promise<SessionInfo>;
  getSession(sessionId: string): Promise<SessionInfo | undefined>;
  /** Lists sessions in creation order, newest first. */
  listSessions(options?: ListSessionsOptions): Promise<readonly SessionInfo[]>;
  /**
   * Lists the sessions that have a live run or a queued message, in the order of `listSessions`. Its cost does not depend
   * on the number of other sessions.
   */
  listActiveSessions(options?: ListActiveSessionsOptions): Promise<readonly ActiveSession[]>;
  /**
   * Finds sessions by title, messages and replies, in the order of `listSessions`. A log may throw `search_timeout` and
   * `too_many_searches`.
   */
  searchSessions(options: SearchSessionsOptions): Promise<readonly FoundSession[]>;
  /**
   * Lists the versions of a conversation in creation order: the sessions with the same root and the same owner as this
   * one, which is among them.
   */
  listBranches(sessionId: string, options?: ListBranchesOptions): Promise<readonly SessionInfo[]>;
  /** Changes the given properties of a session and returns it. `updatedAt` stays the same. */
  updateSession(sessionId: string, changes: SessionChanges, options?: UpdateSessionOptions): Promise<SessionInfo>;
  /**
   * Deletes a session; returns false if it does not exist. Its writer is fenced and its cursors become stale, even if
   * the ID is used again. With an `epoch`, throws `fenced` unless that epoch holds the session.
   */
  deleteSession(sessionId: string, options?: { readonly epoch?: number }): Promise<boolean>;
  /** Lists sessions without a holder that have a live run or a pending command, in creation order. See `graceMs`. */
  listOrphans(options?: PagingOptions): Promise<readonly string[]>;

  /**
   * Acquires the lease of a session with the next epoch, which is never reused. Throws `lease_held` if a live holder
   * has it.
   */
  acquire(sessionId: string, options: AcquireOptions): Promise<AcquiredLease>;
  /** Extends a lease. Throws `fenced` if another writer has taken it. */
  renew(lease: Lease, ttlMs: number): Promise<Lease>;
  /** Ends a lease; its epoch can no longer append. Does nothing if the lease has already passed to another writer. */
  release(lease: Lease, options?: ReleaseOptions): Promise<void>;
  /**
   * Calls `listener` when a writer has released a session that `listOrphans` now lists. Hints may be late, unnecessary or
   * lost, so list the orphans regularly as well. Returns a function that stops watching. Absent if the log has no hints.
   */
  watchOrphans?(listener: () => void): () => void;
  /**
   * Runs the work of a run: what it reads from the store waits as long as an append if the store is away. Absent if all
   * reads of the log wait equally long.
   */
  waitLonger?<T>(work: () => Promise<T>): Promise<T>;

  /**
   * Appends a batch and resolves when it is durable. Batches of one session are written in call order, even without
   * awaiting each of them. `isOverQuota` is true if the owner has now reached `maxOwnerBytes`: the writer should then end
   * its run. The batch is stored nevertheless.
   */
  append(batch: Append): Promise<AppendResult>;
  /** Reads the records after a position. The page is empty at the end of the session. */
  read(sessionId: string, options: ReadOptions): Promise<Page>;
  /** Returns what later records refer to in pruned prompts (`llm_content`), oldest first. These records have no run. */
  readCarried(sessionId: string): Promise<readonly LogEntry[]>;
  /** Returns the records after `after` if this process still has them in memory. Often undefined, never wrong. */
  peek(sessionId: string, after: number): Page | undefined;
  /**
   * Calls `listener` when there may be new records or commands, written by any process, and when the session is created
   * or deleted or the log is closed. Hints may be duplicated, late or unnecessary, but none is lost: a log that shares
   * its store finds the changes of other processes itself. Returns a function that stops watching.
   */
  watch(sessionId: string, listener: () => void, options?: WatchSessionOptions): () => void;

  getRun(sessionId: string, runId: string): Promise<RunInfo | undefined>;
  /** Lists runs in the order they started, newest first. */
  listRuns(sessionId: string, options?: PagingOptions): Promise<readonly RunInfo[]>;
  /** Returns the first record an encoder must read to continue after record `id`; see `stream.ts`. */
  findFoldStart(sessionId: string, id: number): Promise<number>;
  /** Returns the latest snapshot with this key at or before record `id`; undefined if there is none or it is damaged. */
  findSnapshot(sessionId: string, key: string, id: number): Promise<EncoderSnapshot | undefined>;
  /** Stores a snapshot, unless the log is busy or the session does not exist. */
  saveSnapshot(sessionId: string, snapshot: EncoderSnapshot): Promise<void>;
  getLandmark(sessionId: string, kind: LandmarkKind, key: string): Promise<Landmark | undefined>;
  /** Lists landmarks, newest first; with `before`, only those before that record. */
  listLandmarks(sessionId: string, kind: LandmarkKind, limit?: number, before?: number): Promise<readonly Landmark[]>;

  /**
   * Adds a command to the inbox, in one transaction with the checks and changes of the options. Throws
   * `command_conflict` if the ID was used for another command, and `inbox_full` or `queue_full` at the limits. A refused
   * command leaves no trace: its ID can be submitted again later. A command that is already stored is never refused.
   */
  submit(command: Command, options?: SubmitOptions): Promise<CommandState>;
  getCommand(sessionId: string, commandId: string): Promise<CommandState | undefined>;
  /** Lists the sessions, of one owner or of all, that have a command with this ID; the latest command first, at most 100. */
  listSessionsOfCommand(commandId: string, owner?: string): Promise<readonly string[]>;
  /** Lists pending commands, oldest first. */
  listPending(sessionId: string, limit?: number): Promise<readonly CommandState[]>;

  /**
   * Records the blobs that a session is about to have, for the quota of its owner. The blobs themselves are stored
   * elsewhere. Throws `quota_exceeded`, and `unknown_session`.
   */
  setBlobUsage(sessionId: string, usage: BlobUsage): Promise<void>;

  /**
   * Removes old runs according to the policy, and outcomes of old commands. Prompts of later runs stay complete. One call
   * removes runs at a time, over all processes that share the store; another one reports `isBusy`.
   */
  prune(policy: RetentionPolicy): Promise<PruneReport>;
  /** Finishes pending operations and frees all resources. Later calls throw `store_closed`. */
  close(): Promise<void>;
}
