/** Declares the frames of 003; types and forms are generated from it. */
import {
  additional,
  between,
  boolean,
  count,
  duration,
  map,
  number,
  objectOf,
  oneOf,
  openSet,
  optional,
  required,
  type Shape,
  string,
} from "../../protocol/schema.ts";

const timestamp = required(
  number,
  "Time of sending, in milliseconds since 1970, or in seconds if the sender says so",
  "发送时间，Unix 毫秒时间戳；发送方可改用秒",
);
const sequence = required(count, "Position within the request, from 0", "在请求中的序号，从 0 开始");

const attempt = additional(
  count,
  "Attempt of the run, from 2; absent unless the process of the run died",
  "运行的第几次尝试，从 2 开始；仅在运行所在的进程异常退出后出现",
);

function frame(section: string, en: string, zh: string, data: Shape["fields"], more: Shape["fields"] = {}): Shape {
  const request_id = required(string, "ID of the request", "请求 ID");
  return {
    section,
    about: { en, zh },
    fields: {
      data: required(objectOf(data), "Payload of the message", "消息内容，取决于类型"),
      metadata: required(
        objectOf({ request_id, timestamp, sequence, attempt, ...more }),
        "Metadata of the message",
        "消息元数据",
      ),
    },
  };
}

const tool_id = required(string, "ID of the tool call", "工具调用 ID");

export const ENGINE_FRAMES = {
  session_start: frame(
    "003 §1.3",
    "A request started",
    "请求开始",
    {
      session_id: required(string, "ID of the session", "会话 ID"),
      request_id: required(string, "ID of the request", "请求 ID"),
    },
    // The example in the specification omits it on the first message.
    { request_id: optional(string, "ID of the request", "请求 ID") },
  ),
  thinking: frame("003 §1.3", "A chunk of the model's reasoning", "模型推理过程的一段文本", {
    content: required(string, "Text of the chunk", "文本内容"),
    stage: optional(openSet("reasoning", "planning", "analyzing"), "Stage of reasoning", "推理阶段"),
  }),
  tool_call_start: frame("003 §1.3", "A tool started to run", "工具开始执行", {
    tool_id,
    tool_name: required(string, "Name of the tool", "工具名"),
    description: optional(string, "Description of the call for the user", "面向用户的调用说明"),
    arguments: required(map, "Arguments of the call", "调用参数"),
  }),
  tool_call_progress: frame("003 §1.1", "Progress of a running tool", "工具的执行进度", {
    tool_id,
    progress: required(between(0, 100), "Percentage, from 0 to 100", "百分比，0 到 100"),
    message: optional(string, "Description of the current step", "当前步骤的说明"),
  }),
  tool_call_end: frame(
    "003 §1.3",
    "A tool call ended",
    "工具调用结束",
    {
      tool_id,
      status: required(oneOf("success", "failed"), "How it ended", "结束状态"),
      result: optional(map, "Result of the tool", "工具返回的结果"),
      error: optional(
        objectOf({
          message: required(string, "Error message", "错误信息"),
          code: optional(string, "Error code", "错误码"),
          detail: additional(
            string,
            "The original message, if `message` is another text",
            "原始信息；仅当与 `message` 不同时存在",
          ),
        }),
        "Only if the tool failed",
        "仅在失败时存在",
      ),
    },
    { duration_ms: optional(duration, "Duration of the call, in milliseconds", "调用时长（毫秒）") },
  ),
  content: frame("003 §1.3", "A chunk of the answer", "回答的一段文本", {
    content: required(string, "Text of the chunk", "文本内容"),
    format: optional(
      openSet("markdown", "text", "html"),
      "Text format (default: `markdown`)",
      "文本格式，默认为 `markdown`",
    ),
    is_complete: optional(boolean, "True on the last chunk", "是否为最后一段"),
  }),
  data: frame("003 §1.3", "Structured data", "结构化数据", {
    data_type: required(oneOf("dataframe", "chart", "image", "custom"), "Kind of data", "数据种类"),
    data: required(map, "The data; its structure depends on `data_type`", "数据内容，结构取决于 `data_type`"),
    metadata: optional(map, "Metadata, such as a description", "元数据，如说明文字"),
  }),
  error: frame("003 §1.3", "An error occurred", "发生错误", {
    error_type: required(oneOf("validation", "execution", "timeout", "system"), "Error type", "错误类型"),
    message: required(string, "Error message for the user", "面向用户的错误信息"),
    details: optional(map, "Debugging data", "调试信息"),
    recoverable: optional(boolean, "True if a retry may succeed", "重试是否可能成功"),
    code: additional(string, "Stable error code", "稳定的错误码"),
    stage: additional(string, "Where the error occurred", "出错的阶段"),
  }),
  session_end: frame("003 §1.3", "The request ended", "请求结束", {
    status: required(oneOf("completed", "error", "cancelled"), "How the request ended", "结束状态"),
    summary: optional(
      objectOf({
        total_tokens: optional(count, "Total tokens used", "token 总数"),
        duration_ms: optional(duration, "Duration, in milliseconds", "时长（毫秒）"),
        tool_calls: optional(count, "Number of tool calls", "工具调用次数"),
      }),
      "Totals of the request",
      "请求的汇总数据",
    ),
  }),
} as const satisfies { readonly [type: string]: Shape };

export type EngineFrameType = keyof typeof ENGINE_FRAMES;
