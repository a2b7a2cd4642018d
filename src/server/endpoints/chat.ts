/**
 * The chat of 003: a message in, its messages out as server-sent events, `data: {json}` each, with the cursor as `id`.
 * Whoever was cut off asks again with `Last-Event-ID`, by the same POST or as an EventSource does, and is told the rest
 * of that run; nothing is started then.
 */
import { assertCursorOf } from "../../log/cursor.ts";
import { parseCursor } from "../../log/index.ts";
import { LoomError } from "../../protocol/index.ts";
import { type AnyOperation, type ApiCall, defineOperation } from "../api/operation.ts";
import type { ServerCore } from "../server-core.ts";
import { KEY_HEADER, readKey } from "./command-endpoint.ts";
import { deriveSessionId } from "./derive-session-id.ts";
import { findSession } from "./find-session.ts";
import { startRun } from "./start-run.ts";
import { isAllRead, PLACE_HEADERS, readLastEventId, sendRun, sendStream } from "./stream-endpoint.ts";

const ANSWER = { about: "The messages of 003, to `session_end`", mediaTypes: ["text/event-stream"] } as const;
const DIALECT = "engine";

const chat = defineOperation<"Nothing", "Chat">({
  id: "chat",
  method: "POST",
  path: "/api/chat",
  tag: "chat",
  summary: "A message and its answer, as 003 has it",
  description:
    "The session is made where there is none, and named in `session_start`. With `Last-Event-ID` nothing is started: the rest of that run comes.",
  headers: { ...KEY_HEADER, ...PLACE_HEADERS },
  body: "Chat",
  action: "runs.start",
  answers: { 200: ANSWER },
  async handle(core, call) {
    const { session_id, content, agent } = call.body;
    const cursor = readLastEventId(call.request);
    if (cursor !== undefined) {
      if (session_id === undefined)
        throw new LoomError("invalid_request", "to go on after `Last-Event-ID`, `session_id` is needed");
      await core.authorize({ caller: call.caller, action: "sessions.read", session: session_id });
      return goOn(core, call, session_id, cursor);
    }
    if (content === undefined) throw new LoomError("invalid_request", "`content` is missing");
    if (content.trim() === "") throw new LoomError("invalid_command", "`content` is empty");
    const key = readKey(call.request);
    const session = session_id ?? deriveSessionId(key, call.caller.principal.owner);
    await core.authorize({ caller: call.caller, action: "runs.start", session });
    // The session may be made only now: that it may be read is a matter of the caller alone.
    await core.authorize({ caller: call.caller, action: "sessions.read" });
    const named = agent === undefined ? {} : { agent };
    const asked = await startRun(core, call.caller, { session, key, message: content, ...named });
    return sendRun(core, call, asked, { dialect: DIALECT }, "sse");
  },
});

const chatAgain = defineOperation<"ChatPlace">({
  id: "resumeChat",
  method: "GET",
  path: "/api/chat",
  tag: "chat",
  summary: "The latest run of a chat, or the rest of one, for an EventSource",
  headers: PLACE_HEADERS,
  query: "ChatPlace",
  action: "sessions.read",
  answers: { 200: ANSWER, 204: { about: "There is nothing more to come: an EventSource stops asking" } },
  async handle(core, call) {
    const { session_id: session, run: named } = call.query;
    await core.authorize({ caller: call.caller, action: "sessions.read", session });
    const cursor = readLastEventId(call.request);
    if (cursor !== undefined) {
      const run = named ?? (await findRunAt(core, session, cursor));
      if (run === undefined || (await isAllRead(core, session, run, cursor)))
        return new Response(null, { status: 204 });
      return sendRest(core, call, session, run, cursor);
    }
    const run = named ?? (await findLatest(core, session));
    return run === undefined ? new Response(null, { status: 204 }) : sendRest(core, call, session, run, undefined);
  },
});

async function goOn(core: ServerCore, call: ApiCall<"Nothing", "Chat">, session: string, cursor: string) {
  const run = await findRunAt(core, session, cursor);
  if (run !== undefined) return sendRest(core, call, session, run, cursor);
  throw new LoomError("cursor_ahead", "no run has begun after this cursor", { session_id: session });
}

function sendRest(
  core: ServerCore,
  call: Pick<ApiCall<"Nothing", "Nothing">, "caller" | "node" | "signal">,
  session: string,
  run: string,
  after: string | undefined,
): Promise<Response> {
  return sendStream(core, call, session, { dialect: DIALECT, after, run, follow: true }, { framing: "sse" });
}

/** The run of the record that the cursor names; of one that belongs to no run, or none, the first that comes after. */
async function findRunAt({ log }: ServerCore, session: string, cursor: string): Promise<string | undefined> {
  const place = parseCursor(cursor);
  const info = await findSession(log, session);
  assertCursorOf(session, info.incarnation, place);
  const { records } = await log.read(session, { after: Math.max(0, place.eventId - 1), limit: MAX_LOOKED_AT });
  return records.find(({ envelope }) => envelope.run_id !== undefined)?.envelope.run_id;
}

/** Records of no run that may follow one another. */
const MAX_LOOKED_AT = 100;

async function findLatest({ log }: ServerCore, session: string): Promise<string | undefined> {
  await findSession(log, session);
  const [latest] = await log.listRuns(session, { limit: 1 });
  return latest?.runId;
}

export const CHAT_OPERATIONS: readonly AnyOperation[] = [chat, chatAgain];
