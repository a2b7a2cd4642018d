/** How a run ended, what it took, how far it can be vouched for, and what can be done with it now. */
import type { ReactNode } from "react";
import type { Blindness, MessageView, StreamState, TurnView } from "../../client/index.ts";
import { cutHead } from "../parts/cut-text.ts";
import { InspectButton } from "../parts/inspect-button.tsx";
import { ShortText } from "../parts/log-box.tsx";
import { IconButton } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { formatDuration, formatNumber } from "../ui/format.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { defineWords, useWords } from "../ui/words.ts";

const WORDS = defineWords({
  en: {
    completed: "Completed",
    error: "Failed",
    cancelled: "Cancelled",
    running: "Its end was not received",
    tokens: (total: string, prompt: string, completion: string) => `${total} tokens (${prompt} in, ${completion} out)`,
    totalTokens: (total: string) => `${total} tokens`,
    copy: "Copy answer",
    retry: "Send the same message again",
    unverified: "Not every frame of this run could be checked: something of it may be missing.",
    unnumbered: (what: string) => `The frames of this run bear no numbers, so nobody could notice ${what}.`,
    loss: "a loss",
    double: "a doubling",
    order: "a change of order",
    or: " or ",
  },
  zh: {
    completed: "已完成",
    error: "失败",
    cancelled: "已取消",
    running: "未收到结尾",
    tokens: (total: string, prompt: string, completion: string) =>
      `${total} 个词元（输入 ${prompt}，输出 ${completion}）`,
    totalTokens: (total: string) => `${total} 个词元`,
    copy: "复制回答",
    retry: "重新发送同一条消息",
    unverified: "此次运行的数据帧未能全部核对，内容可能有缺失。",
    unnumbered: (what: string) => `此次运行的数据帧没有编号，因此无法察觉${what}。`,
    loss: "丢失",
    double: "重复",
    order: "乱序",
    or: "或",
  },
});

const SIGNS: { readonly [S in TurnView["status"]]: IconName } = {
  completed: "check",
  error: "alert",
  cancelled: "stop",
  running: "alert",
};

const MAX_CODE = 80;

export interface RunFooterProps {
  readonly turn: TurnView;
  /** Of its session, where it is known: says why a run is not vouched for. */
  readonly state?: StreamState | undefined;
}

export function RunFooter({ turn, state }: RunFooterProps): ReactNode {
  const words = useWords(WORDS);
  const { language, actions } = useUi();
  const { status, usage, durationMs } = turn;
  const answer = turn.messages.findLast(({ role }) => role === "assistant");
  const isCodeTold = turn.code === undefined || turn.code === status || showsCode(answer, turn.code);
  const code = isCodeTold ? undefined : cutHead(turn.code ?? "", MAX_CODE);
  // "cancelled" says nothing that the status does not.
  const isReasonTold = turn.reason === undefined || turn.reason === status || showsReason(answer, turn.reason);
  const reason = isReasonTold ? undefined : turn.reason;
  const number = (value: number): string => formatNumber(value, language);
  const facts = [
    ...(durationMs === undefined ? [] : [formatDuration(durationMs, language)]),
    ...(usage.totalTokens === 0
      ? []
      : usage.promptTokens + usage.completionTokens === 0
        ? [words.totalTokens(number(usage.totalTokens))]
        : [words.tokens(number(usage.totalTokens), number(usage.promptTokens), number(usage.completionTokens))]),
  ];
  return (
    <footer className="loom-run-footer" data-status={status}>
      {turn.verified || turn.isPartial ? null : (
        <p className="loom-run-note">
          <Icon name="alert" />
          <span>{tellDoubt(state, words)}</span>
        </p>
      )}
      <div className="loom-run-facts">
        <span className="loom-run-status">
          <Icon name={SIGNS[status]} />
          {words[status]}
        </span>
        {code === undefined ? null : <code>{code}</code>}
        {facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
        <span className="loom-message-actions">
          {answer === undefined || answer.mainContent === "" ? null : (
            <CopyButton getText={() => answer.mainContent} label={words.copy} />
          )}
          {actions.retry === undefined || status === "running" ? null : (
            <IconButton icon="retry" label={words.retry} onClick={() => actions.retry?.(turn)} />
          )}
          <InspectButton place={{ turn: turn.key, kind: "turn", key: "" }} />
        </span>
      </div>
      {reason === undefined ? null : (
        <p className="loom-run-reason">
          <ShortText text={reason} />
        </p>
      )}
    </footer>
  );
}

/** A banner of the answer says it already. */
function showsReason(answer: MessageView | undefined, reason: string): boolean {
  return answer?.parts.some((part) => part.type === "error" && part.message === reason) ?? false;
}

function showsCode(answer: MessageView | undefined, code: string): boolean {
  return answer?.parts.some((part) => part.type === "error" && part.code === code) ?? false;
}

function tellDoubt(state: StreamState | undefined, words: (typeof WORDS)["en"]): string {
  if (state === undefined || state.cannotKnow.length === 0) return words.unverified;
  const order: readonly Blindness[] = ["loss", "double", "order"];
  const blind = order.filter((one) => state.cannotKnow.includes(one));
  return words.unnumbered(blind.map((one) => words[one]).join(words.or));
}
