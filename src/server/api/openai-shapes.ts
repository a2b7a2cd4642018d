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
  OpenaiDeleted: declareShape("Response or conversation that was deleted", "已删除的响应或对话", {
    id: required(string, "Its id", "其 ID"),
    object: required(string, "`response` or `conversation.deleted`", "response 或 conversation.deleted"),
    deleted: required(boolean, "Always true", "固定为 true"),
  }),
  OpenaiConversationRequest: declareShape("Conversation to create", "要创建的对话", {
    items: optional(nullable(listOf(map)), "Items to add, at most 100", "要添加的条目，最多 100 项"),
    metadata: optional(
      nullable(map),
      "Kept with the conversation, at most 16 texts",
      "随对话保存的数据，最多 16 项文本",
    ),
  }),
  OpenaiUpdateConversation: declareShape("Changes of a conversation", "对话的更改", {
    metadata: required(nullable(map), "Replaces the metadata, at most 16 texts", "替换元数据，最多 16 项文本"),
  }),
  OpenaiAddItems: declareShape("Items to add to a conversation", "要添加到对话的条目", {
    items: required(listOf(map), "Input items, at most 100", "输入条目，最多 100 项"),
  }),
  OpenaiListItems: declareShape("Page of items", "条目的一页", {
    after: optional(string, "Id of the last item that was listed", "已列出的最后一项的 ID"),
    limit: optional(
      { kind: "integer", min: 1, max: 100 },
      "Maximum number of items; default: 20",
      "最多返回的条目数；默认 20",
    ),
    order: optional(oneOf("asc", "desc"), "`desc` (default) lists the newest first", "desc（默认）按从新到旧排列"),
  }),
  OpenaiConversation: declareShape("Conversation: a session", "对话，即会话", {
    id: required(string, "Id of the session", "会话 ID"),
    object: required(string, "Always `conversation`", "固定为 conversation"),
    created_at: required(number, "Time of creation, in seconds since 1970", "创建时间，Unix 秒时间戳"),
    metadata: required(map, "Data of the client", "客户端的数据"),
  }),
  OpenaiItem: declareShape("Item of a conversation, in the form of its type", "对话的条目，形式取决于类型", {
    id: required(string, "Id of the item", "条目 ID"),
    type: required(string, "Type of the item, such as `message`", "条目类型，例如 message"),
  }),
  OpenaiModel: declareShape("Agent as a model", "以模型形式表示的智能体", MODEL_FIELDS),
  OpenaiList: declareShape("List of the OpenAI API", "OpenAI API 的列表", {
    object: required(string, "Always `list`", "固定为 list"),
    data: required(listOf(map), "Items", "条目"),
    first_id: optional(string, "Id of the first item", "第一项的 ID"),
    last_id: optional(string, "Id of the last item", "最后一项的 ID"),
    has_more: optional(boolean, "Whether more items follow", "之后是否还有条目"),
  }),
} as const satisfies { readonly [name: string]: Shape };
