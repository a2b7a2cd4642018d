/** Endpoints for sessions: create, list, search, rename, delete, fork, export. */
import { exportSession, type SessionInfo } from "../../log/index.ts";
import type { FoundSession } from "../../log/log.ts";
import { assertSessionId, unknownSession } from "../../log/rules.ts";
import { LoomError } from "../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { ForkedSession, SessionDetails, SessionList } from "../api/shapes.generated.ts";
import { damagedBlob } from "../blobs/blob-rules.ts";
import { reserveIn } from "../blobs/reserve-blobs.ts";
import { blobUrl } from "../blobs/blob-url.ts";
import { runInSessionQueue } from "../commands/command-queue.ts";
import { type CommandAuthor, findOwnSession, ensureOwnSession, canAccess } from "../commands/command-author.ts";
import { authorOf, commandHostFor } from "../commands/command-host.ts";
import { deleteSessionAndBlobs } from "../commands/delete-session.ts";
import type { Caller } from "../auth/authorize.ts";
import { createRevocableBody } from "./revocable-body.ts";
import { enterGate } from "../api/gates.ts";
import type { ServerCore } from "../api/server-core.ts";
import { sessionPath } from "./resource-paths.ts";
import { IDEMPOTENCY_HEADER, readIdempotencyKey } from "./command-endpoint.ts";
import { deriveSessionId } from "./derive-session-id.ts";
import { findSession } from "./find-session.ts";
import { forkOnce, resumesRun, hasForkPoint } from "./fork-once.ts";
import { cutPage, describeQueued, describeRun, describeSession, readPageQuery } from "./describe-session.ts";

/** Runs and queued messages in the details of a session. */
const LATEST_RUNS = 20;
const MAX_QUEUED = 20;

const ID = { id: "Id of the session" } as const;

const createSession = defineOperation<"Empty", "CreateSession">({
  id: "createSession",
  method: "POST",
  path: "/v1/sessions",
  tag: "sessions",
  summary: "Create a session if it does not exist",
  headers: IDEMPOTENCY_HEADER,
  body: "CreateSession",
  isBodyRequired: false,
  action: "sessions.create",
  responses: {
    200: { description: "The session already exists and is unchanged", shape: "Session" },
    201: { description: "Created", shape: "Session" },
  },
  async handle(core, { request, caller, body: { session_id: session = deriveId(request, caller), title } }) {
    await core.authorize({ caller, action: "sessions.create", session });
    const isThere = (await core.log.getSession(session)) !== undefined;
    const info = await ensureOwnSession(
      core.log,
      authorOf(core, caller),
      session,
      title === undefined ? {} : { title },
    );
    const headers = { location: sessionPath(core, session) };
    return Response.json(describeSession(info), { status: isThere ? 200 : 201, headers });
  },
});

const listSessions = defineOperation<"ListSessions">({
  id: "listSessions",
  method: "GET",
  path: "/v1/sessions",
  tag: "sessions",
  summary: "List sessions, newest first, or search them with `q`",
  query: "ListSessions",
  action: "sessions.list",
  responses: { 200: { description: "Sessions", shape: "SessionList" } },
  async handle(core, { caller, query, signal }) {
    const { log, access } = core;
    const { limit, ...page } = readPageQuery(query);
    const { q = "" } = query;
    const { owner, isAdmin } = authorOf(core, caller);
    const options = { ...page, limit: limit + 1, ...(isAdmin ? {} : { owner }) };
    const found: readonly (SessionInfo | FoundSession)[] =
      q.trim() === ""
        ? await log.listSessions(options)
        : await access.runSearch(caller, signal, () => log.searchSessions({ ...options, query: q, signal }));
    const { items, ...next } = cutPage(found, limit, ({ sessionId }) => sessionId);
    return Response.json({ sessions: items.map(describeFound), ...next });
  },
});

function describeFound(info: SessionInfo | FoundSession): SessionList["sessions"][number] {
  if (!("match" in info)) return describeSession(info);
  const { where, snippet, runId } = info.match;
  const match = { where, snippet, ...(runId === undefined ? {} : { run_id: runId }) };
  return { ...describeSession(info), match };
}

