/** An error of a run: a localized summary, the sender's message, its code and source, and details. */
import { type ReactNode, useState } from "react";
import type { ErrorPart } from "../../client/index.ts";
import { useRunContext } from "../conversation/run-context.ts";
import { Button } from "../ui/button.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { Icon } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { JsonView } from "./json-view.tsx";
import { ShortText } from "./log-box.tsx";
import { cutText } from "../../protocol/cut-text.ts";

/** Summaries by error code. The message of an error comes in the language of its sender. */
const EN_LEADS: ReadonlyMap<string, string> = new Map([
  ["model_failed", "The model failed."],
  ["model_unauthorized", "The provider rejected the API key."],
  ["model_not_found", "The provider does not have this model."],
  ["model_rate_limited", "The model's rate limit or quota is reached. Try again later."],
  ["model_unavailable", "The model is unavailable. Try again later."],
  ["model_feature_refused", "The model refused a feature and continues without it."],
  ["model_timeout", "The model timed out."],
  ["model_stream_cut", "The model's response was cut off."],
  ["missing_key", "The model's API key is missing."],
  ["prompt_too_large", "Input too long for the model."],
  ["tool_failed", "A tool failed."],
  ["tool_timeout", "A tool timed out."],
  ["approval_expired", "Approval timed out."],
  ["iteration_limit", "Step limit reached."],
  ["step_limit", "Step limit reached."],
  ["interrupted", "The server stopped during this run."],
  ["too_many_attempts", "The server stopped too often during this run."],
]);

const ZH_LEADS: ReadonlyMap<string, string> = new Map([
  ["model_failed", "模型出错。"],
  ["model_unauthorized", "模型服务商拒绝了 API 密钥。"],
  ["model_not_found", "模型服务商没有该模型。"],
  ["model_rate_limited", "已达到模型的速率限制或配额，请稍后重试。"],
  ["model_unavailable", "模型暂时不可用，请稍后重试。"],
  ["model_feature_refused", "模型拒绝了一项功能，已在不使用该功能的情况下继续。"],
  ["model_timeout", "模型响应超时。"],
  ["model_stream_cut", "模型的回答已中断。"],
  ["missing_key", "缺少模型的 API 密钥。"],
  ["prompt_too_large", "输入超出模型的长度限制。"],
  ["tool_failed", "工具出错。"],
  ["tool_timeout", "工具响应超时。"],
  ["approval_expired", "审批超时。"],
  ["iteration_limit", "已达到步骤上限。"],
  ["step_limit", "已达到步骤上限。"],
  ["interrupted", "服务器在此次运行期间停止。"],
  ["too_many_attempts", "服务器在此次运行期间多次停止。"],
]);

const WORDS = defineWords({
  en: {
    error: "Error",
    lead: (code: string) => EN_LEADS.get(code) ?? "Something went wrong.",
    validation: "Invalid input",
    execution: "Execution failed",
    timeout: "Timed out",
    system: "System error",
    stage: (stage: string) => `Stage: ${stage}`,
    call: (id: string) => `Tool call: ${id}`,
    final: "Retrying won't help",
    details: "Details",
    retry: "Try again",
  },
  zh: {
    error: "错误",
    lead: (code: string) => ZH_LEADS.get(code) ?? "出错了。",
    validation: "输入无效",
    execution: "执行失败",
    timeout: "超时",
    system: "系统错误",
    stage: (stage: string) => `阶段：${stage}`,
    call: (id: string) => `工具调用：${id}`,
    final: "重试无效",
    details: "详细信息",
    retry: "重试",
  },
});

const MAX_NAME = 80;

export interface ErrorBannerProps {
  readonly part: ErrorPart;
  /** The run is live. */
  readonly isLive: boolean;
}

/** Shows an error of a run, with a retry button if the error is recoverable and the run has ended. */
export function ErrorBanner({ part, isLive }: ErrorBannerProps): ReactNode {
  const words = useWords(WORDS);
  const { actions } = useUi();
  const run = useRunContext();
  // Announce new errors only, not those rendered while scrolling.
  const [isNews] = useState(isLive);
  const { message, code, stage, errorType, recoverable, callId, details } = part;
  // The run is not repeated by itself any more, but the user may send the message again.
  const mayRetry = recoverable === true || code === "too_many_attempts";
  const facts = [
    ...(errorType === undefined ? [] : [words[errorType]]),
    ...(stage === undefined ? [] : [words.stage(cutText(stage, MAX_NAME))]),
    ...(callId === undefined ? [] : [words.call(cutText(callId, MAX_NAME))]),
    ...(recoverable === false && !mayRetry ? [words.final] : []),
  ];
  const retry = (): void => {
    const turn = run.getTurn();
    if (turn !== undefined) actions.retry?.(turn);
  };
  return (
    <div className="loom-error" role={isNews ? "alert" : "group"} aria-label={words.error}>
      <Icon name="alert" />
      <div className="loom-error-body">
        <p className="loom-error-lead">{words.lead(code ?? "")}</p>
        {message === "" ? null : (
          <p className="loom-error-message">
            <ShortText text={message} />
          </p>
        )}
        {code === undefined && facts.length === 0 ? null : (
          <p className="loom-error-facts">
            {code === undefined ? null : <code>{cutText(code, MAX_NAME)}</code>}
            {facts.map((fact) => (
              <span key={fact}>{fact}</span>
            ))}
          </p>
        )}
        {details === undefined || Object.keys(details).length === 0 ? null : (
          <Disclosure summary={words.details}>
            <JsonView value={details} label={words.details} />
          </Disclosure>
        )}
        {mayRetry && !isLive && actions.retry !== undefined ? (
          <Button icon="retry" onClick={retry}>
            {words.retry}
          </Button>
        ) : null}
      </div>
    </div>
  );
}
