/** Declares the frames of the `ag-ui` dialect, the events of AG-UI; types and forms are generated from it. */
import {
  boolean,
  count,
  either,
  type Fields,
  json,
  listOf,
  map,
  objectOf,
  oneOf,
  optional,
  required,
  type Schema,
  type Shape,
  string,
} from "../../protocol/schema.ts";

const SECTION = "AG-UI 1.0";

/** An integer that a number represents exactly. */
const integer: Schema = { kind: "integer", min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER };

/** Fields of every event. */
const BASE: Fields = {
  timestamp: optional(integer, "Time in milliseconds since 1970"),
  rawEvent: optional(json, "Event of the framework behind the server"),
  metadata: optional(map, "Additional data; Loom uses the key `loom`"),
};

/** An event of the whole run. */
function event(about: string, fields: Fields = {}): Shape {
  return { section: SECTION, about, fields: { ...fields, ...BASE } };
}

const subagentRunId = optional(string, "ID of the subagent that sent it");

/** An event that may come from a subagent. */
function part(about: string, fields: Fields = {}): Shape {
  return event(about, { ...fields, subagentRunId });
}

const threadId = required(string, "ID of the thread: the session");
const runId = required(string, "ID of the run");
const messageId = required(string, "ID of the message");
const chunkMessageId = optional(string, "ID of the message; the first chunk has it");
const delta = required(string, "Text to append");
const chunkDelta = optional(string, "Text to append");
const toolCallId = required(string, "ID of the tool call");
const parentMessageId = optional(string, "ID of the message that has the call");
const stepName = required(string, "Name of the step, unique among open steps");
const activityType = required(string, "Kind of the activity, such as `loom.todo_list`");
const patch = required(
  listOf(
    objectOf({
      op: required(oneOf("add", "remove", "replace", "move", "copy", "test"), "Operation"),
      path: required(string, "JSON Pointer of the value"),
      value: optional(json, "New value"),
      from: optional(string, "JSON Pointer of the source"),
    }),
  ),
  "Changes as JSON Patch (RFC 6902)",
);
const role = optional(oneOf("developer", "system", "assistant", "user"), "Role; default `assistant`");
const name = optional(string, "Name of the author");
const subagent = required(string, "ID of the subagent run");
const usage = optional(
  listOf(
    objectOf({
      provider: optional(string, "Provider of the model"),
      model: optional(string, "Name of the model"),
      inputTokens: optional(count, "Input tokens"),
      outputTokens: optional(count, "Output tokens"),
      totalTokens: optional(count, "All tokens"),
      reasoningTokens: optional(count, "Tokens of the reasoning"),
      cachedInputTokens: optional(count, "Input tokens that were cached"),
      cacheWriteInputTokens: optional(count, "Input tokens that were written to the cache"),
    }),
  ),
  "Tokens by model",
);
const outcome = optional(
  objectOf({
    type: required(oneOf("success", "interrupt", "cancelled"), "How the run ended"),
    interrupts: optional(
      listOf(
        objectOf({
          id: required(string, "ID to answer it"),
          reason: required(string, "Why the run waits"),
          message: optional(string, "Question for the user"),
          toolCallId: optional(string, "ID of the tool call to approve"),
          responseSchema: optional(map, "JSON Schema of the answer"),
          expiresAt: optional(string, "When it can no longer be answered"),
          subagentRunId,
          metadata: optional(map, "Additional data"),
        }),
      ),
      "What the run waits for, with `interrupt`",
    ),
    pendingToolCallIds: optional(listOf(string), "Calls that the client carries out"),
  }),
  "How the run ended; default `success`. Clients before 1.0 do not know `cancelled`",
);

