/**
 * The Chat Completions API. It is stateless: a request has the whole conversation, by which its session is found, unless the
 * client names one. Calls of the client's functions end the message; a request with their results continues the run.
 */
import { isLastChunk, isUsageChunk } from "../../../dialects/openai-chat/encode.ts";
import { isLoomError, type JsonObject } from "../../../protocol/index.ts";
import { type AnyOperation, type ApiCall, defineOperation } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import { IDEMPOTENCY_HEADER, readIdempotencyKey } from "../../endpoints/command-endpoint.ts";
import { refuse } from "../../endpoints/read-run-input.ts";
import { nameRun } from "../../endpoints/resource-paths.ts";
import type { MapFrames } from "../../streams/wrap-reader.ts";
import { answerClient, type ClientProtocol } from "../client-protocol.ts";
import { collectRunSlice } from "../send-run-slice.ts";
import { CompletionFold } from "./fold-completion.ts";
import {
  answerCalls,
  answerLeft,
  endAtLast,
  type FormattedInput,
  locateSlice,
  type OpenaiSlice,
  type SliceFormat,
  readFormat,
  streamSlice,
} from "./openai-run.ts";
import { type OpenaiInput, readChatMessages, readTexts } from "./read-openai-input.ts";
import { continueConversation, startConversation } from "./start-conversation.ts";

const FORMAT: SliceFormat = { dialect: "openai-chat", isLast: isLastChunk };
/** The last event of a stream. */
const DONE = "[DONE]";
/** Errors of answers that no run waits for. The results are then part of the history. */
const NOT_WAITING = ["unknown_session", "unknown_run", "unknown_call", "run_ended"] as const;

const createCompletion = defineOperation<"DisconnectOptions", "OpenaiChatRequest">({
  id: "createChatCompletion",
  method: "POST",
  path: "/openai/v1/chat/completions",
  summary: "Chat Completions API: send a conversation to an agent",
  description:
    "The session is found by the conversation, unless `Loom-Session` or `metadata.session_id` names one, which then has the history.",
  headers: { ...IDEMPOTENCY_HEADER, "Loom-Session": "Id of the session, with percent encoding" },
  query: "DisconnectOptions",
  body: "OpenaiChatRequest",
  hasInlineFiles: true,
  action: "runs.start",
  responses: {
    200: { description: "The message", shape: "OpenaiChatAnswer", mediaTypes: ["text/event-stream"] },
    499: { description: "The client disconnected" },
  },
  handle: (core, call) => answerClient(core, call, CHAT_COMPLETIONS),
});

type CompletionCall = ApiCall<"DisconnectOptions", "OpenaiChatRequest">;

const CHAT_COMPLETIONS: ClientProtocol<CompletionCall, FormattedInput, OpenaiSlice> = {
  readInput(core, { body }) {
    const { model, messages, response_format, n = 1 } = body;
    core.runs.resolveAgent(model);
    const output_schema = readFormat(core, model, response_format, "response_format");
    if (n !== 1) throw refuse("An agent gives one answer; `n` must be 1", "n");
    return { ...readChatMessages(messages), output_schema };
  },
  startOrAnswer: async (core, call, input) =>
    (await continueRun(core, call, input)) ?? (await startRun(core, call, input)),
  async sendSlice(core, call, slice, leave) {
    const { stream = false, stream_options } = call.body;
    if (stream) {
      const mapFrames = createFrameMap(stream_options?.["include_usage"] === true);
      return streamSlice(core, call, slice, FORMAT, { ...leave, mapFrames, isAwaited: true });
    }
    const fold = new CompletionFold();
    const view = { ...locateSlice(slice, FORMAT), ...leave, follow: true };
    const isRead = await collectRunSlice(core, call, slice, view, (text) => {
      fold.add(text);
      return isLastChunk(text);
    });
    return isRead ? Response.json(fold.finish(nameRun(slice))) : answerLeft();
  },
};

/** Sends results of calls to the run that waits for them. Returns undefined if there are none, or no run waits. */
async function continueRun(
  core: ServerCore,
  call: CompletionCall,
  input: OpenaiInput,
): Promise<OpenaiSlice | undefined> {
  const { answers, endsWithAnswers } = input;
  if (!endsWithAnswers || answers.length === 0) return undefined;
  try {
    return await answerCalls(core, call, answers, FORMAT);
  } catch (error) {
    if (isLoomError(error, ...NOT_WAITING)) return undefined;
    throw error;
  }
}

async function startRun(core: ServerCore, call: CompletionCall, input: FormattedInput): Promise<OpenaiSlice> {
  const { body, request } = call;
  const { output_schema } = input;
  const { model, tools, tool_choice, reasoning_effort: effort } = body;
  // The API has no approvals: calls that need one are refused.
  const about = { model, tools, tool_choice, effort, output_schema, capabilities: ["tools"] };
  const key = readIdempotencyKey(request);
  const named = readSession(request, body.metadata);
  if (named === undefined) return startConversation(core, call, input, about, key);
  return continueConversation(core, call, input, about, { named, key, earlier: readEarlier(input) });
}

/** The user's messages before the new one, if the client sent the conversation. */
function readEarlier({ messages, endsWithAnswers }: OpenaiInput): readonly string[] | undefined {
  if (endsWithAnswers || !messages.some(({ role }) => role === "assistant")) return undefined;
  const asked = messages.filter(({ role }) => role === "user").slice(0, -1);
  return asked.map(({ content }) => readTexts(content).join("\n"));
}

function readSession({ headers }: Request, metadata: JsonObject = {}): string | undefined {
  const header = headers.get("loom-session") ?? "";
  const { session_id: named } = metadata;
  if (header === "") return typeof named === "string" && named !== "" ? named : undefined;
  try {
    return decodeURIComponent(header);
  } catch {
    throw refuse("The header `Loom-Session` has an invalid percent encoding", "Loom-Session");
  }
}

/** Leaves out the usage if the client did not ask for it, because it has no choice, and ends the stream. */
function createFrameMap(withUsage: boolean): MapFrames {
  const cut = endAtLast(FORMAT);
  return (given) => {
    const { frames, isLast } = cut(given);
    const shown = withUsage || !frames.some(({ text }) => isUsageChunk(text)) ? frames : dropUsage(frames);
    const cursor = frames.at(-1)?.cursor ?? "";
    return { frames: isLast ? [...shown, { text: DONE, cursor }] : shown, isLast };
  };
}

function dropUsage(frames: Parameters<MapFrames>[0]): Parameters<MapFrames>[0] {
  return frames.filter(({ text }) => !isUsageChunk(text));
}

export const OPENAI_CHAT_OPERATIONS: readonly AnyOperation[] = [createCompletion];
