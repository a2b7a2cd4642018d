/**
 * Answers `POST /api/chat` of an AI SDK client: starts a run for a new message, or passes the user's answers to a run
 * that waits, and streams what follows.
 *
 * The log is authoritative: of the messages in the request only the new one is used. The ID of the message is the
 * idempotency key, so a repeated request never starts a second run.
 */
import { randomUUID } from "node:crypto";
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import type { ApiCall } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import { executeOrThrow } from "../command-endpoint.ts";
import { deriveSessionId } from "../derive-session-id.ts";
import { applyPolicy, authorizePolicy } from "../disconnect-policy.ts";
import { findRun } from "../find-session.ts";
import { listApprovals } from "../list-approvals.ts";
import { startFromBody } from "../runs.ts";
import { findRequests } from "./find-requests.ts";
import { readUiRequest, type UiRequest, type UserInput } from "./read-ui-request.ts";
import { findWait, sendPart } from "./send-part.ts";

type ChatRequest = ApiCall<"ChatOptions", "Chat">;

export async function answerChat(core: ServerCore, call: ChatRequest): Promise<Response> {
  const { caller, body, query } = call;
  const { messages = [], id } = body;
  const request = readUiRequest(messages);
  // Some transports send no chat ID, but always all messages.
  const first = messages[0]?.["id"];
  const chat = id ?? deriveSessionId(typeof first === "string" ? toKey(first) : randomUUID(), caller.principal.owner);
  await core.authorize({ caller, action: "runs.start", session: chat });
  // The session may not exist yet, so check the read permission without it.
  await core.authorize({ caller, action: "sessions.read" });
  await authorizePolicy(core, caller, query.on_disconnect);
  return request.input === undefined
    ? continueRun(core, call, chat, request)
    : startChatRun(core, call, chat, request.input);
}

/** The idempotency key of a message with this ID. */
function toKey(messageId: string): string {
  return `ai-sdk:${messageId}`;
}

async function startChatRun(
  core: ServerCore,
  call: ChatRequest,
  session: string,
  { id, message }: UserInput,
): Promise<Response> {
  const { body, query, request, caller } = call;
  const given = request.headers.get("idempotency-key") ?? "";
  const key = given !== "" ? given : id === undefined ? randomUUID() : toKey(id);
  const agent = body.agent ?? query.agent;
  const start = {
    message,
    ...(agent === undefined ? {} : { agent }),
    ...(id === undefined ? {} : { request_id: id }),
    // A user who writes a message instead of an answer does not want to wait for the answer.
    ...((await isWaiting(core, session)) ? { when_busy: "interrupt" as const } : {}),
  };
  const run = await startFromBody(core, { ...call, body: start }, session, key);
  return sendPart(core, call, run, applyPolicy(core, caller, run, query.on_disconnect));
}

async function isWaiting({ log }: ServerCore, session: string): Promise<boolean> {
  return (await log.getSession(session)) !== undefined && (await listApprovals(log, session)).length > 0;
}

/** Passes the answers to the run, and streams it from where the last response ended. */
async function continueRun(
  core: ServerCore,
  call: ChatRequest,
  session: string,
  { run = "", answers }: UiRequest,
): Promise<Response> {
  const { caller, query } = call;
  if (answers.length === 0)
    throw new LoomError("invalid_request", "The last message has no new answer to a tool call", {
      path: "messages",
      in: "body",
    });
  await core.authorize({ caller, action: "runs.approve", session });
  const info = await findRun(core.log, session, run);
  const requests = await findRequests(core.log, session, info, new Set(answers.map(({ callId }) => callId)));
  const last = Math.max(...requests.values());
  if (!Number.isFinite(last))
    throw new LoomError("unknown_call", "No tool call in the last message waits for an answer", { run_id: run });
  const from = await findWait(core.log, session, last);
  for (const { callId, ...answer } of answers) {
    const asked = requests.get(callId);
    if (asked === undefined) continue;
    const command = { ...answer, type: "approve", id: `ai-sdk:${asked}:${callId}`, session, call_id: callId } as const;
    await executeOrThrow(core, caller, command).catch(ignoreAnswered);
  }
  const policy = applyPolicy(core, caller, { session, run }, query.on_disconnect);
  return sendPart(core, call, { session, run, from }, policy);
}

/** Another client may have answered first; the stream then shows what it decided. */
function ignoreAnswered(error: unknown): void {
  if (!isLoomError(error, "already_answered", "unknown_call", "command_conflict")) throw error;
}
