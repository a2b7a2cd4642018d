/** Events about model calls, and the text and reasoning they produce. */
import {
  additional,
  boolean,
  count,
  duration,
  json,
  listOf,
  objectOf,
  oneOf,
  openSet,
  optional,
  required,
  string,
} from "../schema.ts";
import { defineEvent, defineExtension } from "./define.ts";

const format = openSet("markdown", "text", "html");
const llm_call_id = required(string, "ID of the model call", "模型调用 ID");
const purpose = optional(
  openSet("answer", "summary"),
  "Purpose of the call: `answer` (default), or `summary` to compress the context; a summary does not count as an iteration",
  "调用目的：`answer`（默认）；`summary` 用于压缩上下文，不计入迭代次数",
);

export const message_chunk = defineEvent({
  exportKey: "Messages",
  about: "A chunk of the model's message",
  zh: "模型消息的一段文本",
  fields: {
    content: required(string, "Text of the chunk", "文本内容"),
    id: required(string, "Name of the node that produced it", "产生该文本的节点名"),
    channel: additional(
      oneOf("answer", "thought", "judgement", "break"),
      "`answer` (default): text for the user; `thought`: intermediate text of a search; `judgement`: text that only steers the search, such as ratings and plans; `break`: a blank line between text and a tool call, part of no answer",
      "`answer`（默认）：面向用户的文本；`thought`：搜索过程中的中间文本；`judgement`：仅用于引导搜索的文本，例如评价和计划；`break`：文本与工具调用之间的空行，不属于回答",
    ),
    format: additional(format, "Text format (default: `markdown`)", "文本格式，默认为 `markdown`"),
    is_complete: additional(boolean, "True on the last chunk of a message", "是否为消息的最后一段"),
  },
});

export const reasoning_chunk = defineExtension({
  about: "A chunk of the model's reasoning. It is not part of the answer",
  zh: "模型推理过程的一段文本，不属于回答",
  fields: {
    content: required(string, "Text of the chunk", "文本内容"),
    id: optional(string, "Name of the node that produced it", "产生该文本的节点名"),
    stage: optional(openSet("reasoning", "planning", "analyzing"), "Stage of reasoning (003)", "推理阶段（003）"),
    channel: optional(
      oneOf("thought", "judgement"),
      "`thought` (default), or `judgement`: reasoning about a rating of thoughts",
      "`thought`（默认），或 `judgement`：评价思考时的推理",
    ),
  },
});

export const reasoning_end = defineExtension({
  about: "The current reasoning is complete",
  zh: "当前推理已结束",
  fields: {
    id: optional(string, "Name of the node", "节点名"),
    duration_ms: optional(duration, "Duration of the reasoning, in milliseconds", "推理时长（毫秒）"),
  },
});

export const llm_start = defineExtension({
  about: "A model call started",
  zh: "模型调用开始",
  fields: {
    llm_call_id,
    model: optional(string, "Name of the requested model", "请求的模型名"),
    attempt: optional(count, "Attempt number, from 0", "尝试次数，从 0 开始"),
    purpose,
  },
});

export const llm_end = defineExtension({
  about: "A model call ended",
  zh: "模型调用结束",
  fields: {
    llm_call_id,
    model: optional(string, "Name of the model that answered", "实际响应的模型名"),
    finish_reason: optional(
      openSet("stop", "length", "tool_calls", "content_filter", "error", "cancelled"),
      "Why the model stopped",
      "模型停止的原因",
    ),
    error: optional(string, "Error message", "错误信息"),
    error_code: optional(string, "Stable error code", "稳定的错误码"),
    duration_ms: optional(duration, "Duration of the call, in milliseconds", "调用时长（毫秒）"),
    purpose,
  },
});

export const llm_content = defineExtension({
  about: "What a model call sent or received. Stored for the owner of the session; streams leave it out",
  zh: "模型调用发送或收到的内容。仅为会话所有者保存，不出现在任何流中",
  fields: {
    llm_call_id,
    role: required(
      oneOf("request", "response"),
      "`request`: the parameters, the tools and the messages; `response`: the message of the model",
      "`request`：参数、工具和消息；`response`：模型的消息",
    ),
    parts: required(
      listOf(
        objectOf({
          value: optional(json, "A value that is stored here"),
          event_id: optional(count, "The `llm_content` record whose values are repeated"),
          start: optional(count, "First repeated value, from 0"),
          count: optional(count, "Number of repeated values"),
        }),
      ),
      "The values in order: each is stored here, or repeats values of an earlier record",
      "按顺序排列的值：存于此处，或重复较早记录中的值",
    ),
    is_partial: optional(
      boolean,
      "More values follow in the next record with this ID and role",
      "后续同 ID、同角色的记录中还有更多值",
    ),
  },
});
