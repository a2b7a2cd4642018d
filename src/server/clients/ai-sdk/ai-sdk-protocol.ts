/**
 * Answers `POST /api/chat` of an AI SDK client: starts a run for a new message, or passes the user's answers to a run
 * that waits, and streams what follows.
 *
 * The log is authoritative: of the messages in the request only the new one is used, and the others only say which
 * version of the conversation the client shows. The ID of the message is the idempotency key, so a repeated request
 * never starts a second run.
 */
import { randomUUID } from "node:crypto";
import type { RunInfo } from "../../../log/index.ts";
import { dropUndefined } from "../../../protocol/drop-undefined.ts";
import { LoomError } from "../../../protocol/index.ts";
import type { ApiCall } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { StartRun } from "../../api/shapes.generated.ts";
import { startInTurn } from "../../commands/command-queue.ts";
import { deriveSessionId } from "../../endpoints/derive-session-id.ts";
import { findBranchWithRun } from "../../endpoints/find-branch.ts";
import { findRun } from "../../endpoints/find-session.ts";
import { refuse } from "../../endpoints/read-run-input.ts";
import { listWaiting, readWaits } from "../../endpoints/waiting-calls.ts";
import { readLooseBody } from "../../guard/assert-known-fields.ts";
import { authorizeStart, type ClientProtocol, LATE, sendAnswers, startMessageRun } from "../client-protocol.ts";
import { isAbandoned, type ShownRun } from "../is-abandoned.ts";
import { chooseBranch } from "./choose-branch.ts";
import {
  composeInstructions,
  type KnownMessage,
  readClientTools,
  readUiRequest,
  toMessageKey,
  type UiRequest,
  type UserInput,
} from "./read-ui-request.ts";
import { findRest, sendSlice } from "./send-slice.ts";
import type { SentSlice } from "./stream-id.ts";

type ChatRequest = ApiCall<"ChatOptions", "Chat">;

export const AI_SDK_PROTOCOL: ClientProtocol<ChatRequest, UiRequest, SentSlice> = {
  readInput: (_core, { body }) => readUiRequest(body.messages ?? []),
  async startOrAnswer(core, call, request) {
    const { caller, body, query } = call;
    const { input } = request;
    // Some transports send no chat ID, but always all messages.
    const first = body.messages?.[0]?.["id"];
    const chat =
      body.id ??
      deriveSessionId(typeof first === "string" ? toMessageKey(first) : randomUUID(), caller.principal.owner);
    if (input === undefined) await core.authorize({ caller, action: "sessions.read", session: chat });
    await authorizeStart(core, caller, chat);
    const slice =
      input === undefined
        ? await answerRun(core, call, chat, request)
        : await startChatRun(core, call, chat, { ...request, input });
    return { ...slice, sdkVersion: query.version };
  },
  sendSlice,
};

async function startChatRun(
  core: ServerCore,
  call: ChatRequest,
  chat: string,
  { input, known, editsByOmission }: UiRequest & { readonly input: UserInput },
): Promise<SentSlice> {
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
  if (run !== undefined) {
    await core.authorize({ caller, action: "runs.start", session });
    return { session, run: run.runId };
  }
  const { id, message } = input;
  const key = given !== "" ? given : id === undefined ? randomUUID() : toMessageKey(id);
  // In turn: of several messages to a run that waits, only the first one cancels it. The others must not cancel the first.
  return startInTurn(core.log, session, async () =>
    startMessageRun(core, call, { session, key, body: await describeStart(), notice }),
  );

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
      // Version 5 of the AI SDK has no approvals, so its user cannot answer one.
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
  return (await log.getSession(session)) !== undefined && (await listWaiting(log, session)).length > 0;
}

/** Passes the answers to the run. It goes on where the last response ended. */
async function answerRun(
  core: ServerCore,
  { caller, query }: ChatRequest,
  chat: string,
  { run = "", answers }: UiRequest,
): Promise<SentSlice> {
  const { log } = core;
  if (answers.length === 0) throw refuse("The last message has no answer to a tool call", "messages");
  const found = await findBranchWithRun(core, caller, chat, run);
  const session = found?.session ?? chat;
  const answered = new Set(answers.map(({ call_id }) => call_id));
  const { asked, open } = await readWaits(log, session, found?.run ?? (await findRun(log, session, run)));
  const last = Math.max(...asked.flatMap(({ call }) => (answered.has(call.call_id) ? [call.event_id] : [])));
  if (!Number.isFinite(last))
    throw new LoomError("unknown_call", "No tool call in the last message waits for an answer", { run_id: run });
  const given = answers.flatMap((answer) => {
    const { call_id } = answer;
    const wait = open.findLast(({ call }) => call.call_id === call_id);
    return wait === undefined ? [] : [{ ...answer, id: `ai-sdk:${wait.call.event_id}:${call_id}` }];
  });
  // Another client may answer first; the stream then shows what it decided.
  await sendAnswers(core, caller, session, given, [...LATE, "command_conflict"]);
  return { session, run, ...(await findRest(log, session, last, answered, query.version)) };
}
