/** Shapes of runs, streams, commands, agents and models. */
import { DIALECT_NAMES } from "../../dialects/dialect.ts";
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
import { REASONING_LEVELS } from "../../protocol/reasoning-level.ts";
import { STRATEGY_FIELD } from "../../protocol/strategy-fields.ts";
import { declareShape } from "./declare-shape.ts";
import { RUN_FIELDS } from "./session-shapes.ts";

const VIEW_FIELDS = {
  dialect: optional(
    string,
    `Dialect of the frames: ${DIALECT_NAMES.map((name) => `\`${name}\``).join(", ")}. Default: \`loom\``,
    `帧的方言：${DIALECT_NAMES.join("、")}；默认为 loom`,
  ),
  modes: optional(
    listOf(string),
    "Comma-separated modes: `messages`, `tools`, `nodes`, `updates`, `values`, `custom`, `checkpoints` or `all`. Graph states are sent in full. Default: everything except graph states",
    "以逗号分隔的模式：messages、tools、nodes、updates、values、custom、checkpoints 或 all；图状态以完整形式发送；默认为除图状态外的全部事件",
  ),
  strict: optional(
    boolean,
    "With `loom` or `export`: only the 23 types and the fields of specification 001, with graph states unless `modes` is given; other types are sent as `custom`, and every run ends with a reply. Default: false",
    "用于 loom 或 export：只发送规范 001 的 23 种类型和字段，未指定 modes 时包含图状态；其他类型以 custom 发送，每次运行都以 reply 结束；默认 false",
  ),
} satisfies Fields;

const CURSOR_FIELDS = {
  after: optional(
    string,
    "Resume after this position: a cursor, or the event_id of a record in digits. `Last-Event-ID` takes precedence",
    "从此位置之后续传：游标，或记录的 event_id；Last-Event-ID 优先",
  ),
  skip: optional(count, "Number of complete frames received since `after`", "自 after 之后已完整收到的帧数"),
  of: optional(
    string,
    "Any cursor of the intended session; identifies it if `after` is not a cursor",
    "目标会话的任一游标；after 不是游标时用于识别会话",
  ),
} satisfies Fields;

const reason = optional(string, "Reason", "原因");
const runId = optional(string, "Id of the run; default: the live run", "运行 ID；默认为当前运行");
export const agent = optional(
  string,
  "Name of the agent; default: the server's default agent",
  "智能体名称；默认为服务器的默认智能体",
);

const attachments = optional(
  listOf(
    objectOf({
      blob_id: optional(string, "Id of a blob of this session", "本会话中图片或文件的 ID"),
      data: optional(
        string,
        "Content of a file in Base64, which the server stores as a blob",
        "文件内容（Base64），由服务器保存",
      ),
      url: optional(
        string,
        "`data:` URL, or URL of a file that the server fetches and stores. `url_refused` unless the server allows it",
        "`data:` URL，或由服务器获取并保存的文件的 URL；服务器不允许时返回 url_refused",
      ),
      media_type: optional(
        string,
        "Media type of `data` or `url`; default: derived from the content and the name",
        "data 或 url 的媒体类型；默认根据内容和文件名判断",
      ),
      name: optional(string, "File name; default: the name of the blob", "文件名；默认为上传时的名称"),
    }),
  ),
  "Attached files, at most 20. Each has one of `blob_id`, `data` and `url`",
  "附件，最多 20 个；每个附件包含 blob_id、data、url 三者之一",
);

