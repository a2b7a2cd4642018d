/** Shapes of runs, streams, commands, agents and models. */
import { DIALECT_NAMES } from "../../dialects/dialect.ts";
import { MESSAGE_FIELDS } from "../../protocol/message-fields.ts";
import {
  boolean,
  count,
  either,
  type Fields,
  json,
  listOf,
  map,
  number,
  objectOf,
  oneOf,
  optional,
  required,
  type Shape,
  string,
  stringOrNumber,
} from "../../protocol/schema.ts";
import { declareShape } from "./common-shapes.ts";
import { RUN_FIELDS } from "./session-shapes.ts";

const VIEW_FIELDS = {
  dialect: optional(
    string,
    `Dialect of the frames: ${DIALECT_NAMES.map((name) => `\`${name}\``).join(", ")}. Default: \`loom\``,
  ),
  modes: optional(
    listOf(string),
    "Comma-separated modes: `messages`, `tools`, `nodes`, `updates`, `values`, `custom`, `checkpoints` or `all`. Graph states are sent in full. Default: everything except graph states",
  ),
  strict: optional(
    boolean,
    "With `loom` or `export`: only the 23 types and the fields of specification 001, with graph states unless `modes` is given; other types are sent as `custom`, and every run ends with a reply. Default: false",
  ),
} satisfies Fields;

const CURSOR_FIELDS = {
  after: optional(
    string,
    "Resume after this position: a cursor, or the event_id of a record in digits. `Last-Event-ID` takes precedence",
  ),
  skip: optional(count, "Number of complete frames received since `after`"),
  of: optional(string, "Any cursor of the intended session; identifies it if `after` is not a cursor"),
} satisfies Fields;

const reason = optional(string, "Reason");
const runId = optional(string, "Id of the run; default: the live run");
export const agent = optional(string, "Name of the agent; default: the server's default agent");

const attachments = optional(
  listOf(
    objectOf({
      blob_id: optional(string, "Id of a blob of this session"),
      data: optional(string, "Content of a file in Base64, which the server stores as a blob"),
      url: optional(
        string,
        "`data:` URL, or URL of a file that the server fetches and stores. `url_refused` unless the server allows it",
      ),
      media_type: optional(string, "Media type of `data` or `url`; default: derived from the content and the name"),
      name: optional(string, "File name; default: the name of the blob"),
    }),
  ),
  "Attached files, at most 20. Each has one of `blob_id`, `data` and `url`",
);

/** The end of a request for approval. */
const APPROVAL_FIELDS = {
  event_id: required(count, "Id of the record with the request"),
  expires_at: optional(number, "Time at which the call is rejected, Unix time in milliseconds"),
  digest: optional(string, "Digest of tool and arguments, to send with the answer"),
  server: optional(string, "Name of the MCP server that has the tool"),
} satisfies Fields;

const START_FIELDS = {
  message: optional(
    either(string, objectOf({ text: optional(string, "Text of the message"), attachments })),
    "Text of the message, or text and files. Required unless `messages` is given",
  ),
  messages: optional(
    listOf(
      objectOf({
        role: required(string, "`user`, `assistant` or `tool`"),
        content: required(
          either(string, listOf(map)),
          "Text, or parts: `text`, `file`, `image`, `reasoning`, `tool-call`, `tool-result`",
        ),
      }),
    ),
    "Messages of a conversation in the form of the AI SDK, instead of `message`. The last one is the user's. Those before it become the history of a new session; `session_exists` if the session already has records",
  ),
  agent,
  run_id: optional(string, "Id of the run; default: derived from the idempotency key"),
  request_id: optional(string, "Id chosen by the caller; included in the stream"),
  context: optional(map, "Data of the caller, passed to observers of the run"),
  attachments,
  ...MESSAGE_FIELDS,
  when_busy: optional(
    oneOf("enqueue", "reject", "interrupt"),
    "If a run is live: wait for it (`enqueue`, default), reject the message with `run_live` (`reject`), or cancel the live run first (`interrupt`)",
  ),
} satisfies Fields;

