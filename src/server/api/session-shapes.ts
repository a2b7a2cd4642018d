/** Shapes of sessions, runs and checkpoints. */
import {
  boolean,
  count,
  type Fields,
  json,
  listOf,
  map,
  objectOf,
  oneOf,
  optional,
  required,
  type Shape,
  string,
  stringOrNumber,
} from "../../protocol/schema.ts";
import { declareShape } from "./common-shapes.ts";

const time = (about: string) => required(count, `${about}, Unix time in milliseconds`);
const page = {
  limit: optional(count, "Maximum number of items, 1 to 500; default: 50"),
  after: optional(string, "Id of the last item of the previous page: its `next`"),
};
const next = optional(string, "Value of `after` for the next page; absent on the last page");

export const RUN_FIELDS = {
  run_id: required(string, "Id of the run"),
  status: required(oneOf("live", "completed", "error", "cancelled"), "Status of the run"),
  first_event_id: required(count, "Id of its first record"),
  last_event_id: optional(count, "Id of its last record; absent while it is live"),
  started_at: time("Start time"),
  ended_at: optional(count, "End time, Unix time in milliseconds"),
  code: optional(string, "Error code of a run that did not complete"),
  request_id: optional(string, "Id chosen by the caller"),
  agent: optional(string, "Name of the agent"),
} satisfies Fields;

const SESSION_FIELDS = {
  session_id: required(string, "Id of the session"),
  title: optional(string, "Title"),
  is_pinned: optional(boolean, "Whether the session is pinned; absent if it is not"),
  is_archived: optional(boolean, "Whether the session is archived; absent if it is not"),
  created_at: time("Creation time"),
  updated_at: time("Time of creation, or of the latest start or end of a run"),
  first_event_id: required(count, "Id of the oldest stored record; last_event_id + 1 if none is stored"),
  last_event_id: required(count, "Id of the last record; 0 in a new session"),
  bytes: required(count, "Size of the stored records in bytes"),
  cursor: required(string, "Cursor after the last record"),
  forked_from: optional(
    objectOf({
      session_id: required(string, "Id of the original, which may have been deleted"),
      run_id: optional(string, "Run of the original before which the session was forked; absent in other forks"),
      event_id: required(count, "Id of the last copied record; the same in both sessions"),
    }),
    "Origin of a fork; absent if the session is not a fork",
  ),
  root_id: required(string, "First session of the conversation; all versions of a conversation have the same"),
} satisfies Fields;

const CHECKPOINT_FIELDS = {
  checkpoint_id: required(string, "Id of the checkpoint"),
  step: required(stringOrNumber, "Super-step; 0 for the input. Runs of other agents may use a text"),
  checkpoint_ns: required(string, "Path of the subgraph; empty for the root graph"),
  run_id: optional(string, "Id of the run it belongs to"),
  event_id: required(count, "Id of its record"),
  timestamp: required(stringOrNumber, "Creation time, ISO 8601. Runs of other agents may use another format"),
  next: optional(listOf(json), "Node runs of the next super-step"),
} satisfies Fields;

const MODEL_CALL_FIELDS = {
  llm_call_id: required(string, "Id of the call"),
  model: optional(string, "Requested model"),
  event_id: required(count, "Id of the record of its start"),
  started_at: optional(count, "Time of its start, in milliseconds since 1970"),
  has_request: required(boolean, "Whether its prompt is stored"),
  has_response: required(boolean, "Whether its response is stored"),
} satisfies Fields;

const QUEUED_FIELDS = {
  command_id: required(string, "Id of the command: the idempotency key of the request"),
  run_id: required(string, "Id of its future run; use it to cancel the message"),
  message: required(string, "Text of the message"),
  agent: optional(string, "Name of the agent"),
  attachments: optional(listOf(json), "Attached files"),
  created_at: time("Time it was received"),
} satisfies Fields;

