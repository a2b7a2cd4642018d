/** Declares the events of 002: seven callback events and `text_delta`. */
import {
  additional,
  count,
  listOf,
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

function frame(en: string, zh: string, fields: Shape["fields"]): Shape {
  return {
    section: "002",
    about: { en, zh },
    fields: {
      ts: required(number, "Time of the event, in seconds since 1970", "事件发生时间，Unix 秒时间戳"),
      source: required(oneOf("execute", "stream"), "How the run was started", "运行的启动方式"),
      iteration: optional(count, "Number of agent iterations so far", "智能体到目前为止的迭代次数"),
      request_id: additional(string, "ID of the request", "请求 ID"),
      metadata: additional(map, "Copy of the event-specific fields", "事件特定字段的副本"),
      ...fields,
    },
  };
}

export const STREAM_EVENT_FRAMES = {
  request_start: frame("A request started", "请求开始", {
    input: required(string, "The user's message", "用户消息"),
  }),
  retrieval_complete: frame("Documents were retrieved", "已检索文档", {
    doc_count: required(count, "Number of documents found", "找到的文档数"),
  }),
  compression_applied: frame("The context was compressed", "已压缩上下文", {
    before_tokens: required(count, "Tokens before compression", "压缩前的 token 数"),
    after_tokens: required(count, "Tokens after compression", "压缩后的 token 数"),
  }),
  tool_calls_start: frame("The model called tools", "模型调用了工具", {
    tool_calls: required(
      listOf(
        objectOf({
          id: required(string, "ID of the tool call; may be empty", "工具调用 ID，可以为空字符串"),
          name: required(string, "Name of the tool", "工具名"),
        }),
      ),
      "The tool calls",
      "工具调用列表",
    ),
  }),
  tool_result: frame("A tool call ended", "工具调用结束", {
    tool_call_id: required(string, "ID of the tool call", "工具调用 ID"),
    content: required(string, "Result as text", "结果文本"),
  }),
  text_delta: frame("A chunk of the answer", "回答的一段文本", {
    content: required(string, "Text of the chunk", "文本内容"),
  }),
  agent_finish: frame("The agent finished", "智能体执行结束", {
    content: required(string, "Text of the answer", "回答的文本"),
    status: additional(
      oneOf("completed", "error", "cancelled"),
      "How the request ended (default: `completed`)",
      "结束状态，默认为 `completed`",
    ),
  }),
  error: frame("An error occurred", "发生错误", {
    stage: required(
      openSet(
        "llm_generate",
        "llm_stream",
        "llm_generate_with_tools",
        "tool_execute",
        "iteration_limit",
        "retrieval",
        "compression",
        "interrupted",
      ),
      "Where the error occurred",
      "出错的阶段",
    ),
    message: required(string, "Error message, without a stack trace", "错误信息，不含堆栈"),
    attempt: additional(
      count,
      "With the stage `interrupted`: the run continues with this attempt, from 2",
      "阶段为 `interrupted` 时：运行以第几次尝试继续，从 2 开始",
    ),
  }),
} as const satisfies { readonly [type: string]: Shape };

export type StreamEventFrameType = keyof typeof STREAM_EVENT_FRAMES;
