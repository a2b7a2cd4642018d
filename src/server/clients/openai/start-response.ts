/**
 * Starts what a request of the Responses API asks for: a run, or the rest of a run that waits for answers. HTTP requests
 * and messages on a WebSocket have the same fields.
 */
import { setTimeout as pause } from "node:timers/promises";
import { parseOpenaiId } from "../../../dialects/openai-id.ts";
import { noteRequest } from "../../../dialects/openai-responses/describe-request.ts";
import { isLastResponseEvent } from "../../../dialects/openai-responses/encode.ts";
import { createWakeup } from "../../../log/create-wakeup.ts";
import type { CommandState, Log } from "../../../log/index.ts";
import { LoomError } from "../../../protocol/index.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { DisconnectOptions, OpenaiResponsesRequest } from "../../api/shapes.generated.ts";
import { startInTurn } from "../../commands/command-queue.ts";
import { findCommand } from "../../commands/execute-command.ts";
import { branchBeforeRun } from "../../endpoints/create-fork.ts";
import { findNextRun, findRun } from "../../endpoints/find-session.ts";
import { refuse } from "../../endpoints/read-run-input.ts";
import { openReader } from "../../endpoints/stream-endpoint.ts";
import type { StreamReader } from "../../streams/stream-reader.ts";
import { endUnstarted, mapReader } from "../../streams/wrap-reader.ts";
import { applyPolicy, authorizePolicy, authorizeStart } from "../client-protocol.ts";
import {
  answerCalls,
  endAtLast,
  type FormattedInput,
  locateSlice,
  type OpenaiCall,
  type OpenaiSlice,
  type SliceFormat,
  readFormat,
  startOpenaiRun,
  unknownResponse,
} from "./openai-run.ts";
import { assertMetadata, readResponseInput } from "./read-openai-input.ts";
import { continueConversation, startConversation } from "./start-conversation.ts";

export const RESPONSES_FORMAT: SliceFormat = { dialect: "openai-responses", isLast: isLastResponseEvent };
/** Least time between two checks whether a message has started its run, in milliseconds. */
const PAUSE_MS = 50;

export interface ResponsesCall extends OpenaiCall {
  readonly body: OpenaiResponsesRequest;
  readonly query: DisconnectOptions;
  /** ID of the command that starts the run. A request that is repeated with its key starts nothing. */
  readonly key: string;
}

/** Reads a request and checks its form. */
export function readResponseRequest(core: ServerCore, body: OpenaiResponsesRequest): FormattedInput {
  const { text, input = "", model, instructions = "", metadata } = body;
  core.runs.resolveAgent(model);
  const output_schema = readFormat(core, model, text?.["format"], "text.format");
  assertMetadata(metadata ?? {});
  const read = readResponseInput(input);
  const given = [instructions, read.instructions].filter((each) => each !== "").join("\n\n");
  return { ...read, instructions: given, output_schema };
}

/** Starts the run of a request, or sends its answers. Returns the slice of the run that is the response. */
export function startResponse(core: ServerCore, call: ResponsesCall, input: FormattedInput): Promise<OpenaiSlice> {
  const isAnswer = input.endsWithAnswers && input.answers.length > 0;
  return isAnswer ? answerCalls(core, call, input.answers, RESPONSES_FORMAT) : startRun(core, call, input);
}

/** Starts the response of a message on a WebSocket, and opens its events. Returns undefined if the client disconnected. */
export async function openResponseStream(core: ServerCore, call: ResponsesCall): Promise<StreamReader | undefined> {
  const { caller, query, body } = call;
  const input = readResponseRequest(core, body);
  await authorizePolicy(core, caller, query.on_disconnect);
  const slice = await startResponse(core, call, input);
  const { session, run, key: command } = slice;
  const view = { ...locateSlice(slice, RESPONSES_FORMAT), ...applyPolicy(core, caller, slice, query.on_disconnect) };
  const reader = await openReader(core, call, session, { ...view, run, command, follow: true, transport: "control" });
  if (reader === undefined) return undefined;
  return mapReader(endUnstarted(reader, { run, ...RESPONSES_FORMAT }), endAtLast(RESPONSES_FORMAT));
}

