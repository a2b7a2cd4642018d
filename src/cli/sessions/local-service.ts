/** Sessions in a store on this machine, or in its database. */
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { CommandResult } from "../../client/index.ts";
import type { ClientCommand } from "../../client/transport.ts";
import { readCommandResult } from "../../client/transport/command-frames.ts";
import {
  exportSession,
  followRecords,
  importSession,
  type Log,
  openStream,
  type StreamFrame,
} from "../../log/index.ts";
import { LOG_LIMITS } from "../../log/log-limits.ts";
import { assertSession } from "../../log/rules.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { LoomError } from "../../protocol/index.ts";
import type {
  ErasedOwner,
  ForkedSession,
  ForkSession,
  IngestResult,
  SessionDetails,
} from "../../server/api/shapes.generated.ts";
import type { AgentBlobs } from "../../agents/attachments.ts";
import type { BlobStore } from "../../server/blobs/blob-store.ts";
import { createAgentBlobs } from "../../server/blobs/create-agent-blobs.ts";
import { reserveIn } from "../../server/blobs/blob-rules.ts";
import { deleteSessionAndBlobs } from "../../server/commands/delete-session.ts";
import { eraseOwner } from "../../server/commands/erase-owner.ts";
import { executeCommand } from "../../server/commands/execute-command.ts";
import { readTitle, updateConversation } from "../../server/endpoints/conversation-versions.ts";
import { copyBlobs, deleteForkOnError } from "../../server/endpoints/create-fork.ts";
import {
  cutPage,
  describeFound,
  describeRun,
  describeSession,
  readSessionDetails,
} from "../../server/endpoints/describe-session.ts";
import { findSession } from "../../server/endpoints/find-session.ts";
import { forkOnce } from "../../server/endpoints/fork-once.ts";
import { listWaitingCalls } from "../../server/endpoints/waiting-calls.ts";
import { SERVER_LIMITS } from "../../server/guard/server-limits.ts";
import { CliError } from "../command.ts";
import { hideCredentials, storeExists } from "../find-store.ts";
import { openStore } from "../open-store.ts";
import type { StoreParts } from "../store-parts.ts";
import { readImportHead } from "./read-import-head.ts";
import type {
  FileUpload,
  FollowRequest,
  FramesRequest,
  ImportedSession,
  ImportRequest,
  IngestRequest,
  ServerAgent,
  ListedPage,
  ListedSession,
  ListSessionsRequest,
  ListPageRequest,
  PendingDecision,
  RecordBatch,
  SubmittedMessage,
  SessionService,
} from "./session-service.ts";

/** Time to wait for a process that holds the session, in milliseconds. */
const HOLDER_WAIT_MS = 10_000;

/** Opens the store. A file that does not exist is created only if `create` is set. */
export async function openLocalService(store: string, { create }: { readonly create: boolean }): Promise<LocalService> {
  if (!create && !storeExists(store))
    throw new CliError(
      `there is no store \`${hideCredentials(store)}\``,
      "run an agent first (`loom run`), or choose another store with --store, or a server with --server",
    );
  const parts = await openStore(store);
  try {
    return new LocalService(await parts.openLog({}), parts);
  } catch (error) {
    await parts[Symbol.asyncDispose]();
    throw error;
  }
}

export class LocalService implements SessionService {
  readonly isRemote = false;
  readonly #log: Log;
  readonly #parts: StoreParts | undefined;
  #blobs: Promise<BlobStore> | undefined;

  /** `parts` are disposed with the service. Without them, sessions have no images and files. */
  constructor(log: Log, parts?: StoreParts) {
    this.#log = log;
    this.#parts = parts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts?.[Symbol.asyncDispose]();
  }

  async listSessions(request: ListSessionsRequest): Promise<ListedPage<ListedSession>> {
    const { limit, after, query, isArchived } = request;
    // One more than asked for tells whether there is a next page.
    const page = dropUndefined({ limit: limit + 1, after });
    const found =
      query === undefined
        ? await this.#log.listSessions({ ...page, ...dropUndefined({ isArchived }) })
        : await this.#log.searchSessions({ ...page, query });
    const { items, ...next } = cutPage(found, limit, ({ sessionId }) => sessionId);
    return { items: items.map(describeFound), ...next };
  }

  async listActiveSessions({ limit, after }: ListPageRequest): Promise<ListedPage<string>> {
    const page = dropUndefined({ limit: limit + 1, after });
    const found = await this.#log.listActiveSessions(page);
    return cutPage(
      found.map(({ sessionId }) => sessionId),
      limit,
      (sessionId) => sessionId,
    );
  }

