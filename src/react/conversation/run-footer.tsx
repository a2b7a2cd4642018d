/** The footer of a run: status, duration, token usage, verification and actions. */
import type { ReactNode } from "react";
import type { StreamState, TurnView } from "../../client/index.ts";
import type { FeedbackView, MessageView } from "../../client/view.ts";
import { ShortText } from "../parts/log-box.tsx";
import { IconButton } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { formatDuration, formatNumber, formatRecentTime, formatTime } from "../ui/format.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { type ElementTarget, useUi } from "../ui/ui-context.tsx";
import { Toolbar } from "../ui/toolbar.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { FeedbackButtons, FeedbackForm, useFeedback } from "./feedback.tsx";
import { cutText } from "../../protocol/cut-text.ts";
import { VersionSwitcher } from "./version-switcher.tsx";

const WORDS = defineWords({
  en: {
    completed: "Completed",
    error: "Failed",
    cancelled: "Cancelled",
    running: "Incomplete",
    tokens: (total: string, prompt: string, completion: string) => `${total} tokens (${prompt} in, ${completion} out)`,
    totalTokens: (total: string) => `${total} tokens`,
    copy: "Copy answer",
    actions: "Actions for the answer",
    retry: "Retry",
    unverified: "Some events couldn't be verified. Content may be missing.",
    unnumbered: "Completeness can't be verified: the sender didn't number its events.",
  },
  zh: {
    completed: "已完成",
    error: "失败",
    cancelled: "已取消",
    running: "不完整",
    tokens: (total: string, prompt: string, completion: string) =>
      `${total} token（输入 ${prompt}，输出 ${completion}）`,
    totalTokens: (total: string) => `${total} token`,
    copy: "复制回答",
    actions: "回答的操作",
    retry: "重新生成",
    unverified: "部分事件未能验证，内容可能不完整。",
    unnumbered: "无法验证完整性：发送方未对事件编号。",
  },
});

const STATUS_ICONS: { readonly [S in TurnView["status"]]: IconName } = {
  completed: "check",
  error: "alert",
  cancelled: "stop",
  running: "alert",
};

const MAX_CODE = 80;

export interface RunFooterProps {
  readonly turn: TurnView;
  /** State of the session's stream, used to explain why a run is not verified. */
  readonly state?: StreamState | undefined;
  /** The user's rating of the answer. */
  readonly feedback?: FeedbackView | undefined;
}

/**
 * Shows how a run ended, with copy, retry and inspect buttons.
 *
 * ```tsx
 * <RunFooter turn={run} state={session.state} />
 * ```
 */
export function RunFooter({ turn, state, feedback }: RunFooterProps): ReactNode {
  const words = useWords(WORDS);
  const { language, actions, plugins } = useUi();
  const rating = useFeedback({ runId: turn.runId ?? "", feedback });
  const at = turn.endedAt ?? turn.startedAt ?? Number.NaN;
  const time = formatRecentTime(at, language);
  const { status, usage, durationMs } = turn;
  const answer = turn.messages.findLast(({ role }) => role === "assistant");
  // The error card has the action of a failed run.
  const isFailed = status === "error";
  const isCodeShown = turn.code === undefined || turn.code === status || showsCode(answer, turn.code);
  const code = isCodeShown ? undefined : cutText(turn.code ?? "", MAX_CODE);
  // A reason that repeats the status adds nothing.
  const isReasonShown = turn.reason === undefined || turn.reason === status || showsReason(answer, turn.reason);
  const reason = isReasonShown ? undefined : turn.reason;
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
          <span>{explainUnverified(state, words)}</span>
        </p>
      )}
      <div className="loom-run-facts">
        <span className="loom-run-status">
          <Icon name={STATUS_ICONS[status]} />
          {words[status]}
        </span>
        {code === undefined ? null : <code>{code}</code>}
        {time === "" ? null : <time title={formatTime(at, language)}>{time}</time>}
        {facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
        <Toolbar className="loom-message-actions" label={words.actions}>
          {answer === undefined || answer.mainContent === "" ? null : (
            <CopyButton getText={() => answer.mainContent} label={words.copy} />
          )}
          {rating === undefined || turn.runId === undefined || answer === undefined || isFailed ? null : (
            <FeedbackButtons control={rating} />
          )}
          {actions.retry === undefined || status === "running" || (isFailed && answer?.hasError === true) ? null : (
            <IconButton icon="retry" label={words.retry} onClick={() => actions.retry?.(turn)} />
          )}
          {/* A menu shows the frames too. */}
          {plugins.TurnMenu === undefined ? (
            <InspectButton target={{ turn: turn.key, kind: "turn", key: "" }} />
          ) : (
            <plugins.TurnMenu turn={turn} />
          )}
          <VersionSwitcher turnKey={turn.key} at="answer" />
        </Toolbar>
      </div>
      {rating === undefined || isFailed ? null : <FeedbackForm control={rating} />}
      {reason === undefined ? null : (
        <p className="loom-run-reason">
          <ShortText text={reason} />
        </p>
      )}
    </footer>
  );
}

/** Whether an error banner of the answer shows the reason already. */
function showsReason(answer: MessageView | undefined, reason: string): boolean {
  return answer?.parts.some((part) => part.type === "error" && part.message === reason) ?? false;
}

function showsCode(answer: MessageView | undefined, code: string): boolean {
  return answer?.parts.some((part) => part.type === "error" && part.code === code) ?? false;
}

function explainUnverified(state: StreamState | undefined, words: (typeof WORDS)["en"]): string {
  return state === undefined || state.undetectable.length === 0 ? words.unverified : words.unnumbered;
}

const INSPECT_WORDS = defineWords({ en: { inspect: "Show frames" }, zh: { inspect: "查看数据帧" } });

/** Button that shows the frames an element came from. Renders nothing without `UiActions.inspect`. */
function InspectButton({ target }: { readonly target: ElementTarget }): ReactNode {
  const words = useWords(INSPECT_WORDS);
  const { actions } = useUi();
  if (actions.inspect === undefined) return null;
  return (
    <span className="loom-inspect">
      <IconButton icon="inspect" label={words.inspect} onClick={() => actions.inspect?.(target)} />
    </span>
  );
}
