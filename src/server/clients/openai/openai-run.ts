/**
 * What the endpoints for Chat Completions and Responses share: how a request becomes a run, how answers reach a run that
 * waits, and which slice of a run a message is. A run that waits for the client consists of several messages.
 */
import { hash } from "node:crypto";
import type { DialectName } from "../../../dialects/index.ts";
import { SERVER_LABEL } from "../../../dialects/openai-responses/sent-response.ts";
import { parseCursor } from "../../../log/cursor.ts";
import { dropUndefined } from "../../../protocol/drop-undefined.ts";
import { isLoomError, type Json, type JsonObject, LoomError } from "../../../protocol/index.ts";
import { isJsonObject, toJsonObject } from "../../../protocol/json.ts";
import type { ReasoningLevel } from "../../../protocol/reasoning-level.ts";
import { readOutputSchema } from "../../../protocol/run-additions.ts";
import { fromJsonSchema } from "../../../tools/from-json-schema.ts";
import type { ApiCall } from "../../api/operation.ts";
import type { ServerCore } from "../../api/server-core.ts";
import type { StartRun } from "../../api/shapes.generated.ts";
import { hasRuns } from "../../endpoints/find-session.ts";
import { refuse } from "../../endpoints/read-run-input.ts";
import { nameRun } from "../../endpoints/resource-paths.ts";
import { startFromBody } from "../../endpoints/runs.ts";
import type { ReadRequest } from "../../streams/stream-reader.ts";
import { holdReader, type MapFrames, mapReader } from "../../streams/wrap-reader.ts";
import { type RunSlice, sendAnswers } from "../client-protocol.ts";
import { collectRunSlice, sendRunSlice } from "../send-run-slice.ts";
import type { OpenaiAnswer, OpenaiInput, OpenaiMessage } from "./read-openai-input.ts";
import { watchOpening } from "./run-failure.ts";

export type OpenaiCall = Pick<ApiCall<"Empty", "Empty">, "caller" | "signal" | "upload">;

/** One message of a run: the records after `after`, up to the end of the run or the next wait for the client. */
export interface OpenaiSlice extends RunSlice {
  readonly after: number;
}

/** The input of a request, and the form of the answer. */
export interface FormattedInput extends OpenaiInput {
  /** JSON Schema of the answer; undefined for plain text. */
  readonly output_schema: JsonObject | undefined;
}

/** How a dialect ends a message. */
export interface SliceFormat {
  readonly dialect: DialectName;
  readonly isLast: (text: string) => boolean;
}

const EFFORTS: { readonly [effort: string]: ReasoningLevel } = {
  none: "off",
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
};

/** The message of a run whose conversation ends with results of calls that no run waits for. */
const CONTINUE = "Continue with the results of the tools.";

/** What both kinds of requests say about a run. */
export interface OpenaiRunRequest {
  readonly model: string;
  readonly tools?: readonly JsonObject[] | undefined;
  readonly tool_choice?: Json | undefined;
  readonly effort?: Json | undefined;
  readonly output_schema?: JsonObject | undefined;
  readonly capabilities: readonly string[];
  readonly context?: JsonObject;
  readonly request_id?: string;
  readonly when_busy?: "interrupt" | "reject";
}

/**
 * Starts the run of a message. `hasHistory` is true if the session has the conversation, so that only the message is new.
 * Default: if it has runs.
 */
export async function startOpenaiRun(
  core: ServerCore,
  call: OpenaiCall,
  input: OpenaiInput,
  about: OpenaiRunRequest,
  { session, key, hasHistory }: { readonly session: string; readonly key: string; readonly hasHistory?: boolean },
): Promise<OpenaiSlice> {
  const { model, tools, tool_choice, effort, output_schema, ...rest } = about;
  const { instructions } = input;
  const reasoning = typeof effort === "string" ? EFFORTS[effort] : undefined;
  const listed = readTools(tools, tool_choice);
  const body: StartRun = dropUndefined({
    ...rest,
    agent: model,
    messages: createMessages(input, hasHistory ?? (await hasRuns(core.log, session))),
    reasoning,
    ...(listed.length === 0 ? {} : { client_tools: listed }),
    ...(instructions === "" ? {} : { instructions }),
    output_schema,
  });
  const { run } = await startFromBody(core, { ...call, body }, session, key);
  return { session, run, after: 0, key };
}

