/**
 * Declares the control frames of `WS /v1/ws`, a socket that carries many sessions. A control frame is one flat JSON
 * object with a `type`, sent as one text message. Decoders do not load this file: they use the generated code, which
 * has no descriptions.
 *
 * A stream is identified by session and dialect, so one `frames` message is the same for all subscribers with the same
 * options and is encoded once. IDs that belong to one socket are only in other messages.
 *
 * `frames` holds the dialect's frames as strings, because parsing and re-encoding JSON can change a frame: keys like
 * "1" move to the front, `1.0` becomes `1`, and a bare `[DONE]` is not JSON. Strings make a message about 20 % longer,
 * but reading them is 1.7 times as fast as re-encoding parsed values.
 */
import { MESSAGE_FIELDS } from "../message-fields.ts";
import {
  boolean,
  count,
  duration,
  type Field,
  json,
  listOf,
  map,
  objectOf,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../schema.ts";

/** Section of every control frame: the endpoint, since no specification covers them. */
export const CONTROL_SECTION = "`WS /v1/ws`";

const id = required(string, "Chosen by the client; repeated in the response");
const commandId = required(
  string,
  "Command ID chosen by the client. Sending the command again with the same ID has no further effect and returns the same result",
);
const echo = optional(string, "ID of the frame this answers");
const session = required(string, "ID of the session");
const dialect = required(string, "Name of the dialect");
const requestedDialect = optional(string, "Name of the dialect (default: `loom`)");

function frame(about: string, fields: { readonly [name: string]: Field }): Shape {
  return { section: CONTROL_SECTION, about, fields };
}

/** Frames from the client to the server. */
export const UP_FRAMES = {
  subscribe: frame("Subscribes to a session", {
    id,
    session,
    dialect: requestedDialect,
    modes: optional(
      listOf(string),
      "Send only these modes, with full graph states: `messages`, `tools`, `nodes`, `updates`, `values`, `custom`, `checkpoints` or `all`. By default everything except graph states",
    ),
    strict: optional(
      boolean,
      "With `loom` or `export`: only the 23 types and the fields of specification 001; other types are sent as `custom`, and every run ends with a reply (default: false)",
    ),
    after: optional(
      string,
      "Position to continue after: a cursor, or an `event_id` as a decimal string. By default the stream starts at the first stored record",
    ),
    skip: optional(count, "Number of complete frames already received after `after`"),
    of: optional(
      string,
      "Any cursor of the expected session, for use with a numeric `after` or none. If the session was deleted and recreated, the request is refused with `cursor_stale`",
    ),
    follow: optional(boolean, "Wait for new records at the end of the session (default: true)"),
    limit: optional(count, "Maximum number of frames; the stream ends after them"),
  }),
  unsubscribe: frame("Ends a subscription. No frames of the stream follow the `ack`", {
    id,
    session,
    dialect: requestedDialect,
  }),
  run: frame("Sends a user message, which starts a run", {
    id: commandId,
    session,
    message: required(string, "The user's message"),
    agent: optional(string, "Name of the agent"),
    run_id: optional(
      string,
      "ID of the run. By default it is derived from session and command ID and returned in the `ack`",
    ),
    ...MESSAGE_FIELDS,
    when_busy: optional(
      oneOf("enqueue", "reject", "interrupt"),
      "What to do while another run is active: `enqueue` (default) waits, `reject` fails with `run_live` (also if a message is already waiting), `interrupt` cancels the active run first",
    ),
    request_id: optional(string, "Request ID set by the caller; stored in `run_start`"),
    context: optional(
      map,
      "Data from the caller, passed to every callback of the run and stored in `run_start`; at most 16 KiB",
    ),
    attachments: optional(
      listOf(
        objectOf({
          blob_id: required(string, "ID of a blob in the session"),
          name: optional(string, "File name (default: the name of the blob)"),
        }),
      ),
      "Files attached to the message, at most 20; fails with `unknown_blob` if one does not exist",
    ),
  }),
  cancel: frame("Cancels a run, even if it has not started yet", {
    id: commandId,
    session,
    run_id: required(string, "ID of the run"),
    reason: optional(string, "Reason"),
  }),
  approve: frame("Approves or rejects a tool call", {
    id: commandId,
    session,
    call_id: required(string, "ID of the tool call"),
    run_id: optional(string, "ID of the run (default: the active run)"),
    decision: required(oneOf("approved", "rejected"), "The decision"),
    arguments: optional(map, "Arguments edited by the user"),
    digest: optional(
      string,
      "`digest` of the `tool_approval` shown to the user; fails with `approval_mismatch` if it differs",
    ),
    reason: optional(string, "Reason"),
  }),
  tool_result: frame(
    'Sends the result of a tool call that the client carries out (`tool_start` with `executor: "client"`). The first result counts',
    {
      id: commandId,
      session,
      call_id: required(string, "ID of the tool call"),
      run_id: optional(string, "ID of the run (default: the active run)"),
      output: optional(json, "The result for the model: a text or any JSON value"),
      is_error: optional(boolean, "True if the call failed (default: false)"),
    },
  ),
  permission: frame("Allows all calls of a tool in the session, which also approves those that wait, or ends that", {
    id: commandId,
    session,
    name: required(string, "Name of the tool"),
    rule: required(
      oneOf("allow", "ask"),
      "`allow`: calls run without approval; `ask`: calls wait for approval if they need it",
    ),
  }),
  feedback: frame("Rates the answer of a run. The latest rating counts", {
    id: commandId,
    session,
    run_id: required(string, "ID of the run"),
    rating: required(oneOf("good", "bad", "none"), "The rating; `none` removes it"),
    comment: optional(string, "Comment, at most 4,000 characters"),
  }),
  todo: frame("Changes an item of a to-do list", {
    id: commandId,
    session,
    list_id: required(string, "ID of the list"),
    item_id: required(string, "ID of the item"),
    completed: optional(boolean, "New state; unchanged if absent"),
    text: optional(string, "New text; unchanged if absent"),
  }),
  ping: frame("Requests a `pong`", {
    id: optional(string, "Repeated in the `pong`"),
  }),
} as const satisfies { readonly [type: string]: Shape };

/** Frames from the server to the client. */
export const DOWN_FRAMES = {
  hello: frame("First frame on a socket", {
    version: required(count, "Version of the control protocol"),
    heartbeat_ms: required(duration, "Maximum time between two messages, in milliseconds; 0 if there is no limit"),
  }),
  subscribed: frame("The session exists. Its frames follow, or a `refusal` if the position is invalid", {
    id,
    session,
    dialect,
    first_id: required(count, "The `event_id` of the first stored record"),
    last_id: required(count, "The `event_id` of the last record at the time of the request"),
  }),
  caught_up: frame(
    "The frames of all records stored so far were sent; new ones follow as they are stored. Sent once per stream that follows",
    { session, dialect },
  ),
  frames: frame("Frames of a session, in order. All subscribers with the same options receive the same message", {
    session,
    dialect,
    frames: required(listOf(string), "The frames as strings, exactly as the dialect encoded them"),
    cursor: required(string, "Position after the last of these frames"),
  }),
  end: frame("The stream reached its end or its limit", {
    session,
    dialect,
    cursor: optional(string, "Position to continue from; absent if no frame was sent"),
  }),
  ack: frame("A command or an `unsubscribe` was executed or is queued", {
    id,
    result: optional(
      map,
      "The result: `event_id` of the resulting record, `run_id` of the run, `effect: false` if nothing changed",
    ),
    pending: optional(
      boolean,
      "If true, the command is stored and waits for execution; send it again with the same ID to get the result",
    ),
  }),
  refusal: frame("A frame or a stream was refused. The socket stays open", {
    id: optional(
      string,
      "ID of the refused frame, or of the `subscribe` frame if a stream ends with an error; absent if the frame could not be read",
    ),
    session: optional(string, "ID of the session"),
    dialect: optional(string, "Name of the dialect, if a stream was refused"),
    code: required(string, "Error code"),
    message: required(string, "Error message"),
    details: optional(map, "Error details for programs"),
  }),
  heartbeat: frame("Keeps the connection alive if there is nothing else to send", {
    ts: optional(count, "Server time, in milliseconds since 1970"),
  }),
  pong: frame("Answers a `ping`", { id: echo }),
} as const satisfies { readonly [type: string]: Shape };
