/**
 * The status of a session in one badge: a problem of its stream, or the state of its latest run while that matters. A
 * panel shows the reason and the verification result.
 */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { StreamState } from "../../client/index.ts";
import { Button } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { type BadgeTone, Spinner } from "../ui/indicators.tsx";
import { useUi } from "../ui/ui-context.tsx";
import { useIsOffline } from "../ui/use-now.ts";
import { defineWords, useWords } from "../ui/words.ts";
import { describeStream, type RunPhase } from "./describe-stream.ts";
import { cutText } from "../../protocol/cut-text.ts";

export interface StreamStatusProps {
  /** State of the session; undefined before the first event. */
  readonly state: StreamState | undefined;
  /** State of the latest run, see `findRunPhase`. Shown while the stream has no problem. */
  readonly run?: RunPhase | undefined;
  /** Retries at once. Without it, the retry button is hidden. */
  readonly onRetry?: (() => void) | undefined;
}

const WORDS = defineWords({
  en: {
    connecting: "Connecting…",
    connected: "Connected",
    runRunning: "Running",
    runWaiting: "Waiting for you",
    runWaitingForOthers: "Waiting for approval",
    runFailed: "Failed",
    reconnecting: "Reconnecting…",
    offline: "Offline",
    repairing: "Recovering…",
    gap: "Events missing",
    full: "Storage full",
    truncated: "Interrupted",
    failed: "Disconnected",
    connectingMore: "Waiting for the server.",
    liveMore: "Receiving events in real time.",
    reconnectingMore: "Reconnecting. Missed events will load automatically.",
    offlineMore: "Your device is offline. Runs continue on the server, and messages are sent when you are back online.",
    repairingMore: "Some events were lost. Requesting them again.",
    gapMore: "Some events never arrived.",
    fullMore: "The server has no space left to save new events. Retrying.",
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
    connected: "已连接",
    runRunning: "运行中",
    runWaiting: "等待你处理",
    runWaitingForOthers: "等待审批",
    runFailed: "失败",
    reconnecting: "正在重新连接…",
    offline: "离线",
    repairing: "正在恢复…",
    gap: "有事件缺失",
    full: "存储空间已满",
    truncated: "已中断",
    failed: "连接已断开",
    connectingMore: "等待服务器响应。",
    liveMore: "正在实时接收事件。",
    reconnectingMore: "正在重新连接，错过的事件将自动加载。",
    offlineMore: "你的设备已离线。运行在服务器上继续，消息会在恢复联网后发送。",
    repairingMore: "部分事件丢失，正在重新请求。",
    gapMore: "部分事件未收到。",
    fullMore: "服务器没有空间保存新事件，正在重试。",
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

/** The spinner of a run is in its stage line, so a running run has a dot here. */
const RUN_BADGES: { readonly [P in RunPhase]: { readonly icon?: IconName; readonly tone: BadgeTone } } = {
  running: { tone: "busy" },
  waiting: { icon: "ask", tone: "warn" },
  failed: { icon: "alert", tone: "bad" },
};

/** Reasons come from the server and may be long. */
const SHOWN_REASON = 500;

/**
 * Shows the status of a session as a badge with details on click. Shows nothing if there is nothing to report.
 *
 * ```tsx
 * <StreamStatus state={session.state} run={findRunPhase(session)} onRetry={() => connection.retry()} />
 * ```
 */
export function StreamStatus({ state, run, onRetry }: StreamStatusProps): ReactNode {
  const words = useWords(WORDS);
  const { actions } = useUi();
  const [isOpen, setOpen] = useState(false);
  const [hasFocus, setFocus] = useState(false);
  const [hadTrouble, setTrouble] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const { phase, tone, isSound, isBusy, canRetry } = describeStream(state, useIsOffline());
  if (!isSound && !hadTrouble) setTrouble(true);
  const trouble = phase === "live" || phase === "complete" ? undefined : words[phase];
  const badge = isSound ? (run === undefined ? undefined : RUN_BADGES[run]) : { tone, icon: "alert" as const };
  const text = trouble ?? (run === undefined ? words.connected : nameRun(run, words, actions.approve !== undefined));
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
      onFocus={() => setFocus(true)}
      onBlur={() => setFocus(false)}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isOpen) return;
        event.stopPropagation();
        setOpen(false);
        root.current?.querySelector("button")?.focus();
      }}
    >
      {/* A focused badge stays, so that the focus is not lost when the problem ends. */}
      {badge === undefined && !isOpen && !hasFocus ? null : (
        <button
          type="button"
          className={`loom-badge loom-badge-${badge?.tone ?? "plain"} loom-stream-word`}
          aria-expanded={isOpen}
          aria-controls={isOpen ? id : undefined}
          onClick={() => setOpen(!isOpen)}
        >
          {isBusy ? (
            <Spinner />
          ) : badge?.icon === undefined ? (
            <span className="loom-stream-dot" aria-hidden="true" />
          ) : (
            <Icon name={badge.icon} />
          )}
          {text}
        </button>
      )}
      {/* Screen readers do not announce changes inside a button. The state of the run is announced elsewhere. */}
      <span role="status" className="loom-said">
        {trouble ?? (hadTrouble ? words.connected : "")}
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

function nameRun(run: RunPhase, words: (typeof WORDS)["en"], mayApprove: boolean): string {
  switch (run) {
    case "running":
      return words.runRunning;
    case "waiting":
      return mayApprove ? words.runWaiting : words.runWaitingForOthers;
    case "failed":
      return words.runFailed;
  }
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
