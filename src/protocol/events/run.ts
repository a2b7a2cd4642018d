/** Events about the run itself: start, end, reply, errors, retrieval and compression. */
import {
  additional,
  boolean,
  count,
  duration,
  listOf,
  map,
  objectOf,
  oneOf,
  openSet,
  optional,
  required,
  string,
} from "../schema.ts";
import { defineEvent, defineExtension, type EventDeclaration } from "./define.ts";

export const run_start = defineEvent({
  exportKey: "RunStart",
  about: "A run started. Sent before the first `node_enter`",
  zh: "运行开始，在第一个 `node_enter` 之前发送",
  fields: {
    run_id: optional(string, "ID of the run; a run answers one user message", "运行 ID；一次运行对应一条用户消息"),
    message: optional(string, "The user's message", "用户消息"),
    agent: optional(string, "Kind of agent, such as `react`, `tot` or `got`", "智能体种类，如 `react`、`tot` 或 `got`"),
    contiguous: additional(
      boolean,
      "If true, `event_id` increases by exactly 1, so a gap means that frames are missing",
      "为 true 时 `event_id` 逐一递增，编号不连续即表示缺帧",
    ),
    source: additional(
      oneOf("execute", "stream"),
      "How the run was started (002): `execute` or `stream`",
      "运行的启动方式（002）：`execute` 或 `stream`",
    ),
    request_id: additional(string, "Request ID set by the caller", "调用方指定的请求 ID"),
    context: additional(
      map,
      "Data from the caller, stored in the log and passed to every callback of the run",
      "调用方提供的数据，写入日志，并传给本次运行的每个回调",
    ),
    attachments: additional(
      listOf(
        objectOf({
          blob_id: required(string, "ID of a blob in the session: the SHA-256 of its content"),
          name: optional(string, "File name"),
          media_type: required(string, "Media type, such as `image/png`"),
          bytes: required(count, "Size in bytes"),
        }),
      ),
      "Files attached to the message, as references to blobs",
      "消息附带的文件，以 blob 引用表示",
    ),
    reasoning: additional(
      openSet("auto", "off", "low", "medium", "high"),
      "How much the models of the run reason; default: the setting of the agent",
      "本次运行中模型的推理程度；默认采用智能体的设置",
    ),
    strategy: additional(
      map,
      'Strategy settings of the message, such as `{"beam": 3}`; default: the settings of the agent',
      '消息指定的搜索设置，如 `{"beam": 3}`；默认采用智能体的设置',
    ),
    actor: additional(
      string,
      "Who started the run, such as `token:k3x9`; never contains a secret",
      "运行的发起者，如 `token:k3x9`；不包含密钥",
    ),
    tool_rules: additional(
      map,
      "Permissions by tool name, with `*` for all other tools: `allow`, `ask` or `deny`; if a value is invalid, all tools are denied",
      "按工具名设置的权限，`*` 表示其余工具：`allow`、`ask` 或 `deny`；只要有一个值无效，所有工具都会被拒绝",
    ),
    on_interruption: additional(
      openSet("resume", "fail"),
      "What happens when the process of the run dies: `resume` runs the interrupted nodes again, `fail` ends the run as `interrupted`; default: the setting of the agent",
      "运行所在的进程异常退出后的处理：`resume` 重新执行被中断的节点，`fail` 以 `interrupted` 结束运行；默认采用智能体的设置",
    ),
    capabilities: additional(
      listOf(string),
      "What the client that started the run declared: `approval` if it can answer tool approvals. Calls that need one are refused if the list lacks it; without the list they wait",
      "启动运行的客户端所声明的能力：`approval` 表示可以答复工具审批。列表中没有它时，需要审批的调用会被拒绝；没有列表时，调用会等待",
    ),
    client_tools: additional(
      listOf(
        objectOf({
          name: required(string, "Name of the tool"),
          description: optional(string, "Tells the model what the tool does"),
          input_schema: optional(map, "JSON Schema of the arguments"),
        }),
      ),
      "Tools that the client of the run carries out, in addition to those of the agent",
      "除智能体自身的工具外，由本次运行的客户端执行的工具",
    ),
    instructions: additional(
      string,
      "Instructions of the client, added to the system prompt of the agent for this run only",
      "客户端提供的指令，仅在本次运行中附加到智能体的系统提示词之后",
    ),
    output_schema: additional(
      map,
      "JSON Schema of the reply, which is then JSON that matches it",
      "回复的 JSON Schema；此时回复为符合它的 JSON",
    ),
  },
});

export const run_end = defineExtension({
  about: "How the run ended. Only its reply follows",
  zh: "运行的结束状态。之后只有一帧回复",
  fields: {
    status: required(oneOf("completed", "error", "cancelled"), "How the run ended", "结束状态"),
    summary: optional(
      objectOf({
        total_tokens: optional(count, "Total tokens used"),
        prompt_tokens: optional(count, "Tokens sent to models"),
        completion_tokens: optional(count, "Tokens received from models"),
        duration_ms: optional(duration, "Duration of the run, in milliseconds"),
        tool_calls: optional(count, "Number of tool calls"),
      }),
      "Totals of the run",
      "运行的汇总数据",
    ),
    first_event_id: optional(count, "The `event_id` of the run's `run_start`", "本次运行 `run_start` 的 `event_id`"),
    last_event_id: optional(
      count,
      "The `event_id` of the run's last frame, including the reply",
      "本次运行最后一帧的 `event_id`，包括回复",
    ),
    frame_count: optional(
      count,
      "Number of frames in the run, including `run_end` and the reply; lets receivers verify that no frame is missing",
      "本次运行的帧数，包括 `run_end` 和回复；接收方可据此验证没有缺帧",
    ),
    reason: optional(string, "Why the run did not complete", "运行未完成的原因"),
    code: optional(string, "Error code of the reason", "原因对应的错误码"),
    has_reply: optional(
      boolean,
      "True if a run that did not complete is followed by a reply, which has the answer so far. Always the case in runs of this version",
      "未完成的运行之后是否有回复，内容为已生成的回答。本版本的运行总是如此",
    ),
  },
});

