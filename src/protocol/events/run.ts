/** How a run begins and ends. */
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
import { defineEvent, OURS } from "./define.ts";

export const run_start = defineEvent({
  section: "001 §4.2",
  exportKey: "RunStart",
  about: { en: "An agent run started; before its first node_enter", zh: "Agent 运行开始（在首个 node_enter 之前）" },
  fields: {
    run_id: optional(string, "Id of the run: one user turn", "运行 ID：一次用户轮次"),
    message: optional(string, "What the user said", "用户消息"),
    agent: optional(string, "Kind of agent, e.g. react, tot, got", "Agent 种类，如 react、tot、got"),
    contiguous: additional(
      boolean,
      "True: ids of this stream grow by exactly 1, so a jump is a gap",
      "为 true 时 event_id 逐一递增，跳号即缺失",
    ),
    source: additional(oneOf("execute", "stream"), "Path of 002 the run was started on", "运行来自 002 的哪条路径"),
    request_id: additional(string, "The caller's id for the request", "调用方的请求 ID"),
    context: additional(
      map,
      "What the caller wants told with every callback of the run; kept in the log",
      "调用方上下文：随本运行的每个回调给出，并写入日志",
    ),
    attachments: additional(
      listOf(
        objectOf({
          blob_id: required(
            string,
            "Id of a blob of the session: SHA-256 of its bytes",
            "会话中 blob 的 ID（SHA-256）",
          ),
          name: optional(string, "As the user calls the file", "文件名"),
          media_type: required(string, "What it is, e.g. image/png", "媒体类型，如 image/png"),
          bytes: required(count, "How long it is", "字节数"),
        }),
      ),
      "Files that came with the message, by reference",
      "随消息附上的文件（按引用）",
    ),
    actor: additional(
      string,
      "Who asked for the run, e.g. token:k3x9; never a secret",
      "发起者，如 token:k3x9；绝非密钥",
    ),
    tool_rules: additional(
      map,
      "What the run may do with tools, by their names, `*` for the others: allow, ask or deny; what is neither denies",
      "本运行可如何使用工具（按工具名，* 表示其余）：allow、ask、deny；其他值一律拒绝",
    ),
  },
});

export const run_end = defineEvent({
  section: OURS,
  about: {
    en: "The run is over, whatever happened; a completed run is followed by its reply and nothing else",
    zh: "运行结束（无论结果）；completed 之后只跟随 reply",
  },
  fields: {
    status: required(oneOf("completed", "error", "cancelled"), "How it ended", "结束状态"),
    summary: optional(
      objectOf({
        total_tokens: optional(count, "Tokens used by the run", "总 token 数"),
        prompt_tokens: optional(count, "Tokens sent to models", "提示 token 数"),
        completion_tokens: optional(count, "Tokens received from models", "生成 token 数"),
        duration_ms: optional(duration, "From run_start to run_end", "运行耗时（毫秒）"),
        tool_calls: optional(count, "Tools that were called", "工具调用次数"),
      }),
      "Totals of the run",
      "运行汇总",
    ),
    first_event_id: optional(count, "event_id of the run's run_start", "run_start 的 event_id"),
    last_event_id: optional(
      count,
      "event_id of the run's last frame, the reply included",
      "末帧（含 reply）的 event_id",
    ),
    frame_count: optional(
      count,
      "How many frames the run has, run_end and reply included: the proof that none is missing",
      "本运行的帧数（含 run_end 与 reply），用于证明无缺失",
    ),
    reason: optional(string, "Why it did not complete, for people", "未完成的原因"),
    code: optional(string, "Code of the reason", "原因代码"),
  },
});

export const reply = defineEvent({
  section: "001 §5",
  about: {
    en: "The full assistant reply; the last frame of its run. It travels without `type`",
    zh: "完整的助手回复；该运行的最后一帧。线上不带 type",
  },
  fields: {
    reply: required(string, "Full text of the reply", "完整回复文本"),
  },
});

export const error = defineEvent({
  section: OURS,
  about: { en: "Something went wrong; by itself it does not end the run", zh: "出错；本身不结束运行" },
  fields: {
    message: required(string, "What went wrong, for people, without a stack", "面向用户的错误信息（不含堆栈）"),
    code: optional(string, "Stable code of the error", "错误代码"),
    stage: optional(
      openSet(
        "llm_generate",
        "llm_generate_with_tools",
        "llm_stream",
        "tool_execute",
        "iteration_limit",
        "retrieval",
        "compression",
      ),
      "Where it happened",
      "出错阶段",
    ),
    error_type: optional(
      oneOf("validation", "execution", "timeout", "system"),
      "Class of the error (003)",
      "错误类别（003）",
    ),
    recoverable: optional(boolean, "True when trying again may help", "是否可重试"),
    call_id: optional(string, "The tool call it concerns", "相关的工具调用"),
    details: optional(
      map,
      "More for whoever debugs; `stack_trace` only in debug mode, otherwise `error_id` points into the server's log",
      "调试信息；stack_trace 仅在调试模式，否则以 error_id 指向服务端日志",
    ),
  },
});

export const foreign = defineEvent({
  section: OURS,
  about: {
    en: "A frame of another dialect whose type nobody here knows, kept whole and passed on",
    zh: "来自其他方言的未知帧，原样保留并传递",
  },
  fields: {
    dialect: required(string, "Dialect it came in", "来源方言"),
    frame: required({ kind: "json" }, "The frame as it was", "原始帧"),
  },
});

export const retrieval_complete = defineEvent({
  section: OURS,
  about: { en: "Documents were retrieved for the model, perhaps none", zh: "检索完成（可能为零篇）" },
  fields: {
    doc_count: required(count, "How many documents came back", "返回文档数量"),
    query: optional(string, "What was searched for", "检索语句"),
    sources: optional(
      listOf(
        objectOf({
          title: required(string, "Title of the document", "文档标题"),
          uri: optional(string, "Where it is", "文档地址"),
          snippet: optional(string, "The passage that matched", "命中片段"),
          score: optional({ kind: "number" }, "How well it matched", "匹配得分"),
          ref: optional(count, "Number the answer refers to it by, as in [1]", "答案中的引用编号，如 [1]"),
          first_line: optional(count, "Where the passage begins, in lines from 1", "片段起始行（从 1 起）"),
          last_line: optional(count, "Where it ends", "片段结束行"),
        }),
      ),
      "What was found, for references",
      "命中来源，用于引用",
    ),
  },
});

export const compression_applied = defineEvent({
  section: OURS,
  about: { en: "The context sent to the model was compressed", zh: "已压缩发送给模型的上下文" },
  fields: {
    before_tokens: required(count, "Tokens before", "压缩前 token 数"),
    after_tokens: required(count, "Tokens after", "压缩后 token 数"),
    method: additional(
      openSet("summary", "drop", "cut"),
      "How: the oldest turns were summarised, or left out whole since no summary could be had, or results of tools were cut",
      "方式：summary 为摘要最早的轮次，drop 为无法摘要时整轮丢弃，cut 为截短工具结果",
    ),
    covered_messages: additional(count, "Messages that are no longer sent", "不再发送的消息数"),
    covered_digest: additional(string, "Digest of those messages: tells where the summary fits", "这些消息的摘要值"),
    summary: additional(string, "What is sent in their place", "替代它们的摘要文本"),
  },
});
