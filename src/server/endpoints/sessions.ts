/** Sessions over HTTP: made, listed, searched, renamed, deleted, forked, exported. */
import { randomUUID } from "node:crypto";
import { exportSession, type SessionInfo } from "../../log/index.ts";
import type { FoundSession } from "../../log/log.ts";
import { assertName, unknownSession } from "../../log/rules.ts";
import { isLoomError, LoomError } from "../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { ForkedSession, SessionDetails, SessionList } from "../api/shapes.generated.ts";
import { addressBlob } from "../blobs/address-blob.ts";
import { inLine } from "../commands/carry-out.ts";
import { type CommandAuthor, findOwn, makeOwn, mayTouch } from "../commands/command-author.ts";
import { authorOf } from "../commands/commands-for.ts";
import type { Caller } from "../guard/authorize.ts";
import { leaseBody } from "../http/lease-body.ts";
import type { ServerCore } from "../server-core.ts";
import { addressOfSession } from "./addresses.ts";
import { ask, KEY_HEADER, readKey } from "./command-endpoint.ts";
import { deriveSessionId } from "./derive-session-id.ts";
import { findSession } from "./find-session.ts";
import { forkOnce, goesOn, hasPlace } from "./fork-once.ts";
import { cutPage, describeQueued, describeRun, describeSession, readPage } from "./describe-session.ts";

/** Of a session's own page. */
const LATEST_RUNS = 20;
const MAX_QUEUED = 20;

const ID = { id: "Id of the session" } as const;

const createSession = defineOperation<"Nothing", "CreateSession">({
  id: "createSession",
  method: "POST",
  path: "/v1/sessions",
  tag: "sessions",
  summary: "Makes a session, unless it is there already",
  headers: KEY_HEADER,
  body: "CreateSession",
  isBodyRequired: false,
  action: "sessions.create",
  answers: {
    200: { about: "It was there already, and is as it was", shape: "Session" },
    201: { about: "It was made", shape: "Session" },
  },
  async handle(core, { request, caller, body: { session_id: session = makeId(request, caller), title } }) {
    await core.authorize({ caller, action: "sessions.create", session });
    const isThere = (await core.log.getSession(session)) !== undefined;
    const info = await makeOwn(core.log, authorOf(core, caller), session, title === undefined ? {} : { title });
    const headers = { location: addressOfSession(core, session) };
    return Response.json(describeSession(info), { status: isThere ? 200 : 201, headers });
  },
});

