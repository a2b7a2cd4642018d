/** Declares the frames of 004. Every frame has all twelve base fields; those that its type does not use are null. */
import {
  additional,
  boolean,
  count,
  type Field,
  json,
  map,
  nullable,
  oneOf,
  openSet,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";
import { EVENTS } from "../../protocol/events/index.ts";

const text = nullable(string);

/** The base fields without `type`, which is the tag. */
const BASE: { readonly [name: string]: Field } = {
  id: required(string, "ID of the frame; chunks of one message share an ID"),
  role: required(oneOf("assistant"), "Always `assistant`"),
  session_id: required(string, "ID of the session"),
  conversation_id: required(text, "ID of the conversation"),
  tool_use_id: required(text, "ID of the tool call"),
  content: required(text, "Text"),
  toolName: required(text, "Name of the tool"),
  args: required(nullable(map), "Arguments of the tool call"),
  result: required(nullable(json), "Result of the tool"),
  status: required(text, "Status; its values depend on the type"),
  error: required(text, "Error message"),
};

function frame(section: string, about: string, fields: Shape["fields"]): Shape {
  return { section, about, fields: { ...BASE, ...fields } };
}

const tool_use_id = required(string, "ID of the tool call");
const detail = additional(string, "Original message, if `error` is a translation or a text for users");
const toolName = required(string, "Name of the tool");
const list_id = required(string, "ID of the list");

export const LUMINE_FRAMES = {
  session_id: frame("004 §1", "Names the session; always the first frame", {}),
  chunk: frame("004 §2", "A chunk of the answer; `[DONE]` ends the request", {
    content: required(string, "Text of the chunk"),
  }),
  reasoning: frame("004 §4", "A chunk of the model's reasoning", {
    content: required(string, "Text of the chunk"),
    status: required(oneOf("thinking", "done"), "`done` on the last chunk"),
  }),
  tool_use: frame("004 §5", "A tool is called", {
    tool_use_id,
    toolName,
    args: required(map, "Arguments of the call"),
    status: required(
      openSet("running", "awaiting_approval"),
      "`running`, or `awaiting_approval` while the call waits for the user",
    ),
    code: additional(
      string,
      "Why the call is not executed, if the user was asked and refused it; its `tool_result` follows",
    ),
  }),
  tool_result: frame("004 §6", "A tool call ended", {
    tool_use_id,
    toolName,
    status: required(oneOf("completed", "error"), "How it ended"),
    code: additional(string, "Error code"),
    detail,
  }),
  todo_list: frame("004 §7", "A to-do list", {
    list_id,
    title: optional(string, "Title of the list"),
    items: EVENTS.todo_list.fields.items,
  }),
  todo_update: frame("004 §8", "An item of a to-do list changed", {
    list_id,
    item_id: required(string, "ID of the item"),
    completed: optional(boolean, "New state; unchanged if null"),
    text: optional(string, "New text; unchanged if null"),
  }),
  image: frame("004 §9", "An image", {
    url: required(string, "URL of the image"),
    mediaType: optional(string, "Media type, such as `image/png`"),
    alt: optional(string, "Alternative text"),
  }),
  error: frame("004 §10", "An error occurred", {
    error: required(string, "Error message"),
    code: optional(string, "Error code"),
    attempt: additional(count, "With code `interrupted`: the run continues with this attempt, from 2"),
    detail,
  }),
} as const satisfies { readonly [type: string]: Shape };

export type LumineFrameType = keyof typeof LUMINE_FRAMES;
