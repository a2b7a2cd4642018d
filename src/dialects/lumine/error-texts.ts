/**
 * Error texts for users of 004 front ends, which show them in a banner, in the language of the conversation. The
 * original message is for developers and is sent next to them.
 */
import type { EventOf, Json, JsonObject } from "../../protocol/index.ts";
import { detectLanguage, type Language } from "../../protocol/detect-language.ts";
import type { LocalizedText } from "../../protocol/schema.ts";
import type { ErrorCode } from "../../protocol/error-codes.ts";
import { isForkNotice, isNextAttempt } from "../../protocol/record.ts";
import { dropUndefined } from "../../protocol/drop-undefined.ts";

interface ErrorText {
  /** Absent if the message of the error is written for users. */
  readonly en?: string;
  readonly zh?: string;
}

const TEXTS: { readonly [C in ErrorCode]?: ErrorText } = {
  // Models
  model_failed: { en: "The model service is unavailable; try again later", zh: "模型服务暂时不可用，请稍后重试" },
  model_unauthorized: {
    en: "The model is not set up: the provider rejected its API key",
    zh: "模型配置有误：服务商拒绝了 API 密钥",
  },
  model_not_found: {
    en: "The model is not set up: the provider does not have it",
    zh: "模型配置有误：服务商没有该模型",
  },
  model_rate_limited: {
    en: "The model's rate limit or quota is reached; try again later",
    zh: "已达到模型的速率限制或配额，请稍后重试",
  },
  model_unavailable: { en: "The model service is unavailable; try again later", zh: "模型服务暂时不可用，请稍后重试" },
  model_feature_refused: {
    en: "The model refused a feature and continues without it",
    zh: "模型拒绝了一项功能，已在不使用该功能的情况下继续",
  },
  model_timeout: { en: "The model did not answer in time; try again later", zh: "模型响应超时，请稍后重试" },
  model_stream_cut: { en: "The model's answer was cut off; try again", zh: "模型的回答中断，请重试" },
  model_output_cut: { zh: "模型的回答不完整" },
  model_empty: { en: "The model gave no answer; try again", zh: "模型没有给出回答，请重试" },
  model_output_too_large: { en: "The model's answer is too long", zh: "模型的回答过长" },
  // A search goes on without an answer that it cannot read.
  model_output_invalid: { en: "An answer of the model could not be read", zh: "无法解析模型的一次回答" },
  missing_key: { en: "The model is not set up: its API key is missing", zh: "模型尚未配置：缺少 API 密钥" },
  missing_package: { en: "The model is not set up: a package is missing", zh: "模型尚未配置：缺少软件包" },
  unknown_model: { en: "The model is not available", zh: "该模型不可用" },
  prompt_too_large: { en: "The conversation is too long for the model", zh: "对话超出模型的长度限制" },
  budget_spent: { zh: "已达到本次运行的用量上限" },
  spend_exceeded: { zh: "已达到用量上限" },
  spend_unrecorded: { zh: "暂时无法记录用量，请稍后重试" },
  audit_failed: { zh: "暂时无法写入审计日志，请稍后重试" },
  unknown_field: { zh: "消息中有无法识别的字段，已忽略" },
  // Runs
  iteration_limit: { zh: "已达到步骤上限，将根据已有结果回答" },
  step_limit: { en: "The run reached its limit of steps", zh: "已达到步骤上限" },
  node_failed: { en: "A step of the run failed", zh: "运行的一个步骤失败" },
  node_timeout: { en: "A step of the run took too long", zh: "运行的一个步骤超时" },
  run_failed: { zh: "运行意外失败" },
  interrupted: { en: "The server stopped during this run; try again", zh: "服务器在运行期间停止，请重试" },
  too_many_attempts: { en: "The server stopped too often during this run", zh: "服务器在运行期间多次停止" },
  cancelled: { en: "Cancelled", zh: "已取消" },
  retrieval_failed: { zh: "知识库检索失败，回答未使用检索结果" },
  retrieval_timeout: { zh: "知识库检索超时，回答未使用检索结果" },
  compression_failed: { zh: "未能压缩较早的对话，回答未使用这部分内容" },
  internal_error: { zh: "服务器内部错误，请稍后重试" },
  store_failed: { en: "The server could not save the conversation", zh: "服务器未能保存对话" },
  store_full: { en: "The server's storage is full", zh: "服务器存储空间已满" },
  // Tools
  tool_timeout: { zh: "工具执行超时" },
  tool_rejected: { zh: "用户拒绝了此次工具调用，未执行" },
  tool_denied: { zh: "不允许使用该工具，未执行" },
  unknown_tool: { zh: "没有该工具，未执行" },
  invalid_arguments: { zh: "工具参数无效，未执行" },
  approval_expired: { zh: "审批已超时，工具未执行" },
  approval_unavailable: {
    en: "This tool needs your approval, but this application cannot answer approvals; the tool was not run",
    zh: "该工具需要审批，但当前应用无法答复审批，工具未执行",
  },
  client_unavailable: {
    en: "This application cannot carry out this tool; the tool was not run",
    zh: "当前应用无法执行该工具，未执行",
  },
  approval_mismatch: { zh: "审批与调用不符，工具未执行" },
  path_refused: { zh: "不允许访问该路径" },
  url_refused: { zh: "不允许访问该网址" },
  mcp_failed: { zh: "工具服务出错" },
  // Refused messages
  rate_limited: { zh: "请求过于频繁，请稍后重试" },
  too_many_runs: { zh: "正在进行的运行过多，请稍后重试" },
  quota_exceeded: { zh: "存储配额已用完，请删除一些会话" },
  too_many_uploads: { zh: "等待中的上传过多，请稍后重试" },
  too_many_forks: { zh: "等待中的分叉过多，请稍后重试" },
  too_many_streams: { zh: "打开的连接过多，请关闭一些后重试" },
  queue_full: { zh: "等待中的消息过多，请稍后重试" },
  backlog_full: { zh: "服务器繁忙，请稍后重试" },
  body_too_large: { zh: "消息过长" },
  unauthorized: { zh: "需要登录" },
  forbidden: { zh: "没有权限" },
  unknown_session: { zh: "会话不存在" },
  session_id_taken: { zh: "会话 ID 已被占用，请换一个" },
  unknown_agent: { zh: "智能体不存在" },
  unknown_todo: { zh: "待办清单或条目不存在" },
  unknown_call: { zh: "没有等待审批的工具调用" },
  already_answered: { zh: "此审批已有答复" },
  run_ended: { zh: "运行已结束" },
  shutting_down: { zh: "服务器正在关闭，请稍后重试" },
};

