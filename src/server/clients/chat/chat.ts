/**
 * The chat endpoint of specification 003 (a body with `messages` is one of the AI SDK, see `ai-sdk/ai-sdk-protocol.ts`): a message in, its messages out as server-sent events, each `data: {json}`
 * with the cursor as `id`.
 *
 * A client that was disconnected repeats the request with `Last-Event-ID`, as a POST or with an EventSource, and
 * receives the rest of that run; no run is started. Clients of the AI SDK resume elsewhere: `readChat` in
 * `ai-sdk/chat-endpoints.ts`.
 */
import { assertCursorOf, parseCursor } from "../../../log/cursor.ts";
import { dropUndefined } from "../../../protocol/drop-undefined.ts";
import { LoomError } from "../../../protocol/index.ts";
import { type AnyOperation, type ApiCall, defineOperation } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import { IDEMPOTENCY_HEADER, readIdempotencyKey } from "../../endpoints/command-endpoint.ts";
import { deriveSessionId } from "../../endpoints/derive-session-id.ts";
import { findSession } from "../../endpoints/find-session.ts";
import { startRun } from "../../endpoints/runs.ts";
import { isRunRead, CURSOR_HEADERS, readLastEventId, sendRun, sendStream } from "../../endpoints/stream-endpoint.ts";
import { readLooseBody } from "../../guard/assert-known-fields.ts";
import { isRequestId } from "../../guard/read-request-info.ts";
import { AI_SDK_PROTOCOL } from "../ai-sdk/ai-sdk-protocol.ts";
import { answerClient, applyPolicy, authorizePolicy } from "../client-protocol.ts";

const ANSWER = {
  description: "Messages of specification 003, up to `session_end`; chunks of the AI SDK for a body with `messages`",
  mediaTypes: ["text/event-stream"],
} as const;
/** What a message of 003 can have. */
const FIELDS = ["session_id", "content", "request_id", "agent", "strategy", "capabilities"];
const DIALECT = "engine";
/** Clients that read a response themselves may take every orderly end for the end of the run. */
const POSTED = { framing: "sse", isCutHard: true } as const;
/** An EventSource reconnects in any case, and takes the delay that the server asks for when it stops. */
const GOT = { framing: "sse" } as const;

const chat = defineOperation<"ChatOptions", "Chat">({
  id: "chat",
  method: "POST",
  path: "/api/chat",
  summary: "Send a message and stream the answer (specification 003, or the AI SDK)",
  description:
    "A missing session is created and named in `session_start`. With `Last-Event-ID` no run is started; the rest of the interrupted one is sent. A body with `messages` is one of the AI SDK and is answered with its UI message stream.",
  headers: { ...IDEMPOTENCY_HEADER, ...CURSOR_HEADERS },
  query: "ChatOptions",
  body: "Chat",
  acceptsText: true,
  hasInlineFiles: true,
  action: "runs.start",
  responses: { 200: ANSWER },
  async handle(core, call) {
    if (call.body.messages !== undefined) return answerClient(core, call, AI_SDK_PROTOCOL);
    const {
      session_id,
      content,
      agent = call.query.agent,
      request_id = readGivenRequestId(call.request),
      capabilities = [],
    } = call.body;
    const cursor = readLastEventId(call.request);
    if (cursor !== undefined) {
      if (session_id === undefined)
        throw new LoomError("invalid_request", "Resuming with `Last-Event-ID` requires `session_id`");
      await core.authorize({ caller: call.caller, action: "sessions.read", session: session_id });
      return resumeRun(core, call, session_id, cursor);
    }
    if (content === undefined) throw new LoomError("invalid_request", "`content` is required");
    if (content.trim() === "") throw new LoomError("invalid_command", "`content` is empty");
    const key = readIdempotencyKey(call.request);
    const session = session_id ?? deriveSessionId(key, call.caller.principal.owner);
    await core.authorize({ caller: call.caller, action: "runs.start", session });
    // The session may not exist yet, so check the read permission without it.
    await core.authorize({ caller: call.caller, action: "sessions.read" });
    const { on_disconnect: policy } = call.query;
    await authorizePolicy(core, call.caller, policy);
    const { strategy, notices } = readLooseBody(FIELDS, { ...call.body });
    const named = dropUndefined({ strategy, agent, request_id });
    const run = await startRun(
      core,
      call.caller,
      { session, key, message: content, capabilities, ...named },
      { notices },
    );
    return sendRun(core, call, run, { dialect: DIALECT, ...applyPolicy(core, call.caller, run, policy) }, POSTED);
  },
});

const streamToEventSource = defineOperation<"ResumeChat">({
  id: "resumeChat",
  method: "GET",
  path: "/api/chat",
  summary: "Stream the latest run of a chat, or the rest of one, to an EventSource",
  headers: CURSOR_HEADERS,
  query: "ResumeChat",
  action: "sessions.read",
  responses: { 200: ANSWER, 204: { description: "Nothing more to send; an EventSource stops reconnecting" } },
  async handle(core, call) {
    const { session_id: session, run: named } = call.query;
    await core.authorize({ caller: call.caller, action: "sessions.read", session });
    const cursor = readLastEventId(call.request);
    if (cursor !== undefined) {
      const run = named ?? (await findRunAt(core, session, cursor));
      if (run === undefined || (await isRunRead(core, session, run, cursor)))
        return new Response(null, { status: 204 });
      return sendRemaining(core, call, session, run, cursor, GOT);
    }
    const run = named ?? (await findLatestRun(core, session));
    if (run === undefined) return new Response(null, { status: 204 });
    return sendRemaining(core, call, session, run, undefined, GOT);
  },
});

/** The caller's ID in the header. The server sends the same one back in the response. */
function readGivenRequestId({ headers }: Request): string | undefined {
  const given = headers.get("x-request-id");
  return given !== null && isRequestId(given) ? given : undefined;
}

async function resumeRun(core: ServerCore, call: ApiCall<"ChatOptions", "Chat">, session: string, cursor: string) {
  const run = await findRunAt(core, session, cursor);
  if (run !== undefined) return sendRemaining(core, call, session, run, cursor, POSTED);
  throw new LoomError("cursor_ahead", "No run has started after this cursor", { session_id: session });
}

function sendRemaining(
  core: ServerCore,
  call: Pick<ApiCall<"Empty", "Empty">, "caller" | "node" | "signal">,
  session: string,
  run: string,
  after: string | undefined,
  options: typeof POSTED | typeof GOT,
): Promise<Response> {
  return sendStream(core, call, session, { dialect: DIALECT, after, run, follow: true }, options);
}

/**
 * Returns the run of the record the cursor points to. If that record belongs to no run, returns the first run after it.
 */
async function findRunAt({ log }: ServerCore, session: string, cursor: string): Promise<string | undefined> {
  const position = parseCursor(cursor);
  const info = await findSession(log, session);
  assertCursorOf(session, info.incarnation, position);
  const { records } = await log.read(session, { after: Math.max(0, position.eventId - 1), limit: MAX_RECORDS_SCANNED });
  return records.find(({ envelope }) => envelope.run_id !== undefined)?.envelope.run_id;
}

/** Maximum number of consecutive records that belong to no run. */
const MAX_RECORDS_SCANNED = 100;

async function findLatestRun({ log }: ServerCore, session: string): Promise<string | undefined> {
  await findSession(log, session);
  const [latest] = await log.listRuns(session, { limit: 1 });
  return latest?.runId;
}

export const CHAT_OPERATIONS: readonly AnyOperation[] = [chat, streamToEventSource];
