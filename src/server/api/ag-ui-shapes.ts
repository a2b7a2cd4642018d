/** Shapes of the endpoints for clients of AG-UI and TanStack AI. Names of fields are those of AG-UI. */
import {
  count,
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
import { DISCONNECT_FIELDS } from "./chat-shapes.ts";
import { declareShape } from "./common-shapes.ts";

const VIEW_FIELDS = {
  framing: optional(
    oneOf("sse", "ndjson"),
    "`sse`: server-sent events (default). `ndjson`: lines `{id, chunk}`, as TanStack AI reads them",
  ),
  modes: optional(
    listOf(string),
    "Comma-separated modes of the stream, as in `/v1/sessions/{id}/events`. With `all`, the state of a graph is sent as `STATE_SNAPSHOT`; default: everything except graph states",
  ),
};

export const AG_UI_SHAPES = {
  AgUiInput: declareShape("`RunAgentInput` of AG-UI. Other fields are ignored", {
    threadId: required(string, "Id of the thread: the session"),
    runId: required(string, "Id of the run, and idempotency key of the request: the same id is the same run"),
    messages: required(
      listOf(map),
      "Messages of the client. Only the last one is used, and those of the role `system` or `developer` as instructions; the history is that of the session",
    ),
    protocolVersion: optional(string, "Version of the client, such as `1.0`. Absent for clients before 1.0"),
    parentRunId: optional(string, "Id of the run before it; sent back"),
    resume: optional(
      listOf(
        objectOf({
          interruptId: required(string, "Id of the interrupt: the tool call"),
          status: required(oneOf("resolved", "cancelled"), "`cancelled` rejects the call"),
          payload: optional(json, "`true`, or an object: `approved`, and optionally `arguments` (edited) and `reason`"),
        }),
      ),
      "Answers to the interrupts of the run that waits. Its rest is sent under the new run id",
    ),
    tools: optional(listOf(map), "Tools that the client carries out"),
    context: optional(
      listOf(map),
      "Data of the page, passed to observers of the run, and to the model as instructions for this run",
    ),
    state: optional(json, "State of the client; ignored"),
    forwardedProps: optional(json, "Other data of the page, passed to observers of the run"),
  }),
  AgUiRun: declareShape("How the run is sent", { ...VIEW_FIELDS, ...DISCONNECT_FIELDS }),
  AgUiRead: declareShape("What to read: a thread, or the stream of a run", {
    threadId: optional(string, "Thread whose messages are returned"),
    runId: optional(string, "Run whose stream is returned, from its start"),
    offset: optional(string, "Ignored: the stream starts at the beginning of the run"),
    limit: optional(count, "Maximum number of messages, approximately"),
    before: optional(string, "Only messages before this cursor of a page"),
    ...VIEW_FIELDS,
  }),
  AgUiThread: declareShape("The messages of a thread", {
    messages: required(listOf(map), "Messages with `parts`, oldest first"),
    activeRun: optional(objectOf({ runId: required(string, "Id of the run") }), "The live run"),
    interrupts: optional(
      objectOf({
        runId: required(string, "Id of the run"),
        pending: required(listOf(map), "Interrupts that wait for an answer"),
      }),
      "What the live run waits for",
    ),
    page: required(
      objectOf({
        truncated: required({ kind: "boolean" }, "Whether there are older messages"),
        cursor: optional(string, "Value of `before` for the older messages"),
      }),
      "Position among all messages",
    ),
  }),
  AgUiStop: declareShape("Which run to stop", {
    runId: optional(string, "Id of the run; default: the live run"),
  }),
} as const satisfies { readonly [name: string]: Shape };