export const reply = {
  section: "001 §5",
  about:
    "The answer of a run and its last frame. If the run did not complete, it is the part that was produced, possibly empty. Sent without `type`",
  zh: "运行的回答（回复），也是运行的最后一帧。运行未完成时，是已生成的部分，可以为空。发送时不带 `type`",
  fields: {
    reply: required(string, "Text of the answer", "回答的文本"),
  },
} as const satisfies EventDeclaration;

export const feedback = defineExtension({
  about: "Feedback of a user about the answer of a run. The latest counts. Sent outside any run",
  zh: "用户对某次运行的回答的反馈，以最后一条为准。不属于任何运行",
  fields: {
    target_run_id: required(string, "ID of the run", "运行 ID"),
    rating: required(oneOf("good", "bad", "none"), "The rating; `none` removes it", "评价；`none` 表示撤销"),
    comment: optional(string, "Comment of the user", "用户的说明"),
    actor: optional(string, "Who rated", "做出评价的人"),
  },
});

export const error = defineExtension({
  about: "An error occurred. It does not end the run by itself",
  zh: "发生错误。错误本身不会结束运行",
  fields: {
    message: required(string, "Error message for the user, without a stack trace", "面向用户的错误信息，不含堆栈"),
    code: optional(string, "Stable error code", "稳定的错误码"),
    stage: optional(
      openSet(
        "llm_generate",
        "llm_generate_with_tools",
        "llm_stream",
        "tool_execute",
        "iteration_limit",
        "retrieval",
        "compression",
        "interrupted",
      ),
      "Where the error occurred",
      "出错的阶段",
    ),
    error_type: optional(oneOf("validation", "execution", "timeout", "system"), "Error type (003)", "错误类型（003）"),
    recoverable: optional(boolean, "True if a retry may succeed", "重试是否可能成功"),
    call_id: optional(string, "ID of the tool call that failed", "相关的工具调用 ID"),
    attempt: optional(
      count,
      "With code `interrupted`: the run continues with this attempt, from 2; open messages are answered again",
      "错误码为 `interrupted` 时：运行以第几次尝试继续，从 2 开始；未完成的消息会重新回答",
    ),
    details: optional(
      map,
      "Debugging data. `stack_trace` is sent only in debug mode; otherwise `error_id` refers to the server log",
      "调试信息。仅在调试模式下包含 `stack_trace`；否则用 `error_id` 对应服务器日志",
    ),
  },
});

export const foreign = defineExtension({
  about: "A frame of another dialect with an unknown type, kept unchanged",
  zh: "来自其他方言的未知类型的帧，原样保留",
  fields: {
    dialect: required(string, "Dialect of the frame", "帧的方言"),
    frame: required({ kind: "json" }, "The original frame", "原始帧"),
  },
});

export const retrieval_complete = defineExtension({
  about: "Documents were retrieved for the model",
  zh: "已为模型检索文档",
  fields: {
    doc_count: required(count, "Number of documents found; may be 0", "找到的文档数，可以为 0"),
    query: optional(string, "Search query", "查询内容"),
    sources: optional(
      listOf(
        objectOf({
          title: required(string, "Title of the document"),
          uri: optional(string, "Location of the document"),
          snippet: optional(string, "Passage that matched"),
          score: optional({ kind: "number" }, "Relevance score"),
          ref: optional(count, "Number used to cite the document in the answer, as in [1]"),
          first_line: optional(count, "First line of the passage, counted from 1"),
          last_line: optional(count, "Last line of the passage"),
        }),
      ),
      "The documents found, for citations",
      "找到的文档，用于引用",
    ),
  },
});

export const compression_applied = defineExtension({
  about: "The context of a model call was compressed",
  zh: "已压缩模型调用的上下文",
  fields: {
    before_tokens: required(count, "Tokens before compression", "压缩前的 token 数"),
    after_tokens: required(count, "Tokens after compression", "压缩后的 token 数"),
    method: additional(
      openSet("summary", "drop", "cut"),
      "`summary`: the oldest turns were summarized; `drop`: they were removed because no summary was available; `cut`: tool results were shortened",
      "`summary`：为最早的轮次生成摘要；`drop`：无法生成摘要，直接移除；`cut`：截短工具结果",
    ),
    covered_messages: additional(count, "Number of messages that are no longer sent", "不再发送的消息数"),
    covered_digest: additional(
      string,
      "Digest of these messages, used to find the matching summary",
      "这些消息的摘要值（digest），用于查找对应的摘要",
    ),
    summary: additional(string, "Summary sent in place of these messages", "代替这些消息发送的摘要"),
  },
});
