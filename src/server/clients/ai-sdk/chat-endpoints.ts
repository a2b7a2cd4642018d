/**
 * Endpoints of AI SDK chats beside `POST /api/chat`: resume a stream, stop a run, and read the messages. `POST /api/chat`
 * itself is in `chat/chat.ts`, which passes requests of the AI SDK to `ai-sdk-protocol.ts`.
 *
 * A chat is a session; its ID is that of the session. Clients also send the IDs of streams to these paths.
 */
import { isLoomError } from "../../../protocol/index.ts";
import { type AnyOperation, type ApiCall, defineOperation } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { Caller } from "../../auth/authorize.ts";
import { blobUrl } from "../../blobs/blob-rules.ts";
import { IDEMPOTENCY_HEADER, readIdempotencyKey, respondToCommand } from "../../endpoints/command-endpoint.ts";
import { openHead } from "../../endpoints/find-branch.ts";
import { assertRunStarts } from "../../endpoints/find-session.ts";
import { createRevocableBody } from "../../endpoints/revocable-body.ts";
import { CURSOR_HEADERS } from "../../endpoints/stream-endpoint.ts";
import { listWaiting } from "../../endpoints/waiting-calls.ts";
import { listUiMessages, writeUiMessages } from "./list-ui-messages.ts";
import { sendNothing, sendSlice } from "./send-slice.ts";
import { parseStreamId, type SentSlice } from "./stream-id.ts";

const CHAT_PARAM = { chat: "ID of the chat, or of a stream (`x-workflow-run-id`)" } as const;

const readChat = defineOperation<"ReadChat">({
  id: "readChat",
  method: "GET",
  path: "/api/chat/{chat}/stream",
  summary: "Stream the latest answer of a chat from its start (AI SDK)",
  description:
    "Sends the message of the latest run, live or ended, with the same IDs as before, so that a client replaces what it has. For the ID of a stream: that stream again, from chunk `startIndex` or after `Last-Event-ID`.",
  params: CHAT_PARAM,
  headers: CURSOR_HEADERS,
  query: "ReadChat",
  action: "sessions.read",
  responses: {
    200: { description: "Chunks of the AI SDK", mediaTypes: ["text/event-stream"] },
    204: { description: "The chat has no answer, or nothing follows `Last-Event-ID`" },
  },
  async handle(core, call) {
    const { startIndex, version } = call.query;
    const slice = await findSlice(core, call, "sessions.read");
    // The ID of a stream names the version of the AI SDK that reads it.
    if (slice !== undefined)
      return sendSlice(core, call, { sdkVersion: version, ...slice }, { startIndex, isReplay: true });
    return startIndex === undefined ? new Response(null, { status: 204 }) : sendNothing();
  },
});

const stopChat = defineOperation({
  id: "stopChat",
  method: "POST",
  path: "/api/chat/{chat}/stop",
  summary: "Cancel the live run of a chat (AI SDK)",
  params: CHAT_PARAM,
  headers: IDEMPOTENCY_HEADER,
  action: "runs.control",
  responses: {
    200: { description: "Cancelled", shape: "CommandResult" },
    202: { description: "Pending", shape: "CommandResult" },
    204: { description: "No run is live" },
  },
  async handle(core, call) {
    const slice = await findSlice(core, call, "runs.control");
    const run = slice === undefined ? undefined : await core.log.getRun(slice.session, slice.run);
    if (slice === undefined || run?.status !== "live") return new Response(null, { status: 204 });
    const id = readIdempotencyKey(call.request);
    return respondToCommand(core, call.caller, { type: "cancel", id, session: slice.session, run_id: slice.run });
  },
});

const readMessages = defineOperation({
  id: "readChatMessages",
  method: "GET",
  path: "/api/chat/{chat}/messages",
  summary: "Get the messages of a chat as UI messages (AI SDK)",
  description:
    "The answer of a live run is not included, unless it waits for the user: a client receives it from the stream of the chat.",
  params: { chat: "ID of the chat" },
  action: "sessions.read",
  responses: { 200: { description: "List of UI messages, oldest first", mediaTypes: ["application/json"] } },
  async handle(core, { params: { chat = "" }, caller }) {
    const session = await findChat(core, caller, chat, "sessions.read");
    if (session === undefined) return Response.json([]);
    const urlOf = (blobId: string): string => blobUrl(core, { sessionId: session, blobId });
    const body = writeUiMessages(listUiMessages(core.log, session, urlOf));
    return new Response(createRevocableBody(core, caller, session, body), {
      headers: { "content-type": "application/json" },
    });
  },
});

/** Finds what the path names and authorizes the caller. Undefined for a chat without a run. */
async function findSlice(
  core: ServerCore,
  { params, caller }: Pick<ApiCall<"Empty", "Empty">, "params" | "caller">,
  action: "sessions.read" | "runs.control",
): Promise<SentSlice | undefined> {
  const { chat = "" } = params;
  const slice = parseStreamId(chat);
  if (slice !== undefined) {
    await core.authorize({ caller, action, session: slice.session });
    await assertRunStarts(core.log, slice);
    return slice;
  }
  const session = await findChat(core, caller, chat, action);
  return session === undefined ? undefined : findLatest(core, session);
}

/**
 * Returns the session of a chat: the newest version of the conversation. Undefined if there is none: a page asks for its
 * chat before the first message. A chat of another owner looks the same.
 */
async function findChat(
  core: ServerCore,
  caller: Caller,
  chat: string,
  action: "sessions.read" | "runs.control",
): Promise<string | undefined> {
  try {
    await core.authorize({ caller, action, session: chat });
    return (await openHead(core, caller, chat, action)).sessionId;
  } catch (error) {
    if (isLoomError(error, "unknown_session")) return undefined;
    throw error;
  }
}

/** The whole message of the latest run, up to where the run waits for the user now. */
async function findLatest({ log }: ServerCore, session: string): Promise<SentSlice | undefined> {
  const info = await log.getSession(session);
  if (info === undefined) return undefined;
  const [latest] = await log.listRuns(session, { limit: 1 });
  if (latest === undefined) return undefined;
  const { runId: run, lastId } = latest;
  const waiting = (await listWaiting(log, session)).map(({ call }) => call.event_id);
  // The user has answered where the run waited before.
  const waitFromId = waiting.length === 0 ? (lastId ?? info.lastId) + 1 : Math.max(...waiting);
  return { session, run, waitFromId };
}

export const AI_SDK_OPERATIONS: readonly AnyOperation[] = [readChat, stopChat, readMessages];
