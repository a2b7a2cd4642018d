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
import { REASONING_LEVELS } from "../reasoning-level.ts";
import { STRATEGY_FIELD } from "../strategy-fields.ts";
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

const id = required(string, "Chosen by the client; repeated in the response", "由客户端指定，响应中原样返回");
const commandId = required(
  string,
  "Command ID chosen by the client. Sending the command again with the same ID has no further effect and returns the same result",
  "由客户端指定的命令 ID。用相同 ID 重复发送不会再次执行，并返回相同结果",
);
const echo = optional(string, "ID of the frame this answers", "所响应的帧的 ID");
const session = required(string, "ID of the session", "会话 ID");
const dialect = required(string, "Name of the dialect", "方言名");
const requestedDialect = optional(string, "Name of the dialect (default: `loom`)", "方言名，默认为 `loom`");

function frame(en: string, zh: string, fields: { readonly [name: string]: Field }): Shape {
  return { section: CONTROL_SECTION, about: { en, zh }, fields };
}

/** Frames from the client to the server. */
export const UP_FRAMES = {
  subscribe: frame("Subscribes to a session", "订阅会话", {
    id,
    session,
    dialect: requestedDialect,
    modes: optional(
      listOf(string),
      "Send only these modes, with full graph states: `messages`, `tools`, `nodes`, `updates`, `values`, `custom`, `checkpoints` or `all`. By default everything except graph states",
      "只发送这些模式的事件，图状态为完整状态：`messages`、`tools`、`nodes`、`updates`、`values`、`custom`、`checkpoints` 或 `all`。默认发送除图状态之外的所有事件",
    ),
    strict: optional(
      boolean,
      "With `loom` or `export`: only the 23 types and the fields of specification 001; other types are sent as `custom`, and every run ends with a reply (default: false)",
      "用于 `loom` 或 `export`：只发送规范 001 的 23 种类型和字段；其他类型以 `custom` 发送，每次运行都以 reply 结束。默认为 false",
    ),
    after: optional(
      string,
      "Position to continue after: a cursor, or an `event_id` as a decimal string. By default the stream starts at the first stored record",
      "从此位置之后续传：游标，或十进制字符串形式的 `event_id`。默认从最早的现存记录开始",
    ),
    skip: optional(
      count,
      "Number of complete frames already received after `after`",
      "在 `after` 之后已完整收到的帧数",
    ),
    of: optional(
      string,
      "Any cursor of the expected session, for use with a numeric `after` or none. If the session was deleted and recreated, the request is refused with `cursor_stale`",
      "目标会话的任意游标，在 `after` 为数字或缺省时使用。如果会话已被删除并重建，请求会被拒绝，错误码为 `cursor_stale`",
    ),
    follow: optional(
      boolean,
      "Wait for new records at the end of the session (default: true)",
      "到达末尾后继续等待新记录，默认为 true",
    ),
    limit: optional(count, "Maximum number of frames; the stream ends after them", "最多发送的帧数，达到后流结束"),
  }),
  unsubscribe: frame(
    "Ends a subscription. No frames of the stream follow the `ack`",
    "取消订阅。`ack` 之后不再发送该流的帧",
    {
      id,
      session,
      dialect: requestedDialect,
    },
  ),
  run: frame("Sends a user message, which starts a run", "发送用户消息并启动一次运行", {
    id: commandId,
    session,
    message: required(string, "The user's message", "用户消息"),
    agent: optional(string, "Name of the agent", "智能体名称"),
    run_id: optional(
      string,
      "ID of the run. By default it is derived from session and command ID and returned in the `ack`",
      "运行 ID。默认由会话 ID 和命令 ID 生成，并在 `ack` 中返回",
    ),
    reasoning: optional(
      oneOf(...REASONING_LEVELS),
      "How much the model reasons before it answers; default: the setting of the agent",
      "模型回答前的推理程度；默认采用智能体的设置",
    ),
    strategy: STRATEGY_FIELD,
    on_interruption: optional(
      oneOf("resume", "fail"),
      "What happens when the process of the run dies: `resume` runs the interrupted nodes again, `fail` ends the run as `interrupted`; default: the setting of the server",
      "运行所在的进程异常退出后的处理：`resume` 重新执行被中断的节点，`fail` 以 `interrupted` 结束运行；默认采用服务器的设置",
    ),
    when_busy: optional(
      oneOf("enqueue", "reject", "interrupt"),
      "What to do while another run is active: `enqueue` (default) waits, `reject` fails with `run_live` (also if a message is already waiting), `interrupt` cancels the active run first",
      "已有运行正在进行时的处理方式：`enqueue`（默认）排队；`reject` 拒绝（错误码 `run_live`；已有消息排队时同样拒绝）；`interrupt` 先取消当前运行",
    ),
    request_id: optional(
      string,
      "Request ID set by the caller; stored in `run_start`",
      "调用方指定的请求 ID，保存在 `run_start` 中",
    ),
    context: optional(
      map,
      "Data from the caller, passed to every callback of the run and stored in `run_start`; at most 16 KiB",
      "调用方提供的数据，传给本次运行的每个回调，并保存在 `run_start` 中；最大 16 KiB",
    ),
    attachments: optional(
      listOf(
        objectOf({
          blob_id: required(string, "ID of a blob in the session", "会话中 blob 的 ID"),
          name: optional(string, "File name (default: the name of the blob)", "文件名，默认为 blob 的名称"),
        }),
      ),
      "Files attached to the message, at most 20; fails with `unknown_blob` if one does not exist",
      "消息附带的文件，最多 20 个；文件不存在时命令被拒绝，错误码为 `unknown_blob`",
    ),
    capabilities: optional(
      listOf(string),
      "What the client can do: `approval` if it can answer tool approvals, `tools` if it can carry out tools of the agent. If the list lacks one, calls that need it are refused at once (default: they wait for an answer)",
      "客户端的能力：`approval` 表示可以答复工具审批，`tools` 表示可以执行智能体的客户端工具。列表中缺少其中一项时，需要它的调用会立即被拒绝（默认等待答复）",
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
      "除智能体自身的工具外，由客户端执行的工具：最多 128 个，总计不超过 32 KiB。与智能体的工具重名时命令被拒绝，错误码为 `invalid_command`",
    ),
    instructions: optional(
      string,
      "Instructions added to the system prompt of the agent for this run only, at most 32 KiB",
      "仅在本次运行中附加到智能体系统提示词之后的指令，最大 32 KiB",
    ),
    output_schema: optional(
      map,
      "JSON Schema of the reply, at most 32 KiB: the reply is JSON that matches it. Needs an agent of the kind `react`; fails with `invalid_command` if the schema has a keyword that cannot be checked",
      "回复的 JSON Schema，最大 32 KiB：回复为符合它的 JSON。需要 react 智能体；包含无法校验的关键字时命令被拒绝，错误码为 `invalid_command`",
    ),
  }),
  cancel: frame("Cancels a run, even if it has not started yet", "取消运行，包括尚未开始的运行", {
    id: commandId,
    session,
    run_id: required(string, "ID of the run", "运行 ID"),
    reason: optional(string, "Reason", "原因"),
  }),
  approve: frame("Approves or rejects a tool call", "批准或拒绝工具调用", {
    id: commandId,
    session,
    call_id: required(string, "ID of the tool call", "工具调用 ID"),
    run_id: optional(string, "ID of the run (default: the active run)", "运行 ID，默认为当前运行"),
    decision: required(oneOf("approved", "rejected"), "The decision", "决定"),
    arguments: optional(map, "Arguments edited by the user", "用户修改后的参数"),
    digest: optional(
      string,
      "`digest` of the `tool_approval` shown to the user; fails with `approval_mismatch` if it differs",
      "用户所见 `tool_approval` 的 `digest`；不一致时命令被拒绝，错误码为 `approval_mismatch`",
    ),
    reason: optional(string, "Reason", "原因"),
  }),
  tool_result: frame(
    'Sends the result of a tool call that the client carries out (`tool_start` with `executor: "client"`). The first result counts',
    "提交由客户端执行的工具调用（`tool_start` 的 `executor` 为 `client`）的结果。以第一个结果为准",
    {
      id: commandId,
      session,
      call_id: required(string, "ID of the tool call", "工具调用 ID"),
      run_id: optional(string, "ID of the run (default: the active run)", "运行 ID，默认为当前运行"),
      output: optional(
        json,
        "The result for the model: a text or any JSON value",
        "返回给模型的结果：文本或任意 JSON 值",
      ),
      is_error: optional(boolean, "True if the call failed (default: false)", "调用是否失败，默认为 false"),
    },
  ),
  permission: frame(
    "Allows all calls of a tool in the session, which also approves those that wait, or ends that",
    "允许会话中某个工具的所有调用（正在等待的调用随之批准），或撤销该许可",
    {
      id: commandId,
      session,
      name: required(string, "Name of the tool", "工具名"),
      rule: required(
        oneOf("allow", "ask"),
        "`allow`: calls run without approval; `ask`: calls wait for approval if they need it",
        "`allow`：调用无需审批；`ask`：需要审批的调用等待审批",
      ),
    },
  ),
  feedback: frame("Rates the answer of a run. The latest rating counts", "评价某次运行的回答，以最后一次为准", {
    id: commandId,
    session,
    run_id: required(string, "ID of the run", "运行 ID"),
    rating: required(oneOf("good", "bad", "none"), "The rating; `none` removes it", "评价；`none` 表示撤销"),
    comment: optional(string, "Comment, at most 4,000 characters", "说明，最多 4000 个字符"),
  }),
  todo: frame("Changes an item of a to-do list", "修改待办清单中的条目", {
    id: commandId,
    session,
    list_id: required(string, "ID of the list", "清单 ID"),
    item_id: required(string, "ID of the item", "条目 ID"),
    completed: optional(boolean, "New state; unchanged if absent", "新状态；缺省时不变"),
    text: optional(string, "New text; unchanged if absent", "新内容；缺省时不变"),
  }),
  ping: frame("Requests a `pong`", "请求 `pong`", {
    id: optional(string, "Repeated in the `pong`", "在 `pong` 中原样返回"),
  }),
} as const satisfies { readonly [type: string]: Shape };

