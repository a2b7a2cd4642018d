/**
 * What went wrong, for people first: a sentence in their language, then what was said of it, its code and where; details
 * for those who look for the cause.
 */
import { type ReactNode, useState } from "react";
import type { ErrorPart } from "../../client/index.ts";
import { useRunPlace } from "../conversation/run-context.ts";
import { Button } from "../ui/button.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { Icon } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { cutHead } from "./cut-text.ts";
import { JsonView } from "./json-view.tsx";
import { ShortText } from "./log-box.tsx";

/** Of the codes that runs end with. What comes with an error is in whatever language its writer chose. */
const EN_LEADS: ReadonlyMap<string, string> = new Map([
  ["model_failed", "The model failed."],
  ["model_timeout", "The model took too long."],
  ["model_stream_cut", "The answer of the model broke off."],
  ["missing_key", "The key of the model is missing."],
  ["prompt_too_large", "This is more than the model can read."],
  ["tool_failed", "A tool failed."],
  ["tool_timeout", "A tool took too long."],
  ["approval_expired", "Nobody answered in time."],
  ["iteration_limit", "The run took too many steps."],
  ["step_limit", "The run took too many steps."],
  ["interrupted", "The run was interrupted."],
]);

const ZH_LEADS: ReadonlyMap<string, string> = new Map([
  ["model_failed", "模型出错了。"],
  ["model_timeout", "模型超时了。"],
  ["model_stream_cut", "模型的回答中断了。"],
  ["missing_key", "缺少模型的密钥。"],
  ["prompt_too_large", "内容超出了模型能读取的长度。"],
  ["tool_failed", "工具出错了。"],
  ["tool_timeout", "工具超时了。"],
  ["approval_expired", "没有人及时答复。"],
  ["iteration_limit", "运行的步骤过多。"],
  ["step_limit", "运行的步骤过多。"],
  ["interrupted", "运行被中断了。"],
]);

const WORDS = defineWords({
  en: {
    error: "Error",
    lead: (code: string) => EN_LEADS.get(code) ?? "Something went wrong.",
    validation: "Invalid input",
    execution: "Failed while running",
    timeout: "Took too long",
    system: "System failure",
    stage: (stage: string) => `at ${stage}`,
    call: (id: string) => `in the tool call ${id}`,
    final: "Trying again does not help",
    details: "Details",
    retry: "Try again",
  },
  zh: {
    error: "错误",
    lead: (code: string) => ZH_LEADS.get(code) ?? "出错了。",
    validation: "输入无效",
    execution: "执行失败",
    timeout: "超时",
    system: "系统故障",
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
  readonly isLive: boolean;
}

export function ErrorBanner({ part, isLive }: ErrorBannerProps): ReactNode {
  const words = useWords(WORDS);
  const { actions } = useUi();
  const place = useRunPlace();
  // What happens now is said aloud; what is scrolled past is not.
  const [isNews] = useState(isLive);
  const { message, code, stage, errorType, recoverable, callId, details } = part;
  const facts = [
    ...(errorType === undefined ? [] : [words[errorType]]),
    ...(stage === undefined ? [] : [words.stage(cutHead(stage, MAX_NAME))]),
    ...(callId === undefined ? [] : [words.call(cutHead(callId, MAX_NAME))]),
    ...(recoverable === false ? [words.final] : []),
  ];
  const retry = (): void => {
    const turn = place.getTurn();
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
            {code === undefined ? null : <code>{cutHead(code, MAX_NAME)}</code>}
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
        {recoverable === true && !isLive && actions.retry !== undefined ? (
          <Button icon="retry" onClick={retry}>
            {words.retry}
          </Button>
        ) : null}
      </div>
    </div>
  );
}
