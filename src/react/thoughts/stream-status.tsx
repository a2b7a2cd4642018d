/**
 * How far the page can vouch for what it shows: live, reconnecting, being repaired, cut, complete. One word that is always
 * there, and behind it the reason, and what was checked or cannot be known.
 */
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { StreamState } from "../../client/index.ts";
import { cutHead } from "../parts/cut-text.ts";
import { Button } from "../ui/button.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Spinner } from "../ui/indicators.tsx";
import { defineWords, useWords } from "../ui/words.ts";
import { describeStream, type StreamWord } from "./describe-stream.ts";

export interface StreamStatusProps {
  readonly state: StreamState | undefined;
  /** Asks again at once, where that may help. */
  readonly onRetry?: (() => void) | undefined;
}

const WORDS = defineWords({
  en: {
    connecting: "Connecting…",
    live: "Live",
    reconnecting: "Reconnecting…",
    repairing: "A gap is being repaired…",
    gap: "A part is missing",
    truncated: "Cut: the end is missing",
    complete: "Complete",
    failed: "Not connected",
    connectingMore: "Nothing has been heard from the server yet.",
    liveMore: "What happens is shown as it happens.",
    reconnectingMore: "The connection was lost. It is being made again; what was missed then comes by itself.",
    repairingMore: "Some of what was sent did not arrive. It has been asked for and will be put in its place.",
    gapMore: "Some of what was sent did not arrive, and what is shown goes on without it.",
    truncatedMore: "The stream ended before the run did.",
    completeMore: "Every run that was heard of has come to its end, and nothing is known to be missing.",
    failedMore: "The connection was given up.",
    details: "Connection",
    reason: (message: string) => `Reason: ${message}`,
    verified: "Every frame was numbered and counted: nothing is missing, doubled or out of order.",
    unverified: "Not everything has been counted yet.",
    cannotKnow: "Streams of this kind do not tell:",
    loss: "whether something was lost",
    double: "whether something came twice",
    order: "whether the order is right",
    retry: "Try again now",
  },
  zh: {
    connecting: "正在连接…",
    live: "实时",
    reconnecting: "正在重新连接…",
    repairing: "正在补全缺失内容…",
    gap: "有内容缺失",
    truncated: "已中断：缺少结尾",
    complete: "完整",
    failed: "未连接",
    connectingMore: "尚未收到服务器的消息。",
    liveMore: "内容随产生随显示。",
    reconnectingMore: "连接已断开，正在重新建立；错过的内容会自动补上。",
    repairingMore: "有内容没有送达，已重新请求，收到后会放回原处。",
    gapMore: "有内容没有送达，目前显示的内容不包含它。",
    truncatedMore: "运行尚未结束，数据流就中断了。",
    completeMore: "已知的运行都已结束，没有发现缺失。",
    failedMore: "已停止尝试连接。",
    details: "连接状态",
    reason: (message: string) => `原因：${message}`,
    verified: "每一帧都有编号并已核对：没有缺失、重复或乱序。",
    unverified: "尚未全部核对。",
    cannotKnow: "这类数据流无法判断：",
    loss: "是否有内容丢失",
    double: "是否有内容重复",
    order: "顺序是否正确",
    retry: "立即重试",
  },
});

const ICONS: { readonly [W in StreamWord]?: IconName } = {
  gap: "alert",
  truncated: "alert",
  failed: "alert",
  complete: "check",
};

/** Reasons come from servers. */
const SHOWN_REASON = 500;

export function StreamStatus({ state, onRetry }: StreamStatusProps): ReactNode {
  const words = useWords(WORDS);
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();
  const { word, tone, isBusy, mayRetry } = describeStream(state);
  const icon = ICONS[word];
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
      data-stream={word}
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
        {words[word]}
      </button>
      {/* What changes inside of a button is not announced. */}
      <span role="status" className="loom-said">
        {words[word]}
      </span>
      {isOpen ? (
        <section id={id} className="loom-stream-more" aria-label={words.details}>
          <p>{words[`${word}More`]}</p>
          {state === undefined ? null : <Vouching state={state} />}
          {mayRetry && onRetry !== undefined ? (
            <Button icon="retry" onClick={() => onRetry()}>
              {words.retry}
            </Button>
          ) : null}
        </section>
      ) : null}
    </div>
  );
}

function Vouching({ state: { reason, verified, cannotKnow } }: { readonly state: StreamState }): ReactNode {
  const words = useWords(WORDS);
  return (
    <>
      {reason === undefined ? null : (
        <p className="loom-stream-reason">
          {words.reason(cutHead(reason.message, SHOWN_REASON))} <code>{reason.code}</code>
        </p>
      )}
      {cannotKnow.length > 0 ? (
        <div>
          {words.cannotKnow}
          <ul>
            {cannotKnow.map((what) => (
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
