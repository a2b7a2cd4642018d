/** What happened and what to do, by error code. The message of an error comes in the language of its sender. */
import { defineWords } from "../ui/words.ts";

type ErrorAdvice = readonly [happened: string, next: string];

const EN: ReadonlyMap<string, ErrorAdvice> = new Map([
  ["model_failed", ["The model failed.", "Try again, or choose another model."]],
  ["model_unauthorized", ["The provider rejected the API key.", "Correct the key on the server, then try again."]],
  ["model_not_found", ["The provider does not have this model.", "Choose another model, then try again."]],
  ["model_rate_limited", ["The model’s rate limit or quota is reached.", "Try again later, or choose another model."]],
  ["model_unavailable", ["The model is unavailable.", "Try again later, or choose another model."]],
  ["model_feature_refused", ["The model refused a feature.", "Choose another model, then try again."]],
  ["model_timeout", ["The model timed out.", "Try again, or choose another model."]],
  ["model_stream_cut", ["The model’s response was cut off.", "Try again for the whole answer."]],
  ["missing_key", ["The model’s API key is missing.", "Set the key on the server, then try again."]],
  ["prompt_too_large", ["The input is too long for the model.", "Shorten the message, or start a new session."]],
  ["tool_failed", ["A tool failed.", "Try again."]],
  ["tool_timeout", ["A tool timed out.", "Try again."]],
  ["approval_expired", ["The approval timed out.", "Try again, and answer the request in time."]],
  ["iteration_limit", ["The step limit is reached.", "Try again, or ask for a smaller task."]],
  ["step_limit", ["The step limit is reached.", "Try again, or ask for a smaller task."]],
  ["interrupted", ["The server stopped during this run.", "Try again."]],
  ["too_many_attempts", ["The server stopped too often during this run.", "Try again later."]],
]);

const ZH: ReadonlyMap<string, ErrorAdvice> = new Map([
  ["model_failed", ["模型出错。", "请重试，或选择其他模型。"]],
  ["model_unauthorized", ["模型服务商拒绝了 API 密钥。", "请在服务器上更正密钥，然后重试。"]],
  ["model_not_found", ["模型服务商没有该模型。", "请选择其他模型，然后重试。"]],
  ["model_rate_limited", ["已达到模型的速率限制或配额。", "请稍后重试，或选择其他模型。"]],
  ["model_unavailable", ["模型暂时不可用。", "请稍后重试，或选择其他模型。"]],
  ["model_feature_refused", ["模型拒绝了一项功能。", "请选择其他模型，然后重试。"]],
  ["model_timeout", ["模型响应超时。", "请重试，或选择其他模型。"]],
  ["model_stream_cut", ["模型的回答已中断。", "请重试以获取完整回答。"]],
  ["missing_key", ["缺少模型的 API 密钥。", "请在服务器上设置密钥，然后重试。"]],
  ["prompt_too_large", ["输入超出模型的长度限制。", "请缩短消息，或新建会话。"]],
  ["tool_failed", ["工具出错。", "请重试。"]],
  ["tool_timeout", ["工具响应超时。", "请重试。"]],
  ["approval_expired", ["审批超时。", "请重试，并及时答复审批请求。"]],
  ["iteration_limit", ["已达到步骤上限。", "请重试，或缩小任务。"]],
  ["step_limit", ["已达到步骤上限。", "请重试，或缩小任务。"]],
  ["interrupted", ["服务器在此次运行期间停止。", "请重试。"]],
  ["too_many_attempts", ["服务器在此次运行期间多次停止。", "请稍后重试。"]],
]);

/** Whether the words say what happened. If not, the message of the sender does. */
export function isKnownError(code: string): boolean {
  return EN.has(code);
}

export const ERROR_WORDS = defineWords({
  en: {
    error: "Error",
    happened: (code: string) => EN.get(code)?.[0] ?? "Something went wrong.",
    next: (code: string) => EN.get(code)?.[1] ?? "Try again.",
    keptAnswer: "The answer so far is kept.",
    keptSteps: "The steps so far are kept.",
    keptMessage: "Your message is kept.",
    joined: " ",
    validation: "Invalid input",
    execution: "Execution failed",
    timeout: "Timed out",
    system: "System error",
    stage: (stage: string) => `Stage: ${stage}`,
    call: (id: string) => `Tool call: ${id}`,
    details: "Details",
    retry: "Try again",
  },
  zh: {
    error: "错误",
    happened: (code: string) => ZH.get(code)?.[0] ?? "出错了。",
    next: (code: string) => ZH.get(code)?.[1] ?? "请重试。",
    keptAnswer: "已有的回答已保留。",
    keptSteps: "已完成的步骤已保留。",
    keptMessage: "你的消息已保留。",
    joined: "",
    validation: "输入无效",
    execution: "执行失败",
    timeout: "超时",
    system: "系统错误",
    stage: (stage: string) => `阶段：${stage}`,
    call: (id: string) => `工具调用：${id}`,
    details: "详细信息",
    retry: "重试",
  },
});
