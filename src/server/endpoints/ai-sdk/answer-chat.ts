/**
 * Answers `POST /api/chat` of an AI SDK client: starts a run for a new message, or passes the user's answers to a run
 * that waits, and streams what follows.
 *
 * The log is authoritative: of the messages in the request only the new one is used, and the others only say which
 * version of the conversation the client shows. The ID of the message is the idempotency key, so a repeated request
 * never starts a second run.
 */
import { randomUUID } from "node:crypto";
import { dropUndefined } from "../../../protocol/drop-undefined.ts";
import type { ControlCommand } from "../../../protocol/control/index.ts";
import type { RunInfo } from "../../../log/index.ts";
import { isLoomError, LoomError } from "../../../protocol/index.ts";
import type { ApiCall } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { StartRun } from "../../api/shapes.generated.ts";
import type { Caller } from "../../auth/authorize.ts";
import { startInTurn } from "../../commands/command-queue.ts";
import { readLooseBody } from "../../guard/assert-known-fields.ts";
import { findNotice } from "../chat-notice.ts";
import { executeOrThrow } from "../command-endpoint.ts";
import { deriveSessionId } from "../derive-session-id.ts";
import { applyPolicy, authorizePolicy } from "../disconnect-policy.ts";
import { findBranchWithRun } from "../find-branch.ts";
import { findRun } from "../find-session.ts";
import { isAbandoned, type ShownRun } from "../is-abandoned.ts";
import { startFromBody } from "../runs.ts";
import { chooseBranch } from "./choose-branch.ts";
import { findRequests, findWaiting } from "./find-requests.ts";
import {
  type CallAnswer,
  composeInstructions,
  type KnownMessage,
  readClientTools,
  readUiRequest,
  toMessageKey,
  type UiRequest,
  type UserInput,
} from "./read-ui-request.ts";
import { findRest, sendPart } from "./send-part.ts";

type ChatRequest = ApiCall<"ChatOptions", "Chat">;

export async function answerChat(core: ServerCore, call: ChatRequest): Promise<Response> {
  const { caller, body, query } = call;
  const { messages = [], id } = body;
  const request = readUiRequest(messages);
  // Some transports send no chat ID, but always all messages.
  const first = messages[0]?.["id"];
  const chat =
    id ?? deriveSessionId(typeof first === "string" ? toMessageKey(first) : randomUUID(), caller.principal.owner);
  // For a message, the session may not exist yet, so check the read permission without it.
  await core.authorize({ caller, action: "sessions.read", session: request.input === undefined ? chat : undefined });
  await core.authorize({ caller, action: "runs.start", session: chat });
  await authorizePolicy(core, caller, query.on_disconnect);
  return request.input === undefined
    ? continueRun(core, call, chat, request)
    : startChatRun(core, call, chat, { ...request, input: request.input });
}

async function startChatRun(
  core: ServerCore,
  call: ChatRequest,
  chat: string,
  { input, known, editsByOmission }: UiRequest & { readonly input: UserInput },
): Promise<Response> {
  const { body, query, request, caller, signal } = call;
  const given = request.headers.get("idempotency-key") ?? "";
  const { session, run, notice } = await chooseBranch(core, caller, {
    chat,
    input,
    known,
    isComplete: body.trigger !== undefined && known.length + 1 === body.messages?.length,
    editsByOmission,
    replaces: body.messageId,
    isRegenerated: body.trigger === "regenerate-message",
    key: given === "" ? undefined : given,
    signal,
  });
  await core.authorize({ caller, action: "runs.start", session });
  const { id, message } = input;
  const key = given !== "" ? given : id === undefined ? randomUUID() : toMessageKey(id);
  // In turn: of several messages to a run that waits, only the first one cancels it. The others must not cancel the first.
  const start = async () => startFromBody(core, { ...call, body: await describeStart() }, session, key);
  const started = run === undefined ? await startInTurn(core.log, session, start) : undefined;
  const { version } = query;
  const part =
    started === undefined
      ? { session, run: run?.runId ?? "", version }
      : { ...started, version, notice: await findNotice(core, started, notice) };
  return sendPart(core, call, part, applyPolicy(core, caller, part, query.on_disconnect));

  async function describeStart(): Promise<StartRun> {
    const agent = body.agent ?? query.agent;
    const tools = readClientTools(body.tools);
    const instructions = composeInstructions(body);
    const { strategy } = readLooseBody([], { ...body });
    return dropUndefined({
      message,
      agent,
      strategy,
      request_id: id,
      ...(tools.length === 0 ? {} : { client_tools: tools }),
      ...(instructions === "" ? {} : { instructions }),
      // Version 5 has no approvals, so its user cannot answer one.
      ...(query.version === 5 ? { capabilities: ["tools"] } : {}),
      // A user who writes a message instead of an answer does not want to wait for the answer.
      ...((await isWaiting(core, session)) || (await isAbandoned(core, session, (run) => showRun(known, run)))
        ? { when_busy: "interrupt" as const }
        : {}),
    });
  }
}

function showRun(known: readonly KnownMessage[], { runId, requestId }: RunInfo): ShownRun {
  const answer = known.find(({ id, isAnswer }) => isAnswer && id === runId);
  const isKnown = answer !== undefined || known.some(({ id }) => id === requestId);
  return { isKnown, hasText: answer?.hasText === true };
}

async function isWaiting({ log }: ServerCore, session: string): Promise<boolean> {
  return (await log.getSession(session)) !== undefined && (await findWaiting(log, session)).size > 0;
}

/** Passes the answers to the run, and streams it from where the last response ended. */
async function continueRun(
  core: ServerCore,
  call: ChatRequest,
  chat: string,
  { run = "", answers }: UiRequest,
): Promise<Response> {
  const { caller, query } = call;
  const { log } = core;
  if (answers.length === 0)
    throw new LoomError("invalid_request", "The last message has no answer to a tool call", {
      path: "messages",
      in: "body",
    });
  const branch = await findBranchWithRun(core, caller, chat, run);
  const session = branch?.sessionId ?? chat;
  const info = await findRun(log, session, run);
  const answered = new Set(answers.map(({ callId }) => callId));
  const requests = await findRequests(log, session, info, answered);
  const last = Math.max(...requests.values());
  if (!Number.isFinite(last))
    throw new LoomError("unknown_call", "No tool call in the last message waits for an answer", { run_id: run });
  const waiting = info.status === "live" ? await findWaiting(log, session) : new Map<string, number>();
  for (const answer of answers) {
    const asked = waiting.get(answer.callId);
    if (asked !== undefined) await sendAnswer(core, caller, session, asked, answer);
  }
  const { version } = query;
  const rest = await findRest(log, session, last, answered, version);
  const policy = applyPolicy(core, caller, { session, run }, query.on_disconnect);
  return sendPart(core, call, { session, run, version, ...rest }, policy);
}

/** Another client may answer first; the stream then shows what it decided. */
async function sendAnswer(
  core: ServerCore,
  caller: Caller,
  session: string,
  asked: number,
  { callId: call_id, ...answer }: CallAnswer,
): Promise<void> {
  const isDecision = "decision" in answer;
  await core.authorize({ caller, action: isDecision ? "runs.approve" : "runs.control", session });
  const about = { id: `ai-sdk:${asked}:${call_id}`, session, call_id };
  const command: ControlCommand = isDecision
    ? { ...about, ...answer, type: "approve" }
    : { ...about, ...answer, type: "tool_result" };
  try {
    await executeOrThrow(core, caller, command);
  } catch (error) {
    if (!isLoomError(error, "already_answered", "unknown_call", "command_conflict")) throw error;
  }
}