const listSessions = defineOperation<"ListSessions">({
  id: "listSessions",
  method: "GET",
  path: "/v1/sessions",
  tag: "sessions",
  summary: "Sessions, newest first; with `q` those in which it is found",
  query: "ListSessions",
  action: "sessions.list",
  answers: { 200: { about: "The sessions", shape: "SessionList" } },
  async handle(core, { caller, query }) {
    const { log } = core;
    const { limit, ...place } = readPage(query);
    const { q = "" } = query;
    const { owner, isAdmin } = authorOf(core, caller);
    const asked = { ...place, limit: limit + 1, ...(isAdmin ? {} : { owner }) };
    const found: readonly (SessionInfo | FoundSession)[] =
      q.trim() === "" ? await log.listSessions(asked) : await log.searchSessions({ ...asked, query: q });
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
  summary: "A session, its latest runs, and the messages that wait in it",
  params: ID,
  action: "sessions.read",
  answers: { 200: { about: "The session", shape: "SessionDetails" } },
  async handle({ log }, { params: { id = "" } }) {
    const info = await findSession(log, id);
    // What waits first: a message whose turn comes in between is seen at least once, and then told as a run.
    const pending = await log.listPending(id, log.limits.maxPendingCommands);
    const runs = await log.listRuns(id, { limit: LATEST_RUNS });
    const begun = new Set(runs.map(({ runId }) => runId));
    const waiting = pending
      .filter(({ kind }) => kind === "enqueue")
      .map(describeQueued)
      .filter(({ run_id }) => !begun.has(run_id));
    const answer: SessionDetails = {
      ...describeSession(info),
      runs: runs.map(describeRun),
      is_busy: runs[0]?.status === "live" || waiting.length > 0,
      queued: waiting.slice(0, MAX_QUEUED),
    };
    return Response.json(answer);
  },
});

const renameSession = defineOperation<"Nothing", "RenameSession">({
  id: "renameSession",
  method: "PATCH",
  path: "/v1/sessions/{id}",
  tag: "sessions",
  summary: "Gives a session another title",
  params: ID,
  body: "RenameSession",
  action: "sessions.write",
  answers: { 200: { about: "The session", shape: "Session" } },
  async handle(core, { caller, params: { id = "" }, body: { title } }) {
    const { log } = core;
    const renamed = await inLine(log, id, async () => {
      await findOwn(log, authorOf(core, caller), id);
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
  summary: "Stops what runs in a session, and deletes it with its blobs",
  params: ID,
  action: "sessions.delete",
  answers: { 204: { about: "There is no such session any more" } },
  async handle(core, { caller, params: { id = "" } }) {
    const { log, blobs } = core;
    if ((await log.getSession(id)) !== undefined) await stopRuns(core, caller, id);
    const wasThere = await inLine(log, id, async () => {
      const info = await log.getSession(id);
      // It may have become another's since leave was asked for.
      if (info !== undefined && !mayTouch(authorOf(core, caller), info)) throw unknownSession(id);
      // Before the session: whoever is cut off here can ask again, and the next of its name, whosever, finds none of it.
      await blobs?.deleteSession(id);
      return log.deleteSession(id);
    });
    // What came in between, and what an older server has left.
    await blobs?.deleteSession(id);
    if (!wasThere) throw unknownSession(id);
    return new Response(null, { status: 204 });
  },
});

/**
 * A run that is told to stop lets go of its model and its tools; one that is only deleted learns of it when it next
 * writes. Whoever holds the session and does not answer in time is fenced by the deletion.
 */
async function stopRuns(core: ServerCore, caller: Caller, session: string): Promise<void> {
  const { log } = core;
  const waiting = await log.listPending(session, log.limits.maxPendingCommands);
  // What waits first, so that nothing begins when the live one ends.
  const queued = waiting.flatMap(({ kind, body: { run_id } }) =>
    kind === "enqueue" && typeof run_id === "string" ? [run_id] : [],
  );
  const live = (await log.listRuns(session, { limit: LATEST_RUNS })).filter(({ status }) => status === "live");
  // All at once, for one wait at most; they are written down in this order.
  await Promise.all(
    [...queued, ...live.map(({ runId }) => runId)].map(async (run_id) => {
      try {
        const id = randomUUID();
        await ask(core, caller, { type: "cancel", id, session, run_id, reason: "the session is deleted" });
      } catch (error) {
        // It goes all the same.
        if (!isLoomError(error)) throw error;
      }
    }),
  );
}

const fork = defineOperation<"Nothing", "ForkSession">({
  id: "forkSession",
  method: "POST",
  path: "/v1/sessions/{id}/fork",
  tag: "sessions",
  summary: "A new session that shares the beginning of this one, and goes on from a checkpoint, or waits for a message",
  params: ID,
  headers: KEY_HEADER,
  body: "ForkSession",
  action: "sessions.read",
  answers: {
    200: { about: "It was made before, by this key, at this place; it is as it is now", shape: "ForkedSession" },
    201: { about: "The new session", shape: "ForkedSession" },
  },
  async handle(core, { request, caller, params: { id = "" }, body }) {
    // Where a copy of all parts from the old session follows from nothing but its name.
    const kind = hasPlace(body) ? "fork" : "copy";
    const author = authorOf(core, caller);
    const to = body.session_id ?? deriveSessionId(JSON.stringify([kind, id, readKey(request)]), author.owner);
    await core.authorize({ caller, action: "sessions.create", session: to });
    assertName("session", to);
    if (goesOn(body)) await authorizeGoingOn(core, caller, id, to);
    const isKeyed = (request.headers.get("idempotency-key") ?? "") !== "";
    const [old, own] = [id, to].map((sessionId) => addressBlob(core, { sessionId, blobId: "" })) as [string, string];
    const moveImage = (url: string): string => (url.startsWith(old) ? own + url.slice(old.length) : url);
    const { owner, actor, tools } = author;
    const asked = { from: id, to, asked: body, isKeyed, moveImage, owner, actor, tools };
    const { made, isNew } = await forkOnce(core.log, asked);
    const { checkpointId } = made;
    // Whoever made it may have been cut off here.
    await undoUnless(core, made, isNew, async () => {
      if (checkpointId !== undefined && isNew) await admitLatest(core, author, to);
      await copyBlobs(core, id, to);
    });
    // Its run is live there, and somebody has to go on with it.
    if (checkpointId !== undefined) core.runs.attend(to);
    const headers = { location: addressOfSession(core, to) };
    const place = checkpointId === undefined ? {} : { checkpoint_id: checkpointId };
    const answer: ForkedSession = { ...describeSession(made), ...place };
    return Response.json(answer, { status: isNew ? 201 : 200, headers });
  },
});

/**
 * A run that goes on is a run that is begun. It has the rights it had, and whoever began it pays: those who have fewer,
 * or may only read it, must not have it go on.
 */
async function authorizeGoingOn(core: ServerCore, caller: Caller, from: string, to: string): Promise<void> {
  await core.authorize({ caller, action: "runs.start", session: to });
  if (!mayTouch(authorOf(core, caller), await findSession(core.log, from)))
    throw new LoomError("forbidden", "a session that is only shared can be copied; no run of it can go on");
  if (caller.principal.tools !== undefined)
    throw new LoomError(
      "forbidden",
      "a credential with rules for tools cannot have a run go on that another began: fork before a run instead",
    );
}

/** Throws where whoever asks may not begin the run that goes on in a fork. */
async function admitLatest({ log, runs }: ServerCore, { admitRun }: CommandAuthor, session: string): Promise<void> {
  if (admitRun === undefined) return;
  const [latest] = await log.listRuns(session, { limit: 1 });
  if (latest !== undefined) await admitRun({ agent: runs.resolveAgent(latest.agent), session, run: latest.runId });
}

/** Without all that belongs to it there is no new session. */
async function undoUnless(
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

/** What the records of the new session speak of. */
async function copyBlobs({ blobs }: ServerCore, from: string, to: string): Promise<void> {
  if (blobs === undefined) return;
  for (const { blobId, mediaType, name } of await blobs.list(from)) {
    const { bytes } = await blobs.read(from, blobId);
    await blobs.put(to, bytes, { mediaType, name });
  }
}

const exportOne = defineOperation({
  id: "exportSession",
  method: "GET",
  path: "/v1/sessions/{id}/export",
  tag: "sessions",
  summary: "All records of a session as NDJSON, as they are stored",
  params: ID,
  action: "sessions.read",
  answers: { 200: { about: "The records", mediaTypes: ["application/x-ndjson"] } },
  async handle({ log, access }, { caller, params: { id = "" } }) {
    const { lastId, firstId } = await findSession(log, id);
    const pages = lastId < firstId ? undefined : exportSession(log, id);
    const encoder = new TextEncoder();
    // One page at a time, when it is asked for.
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = (await pages?.next()) ?? { done: true };
        if (done === true || value === undefined) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: async () => void (await pages?.return()),
    });
    return new Response(access.isOpen ? body : leaseBody(body, (onEnd) => access.watch(caller, id, onEnd)), {
      headers: {
        "content-type": "application/x-ndjson",
        "cache-control": "no-store",
        "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(id)}.ndjson`,
      },
    });
  },
});

/** Asked again with the same key, it is the same session that is meant. */
function makeId(request: Request, { principal }: Caller): string {
  return deriveSessionId(readKey(request), principal.owner);
}

export const SESSION_OPERATIONS: readonly AnyOperation[] = [
  createSession,
  listSessions,
  getSession,
  renameSession,
  deleteSession,
  fork,
  exportOne,
];
