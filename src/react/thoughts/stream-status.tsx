/** Connection badge: one word for the state of the stream, and a panel with the reason and the verification result. */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { StreamState } from "../../client/index.ts";
import { Button } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { describeStream, type StreamPhase } from "./describe-stream.ts";
import { cutText } from "../../protocol/cut-text.ts";

export interface StreamStatusProps {
  /** State of the session; undefined before the first event. */
  readonly state: StreamState | undefined;
  /** Retries at once. Without it, the retry button is hidden. */
  readonly onRetry?: (() => void) | undefined;
}

const WORDS = defineWords({
  en: {
    connecting: "Connecting…",
    live: "Live",
    reconnecting: "Reconnecting…",
    repairing: "Recovering…",
    gap: "Events missing",
    truncated: "Interrupted",
    complete: "Complete",
    failed: "Disconnected",
    connectingMore: "Waiting for the server.",
    liveMore: "Receiving events in real time.",
    reconnectingMore: "Reconnecting. Missed events will load automatically.",
    repairingMore: "Some events were lost. Requesting them again.",
    gapMore: "Some events never arrived.",
    truncatedMore: "The stream ended before the run finished.",
    completeMore: "All events received.",
    failedMore: "Connection failed. Automatic retries stopped.",
    details: "Connection",
    reason: (message: string) => `Reason: ${message}`,
    verified: "Verified: no events missing, duplicated or out of order.",
    unverified: "Not verified yet.",
    undetectable: "This type of stream can't detect:",
    loss: "Lost events",
    duplicate: "Duplicate events",
    order: "Events out of order",
    retry: "Retry now",
  },
  zh: {
    connecting: "正在连接…",
    live: "实时",
    reconnecting: "正在重新连接…",
    repairing: "正在恢复…",
    gap: "有事件缺失",
    truncated: "已中断",
    complete: "完整",
    failed: "连接已断开",
    connectingMore: "等待服务器响应。",
    liveMore: "正在实时接收事件。",
    reconnectingMore: "正在重新连接，错过的事件将自动加载。",
    repairingMore: "部分事件丢失，正在重新请求。",
    gapMore: "部分事件未收到。",
    truncatedMore: "数据流在运行结束前中断。",
    completeMore: "已接收全部事件。",
    failedMore: "连接失败，已停止自动重试。",
    details: "连接状态",
    reason: (message: string) => `原因：${message}`,
    verified: "已验证：没有缺失、重复或乱序的事件。",
    unverified: "尚未验证。",
    undetectable: "此类数据流无法检测：",
    loss: "丢失的事件",
    duplicate: "重复的事件",
    order: "乱序的事件",
    retry: "立即重试",
  },
});

const ICONS: { readonly [W in StreamPhase]?: IconName } = {
  gap: "alert",
  truncated: "alert",
  failed: "alert",
  complete: "check",
};

/** Reasons come from the server and may be long. */
const SHOWN_REASON = 500;

/** Shows the state of a session's stream as a badge with details on click. */
export function StreamStatus({ state, onRetry }: StreamStatusProps): ReactNode {
  const words = useWords(WORDS);
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const { phase, tone, isBusy, canRetry } = describeStream(state);
  const icon = ICONS[phase];
  useEffect(() => {
    if (!isOpen) return undefined;
    const closeOutside = (event: Event): void => {
      if (event.target instanceof Node && !root.current?.contains(event.target)) setOpen(false);
    };
    addEventListener("pointerdown", closeOutside);
    addEventListener("focusin", closeOutside);
    return () => {
      removeEventListener("pointerdown", closeOutside);
      removeEventListener("focusin", closeOutside);
    };
  }, [isOpen]);
  return (
    <div
      ref={root}
      className="loom-stream"
      data-stream={phase}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isOpen) return;
        event.stopPropagation();
        setOpen(false);
        root.current?.querySelector("button")?.focus();
      }}
    >
      <button
        type="button"
        className={`loom-badge loom-badge-${tone} loom-stream-word`}
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        {isBusy ? (
          <Spinner />
        ) : icon === undefined ? (
          <span className="loom-stream-dot" aria-hidden="true" />
        ) : (
          <Icon name={icon} />
        )}
        {words[phase]}
      </button>
      {/* Screen readers do not announce changes inside a button. */}
      <span role="status" className="loom-said">
        {words[phase]}
      </span>
      {isOpen ? (
        <section id={id} className="loom-stream-more" aria-label={words.details}>
          <p>{words[`${phase}More`]}</p>
          {state === undefined ? null : <StreamVerification state={state} />}
          {canRetry && onRetry !== undefined ? (
            <Button icon="retry" onClick={() => onRetry()}>
              {words.retry}
            </Button>
          ) : null}
        </section>
      ) : null}
    </div>
  );
}

function StreamVerification({ state: { reason, verified, undetectable } }: { readonly state: StreamState }): ReactNode {
  const words = useWords(WORDS);
  return (
    <>
      {reason === undefined ? null : (
        <p className="loom-stream-reason">
          {words.reason(cutText(reason.message, SHOWN_REASON))} <code>{reason.code}</code>
        </p>
      )}
      {undetectable.length > 0 ? (
        <div>
          {words.undetectable}
          <ul>
            {undetectable.map((what) => (
              <li key={what}>{words[what]}</li>
            ))}
          </ul>
        </div>
      ) : (
        <p>{verified ? words.verified : words.unverified}</p>
      )}
    </>
  );
}
