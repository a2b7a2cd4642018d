/** The payloads of 002, declared once: seven callback events and `text_delta`. */
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
      ts: required(number, "When it happened, in seconds", "事件时间戳（秒）"),
      source: required(oneOf("execute", "stream"), "Path the run was started on", "发出来源"),
      iteration: optional(count, "Rounds of the agent so far", "当前迭代次数"),
      request_id: additional(string, "Id of the request", "请求 ID"),
      metadata: additional(map, "The event's own fields once more", "事件特定字段的副本"),
      ...fields,
    },
  };
}

export const STREAM_EVENT_FRAMES = {
  request_start: frame("A request began", "开始一次执行", {
    input: required(string, "What the user said", "用户输入"),
  }),
  retrieval_complete: frame("Documents were retrieved", "检索完成", {
    doc_count: required(count, "How many came back", "检索返回文档数量"),
  }),
  compression_applied: frame("The context was compressed", "触发上下文压缩后", {
    before_tokens: required(count, "Tokens before", "压缩前 token 数"),
    after_tokens: required(count, "Tokens after", "压缩后 token 数"),
  }),
  tool_calls_start: frame("The model decided to call tools", "LLM 决策需要调用工具", {
    tool_calls: required(
      listOf(
        objectOf({
          id: required(string, "Id of the call; may be empty", "调用 ID，可能为空字符串"),
          name: required(string, "Name of the tool", "工具名"),
        }),
      ),
      "The calls",
      "即将调用的工具列表",
    ),
  }),
  tool_result: frame("One tool is done", "单个工具执行完成", {
    tool_call_id: required(string, "Id of the call", "工具调用 ID"),
    content: required(string, "What it returned", "工具返回"),
  }),
  text_delta: frame("A piece of the answer", "文本增量", { content: required(string, "The piece", "文本片段") }),
  agent_finish: frame("The agent has answered", "生成最终答复", {
    content: required(string, "The answer", "最终文本答案"),
    status: additional(
      oneOf("completed", "error", "cancelled"),
      "How it ended; completed when absent",
      "结束状态，缺省 completed",
    ),
  }),
  error: frame("Something went wrong", "出错", {
    stage: required(
      openSet(
        "llm_generate",
        "llm_stream",
        "llm_generate_with_tools",
        "tool_execute",
        "iteration_limit",
        "retrieval",
        "compression",
      ),
      "Where",
      "错误阶段",
    ),
    message: required(string, "What, without a stack", "错误信息（不含堆栈）"),
  }),
} as const satisfies { readonly [type: string]: Shape };

export type StreamEventFrameType = keyof typeof STREAM_EVENT_FRAMES;
