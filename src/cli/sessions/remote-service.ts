/** Sessions on a server, through its HTTP API and the client of this package. */
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { type CommandResult, createFetchTransport, type Transport } from "../../client/index.ts";
import type { ClientCommand } from "../../client/transport.ts";
import { DEFAULT_RECONNECT } from "../../client/connection/backoff.ts";
import { SYSTEM_CLOCK } from "../../client/connection/clock.ts";
import { CommandSender } from "../../client/connection/command-sender.ts";
import { LOOM_DECODING } from "../../dialects/loom/decode.ts";
import type { StreamFrame } from "../../log/index.ts";
import { isLoomError, LoomError, type StampedRecord } from "../../protocol/index.ts";
import type {
  ActiveRuns,
  Agents,
  Approvals,
  ErasedOwner,
  ForkedSession,
  ForkSession,
  IngestResult,
  Run,
  Blob as BlobShape,
  Session,
  SessionDetails,
  SessionList,
} from "../../server/api/shapes.generated.ts";
import { MAX_QUEUED } from "../../server/endpoints/describe-session.ts";
import { readImportHead } from "./read-import-head.ts";
import { readRemoteFrames } from "./remote-frames.ts";
import { type ServerAddress, ServerApi } from "./server-api.ts";
import type {
  FollowRequest,
  FileUpload,
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

/** How long a command is repeated while the server cannot be reached, in milliseconds. */
const COMMAND_LIMIT_MS = 30_000;
/** How often an export is requested if its connection is lost. */
const MAX_EXPORTS = 5;
/** Long messages are left to the limits of the server. */
const MAX_COMMAND_LENGTH = 8 * 1024 * 1024;

export class RemoteService implements SessionService {
  readonly isRemote = true;
  readonly #api: ServerApi;
  readonly #transport: Transport;
  readonly #strictTransport: Transport;
  readonly #commands: CommandSender;

  constructor({ url, token }: ServerAddress) {
    this.#api = new ServerApi({ url, token });
    const options = { url, maxCommandLength: MAX_COMMAND_LENGTH, ...(token === undefined ? {} : { token }) };
    this.#transport = createFetchTransport(options);
    this.#strictTransport = createFetchTransport({ ...options, fetch: (request) => fetch(askForStrict(request)) });
    this.#commands = new CommandSender({
      transport: this.#transport,
      reconnect: DEFAULT_RECONNECT,
      commandLimitMs: COMMAND_LIMIT_MS,
      clock: SYSTEM_CLOCK,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#commands.close();
    this.#transport.close();
    this.#strictTransport.close();
  }

  async listSessions({ query, isArchived, ...page }: ListSessionsRequest): Promise<ListedPage<ListedSession>> {
    const path = `/v1/sessions${toQuery({ ...page, q: query, archived: isArchived })}`;
    const { sessions, next } = await this.#api.getJson<SessionList>({ path });
    return { items: sessions, ...(next === undefined ? {} : { next }) };
  }

  async listActiveSessions(page: ListPageRequest): Promise<ListedPage<string>> {
    const { runs, next } = await this.#api.getJson<ActiveRuns>({ path: `/v1/runs${toQuery({ ...page })}` });
    const items = [...new Set(runs.map(({ session_id }) => session_id))];
    return { items, ...(next === undefined ? {} : { next }) };
  }

  async getSession(sessionId: string): Promise<SessionDetails | undefined> {
    try {
      return await this.#api.getJson<SessionDetails>({ path: pathOf(sessionId) });
    } catch (error) {
      if (isLoomError(error, "unknown_session")) return undefined;
      throw error;
    }
  }

  async listRuns(sessionId: string, page: ListPageRequest): Promise<ListedPage<Run>> {
    const path = `${pathOf(sessionId)}/runs${toQuery({ ...page })}`;
    const { runs, next } = await this.#api.getJson<{ readonly runs: readonly Run[]; readonly next?: string }>({ path });
    return { items: runs, ...(next === undefined ? {} : { next }) };
  }

  async listApprovals(sessionId: string): Promise<readonly PendingDecision[]> {
    return (await this.#api.getJson<Approvals>({ path: `${pathOf(sessionId)}/approvals` })).approvals;
  }

  /** Stored records do not change, so after a cut the bytes that were received are skipped. */
  async *exportSession(sessionId: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const request = { path: `${pathOf(sessionId)}/export`, headers: { accept: "application/x-ndjson" }, signal };
    const before = await this.#api.getJson<Session>({ path: pathOf(sessionId), signal });
    let received = 0;
    for (let attempts = 1; ; attempts++) {
      let skipped = 0;
      const { body } = await this.#api.send(request);
      try {
        for await (const chunk of body ?? []) {
          const rest = chunk.subarray(Math.min(chunk.length, received - skipped));
          skipped += chunk.length - rest.length;
          if (rest.length === 0) continue;
          received += rest.length;
          skipped += rest.length;
          yield rest;
        }
        return;
      } catch {
        signal.throwIfAborted();
        if (attempts === MAX_EXPORTS)
          throw new LoomError("connection_lost", "The connection was lost before the end of the export");
      }
      const { created_at, first_event_id } = await this.#api.getJson<Session>({ path: pathOf(sessionId), signal });
      if (created_at !== before.created_at || first_event_id !== before.first_event_id)
        throw new LoomError("cursor_stale", "The session was pruned or created again during the export");
    }
  }

  /** Servers take records of others only as a recorded run, which cannot grant permissions. */
  async importSession({ body, sessionId, title, signal }: ImportRequest): Promise<ImportedSession> {
    const head = await readImportHead(body);
    if (head.sessionId === undefined)
      throw new LoomError("import_invalid", "Line 1: the record has no session_id", { line: 1 });
    const id = sessionId ?? head.sessionId;
    const existing = await this.getSession(id);
    if (existing !== undefined && existing.last_event_id > 0)
      throw new LoomError("session_exists", `Session "${id}" exists on the server`, { session_id: id });
    if (title !== undefined)
      await this.#api.send({ method: "POST", path: "/v1/sessions", body: { session_id: id, title }, signal });
    await this.#postStream(id, head.body, { dialect: "loom", framing: "ndjson" }, signal);
    const session = await this.#api.getJson<Session>({ path: pathOf(id) });
    const name = session.title ?? (await this.#giveTitle(id, head.title));
    const added = session.last_event_id - session.first_event_id + 1;
    return { ...session, ...(name === undefined ? {} : { title: name }), added };
  }

  /** Returns undefined if there is no title, or the token may only record. */
  async #giveTitle(sessionId: string, title: string | undefined): Promise<string | undefined> {
    if (title === undefined) return undefined;
    try {
      await this.renameSession(sessionId, title);
      return title;
    } catch (error) {
      if (isLoomError(error, "forbidden")) return undefined;
      throw error;
    }
  }

  async forkSession(sessionId: string, options: ForkSession): Promise<ForkedSession> {
    const headers = { "idempotency-key": randomUUID() };
    return this.#api.getJson({ method: "POST", path: `${pathOf(sessionId)}/fork`, body: options, headers });
  }

  async deleteSession(sessionId: string): Promise<boolean> {
    try {
      await this.#api.send({ method: "DELETE", path: pathOf(sessionId) });
      return true;
    } catch (error) {
      if (isLoomError(error, "unknown_session")) return false;
      throw error;
    }
  }

  async eraseOwner(owner: string): Promise<ErasedOwner> {
    return this.#api.getJson({ method: "DELETE", path: `/v1/owners/${encodeURIComponent(owner)}` });
  }

  async ingest({ sessionId, body, dialect, framing, signal }: IngestRequest): Promise<IngestResult> {
    return this.#postStream(sessionId, body, { dialect: dialect?.name ?? "auto", framing: framing ?? "auto" }, signal);
  }

  async renameSession(sessionId: string, title: string): Promise<void> {
    await this.#api.send({ method: "PATCH", path: pathOf(sessionId), body: { title } });
  }

  async uploadFile(sessionId: string, { name, mediaType, bytes }: FileUpload): Promise<string> {
    const path = `${pathOf(sessionId)}/blobs${toQuery({ name })}`;
    const headers = { "content-type": mediaType };
    const { blob_id } = await this.#api.getJson<BlobShape>({ method: "POST", path, headers, bytes });
    return blob_id;
  }

  async listAgents(): Promise<readonly ServerAgent[]> {
    return (await this.#api.getJson<Agents>({ path: "/v1/agents" })).agents;
  }

  async #postStream(
    sessionId: string,
    body: AsyncIterable<Uint8Array>,
    query: { readonly dialect: string; readonly framing: string },
    signal: AbortSignal,
  ): Promise<IngestResult> {
    const stream = Readable.toWeb(Readable.from(body, { objectMode: false })) as ReadableStream<Uint8Array>;
    const path = `${pathOf(sessionId)}/ingest${toQuery(query)}`;
    return this.#api.getJson({ method: "POST", path, stream, signal });
  }

  async send(command: ClientCommand): Promise<CommandResult> {
    return this.#commands.send(command);
  }

  openFrames(sessionId: string, request: FramesRequest): AsyncIterable<readonly StreamFrame[]> {
    const { strict = false, ...asked } = request;
    return readRemoteFrames(strict ? this.#strictTransport : this.#transport, sessionId, asked);
  }

  async *followRecords(sessionId: string, request: FollowRequest): AsyncGenerator<RecordBatch> {
    const decoder = LOOM_DECODING.createDecoder();
    let lastId = Number(request.after ?? 0);
    // Every record has a frame then, so that the last ID can be compared with that of the session.
    for await (const frames of this.openFrames(sessionId, { ...request, dialect: "loom", modes: "all" })) {
      const records = frames.flatMap(({ text }) => decoder.decode(text).records as readonly StampedRecord[]);
      lastId = records.at(-1)?.envelope.event_id ?? lastId;
      yield { records, lastId };
    }
  }

  async findRejection(sessionId: string, { runId }: SubmittedMessage): Promise<string | undefined> {
    const { runs = [], queued = [] } = (await this.getSession(sessionId)) ?? {};
    const isListed = [...runs, ...queued].some(({ run_id }) => run_id === runId);
    // Only the first messages and the latest runs are listed: the message may wait behind these, or have run.
    if (isListed || queued.length >= MAX_QUEUED || (await this.#hasRun(sessionId, runId))) return undefined;
    return "it was cancelled, or its session was deleted";
  }

  async #hasRun(sessionId: string, runId: string): Promise<boolean> {
    try {
      await this.#api.getJson<Run>({ path: `${pathOf(sessionId)}/runs/${encodeURIComponent(runId)}` });
      return true;
    } catch (error) {
      if (isLoomError(error, "unknown_run", "unknown_session")) return false;
      throw error;
    }
  }
}

function pathOf(sessionId: string): string {
  if (sessionId === "." || sessionId === "..")
    throw new LoomError("invalid_name", `The session name "${sessionId}" cannot be used in a URL`);
  return `/v1/sessions/${encodeURIComponent(sessionId)}`;
}

function toQuery(fields: { readonly [name: string]: string | number | boolean | undefined }): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return given.length === 0
    ? ""
    : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`;
}

/** The client does not know the strict form, which is for programs of other vendors. */
function askForStrict(request: Request): Request {
  const url = new URL(request.url);
  if (url.pathname.endsWith("/events")) url.searchParams.set("strict", "1");
  return new Request(url, request);
}
