/** Declares the events of 002: seven callback events and `text_delta`. */
import {
  additional,
  count,
  listOf,
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

function frame(about: string, fields: Shape["fields"]): Shape {
  return {
    section: "002",
    about,
    fields: {
      ts: required(number, "Time of the event, in seconds since 1970"),
      source: required(oneOf("execute", "stream"), "How the run was started"),
      iteration: optional(count, "Number of agent iterations so far"),
      request_id: additional(string, "ID of the request"),
      metadata: additional(map, "Copy of the event-specific fields"),
      ...fields,
    },
  };
}

export const STREAM_EVENT_FRAMES = {
  request_start: frame("A request started", {
    input: required(string, "The user's message"),
  }),
  retrieval_complete: frame("Documents were retrieved", {
    doc_count: required(count, "Number of documents found"),
  }),
  compression_applied: frame("The context was compressed", {
    before_tokens: required(count, "Tokens before compression"),
    after_tokens: required(count, "Tokens after compression"),
  }),
  tool_calls_start: frame("The model called tools", {
    tool_calls: required(
      listOf(
        objectOf({
          id: required(string, "ID of the tool call; may be empty"),
          name: required(string, "Name of the tool"),
        }),
      ),
      "The tool calls",
    ),
  }),
  tool_result: frame("A tool call ended", {
    tool_call_id: required(string, "ID of the tool call"),
    content: required(string, "Result as text"),
  }),
  text_delta: frame("A chunk of the answer", {
    content: required(string, "Text of the chunk"),
  }),
  agent_finish: frame("The agent finished", {
    content: required(string, "Text of the answer"),
    status: additional(oneOf("completed", "error", "cancelled"), "How the request ended (default: `completed`)"),
  }),
  error: frame("An error occurred", {
    stage: required(
      openSet(
        "llm_generate",
        "llm_stream",
        "llm_generate_with_tools",
        "tool_execute",
        "iteration_limit",
        "retrieval",
        "compression",
        "interrupted",
      ),
      "Where the error occurred",
    ),
    message: required(string, "Error message, without a stack trace"),
    attempt: additional(count, "With the stage `interrupted`: the run continues with this attempt, from 2"),
  }),
} as const satisfies { readonly [type: string]: Shape };

export type StreamEventFrameType = keyof typeof STREAM_EVENT_FRAMES;
