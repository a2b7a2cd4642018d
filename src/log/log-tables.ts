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
  Append,
  CreateOptions,
  Lease,
  Log,
  LogEntry,
  RunInfo,
  SessionChanges,
  SubmitOptions,
} from "./log.ts";
import type { PrunableStore } from "./prune-runs.ts";
import type { CommandRow, NewCommand } from "./stored-rows.ts";

/** A value, or a promise of it: some stores answer at once. */
export type Awaitable<T> = T | Promise<T>;

/** A method of `Log`, as a store implements it. */
type LogMethod<K extends keyof Log> = Log[K] extends (...args: infer A) => Promise<infer R>
  ? (...args: A) => Awaitable<R>
  : never;

type ReadMethod =
  | "getSession"
  | "listSessions"
  | "listActiveSessions"
  | "listBranches"
  | "listOrphans"
  | "read"
  | "readCarried"
  | "getRun"
  | "listRuns"
  | "findFoldStart"
  | "findSnapshot"
  | "getLandmark"
  | "listLandmarks"
  | "getCommand"
  | "listSessionsOfCommand"
  | "listPending";

/** Reads the tables. Each read sees one state of the store. */
export type TableReader = { readonly [K in ReadMethod]: LogMethod<K> } & {
  /** Lists live runs, oldest first. */
  readonly listLiveRuns: (sessionId: string) => Awaitable<readonly RunInfo[]>;
};

/** A lease that was just granted. */
export type GrantedLease = Lease & Pick<AcquiredLease, "wasHandedOver">;

/** A session to create, without its records. */
export type NewSessionOptions = Omit<CreateOptions, "entries">;

/** How much a session can take; see `SubmitOptions` and `maxPendingCommands`. */
export interface SessionRoom extends Pick<SubmitOptions, "maxQueued" | "onlyIfIdle"> {
  readonly maxPending: number;
}

/** A command to submit, with its checks. */
export interface CommandSubmission extends Pick<SubmitOptions, "owner" | "create" | "runLimit"> {
  readonly sessionId: string;
  readonly command: NewCommand;
  /** Stored before the command. */
  readonly interrupt: NewCommand | undefined;
  readonly room: SessionRoom;
}

/** The result of an append. */
export interface StoredBatch {
  /** Whether the owner has reached its quota; it may be read after the batch is stored. */
  readonly isOverQuota: Awaitable<boolean>;
  /** The texts of the batch joined by line feeds, if the store has joined them. */
  readonly text?: string;
}

export interface LogTables {
  readonly reader: TableReader;
  /** What retention lists, measures and cuts. */
  readonly pruner: PrunableStore;
  /** The current time of the store, in milliseconds since 1970. */
  now(): Awaitable<number>;
  readonly searchSessions: LogMethod<"searchSessions">;

  /** Throws `session_exists` if the session has another owner, and `quota_exceeded`. */
  createSession(sessionId: string, options: NewSessionOptions): Awaitable<void>;
  /**
   * Creates a draft: a session without an ID, which no reader finds. Returns its key. A draft that is not written for a
   * while, or whose process ends, is discarded.
   */
  createDraft(options: NewSessionOptions): Awaitable<number>;
  /** Appends records to a draft that ends at record `after`. Throws `quota_exceeded`. */
  extendDraft(key: number, after: number, entries: readonly LogEntry[], changes: IndexChanges): Awaitable<void>;
  /** Gives a draft its ID, which makes it a session. Throws `session_exists`, `quota_exceeded` and `too_many_runs`. */
  publishDraft(key: number, sessionId: string, options: NewSessionOptions): Awaitable<void>;
  discardDraft(key: number): Awaitable<void>;
  /** With `ifTitle`, changes nothing if the session has another title. Throws `unknown_session`. */
  updateSession(sessionId: string, changes: SessionChanges, ifTitle: string | undefined): Awaitable<void>;
  /** See `Log.deleteSession`. */
  deleteSession(sessionId: string, epoch: number | undefined): Awaitable<boolean>;

  /** Throws `lease_held`, and `unknown_session` without `create`. */
  acquire(sessionId: string, options: Required<AcquireOptions>): Awaitable<GrantedLease>;
  /** Throws `fenced` and `unknown_session`. */
  readonly renew: LogMethod<"renew">;
  /** Returns whether watchers of orphans are to be notified. */
  release(lease: Lease, handsOver: boolean): Awaitable<boolean>;

  /**
   * Appends a batch; see `Log.append`. `changes` is undefined if no index changes. Calls for one session are stored in call
   * order.
   */
  append(batch: Append, changes: IndexChanges | undefined): Awaitable<StoredBatch>;
  /** See `Log.submit`. */
  submit(submission: CommandSubmission): Awaitable<CommandRow>;
  /** Throws `unknown_session` and `quota_exceeded`. */
  readonly setBlobUsage: LogMethod<"setBlobUsage">;
  /** Does nothing if the session was deleted or the record pruned. */
  readonly saveSnapshot: LogMethod<"saveSnapshot">;
  /** Deletes what is no longer needed, and the outcomes of commands that were settled before this time. */
  clean(settledBefore: number): Awaitable<void>;

  /** Called with each session that was changed, after its readers in this process were notified. */
  onChange?(sessionId: string): void;
  /** Called when a reader starts to watch a session, also after `close`. */
  startWatching?(): void;
  /** Called when no session is watched any longer. */
  stopWatching?(): void;
  /** Finishes pending changes. `whenIdle` waits for the calls that have begun. Later calls throw `store_closed`. */
  close(whenIdle: () => Promise<void>): Awaitable<void>;
}