const TEXT_FIELDS = {
  en: required(string, "English"),
  zh: required(string, "Chinese"),
} satisfies Fields;

export const RUN_SHAPES = {
  Run: declareShape("A run", RUN_FIELDS),
  StartRun: declareShape("Message for an agent", START_FIELDS),
  StartedRun: declareShape("Run started by a message", {
    session_id: required(string, "Id of the session"),
    run_id: required(string, "Id of the run"),
    command_id: required(string, "Idempotency key of the request, or a generated one"),
    status: required(
      oneOf("queued", "live", "completed", "error", "cancelled"),
      "Status of the run; `queued` until it starts",
    ),
    cursor: required(string, "Cursor before the run, or at the end of the session if the run has not started"),
    events: required(string, "URL of the event stream"),
  }),
  StreamView: declareShape("Format of the stream", VIEW_FIELDS),
  ReadEvents: declareShape("Frames of a session to read", {
    ...VIEW_FIELDS,
    ...CURSOR_FIELDS,
    follow: optional(boolean, "Keep the stream open at the end and send new frames; default: false"),
    limit: optional(count, "Maximum number of frames"),
    run: optional(string, "Only this run, until it ends; with `follow` also one that has not started"),
  }),
  ControlCommand: declareShape("Command of the control protocol", {
    type: required(
      oneOf("run", "cancel", "approve", "tool_result", "permission", "feedback", "todo"),
      "Type of the command",
    ),
    id: required(string, "Id of the command; repeating an id repeats the result, not the effect"),
    session: required(string, "Session; must match the path"),
  }),
  CommandResult: declareShape("Command that was executed or is pending", {
    type: required(string, "Always `ack`"),
    id: required(string, "Id of the command"),
    result: optional(map, "Result of the command"),
    pending: optional(boolean, "True if the command is not executed yet; repeat it with the same id to get the result"),
  }),
  CancelRun: declareShape("Cancellation of a run", { reason }),
  AnswerApproval: declareShape("Answer to an approval request", {
    decision: required(oneOf("approved", "rejected"), "Decision"),
    arguments: optional(map, "Edited arguments for the call"),
    digest: optional(string, "Digest of the approval request; `approval_mismatch` if it differs"),
    reason,
    run_id: runId,
  }),
  Approvals: declareShape("Tool calls waiting for approval", {
    approvals: required(
      listOf(
        objectOf({
          call_id: required(string, "Id of the tool call"),
          run_id: required(string, "Id of the run"),
          name: required(string, "Name of the tool"),
          arguments: required(map, "Arguments of the call"),
          ...APPROVAL_FIELDS,
        }),
      ),
      "Approval requests in the order they were made",
    ),
  }),
  ListActiveRuns: declareShape("Live and queued runs to list", {
    limit: optional(count, "Maximum number of sessions, 1 to 500; default: 50"),
    after: optional(string, "`next` of the previous page"),
    state: optional(oneOf("waiting"), "`waiting` lists only sessions with a run that waits for approval; default: all"),
  }),
  ActiveRuns: declareShape("Live and queued runs of all sessions", {
    runs: required(
      listOf(
        objectOf({
          run_id: required(string, "Id of the run"),
          session_id: required(string, "Id of its session"),
          title: optional(string, "Title of the session"),
          owner: optional(
            string,
            "Owner of the session, for callers with the scope `admin`; absent if it is the caller",
          ),
          state: required(
            oneOf("running", "waiting", "queued"),
            "`waiting`: for approval; `queued`: the run has not started",
          ),
          agent: optional(string, "Name of the agent"),
          model: optional(string, "Model of the agent"),
          since: required(
            count,
            "Time of the start, or at which a queued message was received, Unix time in milliseconds",
          ),
          waiting_since: optional(count, "Time of the first open approval request, Unix time in milliseconds"),
          approvals: required(
            listOf(
              objectOf({
                call_id: required(string, "Id of the tool call"),
                name: required(string, "Name of the tool"),
                arguments: optional(map, "Arguments of the call; absent if they are larger than 16 KiB"),
                ...APPROVAL_FIELDS,
              }),
            ),
            "Tool calls that wait for approval, oldest first, at most 20",
          ),
        }),
      ),
      "Runs, those of newer sessions first",
    ),
    next: optional(string, "Value of `after` for the next page; absent on the last page"),
  }),
  SendToolResult: declareShape("Result of a tool call that the client carries out", {
    output: optional(json, "Result for the model: a text or any JSON value"),
    is_error: optional(boolean, "Whether the call failed; default: false"),
    run_id: runId,
  }),
  ClientCalls: declareShape("Tool calls that wait for the client", {
    calls: required(
      listOf(
        objectOf({
          call_id: required(string, "Id of the tool call"),
          run_id: required(string, "Id of the run"),
          name: required(string, "Name of the tool"),
          arguments: required(map, "Arguments of the call, as the user approved them"),
          event_id: required(count, "Id of the `tool_start` record"),
          expires_at: optional(number, "Time at which the call ends as `tool_timeout`, Unix time in milliseconds"),
        }),
      ),
      "Calls in the order they were started",
    ),
  }),
  SetToolPermission: declareShape("Permission of a tool in a session", {
    rule: required(
      oneOf("allow", "ask"),
      "`allow`: calls of the tool run without approval, and those that wait are approved; `ask`: calls wait for approval if they need it",
    ),
  }),
  RateRun: declareShape("Feedback about the answer of a run", {
    rating: required(oneOf("good", "bad", "none"), "The rating; `none` removes it"),
    comment: optional(string, "Comment, at most 4,000 characters"),
  }),
  ChangeTodo: declareShape("Change to a to-do item", {
    completed: optional(boolean, "Whether the item is completed; default: unchanged"),
    text: optional(string, "New text; default: unchanged"),
  }),
  Agents: declareShape("Agents of the server", {
    agents: required(
      listOf(
        objectOf({
          name: required(string, "Name of the agent"),
          kind: required(string, "Kind of agent: `react`, `tot` or `got`"),
          is_adaptive: optional(boolean, "True for a `got` agent whose tasks may expand into subgraphs"),
          description: optional(string, "Human-readable description"),
          model: optional(
            string,
            "Provider and model, such as `openai/gpt-5`, or `offline`. Within a server, kind, is_adaptive and model identify an agent",
          ),
          tools: required(listOf(string), "Names of the agent's tools"),
          settings: optional(
            listOf(
              objectOf({
                name: required(string, "Name of the setting, as in `strategy` of a message"),
                label: required(objectOf(TEXT_FIELDS), "Name for users"),
                about: required(objectOf(TEXT_FIELDS), "What it does"),
                value: optional(stringOrNumber, "Value of the agent; absent if it depends on other settings"),
                values: optional(listOf(string), "Accepted words"),
                least: optional(number, "Lowest accepted number"),
                most: optional(number, "Highest number that a message may choose"),
                is_fraction: optional(boolean, "True if the number need not be an integer"),
              }),
            ),
            "Strategy settings that a message may choose; absent if the agent has none",
          ),
          is_default: required(boolean, "Whether it answers messages without an agent name"),
        }),
      ),
      "Agents of the server",
    ),
  }),
  Models: declareShape("Model providers and models in use", {
    providers: required(
      listOf(
        objectOf({
          name: required(string, "Name of the provider, as in `provider/model`"),
          model: optional(string, "Default model of the provider"),
          needs_key: required(boolean, "Whether an API key is required"),
          key_variable: optional(string, "Environment variable of the API key"),
          has_key: required(boolean, "Whether the environment variable is set"),
          is_offline: required(
            boolean,
            "True for the built-in rule-based provider, which uses neither a language model nor the network",
          ),
          in_use: required(boolean, "Whether an agent of this server uses it"),
        }),
      ),
      "Known providers",
    ),
    models: required(listOf(string), "Models used by agents of this server"),
  }),
} as const satisfies { readonly [name: string]: Shape };