/** Text of a failed run without a reason. */
const RUN_FAILED: LocalizedText = { en: "The run failed", zh: "运行失败" };
/** Text for a node run that is run again after a crash. */
const RUN_AGAIN: LocalizedText = {
  en: "The server stopped during this run; the interrupted step is run again",
  zh: "服务器在运行期间停止，正在重新执行中断的步骤",
};
const RUN_FORKED: LocalizedText = {
  en: "The run continues from a checkpoint",
  zh: "从检查点继续运行",
};
/** Introductions in Chinese to a message in another language. */
const ERROR_LEAD = "出错了";
export const TOOL_LEAD = "工具执行失败";

/**
 * Returns the fields of an error: the text for users, and the original message as `detail` if it differs. A message in
 * Chinese was written for users and is kept, but not one of a provider that follows a text for developers, such as
 * `offline failed: 离线模型按要求出错。`.
 */
export function describeErrorFor(
  language: Language,
  { code, message, lead = ERROR_LEAD }: { readonly code?: string; readonly message: string; readonly lead?: string },
): { readonly error: string; readonly detail?: string } {
  const texts: ErrorText = code !== undefined && Object.hasOwn(TEXTS, code) ? (TEXTS[code as ErrorCode] ?? {}) : {};
  const isForUsers = texts.en === undefined || /^\p{Script=Han}/u.test(message);
  if (isForUsers && detectLanguage(message) === "zh") return { error: message };
  const text = texts[language] ?? (language === "en" ? message : `${lead}：${message}`);
  return text === message ? { error: text } : { error: text, detail: message };
}

/**
 * The error of a run that did not complete. `toolFailure` is its latest failure of a tool, which no `error` frame shows.
 * Our decoder knows a cancelled run by its code.
 */
export function describeEnd(
  language: Language,
  { status, reason, code: own }: EventOf<"run_end">,
  toolFailure: EventOf<"error"> | undefined,
): JsonObject {
  const isCancelled = status === "cancelled";
  const code = isCancelled ? status : (own ?? toolFailure?.code);
  const message = reason ?? (isCancelled ? status : toolFailure?.message);
  // Only a cancelled run may have that code.
  const shown = code === undefined || (code === "cancelled" && !isCancelled) ? "run_failed" : code;
  const texts =
    message === undefined
      ? { error: RUN_FAILED[language] }
      : describeErrorFor(language, { message, ...dropUndefined({ code }) });
  return { ...texts, code: writeCode(shown) ?? null };
}

/** 004 writes codes in upper case. */
export function writeCode(code: Json | undefined): Json | undefined {
  return typeof code === "string" && /^[a-z0-9_]+$/.test(code) ? code.toUpperCase() : code;
}

const UNTITLED_LIST: LocalizedText = { en: "To-do list", zh: "待办事项" };

/** The title of a to-do list, or one in the language of the conversation. */
export function titleOf(title: string, language: Language): string {
  return title.trim() === "" ? UNTITLED_LIST[language] : title;
}

/** The fields of an error frame. An error with an attempt says that a new message starts. */
export function describeError(language: Language, event: EventOf<"error">): JsonObject {
  const { message, code } = event;
  if (!isNextAttempt(event))
    return { ...describeErrorFor(language, { message, ...dropUndefined({ code }) }), code: writeCode(code) ?? null };
  const error = (isForkNotice(event) ? RUN_FORKED : RUN_AGAIN)[language];
  return { error, code: event.code.toUpperCase(), attempt: event.attempt, detail: message };
}

/** The run continues after the failure of a tool, which its `tool_result` shows. */
export function isToolFailure({ stage, recoverable = true }: EventOf<"error">): boolean {
  return stage === "tool_execute" && recoverable;
}