const MESSAGE_FIELDS = {
  message: optional(
    either(string, objectOf({ text: optional(string, "Text of the message", "消息内容"), attachments })),
    "Text of the message, or text and files. Required unless `messages` is given",
    "消息内容，或消息内容与附件；未提供 messages 时必填",
  ),
  messages: optional(
    listOf(
      objectOf({
        role: required(string, "`user`, `assistant` or `tool`", "user、assistant 或 tool"),
        content: required(
          either(string, listOf(map)),
          "Text, or parts: `text`, `file`, `image`, `reasoning`, `tool-call`, `tool-result`",
          "文本，或由 text、file、image、reasoning、tool-call、tool-result 组成的列表",
        ),
      }),
    ),
    "Messages of a conversation in the form of the AI SDK, instead of `message`. The last one is the user's. Those before it become the history of a new session; `session_exists` if the session already has records",
    "AI SDK 格式的对话消息，代替 message。最后一条为用户消息；之前的消息成为新会话的历史，会话已有记录时返回 session_exists",
  ),
  agent,
  run_id: optional(string, "Id of the run; default: derived from the idempotency key", "运行 ID；默认由幂等键生成"),
  request_id: optional(string, "Id chosen by the caller; included in the stream", "调用方指定的请求 ID，包含在流中"),
  context: optional(map, "Data of the caller, passed to observers of the run", "调用方提供的数据，传给运行的观察者"),
  attachments,
  reasoning: optional(
    oneOf(...REASONING_LEVELS),
    "How much the model reasons before it answers; default: the setting of the agent",
    "模型回答前的推理程度；默认采用智能体的设置",
  ),
  strategy: STRATEGY_FIELD,
  capabilities: optional(
    listOf(string),
    "What the client can do: `approval` if it can answer tool approvals, `tools` if it can carry out tools of the agent. If the list lacks one, calls that need it are refused at once; default: they wait for an answer",
    "客户端的能力：`approval` 表示可以答复工具审批，`tools` 表示可以执行智能体的客户端工具。列表中缺少其中一项时，需要它的调用会立即被拒绝；默认等待答复",
  ),
  client_tools: optional(
    listOf(
      objectOf({
        name: required(string, "1 to 64 letters, digits, `_` and `-`", "1 到 64 个字母、数字、`_` 或 `-`"),
        description: optional(string, "Tells the model what the tool does", "向模型说明工具的用途"),
        input_schema: optional(map, "JSON Schema of the arguments", "参数的 JSON Schema"),
      }),
    ),
    "Tools that the client carries out, in addition to those of the agent: at most 128, and 32 KiB together. Fails with `invalid_command` if the agent has a tool of the same name",
    "除智能体自身的工具外，由客户端执行的工具：最多 128 个，总计不超过 32 KiB。与智能体的工具重名时返回 invalid_command",
  ),
  instructions: optional(
    string,
    "Instructions added to the system prompt of the agent for this run only, at most 32 KiB",
    "仅在本次运行中附加到智能体系统提示词之后的指令，最大 32 KiB",
  ),
  output_schema: optional(
    map,
    "JSON Schema of the reply, at most 32 KiB: the reply is JSON that matches it. Needs an agent of the kind `react`; fails with `invalid_command` if the schema has a keyword that cannot be checked",
    "回复的 JSON Schema，最大 32 KiB：回复为符合它的 JSON。需要 react 智能体；包含无法校验的关键字时返回 invalid_command",
  ),
  on_interruption: optional(
    oneOf("resume", "fail"),
    "What happens when the process of the run dies: `resume` runs the interrupted nodes again, `fail` ends the run as `interrupted`; default: the setting of the server",
    "运行所在的进程异常退出后的处理：`resume` 重新执行被中断的节点，`fail` 以 `interrupted` 结束运行；默认采用服务器的设置",
  ),
  when_busy: optional(
    oneOf("enqueue", "reject", "interrupt"),
    "If a run is live: wait for it (`enqueue`, default), reject the message with `run_live` (`reject`), or cancel the live run first (`interrupt`)",
    "已有运行正在进行时的处理方式：enqueue（默认）排队；reject 拒绝（错误码 run_live）；interrupt 先取消当前运行",
  ),
} satisfies Fields;

const TEXT_FIELDS = {
  en: required(string, "English", "英文"),
  zh: required(string, "Chinese", "中文"),
} satisfies Fields;

