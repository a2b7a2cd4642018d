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
import { declareShape } from "./declare-shape.ts";

const time = (en: string, zh: string) =>
  required(count, `${en}, Unix time in milliseconds`, `${zh}（Unix 毫秒时间戳）`);
const page = {
  limit: optional(count, "Maximum number of items, 1 to 500; default: 50", "最多返回的条数，1 到 500；默认 50"),
  after: optional(
    string,
    "Id of the last item of the previous page: its `next`",
    "上一页最后一项的 ID，即上一页的 next",
  ),
};
const next = optional(
  string,
  "Value of `after` for the next page; absent on the last page",
  "下一页的 after 值；最后一页没有此字段",
);

export const RUN_FIELDS = {
  run_id: required(string, "Id of the run", "运行 ID"),
  status: required(oneOf("live", "completed", "error", "cancelled"), "Status of the run", "运行状态"),
  first_event_id: required(count, "Id of its first record", "首条记录 ID"),
  last_event_id: optional(count, "Id of its last record; absent while it is live", "末条记录 ID；运行期间没有此字段"),
  started_at: time("Start time", "开始时间"),
  ended_at: optional(count, "End time, Unix time in milliseconds", "结束时间（Unix 毫秒时间戳）"),
  code: optional(string, "Error code of a run that did not complete", "未完成时的错误码"),
  request_id: optional(string, "Id chosen by the caller", "调用方指定的请求 ID"),
  agent: optional(string, "Name of the agent", "智能体名称"),
} satisfies Fields;

const SESSION_FIELDS = {
  session_id: required(string, "Id of the session", "会话 ID"),
  title: optional(string, "Title", "标题"),
  is_pinned: optional(boolean, "Whether the session is pinned; absent if it is not", "会话是否置顶；未置顶时无此字段"),
  is_archived: optional(
    boolean,
    "Whether the session is archived; absent if it is not",
    "会话是否已归档；未归档时无此字段",
  ),
  created_at: time("Creation time", "创建时间"),
  updated_at: time(
    "Time of creation, or of the latest start or end of a run",
    "创建时间，或最近一次运行开始或结束的时间",
  ),
  first_event_id: required(
    count,
    "Id of the oldest stored record; last_event_id + 1 if none is stored",
    "现存最早记录的 ID；没有记录时为 last_event_id + 1",
  ),
  last_event_id: required(count, "Id of the last record; 0 in a new session", "末条记录 ID；新会话为 0"),
  bytes: required(count, "Size of the stored records in bytes", "现存记录的大小（字节）"),
  cursor: required(string, "Cursor after the last record", "末条记录之后的游标"),
  forked_from: optional(
    objectOf({
      session_id: required(string, "Id of the original, which may have been deleted", "原会话 ID；原会话可能已被删除"),
      run_id: optional(
        string,
        "Run of the original before which the session was forked; absent in other forks",
        "从原会话的此运行之前分叉；其他分叉没有此字段",
      ),
      event_id: required(
        count,
        "Id of the last copied record; the same in both sessions",
        "复制的末条记录 ID，两个会话相同",
      ),
    }),
    "Origin of a fork; absent if the session is not a fork",
    "分叉的来源；不是分叉时无此字段",
  ),
  root_id: required(
    string,
    "First session of the conversation; all versions of a conversation have the same",
    "对话的第一个会话；同一对话的所有版本都相同",
  ),
} satisfies Fields;

const CHECKPOINT_FIELDS = {
  checkpoint_id: required(string, "Id of the checkpoint", "检查点 ID"),
  step: required(
    stringOrNumber,
    "Super-step; 0 for the input. Runs of other agents may use a text",
    "超步编号，0 表示输入；其他智能体的运行可能使用文本",
  ),
  checkpoint_ns: required(string, "Path of the subgraph; empty for the root graph", "子图路径；根图为空"),
  run_id: optional(string, "Id of the run it belongs to", "所属运行的 ID"),
  event_id: required(count, "Id of its record", "记录 ID"),
  timestamp: required(
    stringOrNumber,
    "Creation time, ISO 8601. Runs of other agents may use another format",
    "创建时间（ISO 8601）；其他智能体的运行可能使用其他格式",
  ),
  next: optional(listOf(json), "Node runs of the next super-step", "下一超步的节点运行"),
} satisfies Fields;

