/** Declares the frames of 003; types and forms are generated from it. */
import {
  additional,
  between,
  boolean,
  count,
  duration,
  map,
  number,
  objectOf,
  oneOf,
  openSet,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";

const timestamp = required(number, "Time of sending, in milliseconds since 1970. Small numbers are read as seconds");
const sequence = required(count, "Position within the request, from 0");

const attempt = additional(count, "Attempt of the run, from 2; absent unless the process of the run died");

function frame(section: string, about: string, data: Shape["fields"], more: Shape["fields"] = {}): Shape {
  const request_id = required(string, "ID of the request");
  return {
    section,
    about,
    fields: {
      data: required(objectOf(data), "Payload of the message"),
      metadata: required(objectOf({ request_id, timestamp, sequence, attempt, ...more }), "Metadata of the message"),
    },
  };
}

const tool_id = required(string, "ID of the tool call");

export const ENGINE_FRAMES = {
  session_start: frame(
    "003 §1.3",
    "A request started",
    {
      session_id: required(string, "ID of the session"),
      request_id: required(string, "ID of the request"),
    },
    // The example in the specification omits it on the first message.
    { request_id: optional(string, "ID of the request") },
  ),
  thinking: frame("003 §1.3", "A chunk of the model's reasoning", {
    content: required(string, "Text of the chunk"),
    stage: optional(openSet("reasoning", "planning", "analyzing"), "Stage of reasoning"),
  }),
  tool_call_start: frame("003 §1.3", "A tool started to run", {
    tool_id,
    tool_name: required(string, "Name of the tool"),
    description: optional(string, "Description of the call for the user"),
    arguments: required(map, "Arguments of the call"),
  }),
  tool_call_progress: frame("003 §1.1", "Progress of a running tool", {
    tool_id,
    progress: required(between(0, 100), "Percentage, from 0 to 100"),
    message: optional(string, "Description of the current step"),
  }),
  tool_call_end: frame(
    "003 §1.3",
    "A tool call ended",
    {
      tool_id,
      status: required(oneOf("success", "failed"), "How it ended"),
      result: optional(map, "Result of the tool"),
      error: optional(
        objectOf({
          message: required(string, "Error message"),
          code: optional(string, "Error code"),
          detail: additional(string, "The original message, if `message` is another text"),
        }),
        "Only if the tool failed",
      ),
    },
    { duration_ms: optional(duration, "Duration of the call, in milliseconds") },
  ),
  content: frame("003 §1.3", "A chunk of the answer", {
    content: required(string, "Text of the chunk"),
    format: optional(openSet("markdown", "text", "html"), "Text format (default: `markdown`)"),
    is_complete: optional(boolean, "True on the last chunk"),
  }),
  data: frame("003 §1.3", "Structured data", {
    data_type: required(oneOf("dataframe", "chart", "image", "custom"), "Kind of data"),
    data: required(map, "The data; its structure depends on `data_type`"),
    metadata: optional(map, "Metadata, such as a description"),
  }),
  error: frame("003 §1.3", "An error occurred", {
    error_type: required(oneOf("validation", "execution", "timeout", "system"), "Error type"),
    message: required(string, "Error message for the user"),
    details: optional(map, "Debugging data"),
    recoverable: optional(boolean, "True if a retry may succeed"),
    code: additional(string, "Stable error code"),
    stage: additional(string, "Where the error occurred"),
  }),
  session_end: frame("003 §1.3", "The request ended", {
    status: required(oneOf("completed", "error", "cancelled"), "How the request ended"),
    summary: optional(
      objectOf({
        total_tokens: optional(count, "Total tokens used"),
        duration_ms: optional(duration, "Duration, in milliseconds"),
        tool_calls: optional(count, "Number of tool calls"),
      }),
      "Totals of the request",
    ),
  }),
} as const satisfies { readonly [type: string]: Shape };

export type EngineFrameType = keyof typeof ENGINE_FRAMES;
