/** A tool call, from its first streamed argument to its result. */
import {
  additional,
  between,
  boolean,
  count,
  duration,
  json,
  map,
  oneOf,
  optional,
  required,
  string,
} from "../schema.ts";
import { defineEvent, OURS } from "./define.ts";

const SECTION = "001 §4.2";
const call_id = optional(string, "Id of the call", "调用 ID");
const name = required(string, "Name of the tool", "工具名");

export const tool_call_chunk = defineEvent({
  section: SECTION,
  exportKey: "ToolCallChunk",
  about: { en: "A piece of a call's arguments as the model writes them", zh: "工具调用参数的流式增量" },
  fields: {
    call_id,
    name: optional(string, "Name of the tool", "工具名"),
    arguments_delta: required(string, "The next piece of JSON text", "JSON 文本的下一片"),
    index: additional(count, "Tells parallel calls apart", "区分并行调用"),
  },
});

export const tool_call = defineEvent({
  section: SECTION,
  exportKey: "ToolCall",
  about: { en: "A complete call: the tool and all its arguments", zh: "完整的工具调用" },
  fields: {
    call_id,
    name,
    arguments: required(map, "The arguments", "参数"),
    description: additional(string, "What the call does, for people", "面向用户的说明"),
    index: additional(count, "Tells parallel calls apart", "区分并行调用"),
    raw_arguments: additional(string, "The model's text when it was not a JSON object", "参数不是 JSON 对象时的原文"),
  },
});

export const tool_approval = defineEvent({
  section: SECTION,
  exportKey: "ToolApproval",
  about: { en: "A call waits for the user's consent", zh: "待用户确认的工具调用" },
  fields: {
    call_id,
    name,
    arguments: required(map, "The arguments to consent to", "待确认的参数"),
    expires_at: additional(
      { kind: "number" },
      "When it is rejected by itself, in milliseconds",
      "到期自动拒绝的时间（毫秒）",
    ),
    digest: additional(
      string,
      "Of the tool and its arguments: an answer that names it agrees to these and no others",
      "工具与参数的摘要：答复带上它，即只同意这些参数",
    ),
  },
});

export const tool_approval_result = defineEvent({
  section: OURS,
  about: { en: "The answer to a tool_approval", zh: "对 tool_approval 的答复" },
  fields: {
    call_id,
    name: optional(string, "Name of the tool", "工具名"),
    decision: required(oneOf("approved", "rejected", "expired"), "What was decided", "决定"),
    reason: optional(string, "Why, for the model and for people", "理由"),
    arguments: optional(map, "The arguments as edited by the user", "用户修改后的参数"),
    actor: optional(string, "Who answered", "答复者"),
  },
});

export const tool_start = defineEvent({
  section: SECTION,
  exportKey: "ToolStart",
  about: { en: "The tool began to run", zh: "工具执行开始" },
  fields: { call_id, name },
});

export const tool_output = defineEvent({
  section: SECTION,
  exportKey: "ToolOutput",
  about: { en: "Something the tool printed; any number of times per call", zh: "工具产生的内容，可多次" },
  fields: { call_id, name, content: required(string, "What it printed", "内容") },
});

export const tool_progress = defineEvent({
  section: OURS,
  about: { en: "How far a long tool has come", zh: "工具执行进度" },
  fields: {
    call_id,
    name: optional(string, "Name of the tool", "工具名"),
    progress: required(between(0, 100), "From 0 to 100", "0 到 100"),
    message: optional(string, "What it is doing", "进度说明"),
  },
});

export const tool_end = defineEvent({
  section: SECTION,
  exportKey: "ToolEnd",
  about: { en: "The tool is done, or will not run", zh: "工具执行结束" },
  fields: {
    call_id,
    name,
    result: required(string, "What the model is told", "返回给模型的文本"),
    is_error: required(boolean, "True when it failed", "是否失败"),
    output: additional(json, "The result as data", "结构化结果"),
    error_code: additional(string, "Code of the failure", "错误代码"),
    duration_ms: additional(duration, "How long it ran", "耗时（毫秒）"),
  },
});
