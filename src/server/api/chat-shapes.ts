/** Shapes of the chat endpoints: specification 003 and the AI SDK. */
import {
  type Fields,
  json,
  listOf,
  map,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";
import { agent } from "./run-shapes.ts";
import { STRATEGY_FIELD } from "../../protocol/strategy-fields.ts";

/** Maximum index of a chunk, in either direction. */
const MAX_INDEX = 2 ** 31;

export const DISCONNECT_FIELDS = {
  on_disconnect: optional(
    oneOf("continue", "cancel"),
    "What happens to the run if the connection closes before its end. Default: `continue`",
    "连接在运行结束前关闭时如何处理该运行；默认为 continue",
  ),
} satisfies Fields;

const AI_SDK_FIELDS = {
  version: optional(
    { kind: "integer", min: 5, max: 7 },
    "AI SDK: major version of the package `ai` of the client. 5: a stream for version 5, and calls that need an approval are refused at once; 7: also chunks for 7.0.112 and later. Default: 6, for 6 and all of 7",
    "AI SDK：客户端 `ai` 包的主版本。5：面向版本 5 的流，需要审批的调用会立即被拒绝；7：还包含面向 7.0.112 及更高版本的数据块。默认为 6，适用于 6 和所有 7",
  ),
} satisfies Fields;

export const CHAT_SHAPES = {
  Chat: declareShape("Chat message: of specification 003, or of the AI SDK", "聊天消息：规范 003 或 AI SDK 的形式", {
    session_id: optional(string, "Session to continue; default: a new session", "要继续的会话；默认新建会话"),
    content: optional(
      string,
      "Text of the message; not needed to resume with `Last-Event-ID`",
      "消息内容；使用 Last-Event-ID 续传时可省略",
    ),
    request_id: optional(
      string,
      "Id chosen by the caller, on every message of the stream; default: the header `x-request-id`, or the id of the run",
      "调用方指定的请求 ID，出现在流的每条消息中；默认为请求头 `x-request-id`，否则为运行 ID",
    ),
    id: optional(string, "AI SDK: ID of the chat, which is the session", "AI SDK：聊天 ID，即会话 ID"),
    messages: optional(
      listOf(map),
      "AI SDK: the messages of the chat. Of these, only the last one is used, and those of the role `system` as instructions",
      "AI SDK：聊天的消息；只使用最后一条，以及作为指令的 system 消息",
    ),
    trigger: optional(
      string,
      "AI SDK: `submit-message` (default) or `regenerate-message`",
      "AI SDK：submit-message（默认）或 regenerate-message",
    ),
    messageId: optional(
      string,
      "AI SDK: the message to answer again, to edit or to continue",
      "AI SDK：要重新回答、编辑或继续的消息",
    ),
    tools: optional(
      json,
      "AI SDK: tools that the client carries out: by name, each with `description` and `parameters` (JSON Schema)",
      "AI SDK：由客户端执行的工具：以名称为键，每个包含 description 和 parameters（JSON Schema）",
    ),
    system: optional(
      string,
      "AI SDK: instructions, added to the system prompt of the agent for this run only",
      "AI SDK：仅在本次运行中附加到智能体系统提示词之后的指令",
    ),
    agent,
    strategy: STRATEGY_FIELD,
    capabilities: optional(
      listOf(string),
      "What the client can do: `approval` if it can answer tool approvals, `tools` if it can carry out tools of the agent. Without them, calls that need one are refused at once",
      "客户端的能力：`approval` 表示可以答复工具审批，`tools` 表示可以执行智能体的客户端工具。未声明时，需要它们的调用会立即被拒绝",
    ),
  }),
  ChatOptions: declareShape("Options of a chat request", "聊天请求的选项", {
    agent,
    ...DISCONNECT_FIELDS,
    ...AI_SDK_FIELDS,
  }),
  DisconnectOptions: declareShape(
    "What a closed connection does to the run",
    "连接关闭时对运行的处理",
    DISCONNECT_FIELDS,
  ),
  ResumeChat: declareShape("Chat to resume", "要续传的聊天", {
    session_id: required(string, "Id of the session", "会话 ID"),
    run: optional(string, "Id of the run; default: the latest run", "运行 ID；默认为最近一次运行"),
  }),
  ReadChat: declareShape("Position in the stream of a chat", "聊天流中的位置", {
    startIndex: optional(
      { kind: "integer", min: -MAX_INDEX, max: MAX_INDEX },
      "Index of the first chunk to send; from the end if negative. Default: 0",
      "要发送的第一个数据块的序号；负数表示从末尾计算；默认为 0",
    ),
    ...AI_SDK_FIELDS,
  }),
} as const satisfies { readonly [name: string]: Shape };