const MODEL_CALL_FIELDS = {
  llm_call_id: required(string, "Id of the call", "调用 ID"),
  model: optional(string, "Requested model", "请求的模型"),
  event_id: required(count, "Id of the record of its start", "其开始记录的 ID"),
  started_at: optional(count, "Time of its start, in milliseconds since 1970", "开始时间（Unix 毫秒时间戳）"),
  has_request: required(boolean, "Whether its prompt is stored", "是否保存了提示词"),
  has_response: required(boolean, "Whether its response is stored", "是否保存了响应"),
} satisfies Fields;

const QUEUED_FIELDS = {
  command_id: required(string, "Id of the command: the idempotency key of the request", "命令 ID，即请求的幂等键"),
  run_id: required(string, "Id of its future run; use it to cancel the message", "将要开始的运行的 ID，可用于取消消息"),
  message: required(string, "Text of the message", "消息内容"),
  agent: optional(string, "Name of the agent", "智能体名称"),
  attachments: optional(listOf(json), "Attached files", "附件"),
  created_at: time("Time it was received", "接收时间"),
} satisfies Fields;

export const SESSION_SHAPES = {
  Session: declareShape("A session", "会话", SESSION_FIELDS),
  SessionDetails: declareShape("Session with its latest runs", "会话及其最近的运行", {
    ...SESSION_FIELDS,
    runs: required(
      listOf(objectOf(RUN_FIELDS)),
      "Latest runs, newest first, at most 20",
      "最近的运行，最新的在前，最多 20 条",
    ),
    is_busy: required(boolean, "Whether a run is live or a message is queued", "是否有正在进行的运行或排队的消息"),
    is_orphan: optional(
      boolean,
      "True if no process executes the live run: its process ended, or the run waits for an answer",
      "没有进程在执行正在进行的运行时为 true：其进程已结束，或运行在等待答复",
    ),
    latest_version: required(
      string,
      "Id of the newest version of the conversation; the session itself if there is no newer one",
      "对话最新版本的会话 ID；没有更新的版本时为此会话",
    ),
    queued: required(
      listOf(objectOf(QUEUED_FIELDS)),
      "Queued messages, next first, at most 20",
      "排队的消息，先到的在前，最多 20 条",
    ),
  }),
  ReadSession: declareShape("Version to read", "要读取的版本", {
    version: optional(
      oneOf("latest"),
      "`latest`: the newest version of the conversation; default: the session itself",
      "`latest` 表示对话的最新版本；默认为此会话",
    ),
  }),
  SessionList: declareShape("Sessions, newest first", "会话列表，最新的在前", {
    sessions: required(
      listOf(
        objectOf({
          ...SESSION_FIELDS,
          latest_status: optional(
            oneOf("live", "completed", "error", "cancelled"),
            "Status of its latest run, with `versions=newest`; absent if it has no run",
            "最近一次运行的状态，仅在 `versions=newest` 时返回；没有运行时无此字段",
          ),
          match: optional(
            objectOf({
              where: required(oneOf("title", "message", "answer"), "Where the query was found", "匹配位置"),
              snippet: required(string, "Text around the match, on one line", "匹配位置附近的文本（单行）"),
              run_id: optional(string, "Id of the run with the match", "匹配内容所属的运行 ID"),
            }),
            "Match of a search",
            "搜索匹配",
          ),
        }),
      ),
      "Sessions",
      "会话列表",
    ),
    next,
  }),
  SessionBranches: declareShape("Versions of a conversation, oldest first", "对话的各个版本，最早的在前", {
    sessions: required(listOf(objectOf(SESSION_FIELDS)), "Sessions", "会话列表"),
    next,
  }),
  ListSessions: declareShape("Sessions to list", "会话列表的查询条件", {
    ...page,
    q: optional(
      string,
      "Only sessions whose title or conversation contains this text",
      "仅列出标题或对话内容包含此文本的会话",
    ),
    versions: optional(
      oneOf("all", "newest"),
      "`newest` lists only the newest version of each conversation; ignored with `q`; default: `all`",
      "`newest` 表示每个对话只列出最新版本；使用 `q` 时忽略；默认 `all`",
    ),
    pinned: optional(
      boolean,
      "Only sessions that are pinned, or only those that are not; ignored with `q`",
      "仅列出已置顶或未置顶的会话；使用 `q` 时忽略",
    ),
    archived: optional(
      boolean,
      "Only sessions that are archived, or only those that are not; ignored with `q`",
      "仅列出已归档或未归档的会话；使用 `q` 时忽略",
    ),
  }),
  DeleteSession: declareShape("What to delete", "删除范围", {
    versions: optional(
      oneOf("one", "all"),
      "`all` deletes all versions of the conversation; default: `one`, this session only",
      "`all` 表示删除对话的所有版本；默认 `one`，仅删除此会话",
    ),
  }),
  CreateSession: declareShape("New session", "新会话", {
    session_id: optional(string, "Id of the session; default: generated", "会话 ID；默认自动生成"),
    title: optional(string, "Title", "标题"),
  }),
  UpdateSession: declareShape("Changes of a conversation", "对话的更改", {
    title: optional(string, "New title", "新标题"),
    is_pinned: optional(boolean, "Whether it is pinned", "是否置顶"),
    is_archived: optional(boolean, "Whether it is archived", "是否归档"),
  }),
  ForkSession: declareShape(
    "Fork of a session. Without checkpoint_id, after_event and before_run it copies everything before the live run",
    "会话的分叉；未指定 checkpoint_id、after_event 或 before_run 时，复制当前运行之前的全部内容",
    {
      checkpoint_id: optional(string, "Fork at this checkpoint and resume its run", "从此检查点分叉，并恢复其运行"),
      after_event: optional(
        count,
        "Fork at the last checkpoint up to this record and resume its run",
        "从截至此记录的最后一个检查点分叉，并恢复其运行",
      ),
      before_run: optional(
        string,
        "Copy everything before this run. No run is resumed; the fork waits for the next message",
        "复制此运行开始之前的全部内容；不恢复任何运行，等待下一条消息",
      ),
      session_id: optional(string, "Id of the new session; default: generated", "新会话 ID；默认自动生成"),
      title: optional(
        string,
        "Title; default: the title of the original, unless nothing is copied",
        "标题；默认沿用原会话的标题，未复制任何内容时除外",
      ),
      state: optional(map, "Channel values that replace those of the checkpoint", "用于替换检查点中通道值的数据"),
    },
  ),
  ForkedSession: declareShape("Forked session", "分叉出的会话", {
    ...SESSION_FIELDS,
    checkpoint_id: optional(
      string,
      "Checkpoint the run is resumed from; absent if no run is resumed",
      "恢复运行所用的检查点；没有恢复运行时无此字段",
    ),
  }),
  ListPage: declareShape("Page of a list", "列表分页", page),
  Checkpoints: declareShape("Checkpoints, newest first", "检查点列表，最新的在前", {
    checkpoints: required(listOf(objectOf(CHECKPOINT_FIELDS)), "Checkpoints", "检查点列表"),
    next,
  }),
  Checkpoint: declareShape("Checkpoint with its state", "检查点及其状态", {
    ...CHECKPOINT_FIELDS,
    state: required(json, "Complete state", "完整状态"),
  }),
  ModelCalls: declareShape("Model calls of a run, in the order they started", "运行中的模型调用，按开始顺序排列", {
    model_calls: required(listOf(objectOf(MODEL_CALL_FIELDS)), "Model calls", "模型调用列表"),
  }),
  ModelCall: declareShape("What a model call sent and received", "模型调用发送和收到的内容", {
    ...MODEL_CALL_FIELDS,
    parameters: optional(json, "Model, settings, tool choice and response format", "模型、设置、工具选择和响应格式"),
    tools: optional(json, "Tools that were offered", "提供的工具"),
    messages: required(
      listOf(json),
      "The messages that were sent; `null` for one that is no longer stored",
      "发送的消息；不再保存的消息为 `null`",
    ),
    response: optional(json, "The message of the model", "模型的消息"),
  }),
  Runs: declareShape("Runs, newest first", "运行列表，最新的在前", {
    runs: required(listOf(objectOf(RUN_FIELDS)), "Runs", "运行列表"),
    next,
  }),
} as const satisfies { readonly [name: string]: Shape };