/** Frames from the server to the client. */
export const DOWN_FRAMES = {
  hello: frame("First frame on a socket", "连接建立后的第一帧", {
    version: required(count, "Version of the control protocol", "控制协议版本"),
    heartbeat_ms: required(
      duration,
      "Maximum time between two messages, in milliseconds; 0 if there is no limit",
      "两条消息之间的最长间隔（毫秒）；0 表示没有限制",
    ),
  }),
  subscribed: frame(
    "The session exists. Its frames follow, or a `refusal` if the position is invalid",
    "会话存在。之后发送它的帧；如果位置无效，则发送 `refusal`",
    {
      id,
      session,
      dialect,
      first_id: required(count, "The `event_id` of the first stored record", "现存第一条记录的 `event_id`"),
      last_id: required(
        count,
        "The `event_id` of the last record at the time of the request",
        "请求时最后一条记录的 `event_id`",
      ),
    },
  ),
  caught_up: frame(
    "The frames of all records stored so far were sent; new ones follow as they are stored. Sent once per stream that follows",
    "已发送目前所有已存记录的帧，之后的帧随新记录发送。对每个持续接收的流只发送一次",
    { session, dialect },
  ),
  frames: frame(
    "Frames of a session, in order. All subscribers with the same options receive the same message",
    "会话的帧，按顺序排列。选项相同的订阅者收到相同的消息",
    {
      session,
      dialect,
      frames: required(
        listOf(string),
        "The frames as strings, exactly as the dialect encoded them",
        "各帧的字符串，与方言编码结果完全一致",
      ),
      cursor: required(string, "Position after the last of these frames", "最后一帧之后的位置"),
    },
  ),
  end: frame("The stream reached its end or its limit", "流已到达末尾或数量上限", {
    session,
    dialect,
    cursor: optional(
      string,
      "Position to continue from; absent if no frame was sent",
      "续传的位置；未发送任何帧时没有此字段",
    ),
  }),
  ack: frame("A command or an `unsubscribe` was executed or is queued", "命令或 `unsubscribe` 已执行或已排队", {
    id,
    result: optional(
      map,
      "The result: `event_id` of the resulting record, `run_id` of the run, `effect: false` if nothing changed",
      "结果：所产生记录的 `event_id`、运行的 `run_id`；没有任何变化时 `effect` 为 false",
    ),
    pending: optional(
      boolean,
      "If true, the command is stored and waits for execution; send it again with the same ID to get the result",
      "为 true 时表示命令已保存、等待执行；用相同 ID 重新发送可获取结果",
    ),
  }),
  refusal: frame("A frame or a stream was refused. The socket stays open", "拒绝一帧或一个流。连接保持打开", {
    id: optional(
      string,
      "ID of the refused frame, or of the `subscribe` frame if a stream ends with an error; absent if the frame could not be read",
      "被拒绝的帧的 ID；流因错误结束时为其 `subscribe` 的 ID；帧无法读取时没有此字段",
    ),
    session: optional(string, "ID of the session", "会话 ID"),
    dialect: optional(string, "Name of the dialect, if a stream was refused", "拒绝流时的方言名"),
    code: required(string, "Error code", "错误码"),
    message: required(string, "Error message", "错误信息"),
    details: optional(map, "Error details for programs", "供程序使用的错误详情"),
  }),
  heartbeat: frame("Keeps the connection alive if there is nothing else to send", "没有其他内容可发送时保持连接", {
    ts: optional(count, "Server time, in milliseconds since 1970", "服务器时间，Unix 毫秒时间戳"),
  }),
  pong: frame("Answers a `ping`", "响应 `ping`", { id: echo }),
} as const satisfies { readonly [type: string]: Shape };
