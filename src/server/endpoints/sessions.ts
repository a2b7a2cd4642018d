/** Endpoints for sessions: create, list, search, change, delete, fork, export. */
import { exportSession, type SessionInfo } from "../../log/index.ts";
import type { FoundSession } from "../../log/log.ts";
import { unknownSession } from "../../log/rules.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { ForkedSession, SessionBranches } from "../api/shapes.generated.ts";
import { findOwnSession, ensureOwnSession, canAccess } from "../commands/command-author.ts";
import { authorOf, commandHostFor } from "../commands/command-host.ts";
import { deleteSessionAndBlobs } from "../commands/delete-session.ts";
import { type Caller, isAllowed } from "../auth/authorize.ts";
import { deleteConversation, readTitle, updateConversation } from "./conversation-versions.ts";
import { createRevocableBody } from "./revocable-body.ts";
import { sessionPath } from "./resource-paths.ts";
import { IDEMPOTENCY_HEADER, readIdempotencyKey } from "./command-endpoint.ts";
import { createFork } from "./create-fork.ts";
import { deriveSessionId } from "./derive-session-id.ts";
import { findHead } from "./find-branch.ts";
import { findSession } from "./find-session.ts";
import {
  describeFound,
  describeSession,
  describeWithStatus,
  readPage,
  readSessionDetails,
} from "./describe-session.ts";

const createSession = defineOperation<"Empty", "CreateSession">({
  id: "createSession",
  method: "POST",
  path: "/v1/sessions",
  summary: "Create a session if it does not exist",
  headers: IDEMPOTENCY_HEADER,
  body: "CreateSession",
  isBodyRequired: false,
  action: "sessions.create",
  responses: {
    200: { description: "The session already exists and is unchanged", shape: "Session" },
    201: { description: "Created", shape: "Session" },
  },
  async handle(core, { request, caller, body: { session_id: session = deriveId(request, caller), ...given } }) {
    const title = readTitle(given);
    await core.authorize({ caller, action: "sessions.create", session });
    const isThere = (await core.log.getSession(session)) !== undefined;
    const info = await ensureOwnSession(core.log, authorOf(core, caller), session, title);
    const headers = { location: sessionPath(core, session) };
    return Response.json(describeSession(info), { status: isThere ? 200 : 201, headers });
  },
});

const listSessions = defineOperation<"ListSessions">({
  id: "listSessions",
  method: "GET",
  path: "/v1/sessions",
  summary: "List sessions, newest first, or search them with `q`",
  query: "ListSessions",
  action: "sessions.list",
  responses: { 200: { description: "Sessions", shape: "SessionList" } },
  async handle(core, { caller, query, signal }) {
    const { log, access } = core;
    const { q = "", versions = "all", pinned, archived } = query;
    const { owner, isAdmin } = authorOf(core, caller);
    const own = isAdmin ? {} : { owner };
    const selected = dropUndefined({ isNewestVersion: versions === "newest", isPinned: pinned, isArchived: archived });
    const { items, ...next } = await readPage(
      query,
      "sessionId",
      (page): Promise<readonly (SessionInfo | FoundSession)[]> =>
        q.trim() === ""
          ? log.listSessions({ ...page, ...own, ...selected })
          : access.runSearch(caller, signal, () => log.searchSessions({ ...page, ...own, query: q, signal })),
    );
    const isWithStatus = selected.isNewestVersion && q.trim() === "";
    const sessions = isWithStatus
      ? await Promise.all(items.map((info) => describeWithStatus(log, info)))
      : items.map(describeFound);
    return Response.json({ sessions, ...next });
  },
});

const getSession = defineOperation<"ReadSession">({
  id: "getSession",
  method: "GET",
  path: "/v1/sessions/{id}",
  summary: "Get a session with its latest runs and queued messages",
  description:
    "For clients that keep one ID while a conversation is forked, `latest_version` names the current session.",
  query: "ReadSession",
  action: "sessions.read",
  responses: { 200: { description: "Session", shape: "SessionDetails" } },
  async handle(core, { caller, params: { id = "" }, query: { version } }) {
    const { log } = core;
    const named = await findSession(log, id);
    // A share link gives access to its session alone, which is then the newest one it shows.
    const latest = (await findHead(core, caller, id)) ?? named;
    const info = version === "latest" ? latest : named;
    // A share link reveals neither other versions of the conversation nor how its owner sorts it.
    const isOwn = caller.principal.kind !== "share" && canAccess(authorOf(core, caller), info);
    const shown = isOwn ? info : { ...info, forkedFrom: undefined, rootId: id, isPinned: false, isArchived: false };
    return Response.json(await readSessionDetails(log, shown, latest));
  },
});