export const AG_UI_FRAMES = {
  RUN_STARTED: event("A run started, or goes on after an interrupt", {
    threadId,
    runId,
    protocolVersion: optional(string, "Version of the protocol, such as `1.0`"),
    parentRunId: optional(string, "ID of the run before it"),
    input: optional(map, "The request"),
  }),
  RUN_FINISHED: event("A run ended, or waits for an answer", {
    threadId,
    runId,
    result: optional(json, "The reply"),
    outcome,
    usage,
  }),
  RUN_ERROR: event("A run failed", {
    message: required(string, "Error message"),
    code: optional(string, "Error code"),
    usage,
  }),
  STEP_STARTED: part("A step started: a node run", { stepName }),
  STEP_FINISHED: part("A step ended", { stepName }),
  TEXT_MESSAGE_START: part("A message started, or is continued", { messageId, role, name }),
  TEXT_MESSAGE_CONTENT: part("A piece of a message", { messageId, delta }),
  TEXT_MESSAGE_END: part("A message ended", { messageId }),
  TEXT_MESSAGE_CHUNK: part("A piece of a message without start and end", {
    messageId: chunkMessageId,
    role,
    delta: chunkDelta,
    name,
  }),
  TOOL_CALL_START: part("A tool call started", {
    toolCallId,
    toolCallName: required(string, "Name of the tool"),
    parentMessageId,
  }),
  TOOL_CALL_ARGS: part("A piece of the arguments", {
    toolCallId,
    delta: required(string, "JSON text to append"),
  }),
  TOOL_CALL_END: part("The arguments are complete", { toolCallId }),
  TOOL_CALL_CHUNK: part("A piece of a call without start and end", {
    toolCallId: optional(string, "ID of the call; the first chunk has it"),
    toolCallName: optional(string, "Name of the tool; the first chunk has it"),
    parentMessageId,
    delta: optional(string, "JSON text to append"),
  }),
  TOOL_CALL_RESULT: part("The result of a call", {
    messageId,
    toolCallId,
    content: required(either(string, listOf(map)), "The result as text, or as parts"),
    role: optional(oneOf("tool"), "Always `tool`"),
  }),
  REASONING_START: part("Reasoning started", { messageId }),
  REASONING_MESSAGE_START: part("A text of the reasoning started", {
    messageId,
    role: required(oneOf("reasoning"), "Always `reasoning`"),
  }),
  REASONING_MESSAGE_CONTENT: part("A piece of the reasoning", { messageId, delta }),
  REASONING_MESSAGE_END: part("A text of the reasoning ended", { messageId }),
  REASONING_MESSAGE_CHUNK: part("A piece of the reasoning without start and end", {
    messageId: chunkMessageId,
    delta: chunkDelta,
  }),
  REASONING_END: part("Reasoning ended", { messageId }),
  REASONING_ENCRYPTED_VALUE: part("Encrypted reasoning of a provider", {
    subtype: required(oneOf("tool-call", "message"), "What it belongs to"),
    entityId: required(string, "ID of the call or message"),
    encryptedValue: required(string, "The value"),
  }),
  STATE_SNAPSHOT: part("The graph state", { snapshot: required(json, "The state") }),
  STATE_DELTA: part("A change of the state", { delta: patch }),
  MESSAGES_SNAPSHOT: event("All messages of the thread", {
    messages: required(listOf(map), "The messages"),
  }),
  ACTIVITY_SNAPSHOT: part("A structured message, such as a to-do list", {
    messageId,
    activityType,
    content: required(map, "The fields of the event"),
    replace: optional(boolean, "False to keep an existing one; default true"),
  }),
  ACTIVITY_DELTA: part("A change of a structured message", { messageId, activityType, patch }),
  SUBAGENT_STARTED: event("A subagent started", {
    subagentRunId: subagent,
    name: required(string, "Name of the subagent"),
    description: optional(string, "Its task"),
    parentSubagentRunId: optional(string, "ID of the subagent that started it"),
    parentToolCallId: optional(string, "ID of the call that started it"),
    parentMessageId,
  }),
  SUBAGENT_FINISHED: event("A subagent ended", {
    subagentRunId: subagent,
    result: optional(json, "Its result"),
    outcome: optional(
      objectOf({
        type: required(oneOf("success", "suspended"), "How it ended"),
        interruptIds: optional(listOf(string), "Interrupts that it waits for"),
      }),
      "How it ended",
    ),
  }),
  SUBAGENT_ERROR: event("A subagent failed", {
    subagentRunId: subagent,
    message: required(string, "Error message"),
    code: optional(string, "Error code"),
  }),
  RAW: part("A frame of another dialect", {
    event: required(json, "The frame"),
    source: optional(string, "Name of the dialect"),
  }),
  CUSTOM: part("An event without an equivalent in AG-UI", {
    name: required(string, "`loom.` and the type of the event"),
    value: required(json, "The fields of the event"),
  }),
  THINKING_START: event("Reasoning started, before 1.0", {
    title: optional(string, "Title of the reasoning"),
  }),
  THINKING_TEXT_MESSAGE_START: event("A text of the reasoning started, before 1.0"),
  THINKING_TEXT_MESSAGE_CONTENT: event("A piece of the reasoning, before 1.0", { delta }),
  THINKING_TEXT_MESSAGE_END: event("A text of the reasoning ended, before 1.0"),
  THINKING_END: event("Reasoning ended, before 1.0"),
} as const satisfies { readonly [type: string]: Shape };

export type AgUiFrameType = keyof typeof AG_UI_FRAMES;
