/** The frames of 003, declared once; types and forms are generated from this. */
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

const timestamp = required(number, "When it was sent, in milliseconds", "发送时间（毫秒）");
const sequence = required(count, "Position within the request, from 0", "请求内序号，从 0 起");

function frame(section: string, en: string, zh: string, data: Shape["fields"], more: Shape["fields"] = {}): Shape {
  const request_id = required(string, "Id of the request", "请求 ID");
  return {
    section,
    about: { en, zh },
    fields: {
      data: required(objectOf(data), "What the type is about", "类型特定的数据"),
      metadata: required(objectOf({ request_id, timestamp, sequence, ...more }), "About the message", "消息元数据"),
    },
  };
}

const tool_id = required(string, "Id of the call", "调用 ID");

export const ENGINE_FRAMES = {
  session_start: frame(
    "003 §1.3",
    "A request is being handled",
    "会话开始",
    {
      session_id: required(string, "Id of the session", "会话 ID"),
      request_id: required(string, "Id of the request", "请求 ID"),
    },
    // The specification's own example leaves it out on the first message.
    { request_id: optional(string, "Id of the request", "请求 ID") },
  ),
  thinking: frame("003 §1.3", "A piece of reasoning", "思考过程", {
    content: required(string, "The piece", "思考内容片段"),
    stage: optional(openSet("reasoning", "planning", "analyzing"), "Stage of thinking", "思考阶段"),
  }),
  tool_call_start: frame("003 §1.3", "A tool begins to run", "工具调用开始", {
    tool_id,
    tool_name: required(string, "Name of the tool", "工具名"),
    description: optional(string, "What the call does, for people", "中文描述"),
    arguments: required(map, "The arguments", "参数"),
  }),
  tool_call_progress: frame("003 §1.1", "How far a long tool has come", "工具执行进度", {
    tool_id,
    progress: required(between(0, 100), "From 0 to 100", "0 到 100"),
    message: optional(string, "What it is doing", "进度说明"),
  }),
  tool_call_end: frame(
    "003 §1.3",
    "A tool is done",
    "工具调用结束",
    {
      tool_id,
      status: required(oneOf("success", "failed"), "How it ended", "结束状态"),
      result: optional(map, "What it returned", "工具返回结果"),
      error: optional(
        objectOf({
          message: required(string, "What went wrong", "错误信息"),
          code: optional(string, "Code of the failure", "错误代码"),
        }),
        "Only when it failed",
        "仅在 status = failed 时",
      ),
    },
    { duration_ms: optional(duration, "How long it ran", "执行耗时（毫秒）") },
  ),
  content: frame("003 §1.3", "A piece of the answer", "主要内容", {
    content: required(string, "The piece", "最终答案内容片段"),
    format: optional(
      openSet("markdown", "text", "html"),
      "How to show it; markdown when absent",
      "展示格式，默认 markdown",
    ),
    is_complete: optional(boolean, "True on the last piece", "是否是最后一个片段"),
  }),
  data: frame("003 §1.3", "Structured data", "结构化数据", {
    data_type: required(oneOf("dataframe", "chart", "image", "custom"), "What it holds", "数据种类"),
    data: required(map, "The data", "数据内容"),
    metadata: optional(map, "About the data", "数据的说明"),
  }),
  error: frame("003 §1.3", "Something went wrong", "错误信息", {
    error_type: required(oneOf("validation", "execution", "timeout", "system"), "Class of the error", "错误类别"),
    message: required(string, "For the user", "用户可见的错误信息"),
    details: optional(map, "For whoever debugs", "详细错误信息（调试用）"),
    recoverable: optional(boolean, "True when trying again may help", "是否可恢复"),
    code: additional(string, "Stable code of the error", "错误代码"),
    stage: additional(string, "Where it happened", "出错阶段"),
  }),
  session_end: frame("003 §1.3", "The request has been handled", "会话结束", {
    status: required(oneOf("completed", "error", "cancelled"), "How it ended", "结束状态"),
    summary: optional(
      objectOf({
        total_tokens: optional(count, "Tokens used", "总 token 数"),
        duration_ms: optional(duration, "How long it took", "耗时（毫秒）"),
        tool_calls: optional(count, "Tools that were called", "工具调用次数"),
      }),
      "Totals",
      "汇总",
    ),
  }),
} as const satisfies { readonly [type: string]: Shape };

export type EngineFrameType = keyof typeof ENGINE_FRAMES;
