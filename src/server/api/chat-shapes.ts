/** Shapes of the chat endpoints: specification 003 and the AI SDK. */
import {
  type Fields,
  json,
  listOf,
  map,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";
import { MESSAGE_FIELDS } from "../../protocol/message-fields.ts";
import { declareShape } from "./common-shapes.ts";
import { agent } from "./run-shapes.ts";

/** Maximum index of a chunk, in either direction. */
const MAX_INDEX = 2 ** 31;

export const DISCONNECT_FIELDS = {
  on_disconnect: optional(
    oneOf("continue", "cancel"),
    "What happens to the run if the connection closes before its end. Default: `continue`",
  ),
} satisfies Fields;

const AI_SDK_FIELDS = {
  version: optional(
    { kind: "integer", min: 5, max: 7 },
    "AI SDK: major version of the package `ai` of the client. 5: a stream for version 5, and calls that need an approval are refused at once; 7: also chunks for 7.0.112 and later. Default: 6, for 6 and all of 7",
  ),
} satisfies Fields;

export const CHAT_SHAPES = {
  Chat: declareShape("Chat message: of specification 003, or of the AI SDK", {
    session_id: optional(string, "Session to continue; default: a new session"),
    content: optional(string, "Text of the message; not needed to resume with `Last-Event-ID`"),
    request_id: optional(
      string,
      "Id chosen by the caller, on every message of the stream; default: the header `x-request-id`, or the id of the run",
    ),
    id: optional(string, "AI SDK: ID of the chat, which is the session"),
    // Only the last message is stored. The ones before it say which version of the conversation the client shows.
    messages: optional(
      listOf(map),
      "AI SDK: the messages of the chat. Of these, only the last one is used, and those of the role `system` as instructions",
    ),
    trigger: optional(string, "AI SDK: `submit-message` (default) or `regenerate-message`"),
    messageId: optional(string, "AI SDK: the message to answer again, to edit or to continue"),
    tools: optional(
      json,
      "AI SDK: tools that the client carries out: by name, each with `description` and `parameters` (JSON Schema)",
    ),
    system: optional(string, "AI SDK: instructions, added to the system prompt of the agent for this run only"),
    agent,
    strategy: MESSAGE_FIELDS.strategy,
    capabilities: optional(
      listOf(string),
      "What the client can do: `approval` if it can answer tool approvals, `tools` if it can carry out tools of the agent. Without them, calls that need one are refused at once",
    ),
  }),
  ChatOptions: declareShape("Options of a chat request", {
    agent,
    ...DISCONNECT_FIELDS,
    ...AI_SDK_FIELDS,
  }),
  DisconnectOptions: declareShape("What a closed connection does to the run", DISCONNECT_FIELDS),
  ResumeChat: declareShape("Chat to resume", {
    session_id: required(string, "Id of the session"),
    run: optional(string, "Id of the run; default: the latest run"),
  }),
  ReadChat: declareShape("Position in the stream of a chat", {
    startIndex: optional(
      { kind: "integer", min: -MAX_INDEX, max: MAX_INDEX },
      "Index of the first chunk to send; from the end if negative. Default: 0",
    ),
    ...AI_SDK_FIELDS,
  }),
} as const satisfies { readonly [name: string]: Shape };
