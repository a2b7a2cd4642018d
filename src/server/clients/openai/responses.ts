/**
 * The Responses API. A response is a run, or a slice of one that waits for the client; its ID names session and run. The
 * session is the conversation.
 */
import { formatOpenaiId } from "../../../dialects/openai-id.ts";
import type { DescribedRun } from "../../../dialects/openai-responses/describe-request.ts";
import { isLastResponseEvent } from "../../../dialects/openai-responses/encode.ts";
import { describeQueuedResponse } from "../../../dialects/openai-responses/sent-response.ts";
import type { CommandState } from "../../../log/index.ts";
import { isLoomError } from "../../../protocol/index.ts";
import { type AnyOperation, type ApiCall, defineOperation } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { OpenaiResponse } from "../../api/shapes.generated.ts";
import type { Action } from "../../auth/scopes.ts";
import { commandHostFor } from "../../commands/command-host.ts";
import { deleteSessionAndBlobs } from "../../commands/delete-session.ts";
import { findCommand } from "../../commands/execute-command.ts";
import { executeOrThrow, IDEMPOTENCY_HEADER, readIdempotencyKey } from "../../endpoints/command-endpoint.ts";
import { findRun } from "../../endpoints/find-session.ts";
import { refuse } from "../../endpoints/read-run-input.ts";
import { nameRun } from "../../endpoints/resource-paths.ts";
import type { MapFrames } from "../../streams/wrap-reader.ts";
import { answerClient, type ClientProtocol } from "../client-protocol.ts";
import { collectRunSlice } from "../send-run-slice.ts";
import { listInputItems } from "./conversation-items.ts";
import { listOf } from "./conversations.ts";
import { ResponseFold } from "./fold-response.ts";
import {
  answerLeft,
  endAtLast,
  type FormattedInput,
  locateSlice,
  type OpenaiCall,
  type OpenaiSlice,
  streamSlice,
  unknownResponse,
} from "./openai-run.ts";
import { watchOpening } from "./run-failure.ts";
import { readResponseId, readResponseRequest, RESPONSES_FORMAT, startResponse } from "./start-response.ts";

const ID = { response: "Id of the response" };

const createResponse = defineOperation<"DisconnectOptions", "OpenaiResponsesRequest">({
  id: "createResponse",
  method: "POST",
  path: "/openai/v1/responses",
  summary: "Responses API: send a message to an agent, or answers to a response",
  description:
    "`previous_response_id` or `conversation` continues a session, which has the history. A response that ends with calls or approval requests is continued by their answers.",
  headers: IDEMPOTENCY_HEADER,
  query: "DisconnectOptions",
  body: "OpenaiResponsesRequest",
  hasInlineFiles: true,
  action: "runs.start",
  responses: {
    200: { description: "The response", shape: "OpenaiResponse", mediaTypes: ["text/event-stream"] },
    499: { description: "The client disconnected" },
  },
  handle: (core, call) => answerClient(core, call, RESPONSES),
});

const RESPONSES: ClientProtocol<ApiCall<"DisconnectOptions", "OpenaiResponsesRequest">, FormattedInput, OpenaiSlice> = {
  readInput: (core, { body }) => readResponseRequest(core, body),
  startOrAnswer: (core, call, input) => startResponse(core, { ...call, key: readIdempotencyKey(call.request) }, input),
  async sendSlice(core, call, slice, leave) {
    const { stream = false, background = false } = call.body;
    const isAwaited = !background;
    const mapFrames = endAtLast(RESPONSES_FORMAT);
    if (stream) return streamSlice(core, call, slice, RESPONSES_FORMAT, { ...leave, mapFrames, isAwaited });
    const isDecided = isAwaited ? watchOpening(nameRun(slice)) : undefined;
    const response = await readSlice(core, call, slice, { follow: isAwaited, isDecided, ...leave });
    return response === undefined ? answerLeft() : Response.json(response);
  },
};

/** Authorizes the caller for the session of a response. */
async function openResponse(
  core: ServerCore,
  { caller }: OpenaiCall,
  id: string,
  action: Action,
): Promise<OpenaiSlice> {
  const slice = readResponseId(id);
  await core.authorize({ caller, action, session: slice.session });
  return slice;
}

interface ReadSliceOptions {
  readonly follow: boolean;
  readonly onLeave?: (() => void) | undefined;
  /** Called with the events until it returns true. What it throws refuses the request. */
  readonly isDecided?: ((text: string) => boolean) | undefined;
}

/** Reads a response as far as it has come, or to its end. Returns undefined if the client disconnected. */
async function readSlice(
  core: ServerCore,
  call: OpenaiCall,
  slice: OpenaiSlice,
  { isDecided = () => true, ...options }: ReadSliceOptions,
): Promise<OpenaiResponse | undefined> {
  const { session, run, after } = slice;
  const id = formatOpenaiId("response", { session, run, after });
  if (!options.follow && (await core.log.getRun(session, run)) === undefined) return readQueued(core, slice, id);
  const fold = new ResponseFold();
  let hasDecided = false;
  const isRead = await collectRunSlice(
    core,
    call,
    slice,
    { ...locateSlice(slice, RESPONSES_FORMAT), ...options },
    (text) => {
      hasDecided ||= isDecided(text);
      fold.add(text);
      return isLastResponseEvent(text);
    },
  );
  if (!isRead) return undefined;
  const response = fold.finish();
  if (response !== undefined) return response;
  // The slice after a wait begins with the next record. Nothing follows the last record of the run.
  const { lastId = Number.POSITIVE_INFINITY } = (await core.log.getRun(session, run)) ?? {};
  if (lastId <= after) throw unknownResponse(id);
  return describeQueuedResponse(id, { status: "in_progress", model: "" });
}

