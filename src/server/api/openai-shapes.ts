/**
 * Shapes of the endpoints for OpenAI clients. Only the fields that the server reads are declared: clients send many
 * others, which have no effect.
 */
import {
  boolean,
  count,
  either,
  type Fields,
  json,
  listOf,
  map,
  nullable,
  number,
  objectOf,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";
import { declareShape } from "./common-shapes.ts";

const TOOL_FIELDS = {
  model: required(string, "Name of the agent"),
  stream: optional(boolean, "Send server-sent events; default: false"),
  tools: optional(listOf(map), "Functions that the client carries out, in addition to the tools of the agent"),
  tool_choice: optional(
    json,
    "`auto` or `none`; other values are refused, because the agent decides which tools it uses",
  ),
} satisfies Fields;

const MODEL_FIELDS = {
  id: required(string, "Name of the agent"),
  object: required(string, "Always `model`"),
  created: required(number, "Always 0"),
  owned_by: required(string, "Always `loom`"),
} satisfies Fields;

const RESPONSE_FIELDS = {
  id: required(string, "Id of the response"),
  object: required(string, "Always `response`"),
  created_at: required(number, "Time of the start, in seconds since 1970"),
  status: required(
    oneOf("queued", "in_progress", "completed", "incomplete", "failed", "cancelled"),
    "Status of the response",
  ),
  model: required(string, "Name of the agent"),
  output: required(listOf(map), "Output items"),
  error: required(nullable(map), "Why the run failed"),
} satisfies Fields;

export const OPENAI_SHAPES = {
  OpenaiChatRequest: declareShape("Request of the Chat Completions API", {
    ...TOOL_FIELDS,
    messages: required(listOf(map), "Messages of the conversation"),
    stream_options: optional(map, "`include_usage`: send the number of tokens last"),
    response_format: optional(map, "`text`, `json_schema` or `json_object`"),
    n: optional(number, "Only 1"),
    reasoning_effort: optional(string, "How much the model reasons"),
    metadata: optional(map, "`session_id`: the session, if the header is absent"),
  }),
  OpenaiChatAnswer: declareShape("Message of the Chat Completions API", {
    id: required(string, "Id of the message"),
    object: required(string, "Always `chat.completion`"),
    created: required(number, "Time of the start, in seconds since 1970"),
    model: required(string, "Name of the agent"),
    choices: required(listOf(map), "The message, as the only choice"),
    usage: optional(map, "Number of tokens"),
  }),
  OpenaiResponsesRequest: declareShape("Request of the Responses API", {
    ...TOOL_FIELDS,
    input: optional(either(string, listOf(map)), "Text, or input items"),
    instructions: optional(string, "Instructions, added to the system prompt of the agent"),
    previous_response_id: optional(string, "Response to continue"),
    conversation: optional(
      either(string, objectOf({ id: required(string, "Id of the session") })),
      "Id of the session, or an object with it",
    ),
    background: optional(boolean, "Respond at once and do not wait for the end of the run; default: false"),
    text: optional(map, "`format`: `text`, `json_schema` or `json_object`"),
    reasoning: optional(map, "`effort`: how much the model reasons"),
    metadata: optional(map, "Kept with the response, at most 16 texts"),
  }),
  OpenaiResponse: declareShape("Response of the Responses API", RESPONSE_FIELDS),
  OpenaiReadResponse: declareShape("How to read a response", {
    stream: optional(boolean, "Send server-sent events; default: false"),
    starting_after: optional(count, "`sequence_number` of the last event received; what follows is sent"),
  }),
  OpenaiDeleted: declareShape("Response or conversation that was deleted", {
    id: required(string, "Its id"),
    object: required(string, "`response` or `conversation.deleted`"),
    deleted: required(boolean, "Always true"),
  }),
  OpenaiConversationRequest: declareShape("Conversation to create", {
    items: optional(nullable(listOf(map)), "Items to add, at most 100"),
    metadata: optional(nullable(map), "Kept with the conversation, at most 16 texts"),
  }),
  OpenaiUpdateConversation: declareShape("Changes of a conversation", {
    metadata: required(nullable(map), "Replaces the metadata, at most 16 texts"),
  }),
  OpenaiAddItems: declareShape("Items to add to a conversation", {
    items: required(listOf(map), "Input items, at most 100"),
  }),
  OpenaiListItems: declareShape("Page of items", {
    after: optional(string, "Id of the last item that was listed"),
    limit: optional({ kind: "integer", min: 1, max: 100 }, "Maximum number of items; default: 20"),
    order: optional(oneOf("asc", "desc"), "`desc` (default) lists the newest first"),
  }),
  OpenaiConversation: declareShape("Conversation: a session", {
    id: required(string, "Id of the session"),
    object: required(string, "Always `conversation`"),
    created_at: required(number, "Time of creation, in seconds since 1970"),
    metadata: required(map, "Data of the client"),
  }),
  OpenaiItem: declareShape("Item of a conversation, in the form of its type", {
    id: required(string, "Id of the item"),
    type: required(string, "Type of the item, such as `message`"),
  }),
  OpenaiModel: declareShape("Agent as a model", MODEL_FIELDS),
  OpenaiList: declareShape("List of the OpenAI API", {
    object: required(string, "Always `list`"),
    data: required(listOf(map), "Items"),
    first_id: optional(string, "Id of the first item"),
    last_id: optional(string, "Id of the last item"),
    has_more: optional(boolean, "Whether more items follow"),
  }),
} as const satisfies { readonly [name: string]: Shape };