  async getSession(sessionId: string): Promise<SessionDetails | undefined> {
    const info = await this.#log.getSession(sessionId);
    if (info === undefined) return undefined;
    const [latest = info] = await this.#log.listBranches(sessionId, { limit: 1, newestFirst: true });
    return readSessionDetails(this.#log, info, latest);
  }

  async listRuns(sessionId: string, { limit, after }: ListPageRequest) {
    await findSession(this.#log, sessionId);
    const page = dropUndefined({ limit: limit + 1, after });
    const { items, ...next } = cutPage(await this.#log.listRuns(sessionId, page), limit, ({ runId }) => runId);
    return { items: items.map(describeRun), ...next };
  }

  async listApprovals(sessionId: string): Promise<readonly PendingDecision[]> {
    return listWaitingCalls(this.#log, sessionId, "approval");
  }

  exportSession(sessionId: string): AsyncIterable<string> {
    return exportSession(this.#log, sessionId);
  }

  async importSession({ body, sessionId, title }: ImportRequest): Promise<ImportedSession> {
    const head = await readImportHead(body);
    const id = sessionId ?? head.sessionId;
    const before = id === undefined ? undefined : await this.#log.getSession(id);
    const given = dropUndefined({ sessionId, title: title ?? head.title });
    const after = await importSession(this.#log, head.body, { ...given, ...readTitle(given) });
    return { ...describeSession(after), added: after.lastId - Math.max(before?.lastId ?? 0, after.firstId - 1) };
  }

  async forkSession(from: string, given: ForkSession): Promise<ForkedSession> {
    const options = { ...given, ...readTitle(given) };
    const to = options.session_id ?? randomBytes(6).toString("hex");
    const { owner } = await findSession(this.#log, from);
    const [oldPath, newPath] = [from, to].map((id) => `/v1/sessions/${encodeURIComponent(id)}/blobs/`) as [
      string,
      string,
    ];
    // A server may add a base path.
    const moveImage = (url: string): string => url.replace(oldPath, newPath);
    const store = { log: this.#log, blobs: await this.#openBlobs() };
    const { fork, isNew } = await forkOnce(store.log, { from, to, options, isKeyed: false, owner, moveImage });
    await deleteForkOnError(store, fork, isNew, () => copyBlobs(store, from, to));
    const { checkpointId } = fork;
    return { ...describeSession(fork), ...(checkpointId === undefined ? {} : { checkpoint_id: checkpointId }) };
  }

  async deleteSession(sessionId: string): Promise<boolean> {
    return deleteSessionAndBlobs({ log: this.#log }, await this.#openBlobs(), sessionId);
  }

  async eraseOwner(owner: string): Promise<ErasedOwner> {
    const [blobs, credentials] = [await this.#openBlobs(), await this.#parts?.findCredentials()];
    const erased = await eraseOwner({ host: { log: this.#log }, blobs, credentials }, owner);
    const { signIns: sign_ins, usageRecords: usage_records, ...counts } = erased;
    return { owner, ...counts, sign_ins, usage_records };
  }

  async ingest({ sessionId, body, dialect, framing, signal }: IngestRequest): Promise<IngestResult> {
    // Loaded on demand, with all dialects.
    const { ingestStream } = await import("../../server/ingest/ingest-stream.ts");
    const { describeIngested } = await import("../../server/endpoints/ingest.ts");
    const ingested = await ingestStream({
      log: this.#log,
      sessionId,
      body: Readable.toWeb(Readable.from(body, { objectMode: false })) as ReadableStream<Uint8Array>,
      dialect,
      framing,
      // The input is this user's own, so only the size of a frame is limited.
      maxBytes: Number.MAX_SAFE_INTEGER,
      maxFrameBytes: LOG_LIMITS.maxEventBytes,
      idleMs: MAX_IDLE_MS,
      waitMs: HOLDER_WAIT_MS,
      signal,
    });
    return describeIngested(sessionId, ingested);
  }

  async renameSession(sessionId: string, title: string): Promise<void> {
    await updateConversation(this.#log, sessionId, readTitle({ title }), () => undefined);
  }

  async uploadFile(sessionId: string, { name, mediaType, bytes }: FileUpload): Promise<string> {
    const blobs = await this.#openBlobs();
    if (blobs === undefined) throw new LoomError("unsupported", "This store has no files");
    await this.#log.createSession(sessionId);
    const reserve = reserveIn(this.#log, sessionId);
    return (await blobs.put(sessionId, [bytes], { mediaType, name, reserve })).blobId;
  }

  async listAgents(): Promise<readonly ServerAgent[]> {
    return [];
  }

  async send(command: ClientCommand): Promise<CommandResult> {
    const hasFiles = command.type === "run" && (command.attachments ?? []).length > 0;
    const blobs = hasFiles ? await this.#openBlobs() : undefined;
    const host = { log: this.#log, commands: { timeoutMs: HOLDER_WAIT_MS }, ...dropUndefined({ blobs }) };
    return readCommandResult(await executeCommand(host, command));
  }

  openFrames(sessionId: string, request: FramesRequest): AsyncIterable<readonly StreamFrame[]> {
    const { dialect, strict = false, modes, after, follow, signal } = request;
    const isNumber = after !== undefined && /^\d+$/.test(after);
    const start = after === undefined ? {} : isNumber ? { after: Number(after) } : { cursor: after };
    return openStream(this.#log, sessionId, {
      dialect,
      encoderOptions: { strict },
      modes,
      ...start,
      follow,
      signal,
    });
  }

  async *followRecords(sessionId: string, { after, follow, signal }: FollowRequest): AsyncGenerator<RecordBatch> {
    const info = assertSession(await this.#log.getSession(sessionId), sessionId);
    const from = after === undefined ? info.firstId - 1 : Number(after);
    if (!Number.isSafeInteger(from)) throw new LoomError("cursor_invalid", "Records are counted, not named by cursors");
    yield* followRecords(this.#log, sessionId, { after: from, follow, signal });
  }

  async findRejection(sessionId: string, { commandId }: SubmittedMessage): Promise<string | undefined> {
    const { outcome } = (await this.#log.getCommand(sessionId, commandId)) ?? {};
    return outcome === undefined || outcome.code === "done" ? undefined : (outcome.message ?? outcome.code);
  }

  /** Gives an agent of this process access to images and files. */
  async openAgentBlobs(): Promise<AgentBlobs | undefined> {
    const store = await this.#openBlobs();
    return store === undefined ? undefined : createAgentBlobs(store, { basePath: "", log: this.#log });
  }

  async #openBlobs(): Promise<BlobStore | undefined> {
    this.#blobs ??= this.#parts?.openBlobs(SERVER_LIMITS);
    return this.#blobs;
  }
}

/** A program that is piped in may think for long; Ctrl-C ends it. */
const MAX_IDLE_MS = 24 * 3_600_000;