export const RUN_SHAPES = {
  Run: declareShape("A run", "运行", RUN_FIELDS),
  StartRun: declareShape("Message for an agent", "发给智能体的消息", MESSAGE_FIELDS),
  StartedRun: declareShape("Run started by a message", "消息对应的运行", {
    session_id: required(string, "Id of the session", "会话 ID"),
    run_id: required(string, "Id of the run", "运行 ID"),
    command_id: required(string, "Idempotency key of the request, or a generated one", "请求的幂等键，或自动生成的键"),
    status: required(
      oneOf("queued", "live", "completed", "error", "cancelled"),
      "Status of the run; `queued` until it starts",
      "运行状态；开始前为 queued",
    ),
    cursor: required(
      string,
      "Cursor before the run, or at the end of the session if the run has not started",
      "运行之前的游标；运行尚未开始时为会话末尾的游标",
    ),
    events: required(string, "URL of the event stream", "事件流 URL"),
  }),
  StreamView: declareShape("Format of the stream", "流的格式", VIEW_FIELDS),
  ReadEvents: declareShape("Frames of a session to read", "要读取的会话帧", {
    ...VIEW_FIELDS,
    ...CURSOR_FIELDS,
    follow: optional(
      boolean,
      "Keep the stream open at the end and send new frames; default: false",
      "到达末尾后保持连接并发送新帧；默认 false",
    ),
    limit: optional(count, "Maximum number of frames", "最多返回的帧数"),
    run: optional(
      string,
      "Only this run, until it ends; with `follow` also one that has not started",
      "仅此运行，直到结束；配合 follow 可等待尚未开始的运行",
    ),
  }),
  ControlCommand: declareShape("Command of the control protocol", "控制协议命令", {
    type: required(
      oneOf("run", "cancel", "approve", "tool_result", "permission", "feedback", "todo"),
      "Type of the command",
      "命令类型",
    ),
    id: required(
      string,
      "Id of the command; repeating an id repeats the result, not the effect",
      "命令 ID；重复发送只返回结果，不会重复执行",
    ),
    session: required(string, "Session; must match the path", "会话 ID，必须与路径一致"),
  }),
  CommandResult: declareShape("Command that was executed or is pending", "已执行或等待执行的命令", {
    type: required(string, "Always `ack`", "固定为 ack"),
    id: required(string, "Id of the command", "命令 ID"),
    result: optional(map, "Result of the command", "命令的结果"),
    pending: optional(
      boolean,
      "True if the command is not executed yet; repeat it with the same id to get the result",
      "为 true 表示尚未执行；用相同 ID 重复请求可获取结果",
    ),
  }),
  CancelRun: declareShape("Cancellation of a run", "取消运行", { reason }),
  AnswerApproval: declareShape("Answer to an approval request", "对审批请求的答复", {
    decision: required(oneOf("approved", "rejected"), "Decision", "决定"),
    arguments: optional(map, "Edited arguments for the call", "修改后的参数"),
    digest: optional(
      string,
      "Digest of the approval request; `approval_mismatch` if it differs",
      "审批请求的摘要值（digest）；不一致时返回 approval_mismatch",
    ),
    reason,
    run_id: runId,
  }),
  Approvals: declareShape("Tool calls waiting for approval", "等待审批的工具调用", {
    approvals: required(
      listOf(
        objectOf({
          call_id: required(string, "Id of the tool call", "工具调用 ID"),
          run_id: required(string, "Id of the run", "运行 ID"),
          name: required(string, "Name of the tool", "工具名"),
          arguments: required(map, "Arguments of the call", "调用参数"),
          event_id: required(count, "Id of the record with the request", "审批请求的记录 ID"),
          expires_at: optional(
            number,
            "Time at which the call is rejected, Unix time in milliseconds",
            "自动拒绝的时间（Unix 毫秒时间戳）",
          ),
          digest: optional(
            string,
            "Digest of tool and arguments, to send with the answer",
            "工具及其参数的摘要值（digest），答复时一并提供",
          ),
          server: optional(string, "Name of the MCP server that has the tool", "提供该工具的 MCP 服务器名"),
        }),
      ),
      "Approval requests in the order they were made",
      "审批请求，按提出的顺序排列",
    ),
  }),
  ListActiveRuns: declareShape("Live and queued runs to list", "进行中与排队的运行的查询条件", {
    limit: optional(
      count,
      "Maximum number of sessions, 1 to 500; default: 50",
      "最多返回多少个会话的运行，1 到 500；默认 50",
    ),
    after: optional(string, "`next` of the previous page", "上一页的 next"),
    state: optional(
      oneOf("waiting"),
      "`waiting` lists only sessions with a run that waits for approval; default: all",
      "`waiting` 表示仅列出有运行正在等待审批的会话；默认列出全部",
    ),
  }),
  ActiveRuns: declareShape("Live and queued runs of all sessions", "所有会话中进行中与排队的运行", {
    runs: required(
      listOf(
        objectOf({
          run_id: required(string, "Id of the run", "运行 ID"),
          session_id: required(string, "Id of its session", "所属会话的 ID"),
          title: optional(string, "Title of the session", "会话标题"),
          owner: optional(
            string,
            "Owner of the session, for callers with the scope `admin`; absent if it is the caller",
            "会话的所有者，仅对具有 admin 权限的调用方提供；所有者为调用方自己时无此字段",
          ),
          state: required(
            oneOf("running", "waiting", "queued"),
            "`waiting`: for approval; `queued`: the run has not started",
            "waiting 表示等待审批；queued 表示尚未开始",
          ),
          agent: optional(string, "Name of the agent", "智能体名称"),
          model: optional(string, "Model of the agent", "智能体的模型"),
          since: required(
            count,
            "Time of the start, or at which a queued message was received, Unix time in milliseconds",
            "开始时间；排队时为收到消息的时间（Unix 毫秒时间戳）",
          ),
          waiting_since: optional(
            count,
            "Time of the first open approval request, Unix time in milliseconds",
            "首个未答复的审批请求的时间（Unix 毫秒时间戳）",
          ),
          approvals: required(
            listOf(
              objectOf({
                call_id: required(string, "Id of the tool call", "工具调用 ID"),
                name: required(string, "Name of the tool", "工具名"),
                arguments: optional(
                  map,
                  "Arguments of the call; absent if they are larger than 16 KiB",
                  "调用参数；超过 16 KiB 时无此字段",
                ),
                event_id: required(count, "Id of the record with the request", "审批请求的记录 ID"),
                expires_at: optional(
                  number,
                  "Time at which the call is rejected, Unix time in milliseconds",
                  "自动拒绝的时间（Unix 毫秒时间戳）",
                ),
                digest: optional(
                  string,
                  "Digest of tool and arguments, to send with the answer",
                  "工具及其参数的摘要值（digest），答复时一并提供",
                ),
                server: optional(string, "Name of the MCP server that has the tool", "提供该工具的 MCP 服务器名"),
              }),
            ),
            "Tool calls that wait for approval, oldest first, at most 20",
            "等待审批的工具调用，先提出的在前，最多 20 个",
          ),
        }),
      ),
      "Runs, those of newer sessions first",
      "运行列表，较新会话的在前",
    ),
    next: optional(
      string,
      "Value of `after` for the next page; absent on the last page",
      "下一页的 after 值；最后一页没有此字段",
    ),
  }),
  SendToolResult: declareShape("Result of a tool call that the client carries out", "由客户端执行的工具调用的结果", {
    output: optional(json, "Result for the model: a text or any JSON value", "返回给模型的结果：文本或任意 JSON 值"),
    is_error: optional(boolean, "Whether the call failed; default: false", "调用是否失败；默认为 false"),
    run_id: runId,
  }),
  ClientCalls: declareShape("Tool calls that wait for the client", "等待客户端执行的工具调用", {
    calls: required(
      listOf(
        objectOf({
          call_id: required(string, "Id of the tool call", "工具调用 ID"),
          run_id: required(string, "Id of the run", "运行 ID"),
          name: required(string, "Name of the tool", "工具名"),
          arguments: required(
            map,
            "Arguments of the call, as the user approved them",
            "调用参数；经过审批时为用户批准的参数",
          ),
          event_id: required(count, "Id of the `tool_start` record", "`tool_start` 记录的 ID"),
          expires_at: optional(
            number,
            "Time at which the call ends as `tool_timeout`, Unix time in milliseconds",
            "调用以 tool_timeout 结束的时间（Unix 毫秒时间戳）",
          ),
        }),
      ),
      "Calls in the order they were started",
      "调用，按开始的顺序排列",
    ),
  }),
  SetToolPermission: declareShape("Permission of a tool in a session", "会话中工具的许可", {
    rule: required(
      oneOf("allow", "ask"),
      "`allow`: calls of the tool run without approval, and those that wait are approved; `ask`: calls wait for approval if they need it",
      "`allow`：工具的调用无需审批，正在等待的调用随之批准；`ask`：需要审批的调用等待审批",
    ),
  }),
  RateRun: declareShape("Feedback about the answer of a run", "对某次运行的回答的反馈", {
    rating: required(oneOf("good", "bad", "none"), "The rating; `none` removes it", "评价；`none` 表示撤销"),
    comment: optional(string, "Comment, at most 4,000 characters", "说明，最多 4000 个字符"),
  }),
  ChangeTodo: declareShape("Change to a to-do item", "对待办清单条目的修改", {
    completed: optional(boolean, "Whether the item is completed; default: unchanged", "是否已完成；默认不变"),
    text: optional(string, "New text; default: unchanged", "新内容；默认不变"),
  }),
  Agents: declareShape("Agents of the server", "服务器的智能体", {
    agents: required(
      listOf(
        objectOf({
          name: required(string, "Name of the agent", "名称"),
          kind: required(string, "Kind of agent: `react`, `tot` or `got`", "种类：react、tot 或 got"),
          is_adaptive: optional(
            boolean,
            "True for a `got` agent whose tasks may expand into subgraphs",
            "为 true 表示 got 的任务可以扩展为子图",
          ),
          description: optional(string, "Human-readable description", "供人阅读的说明"),
          model: optional(
            string,
            "Provider and model, such as `openai/gpt-5`, or `offline`. Within a server, kind, is_adaptive and model identify an agent",
            "提供方与模型，如 openai/gpt-5，或 offline；在同一服务器内，kind、is_adaptive 与 model 共同确定一个智能体",
          ),
          tools: required(listOf(string), "Names of the agent's tools", "工具名列表"),
          settings: optional(
            listOf(
              objectOf({
                name: required(
                  string,
                  "Name of the setting, as in `strategy` of a message",
                  "设置名称，用于消息的 strategy",
                ),
                label: required(objectOf(TEXT_FIELDS), "Name for users", "供用户阅读的名称"),
                about: required(objectOf(TEXT_FIELDS), "What it does", "作用"),
                value: optional(
                  stringOrNumber,
                  "Value of the agent; absent if it depends on other settings",
                  "智能体采用的值；取决于其他设置时无此字段",
                ),
                values: optional(listOf(string), "Accepted words", "可选的值"),
                least: optional(number, "Lowest accepted number", "最小值"),
                most: optional(number, "Highest number that a message may choose", "消息可以指定的最大值"),
                is_fraction: optional(boolean, "True if the number need not be an integer", "为 true 表示可以不是整数"),
              }),
            ),
            "Strategy settings that a message may choose; absent if the agent has none",
            "消息可以指定的搜索设置；智能体没有时无此字段",
          ),
          is_default: required(boolean, "Whether it answers messages without an agent name", "是否为默认智能体"),
        }),
      ),
      "Agents of the server",
      "智能体列表",
    ),
  }),
  Models: declareShape("Model providers and models in use", "模型提供方与使用中的模型", {
    providers: required(
      listOf(
        objectOf({
          name: required(
            string,
            "Name of the provider, as in `provider/model`",
            "提供方名称，即 provider/model 中的 provider",
          ),
          model: optional(string, "Default model of the provider", "提供方的默认模型"),
          needs_key: required(boolean, "Whether an API key is required", "是否需要 API 密钥"),
          key_variable: optional(string, "Environment variable of the API key", "API 密钥的环境变量"),
          has_key: required(boolean, "Whether the environment variable is set", "是否已设置该环境变量"),
          is_offline: required(
            boolean,
            "True for the built-in rule-based provider, which uses neither a language model nor the network",
            "为 true 表示内置的规则程序，不使用语言模型，也不联网",
          ),
          in_use: required(boolean, "Whether an agent of this server uses it", "本服务器是否有智能体使用"),
        }),
      ),
      "Known providers",
      "已知的提供方",
    ),
    models: required(listOf(string), "Models used by agents of this server", "本服务器智能体使用的模型"),
  }),
} as const satisfies { readonly [name: string]: Shape };
