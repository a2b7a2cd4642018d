/**
 * What the commands need of sessions, wherever these are. `LocalService` reads and writes a store, `RemoteService`
 * calls a server. Both return the shapes of the HTTP API, so that `--json` prints the same.
 *
 * Expected failures are LoomErrors with the same codes, such as `unknown_session`.
 */
import type { CommandResult } from "../../client/index.ts";
import type { ClientCommand } from "../../client/transport.ts";
import type { Dialect, DialectName } from "../../dialects/index.ts";
import type { Framing } from "../../framing/detect-framing.ts";
import type { StreamFrame } from "../../log/index.ts";
import type { StampedRecord } from "../../protocol/index.ts";
import type { StreamModes } from "../../protocol/stream-modes.ts";
import type {
  Agents,
  Approvals,
  ErasedOwner,
  ForkedSession,
  ForkSession,
  IngestResult,
  Run,
  Session,
  SessionDetails,
  SessionList,
} from "../../server/api/shapes.generated.ts";

export type ListedSession = SessionList["sessions"][number];
export type PendingDecision = Approvals["approvals"][number];

export interface ListedPage<T> {
  readonly items: readonly T[];
  /** Key of the next page; absent on the last one. */
  readonly next?: string;
}

export interface ListPageRequest {
  /** Maximum number of items, 1 to 500. */
  readonly limit: number;
  readonly after?: string | undefined;
}

export interface ListSessionsRequest extends ListPageRequest {
  /** Words to search for. Default: lists all sessions. */
  readonly query?: string | undefined;
  readonly isArchived?: boolean | undefined;
}

/** How to read a session from a position on. */
export interface FollowRequest {
  /** A cursor, or the ID of a record as text. Default: the first stored record. */
  readonly after?: string | undefined;
  /** Waits for new records at the end. */
  readonly follow: boolean;
  readonly signal: AbortSignal;
  /** Receives why the connection was lost, and undefined when it is back. */
  readonly onInterruption?: ((message: string | undefined) => void) | undefined;
}

export interface FramesRequest extends FollowRequest {
  readonly dialect: DialectName;
  readonly strict?: boolean | undefined;
  readonly modes?: StreamModes | undefined;
}

/** Records that were read together. */
export interface RecordBatch {
  readonly records: readonly StampedRecord[];
  readonly lastId: number;
}

export interface IngestRequest {
  readonly sessionId: string;
  readonly body: AsyncIterable<Uint8Array>;
  readonly dialect: Dialect | undefined;
  readonly framing: Framing | undefined;
  readonly signal: AbortSignal;
}

export interface ImportRequest {
  readonly body: AsyncIterable<Uint8Array>;
  /** Default: the ID in the file. */
  readonly sessionId?: string | undefined;
  /** Title of a new session. Default: derived from its first message. */
  readonly title?: string | undefined;
  readonly signal: AbortSignal;
}

export interface ImportedSession extends Session {
  /** Number of records that the session did not have before. */
  readonly added: number;
}

/** A file to attach to a message. */
export interface FileUpload {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

export type ServerAgent = Agents["agents"][number];

/** A message, as `loom run` sent it. */
export interface SubmittedMessage {
  readonly runId: string;
  readonly commandId: string;
}

export interface SessionService extends AsyncDisposable {
  /** True for a server: its processes continue runs. */
  readonly isRemote: boolean;
  listSessions(request: ListSessionsRequest): Promise<ListedPage<ListedSession>>;
  /** Lists the IDs of the sessions with a live or queued run. */
  listActiveSessions(request: ListPageRequest): Promise<ListedPage<string>>;
  /** Returns undefined if the session does not exist. */
  getSession(sessionId: string): Promise<SessionDetails | undefined>;
  /** Lists the runs of a session, newest first. */
  listRuns(sessionId: string, request: ListPageRequest): Promise<ListedPage<Run>>;
  /** Lists the tool calls that wait for approval. */
  listApprovals(sessionId: string): Promise<readonly PendingDecision[]>;
  /** Yields the stored records as NDJSON. */
  exportSession(sessionId: string, signal: AbortSignal): AsyncIterable<string | Uint8Array>;
  importSession(request: ImportRequest): Promise<ImportedSession>;
  forkSession(sessionId: string, options: ForkSession): Promise<ForkedSession>;
  /** Returns false if the session does not exist. */
  deleteSession(sessionId: string): Promise<boolean>;
  /** Erases everything of an owner, also files and credentials. */
  eraseOwner(owner: string): Promise<ErasedOwner>;
  ingest(request: IngestRequest): Promise<IngestResult>;
  renameSession(sessionId: string, title: string): Promise<void>;
  /** Stores a file for a message of the session, and returns its ID. A missing session is created. */
  uploadFile(sessionId: string, file: FileUpload): Promise<string>;
  /** Lists the agents of a server. A store has none. */
  listAgents(): Promise<readonly ServerAgent[]>;
  /** Sends a cancel or an approval and waits for the result. */
  send(command: ClientCommand): Promise<CommandResult>;
  /** Yields the frames of a session; ends without an error if the signal is aborted. */
  openFrames(sessionId: string, request: FramesRequest): AsyncIterable<readonly StreamFrame[]>;
  /** Yields all records of a session; ends like `openFrames`. */
  followRecords(sessionId: string, request: FollowRequest): AsyncIterable<RecordBatch>;
  /** Returns why a sent message will not run; undefined while it waits or runs. */
  findRejection(sessionId: string, message: SubmittedMessage): Promise<string | undefined>;
}
