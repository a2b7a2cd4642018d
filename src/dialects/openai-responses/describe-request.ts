/**
 * What a response repeats of its request. Most of it is in the run; the endpoint stores the rest in the context of the run,
 * with `noteRequest`.
 */
import type { EventOf, Json, JsonObject } from "../../protocol/index.ts";
import { isJsonObject, toJsonObject } from "../../protocol/json.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";

/** The fields of a request that are noted. */
export interface NotedRequest {
  readonly metadata?: JsonObject | undefined;
  readonly previous_response_id?: string | undefined;
  readonly conversation?: string | undefined;
  readonly instructions?: string | undefined;
  readonly text?: JsonObject | undefined;
  readonly tools?: readonly JsonObject[] | undefined;
  readonly tool_choice?: unknown;
  readonly reasoning?: JsonObject | undefined;
  readonly background?: boolean | undefined;
}

/** The fields of a run that the response repeats. */
export type DescribedRun = Partial<
  Pick<EventOf<"run_start">, "context" | "instructions" | "output_schema" | "client_tools">
>;

/**
 * Returns what the run does not have in another form, small enough for the context of a run. `hasOthers` is true if the run
 * also has instructions from the messages of the request.
 */
export function noteRequest(request: NotedRequest, hasOthers: boolean): JsonObject | undefined {
  const { metadata, previous_response_id, conversation, instructions = "", text, tool_choice } = request;
  // In the order of the tools that the client carries out.
  const tools = (request.tools ?? []).filter(({ type }) => type === "function");
  const { schema: _schema, ...format } = toJsonObject(text?.["format"]);
  const noted = dropUndefined({
    metadata,
    previous_response_id,
    conversation,
    instructions_length: hasOthers ? instructions.length : undefined,
    text: text === undefined ? undefined : { ...text, format: { type: "text", ...format } },
    strict_tools: tools.some(({ strict }) => strict != null) ? tools.map(({ strict }) => strict ?? null) : undefined,
    tool_choice: tool_choice === "none" ? "none" : undefined,
    reasoning: request.reasoning,
    background: request.background === true ? true : undefined,
  });
  return Object.keys(noted).length === 0 ? undefined : noted;
}

/** The fields of a response that repeat its request. */
export function describeRequest(run: DescribedRun): JsonObject {
  const { context, instructions = "", output_schema, client_tools = [] } = run;
  const { metadata, previous_response_id, conversation, instructions_length, text, strict_tools, ...noted } =
    toJsonObject(context?.["openai"]);
  const own = typeof instructions_length === "number" ? instructions.slice(0, instructions_length) : instructions;
  const { tool_choice, reasoning, background } = noted;
  const strict = Array.isArray(strict_tools) ? (strict_tools as readonly Json[]) : [];
  return {
    instructions: own === "" ? null : own,
    metadata: toJsonObject(metadata),
    previous_response_id: typeof previous_response_id === "string" ? previous_response_id : null,
    ...(typeof conversation === "string" ? { conversation: { id: conversation } } : {}),
    text: describeText(toJsonObject(text), output_schema),
    tool_choice: tool_choice === "none" ? "none" : "auto",
    tools: client_tools.map(({ name, description, input_schema }, index) => ({
      type: "function",
      name,
      ...(description === undefined ? {} : { description }),
      parameters: input_schema ?? null,
      strict: strict[index] ?? null,
    })),
    ...(isJsonObject(reasoning) ? { reasoning } : {}),
    ...(background === true ? { background } : {}),
  };
}

function describeText(text: JsonObject, schema: JsonObject | undefined): JsonObject {
  const format = { type: "text", ...toJsonObject(text["format"]) };
  return { ...text, format: format.type === "json_schema" && schema !== undefined ? { ...format, schema } : format };
}
