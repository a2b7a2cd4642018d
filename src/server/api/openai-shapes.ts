/**
 * Shapes of the endpoints for OpenAI clients. Only the fields that the server reads are declared: clients send many
 * others, which have no effect.
 */
import {
  boolean,
  count,
  either,
  type Fields,
  json,
  listOf,
  map,
  nullable,
  number,
  objectOf,
  oneOf,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";
import { declareShape } from "./declare-shape.ts";

const TOOL_FIELDS = {
  model: required(string, "Name of the agent", "智能体名称"),
  stream: optional(boolean, "Send server-sent events; default: false", "以服务器发送事件返回；默认 false"),
  tools: optional(
    listOf(map),
    "Functions that the client carries out, in addition to the tools of the agent",
    "除智能体自身的工具外，由客户端执行的函数",
  ),
  tool_choice: optional(
    json,
    "`auto` or `none`; other values are refused, because the agent decides which tools it uses",
    "auto 或 none；其他值会被拒绝，因为由智能体决定使用哪些工具",
  ),
} satisfies Fields;

const MODEL_FIELDS = {
  id: required(string, "Name of the agent", "智能体名称"),
  object: required(string, "Always `model`", "固定为 model"),
  created: required(number, "Always 0", "固定为 0"),
  owned_by: required(string, "Always `loom`", "固定为 loom"),
} satisfies Fields;

const RESPONSE_FIELDS = {
  id: required(string, "Id of the response", "响应 ID"),
  object: required(string, "Always `response`", "固定为 response"),
  created_at: required(number, "Time of the start, in seconds since 1970", "开始时间，Unix 秒时间戳"),
  status: required(
    oneOf("queued", "in_progress", "completed", "incomplete", "failed", "cancelled"),
    "Status of the response",
    "响应的状态",
  ),
  model: required(string, "Name of the agent", "智能体名称"),
  output: required(listOf(map), "Output items", "输出项"),
  error: required(nullable(map), "Why the run failed", "运行失败的原因"),
} satisfies Fields;

export const OPENAI_SHAPES = {
  OpenaiChatRequest: declareShape("Request of the Chat Completions API", "Chat Completions API 的请求", {
    ...TOOL_FIELDS,
    messages: required(listOf(map), "Messages of the conversation", "对话消息"),
    stream_options: optional(
      map,
      "`include_usage`: send the number of tokens last",
      "include_usage：最后发送 token 数",
    ),
    response_format: optional(map, "`text`, `json_schema` or `json_object`", "text、json_schema 或 json_object"),
    n: optional(number, "Only 1", "仅支持 1"),
    reasoning_effort: optional(string, "How much the model reasons", "模型的推理程度"),
    metadata: optional(map, "`session_id`: the session, if the header is absent", "session_id：未提供请求头时的会话"),
  }),
  OpenaiChatAnswer: declareShape("Message of the Chat Completions API", "Chat Completions API 的消息", {
    id: required(string, "Id of the message", "消息 ID"),
    object: required(string, "Always `chat.completion`", "固定为 chat.completion"),
    created: required(number, "Time of the start, in seconds since 1970", "开始时间，Unix 秒时间戳"),
    model: required(string, "Name of the agent", "智能体名称"),
    choices: required(listOf(map), "The message, as the only choice", "消息，即唯一的候选"),
    usage: optional(map, "Number of tokens", "token 数"),
  }),
  OpenaiResponsesRequest: declareShape("Request of the Responses API", "Responses API 的请求", {
    ...TOOL_FIELDS,
    input: optional(either(string, listOf(map)), "Text, or input items", "文本或输入项"),
    instructions: optional(
      string,
      "Instructions, added to the system prompt of the agent",
      "附加到智能体系统提示词之后的指令",
    ),
    previous_response_id: optional(string, "Response to continue", "要继续的响应"),
    conversation: optional(
      either(string, objectOf({ id: required(string, "Id of the session", "会话 ID") })),
      "Id of the session, or an object with it",
      "会话 ID，或包含它的对象",
    ),
    background: optional(
      boolean,
      "Respond at once and do not wait for the end of the run; default: false",
      "立即返回，不等待运行结束；默认 false",
    ),
    text: optional(map, "`format`: `text`, `json_schema` or `json_object`", "format：text、json_schema 或 json_object"),
    reasoning: optional(map, "`effort`: how much the model reasons", "effort：模型的推理程度"),
    metadata: optional(map, "Kept with the response, at most 16 texts", "随响应保存的数据，最多 16 项文本"),
  }),
  OpenaiResponse: declareShape("Response of the Responses API", "Responses API 的响应", RESPONSE_FIELDS),
  OpenaiReadResponse: declareShape("How to read a response", "读取响应的方式", {
    stream: optional(boolean, "Send server-sent events; default: false", "以服务器发送事件返回；默认 false"),
    starting_after: optional(
      count,
      "`sequence_number` of the last event received; what follows is sent",
      "已收到的最后一个事件的 sequence_number，从其之后发送",
    ),
  }),
  OpenaiDeleted: declareShape("Response that was deleted", "已删除的响应", {
    id: required(string, "Id of the response", "响应 ID"),
    object: required(string, "Always `response`", "固定为 response"),
    deleted: required(boolean, "Always true", "固定为 true"),
  }),
  OpenaiModel: declareShape("Agent as a model", "以模型形式表示的智能体", MODEL_FIELDS),
  OpenaiList: declareShape("List of the OpenAI API", "OpenAI API 的列表", {
    object: required(string, "Always `list`", "固定为 list"),
    data: required(listOf(map), "Items", "条目"),
    first_id: optional(string, "Id of the first item", "第一项的 ID"),
    last_id: optional(string, "Id of the last item", "最后一项的 ID"),
    has_more: optional(boolean, "Always false", "固定为 false"),
  }),
} as const satisfies { readonly [name: string]: Shape };