/** The messages of the run. */
function createMessages(
  { messages, field, endsWithAnswers }: OpenaiInput,
  hasHistory: boolean,
): readonly OpenaiMessage[] {
  const last: OpenaiMessage | undefined = endsWithAnswers ? { role: "user", content: CONTINUE } : messages.at(-1);
  if (last?.role !== "user") throw refuse("The last message must be the user's", field);
  const earlier = endsWithAnswers ? messages : messages.slice(0, -1);
  return [...(hasHistory ? [] : earlier), last];
}

/** Functions of the client. Tools that OpenAI would run are refused. */
function readTools(tools: readonly JsonObject[] = [], choice: Json = "auto"): NonNullable<StartRun["client_tools"]> {
  if (choice === "none") return [];
  if (choice !== "auto")
    throw refuse("The agent decides which tools it uses; `tool_choice` must be `auto` or `none`", "tool_choice");
  return tools.flatMap((tool, index) => {
    if (isServerTools(tool, `tools[${index}]`)) return [];
    if (tool["type"] !== "function")
      throw refuse("Only tools with the type `function` can be used; the agent has its own", `tools[${index}].type`);
    // Chat Completions nests the fields in `function`.
    const { name, description, parameters } = { ...tool, ...toJsonObject(tool["function"]) };
    if (typeof name !== "string") throw refuse("A function needs a name", `tools[${index}]`);
    const about = typeof description === "string" ? { description } : {};
    return [{ name, ...about, ...(parameters == null ? {} : { input_schema: toJsonObject(parameters) }) }];
  });
}

/**
 * True for a hosted MCP server that stands for the tools of the agent, as clients declare it that check where an approval
 * comes from.
 */
function isServerTools({ type, server_label: label, allowed_tools = null }: JsonObject, path: string): boolean {
  if (type !== "mcp") return false;
  if (label !== SERVER_LABEL)
    throw refuse(
      `The tools of the agent have the label \`${SERVER_LABEL}\`; it has no other servers`,
      `${path}.server_label`,
    );
  if (allowed_tools !== null) throw refuse("The agent decides which of its tools it uses", `${path}.allowed_tools`);
  return true;
}

/**
 * Returns the JSON Schema of the answer; undefined for plain text. Chat Completions nests the fields in `json_schema`.
 * Throws `invalid_request`, also if the agent or the server does not support the format, with the path of the field.
 */
export function readFormat(
  { runs }: Pick<ServerCore, "runs">,
  model: string,
  format: Json | undefined,
  path: string,
): JsonObject | undefined {
  const given = toJsonObject(format);
  const { type = "text" } = given;
  if (type === "text") return undefined;
  if (type !== "json_object" && type !== "json_schema")
    throw refuse("The format must be `text`, `json_schema` or `json_object`", path);
  const { schema } = type === "json_object" ? ANY_OBJECT : { ...given, ...toJsonObject(given["json_schema"]) };
  if (!isJsonObject(schema)) throw refuse("The format needs a `schema`", path);
  try {
    runs.resolveAgent(model, { outputSchema: schema });
    fromJsonSchema(readOutputSchema(schema) ?? schema);
  } catch (error) {
    if (isLoomError(error, "invalid_command")) throw refuse(error.message, path);
    throw error;
  }
  return schema;
}

/** What `json_object` stands for. */
const ANY_OBJECT: JsonObject = { schema: { type: "object" } };

/**
 * Sends the answers of the client to the run that waits for them. Returns the slice of the run that goes on. A request
 * that is repeated returns the same slice. Throws `unknown_session`, `unknown_call`, `already_answered` and others.
 */