const getSession = defineOperation({
  id: "getSession",
  method: "GET",
  path: "/v1/sessions/{id}",
  tag: "sessions",
  summary: "Get a session with its latest runs and queued messages",
  params: ID,
  action: "sessions.read",
  responses: { 200: { description: "Session", shape: "SessionDetails" } },
  async handle({ log }, { params: { id = "" } }) {
    const info = await findSession(log, id);
    // Read pending messages before runs: a message that starts in between is then seen at least once, and listed as a
    // run.
    const pending = await log.listPending(id, log.limits.maxPendingCommands);
    const runs = await log.listRuns(id, { limit: LATEST_RUNS });
    const started = new Set(runs.map(({ runId }) => runId));
    const waiting = pending
      .filter(({ kind }) => kind === "enqueue")
      .map(describeQueued)
      .filter(({ run_id }) => !started.has(run_id));
    const answer: SessionDetails = {
      ...describeSession(info),
      runs: runs.map(describeRun),
      is_busy: runs[0]?.status === "live" || waiting.length > 0,
      queued: waiting.slice(0, MAX_QUEUED),
    };
    return Response.json(answer);
  },
});

const renameSession = defineOperation<"Empty", "RenameSession">({
  id: "renameSession",
  method: "PATCH",
  path: "/v1/sessions/{id}",
  tag: "sessions",
  summary: "Rename a session",
  params: ID,
  body: "RenameSession",
  action: "sessions.write",
  responses: { 200: { description: "Session", shape: "Session" } },
  async handle(core, { caller, params: { id = "" }, body: { title } }) {
    const { log } = core;
    const renamed = await runInSessionQueue(log, id, async () => {
      await findOwnSession(log, authorOf(core, caller), id);
      return log.renameSession(id, title);
    });
    return Response.json(describeSession(renamed));
  },
});

const deleteSession = defineOperation({
  id: "deleteSession",
  method: "DELETE",
  path: "/v1/sessions/{id}",
  tag: "sessions",
  summary: "Stop the runs of a session and delete it with its blobs",
  params: ID,
  action: "sessions.delete",
  audit: "session.delete",
  responses: { 204: { description: "Deleted" } },
  async handle(core, { caller, params: { id = "" } }) {
    if (!(await deleteSessionAndBlobs(commandHostFor(core, caller), core.blobs, id))) throw unknownSession(id);
    return new Response(null, { status: 204 });
  },
});

const fork = defineOperation<"Empty", "ForkSession">({
  id: "forkSession",
  method: "POST",
  path: "/v1/sessions/{id}/fork",
  tag: "sessions",
  summary: "Fork a session at a checkpoint, before a run, or after its last run",
  params: ID,
  headers: IDEMPOTENCY_HEADER,
  body: "ForkSession",
  action: "sessions.read",
  responses: {
    200: {
      description: "The fork already exists: an earlier request with the same key created it",
      shape: "ForkedSession",
    },
    201: { description: "Forked session", shape: "ForkedSession" },
    429: { description: "Too many forks of this credential wait: `too_many_forks`", shape: "Problem" },
  },
  async handle(core, { request, caller, params: { id = "" }, body, signal }) {
    // A copy and a fork at a checkpoint need different IDs, because a copy is recognized by its ID alone.
    const kind = hasForkPoint(body) ? "fork" : "copy";
    const author = authorOf(core, caller);
    const to =
      body.session_id ?? deriveSessionId(JSON.stringify([kind, id, readIdempotencyKey(request)]), author.owner);
    await core.authorize({ caller, action: "sessions.create", session: to });
    assertSessionId(to);
    if (resumesRun(body)) await authorizeResume(core, caller, id, to);
    const isKeyed = (request.headers.get("idempotency-key") ?? "") !== "";
    const [oldUrl, newUrl] = [id, to].map((sessionId) => blobUrl(core, { sessionId, blobId: "" })) as [string, string];
    const moveImage = (url: string): string => (url.startsWith(oldUrl) ? newUrl + url.slice(oldUrl.length) : url);
    const { owner, actor, tools } = author;
    const forkRequest = { from: id, to, options: body, isKeyed, moveImage, owner, actor, tools };
    const release = await enterGate(core, "forks", caller, signal);
    const { fork: forked, isNew } = await forkOnce(core.log, forkRequest)
      .then(async (made) => {
        const { fork: info, isNew: isCreated } = made;
        // Also for an existing fork: the earlier request may have been interrupted before the blobs were copied.
        await deleteForkOnError(core, info, isCreated, async () => {
          if (info.checkpointId !== undefined && isCreated) await admitLatestRun(core, author, to);
          await copyBlobs(core, id, to);
        });
        return made;
      })
      .finally(release);
    const { checkpointId } = forked;
    // Its run is live and needs a process to resume it.
    if (checkpointId !== undefined) void core.runs.dispatch(to);
    const headers = { location: sessionPath(core, to) };
    const checkpoint = checkpointId === undefined ? {} : { checkpoint_id: checkpointId };
    const answer: ForkedSession = { ...describeSession(forked), ...checkpoint };
    return Response.json(answer, { status: isNew ? 201 : 200, headers });
  },
});

