/** Declares the frames of the `openai-responses` dialect, the stream events of OpenAI's Responses API; types and forms are generated from it. */
import {
  additional,
  count,
  json,
  listOf,
  map,
  number,
  objectOf,
  openSet,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";

const SECTION = "Responses API";

const sequence_number = optional(count, "Number of the event in the response, from 0", "事件在响应中的序号，从 0 开始");
const item_id = required(string, "ID of the output item", "输出项 ID");
const output_index = required(count, "Position of the output item", "输出项的位置");
const content_index = required(count, "Position of the content part", "内容部件的位置");
const summary_index = required(count, "Position of the summary part", "摘要部件的位置");
const delta = required(string, "Text to append", "要追加的文本");
const text = required(string, "The whole text", "完整文本");
const logprobs = optional(json, "Probabilities of the tokens", "token 的概率");
const obfuscation = optional(string, "Padding", "填充内容");

const response = required(
  objectOf({
    id: required(string, "ID of the response: the ID of the run", "响应 ID，即运行 ID"),
    object: optional(string, "Always `response`", "固定为 `response`"),
    created_at: optional(number, "Time of the start, in seconds since 1970", "开始时间，Unix 秒时间戳"),
    status: optional(
      openSet("queued", "in_progress", "completed", "incomplete", "failed", "cancelled"),
      "State of the response",
      "响应的状态",
    ),
    model: optional(string, "Name of the model: the agent", "模型名称，即智能体"),
    output: optional(listOf(map), "Output items", "输出项"),
    error: optional(map, "Why the response failed", "失败的原因"),
    incomplete_details: optional(map, "Why the response is incomplete", "不完整的原因"),
    usage: optional(map, "Number of tokens", "token 数量"),
  }),
  "The response so far",
  "目前的响应",
);
const item = required(
  objectOf({
    type: required(string, "Kind of item, such as `message`", "输出项的种类，如 `message`"),
    id: optional(string, "ID of the item", "输出项 ID"),
    status: optional(string, "State of the item", "输出项的状态"),
    loom: additional(map, "Fields without an equivalent, such as `call_id`", "没有对应字段的内容，如 `call_id`"),
  }),
  "The output item",
  "输出项",
);
const part = required(
  objectOf({ type: required(string, "Kind of part, such as `output_text`", "部件的种类，如 `output_text`") }),
  "The part",
  "部件",
);

function event(en: string, zh: string, fields: Shape["fields"] = {}): Shape {
  return { section: SECTION, about: { en, zh }, fields: { ...fields, sequence_number } };
}

const inItem = { item_id, output_index };
const inContent = { ...inItem, content_index };
const inSummary = { ...inItem, summary_index };

export const OPENAI_RESPONSES_FRAMES = {
  "response.created": event("A response started", "响应开始", { response }),
  "response.queued": event("The response waits", "响应排队中", { response }),
  "response.in_progress": event("The response is being produced", "响应生成中", { response }),
  "response.output_item.added": event("An output item started", "输出项开始", { output_index, item }),
  "response.output_item.done": event("An output item ended", "输出项结束", { output_index, item }),
  "response.content_part.added": event("A content part started", "内容部件开始", { ...inContent, part }),
  "response.content_part.done": event("A content part ended", "内容部件结束", { ...inContent, part }),
  "response.output_text.delta": event("A chunk of the answer", "回答的一段文本", {
    ...inContent,
    delta,
    logprobs,
    obfuscation,
  }),
  "response.output_text.done": event("The text of a part is complete", "部件的文本完成", {
    ...inContent,
    text,
    logprobs,
  }),
  "response.refusal.delta": event("A chunk of a refusal", "拒绝说明的一段文本", { ...inContent, delta, obfuscation }),
  "response.refusal.done": event("The refusal is complete", "拒绝说明完成", {
    ...inContent,
    refusal: required(string, "The whole refusal", "完整的拒绝说明"),
  }),
  "response.reasoning_summary_part.added": event("A part of the reasoning started", "推理的一个部件开始", {
    ...inSummary,
    part,
  }),
  "response.reasoning_summary_part.done": event("A part of the reasoning ended", "推理的一个部件结束", {
    ...inSummary,
    part,
  }),
  "response.reasoning_summary_text.delta": event("A chunk of reasoning", "推理的一段文本", {
    ...inSummary,
    delta,
    obfuscation,
  }),
  "response.reasoning_summary_text.done": event("The reasoning of a part is complete", "部件的推理完成", {
    ...inSummary,
    text,
  }),
  "response.reasoning_text.delta": event("A chunk of the raw reasoning", "原始推理的一段文本", {
    ...inContent,
    delta,
    obfuscation,
  }),
  "response.reasoning_text.done": event("The raw reasoning is complete", "原始推理完成", { ...inContent, text }),
  "response.function_call_arguments.delta": event("A piece of the arguments of a call", "调用参数的一段", {
    ...inItem,
    delta,
    obfuscation,
  }),
  "response.function_call_arguments.done": event("The arguments of a call are complete", "调用参数完成", {
    ...inItem,
    name: optional(string, "Name of the tool", "工具名"),
    arguments: required(string, "The arguments as JSON", "JSON 格式的参数"),
  }),
  "response.mcp_call_arguments.delta": event("A piece of the arguments of a server's tool", "服务器工具参数的一段", {
    ...inItem,
    delta,
    obfuscation,
  }),
  "response.mcp_call_arguments.done": event("The arguments of a server's tool are complete", "服务器工具参数完成", {
    ...inItem,
    arguments: required(string, "The arguments as JSON", "JSON 格式的参数"),
    loom: additional(map, "Fields without an equivalent: `description`", "没有对应字段的内容：`description`"),
  }),
  "response.mcp_call.in_progress": event("A tool of the server was called", "服务器工具被调用", inItem),
  "response.mcp_call.completed": event("A tool of the server ended", "服务器工具结束", inItem),
  "response.mcp_call.failed": event("A tool of the server failed", "服务器工具失败", inItem),
  keepalive: event("An event that only clients of Loom read", "仅 Loom 客户端读取的事件", {
    loom: additional(map, "The event", "事件"),
  }),
  "response.completed": event("The response is complete", "响应完成", {
    response,
    loom: additional(
      map,
      "`waiting` if the run waits for the client and goes on in another response",
      "`waiting` 表示运行在等待客户端，之后在另一个响应中继续",
    ),
  }),
  "response.incomplete": event("The response was cut off or cancelled", "响应被截断或取消", {
    response,
    loom: additional(map, "Why the run was cancelled", "取消的原因"),
  }),
  "response.failed": event("The response failed", "响应失败", { response }),
  error: event("The request failed", "请求失败", {
    message: optional(string, "Error message", "错误信息"),
    code: optional(string, "Error code", "错误码"),
    error: optional(map, "The error, if it is nested", "嵌套的错误"),
  }),
} as const satisfies { readonly [type: string]: Shape };

export type OpenaiResponsesFrameType = keyof typeof OPENAI_RESPONSES_FRAMES;
