/** Declares the frames of the `openai-responses` dialect, the stream events of OpenAI's Responses API; types and forms are generated from it. */
import {
  additional,
  count,
  json,
  listOf,
  map,
  number,
  objectOf,
  openSet,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";

const SECTION = "Responses API";

const sequence_number = optional(count, "Number of the event in the response, from 0");
const item_id = required(string, "ID of the output item");
const output_index = required(count, "Position of the output item");
const content_index = required(count, "Position of the content part");
const summary_index = required(count, "Position of the summary part");
const delta = required(string, "Text to append");
const text = required(string, "The whole text");
const logprobs = optional(json, "Probabilities of the tokens");
const obfuscation = optional(string, "Padding");

const response = required(
  objectOf({
    id: required(string, "ID of the response: the ID of the run"),
    object: optional(string, "Always `response`"),
    created_at: optional(number, "Time of the start, in seconds since 1970"),
    status: optional(
      openSet("queued", "in_progress", "completed", "incomplete", "failed", "cancelled"),
      "State of the response",
    ),
    model: optional(string, "Name of the model: the agent"),
    output: optional(listOf(map), "Output items"),
    error: optional(map, "Why the response failed"),
    incomplete_details: optional(map, "Why the response is incomplete"),
    usage: optional(map, "Number of tokens"),
  }),
  "The response so far",
);
const item = required(
  objectOf({
    type: required(string, "Kind of item, such as `message`"),
    id: optional(string, "ID of the item"),
    status: optional(string, "State of the item"),
    loom: additional(map, "Fields without an equivalent, such as `call_id`"),
  }),
  "The output item",
);
const part = required(objectOf({ type: required(string, "Kind of part, such as `output_text`") }), "The part");

function event(about: string, fields: Shape["fields"] = {}): Shape {
  return { section: SECTION, about, fields: { ...fields, sequence_number } };
}

const inItem = { item_id, output_index };
const inContent = { ...inItem, content_index };
const inSummary = { ...inItem, summary_index };

export const OPENAI_RESPONSES_FRAMES = {
  "response.created": event("A response started", { response }),
  "response.queued": event("The response waits", { response }),
  "response.in_progress": event("The response is being produced", { response }),
  "response.output_item.added": event("An output item started", { output_index, item }),
  "response.output_item.done": event("An output item ended", { output_index, item }),
  "response.content_part.added": event("A content part started", { ...inContent, part }),
  "response.content_part.done": event("A content part ended", { ...inContent, part }),
  "response.output_text.delta": event("A chunk of the answer", {
    ...inContent,
    delta,
    logprobs,
    obfuscation,
  }),
  "response.output_text.done": event("The text of a part is complete", {
    ...inContent,
    text,
    logprobs,
  }),
  "response.refusal.delta": event("A chunk of a refusal", { ...inContent, delta, obfuscation }),
  "response.refusal.done": event("The refusal is complete", {
    ...inContent,
    refusal: required(string, "The whole refusal"),
  }),
  "response.reasoning_summary_part.added": event("A part of the reasoning started", {
    ...inSummary,
    part,
  }),
  "response.reasoning_summary_part.done": event("A part of the reasoning ended", {
    ...inSummary,
    part,
  }),
  "response.reasoning_summary_text.delta": event("A chunk of reasoning", {
    ...inSummary,
    delta,
    obfuscation,
  }),
  "response.reasoning_summary_text.done": event("The reasoning of a part is complete", {
    ...inSummary,
    text,
  }),
  "response.reasoning_text.delta": event("A chunk of the raw reasoning", {
    ...inContent,
    delta,
    obfuscation,
  }),
  "response.reasoning_text.done": event("The raw reasoning is complete", { ...inContent, text }),
  "response.function_call_arguments.delta": event("A piece of the arguments of a call", {
    ...inItem,
    delta,
    obfuscation,
  }),
  "response.function_call_arguments.done": event("The arguments of a call are complete", {
    ...inItem,
    name: optional(string, "Name of the tool"),
    arguments: required(string, "The arguments as JSON"),
  }),
  "response.mcp_call_arguments.delta": event("A piece of the arguments of a server's tool", {
    ...inItem,
    delta,
    obfuscation,
  }),
  "response.mcp_call_arguments.done": event("The arguments of a server's tool are complete", {
    ...inItem,
    arguments: required(string, "The arguments as JSON"),
    loom: additional(map, "Fields without an equivalent: `description`"),
  }),
  "response.mcp_call.in_progress": event("A tool of the server was called", inItem),
  "response.mcp_call.completed": event("A tool of the server ended", inItem),
  "response.mcp_call.failed": event("A tool of the server failed", inItem),
  keepalive: event("An event that only clients of Loom read", {
    loom: additional(map, "The event"),
  }),
  "response.completed": event("The response is complete", {
    response,
    loom: additional(map, "`waiting` if the run waits for the client and goes on in another response"),
  }),
  "response.incomplete": event("The response was cut off or cancelled", {
    response,
    loom: additional(map, "Why the run was cancelled"),
  }),
  "response.failed": event("The response failed", { response }),
  error: event("The request failed", {
    message: optional(string, "Error message"),
    code: optional(string, "Error code"),
    error: optional(map, "The error, if it is nested"),
  }),
} as const satisfies { readonly [type: string]: Shape };

export type OpenaiResponsesFrameType = keyof typeof OPENAI_RESPONSES_FRAMES;