/**
 * Resuming a run counts as starting one. The run keeps its permissions, and its original author is charged, so a caller
 * with fewer permissions, or with read access only, must not resume it.
 */
async function authorizeResume(core: ServerCore, caller: Caller, from: string, to: string): Promise<void> {
  await core.authorize({ caller, action: "runs.start", session: to });
  if (!canAccess(authorOf(core, caller), await findSession(core.log, from)))
    throw new LoomError("forbidden", "A shared session can be copied, but its runs cannot be resumed");
  if (caller.principal.tools !== undefined)
    throw new LoomError(
      "forbidden",
      "A credential with tool rules cannot resume a run that another credential started; fork before a run instead",
    );
}

/** Throws if the author may not start the run that the fork resumes. */
async function admitLatestRun({ log, runs }: ServerCore, { admitRun }: CommandAuthor, session: string): Promise<void> {
  if (admitRun === undefined) return;
  const [latest] = await log.listRuns(session, { limit: 1 });
  if (latest !== undefined) await admitRun({ agent: runs.resolveAgent(latest.agent), session, run: latest.runId });
}

/** Deletes a new fork if it cannot be completed. */
async function deleteForkOnError(
  { log, blobs }: ServerCore,
  { sessionId }: SessionInfo,
  isNew: boolean,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isNew) throw error;
    await log.deleteSession(sessionId);
    await blobs?.deleteSession(sessionId);
    throw error;
  }
}

/** The records of the fork refer to these blobs. */
async function copyBlobs({ log, blobs }: ServerCore, from: string, to: string): Promise<void> {
  if (blobs === undefined) return;
  // The fork would refer to a blob that it does not have.
  const refuseDamaged = (blobId: string): never => {
    throw damagedBlob(from, blobId);
  };
  for (const { blobId, mediaType, name } of await blobs.list(from, refuseDamaged)) {
    const { bytes } = await blobs.read(from, blobId);
    await blobs.put(to, bytes, { mediaType, name, reserve: reserveIn(log, to) });
  }
}

const exportOperation = defineOperation({
  id: "exportSession",
  method: "GET",
  path: "/v1/sessions/{id}/export",
  tag: "sessions",
  summary: "Export all records of a session as NDJSON",
  params: ID,
  action: "sessions.read",
  responses: { 200: { description: "Records as stored", mediaTypes: ["application/x-ndjson"] } },
  async handle({ log, access }, { caller, params: { id = "" } }) {
    const { lastId, firstId } = await findSession(log, id);
    const pages = lastId < firstId ? undefined : exportSession(log, id);
    const encoder = new TextEncoder();
    // Read one page at a time, on demand.
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = (await pages?.next()) ?? { done: true };
        if (done === true || value === undefined) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: async () => void (await pages?.return()),
    });
    return new Response(access.isOpen ? body : createRevocableBody(body, (onEnd) => access.watch(caller, id, onEnd)), {
      headers: {
        "content-type": "application/x-ndjson",
        "cache-control": "no-store",
        "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(id)}.ndjson`,
      },
    });
  },
});

/** A request repeated with the same key refers to the same session. */
function deriveId(request: Request, { principal }: Caller): string {
  return deriveSessionId(readIdempotencyKey(request), principal.owner);
}

export const SESSION_OPERATIONS: readonly AnyOperation[] = [
  createSession,
  listSessions,
  getSession,
  renameSession,
  deleteSession,
  fork,
  exportOperation,
];