export const SESSION_SHAPES = {
  Session: declareShape("A session", SESSION_FIELDS),
  SessionDetails: declareShape("Session with its latest runs", {
    ...SESSION_FIELDS,
    runs: required(listOf(objectOf(RUN_FIELDS)), "Latest runs, newest first, at most 20"),
    is_busy: required(boolean, "Whether a run is live or a message is queued"),
    is_orphan: optional(
      boolean,
      "True if no process executes the live run: its process ended, or the run waits for an answer",
    ),
    latest_version: required(
      string,
      "Id of the newest version of the conversation; the session itself if there is no newer one",
    ),
    queued: required(listOf(objectOf(QUEUED_FIELDS)), "Queued messages, next first, at most 20"),
  }),
  ReadSession: declareShape("Version to read", {
    version: optional(oneOf("latest"), "`latest`: the newest version of the conversation; default: the session itself"),
  }),
  SessionList: declareShape("Sessions, newest first", {
    sessions: required(
      listOf(
        objectOf({
          ...SESSION_FIELDS,
          latest_status: optional(
            oneOf("live", "completed", "error", "cancelled"),
            "Status of its latest run, with `versions=newest`; absent if it has no run",
          ),
          match: optional(
            objectOf({
              where: required(oneOf("title", "message", "answer"), "Where the query was found"),
              snippet: required(string, "Text around the match, on one line"),
              run_id: optional(string, "Id of the run with the match"),
            }),
            "Match of a search",
          ),
        }),
      ),
      "Sessions",
    ),
    next,
  }),
  SessionBranches: declareShape("Versions of a conversation, oldest first", {
    sessions: required(listOf(objectOf(SESSION_FIELDS)), "Sessions"),
    next,
  }),
  ListSessions: declareShape("Sessions to list", {
    ...page,
    q: optional(string, "Only sessions whose title or conversation contains this text"),
    versions: optional(
      oneOf("all", "newest"),
      "`newest` lists only the newest version of each conversation; ignored with `q`; default: `all`",
    ),
    pinned: optional(boolean, "Only sessions that are pinned, or only those that are not; ignored with `q`"),
    archived: optional(boolean, "Only sessions that are archived, or only those that are not; ignored with `q`"),
  }),
  DeleteSession: declareShape("What to delete", {
    versions: optional(
      oneOf("one", "all"),
      "`all` deletes all versions of the conversation; default: `one`, this session only",
    ),
  }),
  CreateSession: declareShape("New session", {
    session_id: optional(string, "Id of the session; default: generated"),
    title: optional(string, "Title"),
  }),
  UpdateSession: declareShape("Changes of a conversation", {
    title: optional(string, "New title"),
    is_pinned: optional(boolean, "Whether it is pinned"),
    is_archived: optional(boolean, "Whether it is archived"),
  }),
  ForkSession: declareShape(
    "Fork of a session. Without checkpoint_id, after_event and before_run it copies everything before the live run",
    {
      checkpoint_id: optional(string, "Fork at this checkpoint and resume its run"),
      after_event: optional(count, "Fork at the last checkpoint up to this record and resume its run"),
      before_run: optional(
        string,
        "Copy everything before this run. No run is resumed; the fork waits for the next message",
      ),
      session_id: optional(string, "Id of the new session; default: generated"),
      title: optional(string, "Title; default: the title of the original, unless nothing is copied"),
      state: optional(map, "Channel values that replace those of the checkpoint"),
    },
  ),
  ForkedSession: declareShape("Forked session", {
    ...SESSION_FIELDS,
    checkpoint_id: optional(string, "Checkpoint the run is resumed from; absent if no run is resumed"),
  }),
  ListPage: declareShape("Page of a list", page),
  Checkpoints: declareShape("Checkpoints, newest first", {
    checkpoints: required(listOf(objectOf(CHECKPOINT_FIELDS)), "Checkpoints"),
    next,
  }),
  Checkpoint: declareShape("Checkpoint with its state", {
    ...CHECKPOINT_FIELDS,
    state: required(json, "Complete state"),
  }),
  ModelCalls: declareShape("Model calls of a run, in the order they started", {
    model_calls: required(listOf(objectOf(MODEL_CALL_FIELDS)), "Model calls"),
  }),
  ModelCall: declareShape("What a model call sent and received", {
    ...MODEL_CALL_FIELDS,
    parameters: optional(json, "Model, settings, tool choice and response format"),
    tools: optional(json, "Tools that were offered"),
    messages: required(listOf(json), "The messages that were sent; `null` for one that is no longer stored"),
    response: optional(json, "The message of the model"),
  }),
  Runs: declareShape("Runs, newest first", {
    runs: required(listOf(objectOf(RUN_FIELDS)), "Runs"),
    next,
  }),
} as const satisfies { readonly [name: string]: Shape };
