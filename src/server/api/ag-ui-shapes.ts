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
import { declareShape } from "./declare-shape.ts";

const VIEW_FIELDS = {
  framing: optional(
    oneOf("sse", "ndjson"),
    "`sse`: server-sent events (default). `ndjson`: lines `{id, chunk}`, as TanStack AI reads them",
    "sse：服务器发送事件（默认）；ndjson：每行为 {id, chunk}，供 TanStack AI 读取",
  ),
  modes: optional(
    listOf(string),
    "Comma-separated modes of the stream, as in `/v1/sessions/{id}/events`. With `all`, the state of a graph is sent as `STATE_SNAPSHOT`; default: everything except graph states",
    "以逗号分隔的流模式，与 /v1/sessions/{id}/events 相同；all 时图状态以 STATE_SNAPSHOT 发送；默认为除图状态外的全部事件",
  ),
};

export const AG_UI_SHAPES = {
  AgUiInput: declareShape(
    "`RunAgentInput` of AG-UI. Other fields are ignored",
    "AG-UI 的 RunAgentInput；其他字段被忽略",
    {
      threadId: required(string, "Id of the thread: the session", "线程 ID，即会话 ID"),
      runId: required(
        string,
        "Id of the run, and idempotency key of the request: the same id is the same run",
        "运行 ID，也是请求的幂等键：相同 ID 即同一次运行",
      ),
      messages: required(
        listOf(map),
        "Messages of the client. Only the last one is used, and those of the role `system` or `developer` as instructions; the history is that of the session",
        "客户端的消息；只使用最后一条，以及作为指令的 system 和 developer 消息，历史以会话为准",
      ),
      protocolVersion: optional(
        string,
        "Version of the client, such as `1.0`. Absent for clients before 1.0",
        "客户端的协议版本，如 1.0；1.0 之前的客户端不提供",
      ),
      parentRunId: optional(string, "Id of the run before it; sent back", "前一次运行的 ID，会原样返回"),
      resume: optional(
        listOf(
          objectOf({
            interruptId: required(string, "Id of the interrupt: the tool call", "中断 ID，即工具调用 ID"),
            status: required(
              oneOf("resolved", "cancelled"),
              "`cancelled` rejects the call",
              "cancelled 表示拒绝该调用",
            ),
            payload: optional(
              json,
              "`true`, or an object: `approved`, and optionally `arguments` (edited) and `reason`",
              "true，或对象：approved，以及可选的 arguments（修改后的参数）和 reason",
            ),
          }),
        ),
        "Answers to the interrupts of the run that waits. Its rest is sent under the new run id",
        "对等待中的运行的中断的答复；其余内容以新的运行 ID 发送",
      ),
      tools: optional(listOf(map), "Tools that the client carries out", "由客户端执行的工具"),
      context: optional(
        listOf(map),
        "Data of the page, passed to observers of the run, and to the model as instructions for this run",
        "页面数据，传给运行的观察者，并作为本次运行的指令传给模型",
      ),
      state: optional(json, "State of the client; ignored", "客户端的状态；被忽略"),
      forwardedProps: optional(
        json,
        "Other data of the page, passed to observers of the run",
        "页面的其他数据，传给运行的观察者",
      ),
    },
  ),
  AgUiRun: declareShape("How the run is sent", "运行的发送方式", { ...VIEW_FIELDS, ...DISCONNECT_FIELDS }),
  AgUiRead: declareShape("What to read: a thread, or the stream of a run", "读取的内容：线程，或运行的流", {
    threadId: optional(string, "Thread whose messages are returned", "要返回消息的线程"),
    runId: optional(string, "Run whose stream is returned, from its start", "要返回的运行的流，从头开始"),
    offset: optional(string, "Ignored: the stream starts at the beginning of the run", "被忽略：流从运行的开头开始"),
    limit: optional(count, "Maximum number of messages, approximately", "最多返回的消息数（近似值）"),
    before: optional(string, "Only messages before this cursor of a page", "只返回该分页游标之前的消息"),
    ...VIEW_FIELDS,
  }),
  AgUiThread: declareShape("The messages of a thread", "线程的消息", {
    messages: required(listOf(map), "Messages with `parts`, oldest first", "包含 parts 的消息，从旧到新"),
    activeRun: optional(
      objectOf({ runId: required(string, "Id of the run", "运行 ID") }),
      "The live run",
      "正在进行的运行",
    ),
    interrupts: optional(
      objectOf({
        runId: required(string, "Id of the run", "运行 ID"),
        pending: required(listOf(map), "Interrupts that wait for an answer", "等待答复的中断"),
      }),
      "What the live run waits for",
      "正在进行的运行所等待的内容",
    ),
    page: required(
      objectOf({
        truncated: required({ kind: "boolean" }, "Whether there are older messages", "是否有更早的消息"),
        cursor: optional(string, "Value of `before` for the older messages", "获取更早消息时的 before 值"),
      }),
      "Position among all messages",
      "在全部消息中的位置",
    ),
  }),
  AgUiStop: declareShape("Which run to stop", "要停止的运行", {
    runId: optional(string, "Id of the run; default: the live run", "运行 ID；默认为正在进行的运行"),
  }),
} as const satisfies { readonly [name: string]: Shape };
