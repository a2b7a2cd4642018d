/** Events of a tool call, from its first streamed argument to its result. */
import {
  additional,
  between,
  boolean,
  count,
  duration,
  json,
  map,
  oneOf,
  openSet,
  optional,
  required,
  string,
} from "../schema.ts";
import { defineEvent, defineExtension } from "./define.ts";

const call_id = optional(string, "ID of the tool call", "工具调用 ID");
const name = required(string, "Name of the tool", "工具名");
const server = additional(
  string,
  "Name of the MCP server that has the tool. Title and description of such a tool are words of that server",
  "提供该工具的 MCP 服务器名；此类工具的标题和说明由该服务器给出",
);

export const tool_call_chunk = defineEvent({
  exportKey: "ToolCallChunk",
  about: "A chunk of the arguments, as the model writes them",
  zh: "模型生成的工具参数片段",
  fields: {
    call_id,
    name: optional(string, "Name of the tool", "工具名"),
    arguments_delta: required(string, "Next part of the arguments, as JSON text", "参数 JSON 文本的下一段"),
    index: additional(count, "Distinguishes parallel calls", "用于区分并行调用"),
  },
});

export const tool_call = defineEvent({
  exportKey: "ToolCall",
  about: "A complete tool call with all its arguments",
  zh: "完整的工具调用及其全部参数",
  fields: {
    call_id,
    name,
    arguments: required(map, "Arguments of the call", "调用参数"),
    description: additional(string, "Description of the call for the user", "面向用户的调用说明"),
    server,
    index: additional(count, "Distinguishes parallel calls", "用于区分并行调用"),
    raw_arguments: additional(
      string,
      "Text from the model, if it was not a JSON object",
      "模型输出的原文（仅当其不是 JSON 对象时）",
    ),
  },
});

export const tool_approval = defineEvent({
  exportKey: "ToolApproval",
  about: "A tool call waits for the user's approval",
  zh: "工具调用等待用户审批",
  fields: {
    call_id,
    name,
    arguments: required(map, "Arguments to approve", "待审批的参数"),
    expires_at: additional(
      { kind: "number" },
      "Time at which the call is rejected automatically, in milliseconds since 1970",
      "自动拒绝的时间，Unix 毫秒时间戳",
    ),
    digest: additional(
      string,
      "Digest of the tool and its arguments; an approval that includes it applies only to this exact call",
      "工具及其参数的摘要值（digest）；带有该值的审批只对这一次调用有效",
    ),
    preview: additional(
      string,
      "What the call would change, as a unified diff of limited length",
      "调用将要做出的更改，为长度受限的统一 diff 格式",
    ),
    server,
  },
});

export const tool_approval_result = defineExtension({
  about: "The decision on a `tool_approval`",
  zh: "对 `tool_approval` 的决定",
  fields: {
    call_id,
    name: optional(string, "Name of the tool", "工具名"),
    decision: required(oneOf("approved", "rejected", "expired"), "The decision", "决定"),
    reason: optional(
      string,
      "Reason for the decision, shown to the model and the user",
      "决定的理由，模型和用户都可见",
    ),
    arguments: optional(map, "Arguments edited by the user", "用户修改后的参数"),
    actor: optional(string, "Who decided", "做出决定的人"),
    code: optional(
      string,
      "Why the call was rejected although no user decided: `approval_failed` or `approval_unavailable`",
      "没有用户做出决定而拒绝调用的原因：`approval_failed` 或 `approval_unavailable`",
    ),
  },
});

export const tool_permission = defineExtension({
  about: "A user allowed all calls of a tool in the session, or ended that. Sent outside any run",
  zh: "用户允许会话中某个工具的所有调用，或撤销该许可。不属于任何运行",
  fields: {
    name,
    rule: required(
      oneOf("allow", "ask"),
      "`allow`: calls that need approval run without it; `ask`: they wait for approval again",
      "`allow`：需要审批的调用直接执行；`ask`：恢复为等待审批",
    ),
    actor: optional(string, "Who decided", "做出决定的人"),
  },
});

export const tool_start = defineEvent({
  exportKey: "ToolStart",
  about: "The tool started to run",
  zh: "工具开始执行",
  fields: {
    call_id,
    name,
    executor: additional(
      openSet("client"),
      "`client` if a client carries out the call: the run waits for its result. Default: the server",
      "`client` 表示由客户端执行：运行会等待客户端返回结果；默认由服务器执行",
    ),
    expires_at: additional(
      { kind: "number" },
      "Time at which a call that the client carries out ends as `tool_timeout`, in milliseconds since 1970",
      "由客户端执行的调用以 `tool_timeout` 结束的时间，Unix 毫秒时间戳",
    ),
  },
});

export const tool_output = defineEvent({
  exportKey: "ToolOutput",
  about: "Output of a running tool. Sent any number of times per call",
  zh: "工具执行中的输出，每次调用可发送多次",
  fields: { call_id, name, content: required(string, "Text of the output", "输出内容") },
});

export const tool_progress = defineExtension({
  about: "Progress of a running tool",
  zh: "工具的执行进度",
  fields: {
    call_id,
    name: optional(string, "Name of the tool", "工具名"),
    progress: required(between(0, 100), "Percentage, from 0 to 100", "百分比，0 到 100"),
    message: optional(string, "Description of the current step", "当前步骤的说明"),
  },
});

export const tool_end = defineEvent({
  exportKey: "ToolEnd",
  about: "The tool call ended, successfully or not",
  zh: "工具调用结束（成功或失败）",
  fields: {
    call_id,
    name,
    result: required(string, "Result for the model, as text", "返回给模型的结果文本"),
    is_error: required(boolean, "True if the call failed", "是否失败"),
    output: additional(json, "Result as structured data", "结构化结果"),
    summary: additional(string, "What the call has done, in a few words for the user", "面向用户的结果摘要"),
    error_code: additional(string, "Error code of the failure", "失败的错误码"),
    duration_ms: additional(duration, "Duration of the call, in milliseconds", "调用时长（毫秒）"),
    actor: additional(
      string,
      "Who sent the result of a call that the client carried out",
      "由客户端执行的调用中，提交结果的人",
    ),
  },
});
