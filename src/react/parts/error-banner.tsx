/** What went wrong, for people first: the message, its code and where; details for those who look for the cause. */
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

const WORDS = defineWords({
  en: {
    error: "Error",
    noMessage: "Something went wrong.",
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
    noMessage: "出错了。",
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
        <p className="loom-error-message">{message === "" ? words.noMessage : <ShortText text={message} />}</p>
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
