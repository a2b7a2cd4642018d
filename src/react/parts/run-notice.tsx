/** An error that did not end its run: what was done instead, with the error under Details. */
import { type ReactNode, useState } from "react";
import type { ErrorPart } from "../../client/view.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { Icon } from "../ui/icon.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { ShortText } from "./log-box.tsx";

/** What the run did, by error code. The message of an error comes in the language of its sender. */
const EN_DONE: ReadonlyMap<string, string> = new Map([
  ["prompt_too_large", "The input may be too long for the model. It was sent anyway."],
  ["compression_failed", "Earlier messages could not be summarized. The run continued without a summary."],
  ["model_feature_refused", "The model refused a feature. The run continued without it."],
  ["model_output_cut", "The model's output was cut off. The text is incomplete."],
  ["model_output_invalid", "The model's output was invalid. The run continued without it."],
  ["model_empty", "The model returned an empty answer."],
  ["model_failed", "The model failed. The run continued with another model."],
  ["model_rate_limited", "The model's rate limit or quota was reached. The run continued with another model."],
  ["model_unavailable", "The model was unavailable. The run continued with another model."],
  ["model_timeout", "The model timed out. The run continued with another model."],
  ["retrieval_failed", "The document search failed. The run continued without it."],
  ["retrieval_timeout", "The document search timed out. The run continued without it."],
  ["tool_failed", "A tool failed. The run continued without its result."],
  ["tool_timeout", "A tool timed out. The run continued without its result."],
  ["iteration_limit", "The step limit was reached. The answer uses the results so far."],
  ["budget_spent", "The search budget was used up. The answer uses the best thought so far."],
]);

const ZH_DONE: ReadonlyMap<string, string> = new Map([
  ["prompt_too_large", "输入可能超出模型的长度限制，仍已发送。"],
  ["compression_failed", "无法总结较早的消息，运行在没有总结的情况下继续。"],
  ["model_feature_refused", "模型拒绝了一项功能，运行在不使用该功能的情况下继续。"],
  ["model_output_cut", "模型的输出被截断，文本不完整。"],
  ["model_output_invalid", "模型的输出无效，运行已忽略该输出并继续。"],
  ["model_empty", "模型返回了空回答。"],
  ["model_failed", "模型出错，运行已改用其他模型继续。"],
  ["model_rate_limited", "已达到模型的速率限制或配额，运行已改用其他模型继续。"],
  ["model_unavailable", "模型不可用，运行已改用其他模型继续。"],
  ["model_timeout", "模型响应超时，运行已改用其他模型继续。"],
  ["retrieval_failed", "文档检索失败，运行在没有检索结果的情况下继续。"],
  ["retrieval_timeout", "文档检索超时，运行在没有检索结果的情况下继续。"],
  ["tool_failed", "工具出错，运行在没有其结果的情况下继续。"],
  ["tool_timeout", "工具响应超时，运行在没有其结果的情况下继续。"],
  ["iteration_limit", "已达到步骤上限，回答基于目前的结果。"],
  ["budget_spent", "搜索预算已用完，回答基于目前最好的想法。"],
]);

const WORDS = defineWords({
  en: {
    notice: "Notice",
    done: (code: string) => EN_DONE.get(code) ?? "A problem occurred. The run continued.",
    details: "Details",
  },
  zh: {
    notice: "提示",
    done: (code: string) => ZH_DONE.get(code) ?? "出现问题，运行已继续。",
    details: "详细信息",
  },
});

export interface RunNoticeProps {
  readonly part: ErrorPart;
  readonly isLive: boolean;
  /** Further facts for Details. */
  readonly children: ReactNode;
}

export function RunNotice({ part: { message, code }, isLive, children }: RunNoticeProps): ReactNode {
  const words = useWords(WORDS);
  // Announce new notices only, not those rendered while scrolling.
  const [isNews] = useState(isLive);
  return (
    <div className="loom-notice" role="group" aria-label={words.notice}>
      <Icon name="alert" />
      <div className="loom-error-body">
        <p className="loom-notice-lead" role={isNews ? "status" : undefined}>
          {words.done(code ?? "")}
        </p>
        {message === "" && code === undefined ? null : (
          <Disclosure summary={words.details}>
            <div className="loom-error-body">
              {message === "" ? null : (
                <p className="loom-error-message" dir="auto">
                  <ShortText text={message} />
                </p>
              )}
              {children}
            </div>
          </Disclosure>
        )}
      </div>
    </div>
  );
}