export async function answerCalls(
  core: ServerCore,
  call: OpenaiCall,
  answers: readonly OpenaiAnswer[],
  format: SliceFormat,
): Promise<OpenaiSlice> {
  const [first] = answers;
  if (first === undefined) throw refuse("There is no answer", "input");
  const { session, run, after } = first.of;
  if (answers.some(({ of }) => of.session !== session || of.run !== run))
    throw refuse("All answers must belong to the same response", "input");
  const { caller } = call;
  await core.authorize({ caller, action: "sessions.read", session });
  const given = answers.map(({ of: { call: call_id }, ...answer }) => {
    const id = `openai:${hash("sha256", JSON.stringify([call_id, answer]), "base64url")}`;
    return { ...answer, id, run_id: run, call_id };
  });
  const { taken } = await sendAnswers(core, caller, session, given, []);
  const written = taken.flatMap(({ result }) => (typeof result?.["event_id"] === "number" ? [result["event_id"]] : []));
  const last = written.length === 0 ? undefined : Math.max(...written);
  return findPartAt(core, call, { session, run, after }, last, format);
}

/** Finds the slice of a run that has the record `eventId`, or the one after `slice` if it is undefined. */
async function findPartAt(
  core: ServerCore,
  call: OpenaiCall,
  slice: OpenaiSlice,
  eventId: number | undefined,
  format: SliceFormat,
): Promise<OpenaiSlice> {
  let { after } = slice;
  await collectRunSlice(core, call, slice, { ...locateSlice(slice, format), follow: false }, (text, cursor) => {
    if (!format.isLast(text)) return false;
    const end = parseCursor(cursor).eventId;
    if (eventId !== undefined && end >= eventId) return true;
    after = end;
    return eventId === undefined;
  });
  return { ...slice, after };
}

/** Where a reader of this slice starts. */
export function locateSlice({ after }: OpenaiSlice, { dialect }: SliceFormat) {
  return { dialect, after: after === 0 ? undefined : String(after) };
}

interface StreamSliceOptions extends Pick<ReadRequest, "onLeave"> {
  readonly mapFrames: MapFrames;
  /** True: wait for the first answer of the model, so that a refusal of its provider is the status of the response. */
  readonly isAwaited: boolean;
}

/**
 * Maximum wait for the first answer of the model. A provider refuses sooner, and a client that waits for a slow model
 * should learn the ID of its response.
 */
const MAX_WAIT_MS = 10_000;

/** Sends a slice as server-sent events, up to its last frame. */
export function streamSlice(
  core: ServerCore,
  call: OpenaiCall & Pick<ApiCall<"Empty", "Empty">, "node">,
  slice: OpenaiSlice,
  format: SliceFormat,
  { onLeave, mapFrames, isAwaited }: StreamSliceOptions,
): Promise<Response> {
  return sendRunSlice(core, call, slice, {
    ...locateSlice(slice, format),
    onLeave,
    framing: "sse",
    isCutHard: true,
    adapt(reader) {
      const mapped = mapReader(reader, mapFrames);
      return isAwaited ? holdReader(mapped, { isDecided: watchOpening(nameRun(slice)), maxMs: MAX_WAIT_MS }) : mapped;
    },
  });
}

/** Returns the frames up to the last one of a slice. */
export function endAtLast({ isLast }: SliceFormat): MapFrames {
  return (frames) => {
    const end = frames.findIndex(({ text }) => isLast(text));
    if (end === -1) return { frames, isLast: false };
    return { frames: end + 1 === frames.length ? frames : frames.slice(0, end + 1), isLast: true };
  };
}

/** The answer to a client that has disconnected. */
export function answerLeft(): Response {
  return new Response(null, { status: 499 });
}

/** Throws `unknown_run` unless the ID names a response of this server. */
export function unknownResponse(id: string): LoomError {
  return new LoomError("unknown_run", `There is no response "${id.slice(0, 80)}"`);
}
