/** Runs and what is asked of them: messages, streams, commands; agents and models. */
import {
  boolean,
  count,
  type Fields,
  listOf,
  map,
  number,
  objectOf,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";
import { RUN_FIELDS } from "./session-shapes.ts";

const VIEW = {
  dialect: optional(
    string,
    "`loom`, `export`, `stream-event`, `engine` or `lumine`; `loom` when absent",
    "方言；缺省为 loom",
  ),
  modes: optional(
    listOf(string),
    "Only these kinds of events, with commas between them, states whole: `messages`, `tools`, `nodes`, `updates`, `values`, `custom`, `checkpoints`, or `all`; when absent all but the states of graphs",
    "事件类别，以逗号分隔：messages、tools、nodes、updates、values、custom、checkpoints 或 all；缺省为除图状态外的全部",
  ),
} satisfies Fields;

const PLACE = {
  after: optional(
    string,
    "Go on after this place: a cursor, or the event_id of a record as digits. `Last-Event-ID` goes before it",
    "从此处之后继续：游标或 event_id；Last-Event-ID 优先",
  ),
  skip: optional(count, "Whole frames received since `after`", "自 after 起已完整收到的帧数"),
  of: optional(string, "Any cursor of the session that is meant, where `after` tells none", "所指会话的任一游标"),
} satisfies Fields;

const reason = optional(string, "Why", "原因");
const runId = optional(string, "Id of the run; the live one when absent", "运行 ID；缺省为当前运行");
const agent = optional(string, "Which agent; the server's first when absent", "智能体；缺省为首个");

const MESSAGE = {
  message: required(string, "What the user says", "消息内容"),
  agent,
  run_id: optional(string, "Id of the run; follows from the idempotency key when absent", "运行 ID；缺省由幂等键推得"),
  request_id: optional(string, "The caller's own id, told in the stream", "调用方的请求 ID"),
  context: optional(map, "The caller's own, for whoever observes the run", "调用方上下文"),
  attachments: optional(
    listOf(
      objectOf({
        blob_id: required(string, "A blob of this session", "本会话的文件 ID"),
        name: optional(string, "What it is called; its own name when absent", "名称"),
      }),
    ),
    "Files the message speaks of",
    "附件",
  ),
  when_busy: optional(
    oneOf("enqueue", "reject", "interrupt"),
    "When another run is live: wait for its turn (when absent), be refused as `run_live`, or cancel the live one first",
    "已有运行时：排队（缺省）、以 run_live 拒绝、或先取消当前运行",
  ),
} satisfies Fields;

export const RUN_SHAPES = {
  Run: declareShape("A run", "运行", RUN_FIELDS),
  StartRun: declareShape("A message for an agent", "发给智能体的消息", MESSAGE),
  StartedRun: declareShape("What became of a message", "消息的处理结果", {
    session_id: required(string, "Id of the session", "会话 ID"),
    run_id: required(string, "Id of the run", "运行 ID"),
    command_id: required(string, "The idempotency key, or the one made up instead", "幂等键或代拟的键"),
    status: required(
      oneOf("queued", "live", "completed", "error", "cancelled"),
      "How it stands; `queued` until its turn comes",
      "状态；排队时为 queued",
    ),
    cursor: required(string, "The place before the run, or before the end where it has not begun", "运行之前的游标"),
    events: required(string, "Where its stream is", "事件流地址"),
  }),
  StreamView: declareShape("How a stream is told", "流的形式", VIEW),
  ReadEvents: declareShape("Which frames of a session", "读取会话的帧", {
    ...VIEW,
    ...PLACE,
    follow: optional(boolean, "Go on when the end is reached", "到达末尾后继续等待"),
    limit: optional(count, "At most so many frames", "最多帧数"),
    run: optional(string, "Only this run, to its end; waited for where it has not begun", "仅此次运行，直到结束"),
  }),
  ControlCommand: declareShape("A command of the control protocol", "控制协议命令", {
    type: required(oneOf("run", "cancel", "approve", "todo"), "What is asked", "命令类型"),
    id: required(string, "Asked again with the same id it is the same command", "命令 ID；相同即同一命令"),
    session: required(string, "The session of the address", "会话 ID，须与地址一致"),
  }),
  CommandDone: declareShape("A command was carried out, or waits", "命令已执行或等待中", {
    type: required(string, "Always `ack`", "固定为 ack"),
    id: required(string, "Id of the command", "命令 ID"),
    result: optional(map, "What came of it", "结果"),
    pending: optional(boolean, "True: it waits; ask again with the same id", "为 true：等待中"),
  }),
  CancelRun: declareShape("Why a run is stopped", "取消原因", { reason }),
  AnswerApproval: declareShape("Whether a tool may be called", "工具调用确认", {
    decision: required(oneOf("approved", "rejected"), "The answer", "决定"),
    arguments: optional(map, "The arguments to call it with, where they were edited", "修改后的参数"),
    digest: optional(string, "That of the question; `approval_mismatch` where it is another", "提问的 digest"),
    reason,
    run_id: runId,
  }),
  Approvals: declareShape("Calls that wait for an answer", "等待确认的调用", {
    approvals: required(
      listOf(
        objectOf({
          call_id: required(string, "Id of the call", "调用 ID"),
          run_id: required(string, "The run that waits", "运行 ID"),
          name: required(string, "The tool", "工具名"),
          arguments: required(map, "What it would be called with", "参数"),
          event_id: required(count, "The record that asks", "记录 ID"),
          expires_at: optional(number, "Rejected from then on, in milliseconds since 1970", "过期时间（毫秒时间戳）"),
          digest: optional(string, "Of tool and arguments, to be named by the answer", "工具与参数的摘要，供答复引用"),
        }),
      ),
      "In the order they were asked",
      "按提问顺序",
    ),
  }),
  ChangeTodo: declareShape("A change of an item of a to-do list", "修改待办条目", {
    completed: optional(boolean, "Whether it is done; unchanged when absent", "是否完成；缺省不变"),
    text: optional(string, "New text; unchanged when absent", "新内容；缺省不变"),
  }),
  Agents: declareShape("The agents of this server", "本服务器的智能体", {
    agents: required(
      listOf(
        objectOf({
          name: required(string, "Its name", "名称"),
          kind: required(string, "How it goes about a question: `react`, `tot`, `got`", "类型"),
          is_adaptive: optional(
            boolean,
            "True for a `got` whose tasks may become graphs of their own",
            "为 true：任务可展开为子图的 got",
          ),
          description: optional(string, "For people", "说明"),
          model: optional(
            string,
            "Provider and model, as `openai/gpt-5` or `offline`. In one server, kind, is_adaptive and model together name one agent",
            "模型；同一服务器内 kind、is_adaptive 与 model 合起来对应唯一智能体",
          ),
          tools: required(listOf(string), "Names of its tools", "工具名"),
          is_default: required(boolean, "It answers messages that name none", "缺省智能体"),
        }),
      ),
      "The first answers messages that name none",
      "智能体",
    ),
  }),
  Models: declareShape("The providers of models", "模型提供方", {
    providers: required(
      listOf(
        objectOf({
          name: required(string, "As in `provider/model`", "名称"),
          model: optional(string, "The model when none is named", "缺省模型"),
          needs_key: required(boolean, "It works only with a key", "是否需要密钥"),
          key_variable: optional(string, "The environment variable of the key", "密钥的环境变量"),
          has_key: required(boolean, "The variable is set", "是否已设置密钥"),
          is_offline: required(
            boolean,
            "True for a program of rules that comes with the server: no language model, no network",
            "为 true：服务器自带的规则程序，不是语言模型，不联网",
          ),
          in_use: required(boolean, "Agents of this server use a model of it", "本服务器有智能体使用其模型"),
        }),
      ),
      "Those that can be named",
      "可用的提供方",
    ),
    models: required(listOf(string), "Those that agents of this server use", "本服务器智能体所用的模型"),
  }),
  Chat: declareShape("A message for an agent, as 003 has it", "聊天消息（003）", {
    session_id: optional(string, "Goes on with this session; a new one when absent", "会话 ID；缺省新建"),
    content: optional(string, "What the user says; not needed to go on after `Last-Event-ID`", "消息内容"),
    agent,
  }),
  ChatPlace: declareShape("Which chat to go on with", "继续的会话", {
    session_id: required(string, "Id of the session", "会话 ID"),
    run: optional(string, "Which run; the latest when absent", "运行 ID；缺省为最近一次"),
  }),
} as const satisfies { readonly [name: string]: Shape };
