/** What the model says and thinks, and the calls it is asked by. */
import { additional, boolean, count, duration, oneOf, openSet, optional, required, string } from "../schema.ts";
import { defineEvent, OURS } from "./define.ts";

const format = openSet("markdown", "text", "html");

export const message_chunk = defineEvent({
  section: "001 §4.2",
  exportKey: "Messages",
  about: { en: "A piece of the model's message", zh: "LLM 消息块" },
  fields: {
    content: required(string, "The piece", "文本片段"),
    id: required(string, "Name of the node that produced it", "产生该块的节点名"),
    channel: additional(
      oneOf("answer", "thought"),
      "answer (when absent) is for the user; thought is inner text of a search",
      "answer（缺省）面向用户；thought 为搜索过程的内部文本",
    ),
    format: additional(format, "How to show it; markdown when absent", "展示格式，缺省 markdown"),
    is_complete: additional(boolean, "True on the last piece of a message", "是否为最后一片"),
  },
});

export const reasoning_chunk = defineEvent({
  section: OURS,
  about: { en: "A piece of the model's reasoning; never part of the answer", zh: "推理片段；不属于答案" },
  fields: {
    content: required(string, "The piece", "文本片段"),
    id: optional(string, "Name of the node that produced it", "产生该块的节点名"),
    stage: optional(openSet("reasoning", "planning", "analyzing"), "Stage of thinking (003)", "思考阶段（003）"),
  },
});

export const reasoning_end = defineEvent({
  section: OURS,
  about: { en: "The reasoning before this point is complete", zh: "此前的推理已结束" },
  fields: {
    id: optional(string, "Name of the node", "节点名"),
    duration_ms: optional(duration, "How long it thought", "思考耗时（毫秒）"),
  },
});

export const llm_start = defineEvent({
  section: OURS,
  about: { en: "A model was called", zh: "开始调用模型" },
  fields: {
    llm_call_id: required(string, "Id of the model call", "模型调用 ID"),
    model: optional(string, "Which model", "模型"),
    attempt: optional(count, "0 for the first try", "第几次尝试，首次为 0"),
    purpose: optional(
      openSet("answer", "summary"),
      "What for: the run itself when absent, or a summary of what the model is to read; that is no round of the agent",
      "用途：缺省为运行本身；summary 为压缩上下文的摘要，不计入迭代",
    ),
  },
});

export const llm_end = defineEvent({
  section: OURS,
  about: { en: "A model call ended", zh: "模型调用结束" },
  fields: {
    llm_call_id: required(string, "Id of the model call", "模型调用 ID"),
    model: optional(string, "Which model answered", "实际模型"),
    finish_reason: optional(
      openSet("stop", "length", "tool_calls", "content_filter", "error", "cancelled"),
      "Why it stopped",
      "结束原因",
    ),
    error: optional(string, "What went wrong", "错误信息"),
    error_code: optional(string, "Stable code of the error", "错误代码"),
    duration_ms: optional(duration, "How long it took", "耗时（毫秒）"),
    purpose: optional(
      openSet("answer", "summary"),
      "What for: the run itself when absent, or a summary of what the model is to read; that is no round of the agent",
      "用途：缺省为运行本身；summary 为压缩上下文的摘要，不计入迭代",
    ),
  },
});
