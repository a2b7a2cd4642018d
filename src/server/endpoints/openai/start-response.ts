/**
 * Starts what a request of the Responses API asks for: a run, or the rest of a run that waits for answers. HTTP requests
 * and messages on a WebSocket have the same fields.
 */
import { isLastResponseEvent } from "../../../dialects/openai-responses/encode.ts";
import { noteRequest } from "../../../dialects/openai-responses/describe-request.ts";
import { parseOpenaiId } from "../../../dialects/openai-id.ts";
import type { JsonObject } from "../../../protocol/index.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { DisconnectOptions, OpenaiResponsesRequest } from "../../api/shapes.generated.ts";
import { findCommand } from "../../commands/execute-command.ts";
import type { ReadRequest, StreamReader } from "../../streams/stream-reader.ts";
import { mapReader } from "../../streams/map-reader.ts";
import { branchBeforeRun } from "../create-fork.ts";
import { deriveSessionId } from "../derive-session-id.ts";
import { applyPolicy, authorizePolicy } from "../disconnect-policy.ts";
import { findRun } from "../find-session.ts";
import {
  answerCalls,
  authorizeRun,
  endAtLast,
  locatePart,
  type OpenaiCall,
  type PartFormat,
  readFormat,
  type RunPart,
  startOpenaiRun,
  unknownResponse,
} from "./openai-run.ts";
import { type OpenaiInput, readResponseInput, refuse } from "./read-openai-input.ts";

export const RESPONSES_FORMAT: PartFormat = { dialect: "openai-responses", isLast: isLastResponseEvent };
const MAX_METADATA = 16;

export interface ResponsesCall extends OpenaiCall {
  readonly body: OpenaiResponsesRequest;
  readonly query: DisconnectOptions;
  /** ID of the command that starts the run. A request that is repeated with its key starts nothing. */
  readonly key: string;
}

/** Checks a request, then starts its run or sends its answers. Returns the part of the run that is the response. */
export async function startResponse(core: ServerCore, call: ResponsesCall): Promise<RunPart> {
  const { text, input = "", model, instructions = "", metadata } = call.body;
  core.runs.resolveAgent(model);
  const output_schema = readFormat(core, model, text?.["format"], "text.format");
  assertMetadata(metadata);
  await authorizePolicy(core, call.caller, call.query.on_disconnect);
  const read = readResponseInput(input);
  const given = { ...read, instructions: [instructions, read.instructions].filter((each) => each !== "").join("\n\n") };
  const isAnswer = read.endsWithAnswers && read.answers.length > 0;
  return isAnswer
    ? answerCalls(core, call, read.answers, RESPONSES_FORMAT)
    : startRun(core, call, given, output_schema);
}

/** Starts the response of a message on a WebSocket, and opens its events. Returns undefined if the client disconnected. */
export async function openResponseStream(core: ServerCore, call: ResponsesCall): Promise<StreamReader | undefined> {
  const part = await startResponse(core, call);
  const { caller, signal } = call;
  const { session } = part;
  const { access } = core;
  const lease: ReadRequest["lease"] = access.isOpen ? undefined : (onEnd) => access.watch(caller, session, onEnd);
  const where = await locatePart(core, part, RESPONSES_FORMAT);
  const policy = applyPolicy(core, caller, part, call.query.on_disconnect);
  const request = { ...where, ...policy, follow: true, transport: "control", signal, lease } as const;
  const reader = await core.streams.open(session, request);
  return reader === undefined ? undefined : mapReader(reader, endAtLast(RESPONSES_FORMAT));
}

/** Starts a run in a new session, or in the one that the request continues. */
async function startRun(
  core: ServerCore,
  call: ResponsesCall,
  input: OpenaiInput,
  output_schema: JsonObject | undefined,
): Promise<RunPart> {
  const { body, caller, key } = call;
  const { model, tools, tool_choice, previous_response_id: previous, conversation } = body;
  const named = typeof conversation === "string" ? conversation : conversation?.id;
  if (named !== undefined && previous !== undefined)
    throw refuse("Use either `previous_response_id` or `conversation`", "conversation");
  const before = previous === undefined ? undefined : readResponseId(previous);
  const given = before?.session ?? named ?? deriveSessionId(key, caller.principal.owner);
  await authorizeRun(core, call, given);
  const session = before === undefined ? given : await findBranch(core, call, before, key);
  const info = await core.log.getSession(session);
  const isContinued = before !== undefined || named !== undefined;
  const openai = noteRequest({ ...body, conversation: named }, input.instructions !== (body.instructions ?? ""));
  return startOpenaiRun(
    core,
    call,
    input,
    {
      model,
      tools,
      tool_choice,
      effort: body.reasoning?.["effort"],
      output_schema,
      capabilities: ["approval", "tools"],
      ...(openai === undefined ? {} : { context: { openai } }),
      // A message instead of the answers that the run waits for: the run would wait until they expire.
      ...(before === undefined ? {} : { when_busy: "interrupt" as const }),
    },
    { session, key, hasHistory: isContinued && info !== undefined && info.lastId > 0 },
  );
}

/** The session that continues a response: its own, or a fork if the response has a successor in it. */
async function findBranch(
  core: ServerCore,
  { caller, signal }: OpenaiCall,
  before: RunPart,
  key: string,
): Promise<string> {
  const { session } = before;
  await findRun(core.log, session, before.run);
  // A repeated request finds the run that it started.
  if ((await findCommand(core.log, session, key)) !== undefined) return session;
  const next = await findNextRun(core, before);
  if (next === undefined) return session;
  return (await branchBeforeRun(core, caller, { session, run: next, key, signal })).sessionId;
}

/** The run after this one, if there is one. */
async function findNextRun({ log }: ServerCore, { session, run }: RunPart): Promise<string | undefined> {
  let next: string | undefined;
  for (;;) {
    const page = await log.listRuns(session, next === undefined ? {} : { after: next });
    for (const { runId } of page) {
      if (runId === run) return next;
      next = runId;
    }
    if (page.length === 0) return undefined;
  }
}

function assertMetadata(metadata: JsonObject = {}): void {
  const entries = Object.entries(metadata);
  if (entries.length > MAX_METADATA || entries.some(([, value]) => typeof value !== "string"))
    throw refuse(`\`metadata\` can have at most ${MAX_METADATA} texts`, "metadata");
}

/** Throws `unknown_run` unless the ID can name a response. */
export function readResponseId(id: string): RunPart {
  const part = parseOpenaiId("response", id);
  if (part === undefined) throw unknownResponse(id);
  return part;
}
