/** Declares the frames of the `ai-sdk` dialect, the UI message chunks of the AI SDK; types and forms are generated from it. */
import {
  additional,
  boolean,
  json,
  listOf,
  map,
  objectOf,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";

const SECTION = "AI SDK 7";

function chunk(about: string, fields: Shape["fields"] = {}): Shape {
  return { section: SECTION, about, fields };
}

/** A data part. A later part with the same type and ID replaces it. */
function part(about: string, data = map): Shape {
  return chunk(about, {
    id: optional(string, "ID of the part"),
    data: required(data, "The fields of the event"),
    transient: optional(boolean, "True if clients do not keep the part"),
  });
}

const partId = required(string, "ID of the part");
const delta = required(string, "Text to append");
const toolCallId = required(string, "ID of the tool call");
const toolName = required(string, "Name of the tool");
const title = optional(string, "Description of the call for the user");
const input = required(json, "Arguments of the call");
const errorText = required(string, "Error message for the user");
const approvalId = required(string, "ID of the approval request");
const mediaType = required(string, "Media type");
const url = required(string, "URL of the file");
const sourceId = required(string, "ID of the source");
const repeats = additional(string, "Type of the data part that has the same source");
const metadata = optional(json, "Application data of the message");

export const AI_SDK_FRAMES = {
  start: chunk("A message started", {
    messageId: optional(string, "ID of the message: the ID of the run"),
    messageMetadata: metadata,
  }),
  "start-step": chunk("A step started: a model call and its tools"),
  "text-start": chunk("A part of the answer started", { id: partId }),
  "text-delta": chunk("A chunk of the answer", { id: partId, delta }),
  "text-end": chunk("A part of the answer ended", { id: partId }),
  "reasoning-start": chunk("Reasoning started", { id: partId }),
  "reasoning-delta": chunk("A chunk of reasoning", { id: partId, delta }),
  "reasoning-end": chunk("Reasoning ended", { id: partId }),
  "tool-input-start": chunk("The arguments of a call started", { toolCallId, toolName, title }),
  "tool-input-delta": chunk("A piece of the arguments", {
    toolCallId,
    inputTextDelta: required(string, "JSON text to append"),
  }),
  "tool-input-available": chunk("A call with its arguments", {
    toolCallId,
    toolName,
    input,
    title,
  }),
  "tool-input-error": chunk("A call with invalid arguments", {
    toolCallId,
    toolName,
    input,
    errorText,
    title,
  }),
  "tool-approval-request": chunk("A call waits for approval", {
    approvalId,
    toolCallId,
    input: additional(map, "Arguments to approve"),
    isAutomatic: optional(boolean, "True if a rule of the program answers it"),
  }),
  "tool-approval-response": chunk("An approval was answered", {
    approvalId,
    approved: required(boolean, "True if the call may run"),
    reason: optional(string, "Reason for the decision"),
  }),
  "tool-output-available": chunk("A result of a call", {
    toolCallId,
    output: required(json, "The result"),
    preliminary: optional(boolean, "True if another result follows and replaces it"),
  }),
  "tool-output-error": chunk("A call failed", { toolCallId, errorText }),
  "tool-output-denied": chunk("A call was not allowed", {
    toolCallId,
    reason: additional(string, "Why it was not allowed"),
  }),
  "source-url": chunk("A web page that the answer uses", {
    sourceId,
    url,
    title: optional(string, "Title of the page"),
    repeats,
  }),
  "source-document": chunk("A document that the answer uses", {
    sourceId,
    mediaType,
    title: required(string, "Title of the document"),
    filename: optional(string, "Name of the file"),
    repeats,
  }),
  file: chunk("A file", { url, mediaType }),
  "reasoning-file": chunk("A file of the reasoning", { url, mediaType }),
  custom: chunk("A part of a provider", {
    kind: required(string, "Provider and kind, such as `acme.note`"),
  }),
  "steering-message": chunk("A message of the user during the run", {
    id: required(string, "ID of the message"),
    parts: required(json, "Parts of the message"),
  }),
  "message-metadata": chunk("Application data of the message", {
    messageMetadata: required(json, "The data"),
  }),
  "data-loom-node": part(
    "A node run started or ended",
    objectOf({
      name: required(string, "Name of the node"),
      state: required(oneOf("running", "done", "failed"), "State of the node run"),
      parent: optional(string, "ID of the enclosing node run"),
      error: optional(string, "Why it failed"),
    }),
  ),
  "data-loom-superseded": part(
    "The text of this step so far no longer counts: the process died, and the node runs again",
    objectOf({ node_id: required(string, "ID of the interrupted node run") }),
  ),
  "data-loom-waiting": part(
    "The run waits for the user, and nothing else happens before an answer; not kept in the message",
    objectOf({ call_ids: required(listOf(string), "IDs of the tool calls that wait") }),
  ),
  "data-loom-notice": part(
    "What the client has to know about its message, before the answer; not kept in the message. A server adds it to a response; it belongs to no record",
    objectOf({
      code: required(
        oneOf("queued", "missed_messages", "new_version"),
        "`queued`: another run is live. `missed_messages`: the conversation has messages that the client does not show. `new_version`: the same, and the message began a new version without them",
      ),
      message: required(string, "The same as a sentence"),
    }),
  ),
  "data-loom-cancelled": part("The run was cancelled", objectOf({ reason: optional(string, "Why it was cancelled") })),
  "data-loom-todo-list": part("A to-do list, with all changes so far"),
  "data-loom-todo-update": part("A change of a list that the stream does not have"),
  "data-loom-data": part("A table, a chart, an image or application data"),
  "data-loom-custom": part("Application data"),
  "data-loom-usage": part("Tokens of a model call"),
  "data-loom-error": part("An error that did not end the run"),
  "data-loom-tool-progress": part("Progress of a running tool"),
  "data-loom-retrieval-complete": part("Documents were retrieved"),
  "data-loom-compression-applied": part("The context was compressed"),
  "data-loom-tot-expand": part("Candidates of a tree of thoughts"),
  "data-loom-tot-evaluate": part("Scores of the candidates"),
  "data-loom-tot-backtrack": part("The search went back"),
  "data-loom-got-plan": part("The plan of a graph of thoughts"),
  "data-loom-got-node-start": part("A thought started"),
  "data-loom-got-node-complete": part("A thought is complete"),
  "data-loom-got-node-failed": part("A thought failed"),
  "data-loom-got-expand": part("The plan was extended"),
  "data-loom-foreign": part("A frame of another dialect"),
  "finish-step": chunk("A step ended"),
  "reset-step": chunk("The parts of this step no longer count"),
  error: chunk("The run failed", { errorText }),
  abort: chunk("The run was cancelled", {
    reason: optional(string, "Why it was cancelled"),
  }),
  finish: chunk("The message ended", {
    finishReason: optional(
      oneOf("stop", "length", "content-filter", "tool-calls", "error", "interrupted", "other"),
      "Why it ended",
    ),
    messageMetadata: metadata,
  }),
} as const satisfies { readonly [type: string]: Shape };

export type AiSdkFrameType = keyof typeof AI_SDK_FRAMES;
