/**
 * What a store of the log implements: its rows, and the changes that are atomic in it. `StoreLog` has checked the
 * arguments before, and notifies readers afterwards.
 *
 * Invariant: a change is complete and durable when it returns, or it throws and has changed nothing.
 */
import type { IndexChanges } from "./index-changes.ts";
import type {
  AcquiredLease,
  AcquireOptions,
  ActiveSession,
  Append,
  BlobUsage,
  CommandState,
  CreateOptions,
  EncoderSnapshot,
  FoundSession,
  Landmark,
  LandmarkKind,
  Lease,
  ListActiveSessionsOptions,
  ListBranchesOptions,
  ListSessionsOptions,
  LogEntry,
  PagingOptions,
  ReadOptions,
  RunInfo,
  SearchSessionsOptions,
  SessionChanges,
  SessionInfo,
  SubmitOptions,
} from "./log.ts";
import type { Page } from "./page.ts";
import type { PrunableStore } from "./prune-runs.ts";
import type { SessionRoom } from "./rules.ts";
import type { CommandRow, NewCommand } from "./stored-rows.ts";

/** A value, or a promise of it: some stores answer at once. */
export type Awaitable<T> = T | Promise<T>;

/** Reads the tables; see the methods of `Log`. Each read sees one state of the store. */
export interface TableReader {
  findSession(sessionId: string): Awaitable<SessionInfo | undefined>;
  listSessions(options: ListSessionsOptions): Awaitable<readonly SessionInfo[]>;
  listActiveSessions(options: ListActiveSessionsOptions): Awaitable<readonly ActiveSession[]>;
  listBranches(sessionId: string, options: ListBranchesOptions): Awaitable<readonly SessionInfo[]>;
  listOrphans(options: PagingOptions): Awaitable<readonly string[]>;
  readPage(sessionId: string, options: ReadOptions): Awaitable<Page>;
  readCarried(sessionId: string): Awaitable<readonly LogEntry[]>;
  findRun(sessionId: string, runId: string): Awaitable<RunInfo | undefined>;
  listRuns(sessionId: string, options: PagingOptions): Awaitable<readonly RunInfo[]>;
  findFoldStart(sessionId: string, id: number): Awaitable<number>;
  findSnapshot(sessionId: string, key: string, id: number): Awaitable<EncoderSnapshot | undefined>;
  findLandmark(sessionId: string, kind: LandmarkKind, key: string): Awaitable<Landmark | undefined>;
  listLandmarks(
    sessionId: string,
    kind: LandmarkKind,
    limit: number,
    before: number | undefined,
  ): Awaitable<readonly Landmark[]>;
  findCommand(sessionId: string, commandId: string): Awaitable<CommandState | undefined>;
  listSessionsOfCommand(commandId: string, owner: string | undefined): Awaitable<readonly string[]>;
  listPending(sessionId: string, limit: number): Awaitable<readonly CommandState[]>;
}

/** A session to create without records. */
export type NewSessionOptions = Omit<CreateOptions, "entries" | "inherits">;

/** A command to submit, with its checks. */
export interface CommandSubmission extends Pick<SubmitOptions, "owner" | "create"> {
  readonly sessionId: string;
  readonly command: NewCommand;
  /** Stored before the command. */
  readonly interrupt: NewCommand | undefined;
  readonly room: SessionRoom;
}

export interface LogTables {
  readonly reader: TableReader;
  /** What retention lists, measures and cuts. */
  readonly pruner: PrunableStore;
  /** The current time of the store, in milliseconds since 1970. */
  now(): Awaitable<number>;
  searchSessions(options: SearchSessionsOptions): Awaitable<readonly FoundSession[]>;

  /** Throws `session_exists` if the session has another owner, and `quota_exceeded`. */
  createSession(sessionId: string, options: NewSessionOptions): Awaitable<void>;
  /**
   * Creates a draft: a session without an ID, which no reader finds. Returns its key. A draft that is not written for a
   * while, or whose process ends, is discarded.
   */
  createDraft(options: NewSessionOptions): Awaitable<number>;
  /** Appends records to a draft that ends at record `after`. Throws `quota_exceeded`. */
  extendDraft(key: number, after: number, entries: readonly LogEntry[]): Awaitable<void>;
  /** Gives a draft its ID, which makes it a session. Throws `session_exists` and `quota_exceeded`. */
  publishDraft(key: number, sessionId: string, options: CreateOptions): Awaitable<void>;
  discardDraft(key: number): Awaitable<void>;
  /** With `ifTitle`, changes nothing if the session has another title. Throws `unknown_session`. */
  updateSession(sessionId: string, changes: SessionChanges, ifTitle: string | undefined): Awaitable<void>;
  /** See `Log.deleteSession`. */
  deleteSession(sessionId: string, epoch: number | undefined): Awaitable<boolean>;

  /** Throws `lease_held`, and `unknown_session` without `create`. */
  acquire(sessionId: string, options: Required<AcquireOptions>): Awaitable<AcquiredLease>;
  /** Throws `fenced` and `unknown_session`. */
  renew(lease: Lease, ttlMs: number): Awaitable<Lease>;
  /** Returns whether watchers of orphans are to be notified. */
  release(lease: Lease, handsOver: boolean): Awaitable<boolean>;

  /**
   * Appends a batch; see `Log.append`. `changes` is undefined if no index changes. The owner's quota may be read after the
   * batch is stored. Calls for one session are stored in call order.
   */
  append(batch: Append, changes: IndexChanges | undefined): Awaitable<{ readonly isOverQuota: Awaitable<boolean> }>;
  /** See `Log.submit`. */
  submit(submission: CommandSubmission): Awaitable<CommandRow>;
  /** Throws `unknown_session` and `quota_exceeded`. */
  setBlobUsage(sessionId: string, usage: BlobUsage): Awaitable<void>;
  /** Does nothing if the session was deleted or the record pruned. */
  saveSnapshot(sessionId: string, snapshot: EncoderSnapshot): Awaitable<void>;
  /** Deletes what is no longer needed, and the outcomes of commands that were settled before this time. */
  clean(settledBefore: number): Awaitable<void>;

  /** Called with each session that was changed, after its readers in this process were notified. */
  onChange?(sessionId: string): void;
  /** Called when a reader starts to watch a session. */
  startWatching?(): void;
  /** Called when no session is watched any longer. */
  stopWatching?(): void;
  /** Finishes pending changes. `whenIdle` waits for the calls that have begun. Later calls throw `store_closed`. */
  close(whenIdle: () => Promise<void>): Awaitable<void>;
}
