/** Sessions over HTTP: made, listed, searched, renamed, deleted, forked, exported. */
import { randomUUID } from "node:crypto";
import { exportSession, type SessionInfo } from "../../log/index.ts";
import type { FoundSession } from "../../log/log.ts";
import { unknownSession } from "../../log/rules.ts";
import { isLoomError } from "../../protocol/index.ts";
import { type AnyOperation, defineOperation } from "../api/operation.ts";
import type { ForkedSession, SessionDetails, SessionList } from "../api/shapes.generated.ts";
import { addressBlob } from "../blobs/address-blob.ts";
import type { ServerCore } from "../server-core.ts";
import { addressOfSession } from "./addresses.ts";
import { ask, KEY_HEADER, readKey } from "./command-door.ts";
import { deriveSessionId } from "./derive-session-id.ts";
import { findSession } from "./find-session.ts";
import { forkOnce, hasPlace } from "./fork-once.ts";
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
  async handle(core, { request, asker, body: { session_id: session = makeId(request), title } }) {
    await core.authorize({ asker, action: "sessions.create", session });
    const isThere = (await core.log.getSession(session)) !== undefined;
    const info = await core.log.createSession(session, title === undefined ? {} : { title });
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
  async handle({ log }, { query }) {
    const { limit, ...place } = readPage(query);
    const { q = "" } = query;
    const asked = { ...place, limit: limit + 1 };
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
  async handle({ log }, { params: { id = "" }, body: { title } }) {
    return Response.json(describeSession(await log.renameSession(id, title)));
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
  async handle(core, { params: { id = "" } }) {
    const { log, blobs } = core;
    if ((await log.getSession(id)) !== undefined) await stopRuns(core, id);
    const wasThere = await log.deleteSession(id);
    // Also of one that is gone already: whoever deleted it may have been cut off here.
    await blobs?.deleteSession(id);
    if (!wasThere) throw unknownSession(id);
    return new Response(null, { status: 204 });
  },
});

/**
 * A run that is told to stop lets go of its model and its tools; one that is only deleted learns of it when it next
 * writes. Whoever holds the session and does not answer in time is fenced by the deletion.
 */
async function stopRuns(core: ServerCore, session: string): Promise<void> {
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
        await ask(core, { type: "cancel", id: randomUUID(), session, run_id, reason: "the session is deleted" });
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
  async handle(core, { request, asker, params: { id = "" }, body }) {
    // Where a copy of all parts from the old session follows from nothing but its name.
    const kind = hasPlace(body) ? "fork" : "copy";
    const to = body.session_id ?? deriveSessionId(JSON.stringify([kind, id, readKey(request)]));
    await core.authorize({ asker, action: "sessions.create", session: to });
    const isKeyed = (request.headers.get("idempotency-key") ?? "") !== "";
    const [old, own] = [id, to].map((sessionId) => addressBlob(core, { sessionId, blobId: "" })) as [string, string];
    const moveImage = (url: string): string => (url.startsWith(old) ? own + url.slice(old.length) : url);
    const { made, isNew } = await forkOnce(core.log, { from: id, to, asked: body, isKeyed, moveImage });
    // Whoever made it may have been cut off here.
    await copyBlobs(core, id, to, isNew);
    const { checkpointId } = made;
    // Its run is live there, and somebody has to go on with it.
    if (checkpointId !== undefined) core.runs.attend(to);
    const headers = { location: addressOfSession(core, to) };
    const place = checkpointId === undefined ? {} : { checkpoint_id: checkpointId };
    const answer: ForkedSession = { ...describeSession(made), ...place };
    return Response.json(answer, { status: isNew ? 201 : 200, headers });
  },
});

/** What the records of the new session speak of. Without all of it there is no new session. */
async function copyBlobs({ log, blobs }: ServerCore, from: string, to: string, isNew: boolean): Promise<void> {
  if (blobs === undefined) return;
  try {
    for (const { blobId, mediaType, name } of await blobs.list(from)) {
      const { bytes } = await blobs.read(from, blobId);
      await blobs.put(to, bytes, { mediaType, name });
    }
  } catch (error) {
    if (!isNew) throw error;
    await log.deleteSession(to);
    await blobs.deleteSession(to);
    throw error;
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
  async handle({ log }, { params: { id = "" } }) {
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
    return new Response(body, {
      headers: {
        "content-type": "application/x-ndjson",
        "cache-control": "no-store",
        "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(id)}.ndjson`,
      },
    });
  },
});

/** Asked again with the same key, it is the same session that is meant. */
function makeId(request: Request): string {
  return deriveSessionId(readKey(request));
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