/** A response whose run waits for another one. */
async function readQueued(core: ServerCore, slice: OpenaiSlice, id: string): Promise<OpenaiResponse> {
  const { body, createdAt: time } = await findQueued(core, slice, id);
  const { agent } = body;
  const about = { status: "queued", model: typeof agent === "string" ? agent : "" } as const;
  return describeQueuedResponse(id, { ...about, createdAt: Math.floor(time / 1000) }, body as DescribedRun);
}

/** The command that starts the run of a response. Throws `unknown_run`. */
async function findQueued({ log }: ServerCore, { session, run }: OpenaiSlice, id: string): Promise<CommandState> {
  const pending = await log.listPending(session, log.limits.maxPendingCommands).catch(() => []);
  const command = pending.find(({ kind, body }) => kind === "enqueue" && body["run_id"] === run);
  if (command === undefined) throw unknownResponse(id);
  return command;
}

const getResponse = defineOperation<"OpenaiReadResponse">({
  id: "getResponse",
  method: "GET",
  path: "/openai/v1/responses/{response}",
  summary: "Responses API: get a response, or its events after one of them",
  params: ID,
  query: "OpenaiReadResponse",
  action: "sessions.read",
  responses: {
    200: { description: "The response", shape: "OpenaiResponse", mediaTypes: ["text/event-stream"] },
    499: { description: "The client disconnected" },
  },
  async handle(core, call) {
    const id = call.params["response"] ?? "";
    const slice = await openResponse(core, call, id, "sessions.read");
    const { stream = false, starting_after: last } = call.query;
    const first = last === undefined ? 0 : last + 1;
    if (stream) {
      const isStarted = (await core.log.getRun(slice.session, slice.run)) !== undefined;
      // With the command, the stream ends if the run is cancelled before it starts.
      const started = isStarted ? slice : { ...slice, key: (await findQueued(core, slice, id)).commandId };
      return streamSlice(core, call, started, RESPONSES_FORMAT, { mapFrames: skipFrames(first), isAwaited: false });
    }
    const response = await readSlice(core, call, slice, { follow: false });
    return response === undefined ? answerLeft() : Response.json(response);
  },
});

/** Leaves out the first frames of a slice. A slice has one frame per `sequence_number`, from 0. */
function skipFrames(count: number): MapFrames {
  const cut = endAtLast(RESPONSES_FORMAT);
  let left = count;
  return (given) => {
    const { frames, isLast } = cut(given);
    if (left === 0) return { frames, isLast };
    const skipped = Math.min(left, frames.length);
    left -= skipped;
    return { frames: frames.slice(skipped), isLast };
  };
}

const cancelResponse = defineOperation({
  id: "cancelResponse",
  method: "POST",
  path: "/openai/v1/responses/{response}/cancel",
  summary: "Responses API: cancel the run of a response",
  params: ID,
  headers: IDEMPOTENCY_HEADER,
  action: "runs.control",
  responses: {
    200: { description: "The response", shape: "OpenaiResponse" },
    499: { description: "The client disconnected" },
  },
  async handle(core, call) {
    const id = call.params["response"] ?? "";
    const slice = await openResponse(core, call, id, "runs.control");
    await core.authorize({ caller: call.caller, action: "sessions.read", session: slice.session });
    const { session, run } = slice;
    const key = readIdempotencyKey(call.request);
    const isKnown = (await core.log.getRun(session, run)) !== undefined;
    // The ID of a response exists only after its request, so there is no run to wait for.
    if (!isKnown && (await findCommand(core.log, session, key)) === undefined) await findQueued(core, slice, id);
    try {
      await executeOrThrow(core, call.caller, { type: "cancel", id: key, session, run_id: run });
    } catch (error) {
      // A response that has ended stays as it is.
      if (!isLoomError(error, "run_ended")) throw error;
    }
    const isStarted = (await core.log.getRun(session, run)) !== undefined;
    if (!isStarted) return Response.json(describeQueuedResponse(id, { status: "cancelled", model: "" }));
    const response = await readSlice(core, call, slice, { follow: true });
    return response === undefined ? answerLeft() : Response.json(response);
  },
});

const deleteResponse = defineOperation({
  id: "deleteResponse",
  method: "DELETE",
  path: "/openai/v1/responses/{response}",
  summary: "Responses API: delete a response that is alone in its session",
  description: "A response with others in its session is refused: delete the session instead.",
  params: ID,
  action: "sessions.delete",
  audit: "session.delete",
  responses: { 200: { description: "Deleted", shape: "OpenaiDeleted" } },
  async handle(core, call) {
    const id = call.params["response"] ?? "";
    const slice = await openResponse(core, call, id, "sessions.delete");
    await findRun(core.log, slice.session, slice.run);
    const runs = await core.log.listRuns(slice.session, { limit: 2 });
    if (runs.length !== 1) throw refuse("The session has other responses; delete the session instead", "response");
    await deleteSessionAndBlobs(commandHostFor(core, call.caller), core.blobs, slice.session);
    return Response.json({ id, object: "response", deleted: true });
  },
});

const listResponseInput = defineOperation({
  id: "listResponseInputItems",
  method: "GET",
  path: "/openai/v1/responses/{response}/input_items",
  summary: "Responses API: list the input of a response",
  params: ID,
  action: "sessions.read",
  responses: { 200: { description: "Input items", shape: "OpenaiList" } },
  async handle(core, call) {
    const id = call.params["response"] ?? "";
    const slice = await openResponse(core, call, id, "sessions.read");
    return listOf(await listInputItems(core.log, slice), false);
  },
});

export const OPENAI_RESPONSE_OPERATIONS: readonly AnyOperation[] = [
  createResponse,
  getResponse,
  cancelResponse,
  deleteResponse,
  listResponseInput,
];