/** Starts a run in a new session, or in the one that the request continues. */
async function startRun(core: ServerCore, call: ResponsesCall, input: FormattedInput): Promise<OpenaiSlice> {
  const { body, key, caller } = call;
  const { output_schema } = input;
  const { model, tools, tool_choice, previous_response_id: previous, conversation } = body;
  const named = typeof conversation === "string" ? conversation : conversation?.id;
  if (named !== undefined && previous !== undefined)
    throw refuse("Use either `previous_response_id` or `conversation`", "conversation");
  const openai = noteRequest({ ...body, conversation: named }, input.instructions !== (body.instructions ?? ""));
  const about = {
    model,
    tools,
    tool_choice,
    effort: body.reasoning?.["effort"],
    output_schema,
    capabilities: ["approval", "tools"],
    ...(openai === undefined ? {} : { context: { openai } }),
  };
  if (named !== undefined) return continueConversation(core, call, input, about, { named, key });
  if (previous === undefined) return startConversation(core, call, input, about, key);
  const before = readResponseId(previous);
  await core.authorize({ caller, action: "sessions.read", session: before.session });
  await authorizeStart(core, caller, before.session);
  // A message instead of the answers that the run waits for: the run would wait until they expire.
  const next = { ...about, when_busy: "interrupt" } as const;
  for (const deadline = performance.now() + core.limits.commandTimeoutMs; ;) {
    const found = await startInTurn(core.log, before.session, async () => {
      const session = await findBranch(core, call, before, key);
      return typeof session === "string" ? startOpenaiRun(core, call, input, next, { session, key }) : session;
    });
    if (!("commandId" in found)) return found;
    // Not in turn: other messages of the session do not wait.
    await awaitStart(core.log, found, { deadline, signal: call.signal });
  }
}

/**
 * The session that continues a response: its own, or a fork if the response has a successor in it. Returns the message
 * that becomes the successor if it has not started its run.
 */
async function findBranch(
  core: ServerCore,
  { caller, signal }: OpenaiCall,
  before: OpenaiSlice,
  key: string,
): Promise<string | CommandState> {
  const { log } = core;
  const { session } = before;
  await findRun(log, session, before.run);
  // Read first: a message that is not pending any more has a run, or none.
  const pending = await log.listPending(session, log.limits.maxPendingCommands);
  const next = await findNextRun(log, session, before.run);
  // A repeated request finds the run that it started. Read last: the run of another request has a command.
  if ((await findCommand(log, session, key)) !== undefined) return session;
  if (next !== undefined) return (await branchBeforeRun(core, caller, { session, run: next, key, signal })).sessionId;
  return pending.find(({ kind }) => kind === "enqueue") ?? session;
}

/** Waits until the run of a message has started. Throws `run_live` after the deadline, and if the client disconnects. */
async function awaitStart(
  log: Log,
  { sessionId, commandId }: CommandState,
  { deadline, signal }: { readonly deadline: number; readonly signal: AbortSignal },
): Promise<void> {
  const wakeup = createWakeup(signal);
  const unwatch = log.watch(sessionId, wakeup.notify, { hintsOnly: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      wakeup.reset();
      const command = await log.getCommand(sessionId, commandId);
      if (command?.outcome !== undefined || command === undefined) return;
      const left = deadline - performance.now();
      if (left <= 0)
        throw new LoomError(
          "run_live",
          "Another message waits for the run of this response; try again when it has ended",
        );
      await wakeup.wait(left);
      // The live run writes many records.
      await pause(PAUSE_MS);
    }
  } finally {
    unwatch();
    wakeup.close();
  }
}

/** Throws `unknown_run` unless the ID can name a response. */
export function readResponseId(id: string): OpenaiSlice {
  const slice = parseOpenaiId("response", id);
  if (slice === undefined) throw unknownResponse(id);
  return slice;
}