const listBranches = defineOperation<"ListPage">({
  id: "listBranches",
  method: "GET",
  path: "/v1/sessions/{id}/branches",
  summary: "List the versions of a conversation, oldest first: sessions with the same `root_id`",
  query: "ListPage",
  // Unlike reading, not allowed by a share link, which is for one session.
  action: "sessions.list",
  responses: { 200: { description: "Sessions", shape: "SessionBranches" } },
  async handle({ log }, { params: { id = "" }, query }) {
    const { items, ...next } = await readPage(query, "sessionId", (page) => log.listBranches(id, page));
    const answer: SessionBranches = { sessions: items.map(describeSession), ...next };
    return Response.json(answer);
  },
});

const updateSession = defineOperation<"Empty", "UpdateSession">({
  id: "updateSession",
  method: "PATCH",
  path: "/v1/sessions/{id}",
  summary: "Rename, pin or archive a session and the other versions of its conversation",
  body: "UpdateSession",
  action: "sessions.write",
  responses: { 200: { description: "Session", shape: "Session" } },
  async handle(core, { caller, params: { id = "" }, body: { is_pinned, is_archived, ...given } }) {
    const { log } = core;
    await findOwnSession(log, authorOf(core, caller), id);
    const changes = dropUndefined({ ...readTitle(given), isPinned: is_pinned, isArchived: is_archived });
    const authorize = (session: string): void | Promise<void> =>
      core.authorize({ caller, action: "sessions.write", session });
    return Response.json(describeSession(await updateConversation(log, id, changes, authorize)));
  },
});

const deleteSession = defineOperation<"DeleteSession">({
  id: "deleteSession",
  method: "DELETE",
  path: "/v1/sessions/{id}",
  summary: "Stop the runs of a session and delete it with its blobs",
  query: "DeleteSession",
  action: "sessions.delete",
  audit: "session.delete",
  responses: { 204: { description: "Deleted" } },
  async handle(core, { caller, params: { id = "" }, query: { versions = "one" } }) {
    const host = commandHostFor(core, caller);
    const authorize = (session: string): void | Promise<void> =>
      core.authorize({ caller, action: "sessions.delete", session });
    const isKnown =
      versions === "all"
        ? await deleteConversation(host, core.blobs, id, authorize)
        : await deleteSessionAndBlobs(host, core.blobs, id);
    if (!isKnown) throw unknownSession(id);
    return new Response(null, { status: 204 });
  },
});

const fork = defineOperation<"Empty", "ForkSession">({
  id: "forkSession",
  method: "POST",
  path: "/v1/sessions/{id}/fork",
  summary: "Fork a session at a checkpoint, before a run, or after its last run",
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
    const isKeyed = (request.headers.get("idempotency-key") ?? "") !== "";
    const call = {
      from: id,
      options: { ...body, ...readTitle(body) },
      key: readIdempotencyKey(request),
      isKeyed,
      signal,
    };
    const { fork: forked, isNew } = await createFork(core, caller, call);
    const { checkpointId, sessionId } = forked;
    const headers = { location: sessionPath(core, sessionId) };
    const checkpoint = checkpointId === undefined ? {} : { checkpoint_id: checkpointId };
    const answer: ForkedSession = { ...describeSession(forked), ...checkpoint };
    return Response.json(answer, { status: isNew ? 201 : 200, headers });
  },
});

const exportOperation = defineOperation({
  id: "exportSession",
  method: "GET",
  path: "/v1/sessions/{id}/export",
  summary: "Export all records of a session as NDJSON",
  description: "What models were sent (`llm_content`) is empty for readers other than the owner.",
  action: "sessions.read",
  responses: { 200: { description: "Records as stored", mediaTypes: ["application/x-ndjson"] } },
  async handle(core, { caller, params: { id = "" } }) {
    const { log } = core;
    const { lastId, firstId } = await findSession(log, id);
    const isForOwner = await isAllowed(core.authorize, { caller, action: "prompts.read", session: id });
    const pages = lastId < firstId ? undefined : exportSession(log, id, { isForOwner });
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
    return new Response(createRevocableBody(core, caller, id, body), {
      headers: {
        "content-type": "application/x-ndjson",
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
  listBranches,
  updateSession,
  deleteSession,
  fork,
  exportOperation,
];
